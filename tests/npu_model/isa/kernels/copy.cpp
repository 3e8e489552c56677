// SPDX-License-Identifier: Apache-2.0
// DataCopy on every path, in every form.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

struct Shape {
  uint32_t op;
  uint32_t count, length, src_gap, dst_gap;
  uint32_t src_bytes, dst_bytes;
  uint32_t extra[9];
};

void Step() { PipeBarrier<PIPE_ALL>(); }

template <class T>
GlobalTensor<T> Gm(GM_ADDR address) {
  GlobalTensor<T> tensor;
  tensor.SetGlobalBuffer(reinterpret_cast<T*>(address));
  return tensor;
}

}  // namespace

// The strided copy under test between two places, contiguous copies around it. Destinations start as the test left
// them: gaps must keep their bytes. op: 0 GM->UB, 1 UB->GM, 2 UB->L1, 3 L1->UB, 4 GM->L1, 5 UB->UB.
extern "C" __global__ __aicore__ void strided(GM_ADDR in, GM_ADDR out, GM_ADDR, GM_ADDR tiling) {
  GET_TILING_DATA_WITH_STRUCT(Shape, s, tiling);
  TPipe pipe;
  TBuf<TPosition::VECCALC> ub;
  TBuf<TPosition::A1> l1;
  pipe.InitBuffer(ub, 160 * 1024);
  pipe.InitBuffer(l1, 160 * 1024);
  auto source = ub.GetWithOffset<half>(s.src_bytes / 2, 0);
  auto target = ub.GetWithOffset<half>(s.dst_bytes / 2, 80 * 1024);
  auto l1_source = l1.GetWithOffset<half>(s.src_bytes / 2, 0);
  auto l1_target = l1.GetWithOffset<half>(s.dst_bytes / 2, 80 * 1024);
  auto gm_in = Gm<half>(in), gm_out = Gm<half>(out);
  const DataCopyParams params(s.count, s.length, s.src_gap, s.dst_gap);
  const uint32_t src_elems = s.src_bytes / 2, dst_elems = s.dst_bytes / 2;
  if (s.op == 1) {
    DataCopy(source, gm_in, src_elems);
    Step();
    DataCopy(gm_out, source, params);
    return;
  }
  const bool into_l1 = s.op == 2 || s.op == 4;
  if (into_l1) {
    DataCopy(l1_target, gm_out, dst_elems);
  } else {
    DataCopy(target, gm_out, dst_elems);
  }
  if (s.op == 2 || s.op == 5) DataCopy(source, gm_in, src_elems);
  if (s.op == 3) DataCopy(l1_source, gm_in, src_elems);
  Step();
  if (s.op == 0) DataCopy(target, gm_in, params);
  if (s.op == 2) DataCopy(l1_target, source, params);
  if (s.op == 3) DataCopy(target, l1_source, params);
  if (s.op == 4) DataCopy(l1_target, gm_in, params);
  if (s.op == 5) DataCopy(target, source, params);
  Step();
  if (into_l1) {
    DataCopy(target, l1_target, dst_elems);
    Step();
  }
  DataCopy(gm_out, target, dst_elems);
}

// Adds the same UB tile to GM several times. extra[0]: 0 float, 1 half, 2 int16.
extern "C" __global__ __aicore__ void atomic(GM_ADDR in, GM_ADDR out, GM_ADDR, GM_ADDR tiling) {
  GET_TILING_DATA_WITH_STRUCT(Shape, s, tiling);
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 32 * 1024);
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    auto ub = buffer.Get<T>(s.src_bytes / sizeof(T));
    DataCopy(ub, Gm<T>(in), s.src_bytes / sizeof(T));
    SetFlag<HardEvent::MTE2_MTE3>(0);
    WaitFlag<HardEvent::MTE2_MTE3>(0);
    SetAtomicAdd<T>();
    DataCopy(Gm<T>(out), ub, DataCopyParams(s.count, s.length, s.src_gap, s.dst_gap));
    DataCopy(Gm<T>(out), ub, DataCopyParams(s.count, s.length, s.src_gap, s.dst_gap));
    SetAtomicNone();
    PipeBarrier<PIPE_MTE3>();
    DataCopy(Gm<T>(out)[s.dst_bytes / sizeof(T)], ub, s.src_bytes / sizeof(T));
  };
  if (s.extra[0] == 0) run(float());
  if (s.extra[0] == 1) run(half());
  if (s.extra[0] == 2) run(int16_t());
}

