// SPDX-License-Identifier: Apache-2.0
// What one block did, step by step in the order of execution, as far as order and time are concerned: enough to run its
// clocks and its timeline again without some flags and barriers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/types.h"

namespace npu_model {

constexpr uint32_t kNoSyncSite = ~0u;

struct SyncStep {
  // kIssue*: S hands something to `queue` (kIssueSet, kIssueWait: a flag between `queue` and `other`). All other kinds
  // but kScalar, kBarrierAll, kScalarWait and kArrival execute what the issue number `issue` handed over.
  enum class Kind : uint8_t {
    kIssue,
    kIssueSet,
    kIssueWait,
    kScalar,  // S is busy: register writes, cache maintenance
    kInstr,
    kSetFlag,
    kWaitFlag,
    kBarrier,
    kBarrierAll,
    kScalarWait,  // the compiler's auto-sync makes S wait for `queue`
    kArrival,     // another block has arrived at `cycles`
  };

  Kind kind = Kind::kScalar;
  Queue queue = Queue::kS;  // flags: the one that sets
  Queue other = Queue::kS;  // flags: the one that waits
  uint8_t id = 0;
  bool judged = false;          // kSetFlag: known not to hit a raised flag, which has to stay so
  uint32_t site = kNoSyncSite;  // flags and barriers: what may be left out
  uint32_t issue = 0;
  uint32_t seq = 0;
  uint32_t needs = 0;  // kInstr: index into SyncLog::needs
  double cycles = 0;   // busy
  double latency = 0;  // kInstr: after that
};

// Per queue, the latest conflicting access that was ordered before an instruction.
using Needs = std::array<uint32_t, kQueueCount>;

class SyncLog {
 public:
  // 48 MB a block; a longer kernel repeats itself, but a verdict on a part of it would be none.
  static constexpr size_t kMaxSteps = 1'000'000;

  explicit SyncLog(bool enabled) : enabled_(enabled), needs_(1, Needs()) {}

  bool enabled() const { return enabled_; }
  bool overflown() const { return overflown_; }
  const std::vector<SyncStep>& steps() const { return steps_; }
  const Needs& needs(const SyncStep& step) const { return needs_[step.needs]; }
  uint32_t issues() const { return issues_; }

  void Add(const SyncStep& step) {
    if (!enabled_) return;
    if (steps_.size() == kMaxSteps) {
      Stop();
      return;
    }
    steps_.push_back(step);
  }
  // The number by which the execution refers to it.
  uint32_t AddIssue(const SyncStep& step) {
    Add(step);
    return issues_++;
  }
  void AddInstr(SyncStep step, const Needs& needs) {
    if (!enabled_) return;
    if (needs != Needs()) {
      step.needs = static_cast<uint32_t>(needs_.size());
      needs_.push_back(needs);
    }
    Add(step);
  }

 private:
  void Stop() {
    enabled_ = false;
    overflown_ = true;
    std::vector<SyncStep>().swap(steps_);
    std::vector<Needs>().swap(needs_);
  }

  bool enabled_;
  bool overflown_ = false;
  uint32_t issues_ = 0;
  std::vector<SyncStep> steps_;
  std::vector<Needs> needs_;
};

}  // namespace npu_model
