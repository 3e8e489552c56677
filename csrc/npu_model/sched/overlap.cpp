// SPDX-License-Identifier: Apache-2.0
#include "sched/overlap.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "sched/runs.h"

namespace npu_model {
namespace {

using Run = std::pair<uint64_t, uint64_t>;  // [lo, hi)

uint32_t RepeatsOf(const Operand& operand) {
  uint32_t repeats = 0;
  for (uint32_t i = 0; i < operand.count; ++i) {
    repeats = std::max(repeats, operand.Regions()[i].repeat0 + operand.Regions()[i].n2);
  }
  return repeats;
}

// Bytes of one repeat, in lane order, neighbouring blocks joined.
std::vector<Run> RunsOf(const Operand& operand, uint32_t repeat) {
  std::vector<Run> runs;
  for (uint32_t i = 0; i < operand.count; ++i) {
    const Region& region = operand.Regions()[i];
    if (repeat < region.repeat0 || repeat >= region.repeat0 + region.n2) continue;
    const uint64_t base = region.base + static_cast<uint64_t>(repeat - region.repeat0) * region.s2;
    for (uint32_t b = 0; b < region.n1; ++b) {
      const uint64_t lo = base + static_cast<uint64_t>(b) * region.s1;
      if (!runs.empty() && runs.back().second == lo) {
        runs.back().second += region.len;
      } else {
        runs.emplace_back(lo, lo + region.len);
      }
    }
  }
  return runs;
}

bool Intersect(const std::vector<Run>& a, const std::vector<Run>& b) {
  for (const Run& x : a) {
    for (const Run& y : b) {
      if (x.first < y.second && y.first < x.second) return true;
    }
  }
  return false;
}

bool SameRegions(const Operand& a, const Operand& b) {
  if (a.count != b.count) return false;
  for (uint32_t i = 0; i < a.count; ++i) {
    const Region& x = a.Regions()[i];
    const Region& y = b.Regions()[i];
    if (x.base != y.base || x.len != y.len || x.n1 != y.n1 || x.s1 != y.s1 || x.n2 != y.n2 || x.s2 != y.s2 ||
        x.repeat0 != y.repeat0) {
      return false;
    }
    const uint64_t span = static_cast<uint64_t>(x.n1 - 1) * x.s1 + x.len;
    if (x.n2 > 1 && x.s2 < span) return false;  // repeats overlap each other: look closer
  }
  return true;
}

bool IsAccumulation(const Operand& target, const Operand& source) {
  if (target.start != source.start || target.count == 0 || source.count == 0) return false;
  return target.Regions()[0].s2 == 0 || source.Regions()[0].s2 == 0;
}

std::string DescribeVector(const Operand& target, const Operand& source) {
  const bool widening = target.elem_bytes > source.elem_bytes;
  uint64_t lo, hi, source_lo, source_hi;
  BoundsOf(target, &lo, &hi);
  BoundsOf(source, &source_lo, &source_hi);
  std::vector<uint32_t> written(hi - lo, 0);  // 1 + repeat that wrote the byte
  const uint32_t repeats = std::max(RepeatsOf(target), RepeatsOf(source));
  for (uint32_t r = 0; r < repeats; ++r) {
    const std::vector<Run> reads = RunsOf(source, r);
    const std::vector<Run> writes = RunsOf(target, r);
    for (const Run& run : reads) {
      for (uint64_t at = std::max(run.first, lo); at < std::min(run.second, hi); ++at) {
        if (written[at - lo] == 0) continue;
        return (widening ? "in-place widening: repeat " : "repeat ") + std::to_string(written[at - lo] - 1) +
               " overwrites what repeat " + std::to_string(r) + " still has to read";
      }
    }
    if (reads != writes && Intersect(reads, writes)) {
      return widening ? "in-place widening: within repeat " + std::to_string(r) + " the destination of " +
                            std::to_string(target.elem_bytes) + "-byte elements covers part of its source of " +
                            std::to_string(source.elem_bytes) + "-byte elements"
                      : "within repeat " + std::to_string(r) + " source and destination overlap without coinciding";
    }
    for (const Run& run : writes)
      std::fill(written.begin() + (run.first - lo), written.begin() + (run.second - lo), r + 1);
  }
  return "";
}

std::string DescribeDisjoint(const Operand& target, const Operand& source) {
  std::vector<Run> writes;
  ForEachRun(target, [&](uint64_t lo, uint64_t hi) { writes.emplace_back(lo, hi); });
  std::sort(writes.begin(), writes.end());
  bool hit = false;
  ForEachRun(source, [&](uint64_t lo, uint64_t hi) {
    const auto after = std::lower_bound(writes.begin(), writes.end(), Run(hi, 0));
    hit = hit || (after != writes.begin() && (after - 1)->second > lo);
  });
  return hit ? "source and destination of this instruction must not share bytes" : "";
}

}  // namespace

std::string DescribeOverlap(OverlapRule rule, const Operand& target, const Operand& source, int source_index) {
  switch (rule) {
    case OverlapRule::kNone: return "";
    case OverlapRule::kDisjoint: return DescribeDisjoint(target, source);
    case OverlapRule::kVectorAccumulate:
      if (source_index == 2 && IsAccumulation(target, source)) return "";
      break;
    case OverlapRule::kVector: break;
  }
  if (SameRegions(target, source)) return "";
  return DescribeVector(target, source);
}

}  // namespace npu_model
