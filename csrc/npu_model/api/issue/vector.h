// SPDX-License-Identifier: Apache-2.0
// Issues vector instructions: mask and repeat rules, operand regions, cost, semantics.
#pragma once

#include "isa/convert.h"
#include "isa/vector.h"
#include "issue/regions.h"

namespace npu_model::issue {

// How the caller says which lanes take part.
struct LaneForm {
  enum class Kind : uint8_t { kCount, kMask, kBits } kind = Kind::kCount;
  bool set_mask = true;  // false: the mask register as it is
  int64_t count = 0;     // kCount: elements. kMask: lanes per repeat
  uint64_t bits[2] = {0, 0};
  uint32_t repeats = 0;  // kMask, kBits

  static LaneForm Count(int64_t count) {
    LaneForm form;
    form.count = count;
    return form;
  }
  static LaneForm Mask(uint64_t lanes, uint32_t repeats, bool set_mask) {
    LaneForm form;
    form.kind = Kind::kMask;
    form.set_mask = set_mask;
    form.count = static_cast<int64_t>(lanes);
    form.repeats = repeats;
    return form;
  }
  static LaneForm Bits(const uint64_t* bits, uint32_t repeats, bool set_mask) {
    LaneForm form;
    form.kind = Kind::kBits;
    form.set_mask = set_mask;
    form.bits[0] = bits[0];
    form.bits[1] = bits[1];
    form.repeats = repeats;
    return form;
  }
};

// Writes the mask registers as the API would and returns the lanes; false: nothing to do or an illegal mask (reported).
bool ResolveLanes(Core& core, const LaneForm& form, uint32_t width, const char* name, Site site, isa::Lanes* lanes);

// UB only, as every vector operand.
bool CheckUb(Core& core, const View& view, const char* name, Site site);

// Strides in 32-byte blocks, as the parameter structs carry them.
struct Strides2 {
  uint32_t dst_block = 1, src_block = 1, dst_repeat = 8, src_repeat = 8;
};
struct Strides3 {
  uint32_t dst_block = 1, src0_block = 1, src1_block = 1, dst_repeat = 8, src0_repeat = 8, src1_repeat = 8;
};

void IssueBinary(isa::BinaryOp op, const char* name, DType type, const View& dst, const View& src0, const View& src1,
                 const LaneForm& form, const Strides3& strides, Site site);
void IssueUnary(isa::UnaryOp op, const char* name, DType type, const View& dst, const View& src, const LaneForm& form,
                const Strides2& strides, Site site);
void IssueScalar(isa::ScalarOp op, const char* name, DType type, const View& dst, const View& src, uint32_t scalar_bits,
                 const LaneForm& form, const Strides2& strides, Site site);
void IssueTernary(isa::TernaryOp op, const char* name, DType dst_type, DType src_type, const View& dst,
                  const View& src0, const View& src1, const LaneForm& form, const Strides3& strides, Site site);
void IssueAxpy(DType dst_type, DType src_type, const View& dst, const View& src, uint32_t scalar_bits,
               const LaneForm& form, const Strides2& strides, Site site);
void IssueDuplicate(uint32_t elem_bytes, const View& dst, uint32_t scalar_bits, const LaneForm& form,
                    const Strides2& strides, Site site);
void IssueCast(DType dst_type, DType src_type, isa::Round mode, const View& dst, const View& src, const LaneForm& form,
               const Strides2& strides, Site site);

}  // namespace npu_model::issue
