// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "cost/params.h"

namespace npu_model {

// Which lines of one GM argument this core touched before and the L2 still holds. Ageing is by volume: a line is gone
// once 16 MiB of other lines were brought in after its last touch. Lines count from the argument's start, so results do
// not depend on the host's allocator.
class L2Tracker {
 public:
  explicit L2Tracker(uint64_t bytes) : pages_((bytes >> kPageShift) + 2) {}

  // Touches one line; true if it was a hit. `clock` counts the lines this core brought in.
  bool Touch(uint64_t offset, uint64_t& clock) {
    const uint64_t page = offset >> kPageShift;
    if (page >= pages_.size()) return false;
    if (!pages_[page]) pages_[page] = std::make_unique<Page>();
    uint64_t& stamp = (*pages_[page])[(offset / kL2LineBytes) % kLinesPerPage];
    const bool hit = stamp != 0 && clock - stamp < kL2Bytes / kL2LineBytes;
    if (!hit) ++clock;
    stamp = clock;
    return hit;
  }

 private:
  static constexpr int kPageShift = 16;
  static constexpr uint64_t kLinesPerPage = (1u << kPageShift) / kL2LineBytes;
  using Page = std::array<uint64_t, kLinesPerPage>;

  std::vector<std::unique_ptr<Page>> pages_;
};

}  // namespace npu_model
