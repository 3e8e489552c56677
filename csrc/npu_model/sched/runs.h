// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "memory/operand.h"

namespace npu_model {

// Calls f(lo, hi) for the contiguous byte runs of an operand, neighbouring blocks joined, rereads dropped.
template <class F>
void ForEachRun(const Operand& operand, F&& f) {
  const Region* regions = operand.Regions();
  for (uint32_t i = 0; i < operand.count; ++i) {
    const Region& region = regions[i];
    uint64_t len = region.len;
    uint32_t n1 = region.s1 == 0 ? std::min(region.n1, 1u) : region.n1;
    uint32_t n2 = region.s2 == 0 ? std::min(region.n2, 1u) : region.n2;
    if (len == 0 || n1 == 0 || n2 == 0) continue;
    if (n1 > 1 && region.s1 == len) {
      len *= n1;
      n1 = 1;
    }
    if (n1 == 1 && n2 > 1 && region.s2 == len) {
      len *= n2;
      n2 = 1;
    }
    for (uint32_t j2 = 0; j2 < n2; ++j2) {
      uint64_t at = region.base + static_cast<uint64_t>(j2) * region.s2;
      for (uint32_t j1 = 0; j1 < n1; ++j1, at += region.s1) f(at, at + len);
    }
  }
}

// Smallest range that holds every byte of the operand; empty operands give lo == hi == start.
inline void BoundsOf(const Operand& operand, uint64_t* lo, uint64_t* hi) {
  *lo = ~uint64_t{0};
  *hi = 0;
  const Region* regions = operand.Regions();
  for (uint32_t i = 0; i < operand.count; ++i) {
    const Region& region = regions[i];
    if (region.len == 0 || region.n1 == 0 || region.n2 == 0) continue;
    *lo = std::min(*lo, region.base);
    *hi = std::max(*hi, region.base + static_cast<uint64_t>(region.n2 - 1) * region.s2 +
                            static_cast<uint64_t>(region.n1 - 1) * region.s1 + region.len);
  }
  if (*hi == 0) *lo = *hi = operand.start;
}

}  // namespace npu_model
