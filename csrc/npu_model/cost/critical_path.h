// SPDX-License-Identifier: Apache-2.0
// What the end of a core's timeline waited for, link by link back to its start: the cycles that would have to shrink
// for the kernel to end sooner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/types.h"

namespace npu_model {

// A point in time and the link that ends there. Link 0 is the start.
struct Moment {
  double at = 0;
  uint32_t link = 0;
};

inline const Moment& Later(const Moment& a, const Moment& b) { return b.at > a.at ? b : a; }

// How a link spends its cycles: the queue is occupied; the result is not yet visible; another block has not arrived.
enum class LinkKind : uint8_t { kBusy, kLatency, kBlocks };
constexpr int kLinkKinds = 3;

constexpr uint32_t kNoSite = ~0u;

// Cycles on the path; they add up to the block's total.
struct CriticalPath {
  struct Stage {
    double cycles[kQueueCount][kLinkKinds] = {};
  };
  std::vector<Stage> stages;  // [stage + 1]
  std::vector<double> sites;  // by site of the core; instructions only

  void Add(const CriticalPath& other);
};

class CriticalLinks {
 public:
  // A link of `cycles` that starts at `from`.
  Moment Append(const Moment& from, double cycles, Queue queue, int stage, LinkKind kind, uint32_t site = kNoSite) {
    links_.push_back({from.link, static_cast<float>(cycles), site, static_cast<int16_t>(stage), queue, kind});
    return {from.at + cycles, static_cast<uint32_t>(links_.size())};
  }
  CriticalPath Trace(uint32_t last) const;
  void Release() { std::vector<Link>().swap(links_); }

 private:
  struct Link {
    uint32_t before;
    float cycles;
    uint32_t site;
    int16_t stage;
    Queue queue;
    LinkKind kind;
  };
  std::vector<Link> links_;  // link n is links_[n - 1]
};

}  // namespace npu_model
