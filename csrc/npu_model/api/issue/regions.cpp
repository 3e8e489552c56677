// SPDX-License-Identifier: Apache-2.0
#include "issue/regions.h"

#include <vector>

#include "isa/lanes.h"

namespace npu_model::issue {
namespace {

class Builder {
 public:
  Builder(int slot, Operand& operand, uint32_t elem_bytes, uint32_t width, const Stride& stride)
      : slot_(slot), operand_(operand), elem_bytes_(elem_bytes), width_(width), stride_(stride) {}

  // The lanes of `mask` in repeats [first, first + repeats).
  void Add(const uint64_t* mask, uint32_t first, uint32_t repeats) {
    if (repeats == 0) return;
    const uint32_t per_block = kBlockBytes / elem_bytes_;
    const uint32_t blocks = width_ / per_block;
    const uint64_t full = (uint64_t{1} << per_block) - 1;
    uint32_t block = 0;
    while (block < blocks) {
      const uint64_t bits = isa::MaskBits(mask, block * per_block, per_block);
      if (bits == full) {
        uint32_t end = block + 1;
        while (end < blocks && isa::MaskBits(mask, end * per_block, per_block) == full) ++end;
        Push({BaseOf(block, first), kBlockBytes, end - block, stride_.block, repeats, stride_.repeat, first});
        block = end;
        continue;
      }
      AddRuns(bits, per_block, block, first, repeats);
      ++block;
    }
  }

  void Finish() {
    if (spilled_.empty()) return;
    Region* storage = RegionStorage(slot_, static_cast<uint32_t>(spilled_.size()));
    for (size_t i = 0; i < spilled_.size(); ++i) storage[i] = spilled_[i];
    operand_.external = storage;
    operand_.count = static_cast<uint32_t>(spilled_.size());
  }

 private:
  uint64_t BaseOf(uint32_t block, uint32_t repeat) const {
    return operand_.start + uint64_t{block} * stride_.block + uint64_t{repeat} * stride_.repeat;
  }

  // Each run of neighbouring active lanes of one block.
  void AddRuns(uint64_t bits, uint32_t per_block, uint32_t block, uint32_t first, uint32_t repeats) {
    for (uint32_t lane = 0; lane < per_block;) {
      if (((bits >> lane) & 1) == 0) {
        ++lane;
        continue;
      }
      uint32_t end = lane + 1;
      while (end < per_block && ((bits >> end) & 1) != 0) ++end;
      Push({BaseOf(block, first) + uint64_t{lane} * elem_bytes_, (end - lane) * elem_bytes_, 1, 0, repeats,
            stride_.repeat, first});
      lane = end;
    }
  }

  void Push(const Region& region) {
    if (spilled_.empty() && operand_.count < Operand::kInline) {
      operand_.Add(region);
      return;
    }
    if (spilled_.empty()) spilled_.assign(operand_.inline_regions, operand_.inline_regions + operand_.count);
    spilled_.push_back(region);
  }

  int slot_;
  Operand& operand_;
  uint32_t elem_bytes_;
  uint32_t width_;
  Stride stride_;
  std::vector<Region> spilled_;
};

}  // namespace

Region* RegionStorage(int slot, uint32_t count) {
  static thread_local std::vector<Region> storage[Instr::kMaxOperands];
  if (storage[slot].size() < count) storage[slot].resize(count);
  return storage[slot].data();
}

Operand VectorOperand(int slot, Access access, const View& view, uint32_t elem_bytes, const isa::Lanes& lanes,
                      const Stride& stride) {
  Operand operand;
  operand.mem = view.mem;
  operand.access = access;
  operand.elem_bytes = static_cast<uint8_t>(elem_bytes);
  operand.align = kBlockBytes;
  operand.start = view.address;
  operand.origin = view.origin;
  Builder builder(slot, operand, elem_bytes, lanes.width, stride);
  const bool same_tail = lanes.mask[0] == lanes.last_mask[0] && lanes.mask[1] == lanes.last_mask[1];
  builder.Add(lanes.mask, 0, same_tail ? lanes.repeats : lanes.repeats - 1);
  if (!same_tail) builder.Add(lanes.last_mask, lanes.repeats - 1, 1);
  builder.Finish();
  return operand;
}

}  // namespace npu_model::issue
