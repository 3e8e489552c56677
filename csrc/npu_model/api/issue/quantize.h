// SPDX-License-Identifier: Apache-2.0
// Issues the vector instructions that scale or add and narrow in one go.
#pragma once

#include "issue/vector.h"

namespace npu_model::issue {

// The quantisation register: one word for all lanes, or the UB address of 16 words (SetDeqScale with a tensor).
struct DequantForm {
  bool per_lane = false;
  bool high = false;       // results in the last 16 bytes of each block
  bool is_signed = false;  // the destination's type
};
void IssueCastDequant(const View& dst, const View& src, const DequantForm& form, const LaneForm& lanes_form,
                      const Strides2& strides, Site site);

// op: kAddRelu, kSubRelu or kMul.
void IssueBinaryCast(isa::BinaryOp op, const char* name, DType dst_type, DType src_type, const View& dst,
                     const View& src0, const View& src1, const LaneForm& form, const Strides3& strides, Site site);

void IssueAddDeqRelu(const View& dst, const View& src0, const View& src1, const LaneForm& form, const Strides3& strides,
                     Site site);

}  // namespace npu_model::issue
