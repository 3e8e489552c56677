// SPDX-License-Identifier: Apache-2.0
#include "engine/block_sync.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace npu_model {
namespace {

// "block(s) 0, 3"
class BlockNames {
 public:
  void Add(int block) { text_ += (text_.empty() ? "block(s) " : ", ") + std::to_string(block); }
  bool empty() const { return text_.empty(); }
  std::string With(const char* what) const { return text_ + what; }

 private:
  std::string text_;
};

// What a flag must hold, and does; empty: it does hold that.
std::string WrongValue(const GmFlag& flag, bool up, const std::string& since) {
  int32_t value = 0;
  std::memcpy(&value, reinterpret_cast<const void*>(flag.address), sizeof(value));
  if (value == static_cast<int32_t>(up)) return "";
  return flag.ToString() + " holds " + std::to_string(value) + " in GM instead of " + (up ? "1, " : "0, ") + since;
}

}  // namespace

std::string GmFlag::ToString() const {
  return "flag (blockIdx " + std::to_string(block_idx) + ", eventID " + std::to_string(event_id) + ")";
}

BlockSync::BlockSync(int blocks, int cores, int threads)
    : cores_(cores), tokens_(threads), running_(blocks), blocks_(blocks) {}

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

void BlockSync::BlockEnded(int block, bool abandoned) {
  std::lock_guard<std::mutex> lock(mutex_);
  blocks_[block].state = abandoned ? State::kAbandoned : State::kEnded;
  BlockStops();
}

Passage BlockSync::Poll(std::unique_lock<std::mutex>& lock, int block, State state, const BlockArrival& arrival,
                        const AccessReport& call) {
  Block& mine = blocks_[block];
  if (blocks_.size() > static_cast<size_t>(cores_)) {
    // Later waves start when a core is free, and a core that polls is not.
    Passage passage;
    passage.kind = Passage::Kind::kDeadlock;
    passage.why = call.op + " with " + std::to_string(blocks_.size()) + " blocks on " + std::to_string(cores_) +
                  " cores: the blocks of later waves never start";
    return passage;
  }
  mine.state = state;
  mine.arrival = arrival;
  mine.call = call;
  ++tokens_;
  BlockStops();
  changed_.notify_all();
  changed_.wait(lock, [&] { return mine.state == State::kRunning; });
  if (mine.passage.kind == Passage::Kind::kPassed) changed_.wait(lock, [&] { return tokens_ > 0; });
  --tokens_;  // unwinding needs none of its own
  return std::move(mine.passage);
}

Passage BlockSync::SyncAll(int block, const BlockArrival& arrival, const AccessReport& call) {
  std::unique_lock<std::mutex> lock(mutex_);
  return Poll(lock, block, State::kInSyncAll, arrival, call);
}

Passage BlockSync::AwaitFlag(int block, const GmFlag& flag, const BlockArrival& arrival, const AccessReport& call) {
  std::unique_lock<std::mutex> lock(mutex_);
  blocks_[block].flag = flag;
  return Poll(lock, block, State::kAtFlag, arrival, call);
}

void BlockSync::TurnFlag(int block, const GmFlag& flag, const BlockArrival& arrival, const AccessReport& call) {
  std::lock_guard<std::mutex> lock(mutex_);
  FlagState& state = flags_[flag.address];
  state.taken = false;
  state.up = flag.set;
  (flag.set ? state.set : state.wait) = {block, arrival, call};
}

// A block polls or has ended.
void BlockSync::BlockStops() {
  if (--running_ != 0) return;
  if (!PassFlags() && !PassSyncAll()) FailAll();
  changed_.notify_all();
}

void BlockSync::LetPass(int block, Passage passage) {
  blocks_[block].state = State::kRunning;
  blocks_[block].passage = std::move(passage);
  ++running_;
}

