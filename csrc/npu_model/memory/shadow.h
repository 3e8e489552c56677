// SPDX-License-Identifier: Apache-2.0
// Shadow state of one address space: who wrote a byte last, who read it since, and whether anybody ever wrote it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "memory/arch.h"
#include "sched/clock.h"
#include "sched/instr_log.h"

namespace npu_model {

// Receives what an access runs into. Called on the slow path only, with byte ranges of at most one block.
class ShadowSink {
 public:
  virtual ~ShadowSink() = default;
  virtual void OnConflict(Tag earlier, bool earlier_wrote, uint64_t lo, uint64_t hi) = 0;
  virtual void OnUninitialised(uint64_t lo, uint64_t hi) = 0;
  virtual void OnOverwrittenUnread(Tag earlier, uint64_t lo, uint64_t hi) = 0;
};

// Which conflicting accesses were ordered: an access of a byte against the ones before it that may conflict (the last
// writer, and for a write the last reader of each queue since; whoever is ordered after those is ordered after all).
// Two launches with equal sums had, almost surely, the same pairs, ordered or not the same way. A pair names source
// positions and bytes, not instruction numbers, so a launch without some flags compares with one that has them.
class Closure {
 public:
  void Add(uint64_t later, uint64_t earlier, bool earlier_wrote, bool later_writes, bool ordered, uint64_t address);
  uint64_t sum() const { return sum_; }
  uint64_t pairs() const { return pairs_; }

 private:
  uint64_t sum_ = 0;  // of the pairs' hashes, hence free of their order
  uint64_t pairs_ = 0;
};

struct ShadowAccess {
  Tag tag = 0;                // the accessing instruction
  uint32_t limit[8] = {};     // accesses of queue p up to limit[p] are ordered before this one
  bool chain = false;         // may follow Mmads flagged `chain` without a barrier
  bool atomic = false;        // commutes with other atomic stores
  bool track_unread = false;  // report data that is overwritten before it was read
  uint32_t life_start = 0;    // writes issued before this position do not count as initialisation ...
  uint64_t life_lo = 0;       // ... of bytes in [life_lo, life_hi)
  uint64_t life_hi = 0;
  InstrLog* log = nullptr;
  ShadowSink* sink = nullptr;
  uint32_t* needs = nullptr;  // per queue: the latest access that had to be ordered before this one, and was; if wanted
  Closure* closure = nullptr;        // nullptr: not wanted
  const SiteTable* sites = nullptr;  // for the closure
  uint32_t site = 0;
  uint32_t space = 0;  // tells the address spaces apart
};

// Blocks of 32 bytes carry one state each while they are accessed whole; a block that is accessed in part gets a state
// per byte until it is written whole again. Pages are allocated on first touch.
class ShadowSpace {
 public:
  ShadowSpace(uint64_t bytes, uint32_t page_blocks, bool initialised);

  void Clear();
  void Read(const ShadowAccess& access, uint64_t lo, uint64_t hi);
  void CheckWrite(const ShadowAccess& access, uint64_t lo, uint64_t hi);
  void Write(const ShadowAccess& access, uint64_t lo, uint64_t hi, bool check);
  // Marks bytes as initialised without an access (poisoned destinations of rejected instructions, the kernel's inputs).
  void MarkInitialised(uint64_t lo, uint64_t hi);

 private:
  struct Block {
    Tag write = 0;
    uint32_t init = 0;  // bit per byte
    uint32_t read[kQueueCount] = {};
  };
  struct Byte {
    Tag write = 0;
    uint32_t read[kQueueCount] = {};
  };
  struct Detail {
    Byte bytes[kBlockBytes];
  };
  enum class Op { kRead, kCheckWrite, kWrite, kCheckedWrite };

  static constexpr uint32_t kDetailQueue = 7;  // a `write` of this queue is an index into details_
  static bool IsDetail(Tag tag) { return (tag >> kTagSeqBits) == kDetailQueue; }

  template <Op kOp>
  void Run(const ShadowAccess& access, uint64_t lo, uint64_t hi);
  void ReadBlocks(const ShadowAccess& access, Block* blocks, uint64_t count, uint64_t address);
  template <bool kCheck, bool kRecord>
  void WriteBlocks(const ShadowAccess& access, Block* blocks, uint64_t count, uint64_t address);
  template <Op kOp>
  void Bytes(const ShadowAccess& access, Block& block, uint64_t address, uint32_t lo, uint32_t hi);

  Block* Page(uint64_t index);
  Detail& Refine(Block& block);
  void Release(Block& block);

  uint64_t block_count_;
  uint32_t page_blocks_;
  bool initialised_;
  std::vector<std::unique_ptr<Block[]>> pages_;
  std::vector<std::unique_ptr<Detail>> details_;
  std::vector<uint32_t> free_details_;
};

}  // namespace npu_model
