// SPDX-License-Identifier: Apache-2.0
#include "sched/replay.h"

#include "cost/timeline.h"
#include "memory/arch.h"
#include "sched/clock.h"

namespace npu_model {
namespace {

using Kind = SyncStep::Kind;

bool IsDropped(const DroppedSites& dropped, const SyncStep& step) {
  return step.site != kNoSyncSite && dropped[step.site];
}

// Something per event of the chip.
template <class T>
class PerEvent {
 public:
  PerEvent() : items_(static_cast<size_t>(kQueueCount) * kQueueCount * kEventIds) {}
  T& operator[](const SyncStep& step) {
    return items_[(static_cast<size_t>(step.queue) * kQueueCount + static_cast<size_t>(step.other)) * kEventIds +
                  step.id];
  }

 private:
  std::vector<T> items_;
};

// What SetFlags have left for WaitFlags, first in first out.
template <class T>
class Tokens {
 public:
  void Push(const T& token) { items_.push_back(token); }
  const T& Pop() { return items_[next_++]; }

 private:
  std::vector<T> items_;
  size_t next_ = 0;
};

class OrderReplay {
 public:
  OrderReplay(const SyncLog& log, const DroppedSites& dropped) : log_(log), dropped_(dropped), scalars_(1) {
    issued_.reserve(log.issues());
  }

  bool Run() {
    for (const SyncStep& step : log_.steps()) {
      if (step.kind <= Kind::kIssueWait) {
        Issue(step);
      } else if (!IsDropped(dropped_, step) && !Execute(step)) {
        return false;
      }
    }
    return true;
  }

 private:
  struct Issued {
    size_t scalar = 0;       // what S knew
    uint32_t last_wait = 0;  // kIssueSet: the latest WaitFlag on the event
  };

  void Issue(const SyncStep& step) {
    const Queue queue = step.kind == Kind::kIssueWait ? step.other : step.queue;
    last_[static_cast<int>(queue)] = step.seq;
    issued_.push_back({scalars_.size() - 1, step.kind == Kind::kIssueSet ? last_wait_[step] : 0});
    if (step.kind == Kind::kIssueWait && !IsDropped(dropped_, step)) last_wait_[step] = step.seq;
  }

  // False: an order is lost.
  bool Execute(const SyncStep& step) {
    switch (step.kind) {
      case Kind::kInstr: {
        const Clock& clock = clocks_.Begin(step.queue, Scalar(step));
        const Needs& needs = log_.needs(step);
        for (int q = 0; q < kQueueCount; ++q) {
          if (needs[q] > clock.t[q]) return false;
        }
        return true;
      }
      case Kind::kSetFlag: {
        const Clock published = clocks_.Publish(step.queue, step.seq, Scalar(step));
        flags_[step].Push(published);
        return !step.judged || issued_[step.issue].last_wait <= published[step.other];
      }
      case Kind::kWaitFlag:
        clocks_.Receive(step.other, flags_[step].Pop(), Scalar(step));
        if (step.other == Queue::kS) scalars_.push_back(clocks_[Queue::kS]);
        return true;
      case Kind::kBarrier: clocks_.Barrier(step.queue, step.seq, Scalar(step)); return true;
      case Kind::kBarrierAll:
        clocks_.JoinAll(last_);
        scalars_.push_back(clocks_[Queue::kS]);
        return true;
      default: return true;  // time only
    }
  }

  const Clock& Scalar(const SyncStep& step) const { return scalars_[issued_[step.issue].scalar]; }

  const SyncLog& log_;
  const DroppedSites& dropped_;
  QueueClocks clocks_;
  std::vector<Clock> scalars_;  // what S knew, whenever that changed
  std::vector<Issued> issued_;
  uint32_t last_[kQueueCount] = {};
  PerEvent<Tokens<Clock>> flags_;
  PerEvent<uint32_t> last_wait_;
};

}  // namespace

bool OrderSurvives(const SyncLog& log, const DroppedSites& dropped) { return OrderReplay(log, dropped).Run(); }

double CyclesWithout(const SyncLog& log, const DroppedSites& dropped, const CostParams& params) {
  constexpr int kNoStage = -1;
  Timeline timeline(params);
  std::vector<Moment> issued;
  issued.reserve(log.issues());
  PerEvent<Tokens<Moment>> flags;
  for (const SyncStep& step : log.steps()) {
    const bool left_out = IsDropped(dropped, step);
    if (step.kind <= Kind::kIssueWait) {
      if (!left_out && step.cycles != 0) timeline.Spend(step.cycles, kNoStage);
      issued.push_back(timeline.Present());
      continue;
    }
    if (left_out) continue;
    const Moment& at = issued.empty() ? timeline.Present() : issued[step.issue];
    switch (step.kind) {
      case Kind::kScalar: timeline.Spend(step.cycles, kNoStage); break;
      case Kind::kInstr:
        if (step.queue == Queue::kS) {
          timeline.ScalarAccess(step.cycles, kNoStage);
        } else {
          timeline.Execute(step.queue, {step.cycles, step.latency}, at, kNoStage, kNoSite);
        }
        break;
      case Kind::kSetFlag: flags[step].Push(timeline.SetFlag(step.queue, at, kNoStage)); break;
      case Kind::kWaitFlag: timeline.WaitFlag(step.queue, step.other, at, kNoStage, flags[step].Pop()); break;
      case Kind::kBarrier: timeline.Barrier(step.queue, at); break;
      case Kind::kBarrierAll: timeline.BarrierAll(); break;
      case Kind::kScalarWait: timeline.ScalarWaitsFor(step.queue); break;
      case Kind::kArrival: timeline.AdvanceTo(step.cycles, Queue::kS); break;
      default: break;
    }
  }
  return timeline.Total();
}

}  // namespace npu_model
