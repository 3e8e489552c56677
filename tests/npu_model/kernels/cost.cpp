// SPDX-License-Identifier: Apache-2.0
// Micro-kernels whose cycles have a closed form. Tiling: {variant, rounds}.
#include "mutant.h"

namespace {

constexpr uint32_t kQuarter = 64 * 1024;  // UB bytes that share addr[17:16]

inline __aicore__ uint32_t RoundsOf(GM_ADDR tiling) { return reinterpret_cast<__gm__ uint32_t*>(tiling)[1]; }

}  // namespace

// Dependent vector instructions of 32 repeats. Variants: 0 Muls between quarters of UB, 1 Exp, 2 in place (reads and
// writes the same banks), 3 blocks 512 bytes apart (all eight in one group), 4 blocks 256 bytes apart (four in one
// group), 5 half -> float, 6 Add of two sources in the same groups, 7 the second source 256 bytes on, 8 of a source to
// itself.
extern "C" __global__ __aicore__ void vector_chain(GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t variant = VariantOf(tiling);
  TPipe pipe;
  TBuf<TPosition::VECCALC> ub;
  pipe.InitBuffer(ub, 3 * kQuarter);
  LocalTensor<float> a = ub.GetWithOffset<float>(kQuarter / 4, 0);
  LocalTensor<float> b = ub.GetWithOffset<float>(kQuarter / 4, kQuarter);
  Duplicate(a, 1.0f, kQuarter / 4);
  LocalTensor<float> c = ub.GetWithOffset<float>(kQuarter / 4, 2 * kQuarter);
  Duplicate(b, 1.0f, kQuarter / 4);
  PipeBarrier<PIPE_V>();
  for (uint32_t i = 0; i < RoundsOf(tiling); ++i) {
    switch (variant) {
      case 0: Muls(b, a, 0.5f, 64, 32, UnaryRepeatParams(1, 1, 8, 8)); break;
      case 1: Exp(b, a, 64, 32, UnaryRepeatParams(1, 1, 8, 8)); break;
      case 2: Muls(a, a, 0.5f, 64, 32, UnaryRepeatParams(1, 1, 8, 8)); break;
      case 3: Muls(b, a, 0.5f, 64, 32, UnaryRepeatParams(1, 16, 8, 1)); break;
      case 4: Muls(b, a, 0.5f, 64, 32, UnaryRepeatParams(1, 8, 8, 1)); break;
      case 5: Cast(b, a.ReinterpretCast<half>(), RoundMode::CAST_NONE, 64, 32, UnaryRepeatParams(1, 1, 8, 4)); break;
      case 6: Add(c, a, b, 64, 32, BinaryRepeatParams(1, 1, 1, 8, 8, 8)); break;
      case 7: Add(c, a, b[64], 64, 32, BinaryRepeatParams(1, 1, 1, 8, 8, 8)); break;
      case 8: Add(c, a, a, 64, 32, BinaryRepeatParams(1, 1, 1, 8, 8, 8)); break;
      default: break;
    }
    PipeBarrier<PIPE_V>();
  }
}

// Loads of 16 KiB. Variants: 0 one burst each, 1 rows of 32 bytes 256 bytes apart, 2 the same 16 KiB again and again.
extern "C" __global__ __aicore__ void gm_loads(GM_ADDR x, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t variant = VariantOf(tiling);
  constexpr uint32_t kElems = 4096;
  TPipe pipe;
  TBuf<TPosition::VECCALC> ub;
  pipe.InitBuffer(ub, 128 * 1024);
  GlobalTensor<float> gx;
  gx.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x));
  for (uint32_t i = 0; i < RoundsOf(tiling); ++i) {
    LocalTensor<float> to = ub.GetWithOffset<float>(kElems, i % 8 * kElems * sizeof(float));
    if (i >= 8) PipeBarrier<PIPE_MTE2>();
    if (variant == 1) {
      DataCopy(to, gx[i * kElems * 8], DataCopyParams(512, 1, 7, 0));
    } else {
      DataCopy(to, gx[variant == 2 ? 0 : i * kElems], kElems);
    }
  }
}

