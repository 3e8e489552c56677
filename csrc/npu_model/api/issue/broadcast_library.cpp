// SPDX-License-Identifier: Apache-2.0
// Brcb, which this chip builds from Adds and a transpose per repeat.
#include <cstring>

#include "isa/permute.h"
#include "issue/library.h"
#include "issue/vector.h"

namespace npu_model::issue {
namespace {

constexpr uint32_t kElements = 8;
constexpr uint8_t kTransposeWeight = 4;

// The 8 source elements, repeated over the rows at `dst`: 8 rows of 32-bit, 16 rows of 16-bit elements (these 16 wide,
// the upper half left out). 16-bit groups start on 16-byte addresses.
void ReplicateRow(Core& core, uint32_t elem_bytes, const View& dst, const View& src, Site site) {
  const bool narrow = elem_bytes == 2;
  const DType type = narrow ? DType::kInt16 : DType::kInt32;
  const uint64_t bits[2] = {narrow ? 0x00ff00ff00ff00ffULL : ~uint64_t{0}, narrow ? 0x00ff00ff00ff00ffULL : 0};
  isa::Lanes lanes;
  if (!ResolveLanes(core, LaneForm::Bits(bits, narrow ? 2 : 1, true), isa::kRepeatBytes / elem_bytes, "Adds", site,
                    &lanes)) {
    return;
  }
  const Stride d{kBlockBytes, isa::kRepeatBytes};
  const Stride s{0, 0};
  Instr instr(Queue::kV, "Adds", site, VectorCost(lanes.repeats, kTransposeWeight));
  instr.Add(VectorOperand(0, Access::kWrite, dst, elem_bytes, lanes, d));
  instr.Add(VectorOperand(1, Access::kRead, src, elem_bytes, lanes, s)).align = kElements * elem_bytes;
  core.Issue(instr, [type, lanes, to = At(core, dst, d), from = At(core, src, s)] {
    isa::Scalar(isa::ScalarOp::kAdds, type, lanes, to, from, 0, isa::Overflow::kInf);
  });
}

// The transpose of the replicated rows: block i holds element i. The 16-bit instruction transposes 16 x 16 and so
// writes 8 more blocks than wanted.
void TransposeRows(Core& core, uint32_t elem_bytes, const View& dst, const View& rows, Site site) {
  const uint32_t bytes = elem_bytes == 2 ? isa::kFractalBytes : isa::kRepeatBytes;
  Instr instr(Queue::kV, "Transpose", site, VectorCost(bytes / isa::kRepeatBytes, kTransposeWeight));
  Operand write = MakeOperand(Mem::kUb, Access::kWrite, dst.address, bytes, kBlockBytes, {});
  write.elem_bytes = static_cast<uint8_t>(elem_bytes);
  instr.Add(write);
  Operand read = MakeOperand(Mem::kUb, Access::kRead, rows.address, 0, kBlockBytes, {});
  read.count = 0;
  read.Add({rows.address, kElements * elem_bytes, elem_bytes == 2 ? 16u : 8u, kBlockBytes});
  instr.Add(read);
  core.Issue(instr, [elem_bytes, to = Pointer(core, dst), from = Pointer(core, rows)] {
    if (elem_bytes == 2) return isa::TransposeBlock(to, from);
    uint32_t in[kElements][kElements], out[kElements][kElements];
    std::memcpy(in, from, sizeof(in));
    for (uint32_t r = 0; r < kElements; ++r) {
      for (uint32_t c = 0; c < kElements; ++c) out[c][r] = in[r][c];
    }
    std::memcpy(to, out, sizeof(out));
  });
}

// Contiguous 256 bytes. The bytes behind dst may never have been written, which is no fault of the caller: saving
// them is described by its scratch write alone.
void MoveRepeat(Core& core, const View& dst, const View& src, bool names_source, Site site) {
  Instr instr(Queue::kV, "Adds", site, VectorCost(1, kTransposeWeight));
  instr.Add(MakeOperand(Mem::kUb, Access::kWrite, dst.address, isa::kRepeatBytes, kBlockBytes, {}));
  if (names_source) instr.Add(MakeOperand(Mem::kUb, Access::kRead, src.address, isa::kRepeatBytes, kBlockBytes, {}));
  core.Issue(instr, [to = Pointer(core, dst), from = Pointer(core, src)] { std::memcpy(to, from, isa::kRepeatBytes); });
}

}  // namespace

void BroadcastBlocks(uint32_t elem_bytes, const View& dst, const View& src, uint32_t repeats, uint32_t dst_block,
                     uint32_t dst_repeat, Site site) {
  Core& core = Core::Current();
  if (!CheckUb(core, dst, "Brcb", site) || !CheckUb(core, src, "Brcb", site)) return;
  Core::LibraryScope scope(core);
  core.spr().mask_count_mode = false;
  core.SprWrite(site);
  const View tmp = Scratch(1024);
  const View saved = Scratch(1024 + 512);
  for (uint32_t r = 0; r < repeats; ++r) {
    const View to = Offset(dst, uint64_t{r} * dst_repeat * kBlockBytes);
    const View from = Offset(src, uint64_t{r} * kElements * elem_bytes);
    if (dst_block > 1) {
      // One Duplicate per element, read by the scalar unit.
      if (r == 0) SetAndWait(core, Queue::kV, Queue::kS, site);
      for (uint32_t i = 0; i < kElements; ++i) {
        const Operand load = MakeOperand(Mem::kUb, Access::kRead, from.address + uint64_t{i} * elem_bytes, elem_bytes,
                                         elem_bytes, from.origin);
        uint32_t bits = 0;
        if (const uint8_t* at = core.ScalarLoad(load, "Brcb", site)) std::memcpy(&bits, at, elem_bytes);
        SetAndWait(core, Queue::kS, Queue::kV, site);
        IssueDuplicate(elem_bytes, Offset(to, uint64_t{i} * dst_block * kBlockBytes), bits,
                       LaneForm::Mask(kBlockBytes / elem_bytes, 1, true), {}, site);
      }
      continue;
    }
    if (elem_bytes == 2) {
      const View behind = Offset(to, isa::kRepeatBytes);
      const bool room = behind.address + isa::kRepeatBytes <= kUbBytes;
      if (room) MoveRepeat(core, saved, behind, false, site);
      ReplicateRow(core, elem_bytes, tmp, from, site);
      core.PipeBarrier(Queue::kV, site);
      TransposeRows(core, elem_bytes, to, tmp, site);
      core.PipeBarrier(Queue::kV, site);
      if (room) MoveRepeat(core, behind, saved, true, site);
    } else {
      ReplicateRow(core, elem_bytes, tmp, from, site);
      core.PipeBarrier(Queue::kV, site);
      TransposeRows(core, elem_bytes, to, tmp, site);
    }
    core.PipeBarrier(Queue::kV, site);
  }
  core.spr().mask_low = core.spr().mask_high = ~uint64_t{0};
  core.SprWrite(site);
}

}  // namespace npu_model::issue
