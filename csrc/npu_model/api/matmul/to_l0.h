// SPDX-License-Identifier: Apache-2.0
// A base block from an NZ tile in L1 to L0A or L0B.
#pragma once

#include "matmul/spec.h"

namespace npu_model::matmul {

struct L0Load {
  View l1;
  DType type = DType::kHalf;
  bool rows_along_k = false;  // of the tile
  uint32_t rows = 0;          // of a strip of the tile
  uint32_t columns = 0;       // of the tile, whole strips
  uint32_t outer = 0, k = 0;  // where the block starts in it
  uint32_t outer_extent = 0, k_extent = 0;
};

// L0A gets [M, K] and L0B [K, N], whatever the tile's rows run along. Bytes cannot be transposed: their rows must run
// along the outer axis.
void LoadBlock(Core& core, const View& l0, const L0Load& load, Site site);

}  // namespace npu_model::matmul
