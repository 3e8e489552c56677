// SPDX-License-Identifier: Apache-2.0
#include "sched/cross_core.h"

#include <algorithm>

#include "sched/runs.h"

namespace npu_model {
namespace {

struct Interval {
  uint64_t lo;
  uint64_t hi;
  int block;
  const GmAccess* access;
};

bool HappensBefore(const CoreState& earlier_block, const GmAccess& earlier, const CoreState& later_block,
                   const GmAccess& later) {
  return later_block.versions[later.version][earlier_block.block] > earlier.tick;
}

bool Conflict(const Interval& a, const Interval& b) {
  if (a.block == b.block || (a.access->polled && b.access->polled)) return false;
  if (a.access->access == Access::kRead && b.access->access == Access::kRead) return false;
  return !(a.access->access == Access::kAtomicAdd && b.access->access == Access::kAtomicAdd);
}

AccessReport Describe(const CoreState& block, const GmAccess& access, const std::string& name, uint64_t lo,
                      uint64_t hi) {
  AccessReport report = block.checker.Describe(access.tag);
  report.has_range = true;
  report.write = access.access != Access::kRead;
  report.mem = Mem::kGm;
  report.buffer = name;
  report.lo = lo;
  report.hi = hi;
  return report;
}

void AddConflict(const std::vector<std::unique_ptr<CoreState>>& blocks, const Interval& a, const Interval& b,
                 const std::string& name, HazardList& hazards) {
  // The lower block is named as the earlier one: nothing orders them, and this order does not depend on the host.
  const Interval& first = a.block < b.block ? a : b;
  const Interval& second = a.block < b.block ? b : a;
  Hazard hazard;
  hazard.rule = Rule::kGmOverlap;
  hazard.earlier = Describe(*blocks[first.block], *first.access, name, first.lo, first.hi);
  hazard.access = Describe(*blocks[second.block], *second.access, name, second.lo, second.hi);
  hazard.has_earlier = true;
  hazard.text = "two blocks touch the same GM bytes and nothing orders them";
  hazard.missing = "block " + std::to_string(first.block) + " <-> block " + std::to_string(second.block);
  hazard.fix = "SyncAll (or IBSet/IBWait) between the accesses, or disjoint ranges";
  hazards.Add(std::move(hazard));
}

std::vector<Interval> Collect(const std::vector<std::unique_ptr<CoreState>>& blocks, int argument) {
  int touching = 0;
  bool written = false;
  for (const auto& block : blocks) {
    const std::vector<GmAccess>& accesses = block->checker.accesses(argument);
    touching += !accesses.empty();
    for (const GmAccess& access : accesses) written |= access.access != Access::kRead;
  }
  std::vector<Interval> intervals;
  if (touching < 2 || !written) return intervals;
  for (const auto& block : blocks) {
    for (const GmAccess& access : block->checker.accesses(argument)) {
      Operand operand;
      operand.Add(access.region);
      ForEachRun(operand, [&](uint64_t lo, uint64_t hi) { intervals.push_back({lo, hi, block->block, &access}); });
    }
  }
  return intervals;
}

}  // namespace

void FindCrossCoreConflicts(const ChipState& chip, const std::vector<std::unique_ptr<CoreState>>& blocks,
                            HazardList& hazards) {
  for (size_t argument = 0; argument < chip.arguments.size(); ++argument) {
    std::vector<Interval> intervals = Collect(blocks, static_cast<int>(argument));
    std::sort(intervals.begin(), intervals.end(), [](const Interval& a, const Interval& b) {
      if (a.lo != b.lo) return a.lo < b.lo;
      if (a.block != b.block) return a.block < b.block;
      return a.access < b.access;  // same block: recorded in one vector, so this is its program order
    });
    std::vector<Interval> open;
    for (const Interval& next : intervals) {
      open.erase(std::remove_if(open.begin(), open.end(), [&](const Interval& old) { return old.hi <= next.lo; }),
                 open.end());
      for (const Interval& old : open) {
        if (!Conflict(old, next)) continue;
        if (HappensBefore(*blocks[old.block], *old.access, *blocks[next.block], *next.access)) continue;
        if (HappensBefore(*blocks[next.block], *next.access, *blocks[old.block], *old.access)) continue;
        AddConflict(blocks, old, next, chip.arguments[argument].name, hazards);
      }
      open.push_back(next);
    }
  }
}

}  // namespace npu_model
