// SPDX-License-Identifier: Apache-2.0
// What the blocks of one launch share: the right to run (at most `threads` at a time), SyncAll, and the GM flags of
// IBSet and IBWait.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "engine/types.h"
#include "sched/hazard.h"

namespace npu_model {

// What a block knows about the others: clock[b] = number of releases of block b it has joined.
using BlockClock = std::vector<uint32_t>;

struct BlockArrival {
  double time = 0;   // cycles
  BlockClock clock;  // own entry = releases so far; of a block that tells others something, this one included
};

// How a block gets on from a place where it polls GM.
struct Passage {
  enum class Kind : uint8_t { kPassed, kDeadlock, kBadFlag };

  Kind kind = Kind::kPassed;
  std::string why;      // kDeadlock, kBadFlag
  BlockArrival joined;  // kPassed: nothing before this time, and an edge from this clock; no clock: no edge
  bool contested = false;
  AccessReport rival;  // contested: the other block's call that this one may as well have overtaken
};

// Nothing is decided before every block polls or has ended, and then in the order of model time. So who gets a flag,
// what it holds and what a deadlock looks like do not depend on the host's threads.
class BlockSync {
 public:
  BlockSync(int blocks, int cores, int threads);

  void AcquireToken();
  void ReleaseToken();
  void BlockEnded(int block, bool abandoned);

  // The callers have published their arrival; return when every block has.
  Passage SyncAll(int block, const BlockArrival& arrival, const AccessReport& call);
  // Returns when the flag is down (IBSet) or up (IBWait); it is then the caller's until TurnFlag, which publishes what
  // the block has done. `arrival` is not published. The flag's 32 bytes must be readable.
  Passage AwaitFlag(int block, const GmFlag& flag, const BlockArrival& arrival, const AccessReport& call);
  void TurnFlag(int block, const GmFlag& flag, const BlockArrival& arrival, const AccessReport& call);

 private:
  enum class State : uint8_t { kRunning, kInSyncAll, kAtFlag, kEnded, kAbandoned };

  struct Block {
    State state = State::kRunning;
    BlockArrival arrival;
    AccessReport call;
    GmFlag flag;
    Passage passage;
  };
  // The latest call of its kind on a flag.
  struct FlagCall {
    int block = -1;
    BlockArrival arrival;
    AccessReport call;
  };
  struct FlagState {
    bool up = false;
    bool taken = false;  // between AwaitFlag and TurnFlag
    FlagCall set, wait;
  };

  static bool Polls(const Block& block) { return block.state == State::kInSyncAll || block.state == State::kAtFlag; }
  Passage Poll(std::unique_lock<std::mutex>& lock, int block, State state, const BlockArrival& arrival,
               const AccessReport& call);
  void BlockStops();
  void LetPass(int block, Passage passage);
  bool PassFlags();
  bool PassSyncAll();
  void FailAll();
  std::string WhyStuck(int block) const;
  std::string Describe(int block) const;

  const int cores_;
  int tokens_;
  int running_;  // blocks that neither poll nor have ended
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Block> blocks_;
  std::map<uint64_t, FlagState> flags_;  // by address
};

}  // namespace npu_model
