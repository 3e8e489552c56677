// SPDX-License-Identifier: Apache-2.0
#include "issue/quantize.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "isa/quantize.h"

namespace npu_model::issue {
namespace {

constexpr uint8_t kSimple = 1;
constexpr uint8_t kInteger = 4;
constexpr uint32_t kHalfBlock = kBlockBytes / 2;
constexpr uint32_t kRuleBytes = 16 * sizeof(uint64_t);

Stride Bytes(uint32_t block, uint32_t repeat) { return {block * kBlockBytes, repeat * kBlockBytes}; }

// The bytes that the active lanes of int16 blocks leave in one half of each destination block.
Operand HalfBlocks(const View& view, const isa::Lanes& lanes, const Stride& stride, bool high) {
  Operand operand;
  operand.mem = view.mem;
  operand.access = Access::kWrite;
  operand.elem_bytes = 1;
  operand.align = kBlockBytes;
  operand.start = view.address;
  operand.origin = view.origin;
  std::vector<Region> regions;
  for (uint32_t r = 0; r < lanes.repeats; ++r) {
    const uint64_t* mask = lanes.MaskOf(r);
    for (uint32_t lane = 0; lane < lanes.width;) {
      if (((mask[lane >> 6] >> (lane & 63)) & 1) == 0) {
        ++lane;
        continue;
      }
      uint32_t end = lane + 1;
      while (end % kHalfBlock != 0 && ((mask[end >> 6] >> (end & 63)) & 1) != 0) ++end;
      const uint64_t base = view.address + uint64_t{r} * stride.repeat + uint64_t{lane / kHalfBlock} * stride.block;
      regions.push_back({base + (high ? kHalfBlock : 0) + lane % kHalfBlock, end - lane, 1, 0, 1, 0, r});
      lane = end;
    }
  }
  Region* storage = RegionStorage(0, static_cast<uint32_t>(regions.size()));
  std::copy(regions.begin(), regions.end(), storage);
  operand.external = storage;
  operand.count = static_cast<uint32_t>(regions.size());
  return operand;
}

bool CheckDst(Core& core, uint32_t block_stride, const char* name, Site site) {
  if (block_stride != 0) return true;
  core.Fault(Rule::kParam, name, site, "dstBlkStride is 0: several blocks would land on the same 32 bytes");
  return false;
}

}  // namespace

void IssueCastDequant(const View& dst, const View& src, const DequantForm& form, const LaneForm& lanes_form,
                      const Strides2& strides, Site site) {
  Core& core = Core::Current();
  constexpr const char* kName = "CastDequant";
  isa::Lanes lanes;
  if (!CheckUb(core, dst, kName, site) || !CheckUb(core, src, kName, site)) return;
  if (!ResolveLanes(core, lanes_form, isa::kRepeatBytes / sizeof(int16_t), kName, site, &lanes)) return;
  if (!CheckDst(core, strides.dst_block, kName, site)) return;
  const SpecialRegisters& spr = core.spr();
  if (form.per_lane != spr.deq_in_ub) {
    core.Fault(Rule::kParam, kName, site,
               form.per_lane ? "isVecDeq is true: SetDeqScale(vdeq, vdeqInfo) must come before it"
                             : "isVecDeq is false: SetDeqScale(scale, offset, signMode) must come before it");
    return;
  }
  if (!form.per_lane && isa::Dequant::Unpack(spr.deq_scale).is_signed != form.is_signed) {
    core.Fault(Rule::kParam, kName, site,
               std::string("the destination is ") + (form.is_signed ? "int8_t" : "uint8_t") +
                   ", but signMode of SetDeqScale says otherwise");
    return;
  }
  Instr instr(Queue::kV, kName, site, VectorCost(lanes.repeats, kSimple));
  instr.overlap = OverlapRule::kDisjoint;
  const Stride d = Bytes(strides.dst_block, strides.dst_repeat);
  const Stride s = Bytes(strides.src_block, strides.src_repeat);
  instr.Add(HalfBlocks(dst, lanes, d, form.high));
  instr.Add(VectorOperand(1, Access::kRead, src, sizeof(int16_t), lanes, s));
  const uint64_t address = spr.deq_scale;
  if (form.per_lane) instr.Add(MakeOperand(Mem::kUb, Access::kRead, address, kRuleBytes, kBlockBytes, {}));
  core.Issue(instr, [lanes, to = At(core, dst, d), from = At(core, src, s), form, word = spr.deq_scale,
                     rules = form.per_lane ? core.Bytes(Mem::kUb, address) : nullptr] {
    uint8_t one[sizeof(word)];
    std::memcpy(one, &word, sizeof(word));
    isa::CastDequant(lanes, to, from, rules != nullptr ? rules : one, form.per_lane, form.high);
  });
}

void IssueBinaryCast(isa::BinaryOp op, const char* name, DType dst_type, DType src_type, const View& dst,
                     const View& src0, const View& src1, const LaneForm& form, const Strides3& strides, Site site) {
  Core& core = Core::Current();
  const uint32_t src_size = isa::SizeOf(src_type);
  isa::Lanes lanes;
  if (!CheckUb(core, dst, name, site) || !CheckUb(core, src0, name, site) || !CheckUb(core, src1, name, site)) return;
  if (!ResolveLanes(core, form, isa::kRepeatBytes / src_size, name, site, &lanes)) return;
  if (!CheckDst(core, strides.dst_block, name, site)) return;
  Instr instr(Queue::kV, name, site, VectorCost(lanes.repeats, src_type == DType::kInt16 ? kInteger : kSimple));
  instr.overlap = OverlapRule::kVector;
  const Stride d = Bytes(strides.dst_block, strides.dst_repeat);
  const Stride a = Bytes(strides.src0_block, strides.src0_repeat);
  const Stride b = Bytes(strides.src1_block, strides.src1_repeat);
  instr.Add(VectorOperand(0, Access::kWrite, dst, isa::SizeOf(dst_type), lanes, d));
  instr.Add(VectorOperand(1, Access::kRead, src0, src_size, lanes, a));
  instr.Add(VectorOperand(2, Access::kRead, src1, src_size, lanes, b));
  core.Issue(instr, [op, dst_type, src_type, lanes, to = At(core, dst, d), from0 = At(core, src0, a),
                     from1 = At(core, src1, b), overflow = OverflowMode(core)] {
    isa::BinaryCast(op, dst_type, src_type, lanes, to, from0, from1, overflow);
  });
}

void IssueAddDeqRelu(const View& dst, const View& src0, const View& src1, const LaneForm& form, const Strides3& strides,
                     Site site) {
  Core& core = Core::Current();
  constexpr const char* kName = "AddDeqRelu";
  isa::Lanes lanes;
  if (!CheckUb(core, dst, kName, site) || !CheckUb(core, src0, kName, site) || !CheckUb(core, src1, kName, site)) {
    return;
  }
  if (!ResolveLanes(core, form, isa::kRepeatBytes / sizeof(int32_t), kName, site, &lanes)) return;
  if (!CheckDst(core, strides.dst_block, kName, site)) return;
  Instr instr(Queue::kV, kName, site, VectorCost(lanes.repeats, kInteger));
  instr.overlap = OverlapRule::kVector;
  const Stride d = Bytes(strides.dst_block, strides.dst_repeat);
  const Stride a = Bytes(strides.src0_block, strides.src0_repeat);
  const Stride b = Bytes(strides.src1_block, strides.src1_repeat);
  instr.Add(VectorOperand(0, Access::kWrite, dst, sizeof(uint16_t), lanes, d));
  instr.Add(VectorOperand(1, Access::kRead, src0, sizeof(int32_t), lanes, a));
  instr.Add(VectorOperand(2, Access::kRead, src1, sizeof(int32_t), lanes, b));
  const float scale = isa::HalfToFloat(static_cast<uint16_t>(core.spr().deq_scale));
  core.Issue(instr, [lanes, to = At(core, dst, d), from0 = At(core, src0, a), from1 = At(core, src1, b), scale,
                     overflow = OverflowMode(core)] { isa::AddDeqRelu(lanes, to, from0, from1, scale, overflow); });
}

}  // namespace npu_model::issue
