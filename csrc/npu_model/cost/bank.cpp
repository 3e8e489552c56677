// SPDX-License-Identifier: Apache-2.0
#include "cost/bank.h"

#include <algorithm>

namespace npu_model {
namespace {

constexpr uint32_t kGroups = 16;
constexpr uint32_t kRepeatBytes = 256;
// Strides are multiples of 32 B, so patterns relative to the groups repeat at the latest after 16 repeats.
constexpr uint32_t kPeriod = 16;
constexpr uint32_t kBlocksPerRepeat = 8;

struct RepeatPattern {
  uint32_t group_load = 0;  // most blocks of the operand in one group
  uint64_t banks = 0;       // bit per (group, bank in group)
};

// A UB -> UB copy has runs where other vector instructions have repeats; it moves eight blocks a cycle, run after run.
bool IsCopy(const Operand& operand) {
  const Region& region = operand.Regions()[0];
  return region.len > kBlockBytes || region.n1 > kBlocksPerRepeat;
}

RepeatPattern PatternOf(const Operand& operand, uint32_t repeat) {
  RepeatPattern pattern;
  uint8_t load[kGroups] = {};
  const auto count = [&pattern, &load](uint64_t block, bool again) {
    const uint32_t group = block % kGroups;
    pattern.banks |= uint64_t{1} << (group * 4 + (block >> 11) % 4);
    load[group] += !again;
  };
  const Region* regions = operand.Regions();
  if (IsCopy(operand)) {
    const Region& region = regions[0];
    const uint32_t run = region.len / kBlockBytes;
    const uint32_t end = std::min((repeat + 1) * kBlocksPerRepeat, run * region.n1);
    for (uint32_t i = repeat * kBlocksPerRepeat; i < end; ++i) {
      count((region.base + static_cast<uint64_t>(i / run) * region.s1) / kBlockBytes + i % run, false);
    }
    pattern.group_load = *std::max_element(load, load + kGroups);
    return pattern;
  }
  for (uint32_t r = 0; r < operand.count; ++r) {
    const Region& region = regions[r];
    // A range wider than a repeat says where data-dependent addresses may lie, not which blocks they hit.
    if (region.len == 0 || region.len > kRepeatBytes) continue;
    if (repeat < region.repeat0 || repeat >= region.repeat0 + region.n2) continue;
    const uint64_t base = region.base + static_cast<uint64_t>(repeat - region.repeat0) * region.s2;
    for (uint32_t i = 0; i < region.n1; ++i) {
      const uint64_t first = (base + static_cast<uint64_t>(i) * region.s1) / kBlockBytes;
      const uint64_t last = (base + static_cast<uint64_t>(i) * region.s1 + region.len - 1) / kBlockBytes;
      for (uint64_t block = first; block <= last; ++block)
        count(block, i > 0 && region.s1 == 0);  // a row read again is one access
    }
  }
  pattern.group_load = *std::max_element(load, load + kGroups);
  return pattern;
}

double FactorOf(const Instr& instr, uint32_t repeat, const CostParams& params) {
  uint32_t load = 1;
  uint64_t read_banks = 0;
  uint64_t written_banks = 0;
  for (int i = 0; i < instr.count; ++i) {
    const Operand& operand = instr.operands[i];
    if (operand.mem != Mem::kUb) continue;
    const RepeatPattern pattern = PatternOf(operand, repeat);
    load = std::max(load, pattern.group_load);
    if (operand.access != Access::kWrite) read_banks |= pattern.banks;
    if (operand.access != Access::kRead) written_banks |= pattern.banks;
  }
  return load + ((read_banks & written_banks) != 0 ? params.rw_bank_conflict : 0);
}

}  // namespace

double ConflictedRepeats(const Instr& instr, const CostParams& params) {
  const uint32_t repeats = instr.cost.units;
  if (repeats == 0) return 0;
  uint32_t stride = 0;
  bool same_stride = true;
  bool known = false;
  for (int i = 0; i < instr.count; ++i) {
    const Operand& operand = instr.operands[i];
    for (uint32_t r = 0; r < operand.count; ++r) {
      const Region& region = operand.Regions()[r];
      same_stride = same_stride && !IsCopy(operand);
      if (region.n2 < 2) continue;
      same_stride = same_stride && (!known || stride == region.s2);
      stride = region.s2;
      known = true;
    }
  }
  if (same_stride) {
    // All operands advance together: what holds in the first repeat holds in all of them.
    return repeats * FactorOf(instr, 0, params);
  }
  const uint32_t sampled = std::min(repeats, kPeriod);
  double sum = 0;
  for (uint32_t repeat = 0; repeat < sampled; ++repeat) sum += FactorOf(instr, repeat, params);
  return sum * repeats / sampled;
}

}  // namespace npu_model
