// SPDX-License-Identifier: Apache-2.0
#include "issue/requant.h"

#include <cstring>

#include "isa/quantize.h"

namespace npu_model::issue {

void IssueRequantCopy(const View& dst, const View& src, const View& scales, const RequantCopy& shape, Site site) {
  Core& core = Core::Current();
  constexpr uint32_t kColumns = 16;
  constexpr uint32_t kL0cAlign = 64;
  const bool bytes = isa::SizeOf(shape.dst_type) == 1;
  const uint32_t half_block = kColumns * isa::SizeOf(shape.dst_type);
  const uint64_t shift = bytes && shape.upper_half ? half_block : 0;
  Instr instr(Queue::kV, "DataCopy", site, L0cUbCost(shape.rows * kColumns * sizeof(int32_t)));
  Operand write;
  write.mem = Mem::kUb;
  write.access = Access::kWrite;
  write.align = kBlockBytes;
  write.start = dst.address;
  write.origin = dst.origin;
  write.Add({dst.address + shift, half_block, shape.rows, kBlockBytes});
  instr.Add(write);
  instr.Add(MakeOperand(Mem::kL0c, Access::kRead, src.address, shape.rows * kColumns * sizeof(int32_t), kL0cAlign,
                        src.origin));
  if (shape.per_column) {
    instr.Add(
        MakeOperand(Mem::kUb, Access::kRead, scales.address, kColumns * sizeof(uint64_t), kBlockBytes, scales.origin));
  }
  core.Issue(instr, [shape, to = Pointer(core, dst) + shift, from = Pointer(core, src),
                     table = shape.per_column ? Pointer(core, scales) : nullptr, overflow = OverflowMode(core)] {
    uint64_t words[kColumns];
    for (uint32_t i = 0; i < kColumns; ++i) words[i] = shape.word;
    if (table != nullptr) std::memcpy(words, table, sizeof(words));
    isa::RequantiseRows(shape.rows, words, isa::SizeOf(shape.dst_type) == 1, overflow, to, from);
  });
}

}  // namespace npu_model::issue
