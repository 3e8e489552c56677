// SPDX-License-Identifier: Apache-2.0
// TBufPool: two phases that lay the same part of UB out differently.
#include "mutant.h"

namespace {

constexpr uint32_t kElems = 512;
constexpr uint32_t kBytes = kElems * sizeof(float);

}  // namespace

// z = (x + 1, 2 x): phase 1 adds with queues of one pool, phase 2 doubles with queues and a TBuf of another in the same
// memory. Variants: 1: nobody resets the first pool; 2: the second pool is a part of its own; 3: the second pool's
// input lies where the first one's output was, for which no event of the queues waits.
extern "C" __global__ __aicore__ void two_phases(GM_ADDR x, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t variant = VariantOf(tiling);
  TPipe pipe;
  TBufPool<TPosition::VECCALC> first;
  TBufPool<TPosition::VECCALC, 8> second;
  TQue<QuePosition::VECIN, 1> in1, in2;
  TQue<QuePosition::VECOUT, 1> out1, out2;
  TBuf<TPosition::VECCALC> middle;
  TBuf<TPosition::VECCALC> before;
  pipe.InitBuffer(before, 64);
  pipe.InitBufPool(first, 4 * kBytes);
  if (variant == 2) {
    pipe.InitBufPool(second, 4 * kBytes);
  } else {
    pipe.InitBufPool(second, 4 * kBytes, first);
  }
  GlobalTensor<float> gx = Gm<float>(x, kElems);
  GlobalTensor<float> gz = Gm<float>(z, 2 * kElems);

  first.InitBuffer(in1, 1, kBytes);
  first.InitBuffer(out1, 1, kBytes);
  LocalTensor<float> a = in1.AllocTensor<float>();
  DataCopy(a, gx, kElems);
  in1.EnQue(a);
  a = in1.DeQue<float>();
  LocalTensor<float> b = out1.AllocTensor<float>();
  Adds(b, a, 1.0f, kElems);
  in1.FreeTensor(a);
  out1.EnQue(b);
  b = out1.DeQue<float>();
  DataCopy(gz, b, kElems);
  out1.FreeTensor(b);
  if (variant != 1) first.Reset();

  if (variant == 3) second.InitBuffer(middle, kBytes);
  second.InitBuffer(in2, 1, kBytes);
  second.InitBuffer(out2, 1, kBytes);
  if (variant != 3) second.InitBuffer(middle, kBytes);
  LocalTensor<float> c = in2.AllocTensor<float>();
  DataCopy(c, gx, kElems);
  in2.EnQue(c);
  c = in2.DeQue<float>();
  LocalTensor<float> m = middle.Get<float>(kElems);
  Add(m, c, c, kElems);
  in2.FreeTensor(c);
  PipeBarrier<PIPE_V>();
  LocalTensor<float> d = out2.AllocTensor<float>();
  Adds(d, m, 0.0f, kElems);
  out2.EnQue(d);
  d = out2.DeQue<float>();
  DataCopy(gz[kElems], d, kElems);
  out2.FreeTensor(d);
}

extern "C" __global__ __aicore__ void pool_limits(GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t variant = VariantOf(tiling);
  TPipe pipe;
  TBufPool<TPosition::VECCALC, 2> pool;
  TBufPool<TPosition::VECCALC, 2> part;
  TBuf<TPosition::VECCALC> buffers[3];
  TQue<QuePosition::VECIN, 1> queue;
  if (variant != 1) pipe.InitBufPool(pool, 2 * kBytes);
  switch (variant) {
    case 0:  // a part of the pool and a buffer behind it: both fit
      pool.InitBufPool(part, kBytes);
      part.InitBuffer(buffers[0], kBytes);
      pool.InitBuffer(buffers[1], kBytes);
      Duplicate(buffers[0].Get<float>(), 1.0f, kElems);
      Duplicate(buffers[1].Get<float>(), 2.0f, kElems);
      break;
    case 1: pool.InitBuffer(buffers[0], 64); break;
    case 2: pool.InitBuffer(buffers[0], 2 * kBytes + 32); break;
    case 3:
      for (auto& buffer : buffers) pool.InitBuffer(buffer, 64);
      break;
    case 4: pipe.InitBufPool(part, 300 * 1024); break;
    case 5: pipe.InitBufPool(part, 2 * kBytes + 32, pool); break;
    case 6: pool.InitBufPool(part, 2 * kBytes + 32); break;
    case 7: pool.InitBuffer(queue, 2, kBytes + 32); break;
    default: break;
  }
}
