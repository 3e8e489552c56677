// SPDX-License-Identifier: Apache-2.0
// GM -> UB -> L1 -> L0A/L0B -> Mmad -> L0C -> UB -> GM, more than once through the same buffers; each variant leaves
// out one edge.
#include "mutant.h"

namespace {

constexpr int32_t kN = 64;
constexpr int32_t kTiles = kN / 16;
constexpr uint32_t kHalfBytes = kN * kN * sizeof(half);

struct Buffers {
  TPipe pipe;
  TBuf<TPosition::VECCALC> ub_buf;
  TBuf<TPosition::A1> l1_buf;
  TBuf<TPosition::A2> l0a_buf;
  TBuf<TPosition::B2> l0b_buf;
  TBuf<TPosition::CO1> l0c_buf;
  LocalTensor<half> a, l1, l0a, l0b;
  LocalTensor<float> c, l0c;
  GlobalTensor<half> gx;   // [2, kN, kN]
  GlobalTensor<float> gz;  // [2, kN, kN]

  __aicore__ inline Buffers(GM_ADDR x, GM_ADDR z) {
    pipe.InitBuffer(ub_buf, 4 * kHalfBytes);
    pipe.InitBuffer(l1_buf, kHalfBytes);
    pipe.InitBuffer(l0a_buf, kHalfBytes);
    pipe.InitBuffer(l0b_buf, kHalfBytes);
    pipe.InitBuffer(l0c_buf, 2 * kHalfBytes);
    a = ub_buf.GetWithOffset<half>(kN * kN, 0);
    c = ub_buf.GetWithOffset<float>(kN * kN, kHalfBytes);
    l1 = l1_buf.Get<half>();
    l0a = l0a_buf.Get<half>();
    l0b = l0b_buf.Get<half>();
    l0c = l0c_buf.Get<float>();
    gx = Gm<half>(x, 2 * kN * kN);
    gz = Gm<float>(z, 2 * kN * kN);
  }

  // L1 holds A in NZ; fills L0A with A and L0B with A.
  __aicore__ inline void Load() {
    LoadData2DParams params;
    params.repeatTimes = kTiles;
    params.srcStride = kTiles;
    for (int32_t m = 0; m < kTiles; ++m) LoadData(l0a[m * kTiles * 256], l1[m * 256], params);
    params.ifTranspose = true;
    for (int32_t k = 0; k < kTiles; ++k) LoadData(l0b[k * kTiles * 256], l1[k * 256], params);
  }

  __aicore__ inline void Multiply(bool init) {
    MmadParams params;
    params.m = kN;
    params.n = kN;
    params.k = kN;
    params.cmatrixInitVal = init;
    Mmad(l0c, l0a, l0b, params);
  }

  __aicore__ inline void Drain() {
    DataCopyEnhancedParams enhanced;
    enhanced.blockMode = BlockMode::BLOCK_MODE_MATRIX;
    DataCopy(c, l0c, DataCopyParams(kTiles, kTiles, 0, 0), enhanced);
  }
};

}  // namespace

// x: two A matrices in NZ order; z: their squares in NZ order.
extern "C" __global__ __aicore__ void cube_twice(GM_ADDR x, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t variant = VariantOf(tiling);
  Buffers m(x, z);
  // The second matrix is on its way before the first result leaves L0C, so no edge is implied by a longer way round.
  DataCopy(m.a, m.gx, kN * kN);
  Edge<HardEvent::MTE2_MTE3>(true);
  DataCopy(m.l1, m.a, kN * kN);
  Edge<HardEvent::MTE3_MTE1>(true);
  m.Load();
  Edge<HardEvent::MTE1_M>(true);
  m.Multiply(true);

  Edge<HardEvent::MTE3_MTE2>(variant != 1);  // a was copied to L1
  DataCopy(m.a, m.gx[kN * kN], kN * kN);
  Edge<HardEvent::MTE2_MTE3>(variant != 2);
  Edge<HardEvent::MTE1_MTE3>(variant != 3);  // L1 was loaded
  DataCopy(m.l1, m.a, kN * kN);
  Edge<HardEvent::MTE3_MTE1>(variant != 4);
  Edge<HardEvent::M_MTE1>(variant != 5);  // L0A, L0B were multiplied
  m.Load();
  Edge<HardEvent::MTE1_M>(variant != 6);

  Edge<HardEvent::M_V>(variant != 8);
  m.Drain();
  Edge<HardEvent::V_M>(variant != 7);  // L0C was drained
  m.Multiply(true);
  Edge<HardEvent::V_MTE3>(variant != 10);
  DataCopy(m.gz, m.c, kN * kN);
  Edge<HardEvent::M_V>(true);
  Edge<HardEvent::MTE3_V>(variant != 9);  // c was stored
  m.Drain();
  Edge<HardEvent::V_MTE3>(true);
  DataCopy(m.gz[kN * kN], m.c, kN * kN);
}

// A and then B straight from GM to L1. Variant 2: M_MTE1 instead of MTE1_MTE2, which does not protect L1 from the next
// load.
extern "C" __global__ __aicore__ void l1_reload(GM_ADDR x, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t variant = VariantOf(tiling);
  Buffers m(x, z);
  for (int32_t round = 0; round < 2; ++round) {
    const bool again = round == 1;
    if (again) Edge<HardEvent::MTE1_MTE2>(variant != 1 && variant != 2);
    DataCopy(m.l1, m.gx[round * kN * kN], kN * kN);
    Edge<HardEvent::MTE2_MTE1>(variant != 3);
    if (again) Edge<HardEvent::M_MTE1>(true);
    m.Load();
    Edge<HardEvent::MTE1_M>(true);
    if (again) Barrier<PIPE_M>(variant != 4);  // wide enough to chain by itself
    m.Multiply(!again);
  }
  Edge<HardEvent::M_V>(true);
  m.Drain();
  Edge<HardEvent::V_MTE3>(true);
  DataCopy(m.gz, m.c, kN * kN);
  DataCopy(m.gz[kN * kN], m.c, kN * kN);
}

// Accumulation into a small result: (m/16)(n/16) = 4 < 10 needs PipeBarrier<PIPE_M>. Variant 2 overwrites instead of
// accumulating.
extern "C" __global__ __aicore__ void small_chain(GM_ADDR x, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t variant = VariantOf(tiling);
  Buffers m(x, z);
  DataCopy(m.l1, m.gx, kN * kN);
  Edge<HardEvent::MTE2_MTE1>(true);
  m.Load();
  if (variant == 3) m.Load();  // rewrites L0A and L0B while nothing has waited for the first load
  Edge<HardEvent::MTE1_M>(true);
  MmadParams params;
  params.m = 32;
  params.n = 32;
  params.k = 32;
  params.cmatrixInitVal = true;
  Mmad(m.l0c, m.l0a, m.l0b, params);
  Barrier<PIPE_M>(variant != 1 && variant != 2);
  params.cmatrixInitVal = variant == 2;
  Mmad(m.l0c, m.l0a, m.l0b, params);
  Edge<HardEvent::M_V>(true);
  DataCopyEnhancedParams enhanced;
  enhanced.blockMode = BlockMode::BLOCK_MODE_MATRIX;
  DataCopy(m.c, m.l0c, DataCopyParams(2, 2, 0, 0), enhanced);
  Edge<HardEvent::V_MTE3>(true);
  DataCopy(m.gz, m.c, 32 * 32);
}
