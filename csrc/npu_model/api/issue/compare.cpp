// SPDX-License-Identifier: Apache-2.0
#include "issue/compare.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "issue/library.h"

namespace npu_model::issue {
namespace {

constexpr uint8_t kCompareWeight = 4;
constexpr uint32_t kRegisterBytes = 16;
constexpr uint32_t kMaxRepeats = 252;

Stride Bytes(uint32_t block, uint32_t repeat) { return {block * kBlockBytes, repeat * kBlockBytes}; }

uint32_t WidthOf(DType type) { return isa::kRepeatBytes / isa::SizeOf(type); }

isa::Lanes FullLanes(DType type, uint32_t repeats) {
  return isa::Lanes::Masked(~uint64_t{0}, ~uint64_t{0}, repeats, WidthOf(type));
}

bool CheckRepeats(Core& core, uint32_t repeats, const char* name, Site site) {
  if (repeats <= 255) return true;
  core.Fault(Rule::kParam, name, site, "repeatTime is " + std::to_string(repeats) + ", must be 0..255");
  return false;
}

// Repeats of a count form; 0 when it is not a whole number of them (reported).
uint32_t WholeRepeats(Core& core, DType type, uint32_t count, const char* name, Site site) {
  const uint32_t width = WidthOf(type);
  if (count % width != 0 || count == 0) {
    core.Fault(Rule::kParam, name, site,
               "count is " + std::to_string(count) +
                   ": count * sizeof(T) must be a positive multiple of 256 bytes (the rest would be skipped)");
    return 0;
  }
  return count / width;
}

// One bit per lane, repeats side by side.
Operand BitsOperand(Access access, const View& view, uint32_t bytes, uint32_t align) {
  return MakeOperand(Mem::kUb, access, view.address, bytes, align, view.origin);
}

}  // namespace

void IssueCompare(isa::CompareOp op, DType type, const View& dst, const View& src0, const View& src1, uint32_t repeats,
                  const Strides3& strides, Site site) {
  Core& core = Core::Current();
  constexpr const char* kName = "Compare";
  if (!CheckUb(core, dst, kName, site) || !CheckUb(core, src0, kName, site) || !CheckUb(core, src1, kName, site))
    return;
  if (!CheckRepeats(core, repeats, kName, site) || repeats == 0) return;
  const isa::Lanes lanes = FullLanes(type, repeats);
  const Stride a = Bytes(strides.src0_block, strides.src0_repeat);
  const Stride b = Bytes(strides.src1_block, strides.src1_repeat);
  Instr instr(Queue::kV, kName, site, VectorCost(repeats, kCompareWeight));
  instr.overlap = OverlapRule::kDisjoint;
  instr.Add(BitsOperand(Access::kWrite, dst, repeats * lanes.width / 8, kBlockBytes));
  instr.Add(VectorOperand(1, Access::kRead, src0, isa::SizeOf(type), lanes, a));
  instr.Add(VectorOperand(2, Access::kRead, src1, isa::SizeOf(type), lanes, b));
  core.Issue(instr, [op, type, repeats, to = Pointer(core, dst), from0 = At(core, src0, a), from1 = At(core, src1, b)] {
    isa::Compare(op, type, repeats, to, from0, from1);
  });
}

void IssueCompareScalar(isa::CompareOp op, DType type, const View& dst, const View& src, uint32_t scalar_bits,
                        uint32_t repeats, const Strides2& strides, Site site) {
  Core& core = Core::Current();
  constexpr const char* kName = "Compares";
  if (!CheckUb(core, dst, kName, site) || !CheckUb(core, src, kName, site)) return;
  if (!CheckRepeats(core, repeats, kName, site) || repeats == 0) return;
  const isa::Lanes lanes = FullLanes(type, repeats);
  const Stride s = Bytes(strides.src_block, strides.src_repeat);
  Instr instr(Queue::kV, kName, site, VectorCost(repeats, kCompareWeight));
  instr.overlap = OverlapRule::kDisjoint;
  instr.Add(BitsOperand(Access::kWrite, dst, repeats * lanes.width / 8, kBlockBytes));
  instr.Add(VectorOperand(1, Access::kRead, src, isa::SizeOf(type), lanes, s));
  core.Issue(instr, [op, type, repeats, to = Pointer(core, dst), from = At(core, src, s), scalar_bits] {
    isa::CompareScalar(op, type, repeats, to, from, scalar_bits);
  });
}

void CompareCount(isa::CompareOp op, DType type, const View& dst, const View& src0, const View& src1, uint32_t count,
                  Site site) {
  const uint32_t repeats = WholeRepeats(Core::Current(), type, count, "Compare", site);
  for (uint32_t done = 0; done < repeats; done += kMaxRepeats) {
    const uint64_t skip = uint64_t{done} * isa::kRepeatBytes;
    IssueCompare(op, type, Offset(dst, uint64_t{done} * WidthOf(type) / 8), Offset(src0, skip), Offset(src1, skip),
                 std::min(kMaxRepeats, repeats - done), {}, site);
  }
}

void CompareScalarCount(isa::CompareOp op, DType type, const View& dst, const View& src, uint32_t scalar_bits,
                        uint32_t count, Site site) {
  const uint32_t repeats = WholeRepeats(Core::Current(), type, count, "Compares", site);
  for (uint32_t done = 0; done < repeats; done += kMaxRepeats) {
    IssueCompareScalar(op, type, Offset(dst, uint64_t{done} * WidthOf(type) / 8),
                       Offset(src, uint64_t{done} * isa::kRepeatBytes), scalar_bits,
                       std::min(kMaxRepeats, repeats - done), {}, site);
  }
}

// The compare-mask register lives in the vector unit: its closures, which run in queue order, are the only ones that
// touch it.
void IssueCompareToRegister(isa::CompareOp op, DType type, const View& src0, const View& src1, const LaneForm& form,
                            const Strides3& strides, Site site) {
  Core& core = Core::Current();
  constexpr const char* kName = "Compare";
  isa::Lanes lanes;
  if (!CheckUb(core, src0, kName, site) || !CheckUb(core, src1, kName, site)) return;
  if (!ResolveLanes(core, form, WidthOf(type), kName, site, &lanes)) return;
  const Stride a = Bytes(strides.src0_block, strides.src0_repeat);
  const Stride b = Bytes(strides.src1_block, strides.src1_repeat);
  Instr instr(Queue::kV, kName, site, VectorCost(1, kCompareWeight));
  instr.Add(VectorOperand(0, Access::kRead, src0, isa::SizeOf(type), lanes, a));
  instr.Add(VectorOperand(1, Access::kRead, src1, isa::SizeOf(type), lanes, b));
  core.Issue(instr, [op, type, lanes, from0 = At(core, src0, a), from1 = At(core, src1, b), spr = &core.spr()] {
    uint64_t bits[2];
    isa::CompareToRegister(op, type, lanes.mask, from0, from1, bits);
    spr->cmp_mask_low = bits[0];
    spr->cmp_mask_high = bits[1];
  });
}

void IssueSetCmpMask(const View& src, Site site) {
  Core& core = Core::Current();
  if (!CheckUb(core, src, "SetCmpMask", site)) return;
  Instr instr(Queue::kV, "SetCmpMask", site, VectorCost(1, 1));
  instr.Add(BitsOperand(Access::kRead, src, kRegisterBytes, kRegisterBytes));
  core.Issue(instr, [from = Pointer(core, src), spr = &core.spr()] {
    std::memcpy(&spr->cmp_mask_low, from, sizeof(uint64_t));
    std::memcpy(&spr->cmp_mask_high, from + sizeof(uint64_t), sizeof(uint64_t));
  });
}

void IssueGetCmpMask(const View& dst, Site site) {
  Core& core = Core::Current();
  if (!CheckUb(core, dst, "GetCmpMask", site)) return;
  Instr instr(Queue::kV, "GetCmpMask", site, VectorCost(1, 1));
  instr.Add(BitsOperand(Access::kWrite, dst, kRegisterBytes, kRegisterBytes));
  core.Issue(instr, [to = Pointer(core, dst), spr = &core.spr()] {
    std::memcpy(to, &spr->cmp_mask_low, sizeof(uint64_t));
    std::memcpy(to + sizeof(uint64_t), &spr->cmp_mask_high, sizeof(uint64_t));
  });
}

void IssueSelectByRegister(DType type, const View& dst, const View& src0, const View& src1, const LaneForm& form,
                           const Strides3& strides, Site site) {
  Core& core = Core::Current();
  constexpr const char* kName = "Select";
  isa::Lanes lanes;
  if (!CheckUb(core, dst, kName, site) || !CheckUb(core, src0, kName, site) || !CheckUb(core, src1, kName, site))
    return;
  if (!ResolveLanes(core, form, WidthOf(type), kName, site, &lanes)) return;
  const uint32_t size = isa::SizeOf(type);
  const Stride d = Bytes(strides.dst_block, strides.dst_repeat);
  const Stride a = Bytes(strides.src0_block, strides.src0_repeat);
  const Stride b = Bytes(strides.src1_block, strides.src1_repeat);
  Instr instr(Queue::kV, kName, site, VectorCost(lanes.repeats, kCompareWeight));
  instr.overlap = OverlapRule::kVector;
  instr.Add(VectorOperand(0, Access::kWrite, dst, size, lanes, d));
  instr.Add(VectorOperand(1, Access::kRead, src0, size, lanes, a));
  instr.Add(VectorOperand(2, Access::kRead, src1, size, lanes, b));
  core.Issue(instr, [type, lanes, to = At(core, dst, d), from0 = At(core, src0, a), from1 = At(core, src1, b),
                     spr = &core.spr()] {
    const uint64_t bits[2] = {spr->cmp_mask_low, spr->cmp_mask_high};
    isa::Select(isa::SelectMode::kRegister, type, lanes, to, reinterpret_cast<const uint8_t*>(bits), from0, from1, 0);
  });
}

void SelectByTensor(isa::SelectMode mode, DType type, const View& dst, const View& bits, const View& src0,
                    const View* src1, uint32_t scalar_bits, const LaneForm& form, const Strides3& strides, Site site) {
  Core& core = Core::Current();
  constexpr const char* kName = "Select";
  if (mode == isa::SelectMode::kRegister) {
    IssueSetCmpMask(bits, site);
    core.PipeBarrier(Queue::kV, site);
    return IssueSelectByRegister(type, dst, src0, *src1, form, strides, site);
  }
  if (!CheckUb(core, dst, kName, site) || !CheckUb(core, bits, kName, site) || !CheckUb(core, src0, kName, site) ||
      (src1 != nullptr && !CheckUb(core, *src1, kName, site))) {
    return;
  }
  {
    // The scalar, or the address of the bits, reaches the register through the scratch.
    Core::LibraryScope scope(core);
    const bool scalar = mode == isa::SelectMode::kTensorScalar;
    const uint32_t elem = scalar ? isa::SizeOf(type) : 4;
    IssueDuplicate(elem, Scratch(0), scalar ? scalar_bits : static_cast<uint32_t>(bits.address),
                   LaneForm::Mask(kBlockBytes, 1, true), {}, site);
    core.PipeBarrier(Queue::kV, site);
    IssueSetCmpMask(Scratch(0), site);
    core.PipeBarrier(Queue::kV, site);
  }
  isa::Lanes lanes;
  if (!ResolveLanes(core, form, WidthOf(type), kName, site, &lanes)) return;
  const uint32_t size = isa::SizeOf(type);
  const Stride d = Bytes(strides.dst_block, strides.dst_repeat);
  const Stride a = Bytes(strides.src0_block, strides.src0_repeat);
  const Stride b = Bytes(strides.src1_block, strides.src1_repeat);
  Instr instr(Queue::kV, kName, site, VectorCost(lanes.repeats, kCompareWeight));
  instr.overlap = OverlapRule::kVector;
  instr.Add(VectorOperand(0, Access::kWrite, dst, size, lanes, d));
  instr.Add(VectorOperand(1, Access::kRead, src0, size, lanes, a));
  // Bits up to the last active lane of the last repeat.
  uint32_t last = lanes.width;
  while (last > 1 && ((lanes.last_mask[(last - 1) >> 6] >> ((last - 1) & 63)) & 1) == 0) --last;
  instr.Add(BitsOperand(Access::kRead, bits, ((lanes.repeats - 1) * lanes.width + last + 7) / 8, kBlockBytes));
  isa::Operand from1;
  if (src1 != nullptr) {
    instr.Add(VectorOperand(3, Access::kRead, *src1, size, lanes, b));
    from1 = At(core, *src1, b);
  }
  core.Issue(instr, [mode, type, lanes, to = At(core, dst, d), at = Pointer(core, bits), from0 = At(core, src0, a),
                     from1, scalar_bits] { isa::Select(mode, type, lanes, to, at, from0, from1, scalar_bits); });
}

}  // namespace npu_model::issue
