// SPDX-License-Identifier: Apache-2.0
#include "engine/core_state.h"

#include <algorithm>

namespace npu_model {

std::string EventName(Queue src, Queue dst, int id) {
  return std::string(Name(src)) + "_" + Name(dst) + " id " + std::to_string(id);
}

bool IsAtomic(const Instr& instr) {
  if (instr.polled) return true;
  for (int i = 0; i < instr.count; ++i) {
    if (instr.operands[i].access == Access::kAtomicAdd) return true;
  }
  return false;
}

CoreState::CoreState(ChipState& chip_state, CoreMemory& core_memory, int block_idx, const CostParams& params)
    : chip(chip_state),
      memory(core_memory),
      block(block_idx),
      checked(chip_state.options.checked),
      adversarial(chip_state.options.adversarial),
      tracer(chip_state.code, checked || chip_state.options.trace || chip_state.options.sync_sites ||
                                  !chip_state.options.dropped_sync.empty()),
      checker(chip_state, block_idx, log, sites, hazards),
      timeline(params),
      adversary(chip_state.options.seed, block_idx),
      sync_log(checked && chip_state.options.redundant_sync),
      versions(1, BlockClock(chip_state.options.block_num, 0)) {}

void CoreState::Throw() {
  aborted = true;
  throw KernelAbort();
}

AccessReport CoreState::DescribeCall(const char* name, Site site) {
  AccessReport call = checker.DescribeSite(name, site, Queue::kS, CurrentStage());
  CallPath path;
  call.path = tracer.Capture(path);
  call_paths.emplace(call.path, path);
  return call;
}

void CoreState::ReportAt(Rule rule, const char* name, Site site, const std::string& text, const std::string& fix) {
  checker.Report(rule, Grade::kError, DescribeCall(name, site), text, fix);
}

void CoreState::Record(TraceEvent::Kind kind, Queue queue, const IssueContext& context, const Span& span, Queue other,
                       int id, uint64_t bytes) {
  SiteRecord& site = sites[context.site];
  ++site.count;
  site.cycles += span.duration;
  if (!chip.options.trace) return;
  TraceEvent event;
  event.kind = kind;
  event.queue = queue;
  event.other = other;
  event.flag_id = static_cast<uint8_t>(id);
  event.stage = context.stage;
  event.site = context.site;
  event.bytes = bytes;
  event.start = span.start;
  event.duration = span.duration;
  events.push_back(event);
}

void CoreState::RecordScalar(TraceEvent::Kind kind, uint32_t site, double cycles, int times) {
  const double start = timeline.now() - cycles;
  const int16_t stage = static_cast<int16_t>(CurrentStage());
  TraceEvent* last = last_scalar_event < events.size() ? &events[last_scalar_event] : nullptr;
  if (kind == TraceEvent::Kind::kScalar && last != nullptr && last->kind == kind && last->site == site &&
      last->stage == stage && last->start + last->duration == start) {
    last->duration += cycles;
    last->times += static_cast<uint32_t>(times);
    return;
  }
  last_scalar_event = events.size();
  TraceEvent event;
  event.kind = kind;
  event.stage = stage;
  event.site = site;
  event.start = start;
  event.duration = cycles;
  event.times = static_cast<uint32_t>(times);
  events.push_back(event);
}

bool CoreState::IsDropped(const char* name, Site site) const {
  const auto& dropped = chip.options.dropped_sync;
  if (dropped.empty()) return false;
  CallPath path;
  const uint64_t path_id = tracer.Capture(path);
  return dropped.count(path_id != 0 ? path_id : LineIdentity(name, site)) != 0;
}

uint32_t CoreState::InternSite(const char* name, Site site, Queue queue) {
  CallPath path;
  const uint64_t path_id = tracer.Capture(path);
  const size_t known = sites.records().size();
  const uint32_t index = sites.Intern(name, site, queue, path_id);
  if (sites.records().size() != known) call_paths.emplace(path_id, path);
  return index;
}

void CoreState::Begin(const char* name, Site site, Queue queue, IssueContext& context, const Moment& issued,
                      bool library) {
  LogEntry& entry = log.Append(queue);
  context.tag = MakeTag(queue, log.LastSeq(queue));
  context.site = InternSite(name, site, queue);
  sites[context.site].library |= library;
  context.issued = issued;
  context.stage = static_cast<int16_t>(CurrentStage());
  context.scalar = clocks[Queue::kS];
  entry.site = context.site;
  entry.issue = ++issue_count;
  entry.stage = context.stage;
}

void CoreState::Issued(IssueContext& context, SyncStep::Kind kind, Queue queue, Queue other, int id, double cycles) {
  if (chip.options.trace && cycles != 0) RecordScalar(TraceEvent::Kind::kIssue, context.site, cycles, 1);
  if (!sync_log.enabled()) return;
  SyncStep step;
  step.kind = kind;
  step.queue = queue;
  step.other = other;
  step.id = static_cast<uint8_t>(id);
  if (sites[context.site].IsSync()) step.site = context.site;
  step.seq = TagSeq(context.tag);
  step.cycles = cycles;
  context.issue = sync_log.AddIssue(step);
}

void CoreState::ScalarWork(const char* name, Site site, double cycles, int times) {
  if (chip.options.trace) {
    RecordScalar(TraceEvent::Kind::kScalar, InternSite(name, site, Queue::kS), cycles, times);
  }
  SyncStep step;
  step.cycles = cycles;
  sync_log.Add(step);
}

SyncStep CoreState::StepOf(SyncStep::Kind kind, Queue queue, const IssueContext& context) const {
  SyncStep step;
  step.kind = kind;
  step.queue = queue;
  step.issue = context.issue;
  step.seq = TagSeq(context.tag);
  if (kind != SyncStep::Kind::kInstr) step.site = context.site;
  return step;
}

void CoreState::ExecuteInstr(const Instr& instr, IssueContext& context) {
  const Clock& clock = clocks.Begin(instr.queue, context.scalar);
  L2Tracker* l2 = nullptr;
  uint64_t gm_base = 0;
  for (int i = 0; i < instr.count; ++i) {
    const int argument = context.places[i].argument;
    if (argument < 0) continue;
    l2 = &checker.gm()[argument].l2;
    gm_base = chip.arguments[argument].base;
  }
  if (context.performed) {
    Needs needs = {};
    if (checked) checker.Execute(instr, context, clock, sync_log.enabled() ? &needs : nullptr);
    const Duration duration = timeline.Measure(instr, l2, gm_base);
    const Span span = timeline.Execute(instr.queue, duration, context.issued, context.stage, context.site);
    if (sync_log.enabled()) {
      SyncStep step = StepOf(SyncStep::Kind::kInstr, instr.queue, context);
      step.cycles = duration.busy;
      step.latency = duration.latency;
      sync_log.AddInstr(step, needs);
    }
    uint64_t bytes = 0;
    for (int i = 0; chip.options.trace && i < instr.count; ++i) {
      if (instr.operands[i].access == Access::kRead) bytes += BytesOf(instr.operands[i]);
    }
    Record(TraceEvent::Kind::kInstr, instr.queue, context, span, Queue::kS, 0, bytes);
  }
}

void CoreState::ExecuteSetFlag(const FlagSet& set, const IssueContext& context) {
  FlagToken token;
  token.clock = clocks.Publish(set.src, TagSeq(context.tag), context.scalar);
  token.set_by = context.tag;
  token.raised = timeline.SetFlag(set.src, context.issued, context.stage);
  // A wait on S has returned before S could issue this; any other wait must be known complete to the setting queue.
  const bool maybe_set = set.dst != Queue::kS && TagSeq(set.last_wait) > token.clock[set.dst];
  if (checked && !set.managed && (set.doubled || maybe_set)) {
    Hazard hazard;
    hazard.rule = Rule::kSync4;
    hazard.access = checker.Describe(context.tag);
    hazard.has_earlier = true;
    hazard.earlier = checker.Describe(set.doubled ? set.last_set : set.last_wait);
    hazard.text =
        "event " + EventName(set.src, set.dst, set.id) +
        (set.doubled ? " is set while it is still set" : " may be set again before its last WaitFlag has cleared it");
    hazard.missing = std::string(Name(set.dst)) + " -> " + Name(set.src);
    hazard.fix = "let " + std::string(Name(set.src)) + " wait for something " + Name(set.dst) +
                 " sets after that WaitFlag, or use another event id";
    hazards.Add(std::move(hazard));
  }
  if (sync_log.enabled()) {
    SyncStep step = StepOf(SyncStep::Kind::kSetFlag, set.src, context);
    step.other = set.dst;
    step.id = static_cast<uint8_t>(set.id);
    step.judged = !set.managed && set.dst != Queue::kS && !maybe_set;
    sync_log.Add(step);
  }
  FlagOf(set.src, set.dst, set.id).tokens.push_back(std::move(token));
  Record(TraceEvent::Kind::kSetFlag, set.src, context, {timeline.queue(set.src).free.at - 1, 1}, set.dst, set.id);
}

void CoreState::ExecuteWaitFlag(Queue src, Queue dst, int id, const IssueContext& context) {
  Flag& flag = FlagOf(src, dst, id);
  const FlagToken token = std::move(flag.tokens.front());
  flag.tokens.pop_front();
  clocks.Receive(dst, token.clock, context.scalar);
  if (sync_log.enabled()) {
    SyncStep step = StepOf(SyncStep::Kind::kWaitFlag, src, context);
    step.other = dst;
    step.id = static_cast<uint8_t>(id);
    sync_log.Add(step);
  }
  if (chip.options.sync_sites || sync_log.enabled()) ++flag_pairs[{log.At(token.set_by).site, context.site, id}];
  const Span span = timeline.WaitFlag(src, dst, context.issued, context.stage, token.raised);
  Record(TraceEvent::Kind::kWaitFlag, dst, context, span, src, id);
}

void CoreState::ExecuteBarrier(Queue queue, const IssueContext& context) {
  clocks.Barrier(queue, TagSeq(context.tag), context.scalar);
  sync_log.Add(StepOf(SyncStep::Kind::kBarrier, queue, context));
  Record(TraceEvent::Kind::kBarrier, queue, context, timeline.Barrier(queue, context.issued));
}

uint32_t CoreState::Runnable() const {
  uint32_t mask = 0;
  for (int q = 1; q < kQueueCount; ++q) {
    if (pending[q].empty()) continue;
    const Pending& head = pending[q].front();
    if (head.kind == Pending::Kind::kWaitFlag &&
        flags[static_cast<int>(head.flag.src)][static_cast<int>(head.flag.dst)][head.flag.id].tokens.empty()) {
      continue;
    }
    mask |= 1u << q;
  }
  return mask;
}

void CoreState::RunHead(Queue queue) {
  Pending item = std::move(PendingOf(queue).front());
  PendingOf(queue).pop_front();
  --pending_count;
  switch (item.kind) {
    case Pending::Kind::kInstr:
      ExecuteInstr(*item.instr, item.context);
      if (!item.context.performed) break;
      if (IsAtomic(*item.instr)) {
        const std::lock_guard<std::mutex> lock(chip.atomic_mutex);
        item.closure->Run();
      } else {
        item.closure->Run();
      }
      break;
    case Pending::Kind::kSetFlag: ExecuteSetFlag(item.flag, item.context); break;
    case Pending::Kind::kWaitFlag: ExecuteWaitFlag(item.flag.src, item.flag.dst, item.flag.id, item.context); break;
    case Pending::Kind::kBarrier: ExecuteBarrier(queue, item.context); break;
  }
}

void CoreState::Settle() {
  if (adversarial) return;
  while (pending_count != 0) {
    const uint32_t runnable = Runnable();
    if (runnable == 0) return;
    RunHead(static_cast<Queue>(__builtin_ctz(runnable)));
  }
}

void CoreState::AfterIssue() {
  if (!adversarial) return;
  for (int next = adversary.Next(Runnable(), pending_count); next >= 0;
       next = adversary.Next(Runnable(), pending_count)) {
    RunHead(static_cast<Queue>(next));
  }
}

bool CoreState::StepForced() {
  const uint32_t runnable = Runnable();
  if (runnable == 0) return false;
  const int next = adversarial ? adversary.Forced(runnable) : __builtin_ctz(runnable);
  RunHead(static_cast<Queue>(next));
  return true;
}

std::string CoreState::ExplainBlockage() {
  std::string text;
  for (int q = 1; q < kQueueCount; ++q) {
    if (pending[q].empty()) continue;
    const Pending& head = pending[q].front();
    const FlagSet& wanted = head.flag;
    const AccessReport wait = checker.Describe(head.context.tag);
    const std::string event = EventName(wanted.src, wanted.dst, wanted.id);
    text += (text.empty() ? "" : "; ") + std::string(Name(static_cast<Queue>(q))) + " waits for " + event + " at " +
            wait.Place();
    const std::deque<Pending>& source = pending[static_cast<int>(wanted.src)];
    const auto setter = std::find_if(source.begin(), source.end(), [&](const Pending& item) {
      return item.kind == Pending::Kind::kSetFlag && item.flag.dst == wanted.dst && item.flag.id == wanted.id;
    });
    if (setter != source.end()) {
      text += ", whose SetFlag at " + checker.Describe(setter->context.tag).Place() + " stands behind that in " +
              Name(wanted.src);
      continue;
    }
    text += ", for which no SetFlag is left";
    checker.Report(Rule::kSync3, Grade::kError, wait, "event " + event + " is waited for and never set",
                   "add the SetFlag on queue " + std::string(Name(wanted.src)));
  }
  return text;
}

void CoreState::ReportDeadlock(const char* name, Site site, const std::string& text) {
  ReportAt(Rule::kDeadlock, name, site, text);
  error = "deadlock: " + text;
}

void CoreState::Drain(const char* name, Site site) {
  while (pending_count != 0) {
    if (StepForced()) continue;
    ReportDeadlock(name, site, "the queues never drain: " + ExplainBlockage());
    Throw();
  }
}

void CoreState::JoinEverything() {
  uint32_t last[kQueueCount];
  for (int q = 0; q < kQueueCount; ++q) last[q] = log.LastSeq(static_cast<Queue>(q));
  clocks.JoinAll(last);
}

void CoreState::CheckEnd() {
  if (!checked) return;
  for (int src = 0; src < kQueueCount; ++src) {
    for (int dst = 0; dst < kQueueCount; ++dst) {
      for (int id = 0; id < kEventIds; ++id) {
        const Flag& flag = flags[src][dst][id];
        if (flag.tokens.empty()) continue;
        checker.Report(Rule::kSync3, Grade::kError, checker.Describe(flag.tokens.front().set_by),
                       "event " + EventName(static_cast<Queue>(src), static_cast<Queue>(dst), id) +
                           " is set and never waited for; it stays set for the next kernel",
                       "add the WaitFlag on queue " + std::string(Name(static_cast<Queue>(dst))));
      }
    }
  }
  CheckLeaks();
}

void CoreState::CheckLeaks() {
  for (const BufferRecord& buffer : checker.buffers()) {
    if (!buffer.is_queue || !buffer.occupied || buffer.forgotten) continue;
    ReportAt(Rule::kLeak, "AllocTensor", buffer.site, "tensor of queue buffer '" + buffer.name + "' is never freed",
             "FreeTensor");
  }
}

}  // namespace npu_model
