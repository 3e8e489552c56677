// SPDX-License-Identifier: Apache-2.0
// Synchronisation behind helpers, some of it needed and some not.
#include "mutant.h"

namespace {

constexpr uint32_t kElems = 512;
constexpr uint32_t kBytes = kElems * sizeof(float);

// One line for all the additions and one for all the barriers of the kernel.
__aicore__ inline void AddOne(const LocalTensor<float>& to, const LocalTensor<float>& from) { Adds(to, from, 1.0f, kElems); }
__aicore__ inline void VectorDone() { PipeBarrier<PIPE_V>(); }

// Out of line, so that its callers are other frames; a template, so that its symbol has a return type before the name.
template <typename T>
__attribute__((noinline)) void Twice(const LocalTensor<T>& x, const LocalTensor<T>& y, bool barrier) {
  AddOne(y, x);
  if (barrier) VectorDone();
  AddOne(x, y);
}

struct Buffers {
  TPipe pipe;
  TBuf<TPosition::VECCALC> ub;

  __aicore__ inline Buffers() { pipe.InitBuffer(ub, 4 * kBytes); }
  __aicore__ inline LocalTensor<float> Get(uint32_t index) { return ub.GetWithOffset<float>(kElems, index * kBytes); }
};

}  // namespace

// Variants 1, 2: the first or the second call of Twice lacks its barrier; 3: both.
extern "C" __global__ __aicore__ void helpers(GM_ADDR x, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t variant = VariantOf(tiling);
  Buffers m;
  GlobalTensor<float> gx = Gm<float>(x, kElems);
  DataCopy(m.Get(0), gx, kElems);
  Edge<HardEvent::MTE2_V>(true);
  Twice(m.Get(0), m.Get(1), (variant & 1) == 0);
  VectorDone();
  Twice(m.Get(0), m.Get(1), (variant & 2) == 0);
  Edge<HardEvent::V_MTE3>(true);
  DataCopy(gx, m.Get(0), kElems);
}

// x + 2 in tiles of one buffer. The flag that gives the buffer back is set before the loop and at the end of each round.
// One barrier and one flag pair order nothing that is not ordered without them.
extern "C" __global__ __aicore__ void tiles(GM_ADDR x, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t rounds = VariantOf(tiling);
  Buffers m;
  GlobalTensor<float> gx = Gm<float>(x, rounds * kElems);
  SetFlag<HardEvent::MTE3_MTE2>(EVENT_ID0);
  for (uint32_t i = 0; i < rounds; ++i) {
    WaitFlag<HardEvent::MTE3_MTE2>(EVENT_ID0);
    DataCopy(m.Get(0), gx[i * kElems], kElems);
    Edge<HardEvent::MTE2_V>(true);
    AddOne(m.Get(1), m.Get(0));
    VectorDone();
    AddOne(m.Get(2), m.Get(1));
    VectorDone();  // not needed: the flag below carries it
    Edge<HardEvent::V_MTE3>(true, EVENT_ID1);
    DataCopy(gx[i * kElems], m.Get(2), kElems);
    SetFlag<HardEvent::MTE3_MTE2>(EVENT_ID0);
  }
  WaitFlag<HardEvent::MTE3_MTE2>(EVENT_ID0);
  Edge<HardEvent::V_MTE2>(true, EVENT_ID2);  // not needed: the kernel ends
}
