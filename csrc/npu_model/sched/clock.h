// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/types.h"

namespace npu_model {

// Vector clock over the queues of one core: t[p] = number of the last instruction of p that is known complete.
struct Clock {
  uint32_t t[8] = {};  // padded to eight lanes; kQueueCount are in use

  void Join(const Clock& other) {
    for (int i = 0; i < 8; ++i) t[i] = std::max(t[i], other.t[i]);
  }
  uint32_t& operator[](Queue queue) { return t[static_cast<int>(queue)]; }
  uint32_t operator[](Queue queue) const { return t[static_cast<int>(queue)]; }
};

// One 32-bit word names an instruction: queue in the top three bits, its number in that queue below. 0 = nobody.
using Tag = uint32_t;
constexpr uint32_t kTagSeqBits = 29;
constexpr uint32_t kTagSeqMask = (1u << kTagSeqBits) - 1;

constexpr Tag MakeTag(Queue queue, uint32_t seq) { return (static_cast<uint32_t>(queue) << kTagSeqBits) | seq; }
constexpr uint32_t TagSeq(Tag tag) { return tag & kTagSeqMask; }
constexpr Queue TagQueue(Tag tag) { return static_cast<Queue>(tag >> kTagSeqBits); }

}  // namespace npu_model