// GM ND -> L1 NZ by Nd2NzParams, L1 back to GM. extra: nd_num, n, d, src matrix stride, src d, c0 stride, matrix
// stride.
template <class T>
void Nd2Nz(GM_ADDR in, GM_ADDR out, const Shape& s) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> ub;
  TBuf<TPosition::A1> l1;
  pipe.InitBuffer(ub, 64 * 1024);
  pipe.InitBuffer(l1, 64 * 1024);
  const uint32_t elems = s.dst_bytes / sizeof(T);
  auto tile = l1.Get<T>(elems);
  auto back = ub.Get<T>(elems);
  DataCopy(tile, Gm<T>(out), elems);
  Step();
  DataCopy(tile, Gm<T>(in),
           Nd2NzParams(s.extra[0], s.extra[1], s.extra[2], s.extra[3], s.extra[4], s.extra[5], 1, s.extra[6]));
  SetFlag<HardEvent::MTE2_MTE1>(3);
  WaitFlag<HardEvent::MTE2_MTE1>(3);
  DataCopy(back, tile, elems);
  SetFlag<HardEvent::MTE1_MTE3>(1);
  WaitFlag<HardEvent::MTE1_MTE3>(1);
  DataCopy(Gm<T>(out), back, elems);
}
extern "C" __global__ __aicore__ void nd2nz(GM_ADDR in, GM_ADDR out, GM_ADDR, GM_ADDR tiling) {
  GET_TILING_DATA_WITH_STRUCT(Shape, s, tiling);
  if (s.op == 2) return Nd2Nz<half>(in, out, s);
  Nd2Nz<float>(in, out, s);
}

// UB NZ -> GM ND. extra: nd_num, n, d, src matrix stride, src n, dst d, dst matrix stride.
extern "C" __global__ __aicore__ void nz2nd(GM_ADDR in, GM_ADDR out, GM_ADDR, GM_ADDR tiling) {
  GET_TILING_DATA_WITH_STRUCT(Shape, s, tiling);
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 64 * 1024);
  auto ub = buffer.Get<half>(s.src_bytes / 2);
  DataCopy(ub, Gm<half>(in), s.src_bytes / 2);
  SetFlag<HardEvent::MTE2_MTE3>(0);
  WaitFlag<HardEvent::MTE2_MTE3>(0);
  DataCopy(Gm<half>(out), ub,
           Nz2NdParamsFull(s.extra[0], s.extra[1], s.extra[2], s.extra[3], s.extra[4], s.extra[5], s.extra[6]));
}

// A window of a [rows, columns] float matrix by SliceInfo, and back into another place.
// extra: columns, first row, last row, first column, run length in blocks, row stride, destination columns.
extern "C" __global__ __aicore__ void slices(GM_ADDR in, GM_ADDR out, GM_ADDR, GM_ADDR tiling) {
  GET_TILING_DATA_WITH_STRUCT(Shape, s, tiling);
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 64 * 1024);
  auto ub = buffer.Get<float>();
  const uint32_t run = s.extra[4] * 8;
  const uint32_t rows = (s.extra[2] - s.extra[1] + 1 + s.extra[5]) / (1 + s.extra[5]);
  SliceInfo from[2] = {{s.extra[3], s.extra[3] + run - 1, 0, s.extra[4], s.extra[0]},
                       {s.extra[1], s.extra[2], s.extra[5], 1, s.extra[2] + 1}};
  SliceInfo packed[2] = {{0, run - 1, 0, s.extra[4], run}, {0, rows - 1, 0, 1, rows}};
  SliceInfo to[2] = {{8, 8 + run - 1, 0, s.extra[4], s.extra[6]}, {0, rows - 1, 0, 1, rows}};
  DataCopy(ub, Gm<float>(in), packed, from, 2);
  SetFlag<HardEvent::MTE2_MTE3>(0);
  WaitFlag<HardEvent::MTE2_MTE3>(0);
  DataCopy(Gm<float>(out), ub, to, packed, 2);
}

// GetValue and SetValue on GM and UB, operator(), offsets in elements.
extern "C" __global__ __aicore__ void scalars(GM_ADDR in, GM_ADDR out, GM_ADDR, GM_ADDR) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 1024);
  auto ub = buffer.Get<float>();
  auto gm_in = Gm<float>(in), gm_out = Gm<float>(out);
  DataCopy(ub, gm_in, 64);
  SetFlag<HardEvent::MTE2_S>(0);
  WaitFlag<HardEvent::MTE2_S>(0);
  const float a = ub.GetValue(3);
  const float b = ub[8].GetValue(1);
  ub.SetValue(0, a + b);
  ub(1) = ub(2);
  ub[16].SetValue(0, gm_in.GetValue(40));
  auto bits = ub.ReinterpretCast<uint32_t>();
  bits.SetValue(4, bits.GetValue(5) ^ 0x80000000u);
  SetFlag<HardEvent::S_MTE3>(0);
  WaitFlag<HardEvent::S_MTE3>(0);
  DataCopy(gm_out, ub, 64);
  gm_out[64].SetValue(0, gm_in.GetValue(7) * 2);
}
