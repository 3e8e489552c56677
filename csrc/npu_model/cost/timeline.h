// SPDX-License-Identifier: Apache-2.0
// Cycles of one core: a timeline per queue. Only observes; nothing it computes reaches a value.
#pragma once

#include <cstdint>
#include <vector>

#include "cost/critical_path.h"
#include "cost/l2.h"
#include "cost/params.h"
#include "engine/core.h"

namespace npu_model {

// Bytes and events by kind, for the report.
struct Traffic {
  uint64_t gm_read = 0;
  uint64_t gm_write = 0;
  uint64_t gm_l2_hit = 0;
  uint64_t gm_bursts = 0;
  uint64_t ub_to_l1 = 0;
  uint64_t l1_to_l0a = 0;
  uint64_t l1_to_l0b = 0;
  uint64_t l1_to_ub = 0;
  uint64_t l0c_to_ub = 0;
  uint64_t ub_to_l0c = 0;
  uint64_t ub_to_ub = 0;
  uint64_t vector_repeats = 0;
  uint64_t conflict_cycles = 0;  // vector cycles lost to bank conflicts
  uint64_t mmad_fractals = 0;    // 16x16x16 steps
  uint64_t spr_writes = 0;
  uint64_t flag_sets = 0;
  uint64_t flag_waits = 0;
  uint64_t queue_barriers = 0;
  uint64_t full_barriers = 0;
  uint64_t scalar_ub = 0;
  uint64_t scalar_gm_hits = 0;
  uint64_t scalar_gm_misses = 0;

  void Add(const Traffic& other);
};

struct QueueTime {
  Moment free;      // the next instruction of the queue may start
  Moment complete;  // everything so far is finished and visible
  double busy = 0;
  double wait_for[kQueueCount] = {};  // idle because of: another queue's flag, own barrier (own index), late issue (S)
  uint64_t instructions = 0;
};

struct Span {
  double start = 0;
  double duration = 0;
};

// How long an instruction occupies its queue, and how much later its result is visible.
struct Duration {
  double busy = 0;
  double latency = 0;
};

class Timeline {
 public:
  explicit Timeline(const CostParams& params) : params_(params) {}

  // S works for so long; returns when it is done.
  Moment Spend(double cycles, int stage);

  // S issues something for another queue; returns the time it reaches the queue.
  Moment Issue(int stage) { return Spend(params_.issue, stage); }
  Moment IssueFlag(int stage) { return Spend(params_.flag, stage); }
  // What an instruction takes; counts its traffic. `l2` is the tracker of the GM argument it touches, if any; `gm_base`
  // the argument's start.
  Duration Measure(const Instr& instr, L2Tracker* l2, uint64_t gm_base);
  // Executes an instruction that reached its queue at `issued`; `site` is its number among the core's sites.
  Span Execute(Queue queue, const Duration& duration, const Moment& issued, int stage, uint32_t site);
  // Time at which the flag is up.
  Moment SetFlag(Queue src, const Moment& issued, int stage);
  Span WaitFlag(Queue src, Queue dst, const Moment& issued, int stage, const Moment& raised);
  Span Barrier(Queue queue, const Moment& issued);
  Queue BarrierAll();  // the queue that finished last
  void SprWrites(int writes, int stage) { Spend(params_.spr_write * writes, stage); }
  // The compiler's auto-sync would make S wait for `queue` here.
  void ScalarWaitsFor(Queue queue);
  Span ScalarAccess(double cycles, int stage);
  // All queues wait for each other, and then until other blocks have arrived.
  void AdvanceTo(double time, Queue why);

  const CostParams& params() const { return params_; }
  double now() const { return queues_[0].free.at; }
  // S now, as the time something is issued.
  const Moment& Present() const { return queues_[0].free; }
  double Total() const { return End().at; }
  // Of the time up to Total(). Forgets the links it was made of.
  CriticalPath TakeCriticalPath();
  const QueueTime& queue(Queue q) const { return queues_[static_cast<int>(q)]; }
  // Busy cycles by stage and queue; stage -1 (outside any) comes first.
  const std::vector<std::vector<double>>& stage_busy() const { return stage_busy_; }
  Traffic& traffic() { return traffic_; }
  const Traffic& traffic() const { return traffic_; }

 private:
  const Moment& End() const;
  Queue Meet();
  void AddBusy(Queue queue, double cycles, int stage);
  Duration GmDuration(const Operand& gm, bool load, L2Tracker* l2, uint64_t gm_base);
  void CountMove(const Instr& instr);
  QueueTime& At(Queue q) { return queues_[static_cast<int>(q)]; }

  CostParams params_;
  QueueTime queues_[kQueueCount];
  std::vector<std::vector<double>> stage_busy_;
  Traffic traffic_;
  uint64_t l2_clock_ = 0;
  CriticalLinks links_;
};

}  // namespace npu_model
