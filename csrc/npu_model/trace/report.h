// SPDX-License-Identifier: Apache-2.0
// What a launch tells about itself.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cost/timeline.h"
#include "sched/hazard.h"
#include "sched/instr_log.h"
#include "trace/symbolize.h"

namespace npu_model {

struct QueueReport {
  double busy = 0;
  double wait_for[kQueueCount] = {};
  uint64_t instructions = 0;
};

// One instruction's (or wait's) time on a queue. kFullBarrier: of all queues; `other` is the one that finished last. On
// S also: kIssue, handing the site's instruction to its queue; kScalar, accesses and register writes.
struct TraceEvent {
  enum class Kind : uint8_t { kInstr, kSetFlag, kWaitFlag, kBarrier, kFullBarrier, kScalar, kIssue };

  Kind kind = Kind::kInstr;
  Queue queue = Queue::kS;
  Queue other = Queue::kS;  // flags: the partner queue
  uint8_t flag_id = 0;
  int16_t stage = -1;
  uint32_t site = 0;
  uint32_t times = 1;  // so many in a row, as one
  uint64_t bytes = 0;  // read by the instruction
  double start = 0;
  double duration = 0;
};

// A flag or barrier of the kernel, all blocks together.
struct SyncSite {
  uint64_t identity = 0;
  uint64_t path = 0;
  std::string op;  // SetFlag, WaitFlag, PipeBarrier
  std::string file;
  uint32_t line = 0;
  Queue queue = Queue::kS;  // S: PIPE_ALL
  bool library = false;  // issued by a library routine (TQue, TPipe, emulated instructions)
  uint64_t count = 0;
  double cycles = 0;  // stalled there
};

// `times` a WaitFlag consumed what a SetFlag had set. Indices into SyncReport::sites.
struct FlagPair {
  size_t set = 0;
  size_t wait = 0;
  int id = 0;
  uint64_t times = 0;
};

struct SyncReport {
  std::vector<SyncSite> sites;
  std::vector<FlagPair> pairs;
  uint64_t closure = 0;  // hash of the ordered and unordered conflicting pairs of accesses
  uint64_t conflicting_pairs = 0;
};

// A place of the kernel's source that synchronises, and who called it.
struct SyncPlace {
  std::string op;
  std::string file;
  uint32_t line = 0;
  std::vector<CallFrame> callers;

  std::string ToString() const;
};

// A barrier, or SetFlags and the WaitFlags that consume what they set; all executions in all blocks.
struct SyncGroup {
  bool barrier = false;
  std::string queues;    // "V -> MTE3"; "V"; "ALL"
  std::vector<int> ids;  // of flags
  std::vector<SyncPlace> places;
  uint64_t executed = 0;   // barriers, or SetFlags
  double stalled = 0;      // cycles that queues stood there
  bool redundant = false;  // without all of its executions, all that was ordered still is
  double cycles = 0;       // redundant: model cycles of the launch less without it
  bool together = false;   // redundant still when the costlier ones marked so are gone

  std::string ToString() const;
};

struct RedundancyReport {
  std::string withheld;  // why nothing was judged
  std::vector<SyncGroup> groups;
  double cycles = 0;           // of the launch, as the recorded steps give them: the launch's own model cycles
  double cycles_together = 0;  // less without all that can go together

  size_t Count() const;
  std::string ToString() const;
};

struct BlockReport {
  int block = 0;
  double cycles = 0;
  QueueReport queues[kQueueCount];
  std::vector<std::vector<double>> stage_busy;  // [stage + 1][queue]
  CriticalPath critical;
  Traffic traffic;
  std::string error;  // why the kernel was abandoned; empty if it ran to its end
  std::vector<std::string> prints;
  std::vector<SiteRecord> sites;
  std::vector<TraceEvent> events;
};

struct Report {
  std::string kernel;
  int block_num = 0;
  int cores = 0;
  bool checked = true;
  bool optimistic = false;
  double seconds = 0;  // wall time of the launch on this machine
  HazardList hazards;
  std::vector<BlockReport> blocks;
  std::string work_unit;
  uint64_t work_units = 0;
  std::vector<double> core_cycles;  // block b runs on core b % cores, after the core's earlier blocks
  std::map<int, std::string> stage_names;
  // Knows the callers of all sites with trace or sync_sites, and wherever there are hazards.
  std::shared_ptr<const Symbolizer> symbolizer;
  std::shared_ptr<const SyncReport> sync;              // only with sync_sites
  std::shared_ptr<const RedundancyReport> redundancy;  // only with redundant_sync

  uint64_t errors() const { return hazards.Count(Grade::kError); }
  uint64_t auto_sync() const { return hazards.Count(Grade::kAutoSync); }
  double cycles() const;  // the slowest core
  int SlowestCore() const;
  CriticalPath SlowestPath() const;  // the critical paths of its blocks, one after the other
  Traffic traffic() const;
  std::string error() const;
  std::string HazardText(size_t max_items = 20) const;
  std::string ToJson() const;
};

}  // namespace npu_model
