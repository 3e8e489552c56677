// SPDX-License-Identifier: Apache-2.0
// Buffers and their lives.
#include "mutant.h"

namespace {

constexpr uint32_t kElems = 512;
constexpr uint32_t kBytes = kElems * sizeof(float);

}  // namespace

extern "C" __global__ __aicore__ void queue_life(GM_ADDR x, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t variant = VariantOf(tiling);
  TPipe pipe;
  TQue<QuePosition::VECIN, 1> in;
  TQue<QuePosition::VECOUT, 1> out;
  pipe.InitBuffer(in, 1, kBytes);
  pipe.InitBuffer(out, 1, kBytes);
  GlobalTensor<float> gx = Gm<float>(x, kElems);
  GlobalTensor<float> gz = Gm<float>(z, kElems);

  LocalTensor<float> a = in.AllocTensor<float>();
  DataCopy(a, gx, kElems);
  in.EnQue(a);
  a = in.DeQue<float>();
  LocalTensor<float> b = out.AllocTensor<float>();
  if (variant == 1) in.FreeTensor(a);
  Adds(b, a, 1.0f, kElems);  // variant 1: a is free already
  if (variant != 1 && variant != 2) in.FreeTensor(a);
  if (variant == 3) in.FreeTensor(a);
  out.EnQue(b);
  b = out.DeQue<float>();
  DataCopy(gz, b, kElems);
  out.FreeTensor(b);
  if (variant == 4) Duplicate(b, 0.0f, kElems);
}

extern "C" __global__ __aicore__ void pool_limits(GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t variant = VariantOf(tiling);
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffers[70];
  switch (variant) {
    case 0: pipe.InitBuffer(buffers[0], 248 * 1024); break;
    case 1:
      pipe.InitBuffer(buffers[0], 200 * 1024);
      pipe.InitBuffer(buffers[1], 64 * 1024);
      break;
    case 2: pipe.InitBuffer(buffers[0], 0); break;
    case 3:
      for (auto& buffer : buffers) pipe.InitBuffer(buffer, 32);
      break;
    case 4: {
      TPipe second;
      break;
    }
    default: break;
  }
}

// Rows of the launch's buffer table: "early" lives in stages 0..1, "late" in 2..3 at the same bytes, "ring" wraps from
// 3 to 0.
extern "C" __global__ __aicore__ void stage_lives(GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t variant = VariantOf(tiling);
  TPipe pipe;
  TBuf<TPosition::VECCALC> ub;
  pipe.InitBuffer(ub, 3 * kBytes);
  LocalTensor<float> shared = ub.GetWithOffset<float>(kElems, 0);
  LocalTensor<float> ring = ub.GetWithOffset<float>(kElems, kBytes);
  LocalTensor<float> always = ub.GetWithOffset<float>(kElems, 2 * kBytes);
  for (uint32_t round = 0; round < 2; ++round) {
    TRACE_START(0);
    Duplicate(shared, 1.0f, kElems);
    PipeBarrier<PIPE_V>();
    if (round == 0) Duplicate(always, 0.0f, kElems);
    PipeBarrier<PIPE_V>();
    if (round == 1) Add(always, always, ring, kElems);  // written in stage 3 of the round before
    PipeBarrier<PIPE_V>();
    TRACE_STOP(0);
    TRACE_START(1);
    Add(always, always, shared, kElems);
    PipeBarrier<PIPE_V>();
    if (variant == 1) Adds(ring, always, 1.0f, kElems);  // ring is dead in stage 1
    TRACE_STOP(1);
    TRACE_START(2);
    if (variant != 2) Duplicate(shared, 2.0f, kElems);  // variant 2 reads what "early" left behind
    PipeBarrier<PIPE_V>();
    if (variant != 3) Add(always, always, shared, kElems);
    PipeBarrier<PIPE_V>();
    if (variant == 3) Add(always, always, ring, kElems);  // ring is dead in stage 2
    PipeBarrier<PIPE_V>();
    TRACE_STOP(2);
    TRACE_START(3);
    if (variant != 4) Adds(ring, always, 1.0f, kElems);  // variant 4 leaves ring unwritten
    PipeBarrier<PIPE_V>();
    TRACE_STOP(3);
  }
  GlobalTensor<float> gz = Gm<float>(z, kElems);
  Edge<HardEvent::V_MTE3>(true);
  DataCopy(gz, always, kElems);
}

// Queues and positions used for what they are not.
extern "C" __global__ __aicore__ void wrong_use(GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t variant = VariantOf(tiling);
  TPipe pipe;
  TQue<QuePosition::VECIN, 1> in, other;
  TBuf<TPosition::VECCALC> ub;
  TBuf<TPosition::A1> l1_buf;
  if (variant == 1) in.AllocTensor<float>();
  if (variant == 2) ub.Get<float>();
  pipe.InitBuffer(in, 1, kBytes);
  pipe.InitBuffer(other, 1, kBytes);
  pipe.InitBuffer(ub, kBytes);
  pipe.InitBuffer(l1_buf, kBytes);
  LocalTensor<float> a = ub.Get<float>();
  LocalTensor<float> l1 = l1_buf.Get<float>();
  switch (variant) {
    case 3: in.DeQue<float>(); break;
    case 4: Duplicate(l1, 0.0f, kElems); break;
    case 5: {
      LocalTensor<float> mine = in.AllocTensor<float>();
      other.EnQue(mine);
      break;
    }
    case 6: l1.GetValue(0); break;
    case 7: {
      MmadParams params;
      params.m = params.n = params.k = 16;
      Mmad(a, a.ReinterpretCast<half>(), a.ReinterpretCast<half>(), params);
      break;
    }
    case 8: ub.GetWithOffset<float>(kElems, 32); break;
    case 9: LocalMemAllocator<Hardware::UB>().Alloc<TPosition::VECCALC, float>(kElems); break;
    default: Duplicate(a, 0.0f, kElems); break;
  }
}
