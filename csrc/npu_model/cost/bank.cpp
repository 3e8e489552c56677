// SPDX-License-Identifier: Apache-2.0
#include "cost/bank.h"

#include <algorithm>
#include <cstring>

namespace npu_model {
namespace {

constexpr uint32_t kGroups = 16;
constexpr uint32_t kBlocksPerRepeat = 8;
constexpr uint32_t kRepeatBytes = kBlocksPerRepeat * kBlockBytes;
// Strides are multiples of 32 B, so patterns relative to the groups repeat at the latest after 16 repeats.
constexpr uint32_t kPeriod = 16;

// What the sources of one repeat, or its destination, ask of the groups. A group serves one 32-byte row a cycle; a row
// asked for twice is served once.
class Side {
 public:
  void Add(uint64_t block) {
    const uint32_t group = block % kGroups;
    banks_ |= uint64_t{1} << (group * 4 + (block >> 11) % 4);
    uint8_t& load = load_[group];
    const uint32_t known = std::min<uint32_t>(load, kRemembered);
    for (uint32_t i = 0; i < known; ++i) {
      if (rows_[group][i] == block) return;
    }
    if (load < kRemembered) rows_[group][load] = block;
    ++load;
  }
  uint32_t Cycles() const { return *std::max_element(load_, load_ + kGroups); }
  uint64_t banks() const { return banks_; }

 private:
  static constexpr uint32_t kRemembered = 4;

  uint64_t rows_[kGroups][kRemembered];
  uint8_t load_[kGroups] = {};
  uint64_t banks_ = 0;
};

// A UB -> UB copy has runs where other vector instructions have repeats; it moves eight blocks a cycle, run after run.
bool IsCopy(const Instr& instr) { return instr.count == 2 && std::strcmp(instr.name, "DataCopy") == 0; }

void AddCopyWindow(const Operand& operand, uint32_t window, Side& side) {
  const Region& region = operand.Regions()[0];
  const uint32_t run = region.len / kBlockBytes;
  const uint32_t end = std::min((window + 1) * kBlocksPerRepeat, run * region.n1);
  for (uint32_t i = window * kBlocksPerRepeat; i < end; ++i) {
    side.Add((region.base + static_cast<uint64_t>(i / run) * region.s1) / kBlockBytes + i % run);
  }
}

void AddRepeat(const Operand& operand, uint32_t repeat, Side& side) {
  const Region* regions = operand.Regions();
  for (uint32_t r = 0; r < operand.count; ++r) {
    const Region& region = regions[r];
    // A range wider than a repeat says where data-dependent addresses may lie, not which blocks they hit.
    if (region.len == 0 || region.len > kRepeatBytes) continue;
    if (repeat < region.repeat0 || repeat >= region.repeat0 + region.n2) continue;
    const uint64_t base = region.base + static_cast<uint64_t>(repeat - region.repeat0) * region.s2;
    for (uint32_t i = 0; i < region.n1; ++i) {
      const uint64_t first = base + static_cast<uint64_t>(i) * region.s1;
      for (uint64_t block = first / kBlockBytes; block <= (first + region.len - 1) / kBlockBytes; ++block)
        side.Add(block);
    }
  }
}

double FactorOf(const Instr& instr, uint32_t repeat, const CostParams& params) {
  const bool copy = IsCopy(instr);
  Side reads;
  Side writes;
  for (int i = 0; i < instr.count; ++i) {
    const Operand& operand = instr.operands[i];
    if (operand.mem != Mem::kUb || operand.count == 0) continue;
    const auto add = [&](Side& side) {
      copy ? AddCopyWindow(operand, repeat, side) : AddRepeat(operand, repeat, side);
    };
    if (operand.access != Access::kWrite) add(reads);
    if (operand.access != Access::kRead) add(writes);
  }
  const uint32_t load = std::max({1u, reads.Cycles(), writes.Cycles()});
  return load + ((reads.banks() & writes.banks()) != 0 ? params.rw_bank_conflict : 0);
}

// All operands advance by the same stride: what holds in the first repeat holds in all of them.
bool AdvanceTogether(const Instr& instr) {
  if (IsCopy(instr)) return false;
  uint32_t stride = 0;
  bool known = false;
  for (int i = 0; i < instr.count; ++i) {
    const Operand& operand = instr.operands[i];
    for (uint32_t r = 0; r < operand.count; ++r) {
      const Region& region = operand.Regions()[r];
      if (region.n2 < 2) continue;
      if (known && stride != region.s2) return false;
      stride = region.s2;
      known = true;
    }
  }
  return true;
}

}  // namespace

double ConflictedRepeats(const Instr& instr, const CostParams& params) {
  const uint32_t repeats = instr.cost.units;
  if (repeats == 0) return 0;
  if (AdvanceTogether(instr)) return repeats * FactorOf(instr, 0, params);
  const uint32_t sampled = std::min(repeats, kPeriod);
  double sum = 0;
  for (uint32_t repeat = 0; repeat < sampled; ++repeat) sum += FactorOf(instr, repeat, params);
  return sum * repeats / sampled;
}

}  // namespace npu_model
