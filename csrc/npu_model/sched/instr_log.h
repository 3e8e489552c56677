// SPDX-License-Identifier: Apache-2.0
// What the checker remembers about instructions that were issued: a small entry for each, for ever, and the operands'
// ranges of the latest ones, so that a report can name both sides of a conflict.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/core.h"
#include "sched/clock.h"

namespace npu_model {

// A source line and the calls that led there, together with the call made there. Sites are interned per core.
struct SiteRecord {
  const char* name = "";
  const char* file = "";
  uint32_t line = 0;
  Queue queue = Queue::kS;
  uint64_t path = 0;      // call path; 0: unknown
  uint64_t identity = 0;  // the same in every launch of a library
  bool library = false;   // issued by a library routine, not by the kernel
  uint64_t count = 0;
  double cycles = 0;
  double critical = 0;  // of them and of their latency, on the critical path

  bool IsSync() const;  // SetFlag, WaitFlag, PipeBarrier
};

class SiteTable {
 public:
  uint32_t Intern(const char* name, Site site, Queue queue, uint64_t path);
  SiteRecord& operator[](uint32_t id) { return records_[id]; }
  const SiteRecord& operator[](uint32_t id) const { return records_[id]; }
  const std::vector<SiteRecord>& records() const { return records_; }
  void Clear();

 private:
  struct Key {
    const char* name;
    const char* file;
    uint32_t line;
    Queue queue;
    uint64_t path;
    bool operator==(const Key& other) const {
      return name == other.name && file == other.file && line == other.line && queue == other.queue &&
             path == other.path;
    }
  };
  struct Hash {
    size_t operator()(const Key& key) const;
  };
  std::unordered_map<Key, uint32_t, Hash> index_;
  std::vector<SiteRecord> records_;
};

struct LogEntry {
  uint32_t site = 0;
  uint32_t issue = 0;       // position in the kernel's program order
  uint32_t live_bytes = 0;  // bytes whose latest writer this is
  int16_t stage = -1;
  bool was_read = false;
  bool chain = false;   // Mmad wide enough to be followed by an accumulating one without a barrier
  bool atomic = false;  // store under SetAtomicAdd
};

struct OperandRange {
  Mem mem = Mem::kUb;
  Access access = Access::kRead;
  uint32_t buffer = 0;
  uint64_t lo = 0;
  uint64_t hi = 0;
};

struct RecentOperands {
  uint32_t seq = 0;
  int count = 0;
  OperandRange ranges[Instr::kMaxOperands];
};

class InstrLog {
 public:
  InstrLog();
  void Clear();
  LogEntry& Append(Queue queue);  // the entry of the queue's next number
  LogEntry& At(Tag tag) { return At(TagQueue(tag), TagSeq(tag)); }
  LogEntry& At(Queue queue, uint32_t seq) {
    return chunks_[static_cast<int>(queue)][seq >> kChunkBits][seq & kChunkMask];
  }
  uint32_t LastSeq(Queue queue) const { return last_[static_cast<int>(queue)]; }

  RecentOperands& Recent(Queue queue, uint32_t seq) { return recent_[static_cast<int>(queue)][seq & kRecentMask]; }
  const RecentOperands& Recent(Queue queue, uint32_t seq) const {
    return recent_[static_cast<int>(queue)][seq & kRecentMask];
  }

 private:
  static constexpr uint32_t kChunkBits = 14;
  static constexpr uint32_t kChunkMask = (1u << kChunkBits) - 1;
  static constexpr uint32_t kRecentMask = 1023;

  std::vector<std::unique_ptr<LogEntry[]>> chunks_[kQueueCount];
  uint32_t last_[kQueueCount] = {};
  std::vector<RecentOperands> recent_[kQueueCount];
};

}  // namespace npu_model
