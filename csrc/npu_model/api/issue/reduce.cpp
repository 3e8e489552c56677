// SPDX-License-Identifier: Apache-2.0
#include "issue/reduce.h"

#include <string>

namespace npu_model::issue {
namespace {

constexpr uint8_t kReduceWeight = 2;

bool CheckStrides(Core& core, const ReduceStrides& strides, const char* name, Site site) {
  const auto legal = [](int64_t stride) { return stride >= 0 && stride <= 65535; };
  if (legal(strides.dst) && legal(strides.src_block) && legal(strides.src_repeat)) return true;
  core.Fault(Rule::kParam, name, site, "strides must be 0..65535");
  return false;
}

// The results of one repeat: `group` lanes make one, a group without active lanes makes none.
Operand ResultOperand(const View& dst, uint32_t elem_bytes, uint32_t results, uint32_t group, const isa::Lanes& lanes,
                      uint32_t repeat_stride, uint32_t align) {
  isa::Lanes written = lanes;
  const auto fold = [&](const uint64_t* mask, uint64_t* folded) {
    folded[0] = folded[1] = 0;
    for (uint32_t lane = 0; lane < results * group; ++lane) {
      if (((mask[lane >> 6] >> (lane & 63)) & 1) != 0) folded[lane / group >> 6] |= uint64_t{1} << (lane / group & 63);
    }
  };
  fold(lanes.mask, written.mask);
  fold(lanes.last_mask, written.last_mask);
  // Results lie side by side: describe them as lanes of contiguous blocks.
  written.width = results < kBlockBytes / elem_bytes ? kBlockBytes / elem_bytes : results;
  Operand operand = VectorOperand(0, Access::kWrite, dst, elem_bytes, written, {kBlockBytes, repeat_stride});
  operand.align = align;
  return operand;
}

struct Shape {
  uint32_t size, width, results, group, result_size;
};

// Common part of all three: lanes, operands, issue.
template <class Run>
void IssueReduce(const char* name, DType type, const Shape& shape, uint32_t result_bytes, uint32_t align,
                 const View& dst, const View& src, const LaneForm& form, const ReduceStrides& strides, Site site,
                 Run run) {
  Core& core = Core::Current();
  isa::Lanes lanes;
  if (!CheckUb(core, dst, name, site) || !CheckUb(core, src, name, site)) return;
  if (!CheckStrides(core, strides, name, site)) return;
  if (!ResolveLanes(core, form, shape.width, name, site, &lanes)) return;
  Instr instr(Queue::kV, name, site, VectorCost(lanes.repeats, kReduceWeight));
  instr.overlap = strides.in_place ? OverlapRule::kNone : OverlapRule::kVector;
  const auto dst_stride = static_cast<uint32_t>(strides.dst * result_bytes);
  const Stride s{static_cast<uint32_t>(strides.src_block * kBlockBytes),
                 static_cast<uint32_t>(strides.src_repeat * kBlockBytes)};
  instr.Add(ResultOperand(dst, shape.result_size, shape.results, shape.group, lanes, dst_stride, align));
  instr.Add(VectorOperand(1, Access::kRead, src, shape.size, lanes, s));
  const isa::Operand to{Pointer(core, dst), kBlockBytes, dst_stride};
  core.Issue(instr, [type, lanes, to, from = At(core, src, s), overflow = OverflowMode(core), run] {
    run(type, lanes, to, from, overflow);
  });
}

Shape ShapeOf(DType type, uint32_t group) {
  const uint32_t size = isa::SizeOf(type);
  const uint32_t width = isa::kRepeatBytes / size;
  return {size, width, width / group, group, size};
}

}  // namespace

void IssueReduceBlocks(const char* name, isa::ReduceOp op, DType type, const View& dst, const View& src,
                       const LaneForm& form, const ReduceStrides& strides, Site site) {
  const Shape shape = ShapeOf(type, kBlockBytes / isa::SizeOf(type));
  const uint32_t bytes = shape.results * shape.size;
  IssueReduce(name, type, shape, bytes, bytes, dst, src, form, strides, site,
              [op](DType t, const isa::Lanes& lanes, const isa::Operand& to, const isa::Operand& from,
                   isa::Overflow overflow) { isa::ReduceBlocks(op, t, lanes, to, from, overflow); });
}

void IssueReducePairs(const char* name, DType type, const View& dst, const View& src, const LaneForm& form,
                      const ReduceStrides& strides, Site site) {
  const Shape shape = ShapeOf(type, 2);
  IssueReduce(name, type, shape, shape.results * shape.size, kBlockBytes, dst, src, form, strides, site,
              [](DType t, const isa::Lanes& lanes, const isa::Operand& to, const isa::Operand& from,
                 isa::Overflow overflow) { isa::ReducePairs(t, lanes, to, from, overflow); });
}

void IssueReduceRepeats(const char* name, isa::ReduceOp op, DType type, bool index_first, const View& dst,
                        const View& src, const LaneForm& form, const ReduceStrides& strides, Site site) {
  Shape shape = ShapeOf(type, isa::kRepeatBytes / isa::SizeOf(type));
  if (op != isa::ReduceOp::kSum) shape.result_size *= 2;  // a value and its index
  const uint32_t bytes = shape.result_size;
  IssueReduce(
      name, type, shape, bytes, bytes, dst, src, form, strides, site,
      [op, index_first](DType t, const isa::Lanes& lanes, const isa::Operand& to, const isa::Operand& from,
                        isa::Overflow overflow) { isa::ReduceRepeats(op, t, index_first, lanes, to, from, overflow); });
}

}  // namespace npu_model::issue