bool BlockSync::PassFlags() {
  std::vector<std::pair<double, int>> polling;
  for (int b = 0; b < static_cast<int>(blocks_.size()); ++b) {
    if (blocks_[b].state == State::kAtFlag) polling.push_back({blocks_[b].arrival.time, b});
  }
  std::sort(polling.begin(), polling.end());
  bool passed = false;
  for (const auto& [time, b] : polling) {
    const Block& block = blocks_[b];
    FlagState& flag = flags_[block.flag.address];
    if (flag.taken) continue;
    const FlagCall& answer = block.flag.set ? flag.wait : flag.set;
    const FlagCall& before = flag.up ? flag.set : flag.wait;
    Passage passage;
    passage.why = WrongValue(block.flag, flag.up,
                             before.block < 0 ? "which it must hold when the kernel starts"
                                              : "which the " + before.call.op + " at " + before.call.Place() +
                                                    " left in it: something else writes it");
    if (!passage.why.empty()) {
      passage.kind = Passage::Kind::kBadFlag;
    } else if (flag.up == block.flag.set) {
      continue;
    } else {
      if (answer.block >= 0) passage.joined = answer.arrival;
      const FlagCall& same = block.flag.set ? flag.set : flag.wait;
      passage.contested =
          same.block >= 0 && same.block != b && block.arrival.clock[same.block] < same.arrival.clock[same.block];
      passage.rival = same.call;
      flag.taken = true;
    }
    LetPass(b, std::move(passage));
    passed = true;
  }
  return passed;
}

bool BlockSync::PassSyncAll() {
  if (!std::all_of(blocks_.begin(), blocks_.end(), [](const Block& b) { return b.state == State::kInSyncAll; }))
    return false;
  Passage passage;
  passage.joined.clock = blocks_[0].arrival.clock;
  for (const Block& block : blocks_) {
    for (size_t b = 0; b < blocks_.size(); ++b) {
      passage.joined.clock[b] = std::max(passage.joined.clock[b], block.arrival.clock[b]);
    }
  }
  for (size_t b = 0; b < blocks_.size(); ++b) {
    // A block knows its own time; whoever changes that later (sched/replay.h) wants to know the others'.
    passage.joined.time = 0;
    for (size_t other = 0; other < blocks_.size(); ++other) {
      if (other != b) passage.joined.time = std::max(passage.joined.time, blocks_[other].arrival.time);
    }
    LetPass(static_cast<int>(b), passage);
  }
  return true;
}

void BlockSync::FailAll() {
  std::vector<std::pair<int, Passage>> stuck;
  for (int b = 0; b < static_cast<int>(blocks_.size()); ++b) {
    if (!Polls(blocks_[b])) continue;
    Passage passage;
    passage.kind = Passage::Kind::kDeadlock;
    passage.why = WhyStuck(b);
    stuck.push_back({b, std::move(passage)});
  }
  for (auto& [b, passage] : stuck) LetPass(b, std::move(passage));
}

std::string BlockSync::Describe(int b) const {
  const Block& block = blocks_[b];
  if (block.state == State::kInSyncAll) return "for the others";
  const std::string flag = block.flag.ToString();
  if (!block.flag.set) return "for " + flag + " to be set by an IBSet";
  const FlagCall& last = flags_.at(block.flag.address).set;
  return "for an IBWait to clear " + flag + ", which block " + std::to_string(last.block) + " set at " +
         last.call.Place();
}

std::string BlockSync::WhyStuck(int block) const {
  const bool in_sync_all = blocks_[block].state == State::kInSyncAll;
  BlockNames ended, abandoned;
  std::vector<std::string> others;
  for (int b = 0; b < static_cast<int>(blocks_.size()); ++b) {
    const State state = blocks_[b].state;
    if (b == block || (in_sync_all && state == State::kInSyncAll)) continue;
    if (state == State::kEnded) {
      ended.Add(b);
    } else if (state == State::kAbandoned) {
      abandoned.Add(b);
    } else {
      others.push_back("block " + std::to_string(b) + " waits in " + blocks_[b].call.op + " at " +
                       blocks_[b].call.Place() + " " + Describe(b));
    }
  }
  if (!ended.empty()) others.push_back(ended.With(in_sync_all ? " ended without calling it" : " ended"));
  if (!abandoned.empty()) others.push_back(abandoned.With(" stopped at an error"));
  std::string text = blocks_[block].call.op + " waits in vain " + Describe(block);
  for (size_t i = 0; i < others.size(); ++i) text += (i == 0 ? ": " : "; ") + others[i];
  return text;
}

}  // namespace npu_model
