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

// What each queue of a core knows to be complete, and how flags and barriers change it. `scalar` is what S knew when it
// issued the instruction in question.
class QueueClocks {
 public:
  Clock& operator[](Queue queue) { return clocks_[static_cast<int>(queue)]; }
  const Clock& operator[](Queue queue) const { return clocks_[static_cast<int>(queue)]; }

  const Clock& Begin(Queue queue, const Clock& scalar) {
    Clock& clock = (*this)[queue];
    clock.Join(scalar);
    return clock;
  }
  // What SetFlag number `seq` of the queue publishes: everything earlier in the queue has completed when the flag
  // rises.
  Clock Publish(Queue queue, uint32_t seq, const Clock& scalar) {
    Clock published = Begin(queue, scalar);
    published[queue] = seq;
    return published;
  }
  void Receive(Queue queue, const Clock& published, const Clock& scalar) {
    Begin(queue, scalar);
    (*this)[queue].Join(published);
  }
  void Barrier(Queue queue, uint32_t seq, const Clock& scalar) {
    Begin(queue, scalar);
    (*this)[queue][queue] = seq;
  }
  // All queues are empty; last[p] is the number of the last instruction of p.
  void JoinAll(const uint32_t (&last)[kQueueCount]) {
    Clock all;
    for (int q = 0; q < kQueueCount; ++q) {
      all.Join(clocks_[q]);
      all.t[q] = last[q];
    }
    for (Clock& clock : clocks_) clock = all;
  }

 private:
  Clock clocks_[kQueueCount];
};

// One 32-bit word names an instruction: queue in the top three bits, its number in that queue below. 0 = nobody.
using Tag = uint32_t;
constexpr uint32_t kTagSeqBits = 29;
constexpr uint32_t kTagSeqMask = (1u << kTagSeqBits) - 1;

constexpr Tag MakeTag(Queue queue, uint32_t seq) { return (static_cast<uint32_t>(queue) << kTagSeqBits) | seq; }
constexpr uint32_t TagSeq(Tag tag) { return tag & kTagSeqMask; }
constexpr Queue TagQueue(Tag tag) { return static_cast<Queue>(tag >> kTagSeqBits); }

}  // namespace npu_model
