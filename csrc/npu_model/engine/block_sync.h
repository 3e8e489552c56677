// SPDX-License-Identifier: Apache-2.0
// What the blocks of one launch share: the right to run (at most `threads` at a time), SyncAll, and IBSet/IBWait
// signals.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace npu_model {

// What a block knows about the others: clock[b] = number of releases of block b it has joined.
using BlockClock = std::vector<uint32_t>;

struct BlockArrival {
  double time = 0;   // cycles
  BlockClock clock;  // own entry = releases so far, this one included
};

class BlockSync {
 public:
  BlockSync(int blocks, int cores, int threads);

  void AcquireToken();
  void ReleaseToken();
  void BlockEnded(int block);

  // Blocks until every block arrived as often as this one. Returns an empty string and the joined arrival, or why it
  // can never happen.
  std::string SyncAll(int block, const BlockArrival& arrival, BlockArrival* joined);
  void Signal(uint64_t key, const BlockArrival& arrival);
  std::string Wait(int block, uint64_t key, BlockArrival* joined);

 private:
  enum class State { kRunning, kInSyncAll, kInWait, kEnded };

  void FailIfNobodyRuns();
  std::string WhoIsMissing(int block) const;

  const int blocks_;
  const int cores_;
  int tokens_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<State> states_;
  std::vector<uint64_t> wait_keys_;
  std::vector<int> arrivals_;  // SyncAll calls per block
  std::vector<BlockArrival> pending_;
  int generation_ = 0;
  BlockArrival released_;
  std::map<uint64_t, std::deque<BlockArrival>> signals_;
  bool failed_ = false;
};

}  // namespace npu_model
