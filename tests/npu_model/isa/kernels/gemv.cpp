// SPDX-License-Identifier: Apache-2.0
// Rows of 16 between L0C and UB: the result of a product with m == 1.
#include "kernel_operator.h"

using namespace AscendC;

struct Vector {
  uint32_t count, length, l0c_gap, ub_gap, out_elems, preload, mode;
};

// z = x B (+ c): x [16 k1], B [16 k1, 16 n1] in fractals as L0B holds it; out in blocks of `length` rows.
extern "C" __global__ __aicore__ void gemv(GM_ADDR x, GM_ADDR b, GM_ADDR c, GM_ADDR z, GM_ADDR, GM_ADDR tiling) {
  GET_TILING_DATA_WITH_STRUCT(Vector, v, tiling);
  constexpr uint32_t kK1 = 2, kN1 = 6;
  TPipe pipe;
  TBuf<TPosition::A2> l0a_buf;
  TBuf<TPosition::B2> l0b_buf;
  TBuf<TPosition::CO1> l0c_buf;
  TBuf<TPosition::VECCALC> ub_buf;
  pipe.InitBuffer(l0a_buf, 512);
  pipe.InitBuffer(l0b_buf, kK1 * kN1 * 512);
  pipe.InitBuffer(l0c_buf, kN1 * 1024);
  pipe.InitBuffer(ub_buf, 16 * 1024);
  auto l0a = l0a_buf.Get<half>(), l0b = l0b_buf.Get<half>();
  auto l0c = l0c_buf.Get<float>();
  auto from = ub_buf.GetWithOffset<float>(kN1 * 16, 0);
  auto to = ub_buf.GetWithOffset<float>(v.out_elems, 8 * 1024);
  auto narrow = ub_buf.GetWithOffset<half>(v.out_elems, 8 * 1024);
  GlobalTensor<half> gx, gb;
  GlobalTensor<float> gc, gz;
  gx.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x), 256);
  gb.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(b), kK1 * kN1 * 256);
  gc.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(c), kN1 * 16);
  gz.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(z), v.out_elems);
  LoadData(l0a, gx, LoadData2DParams(0, 1, 1, 0, 0, false, 0));
  LoadData(l0b, gb, LoadData2DParams(0, kK1 * kN1, 1, 0, 0, false, 0));
  DataCopy(from, gc, kN1 * 16);
  PipeBarrier<PIPE_ALL>();
  Duplicate(to, -1.0f, v.out_elems);
  DataCopyEnhancedParams rows;
  rows.blockMode = static_cast<BlockMode>(v.mode);
  if (v.preload) DataCopy(l0c, from, DataCopyParams(1, kN1, 0, 0), rows);
  PipeBarrier<PIPE_ALL>();
  Mmad(l0c, l0a, l0b, MmadParams(1, kN1 * 16, kK1 * 16, 0, false, v.preload == 0));
  PipeBarrier<PIPE_ALL>();
  DataCopyParams params(v.count, v.length, v.l0c_gap, v.ub_gap);
  if (v.preload == 2) {
    DataCopy(narrow, l0c, params, rows);
  } else {
    DataCopy(to, l0c, params, rows);
  }
  PipeBarrier<PIPE_ALL>();
  DataCopy(gz, to, v.out_elems);
}
