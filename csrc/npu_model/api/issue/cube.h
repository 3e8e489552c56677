// SPDX-License-Identifier: Apache-2.0
// Issues the instructions of the Cube path.
#pragma once

#include "isa/cube.h"
#include "issue/view.h"

namespace npu_model::issue {

// Units are 512-byte fractals: src fractal = start + i * src_stride, dst fractal = i * (1 + dst_gap).
struct FractalLoad {
  uint32_t start = 0;
  uint32_t repeat = 0;
  uint32_t src_stride = 0;
  uint32_t dst_gap = 0;
  bool transpose = false;
  bool decrement = false;  // GM -> L1 only
  DType type = DType::kHalf;
};
void IssueLoadData2D(const View& dst, const View& src, const FractalLoad& load, Site site);

void IssueLoadData3D(const View& dst, const View& src, isa::Img2Col shape, Site site);

void IssueLoadFractals3D(const View& dst, const View& src, isa::Img2ColFractals walk, Site site);

void IssueMmad(const View& c, const View& a, const View& b, isa::MmadShape shape, Site site);

// `repeats` times 512 bytes of one 16-bit value in L1, L0A or L0B.
void IssueFill(const char* name, const View& dst, uint32_t repeats, uint32_t value_bits, Site site);

// Replicates groups of 16 elements over the 16 rows of L0C fractals.
struct RowBroadcast {
  uint32_t count = 1, length = 1, src_gap = 0, dst_gap = 0;
  DType type = DType::kFloat;
};
void IssueRowBroadcast(const View& dst, const View& src, const RowBroadcast& shape, Site site);

}  // namespace npu_model::issue
