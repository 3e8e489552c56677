// SPDX-License-Identifier: Apache-2.0
// Flags used wrongly.
#include "mutant.h"

namespace {

constexpr uint32_t kElems = 512;

struct Buffers {
  TPipe pipe;
  TBuf<TPosition::VECCALC> ub;
  LocalTensor<float> a, b;
  GlobalTensor<float> gx;

  __aicore__ inline explicit Buffers(GM_ADDR x) {
    pipe.InitBuffer(ub, 2 * kElems * sizeof(float));
    a = ub.GetWithOffset<float>(kElems, 0);
    b = ub.GetWithOffset<float>(kElems, kElems * sizeof(float));
    gx = Gm<float>(x, kElems);
  }
};

}  // namespace

extern "C" __global__ __aicore__ void unpaired(GM_ADDR x, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t variant = VariantOf(tiling);
  Buffers m(x);
  DataCopy(m.a, m.gx, kElems);
  Edge<HardEvent::MTE2_V>(true);
  Adds(m.b, m.a, 1.0f, kElems);
  if (variant == 1) SetFlag<HardEvent::V_MTE3>(EVENT_ID3);   // nobody waits
  if (variant == 2) WaitFlag<HardEvent::V_MTE3>(EVENT_ID3);  // nobody sets; MTE3 stands still
  if (variant == 3) WaitFlag<HardEvent::V_S>(EVENT_ID3);     // nobody sets; the kernel stands still
  if (variant == 4) {                                        // each queue waits for the other
    WaitFlag<HardEvent::MTE3_V>(EVENT_ID2);
    WaitFlag<HardEvent::V_MTE3>(EVENT_ID1);
    SetFlag<HardEvent::V_MTE3>(EVENT_ID1);
    SetFlag<HardEvent::MTE3_V>(EVENT_ID2);
  }
  if (variant == 5) Edge<HardEvent::V_MTE3>(true, EVENT_ID6);
  if (variant == 6) Edge<HardEvent::V_MTE3>(true, static_cast<event_t>(8));
  if (variant == 7) {  // a full barrier behind a wait that never ends
    WaitFlag<HardEvent::V_MTE3>(EVENT_ID3);
    PipeBarrier<PIPE_ALL>();
  }
  if (variant == 8) {  // ids from the pipe are the kernel's to use, 6 and 7 included
    event_t ids[8];
    for (event_t& id : ids) id = static_cast<event_t>(GetTPipePtr()->AllocEventID<HardEvent::V_MTE3>());
    for (const event_t id : ids) Edge<HardEvent::V_MTE3>(true, id);
    for (const event_t id : ids) GetTPipePtr()->ReleaseEventID<HardEvent::V_MTE3>(id);
  }
}

// Two loads announced through one event id. Variant 1: the second set does not wait for the first wait. Variant 2: set
// twice in a row.
extern "C" __global__ __aicore__ void set_on_set(GM_ADDR x, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t variant = VariantOf(tiling);
  Buffers m(x);
  DataCopy(m.a, m.gx, kElems);
  SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
  if (variant == 2) SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
  if (variant == 2) WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
  Edge<HardEvent::V_MTE2>(variant != 1);
  DataCopy(m.b, m.gx, kElems);
  SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
  Add(m.a, m.a, m.b, kElems);
}
