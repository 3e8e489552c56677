// SPDX-License-Identifier: Apache-2.0
#include "engine/block_sync.h"

#include <algorithm>

namespace npu_model {

BlockSync::BlockSync(int blocks, int cores, int threads)
    : blocks_(blocks),
      cores_(cores),
      tokens_(threads),
      states_(blocks, State::kRunning),
      wait_keys_(blocks),
      arrivals_(blocks),
      pending_(blocks) {}

void BlockSync::AcquireToken() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return tokens_ > 0; });
  --tokens_;
}

void BlockSync::ReleaseToken() {
  std::lock_guard<std::mutex> lock(mutex_);
  ++tokens_;
  changed_.notify_all();
}

void BlockSync::BlockEnded(int block) {
  std::lock_guard<std::mutex> lock(mutex_);
  states_[block] = State::kEnded;
  FailIfNobodyRuns();
}

void BlockSync::FailIfNobodyRuns() {
  bool anyone_waits = false;
  for (int b = 0; b < blocks_; ++b) {
    switch (states_[b]) {
      case State::kRunning: return;
      case State::kEnded: break;
      case State::kInSyncAll: anyone_waits = true; break;
      case State::kInWait: {
        const auto it = signals_.find(wait_keys_[b]);
        if (it != signals_.end() && !it->second.empty()) return;
        anyone_waits = true;
        break;
      }
    }
  }
  if (anyone_waits) {
    failed_ = true;
    changed_.notify_all();
  }
}

std::string BlockSync::WhoIsMissing(int block) const {
  std::string ended;
  std::string waiting;
  for (int b = 0; b < blocks_; ++b) {
    if (b == block || arrivals_[b] >= arrivals_[block]) continue;
    std::string& list = states_[b] == State::kEnded ? ended : waiting;
    list += (list.empty() ? "" : ", ") + std::to_string(b);
  }
  std::string text;
  if (!ended.empty()) text += "block(s) " + ended + " ended without calling it";
  if (!waiting.empty()) text += (text.empty() ? "" : "; ") + ("block(s) " + waiting + " wait elsewhere");
  return text;
}

std::string BlockSync::SyncAll(int block, const BlockArrival& arrival, BlockArrival* joined) {
  if (blocks_ > cores_) {
    return "SyncAll with " + std::to_string(blocks_) + " blocks on " + std::to_string(cores_) +
           " cores: the blocks of later waves never start";
  }
  std::unique_lock<std::mutex> lock(mutex_);
  ++arrivals_[block];
  pending_[block] = arrival;
  const int my_generation = generation_;
  const bool complete = std::all_of(arrivals_.begin(), arrivals_.end(), [&](int n) { return n >= arrivals_[block]; });
  if (complete) {
    released_ = pending_[0];
    for (const BlockArrival& other : pending_) {
      released_.time = std::max(released_.time, other.time);
      for (int b = 0; b < blocks_; ++b) released_.clock[b] = std::max(released_.clock[b], other.clock[b]);
    }
    ++generation_;
    for (State& state : states_) state = state == State::kInSyncAll ? State::kRunning : state;
    *joined = released_;
    changed_.notify_all();
    return "";
  }
  states_[block] = State::kInSyncAll;
  FailIfNobodyRuns();
  ++tokens_;
  changed_.notify_all();
  changed_.wait(lock, [&] { return generation_ != my_generation || failed_; });
  if (generation_ == my_generation) {
    --tokens_;  // unwinding needs no token of its own
    return WhoIsMissing(block);
  }
  *joined = released_;
  changed_.wait(lock, [&] { return tokens_ > 0; });
  --tokens_;
  return "";
}

void BlockSync::Signal(uint64_t key, const BlockArrival& arrival) {
  std::lock_guard<std::mutex> lock(mutex_);
  signals_[key].push_back(arrival);
  changed_.notify_all();
}

std::string BlockSync::Wait(int block, uint64_t key, BlockArrival* joined) {
  std::unique_lock<std::mutex> lock(mutex_);
  std::deque<BlockArrival>& queue = signals_[key];
  if (queue.empty()) {
    if (blocks_ > cores_) {
      // Later waves start only when a core is free, and this wait keeps one busy; a signal from such a block never
      // comes.
      return "IBWait with " + std::to_string(blocks_) + " blocks on " + std::to_string(cores_) + " cores";
    }
    states_[block] = State::kInWait;
    wait_keys_[block] = key;
    FailIfNobodyRuns();
    ++tokens_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !queue.empty() || failed_; });
    if (queue.empty()) {
      --tokens_;
      return "no running block will signal this flag";
    }
    states_[block] = State::kRunning;
    changed_.wait(lock, [&] { return tokens_ > 0; });
    --tokens_;
  }
  *joined = queue.front();
  queue.pop_front();
  return "";
}

}  // namespace npu_model
