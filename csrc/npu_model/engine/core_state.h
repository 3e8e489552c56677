// SPDX-License-Identifier: Apache-2.0
// Everything a core keeps between the calls of its API.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "cost/timeline.h"
#include "engine/call_path.h"
#include "engine/chip_state.h"
#include "engine/core.h"
#include "engine/core_memory.h"
#include "sched/adversary.h"
#include "sched/checker.h"
#include "sched/clock.h"
#include "sched/hazard.h"
#include "sched/instr_log.h"
#include "sched/sync_log.h"
#include "trace/report.h"

namespace npu_model {

struct FlagToken {
  Clock clock;
  Moment raised;  // cycles
  Tag set_by = 0;
};

// One event bit. A second set is reported, but kept: losing it would only turn one fault into two.
struct Flag {
  std::deque<FlagToken> tokens;
  // In the kernel's program order, so that verdicts do not depend on the schedule:
  int sets_ahead = 0;  // SetFlags minus WaitFlags issued so far
  Tag last_set = 0;
  Tag last_wait = 0;
};

// A SetFlag between its issue and its execution.
struct FlagSet {
  Queue src = Queue::kV;
  Queue dst = Queue::kV;
  int id = 0;
  bool managed = false;  // flag of a TQue: the library's own scheme, not judged
  bool doubled = false;  // issued while an earlier set had no WaitFlag yet
  Tag last_set = 0;
  Tag last_wait = 0;
};

// An instruction, flag or barrier that waits in its queue.
struct Pending {
  enum class Kind : uint8_t { kInstr, kSetFlag, kWaitFlag, kBarrier };

  Kind kind = Kind::kInstr;
  FlagSet flag;  // flags: the event; sets: all of it
  IssueContext context;
  std::unique_ptr<Instr> instr;
  std::vector<Region> regions;  // copies of the operands' external lists
  std::unique_ptr<DeferredSemantics> closure;
};

std::string EventName(Queue src, Queue dst, int id);
// Whether other cores may touch its GM operand at the same time.
bool IsAtomic(const Instr& instr);

struct CoreState {
  CoreState(ChipState& chip_state, CoreMemory& core_memory, int block, const CostParams& params);

  Flag& FlagOf(Queue src, Queue dst, int id) { return flags[static_cast<int>(src)][static_cast<int>(dst)][id]; }
  std::deque<Pending>& PendingOf(Queue queue) { return pending[static_cast<int>(queue)]; }

  // Issue: everything up to the decision whether it runs now.
  void Begin(const char* name, Site site, Queue queue, IssueContext& context, const Moment& issued,
             bool library = false);
  // S has spent `cycles` on handing it over; `other` and `id` of flags.
  void Issued(IssueContext& context, SyncStep::Kind kind, Queue queue, Queue other, int id, double cycles);
  // S has spent `cycles` on `times` things that concern no queue.
  void ScalarWork(const char* name, Site site, double cycles, int times);
  SyncStep StepOf(SyncStep::Kind kind, Queue queue, const IssueContext& context) const;
  uint32_t InternSite(const char* name, Site site, Queue queue);
  // A queue without waiting instructions executes at once, unless execution is adversarial.
  bool RunsNow(Queue queue) const { return !adversarial && pending[static_cast<int>(queue)].empty(); }

  // Whether the launch leaves this flag or barrier out.
  bool IsDropped(const char* name, Site site) const;
  int CurrentStage() const { return stages.empty() ? -1 : stages.back(); }
  bool FlagIsLegal(const char* name, Queue src, Queue dst, int id, Site site, bool library);
  void Enqueue(Queue queue, Pending&& item);
  uint8_t* ScalarAccess(const Operand& operand, const char* name, Site site, bool library, bool store);

  // Execution, in queue order.
  void ExecuteInstr(const Instr& instr, IssueContext& context);
  void ExecuteSetFlag(const FlagSet& set, const IssueContext& context);
  void ExecuteWaitFlag(Queue src, Queue dst, int id, const IssueContext& context);
  void ExecuteBarrier(Queue queue, const IssueContext& context);

  uint32_t Runnable() const;  // queues whose head can run
  void RunHead(Queue queue);
  void Settle();      // program order: run every head that can run
  void AfterIssue();  // adversarial: let the seed decide
  bool StepForced();  // S is blocked; false: nothing can run
  void Drain(const char* name, Site site);
  // What every blocked queue waits for, and what is missing; reports waits whose SetFlag does not exist.
  std::string ExplainBlockage();
  void ReportDeadlock(const char* name, Site site, const std::string& text);
  void JoinEverything();
  void CheckEnd();
  void CheckLeaks();

  // Edges between blocks: what this one publishes, and what it learns.
  BlockArrival Release();
  void JoinBlocks(const BlockArrival& joined);
  void PassOn(const Passage& passage, const char* name, Site site);

  bool Unwinding() const { return aborted && std::uncaught_exceptions() > 0; }
  [[noreturn]] void Throw();
  AccessReport DescribeCall(const char* name, Site site);
  void ReportAt(Rule rule, const char* name, Site site, const std::string& text, const std::string& fix = "");
  void Record(TraceEvent::Kind kind, Queue queue, const IssueContext& context, const Span& span,
              Queue other = Queue::kS, int id = 0, uint64_t bytes = 0);
  // On S, up to now.
  void RecordScalar(TraceEvent::Kind kind, uint32_t site, double cycles, int times);

  ChipState& chip;
  CoreMemory& memory;
  const int block;
  const bool checked;
  const bool adversarial;

  const CallTracer tracer;
  CallPaths call_paths;  // of all sites and reports
  SiteTable sites;
  InstrLog log;
  HazardList hazards;
  Checker checker;
  Timeline timeline;
  CriticalPath critical;
  Adversary adversary;

  SyncLog sync_log;
  QueueClocks clocks;
  std::deque<Pending> pending[kQueueCount];
  size_t pending_count = 0;
  Flag flags[kQueueCount][kQueueCount][kEventIds];
  uint8_t event_ids[kQueueCount][kQueueCount] = {};  // taken by AllocEventId, a bit each

  IssueContext issuing;  // of the instruction between Admit and Defer
  uint32_t issue_count = 0;
  std::vector<int16_t> stages;  // nesting of TRACE_START
  std::map<int, int16_t> last_stage;  // of each lane of stages
  const char* open_pool = nullptr;
  bool aborted = false;
  std::string error;

  // What this block knows of the others; the latest is versions.back().
  std::vector<BlockClock> versions;
  uint32_t releases = 0;
  std::map<uint64_t, uint32_t> sync_alls;  // by address of the flags

  // Which SetFlag a WaitFlag consumed, and on which id: {set, wait, id} -> times. Sites by number.
  std::map<std::tuple<uint32_t, uint32_t, int>, uint64_t> flag_pairs;

  std::vector<std::string> prints;
  std::vector<TraceEvent> events;
  size_t last_scalar_event = ~size_t{0};  // of RecordScalar
};

}  // namespace npu_model
