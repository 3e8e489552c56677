// SPDX-License-Identifier: Apache-2.0
// Issues Gather, TransDataTo5HD, Transpose, GatherMask.
#pragma once

#include "isa/permute.h"
#include "issue/vector.h"

namespace npu_model::issue {

struct TransDataShape {
  uint32_t elem_bytes = 2;
  bool dst_high = false, src_high = false;
  uint32_t repeats = 1;
  uint32_t dst_stride = 0, src_stride = 0;  // 32-byte blocks
};
// 16 UB addresses on each side.
void IssueTransData(const View (&dst)[16], const View (&src)[16], const TransDataShape& shape, Site site);

// `images` times: `rows` x `columns` elements, transposed. kBlock: a 16x16 matrix of 16-bit elements; kOther: a form
// that the chip does not have.
struct TransposeImages {
  enum class Form : uint8_t { kNothing, kBlock, kImages, kOther } form = Form::kNothing;
  uint32_t images = 0;
  uint32_t rows = 0;
  uint32_t columns = 0;
  uint32_t channels = 0;
  uint32_t elem_bytes = 2;
};
void IssueTransposeImages(const View& dst, const View& src, const TransposeImages& shape, Site site);

void IssueTranspose(const View& dst, const View& src, Site site);

void IssueGather(uint32_t elem_bytes, const View& dst, const View& src, const View& offsets, uint32_t base_offset,
                 const LaneForm& form, uint32_t dst_repeat, Site site);

struct GatherMaskForm {
  uint32_t elem_bytes = 2;
  uint8_t pattern = 0;  // 0: bits from a tensor
  bool count_mode = false;
  uint32_t mask = 0;  // count mode: elements
  uint32_t repeats = 0;
  uint32_t src0_block = 1, src0_repeat = 8, src1_repeat = 8;  // 32-byte blocks
};
// Returns how many elements were kept; S waits for V to learn it. `bits` is ignored for the built-in patterns.
uint64_t IssueGatherMask(const GatherMaskForm& form, const View& dst, const View& src, const View& bits, Site site);

}  // namespace npu_model::issue
