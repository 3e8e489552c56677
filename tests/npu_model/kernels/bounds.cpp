// SPDX-License-Identifier: Apache-2.0
// Addresses that leave what they belong to, misaligned ones, and bytes nobody wrote.
#include "mutant.h"

namespace {

constexpr uint32_t kElems = 512;
constexpr uint32_t kBytes = kElems * sizeof(float);

struct Buffers {
  TPipe pipe;
  TBuf<TPosition::VECCALC> ub;
  TBuf<TPosition::A1> l1_buf;
  TBuf<TPosition::A2> l0a_buf;
  TBuf<TPosition::B2> l0b_buf;
  TBuf<TPosition::CO1> l0c_buf;
  LocalTensor<float> a, b, l0c;
  LocalTensor<half> l1, l0a, l0b;

  __aicore__ inline Buffers() {
    pipe.InitBuffer(ub, 4 * kBytes);
    pipe.InitBuffer(l1_buf, 8192);
    pipe.InitBuffer(l0a_buf, 8192);
    pipe.InitBuffer(l0b_buf, 8192);
    pipe.InitBuffer(l0c_buf, 8192);
    a = ub.GetWithOffset<float>(kElems, 0);
    b = ub.GetWithOffset<float>(kElems, kBytes);
    l1 = l1_buf.Get<half>();
    l0a = l0a_buf.Get<half>();
    l0b = l0b_buf.Get<half>();
    l0c = l0c_buf.Get<float>();
  }
};

}  // namespace

extern "C" __global__ __aicore__ void ub_bounds(GM_ADDR x, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t variant = VariantOf(tiling);
  Buffers m;
  GlobalTensor<float> gx = Gm<float>(x, kElems);
  GlobalTensor<float> gz = Gm<float>(z, kElems);
  DataCopy(m.a, gx, kElems);
  Edge<HardEvent::MTE2_V>(true);
  Adds(m.b, m.a, 1.0f, kElems);
  PipeBarrier<PIPE_V>();
  switch (variant) {
    case 1: Adds(m.a, m.b[256], 1.0f, kElems); break;                               // source runs over its view
    case 2: Adds(m.b[256], m.a, 1.0f, kElems); break;                               // destination runs over its view
    case 3: Adds(m.a, m.b[3], 1.0f, 64); break;                                     // source starts at byte 12
    case 4: Adds(m.a[3], m.b, 1.0f, 64); break;                                     // destination starts at byte 12
    case 5: Adds(m.a, m.ub.GetWithOffset<float>(64, 3 * kBytes), 1.0f, 64); break;  // never written
    case 6: {  // the last lane of the source was never written
      LocalTensor<float> fresh = m.ub.GetWithOffset<float>(64, 2 * kBytes);
      Adds(fresh, m.a, 1.0f, 63);
      PipeBarrier<PIPE_V>();
      Adds(m.a, fresh, 1.0f, 64);
      break;
    }
    default: break;
  }
  Edge<HardEvent::V_MTE3>(true);
  DataCopy(gz, m.b, kElems);
}

extern "C" __global__ __aicore__ void gm_bounds(GM_ADDR x, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t variant = VariantOf(tiling);
  Buffers m;
  GlobalTensor<float> gx, gz;
  gx.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x));
  gz.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(z));
  DataCopy(m.a, gx[variant == 1 ? 8 : 0], kElems);                // 32 bytes past the end of x
  if (variant == 5) DataCopy(m.b, gx[1 << 20], kElems);           // somewhere else altogether
  if (variant == 7) DataCopy(m.b, gx[~uint64_t{0} - 7], kElems);  // an offset of -8
  if (variant == 6) {
    GlobalTensor<float> scratch;
    scratch.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(GetUserWorkspace(workspace)));
    DataCopy(m.b, scratch, kElems);  // nobody wrote the workspace
  }
  Edge<HardEvent::MTE2_MTE3>(true);
  DataCopy(gz[variant == 2 ? 8 : 0], m.a, kElems);  // 32 bytes past the end of z
  if (variant == 3) DataCopy(gx, m.a, kElems);      // x is an input
}

extern "C" __global__ __aicore__ void absent_argument(GM_ADDR x, GM_ADDR workspace, GM_ADDR tiling) {
  Buffers m;
  GlobalTensor<float> gx;
  gx.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x));
  if (VariantOf(tiling) == 1) DataCopy(m.a, gx[16], kElems);
}

extern "C" __global__ __aicore__ void cube_bounds(GM_ADDR x, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t variant = VariantOf(tiling);
  Buffers m;
  GlobalTensor<half> gx;
  GlobalTensor<float> gz;
  gx.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x), 1024);
  gz.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(z), 1024);
  DataCopy(m.l1[variant == 1 ? 8 : 0], gx, 1024);  // still 32-byte units, so legal in L1 ...
  if (variant == 1) DataCopy(m.l1, gx, 1024);
  Edge<HardEvent::MTE2_MTE1>(true);
  LoadData2DParams load;
  load.repeatTimes = variant == 5 ? 17 : 4;  // 17 fractals leave the 8 KiB of L1 and of L0A
  load.srcStride = 1;
  LoadData(m.l0a[variant == 2 ? 16 : 0], m.l1, load);  // 32 bytes into an L0A fractal
  LoadData(m.l0b, m.l1, load);
  Edge<HardEvent::MTE1_M>(true);
  MmadParams params;
  params.m = 32;
  params.n = 32;
  params.k = variant == 4 ? 64 : 32;                          // reads L0A and L0B beyond what was loaded
  params.cmatrixInitVal = variant != 6;                       // accumulates into L0C bytes nobody wrote
  Mmad(m.l0c[variant == 3 ? 128 : 0], m.l0a, m.l0b, params);  // 512 bytes into a 1024-byte C fractal
  Edge<HardEvent::M_V>(true);
  DataCopyEnhancedParams enhanced;
  enhanced.blockMode = BlockMode::BLOCK_MODE_MATRIX;
  LocalTensor<float> out = m.ub.Get<float>();
  DataCopy(out, m.l0c[variant == 3 ? 128 : 0], DataCopyParams(2, 2, 0, 0), enhanced);
  Edge<HardEvent::V_MTE3>(true);
  DataCopy(gz, out, 1024);
}

// Source and destination of one vector instruction.
extern "C" __global__ __aicore__ void vector_overlap(GM_ADDR x, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t variant = VariantOf(tiling);
  Buffers m;
  GlobalTensor<float> gx = Gm<float>(x, kElems);
  DataCopy(m.a, gx, kElems);
  Edge<HardEvent::MTE2_V>(true);
  LocalTensor<float> whole = m.ub.Get<float>();
  LocalTensor<half> narrow = whole.ReinterpretCast<half>();
  const BinaryRepeatParams accumulate(1, 1, 1, 0, 8, 0);
  switch (variant) {
    case 0: Adds(m.a, m.a, 1.0f, kElems); break;                                        // in place
    case 1: Cast(whole, narrow, RoundMode::CAST_NONE, kElems); break;                   // widening over itself
    case 2: Adds(whole[8], whole, 1.0f, 256); break;                                    // shifted by a block
    case 3: Adds(whole[64], whole, 1.0f, 64, 4, UnaryRepeatParams(1, 1, 8, 8)); break;  // repeat 0 feeds repeat 1
    case 4: Add(whole[256], whole, whole[256], 64, 4, accumulate); break;               // the documented running sum
    case 5: Adds(whole, whole[64], 1.0f, 64, 4, UnaryRepeatParams(1, 1, 8, 8)); break;  // reads ahead of its writes
    default: break;
  }
}
