// SPDX-License-Identifier: Apache-2.0
// Issues block copies on every path the chip has.
#pragma once

#include "issue/view.h"

namespace npu_model::issue {

// Lengths and gaps in 32-byte blocks, the gap from the tail of one block to the head of the next.
struct CopyShape {
  uint32_t count = 1;
  uint32_t length = 0;
  uint32_t src_gap = 0;
  uint32_t dst_gap = 0;
  bool polled = false;  // flags that other cores poll
};

// The path follows from the memories; one that does not exist is a named fault.
void IssueCopy(const View& dst, const View& src, const CopyShape& shape, Site site);

// The `count` form: bytes must be a multiple of 32.
void IssueCopyBytes(const View& dst, const View& src, uint64_t bytes, Site site);

// Copies between L0C and UB. `count` blocks of `length` fractals; the gap on the L0C side in fractals, on the
// UB side in 32-byte blocks.
struct FractalCopy {
  uint32_t count = 1;
  uint32_t length = 0;
  uint32_t src_gap = 0;
  uint32_t dst_gap = 0;
  DType dst_type = DType::kFloat;
  DType src_type = DType::kFloat;
  bool first_rows = false;  // of a fractal only the first row of 16 moves; UB holds these one behind the other
  bool relu = false;
  float deq_scale = 1.0f;
};
void IssueFractalCopy(const View& dst, const View& src, const FractalCopy& shape, Site site);

}  // namespace npu_model::issue
