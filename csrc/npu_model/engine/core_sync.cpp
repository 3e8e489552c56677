// SPDX-License-Identifier: Apache-2.0
// Flags, barriers and synchronisation between blocks.
#include "engine/core.h"
#include "engine/core_state.h"

namespace npu_model {
namespace {

bool IsReserved(const CoreState& s, Queue src, Queue dst, int id, bool library) {
  return id >= kFirstReservedEventId && !library &&
         ((s.event_ids[static_cast<int>(src)][static_cast<int>(dst)] >> id) & 1) == 0;
}

}  // namespace

// False: the call is ignored.
bool CoreState::FlagIsLegal(const char* name, Queue src, Queue dst, int id, Site site, bool library) {
  if (id < 0 || id >= kEventIds) {
    ReportAt(Rule::kParam, name, site,
             "event id " + std::to_string(id) + " of " + Name(src) + "_" + Name(dst) + " is outside 0..7");
    return false;
  }
  if (checked && IsReserved(*this, src, dst, id, library)) {
    ReportAt(Rule::kReservedEvent, name, site,
             "event " + EventName(src, dst, id) + " is used by hand; 6 and 7 belong to the library and auto-sync",
             "use ids 0..5, or AllocEventID");
  }
  return true;
}

void Core::SetFlag(Queue src, Queue dst, int id, Site site) {
  CoreState& s = *state_;
  if (s.Unwinding() || s.IsDropped("SetFlag", site)) return;
  if (!s.FlagIsLegal("SetFlag", src, dst, id, site, library_depth_ > 0)) return;
  const bool managed =
      library_depth_ > 0 && ((s.event_ids[static_cast<int>(src)][static_cast<int>(dst)] >> id) & 1) != 0;
  Pending item;
  s.Begin("SetFlag", site, src, item.context, s.timeline.IssueFlag(s.CurrentStage()), library_depth_ > 0);
  s.Issued(item.context, SyncStep::Kind::kIssueSet, src, dst, id, s.timeline.params().flag);
  Flag& flag = s.FlagOf(src, dst, id);
  item.flag = {src, dst, id, managed, ++flag.sets_ahead > 1, flag.last_set, flag.last_wait};
  flag.last_set = item.context.tag;
  if (src == Queue::kS || s.RunsNow(src)) {
    s.ExecuteSetFlag(item.flag, item.context);
    if (s.pending_count != 0) s.Settle();
    return;
  }
  item.kind = Pending::Kind::kSetFlag;
  s.Enqueue(src, std::move(item));
}

void Core::WaitFlag(Queue src, Queue dst, int id, Site site) {
  CoreState& s = *state_;
  if (s.Unwinding() || s.IsDropped("WaitFlag", site)) return;
  if (!s.FlagIsLegal("WaitFlag", src, dst, id, site, library_depth_ > 0)) return;
  Pending item;
  s.Begin("WaitFlag", site, dst, item.context, s.timeline.IssueFlag(s.CurrentStage()), library_depth_ > 0);
  s.Issued(item.context, SyncStep::Kind::kIssueWait, src, dst, id, s.timeline.params().flag);
  Flag& flag = s.FlagOf(src, dst, id);
  --flag.sets_ahead;
  flag.last_wait = item.context.tag;
  if (dst == Queue::kS) {
    while (flag.tokens.empty()) {
      if (s.StepForced()) continue;
      const std::string blocked = s.ExplainBlockage();
      s.checker.Report(Rule::kSync3, Grade::kError, s.checker.Describe(item.context.tag),
                       "event " + EventName(src, dst, id) + " is waited for and never set",
                       "add the SetFlag on queue " + std::string(Name(src)));
      s.ReportDeadlock("WaitFlag", site,
                       "S waits for event " + EventName(src, dst, id) + ", which nobody will set" +
                           (blocked.empty() ? "" : "; " + blocked));
      s.Throw();
    }
    s.ExecuteWaitFlag(src, dst, id, item.context);
    return;
  }
  if (s.RunsNow(dst) && !flag.tokens.empty()) {
    s.ExecuteWaitFlag(src, dst, id, item.context);
    return;
  }
  item.kind = Pending::Kind::kWaitFlag;
  item.flag.src = src;
  item.flag.dst = dst;
  item.flag.id = id;
  s.Enqueue(dst, std::move(item));
}

void CoreState::Enqueue(Queue queue, Pending&& item) {
  PendingOf(queue).push_back(std::move(item));
  ++pending_count;
  AfterIssue();
}

void Core::PipeBarrier(Queue queue, Site site) {
  CoreState& s = *state_;
  if (s.Unwinding() || s.IsDropped("PipeBarrier", site)) return;
  if (queue == Queue::kS) {
    s.ReportAt(Rule::kParam, "PipeBarrier", site, "PIPE_S has no barrier; the scalar unit is sequential");
    return;
  }
  Pending item;
  s.Begin("PipeBarrier", site, queue, item.context, s.timeline.Issue(s.CurrentStage()), library_depth_ > 0);
  s.Issued(item.context, SyncStep::Kind::kIssue, queue, queue, 0, s.timeline.params().issue);
  if (s.RunsNow(queue)) {
    s.ExecuteBarrier(queue, item.context);
    return;
  }
  item.kind = Pending::Kind::kBarrier;
  s.Enqueue(queue, std::move(item));
}

void Core::PipeBarrierAll(Site site) {
  CoreState& s = *state_;
  if (s.Unwinding() || s.IsDropped("PipeBarrier", site)) return;
  IssueContext context;
  s.Begin("PipeBarrier", site, Queue::kS, context, s.timeline.Issue(s.CurrentStage()), library_depth_ > 0);
  s.Issued(context, SyncStep::Kind::kIssue, Queue::kS, Queue::kS, 0, s.timeline.params().issue);
  s.Drain("PipeBarrier", site);
  s.JoinEverything();
  const double start = s.timeline.now();
  const Queue last = s.timeline.BarrierAll();
  s.sync_log.Add(s.StepOf(SyncStep::Kind::kBarrierAll, Queue::kS, context));
  s.Record(TraceEvent::Kind::kFullBarrier, Queue::kS, context, {start, s.timeline.now() - start}, last);
}

int Core::AllocEventId(Queue src, Queue dst, Site site) {
  CoreState& s = *state_;
  uint8_t& taken = s.event_ids[static_cast<int>(src)][static_cast<int>(dst)];
  if (taken == 0xFF) {
    Fault(Rule::kParam, "AllocEventID", site,
          std::string("all eight event ids of ") + Name(src) + "_" + Name(dst) + " are taken");
    return -1;
  }
  const int id = __builtin_ctz(~static_cast<uint32_t>(taken));
  taken = static_cast<uint8_t>(taken | (1u << id));
  return id;
}

int Core::FetchEventId(Queue src, Queue dst, Site site) {
  const uint8_t taken = state_->event_ids[static_cast<int>(src)][static_cast<int>(dst)];
  if (taken == 0xFF) {
    Fault(Rule::kParam, "FetchEventID", site,
          std::string("all eight event ids of ") + Name(src) + "_" + Name(dst) + " are taken");
    return -1;
  }
  return __builtin_ctz(~static_cast<uint32_t>(taken));
}

void Core::ReleaseEventId(Queue src, Queue dst, int id, Site site) {
  uint8_t& taken = state_->event_ids[static_cast<int>(src)][static_cast<int>(dst)];
  if (id < 0 || id >= kEventIds || ((taken >> id) & 1) == 0) {
    Fault(Rule::kParam, "ReleaseEventID", site, "event " + EventName(src, dst, id) + " is not allocated");
    return;
  }
  taken = static_cast<uint8_t>(taken & ~(1u << id));
}

void CoreState::JoinBlocks(const BlockArrival& joined) {
  if (joined.clock.empty()) return;
  BlockClock clock = versions.back();
  for (size_t b = 0; b < clock.size(); ++b) clock[b] = std::max(clock[b], joined.clock[b]);
  versions.push_back(std::move(clock));
  checker.SetBlockClock(releases, static_cast<uint32_t>(versions.size() - 1));
  timeline.AdvanceTo(joined.time, Queue::kS);
  SyncStep step;
  step.kind = SyncStep::Kind::kArrival;
  step.cycles = joined.time;
  sync_log.Add(step);
}

BlockArrival CoreState::Release() {
  ++releases;
  BlockArrival arrival;
  arrival.time = timeline.queue(Queue::kMte3).complete.at;  // the flag's store is in GM
  arrival.clock = versions.back();
  arrival.clock[block] = releases;
  checker.SetBlockClock(releases, static_cast<uint32_t>(versions.size() - 1));
  return arrival;
}

void CoreState::PassOn(const Passage& passage, const char* name, Site site) {
  if (passage.kind == Passage::Kind::kDeadlock) {
    ReportDeadlock(name, site, passage.why);
    Throw();
  }
  if (passage.kind == Passage::Kind::kBadFlag) {
    ReportAt(Rule::kParam, name, site, passage.why);
    error = passage.why;
    Throw();
  }
  JoinBlocks(passage.joined);
}

void Core::SyncAll(Site site) {
  CoreState& s = *state_;
  if (s.Unwinding()) return;
  s.Drain("SyncAll", site);
  s.PassOn(s.chip.sync.SyncAll(s.block, s.Release(), s.DescribeCall("SyncAll", site)), "SyncAll", site);
}

uint32_t& Core::SyncAlls(uint64_t flags) { return state_->sync_alls[flags]; }

void Core::AwaitFlag(const GmFlag& flag, Site site) {
  CoreState& s = *state_;
  if (s.Unwinding()) return;
  const int index = FindArgument(s.chip.arguments, flag.workspace);
  if (index < 0) {
    Abort(Rule::kRead3, flag.Call(), site,
          flag.ToString() + ": address outside every GM argument: " + DescribeStray(s.chip.arguments, flag.workspace));
  }
  const GmArgument& argument = s.chip.arguments[index];
  if (!argument.Holds(flag.address, flag.address + kBlockBytes)) {
    Abort(Rule::kRead3, flag.Call(), site,
          flag.ToString() + " lies at byte " + std::to_string(flag.address - argument.base) + " of GM argument '" +
              argument.name + "', which has " + std::to_string(argument.bytes));
  }
  const AccessReport call = s.DescribeCall(flag.Call(), site);
  const BlockArrival here{s.timeline.Total(), s.versions.back()};
  const Passage passage = s.chip.sync.AwaitFlag(s.block, flag, here, call);
  if (s.checked && passage.contested) {
    Hazard hazard;
    hazard.rule = Rule::kGmOverlap;
    hazard.access = call;
    hazard.has_earlier = true;
    hazard.earlier = passage.rival;
    hazard.text = std::string("two blocks call ") + flag.Call() + " on " + flag.ToString() +
                  " and nothing orders them: either may come first";
    hazard.missing = "block " + std::to_string(passage.rival.block) + " <-> block " + std::to_string(s.block);
    hazard.fix = "a flag for each pair of blocks, or SyncAll between the calls";
    s.hazards.Add(std::move(hazard));
  }
  s.PassOn(passage, flag.Call(), site);
}

void Core::TurnFlag(const GmFlag& flag, Site site) {
  CoreState& s = *state_;
  if (s.Unwinding()) return;
  s.chip.sync.TurnFlag(s.block, flag, s.Release(), s.DescribeCall(flag.Call(), site));
}

}  // namespace npu_model
