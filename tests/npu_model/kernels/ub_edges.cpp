// SPDX-License-Identifier: Apache-2.0
// GM -> UB -> Vector -> GM: every edge of the round trip, each left out by one variant.
#include "mutant.h"

namespace {

constexpr uint32_t kElems = 2048;
constexpr uint32_t kBytes = kElems * sizeof(float);

struct Buffers {
  TPipe pipe;
  TBuf<TPosition::VECCALC> ub;
  LocalTensor<float> a, b, c;
  GlobalTensor<float> gx, gz;  // [2 * kElems]

  __aicore__ inline Buffers(GM_ADDR x, GM_ADDR z) {
    pipe.InitBuffer(ub, 4 * kBytes);
    a = ub.GetWithOffset<float>(kElems, 0);
    b = ub.GetWithOffset<float>(kElems, kBytes);
    c = ub.GetWithOffset<float>(kElems, 2 * kBytes);
    gx = Gm<float>(x, 2 * kElems);
    gz = Gm<float>(z, 2 * kElems);
  }
};

}  // namespace

// z = (2 x0, 2 x1 + 1); the second half goes through the same buffers.
extern "C" __global__ __aicore__ void ub_round_trip(GM_ADDR x, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t variant = VariantOf(tiling);
  Buffers m(x, z);
  DataCopy(m.a, m.gx, kElems);
  Edge<HardEvent::MTE2_V>(variant != 1);
  Add(m.b, m.a, m.a, kElems);
  Edge<HardEvent::V_MTE3>(variant != 2);
  DataCopy(m.gz, m.b, kElems);

  Edge<HardEvent::V_MTE2>(variant != 3);
  DataCopy(m.a, m.gx[kElems], kElems);
  Edge<HardEvent::MTE2_V>(true);
  Edge<HardEvent::MTE3_V>(variant != 4);
  Barrier<PIPE_V>(variant != 5);
  Add(m.b, m.a, m.a, kElems);
  Barrier<PIPE_V>(variant != 6);
  Adds(m.c, m.b, 1.0f, kElems);
  Edge<HardEvent::V_MTE3>(true);
  DataCopy(m.gz[kElems], m.c, kElems);
}

// Two loads into one buffer, and two stores to one place.
extern "C" __global__ __aicore__ void ub_same_queue(GM_ADDR x, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t variant = VariantOf(tiling);
  Buffers m(x, z);
  DataCopy(m.a, m.gx, kElems);
  Barrier<PIPE_MTE2>(variant != 1);
  DataCopy(m.a, m.gx[kElems], kElems);
  Edge<HardEvent::MTE2_V>(true);
  Add(m.b, m.a, m.a, kElems);
  Barrier<PIPE_V>(variant != 3);
  Adds(m.a, m.b, 1.0f, kElems);
  Edge<HardEvent::V_MTE3>(true);
  DataCopy(m.gz, m.b, kElems);
  Barrier<PIPE_MTE3>(variant != 2);
  DataCopy(m.gz, m.a, kElems);
  DataCopy(m.gz[kElems], m.a, kElems);
}

// What was stored to GM is loaded again.
extern "C" __global__ __aicore__ void gm_round_trip(GM_ADDR x, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t variant = VariantOf(tiling);
  Buffers m(x, z);
  DataCopy(m.a, m.gx, kElems);
  Edge<HardEvent::MTE2_MTE3>(true);
  DataCopy(m.gz, m.a, kElems);
  Edge<HardEvent::MTE3_MTE2>(variant != 1);
  DataCopy(m.b, m.gz, kElems);
  Edge<HardEvent::MTE2_V>(true);
  Add(m.c, m.b, m.b, kElems);
  Edge<HardEvent::V_MTE3>(true);
  // The load of gz is over: MTE2_V and V_MTE3 say so together.
  DataCopy(m.gz, m.c, kElems);
  DataCopy(m.gz[kElems], m.c, kElems);
}

// Scalar accesses to UB on both sides of vector and DMA work.
extern "C" __global__ __aicore__ void scalar_edges(GM_ADDR x, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t variant = VariantOf(tiling);
  Buffers m(x, z);
  DataCopy(m.a, m.gx, kElems);
  Edge<HardEvent::MTE2_S>(variant != 1);
  const float first = m.a.GetValue(0);
  Edge<HardEvent::MTE2_V>(true);
  Add(m.b, m.a, m.a, kElems);
  Edge<HardEvent::V_S>(variant != 2);
  const float doubled = m.b.GetValue(1);
  m.b.SetValue(0, first + doubled);
  Edge<HardEvent::S_V>(variant != 3);
  Barrier<PIPE_V>(true);
  Adds(m.c, m.b, 1.0f, kElems);
  Edge<HardEvent::V_S>(true);
  m.c.SetValue(2, 7.0f);
  Edge<HardEvent::V_MTE3>(true);
  Edge<HardEvent::S_MTE3>(variant != 4);
  DataCopy(m.gz, m.c, kElems);
  DataCopy(m.gz[kElems], m.c, kElems);
  Edge<HardEvent::MTE3_S>(variant != 5);
  m.c.SetValue(3, 8.0f);
}

// Two vector instructions on different lanes of the same blocks need no barrier; variant 1 lets one lane in each
// overlap.
extern "C" __global__ __aicore__ void lanes_apart(GM_ADDR x, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t variant = VariantOf(tiling);
  Buffers m(x, z);
  DataCopy(m.a, m.gx, kElems);
  Edge<HardEvent::MTE2_V>(true);
  uint64_t low[2] = {0x0f0f0f0f0f0f0f0f, 0};
  uint64_t high[2] = {0xf0f0f0f0f0f0f0f0, 0};
  if (variant == 1) high[0] |= 8;
  Adds(m.b, m.a, 1.0f, low, kElems / 64, UnaryRepeatParams(1, 1, 8, 8));
  Adds(m.b, m.a, 2.0f, high, kElems / 64, UnaryRepeatParams(1, 1, 8, 8));
  Edge<HardEvent::V_MTE3>(true);
  DataCopy(m.gz, m.b, kElems);
  DataCopy(m.gz[kElems], m.b, kElems);
}

// V -> MTE3 ordered by no flag of its own. Variant 0: S waits for V, and what S issues later inherits that. Variant 1:
// nothing. Variant 2: a full barrier.
extern "C" __global__ __aicore__ void other_ways(GM_ADDR x, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t variant = VariantOf(tiling);
  Buffers m(x, z);
  DataCopy(m.a, m.gx, kElems);
  Edge<HardEvent::MTE2_V>(true);
  Add(m.b, m.a, m.a, kElems);
  Edge<HardEvent::V_S>(variant == 0);
  Barrier<PIPE_ALL>(variant == 2);
  DataCopy(m.gz, m.b, kElems);
  DataCopy(m.gz[kElems], m.b, kElems);
}
