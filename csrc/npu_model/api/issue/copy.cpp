// SPDX-License-Identifier: Apache-2.0
#include "issue/copy.h"

#include <string>

#include "isa/copy.h"

namespace npu_model::issue {
namespace {

struct Path {
  Mem dst, src;
  Queue queue;
  CostClass cost;
};
constexpr Path kPaths[] = {
    {Mem::kUb, Mem::kGm, Queue::kMte2, CostClass::kGmLoad},  {Mem::kL1, Mem::kGm, Queue::kMte2, CostClass::kGmLoad},
    {Mem::kGm, Mem::kUb, Queue::kMte3, CostClass::kGmStore}, {Mem::kL1, Mem::kUb, Queue::kMte3, CostClass::kUbToL1},
    {Mem::kUb, Mem::kL1, Queue::kMte1, CostClass::kL1ToUb},  {Mem::kUb, Mem::kUb, Queue::kV, CostClass::kVector},
};

const Path* FindPath(Mem dst, Mem src) {
  for (const Path& path : kPaths) {
    if (path.dst == dst && path.src == src) return &path;
  }
  return nullptr;
}

Operand BlockOperand(Access access, const View& view, uint32_t bytes, uint32_t count, uint64_t pitch, uint32_t align) {
  Operand operand;
  operand.mem = view.mem;
  operand.access = access;
  operand.align = view.mem == Mem::kGm ? 1 : align;
  operand.start = view.address;
  operand.origin = view.origin;
  if (pitch == bytes && view.mem != Mem::kGm) {
    operand.Add({view.address, bytes * count});
  } else {
    operand.Add({view.address, bytes, count, static_cast<uint32_t>(pitch)});
  }
  return operand;
}

bool CheckShape(Core& core, uint32_t count, uint32_t length, Site site) {
  if (count < 1 || count > 4095) {
    core.Fault(Rule::kParam, "DataCopy", site, "blockCount is " + std::to_string(count) + ", must be 1..4095");
    return false;
  }
  if (length < 1 || length > 65535) {
    core.Fault(Rule::kParam, "DataCopy", site, "blockLen is " + std::to_string(length) + ", must be 1..65535");
    return false;
  }
  return true;
}

void MissingPath(Core& core, Mem dst, Mem src, Site site) {
  core.Fault(Rule::kUnsupported, "DataCopy", site,
             std::string("there is no copy from ") + Name(src) + " to " + Name(dst) + " on this chip");
}

DType AtomicType(AtomicMode mode) {
  return mode == AtomicMode::kAddF32 ? DType::kFloat : mode == AtomicMode::kAddF16 ? DType::kHalf : DType::kInt16;
}

}  // namespace

void IssueCopy(const View& dst, const View& src, const CopyShape& shape, Site site) {
  Core& core = Core::Current();
  const Path* path = FindPath(dst.mem, src.mem);
  if (path == nullptr) return MissingPath(core, dst.mem, src.mem, site);
  if (!CheckShape(core, shape.count, shape.length, site)) return;
  const isa::BlockCopy copy{shape.count, shape.length * kBlockBytes,
                            uint64_t{shape.length + shape.src_gap} * kBlockBytes,
                            uint64_t{shape.length + shape.dst_gap} * kBlockBytes};
  const AtomicMode atomic = path->cost == CostClass::kGmStore ? core.spr().atomic : AtomicMode::kNone;
  const uint32_t total = copy.blocks * copy.bytes;
  const Cost cost = path->cost == CostClass::kVector
                        ? VectorCost((total + isa::kRepeatBytes - 1) / isa::kRepeatBytes, 1)
                        : CopyCost(path->cost);
  Instr instr(path->queue, "DataCopy", site, cost);
  instr.polled = shape.polled;
  if (dst.mem == src.mem) instr.overlap = OverlapRule::kDisjoint;
  const Access write = atomic == AtomicMode::kNone ? Access::kWrite : Access::kAtomicAdd;
  instr.Add(BlockOperand(write, dst, copy.bytes, copy.blocks, copy.dst_pitch, kBlockBytes));
  instr.Add(BlockOperand(Access::kRead, src, copy.bytes, copy.blocks, copy.src_pitch, kBlockBytes));
  uint8_t* to = Pointer(core, dst);
  const uint8_t* from = Pointer(core, src);
  if (atomic == AtomicMode::kNone) {
    core.Issue(instr, [copy, to, from] { isa::Copy(copy, to, from); });
  } else {
    core.Issue(instr, [copy, to, from, type = AtomicType(atomic), overflow = OverflowMode(core)] {
      isa::CopyAdd(copy, type, to, from, overflow);
    });
  }
}

void IssueCopyBytes(const View& dst, const View& src, uint64_t bytes, Site site) {
  if (bytes % kBlockBytes != 0 || bytes == 0) {
    Core::Current().Fault(Rule::kParam, "DataCopy", site,
                          "the count is " + std::to_string(bytes) +
                              " bytes, must be a positive multiple of 32 (the hardware drops the rest)");
    return;
  }
  CopyShape shape;
  shape.length = static_cast<uint32_t>(bytes / kBlockBytes);
  IssueCopy(dst, src, shape, site);
}

void IssueFractalCopy(const View& dst, const View& src, const FractalCopy& shape, Site site) {
  Core& core = Core::Current();
  const bool drain = dst.mem == Mem::kUb && src.mem == Mem::kL0c;
  if (!drain && !(dst.mem == Mem::kL0c && src.mem == Mem::kUb)) return MissingPath(core, dst.mem, src.mem, site);
  if (!CheckShape(core, shape.count, shape.length, site)) return;
  constexpr uint32_t kFractalElems = 256;
  constexpr uint32_t kRowElems = 16;
  const uint32_t l0c_fractal = kFractalElems * isa::SizeOf(drain ? shape.src_type : shape.dst_type);
  const uint32_t ub_elem = isa::SizeOf(drain ? shape.dst_type : shape.src_type);
  const uint32_t l0c_gap = drain ? shape.src_gap : shape.dst_gap;
  const uint32_t ub_gap = drain ? shape.dst_gap : shape.src_gap;
  // Rows are blocks of their own: one a fractal in L0C, one behind the other in UB, but for the gap between blocks.
  const uint32_t unit_elems = shape.first_rows ? kRowElems : kFractalElems;
  isa::ConvertCopy copy;
  copy.blocks = shape.count;
  copy.units = shape.first_rows ? shape.length : 1;
  copy.elements = (shape.first_rows ? 1 : shape.length) * unit_elems;
  const uint64_t l0c_pitch = uint64_t{shape.length + l0c_gap} * l0c_fractal;
  const uint64_t ub_pitch = uint64_t{shape.length} * unit_elems * ub_elem + uint64_t{ub_gap} * kBlockBytes;
  copy.src_pitch = drain ? l0c_pitch : ub_pitch;
  copy.dst_pitch = drain ? ub_pitch : l0c_pitch;
  copy.src_unit_pitch = drain ? l0c_fractal : kRowElems * ub_elem;
  copy.dst_unit_pitch = drain ? kRowElems * ub_elem : l0c_fractal;
  copy.dst_type = shape.dst_type;
  copy.src_type = shape.src_type;
  copy.relu = shape.relu;
  copy.deq_scale = shape.deq_scale;
  Instr instr(Queue::kV, "DataCopy", site, L0cUbCost(copy.blocks * copy.units * copy.elements * sizeof(float)));
  constexpr uint32_t kL0cAlign = 64;
  const auto operand = [&](Access access, const View& view, uint64_t pitch, uint64_t unit_pitch, DType type) {
    Operand out = BlockOperand(access, view, copy.elements * isa::SizeOf(type), shape.count, pitch,
                               view.mem == Mem::kUb ? kBlockBytes : kL0cAlign);
    if (copy.units == 1) return out;
    out.count = 0;
    out.Add({view.address, copy.elements * isa::SizeOf(type), copy.units, static_cast<uint32_t>(unit_pitch),
             shape.count, static_cast<uint32_t>(pitch)});
    return out;
  };
  instr.Add(operand(Access::kWrite, dst, copy.dst_pitch, copy.dst_unit_pitch, shape.dst_type));
  instr.Add(operand(Access::kRead, src, copy.src_pitch, copy.src_unit_pitch, shape.src_type));
  core.Issue(instr, [copy, to = Pointer(core, dst), from = Pointer(core, src), overflow = OverflowMode(core)] {
    isa::Copy(copy, to, from, overflow);
  });
}

}  // namespace npu_model::issue
