// SPDX-License-Identifier: Apache-2.0
// Flags, barriers and synchronisation between cores.
#pragma once

#include "issue/block_sync.h"
#include "kernel_tensor.h"

namespace AscendC {
namespace detail {

struct QueuePair {
  npu_model::Queue src, dst;
};

constexpr QueuePair QueuesOf(HardEvent event) {
  using npu_model::Queue;
  switch (event) {
    case HardEvent::MTE2_MTE1:
      return {Queue::kMte2, Queue::kMte1};
    case HardEvent::MTE1_MTE2:
      return {Queue::kMte1, Queue::kMte2};
    case HardEvent::MTE1_M:
      return {Queue::kMte1, Queue::kM};
    case HardEvent::M_MTE1:
      return {Queue::kM, Queue::kMte1};
    case HardEvent::MTE2_V:
      return {Queue::kMte2, Queue::kV};
    case HardEvent::V_MTE2:
      return {Queue::kV, Queue::kMte2};
    case HardEvent::MTE3_V:
      return {Queue::kMte3, Queue::kV};
    case HardEvent::V_MTE3:
      return {Queue::kV, Queue::kMte3};
    case HardEvent::M_V:
      return {Queue::kM, Queue::kV};
    case HardEvent::V_M:
      return {Queue::kV, Queue::kM};
    case HardEvent::MTE3_MTE1:
      return {Queue::kMte3, Queue::kMte1};
    case HardEvent::MTE1_MTE3:
      return {Queue::kMte1, Queue::kMte3};
    case HardEvent::MTE1_V:
      return {Queue::kMte1, Queue::kV};
    case HardEvent::V_MTE1:
      return {Queue::kV, Queue::kMte1};
    case HardEvent::MTE2_M:
      return {Queue::kMte2, Queue::kM};
    case HardEvent::M_MTE2:
      return {Queue::kM, Queue::kMte2};
    case HardEvent::MTE3_MTE2:
      return {Queue::kMte3, Queue::kMte2};
    case HardEvent::MTE2_MTE3:
      return {Queue::kMte2, Queue::kMte3};
    case HardEvent::S_V:
      return {Queue::kS, Queue::kV};
    case HardEvent::V_S:
      return {Queue::kV, Queue::kS};
    case HardEvent::S_MTE2:
      return {Queue::kS, Queue::kMte2};
    case HardEvent::MTE2_S:
      return {Queue::kMte2, Queue::kS};
    case HardEvent::S_MTE3:
      return {Queue::kS, Queue::kMte3};
    case HardEvent::MTE3_S:
      return {Queue::kMte3, Queue::kS};
    case HardEvent::M_S:
      return {Queue::kM, Queue::kS};
    default:
      return {Queue::kV, Queue::kV};
  }
}

constexpr npu_model::Queue QueueOf(pipe_t pipe) { return static_cast<npu_model::Queue>(pipe); }
static_assert(QueueOf(PIPE_S) == npu_model::Queue::kS && QueueOf(PIPE_V) == npu_model::Queue::kV &&
              QueueOf(PIPE_M) == npu_model::Queue::kM && QueueOf(PIPE_MTE1) == npu_model::Queue::kMte1 &&
              QueueOf(PIPE_MTE2) == npu_model::Queue::kMte2 && QueueOf(PIPE_MTE3) == npu_model::Queue::kMte3);

void Barrier(pipe_t pipe, Site site);
void SetFlagOf(HardEvent event, int32_t id, Site site);
void WaitFlagOf(HardEvent event, int32_t id, Site site);

}  // namespace detail

template <HardEvent event>
void SetFlag(int32_t eventID, Site site = Site::Here()) {
  static_assert(event != HardEvent::MAX);
  detail::SetFlagOf(event, eventID, site);
}
template <HardEvent event>
void WaitFlag(int32_t eventID, Site site = Site::Here()) {
  static_assert(event != HardEvent::MAX);
  detail::WaitFlagOf(event, eventID, site);
}
template <pipe_t pipe>
void PipeBarrier(Site site = Site::Here()) {
  static_assert(pipe != PIPE_S, "PipeBarrier<PIPE_S> is illegal: the scalar unit is in order by itself");
  detail::Barrier(pipe, site);
}

template <pipe_t src, pipe_t dst>
class TQueSync {
 public:
  static_assert(src != dst, "TQueSync needs two different queues");
  static_assert(src != PIPE_ALL && dst != PIPE_ALL, "TQueSync needs single queues");
  void SetFlag(TEventID id, Site site = Site::Here()) {
    npu_model::Core::Current().SetFlag(detail::QueueOf(src), detail::QueueOf(dst), id, site);
  }
  void WaitFlag(TEventID id, Site site = Site::Here()) {
    npu_model::Core::Current().WaitFlag(detail::QueueOf(src), detail::QueueOf(dst), id, site);
  }
};

// The software forms: GM flags and a UB scratch buffer do the work.
template <bool isAIVOnly = true>
void SyncAll(const GlobalTensor<int32_t>& gmWorkspace, const LocalTensor<int32_t>& ubWorkspace,
             const int32_t usedCores = 0, Site site = Site::Here()) {
  npu_model::issue::SyncAllSoftware(gmWorkspace.view(), ubWorkspace.view(), usedCores, site);
}
template <bool isAIVOnly = true>
void SyncAll() {
  static_assert(sizeof(char) == 2 * isAIVOnly + 3,
                "hardware SyncAll does not exist on Ascend 310P: pass a GM workspace and a UB workspace");
}
template <bool isAIVOnly = true>
void IBSet(const GlobalTensor<int32_t>& gmWorkspace, const LocalTensor<int32_t>& ubWorkspace, int32_t blockIdx,
           int32_t eventID, Site site = Site::Here()) {
  npu_model::issue::BlockFlag(true, gmWorkspace.view(), ubWorkspace.view(), blockIdx, eventID, site);
}
template <bool isAIVOnly = true>
void IBWait(const GlobalTensor<int32_t>& gmWorkspace, const LocalTensor<int32_t>& ubWorkspace, int32_t blockIdx,
            int32_t eventID, Site site = Site::Here()) {
  npu_model::issue::BlockFlag(false, gmWorkspace.view(), ubWorkspace.view(), blockIdx, eventID, site);
}

template <MemDsbT arg0>
void DataSyncBarrier() {
  static_assert(arg0 != arg0, "DataSyncBarrier does not exist on Ascend 310P");
}
template <uint8_t modeId, pipe_t pipe>
void CrossCoreSetFlag(uint16_t) {
  static_assert(modeId != modeId, "CrossCoreSetFlag does not exist on Ascend 310P");
}
template <uint8_t modeId = 0, pipe_t pipe = PIPE_S>
void CrossCoreWaitFlag(uint16_t) {
  static_assert(modeId != modeId, "CrossCoreWaitFlag does not exist on Ascend 310P");
}

}  // namespace AscendC

// The compiler's own spellings, used by older sources.
inline void set_flag(pipe_t src, pipe_t dst, int id, npu_model::Site site = npu_model::Site::Here()) {
  npu_model::Core::Current().SetFlag(AscendC::detail::QueueOf(src), AscendC::detail::QueueOf(dst), id, site);
}
inline void wait_flag(pipe_t src, pipe_t dst, int id, npu_model::Site site = npu_model::Site::Here()) {
  npu_model::Core::Current().WaitFlag(AscendC::detail::QueueOf(src), AscendC::detail::QueueOf(dst), id, site);
}
inline void pipe_barrier(pipe_t pipe, npu_model::Site site = npu_model::Site::Here()) {
  AscendC::detail::Barrier(pipe, site);
}
