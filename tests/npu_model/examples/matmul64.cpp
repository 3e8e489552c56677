// SPDX-License-Identifier: Apache-2.0
// C = A B for one 64x64x64 tile, fp16 in, fp32 out. Rows come from GM to UB, become 16-column strips (NZ) on the way to
// L1, and strips of the product become rows again in the last vector instruction: no pass of its own for either.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

constexpr uint32_t kEdge = 64;
constexpr uint32_t kFractal = 16;
constexpr uint32_t kStrips = kEdge / kFractal;
constexpr uint32_t kElems = kEdge * kEdge;
constexpr uint32_t kFractalElems = kFractal * kFractal;

// One promise per flag.
constexpr event_t kRowsLoaded = EVENT_ID0;    // MTE2 -> MTE3
constexpr event_t kStripsReady = EVENT_ID0;   // MTE3 -> MTE1
constexpr event_t kOperandsReady = EVENT_ID0; // MTE1 -> M
constexpr event_t kProductReady = EVENT_ID0;  // M -> V
constexpr event_t kResultReady = EVENT_ID0;   // V -> MTE3

template <HardEvent event>
__aicore__ inline void Handoff(event_t id) {
  SetFlag<event>(id);
  WaitFlag<event>(id);
}

// [64, 64] rows -> four strips of [64, 16]: 32-byte bursts.
__aicore__ inline void RowsToStrips(const LocalTensor<half>& strips, const LocalTensor<half>& rows) {
  for (uint32_t s = 0; s < kStrips; ++s) {
    DataCopy(strips[s * kEdge * kFractal], rows[s * kFractal], DataCopyParams(kEdge, 1, kStrips - 1, 0));
  }
}

}  // namespace

extern "C" __global__ __aicore__ void matmul64(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR workspace, GM_ADDR tiling) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> ub;
  TBuf<TPosition::A1> l1;
  TBuf<TPosition::A2> l0a;
  TBuf<TPosition::B2> l0b;
  TBuf<TPosition::CO1> l0c;
  pipe.InitBuffer(ub, 2 * kElems * sizeof(half) + 2 * kElems * sizeof(float));
  pipe.InitBuffer(l1, 2 * kElems * sizeof(half));
  pipe.InitBuffer(l0a, kElems * sizeof(half));
  pipe.InitBuffer(l0b, kElems * sizeof(half));
  pipe.InitBuffer(l0c, kElems * sizeof(float));

  constexpr uint32_t kHalfBytes = kElems * sizeof(half);
  constexpr uint32_t kFloatBytes = kElems * sizeof(float);
  const LocalTensor<half> a_rows = ub.GetWithOffset<half>(kElems, 0);
  const LocalTensor<half> b_rows = ub.GetWithOffset<half>(kElems, kHalfBytes);
  const LocalTensor<float> c_strips = ub.GetWithOffset<float>(kElems, 2 * kHalfBytes);
  const LocalTensor<float> c_rows = ub.GetWithOffset<float>(kElems, 2 * kHalfBytes + kFloatBytes);
  const LocalTensor<half> a_strips = l1.GetWithOffset<half>(kElems, 0);
  const LocalTensor<half> b_strips = l1.GetWithOffset<half>(kElems, kHalfBytes);
  const LocalTensor<half> a_tile = l0a.Get<half>();
  const LocalTensor<half> b_tile = l0b.Get<half>();
  const LocalTensor<float> c_tile = l0c.Get<float>();
  GlobalTensor<half> a_gm;
  GlobalTensor<half> b_gm;
  GlobalTensor<float> c_gm;
  a_gm.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(a), kElems);
  b_gm.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(b), kElems);
  c_gm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(c), kElems);

  DataCopy(a_rows, a_gm, kElems);
  DataCopy(b_rows, b_gm, kElems);
  Handoff<HardEvent::MTE2_MTE3>(kRowsLoaded);
  RowsToStrips(a_strips, a_rows);
  RowsToStrips(b_strips, b_rows);
  Handoff<HardEvent::MTE3_MTE1>(kStripsReady);
  LoadData2DParams load;
  load.repeatTimes = kStrips;
  load.srcStride = kStrips;
  for (uint32_t i = 0; i < kStrips; ++i) {
    load.ifTranspose = false;  // L0A: fractals row by row
    LoadData(a_tile[i * kStrips * kFractalElems], a_strips[i * kFractalElems], load);
    load.ifTranspose = true;  // L0B: each fractal transposed
    LoadData(b_tile[i * kStrips * kFractalElems], b_strips[i * kFractalElems], load);
  }
  Handoff<HardEvent::MTE1_M>(kOperandsReady);
  MmadParams product;
  product.m = kEdge;
  product.n = kEdge;
  product.k = kEdge;
  product.cmatrixInitVal = true;
  Mmad(c_tile, a_tile, b_tile, product);
  Handoff<HardEvent::M_V>(kProductReady);
  DataCopyEnhancedParams matrix;
  matrix.blockMode = BlockMode::BLOCK_MODE_MATRIX;
  DataCopy(c_strips, c_tile, DataCopyParams(kStrips, kStrips, 0, 0), matrix);
  PipeBarrier<PIPE_V>();
  for (uint32_t s = 0; s < kStrips; ++s) {
    // 64 repeats of 16 lanes: two blocks each, from one strip into a column of 64-wide rows.
    Adds(c_rows[s * kFractal], c_strips[s * kEdge * kFractal], 0.0f, kFractal, kEdge,
         UnaryRepeatParams(1, 1, kEdge / 8, kFractal / 8));
  }
  Handoff<HardEvent::V_MTE3>(kResultReady);
  DataCopy(c_gm, c_rows, kElems);
}
