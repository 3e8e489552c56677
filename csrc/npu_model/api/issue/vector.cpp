// SPDX-License-Identifier: Apache-2.0
#include "issue/vector.h"

#include <algorithm>
#include <string>

namespace npu_model::issue {
namespace {

constexpr uint8_t kSimple = 1;
constexpr uint8_t kSlow = 4;  // transcendental and integer arithmetic

bool IsInteger(DType type) { return type != DType::kFloat && type != DType::kHalf; }

uint32_t WidthOf(uint32_t widest_elem_bytes) { return isa::kRepeatBytes / widest_elem_bytes; }

Stride Bytes(uint32_t block, uint32_t repeat) { return {block * kBlockBytes, repeat * kBlockBytes}; }

bool CheckDstStride(Core& core, const isa::Lanes& lanes, uint32_t elem_bytes, uint32_t block_stride, const char* name,
                    Site site) {
  if (block_stride != 0) return true;
  const uint32_t first_block = kBlockBytes / elem_bytes;
  const bool one_block = (lanes.mask[0] >> (first_block - 1) >> 1) == 0 && lanes.mask[1] == 0;
  if (one_block) return true;
  core.Fault(Rule::kParam, name, site, "dstBlkStride is 0: several blocks would land on the same 32 bytes");
  return false;
}

}  // namespace

bool CheckUb(Core& core, const View& view, const char* name, Site site) {
  if (view.mem == Mem::kUb) return true;
  core.Fault(Rule::kBuffer2, name, site,
             std::string("vector operands must be in UB (VECIN, VECOUT, VECCALC), got ") + Name(view.mem));
  return false;
}

bool ResolveLanes(Core& core, const LaneForm& form, uint32_t width, const char* name, Site site, isa::Lanes* lanes) {
  SpecialRegisters& spr = core.spr();
  if (form.kind == LaneForm::Kind::kCount) {
    if (form.count < 0) {
      core.Fault(Rule::kParam, name, site, "count is " + std::to_string(form.count) + ", must not be negative");
      return false;
    }
    // SetMaskCount, SetVectorMask(0, count), SetMaskNorm, ResetMask: a full normal mask is what stays behind.
    core.SprWrite(site, 4);
    spr.mask_low = spr.mask_high = ~uint64_t{0};
    spr.mask_count_mode = false;
    if (form.count == 0) return false;
    *lanes = isa::Lanes::Count(static_cast<uint32_t>(form.count), width);
    return true;
  }
  if (form.set_mask) {
    if (form.kind == LaneForm::Kind::kMask) {
      if (form.count < 1 || form.count > static_cast<int64_t>(width)) {
        core.Fault(Rule::kParam, name, site,
                   "mask is " + std::to_string(form.count) + ", must be 1.." + std::to_string(width));
        return false;
      }
      uint64_t bits[2];
      isa::Lanes::SetPrefix(bits, static_cast<uint32_t>(form.count));
      spr.mask_low = bits[0];
      spr.mask_high = bits[1];
    } else {
      if ((form.bits[0] | form.bits[1]) == 0) {
        core.Fault(Rule::kParam, name, site, "mask is 0: illegal in normal mode on this chip");
        return false;
      }
      if (width <= 64 && form.bits[1] != 0) {
        core.Fault(Rule::kParam, name, site, "mask[1] must be 0 for 64 lanes per repeat");
        return false;
      }
      spr.mask_low = form.bits[0];
      spr.mask_high = form.bits[1];
    }
    core.SprWrite(site, 1);
  }
  if (form.repeats > 255) {
    core.Fault(Rule::kParam, name, site, "repeatTime is " + std::to_string(form.repeats) + ", must be 0..255");
    return false;
  }
  if (spr.mask_count_mode) {
    // The mask register holds an element count; the repeat field is ignored.
    if (spr.mask_low == 0) return false;
    *lanes = isa::Lanes::Count(static_cast<uint32_t>(spr.mask_low), width);
    return true;
  }
  if (form.repeats == 0) return false;
  *lanes = isa::Lanes::Masked(spr.mask_low, spr.mask_high, form.repeats, width);
  if ((lanes->mask[0] | lanes->mask[1]) == 0) {
    core.Fault(Rule::kParam, name, site, "no lane of the mask register is active: illegal on this chip");
    return false;
  }
  return true;
}

void IssueBinary(isa::BinaryOp op, const char* name, DType type, const View& dst, const View& src0, const View& src1,
                 const LaneForm& form, const Strides3& strides, Site site) {
  Core& core = Core::Current();
  const uint32_t size = isa::SizeOf(type);
  isa::Lanes lanes;
  if (!CheckUb(core, dst, name, site) || !CheckUb(core, src0, name, site) || !CheckUb(core, src1, name, site)) return;
  if (!ResolveLanes(core, form, WidthOf(size), name, site, &lanes)) return;
  if (!CheckDstStride(core, lanes, size, strides.dst_block, name, site)) return;
  const bool logic = op == isa::BinaryOp::kAnd || op == isa::BinaryOp::kOr;
  const bool slow = op == isa::BinaryOp::kDiv || (IsInteger(type) && !logic);
  const bool accumulates = op <= isa::BinaryOp::kMin && op != isa::BinaryOp::kDiv && type != DType::kInt16;
  Instr instr(Queue::kV, name, site, VectorCost(lanes.repeats, slow || logic ? kSlow : kSimple));
  instr.overlap = accumulates ? OverlapRule::kVectorAccumulate : OverlapRule::kVector;
  const Stride d = Bytes(strides.dst_block, strides.dst_repeat);
  const Stride a = Bytes(strides.src0_block, strides.src0_repeat);
  const Stride b = Bytes(strides.src1_block, strides.src1_repeat);
  instr.Add(VectorOperand(0, Access::kWrite, dst, size, lanes, d));
  instr.Add(VectorOperand(1, Access::kRead, src0, size, lanes, a));
  instr.Add(VectorOperand(2, Access::kRead, src1, size, lanes, b));
  core.Issue(instr, [op, type, lanes, to = At(core, dst, d), from0 = At(core, src0, a), from1 = At(core, src1, b),
                     overflow = OverflowMode(core)] { isa::Binary(op, type, lanes, to, from0, from1, overflow); });
}

void IssueUnary(isa::UnaryOp op, const char* name, DType type, const View& dst, const View& src, const LaneForm& form,
                const Strides2& strides, Site site) {
  Core& core = Core::Current();
  const uint32_t size = isa::SizeOf(type);
  isa::Lanes lanes;
  if (!CheckUb(core, dst, name, site) || !CheckUb(core, src, name, site)) return;
  if (!ResolveLanes(core, form, WidthOf(size), name, site, &lanes)) return;
  if (!CheckDstStride(core, lanes, size, strides.dst_block, name, site)) return;
  const bool simple = (op == isa::UnaryOp::kAbs || op == isa::UnaryOp::kRelu) && !IsInteger(type);
  Instr instr(Queue::kV, name, site, VectorCost(lanes.repeats, simple ? kSimple : kSlow));
  instr.overlap = OverlapRule::kVector;
  const Stride d = Bytes(strides.dst_block, strides.dst_repeat);
  const Stride s = Bytes(strides.src_block, strides.src_repeat);
  instr.Add(VectorOperand(0, Access::kWrite, dst, size, lanes, d));
  instr.Add(VectorOperand(1, Access::kRead, src, size, lanes, s));
  core.Issue(instr, [op, type, lanes, to = At(core, dst, d), from = At(core, src, s), overflow = OverflowMode(core)] {
    isa::Unary(op, type, lanes, to, from, overflow);
  });
}

void IssueScalar(isa::ScalarOp op, const char* name, DType type, const View& dst, const View& src, uint32_t scalar_bits,
                 const LaneForm& form, const Strides2& strides, Site site) {
  Core& core = Core::Current();
  const uint32_t size = isa::SizeOf(type);
  isa::Lanes lanes;
  if (!CheckUb(core, dst, name, site) || !CheckUb(core, src, name, site)) return;
  if (!ResolveLanes(core, form, WidthOf(size), name, site, &lanes)) return;
  if (!CheckDstStride(core, lanes, size, strides.dst_block, name, site)) return;
  Instr instr(Queue::kV, name, site, VectorCost(lanes.repeats, IsInteger(type) ? kSlow : kSimple));
  instr.overlap = OverlapRule::kVector;
  const Stride d = Bytes(strides.dst_block, strides.dst_repeat);
  const Stride s = Bytes(strides.src_block, strides.src_repeat);
  instr.Add(VectorOperand(0, Access::kWrite, dst, size, lanes, d));
  instr.Add(VectorOperand(1, Access::kRead, src, size, lanes, s));
  core.Issue(instr, [op, type, lanes, to = At(core, dst, d), from = At(core, src, s), scalar_bits,
                     overflow = OverflowMode(core)] { isa::Scalar(op, type, lanes, to, from, scalar_bits, overflow); });
}

void IssueTernary(isa::TernaryOp op, const char* name, DType dst_type, DType src_type, const View& dst,
                  const View& src0, const View& src1, const LaneForm& form, const Strides3& strides, Site site) {
  Core& core = Core::Current();
  const uint32_t dst_size = isa::SizeOf(dst_type);
  const uint32_t src_size = isa::SizeOf(src_type);
  isa::Lanes lanes;
  if (!CheckUb(core, dst, name, site) || !CheckUb(core, src0, name, site) || !CheckUb(core, src1, name, site)) return;
  if (!ResolveLanes(core, form, WidthOf(std::max(dst_size, src_size)), name, site, &lanes)) return;
  if (!CheckDstStride(core, lanes, dst_size, strides.dst_block, name, site)) return;
  Instr instr(Queue::kV, name, site, VectorCost(lanes.repeats, kSimple));
  instr.overlap = OverlapRule::kVector;
  const Stride d = Bytes(strides.dst_block, strides.dst_repeat);
  const Stride a = Bytes(strides.src0_block, strides.src0_repeat);
  const Stride b = Bytes(strides.src1_block, strides.src1_repeat);
  instr.Add(VectorOperand(0, Access::kReadWrite, dst, dst_size, lanes, d));
  instr.Add(VectorOperand(1, Access::kRead, src0, src_size, lanes, a));
  instr.Add(VectorOperand(2, Access::kRead, src1, src_size, lanes, b));
  core.Issue(instr, [op, dst_type, src_type, lanes, to = At(core, dst, d), from0 = At(core, src0, a),
                     from1 = At(core, src1, b), overflow = OverflowMode(core)] {
    isa::Ternary(op, dst_type, src_type, lanes, to, from0, from1, overflow);
  });
}

void IssueAxpy(DType dst_type, DType src_type, const View& dst, const View& src, uint32_t scalar_bits,
               const LaneForm& form, const Strides2& strides, Site site) {
  Core& core = Core::Current();
  const uint32_t dst_size = isa::SizeOf(dst_type);
  const uint32_t src_size = isa::SizeOf(src_type);
  isa::Lanes lanes;
  if (!CheckUb(core, dst, "Axpy", site) || !CheckUb(core, src, "Axpy", site)) return;
  if (!ResolveLanes(core, form, WidthOf(std::max(dst_size, src_size)), "Axpy", site, &lanes)) return;
  if (!CheckDstStride(core, lanes, dst_size, strides.dst_block, "Axpy", site)) return;
  Instr instr(Queue::kV, "Axpy", site, VectorCost(lanes.repeats, kSimple));
  instr.overlap = OverlapRule::kVector;
  const Stride d = Bytes(strides.dst_block, strides.dst_repeat);
  const Stride s = Bytes(strides.src_block, strides.src_repeat);
  instr.Add(VectorOperand(0, Access::kReadWrite, dst, dst_size, lanes, d));
  instr.Add(VectorOperand(1, Access::kRead, src, src_size, lanes, s));
  core.Issue(instr, [dst_type, src_type, lanes, to = At(core, dst, d), from = At(core, src, s), scalar_bits,
                     overflow = OverflowMode(core)] {
    isa::Axpy(dst_type, src_type, lanes, to, from, scalar_bits, overflow);
  });
}

void IssueDuplicate(uint32_t elem_bytes, const View& dst, uint32_t scalar_bits, const LaneForm& form,
                    const Strides2& strides, Site site) {
  Core& core = Core::Current();
  isa::Lanes lanes;
  if (!CheckUb(core, dst, "Duplicate", site)) return;
  if (!ResolveLanes(core, form, WidthOf(elem_bytes), "Duplicate", site, &lanes)) return;
  if (!CheckDstStride(core, lanes, elem_bytes, strides.dst_block, "Duplicate", site)) return;
  Instr instr(Queue::kV, "Duplicate", site, VectorCost(lanes.repeats, kSimple));
  instr.overlap = OverlapRule::kVector;
  const Stride d = Bytes(strides.dst_block, strides.dst_repeat);
  instr.Add(VectorOperand(0, Access::kWrite, dst, elem_bytes, lanes, d));
  core.Issue(instr, [elem_bytes, lanes, to = At(core, dst, d), scalar_bits] {
    isa::Duplicate(elem_bytes, lanes, to, scalar_bits);
  });
}

void IssueCast(DType dst_type, DType src_type, isa::Round mode, const View& dst, const View& src, const LaneForm& form,
               const Strides2& strides, Site site) {
  Core& core = Core::Current();
  if (!isa::CastExists(dst_type, src_type, mode)) {
    static constexpr const char* kModes[] = {"CAST_NONE",  "CAST_RINT",  "CAST_FLOOR", "CAST_CEIL",
                                             "CAST_ROUND", "CAST_TRUNC", "CAST_ODD"};
    static constexpr const char* kTypes[] = {"int8_t",  "uint8_t",  "int16_t", "uint16_t",
                                             "int32_t", "uint32_t", "half",    "float"};
    core.Fault(Rule::kUnsupported, "Cast", site,
               std::string("Cast from ") + kTypes[static_cast<int>(src_type)] + " to " +
                   kTypes[static_cast<int>(dst_type)] + " does not support RoundMode::" +
                   (static_cast<size_t>(mode) < 7 ? kModes[static_cast<int>(mode)] : "UNKNOWN") + " on this chip");
    return;
  }
  const uint32_t dst_size = isa::SizeOf(dst_type);
  const uint32_t src_size = isa::SizeOf(src_type);
  isa::Lanes lanes;
  if (!CheckUb(core, dst, "Cast", site) || !CheckUb(core, src, "Cast", site)) return;
  if (!ResolveLanes(core, form, WidthOf(std::max(dst_size, src_size)), "Cast", site, &lanes)) return;
  if (!CheckDstStride(core, lanes, dst_size, strides.dst_block, "Cast", site)) return;
  Instr instr(Queue::kV, "Cast", site, VectorCost(lanes.repeats, kSimple));
  instr.overlap = OverlapRule::kVector;
  const Stride d = Bytes(strides.dst_block, strides.dst_repeat);
  const Stride s = Bytes(strides.src_block, strides.src_repeat);
  instr.Add(VectorOperand(0, Access::kWrite, dst, dst_size, lanes, d));
  instr.Add(VectorOperand(1, Access::kRead, src, src_size, lanes, s));
  const float scale = isa::HalfToFloat(static_cast<uint16_t>(core.spr().deq_scale));
  core.Issue(instr, [dst_type, src_type, mode, lanes, to = At(core, dst, d), from = At(core, src, s), scale,
                     overflow = OverflowMode(core)] {
    isa::Cast(dst_type, src_type, mode, lanes, to, from, overflow, scale);
  });
}

}  // namespace npu_model::issue
