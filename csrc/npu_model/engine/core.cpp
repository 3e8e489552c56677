// SPDX-License-Identifier: Apache-2.0
// Issue of instructions and the scalar unit.
#include "engine/core.h"

#include <algorithm>
#include <cstring>

#include "engine/core_state.h"
#include "engine/current.h"
#include "sched/runs.h"

namespace npu_model {
namespace {

thread_local Core* current_core = nullptr;

void Poison(Core& core, const Instr& instr, const IssueContext& context) {
  for (int i = 0; i < instr.count; ++i) {
    const Operand& operand = instr.operands[i];
    if (operand.access == Access::kRead || operand.mem == Mem::kGm || context.places[i].hi > CapacityBytes(operand.mem))
      continue;
    ForEachRun(operand,
               [&](uint64_t lo, uint64_t hi) { std::memset(core.Bytes(operand.mem, lo), kPoisonByte, hi - lo); });
  }
}

}  // namespace

void SetCurrentCore(Core* core) { current_core = core; }

Core& Core::Current() { return *current_core; }

Core::Core(std::unique_ptr<CoreState> state) : state_(std::move(state)) {
  for (int m = 1; m < kMemCount; ++m) bytes_[m] = state_->memory.begin(static_cast<Mem>(m));
  const LaunchOptions& options = state_->chip.options;
  spr_.saturate = options.saturate;
  block_idx_ = state_->block;
  block_num_ = options.block_num;
  tiling_key_ = options.tiling_key;
  permute_cube_ = options.permute_cube;
  permute_seed_ = options.permute_seed;
}

Core::~Core() = default;

std::unique_ptr<CoreState> Core::TakeState() { return std::move(state_); }

Core::AtomicGuard::AtomicGuard(Core& core) : core_(core) { core_.state().chip.atomic_mutex.lock(); }

Core::AtomicGuard::~AtomicGuard() { core_.state().chip.atomic_mutex.unlock(); }

Core::Admission Core::Admit(const Instr& instr) {
  CoreState& s = *state_;
  if (s.Unwinding()) return Admission::kSkip;
  IssueContext& context = s.issuing;
  for (OperandPlace& place : context.places) place = OperandPlace();
  s.Begin(instr.name, instr.site, instr.queue, context, s.timeline.Issue(s.CurrentStage()));
  s.Issued(context, SyncStep::Kind::kIssue, instr.queue, instr.queue, 0, s.timeline.params().issue);
  context.performed = s.checker.Admit(instr, context, library_depth_ > 0);
  if (!context.performed) {
    // The kernel is wrong already; NaNs in the destination keep the value from being believed.
    if (s.checked && s.RunsNow(instr.queue)) {
      Poison(*this, instr, context);
      s.checker.Poisoned(instr, context);
    }
    return Admission::kSkip;
  }
  if (s.checked) {
    RecentOperands& recent = s.log.Recent(instr.queue, TagSeq(context.tag));
    recent.seq = TagSeq(context.tag);
    recent.count = instr.count;
    for (int i = 0; i < instr.count; ++i) {
      const Operand& operand = instr.operands[i];
      recent.ranges[i] = {operand.mem, operand.access, operand.origin.buffer, context.places[i].lo,
                          context.places[i].hi};
    }
  }
  if (!s.RunsNow(instr.queue)) return Admission::kDefer;
  s.ExecuteInstr(instr, context);
  return IsAtomic(instr) ? Admission::kRunAtomic : Admission::kRun;
}

void Core::Defer(const Instr& instr, std::unique_ptr<DeferredSemantics> closure) {
  CoreState& s = *state_;
  Pending item;
  item.kind = Pending::Kind::kInstr;
  item.context = s.issuing;
  item.instr = std::make_unique<Instr>(instr);
  item.closure = std::move(closure);
  size_t external = 0;
  for (int i = 0; i < instr.count; ++i) external += instr.operands[i].external ? instr.operands[i].count : 0;
  item.regions.reserve(external);  // the operands point into it
  for (int i = 0; i < instr.count; ++i) {
    const Operand& operand = instr.operands[i];
    if (operand.external == nullptr) continue;
    item.instr->operands[i].external = item.regions.data() + item.regions.size();
    item.regions.insert(item.regions.end(), operand.external, operand.external + operand.count);
  }
  s.PendingOf(instr.queue).push_back(std::move(item));
  ++s.pending_count;
  s.AfterIssue();
}

const uint8_t* Core::ScalarLoad(const Operand& operand, const char* name, Site site) {
  CoreState& s = *state_;
  return s.Unwinding() ? nullptr : s.ScalarAccess(operand, name, site, library_depth_ > 0, false);
}

uint8_t* Core::ScalarStore(const Operand& operand, const char* name, Site site) {
  CoreState& s = *state_;
  return s.Unwinding() ? nullptr : s.ScalarAccess(operand, name, site, library_depth_ > 0, true);
}

uint8_t* CoreState::ScalarAccess(const Operand& operand, const char* name, Site site, bool library, bool store) {
  Instr instr(Queue::kS, name, site, Cost());
  instr.Add(operand).access = store ? Access::kWrite : Access::kRead;
  IssueContext context;
  Begin(name, site, Queue::kS, context, timeline.Present());
  Issued(context, SyncStep::Kind::kIssue, Queue::kS, Queue::kS, 0, 0);
  if (operand.mem != Mem::kUb && operand.mem != Mem::kGm) {
    ReportAt(Rule::kBuffer2, name, site, std::string("the scalar unit does not reach ") + Name(operand.mem));
    return nullptr;
  }
  if (!checker.Admit(instr, context, library)) return nullptr;
  Needs needs = {};
  if (checked) {
    uint32_t repaired = checker.Execute(instr, context, clocks[Queue::kS], sync_log.enabled() ? &needs : nullptr);
    for (; repaired != 0; repaired &= repaired - 1) {
      const Queue queue = static_cast<Queue>(__builtin_ctz(repaired));
      timeline.ScalarWaitsFor(queue);
      if (sync_log.enabled()) sync_log.Add(StepOf(SyncStep::Kind::kScalarWait, queue, context));
    }
  }
  const CostParams& params = timeline.params();
  double cycles = params.scalar_ub;
  if (operand.mem == Mem::kGm) {
    const bool hit = checker.ScalarCache(operand, context, store);
    cycles = hit ? params.scalar_gm_hit : params.scalar_gm_miss;
    ++(hit ? timeline.traffic().scalar_gm_hits : timeline.traffic().scalar_gm_misses);
  } else {
    ++timeline.traffic().scalar_ub;
  }
  Record(TraceEvent::Kind::kScalar, Queue::kS, context, timeline.ScalarAccess(cycles, context.stage));
  if (sync_log.enabled()) {
    SyncStep step = StepOf(SyncStep::Kind::kInstr, Queue::kS, context);
    step.cycles = cycles;
    sync_log.AddInstr(step, needs);
  }
  return operand.mem == Mem::kGm ? reinterpret_cast<uint8_t*>(operand.start) : memory.begin(Mem::kUb) + operand.start;
}

void Core::ScalarCacheCleanInvalidate(uint64_t address, uint64_t bytes, Site site) {
  CoreState& s = *state_;
  if (s.Unwinding()) return;
  s.timeline.Issue(s.CurrentStage());
  s.ScalarWork("DataCacheCleanAndInvalid", site, s.timeline.params().issue, 1);
  s.checker.CleanInvalidate(address, bytes);
}

void Core::SprWrite(Site site, int writes) {
  CoreState& s = *state_;
  if (s.Unwinding()) return;
  s.timeline.SprWrites(writes, s.CurrentStage());
  s.ScalarWork("SprWrite", site, s.timeline.params().spr_write * writes, writes);
  s.timeline.traffic().spr_writes += writes;
}

void Core::StageStart(int stage) {
  CoreState& s = *state_;
  if (s.Unwinding()) return;
  s.stages.push_back(static_cast<int16_t>(stage));
  const auto lane = s.chip.options.stage_lanes.find(stage);
  int16_t& previous =
      s.last_stage.emplace(lane == s.chip.options.stage_lanes.end() ? 0 : lane->second, -1).first->second;
  if (s.checked) {
    for (const int index : s.checker.StageStarts(stage, previous, s.issue_count + 1)) {
      // While instructions wait, their old data must stay; the checker knows the bytes are dead either way.
      const BufferRow& row = s.chip.rows.rows()[index];
      if (s.pending_count == 0 && row.mem != Mem::kGm)
        std::memset(Bytes(row.mem, row.offset_bytes), kPoisonByte, row.bytes);
    }
  }
  previous = static_cast<int16_t>(stage);
}

void Core::StageStop(int stage) {
  CoreState& s = *state_;
  if (s.Unwinding()) return;
  if (s.stages.empty() || s.stages.back() != stage) {
    s.ReportAt(Rule::kParam, "TRACE_STOP", Site(),
               "stage " + std::to_string(stage) + " is not the innermost open stage");
    return;
  }
  s.stages.pop_back();
}

void Core::ReadTiling(void* to, const void* from, size_t bytes, size_t alignment, Site site) {
  const ChipState& chip = state_->chip;
  const uint64_t address = reinterpret_cast<uint64_t>(from);
  // Elsewhere than in the launch's tiling it is the kernel's own affair.
  const bool own = address < chip.tiling || address > chip.tiling + chip.tiling_bytes;
  const size_t given = own ? bytes : std::min<size_t>(bytes, chip.tiling + chip.tiling_bytes - address);
  if (given + alignment - 1 < bytes) {
    Abort(Rule::kParam, "GET_TILING_DATA", site,
          "the tiling struct has " + std::to_string(bytes) + " bytes, the launch gave " + std::to_string(given));
  }
  std::memset(to, 0, bytes);
  std::memcpy(to, from, given);
}

void Core::Print(const std::string& text) { state_->prints.push_back(text); }

void Core::Fault(Rule rule, const char* name, Site site, const std::string& text) {
  if (!state_->Unwinding()) state_->ReportAt(rule, name, site, text);
}

void Core::Abort(Rule rule, const char* name, Site site, const std::string& text) {
  CoreState& s = *state_;
  if (s.Unwinding()) return;
  s.ReportAt(rule, name, site, text);
  s.error = text;
  s.Throw();
}

}  // namespace npu_model