// 64x64x64 products from what lies in L0A and L0B, and the loads that bring it there. Variants: 0 Mmads only, 1 loads only,
// 2 both, the next load behind the Mmad that frees the buffers.
extern "C" __global__ __aicore__ void cube_chain(GM_ADDR x, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t variant = VariantOf(tiling);
  constexpr uint32_t kElems = 64 * 64;
  TPipe pipe;
  TBuf<TPosition::A1> l1_buf;
  TBuf<TPosition::A2> l0a_buf;
  TBuf<TPosition::B2> l0b_buf;
  TBuf<TPosition::CO1> l0c_buf;
  pipe.InitBuffer(l1_buf, kElems * sizeof(half));
  pipe.InitBuffer(l0a_buf, kElems * sizeof(half));
  pipe.InitBuffer(l0b_buf, kElems * sizeof(half));
  pipe.InitBuffer(l0c_buf, kElems * sizeof(float));
  LocalTensor<half> l1 = l1_buf.Get<half>();
  LocalTensor<half> l0a = l0a_buf.Get<half>();
  LocalTensor<half> l0b = l0b_buf.Get<half>();
  LocalTensor<float> l0c = l0c_buf.Get<float>();
  GlobalTensor<half> gx;
  gx.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x));
  DataCopy(l1, gx, kElems);
  Edge<HardEvent::MTE2_MTE1>(true);
  LoadData2DParams load;
  load.repeatTimes = 16;
  load.srcStride = 1;
  MmadParams params;
  params.m = 64;
  params.n = 64;
  params.k = 64;
  for (uint32_t i = 0; i < RoundsOf(tiling); ++i) {
    if (variant != 0 || i == 0) {
      if (variant == 1) PipeBarrier<PIPE_MTE1>();
      if (variant == 2 && i > 0) Edge<HardEvent::M_MTE1>(true);
      LoadData(l0a, l1, load);
      LoadData(l0b, l1, load);
    }
    if (variant == 2 || (variant == 0 && i == 0)) Edge<HardEvent::MTE1_M>(true);
    params.cmatrixInitVal = i == 0;
    if (variant != 1) Mmad(l0c, l0a, l0b, params);
  }
}

// GM -> UB -> GM through two buffers. Variant 0 overlaps loads and stores; variant 1 uses one buffer for both.
extern "C" __global__ __aicore__ void ping_pong(GM_ADDR x, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t buffers = VariantOf(tiling) == 0 ? 2 : 1;
  constexpr uint32_t kElems = 8192;
  const uint32_t rounds = RoundsOf(tiling);
  TPipe pipe;
  TBuf<TPosition::VECCALC> ub;
  pipe.InitBuffer(ub, 2 * kElems * sizeof(float));
  GlobalTensor<float> gx, gz;
  gx.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x));
  gz.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(z));
  for (uint32_t i = 0; i < rounds; ++i) {
    const event_t id = static_cast<event_t>(i % buffers);
    LocalTensor<float> buffer = ub.GetWithOffset<float>(kElems, i % buffers * kElems * sizeof(float));
    if (i >= buffers) WaitFlag<HardEvent::MTE3_MTE2>(id);
    DataCopy(buffer, gx[i * kElems], kElems);
    Edge<HardEvent::MTE2_MTE3>(true, id);
    DataCopy(gz[i * kElems], buffer, kElems);
    if (i + buffers < rounds) SetFlag<HardEvent::MTE3_MTE2>(id);
  }
}

// Variants: 0 UB -> L1 in one burst, 1 in 32-byte bursts, 2 GetValue from UB, 3 GM scalar reads of new lines, 4 of one line.
extern "C" __global__ __aicore__ void small_moves(GM_ADDR x, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t variant = VariantOf(tiling);
  TPipe pipe;
  TBuf<TPosition::VECCALC> ub_buf;
  TBuf<TPosition::A1> l1_buf;
  pipe.InitBuffer(ub_buf, 16 * 1024);
  pipe.InitBuffer(l1_buf, 16 * 1024);
  LocalTensor<float> ub = ub_buf.Get<float>();
  LocalTensor<float> l1 = l1_buf.Get<float>();
  GlobalTensor<float> gx;
  gx.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x));
  Duplicate(ub, 1.0f, 4096);
  Edge<HardEvent::V_MTE3>(true);
  Edge<HardEvent::V_S>(true);
  for (uint32_t i = 0; i < RoundsOf(tiling); ++i) {
    if (variant < 2) PipeBarrier<PIPE_MTE3>();
    if (variant == 0) DataCopy(l1, ub, 4096);
    if (variant == 1) DataCopy(l1, ub, DataCopyParams(256, 1, 1, 1));
    if (variant == 2) ub.GetValue(i);
    if (variant == 3) gx.GetValue(i * 16);
    if (variant == 4) gx.GetValue(i % 16);
  }
}
