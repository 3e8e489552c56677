// SPDX-License-Identifier: Apache-2.0
// Synchronisation that could go, and some that only looks so.
#include "mutant.h"

namespace {

constexpr uint32_t kElems = 512;
constexpr uint32_t kBytes = kElems * sizeof(float);

struct Buffers {
  TPipe pipe;
  TBuf<TPosition::VECCALC> ub;
  LocalTensor<float> a, b;
  GlobalTensor<float> gx;

  __aicore__ inline explicit Buffers(GM_ADDR x) {
    pipe.InitBuffer(ub, 2 * kBytes);
    a = ub.GetWithOffset<float>(kElems, 0);
    b = ub.GetWithOffset<float>(kElems, kBytes);
    gx.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x) + GetBlockIdx() * kElems, kElems);
  }
};

}  // namespace

extern "C" __global__ __aicore__ void one_of_each(GM_ADDR x, GM_ADDR workspace, GM_ADDR tiling) {
  Buffers m(x);
  DataCopy(m.a, m.gx, kElems);
  SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
  Adds(m.b, m.a, 1.0f, kElems);
  SetFlag<HardEvent::V_MTE3>(EVENT_ID1);  // MTE3 has nothing to do
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID1);
}

// The barrier is needed in the last round only; with variant 1 in none, with variant 2 in block 1 only.
extern "C" __global__ __aicore__ void sometimes(GM_ADDR x, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t variant = VariantOf(tiling);
  const bool needed = variant == 0 || (variant == 2 && GetBlockIdx() == 1);
  Buffers m(x);
  for (uint32_t round = 0; round < 3; ++round) {
    if (needed && round == 2) Duplicate(m.a, 1.0f, kElems);
    PipeBarrier<PIPE_V>();
    if (needed && round == 2) Adds(m.b, m.a, 1.0f, kElems);
  }
}

// Two barriers where one is enough: from two places, or (variant 1) twice from one.
extern "C" __global__ __aicore__ void twice(GM_ADDR x, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t variant = VariantOf(tiling);
  Buffers m(x);
  Duplicate(m.a, 1.0f, kElems);
  for (uint32_t i = 0; i <= variant; ++i) PipeBarrier<PIPE_V>();
  if (variant == 0) PipeBarrier<PIPE_V>();
  Adds(m.b, m.a, 1.0f, kElems);
}

// A full barrier orders V and S, which carries the order to the scalar read; without it V_S would.
extern "C" __global__ __aicore__ void full_barrier(GM_ADDR x, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t variant = VariantOf(tiling);
  Buffers m(x);
  Duplicate(m.a, 1.0f, kElems);
  if (variant == 1) Edge<HardEvent::V_S>(true);
  PipeBarrier<PIPE_ALL>();
  m.a.SetValue(0, m.a.GetValue(1));
}
