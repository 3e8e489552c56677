// SPDX-License-Identifier: Apache-2.0
#include "cost/timeline.h"

#include <algorithm>
#include <cstring>

#include "cost/bank.h"

namespace npu_model {
namespace {

constexpr uint32_t kCubeEdge = 16;

double Fractals(const Cost& cost) {
  const auto tiles = [](uint32_t x) { return static_cast<double>((x + kCubeEdge - 1) / kCubeEdge); };
  return tiles(cost.m) * tiles(cost.n) * tiles(cost.k);
}

const Operand* FindOperand(const Instr& instr, bool read) {
  for (int i = 0; i < instr.count; ++i) {
    if ((instr.operands[i].access == Access::kRead) == read) return &instr.operands[i];
  }
  return nullptr;
}

const Operand* FindGm(const Instr& instr) {
  for (int i = 0; i < instr.count; ++i) {
    if (instr.operands[i].mem == Mem::kGm) return &instr.operands[i];
  }
  return nullptr;
}

}  // namespace

void Traffic::Add(const Traffic& other) {
  gm_read += other.gm_read;
  gm_write += other.gm_write;
  gm_l2_hit += other.gm_l2_hit;
  gm_bursts += other.gm_bursts;
  ub_to_l1 += other.ub_to_l1;
  l1_to_l0a += other.l1_to_l0a;
  l1_to_l0b += other.l1_to_l0b;
  l1_to_ub += other.l1_to_ub;
  l0c_to_ub += other.l0c_to_ub;
  ub_to_l0c += other.ub_to_l0c;
  ub_to_ub += other.ub_to_ub;
  vector_repeats += other.vector_repeats;
  conflict_cycles += other.conflict_cycles;
  mmad_fractals += other.mmad_fractals;
  spr_writes += other.spr_writes;
  flag_sets += other.flag_sets;
  flag_waits += other.flag_waits;
  queue_barriers += other.queue_barriers;
  full_barriers += other.full_barriers;
  scalar_ub += other.scalar_ub;
  scalar_gm_hits += other.scalar_gm_hits;
  scalar_gm_misses += other.scalar_gm_misses;
}

void Timeline::AddBusy(Queue queue, double cycles, int stage) {
  At(queue).busy += cycles;
  const size_t row = static_cast<size_t>(stage + 1);
  if (row >= stage_busy_.size()) stage_busy_.resize(row + 1, std::vector<double>(kQueueCount, 0.0));
  stage_busy_[row][static_cast<int>(queue)] += cycles;
}

Moment Timeline::Spend(double cycles, int stage) {
  QueueTime& s = At(Queue::kS);
  s.free = links_.Append(s.free, cycles, Queue::kS, stage, LinkKind::kBusy);
  s.complete = Later(s.complete, s.free);
  AddBusy(Queue::kS, cycles, stage);
  return s.free;
}

Duration Timeline::GmDuration(const Operand& gm, bool load, L2Tracker* l2, uint64_t gm_base) {
  double hit_bytes = 0;
  double miss_bytes = 0;
  for (uint32_t i = 0; i < gm.count; ++i) {
    const Region& region = gm.Regions()[i];
    for (uint32_t j2 = 0; j2 < region.n2; ++j2) {
      for (uint32_t j1 = 0; j1 < region.n1; ++j1) {
        const uint64_t offset =
            region.base - gm_base + static_cast<uint64_t>(j2) * region.s2 + static_cast<uint64_t>(j1) * region.s1;
        const uint32_t rounded =
            (region.len + params_.gm_burst_bytes - 1) / params_.gm_burst_bytes * params_.gm_burst_bytes;
        for (uint32_t at = 0; at < rounded; at += kL2LineBytes) {
          const uint32_t part = std::min(kL2LineBytes, rounded - at);
          const bool hit = l2 != nullptr && l2->Touch(offset + at, l2_clock_);
          (hit ? hit_bytes : miss_bytes) += part;
        }
      }
    }
    traffic_.gm_bursts += static_cast<uint64_t>(region.n1) * region.n2;
  }
  (load ? traffic_.gm_read : traffic_.gm_write) += BytesOf(gm);
  traffic_.gm_l2_hit += static_cast<uint64_t>(hit_bytes);
  return {miss_bytes / params_.gm_bytes_per_cycle + hit_bytes / params_.l2_bytes_per_cycle, params_.gm_latency};
}

void Timeline::CountMove(const Instr& instr) {
  const Operand* source = FindOperand(instr, true);
  const Operand* target = FindOperand(instr, false);
  if (source == nullptr || target == nullptr) return;
  const uint64_t bytes = BytesOf(*source);
  switch (instr.cost.cls) {
    case CostClass::kVector:
      if (instr.count == 2 && std::strcmp(instr.name, "DataCopy") == 0) traffic_.ub_to_ub += bytes;
      break;
    case CostClass::kLoadL0a: traffic_.l1_to_l0a += bytes; break;
    case CostClass::kLoadL0b: traffic_.l1_to_l0b += bytes; break;
    case CostClass::kL1ToUb: traffic_.l1_to_ub += bytes; break;
    case CostClass::kUbToL1: traffic_.ub_to_l1 += bytes; break;
    case CostClass::kL0cUb:
      (source->mem == Mem::kL0c ? traffic_.l0c_to_ub : traffic_.ub_to_l0c) += instr.cost.bytes;
      break;
    default: break;
  }
}

Duration Timeline::Measure(const Instr& instr, L2Tracker* l2, uint64_t gm_base) {
  const Cost& cost = instr.cost;
  CountMove(instr);
  switch (cost.cls) {
    case CostClass::kVector: {
      const double repeats = ConflictedRepeats(instr, params_);
      traffic_.vector_repeats += cost.units;
      traffic_.conflict_cycles += static_cast<uint64_t>((repeats - cost.units) * cost.weight);
      return {repeats * cost.weight + params_.vector_startup, params_.vector_visible};
    }
    case CostClass::kL0cUb:
      return {cost.bytes / params_.l0c_ub_bytes_per_cycle + params_.vector_startup, params_.vector_visible};
    case CostClass::kMmad: {
      const double fractals = Fractals(cost);
      traffic_.mmad_fractals += static_cast<uint64_t>(fractals);
      return {fractals + params_.mmad_startup, 0};
    }
    case CostClass::kLoadL0a: return {cost.units * params_.l0a_cycles_per_fractal + params_.mte1_startup, 0};
    case CostClass::kLoadL0b: return {cost.units * params_.l0b_cycles_per_fractal + params_.mte1_startup, 0};
    case CostClass::kFill: {
      const bool to_l0a = instr.count > 0 && instr.operands[0].mem == Mem::kL0a;
      return {cost.units * (to_l0a ? params_.l0a_cycles_per_fractal : params_.l0b_cycles_per_fractal) +
                  params_.mte1_startup,
              0};
    }
    case CostClass::kL1ToUb: {
      const Operand* source = FindOperand(instr, true);
      return {(source ? BytesOf(*source) : 0) / params_.l1_ub_bytes_per_cycle + params_.mte1_startup, 0};
    }
    case CostClass::kUbToL1: {
      double cycles = params_.ub_l1_startup;
      if (const Operand* source = FindOperand(instr, true)) {
        for (uint32_t i = 0; i < source->count; ++i) {
          const Region& region = source->Regions()[i];
          const double burst = std::max(1.0, region.len / params_.ub_l1_bytes_per_cycle);
          cycles += burst * region.n1 * region.n2;
        }
      }
      return {cycles, 0};
    }
    case CostClass::kGmLoad:
    case CostClass::kGmStore: {
      const Operand* gm = FindGm(instr);
      return gm ? GmDuration(*gm, cost.cls == CostClass::kGmLoad, l2, gm_base) : Duration{0, params_.gm_latency};
    }
    case CostClass::kFree: break;
  }
  return {};
}

Span Timeline::Execute(Queue q, const Duration& duration, const Moment& issued, int stage, uint32_t site) {
  QueueTime& queue = At(q);
  const Moment start = Later(queue.free, issued);
  queue.wait_for[static_cast<int>(Queue::kS)] += start.at - queue.free.at;
  queue.free = links_.Append(start, duration.busy, q, stage, LinkKind::kBusy, site);
  if (queue.free.at + duration.latency > queue.complete.at) {
    queue.complete = duration.latency == 0
                         ? queue.free
                         : links_.Append(queue.free, duration.latency, q, stage, LinkKind::kLatency, site);
  }
  ++queue.instructions;
  AddBusy(q, duration.busy, stage);
  return {start.at, duration.busy};
}

Moment Timeline::SetFlag(Queue src, const Moment& issued, int stage) {
  ++traffic_.flag_sets;
  QueueTime& queue = At(src);
  if (src == Queue::kS) return queue.free;
  const Moment start = Later(queue.free, issued);
  queue.wait_for[static_cast<int>(Queue::kS)] += start.at - queue.free.at;
  queue.free = links_.Append(start, params_.flag, src, stage, LinkKind::kBusy);
  queue.complete = Later(queue.complete, queue.free);
  return queue.complete;
}

Span Timeline::WaitFlag(Queue src, Queue dst, const Moment& issued, int stage, const Moment& raised) {
  ++traffic_.flag_waits;
  QueueTime& queue = At(dst);
  const Moment ready = Later(queue.free, issued);
  queue.wait_for[static_cast<int>(Queue::kS)] += ready.at - queue.free.at;
  const double stall = std::max(0.0, raised.at - ready.at);
  queue.wait_for[static_cast<int>(src)] += stall;
  queue.free = Later(ready, raised);
  if (dst != Queue::kS) queue.free = links_.Append(queue.free, params_.flag, dst, stage, LinkKind::kBusy);
  queue.complete = Later(queue.complete, queue.free);
  return {ready.at, stall};
}

Span Timeline::Barrier(Queue q, const Moment& issued) {
  ++traffic_.queue_barriers;
  QueueTime& queue = At(q);
  const Moment ready = Later(queue.free, issued);
  queue.wait_for[static_cast<int>(Queue::kS)] += ready.at - queue.free.at;
  const double stall = std::max(0.0, queue.complete.at - ready.at);
  queue.wait_for[static_cast<int>(q)] += stall;
  queue.free = Later(ready, queue.complete);
  return {ready.at, stall};
}

Queue Timeline::BarrierAll() {
  ++traffic_.full_barriers;
  return Meet();
}

Queue Timeline::Meet() {
  const Moment all = End();
  int last = 0;
  for (int q = kQueueCount - 1; q >= 0; --q) last = queues_[q].complete.at == all.at ? q : last;
  for (QueueTime& queue : queues_) {
    queue.wait_for[last] += std::max(0.0, all.at - queue.free.at);
    queue.free = Later(queue.free, all);
    queue.complete = Later(queue.complete, all);
  }
  return static_cast<Queue>(last);
}

void Timeline::ScalarWaitsFor(Queue queue) {
  const Moment& visible = At(queue).complete;
  At(Queue::kS).wait_for[static_cast<int>(queue)] += std::max(0.0, visible.at - now());
  At(Queue::kS).free = Later(At(Queue::kS).free, visible);
}

Span Timeline::ScalarAccess(double cycles, int stage) {
  const double start = now();
  Spend(cycles, stage);
  ++At(Queue::kS).instructions;
  return {start, cycles};
}

void Timeline::AdvanceTo(double time, Queue why) {
  Meet();
  const Moment s = At(Queue::kS).free;
  const Moment arrival =
      time > s.at ? links_.Append(s, time - s.at, Queue::kS, -1, LinkKind::kBlocks) : Moment{time, s.link};
  for (QueueTime& queue : queues_) {
    queue.wait_for[static_cast<int>(why)] += std::max(0.0, time - queue.free.at);
    queue.free = Later(queue.free, arrival);
    queue.complete = Later(queue.complete, arrival);
  }
}

const Moment& Timeline::End() const {
  const Moment* end = &queues_[0].complete;
  for (const QueueTime& queue : queues_) end = &Later(*end, queue.complete);
  return *end;
}

CriticalPath Timeline::TakeCriticalPath() {
  CriticalPath path = links_.Trace(End().link);
  links_.Release();
  return path;
}

}  // namespace npu_model
