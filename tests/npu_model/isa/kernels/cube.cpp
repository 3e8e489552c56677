// SPDX-License-Identifier: Apache-2.0
// The Cube path: fractal loads, products, fills, copies out of and into L0C.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

struct Product {
  uint32_t m, n, k;
  uint32_t a_form;  // 0: L1 holds A in NZ, 1: A^T in NZ, 2: LoadData (3D) of A, 3: 3D of A^T, 4: a plain vector
  uint32_t b_form;  // 0: L1 holds B in NZ, 1: B^T in NZ, 2: LoadData (3D) of B
  uint32_t types;   // 0: half -> float, 1: half -> half, 2: int8, 3: uint8 x int8, 4: uint8 x uint8
  uint32_t accumulate;
  uint32_t from_gm;  // LoadData straight from GM, without L1
};

struct Memories {
  TPipe pipe;
  TBuf<TPosition::VECCALC> ub;
  TBuf<TPosition::A1> l1;
  TBuf<TPosition::A2> l0a;
  TBuf<TPosition::B2> l0b;
  TBuf<TPosition::CO1> l0c;
  Memories() {
    pipe.InitBuffer(ub, 128 * 1024);
    pipe.InitBuffer(l1, 256 * 1024);
    pipe.InitBuffer(l0a, 64 * 1024);
    pipe.InitBuffer(l0b, 64 * 1024);
    pipe.InitBuffer(l0c, 256 * 1024);
  }
};

uint32_t Up(uint32_t value, uint32_t unit) { return (value + unit - 1) / unit; }

void Step() { PipeBarrier<PIPE_ALL>(); }

template <class T>
void Load3d(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t rows, uint32_t columns, bool transpose) {
  LoadData3DParamsV2<T> params;
  params.l1H = 1;
  params.l1W = rows;
  params.channelSize = columns;
  params.kExtension = columns;
  params.mExtension = rows;
  params.enTranspose = transpose;
  LoadData(dst, src, params);
}

// Recipes of the reference: a whole operand in row fractals (A) or k-major column fractals (B).
template <class T>
void LoadA(const LocalTensor<T>& dst, const LocalTensor<T>& src, const Product& p) {
  const uint32_t m1 = Up(p.m, 16), k1 = Up(p.k, 32 / sizeof(T)), fractal = 512 / sizeof(T);
  if (p.a_form == 2) return Load3d(dst, src, m1 * 16, k1 * 16, false);
  if (p.a_form == 3) return Load3d(dst, src, k1 * 16, m1 * 16, true);
  if (p.a_form == 4) return LoadData(dst, src, LoadData2DParams(0, Up(p.k, 256), 1, 0, 0, false, 0));
  for (uint32_t i = 0; i < m1; ++i) {
    LoadData2DParams params;
    params.repeatTimes = k1;
    params.srcStride = p.a_form == 0 ? m1 : 1;
    params.ifTranspose = p.a_form == 1;
    LoadData(dst[i * k1 * fractal], src[p.a_form == 0 ? i * fractal : i * k1 * fractal], params);
  }
}
template <class T>
void LoadB(const LocalTensor<T>& dst, const LocalTensor<T>& src, const Product& p) {
  const uint32_t n1 = Up(p.n, 16), k1 = Up(p.k, 32 / sizeof(T)), fractal = 512 / sizeof(T);
  if (p.b_form == 2) return Load3d(dst, src, k1 * 16, n1 * 16, false);
  for (uint32_t i = 0; i < k1; ++i) {
    LoadData2DParams params;
    params.repeatTimes = n1;
    params.srcStride = p.b_form == 0 ? k1 : 1;
    params.ifTranspose = p.b_form == 0;
    LoadData(dst[i * n1 * fractal], src[p.b_form == 0 ? i * fractal : i * n1 * fractal], params);
  }
}

// GM -> L0 takes fractals that already lie in L0's order.
template <class T>
void LoadFromGm(const LocalTensor<T>& dst, const GlobalTensor<T>& src, uint32_t fractals) {
  LoadData2DParams params;
  params.repeatTimes = fractals;
  params.srcStride = 1;
  LoadData(dst, src, params);
}

template <class A, class B, class C>
void Multiply(GM_ADDR a, GM_ADDR b, GM_ADDR c, const Product& p) {
  Memories mem;
  const uint32_t m1 = Up(p.m, 16), n1 = Up(p.n, 16), k1 = Up(p.k, 32 / sizeof(A));
  const uint32_t fractal = 512 / sizeof(A);
  const uint32_t a_elems = p.a_form == 4 ? Up(p.k, 256) * 256 : m1 * k1 * fractal;
  const uint32_t b_elems = n1 * k1 * fractal, c_elems = m1 * n1 * 256;
  auto l1_a = mem.l1.GetWithOffset<A>(a_elems, 0);
  auto l1_b = mem.l1.GetWithOffset<B>(b_elems, 128 * 1024);
  auto l0a = mem.l0a.Get<A>();
  auto l0b = mem.l0b.Get<B>();
  auto l0c = mem.l0c.Get<C>();
  auto ub = mem.ub.Get<C>(c_elems);
  GlobalTensor<A> gm_a;
  GlobalTensor<B> gm_b;
  GlobalTensor<C> gm_c;
  gm_a.SetGlobalBuffer(reinterpret_cast<A*>(a), a_elems);
  gm_b.SetGlobalBuffer(reinterpret_cast<B*>(b), b_elems);
  gm_c.SetGlobalBuffer(reinterpret_cast<C*>(c), c_elems);
  const DataCopyParams fractals(n1, m1, 0, 0);
  DataCopyEnhancedParams matrix;
  matrix.blockMode = BlockMode::BLOCK_MODE_MATRIX;
  if (p.from_gm) {
    LoadFromGm(l0a, gm_a, m1 * k1);
    LoadFromGm(l0b, gm_b, n1 * k1);
  } else {
    DataCopy(l1_a, gm_a, a_elems);
    DataCopy(l1_b, gm_b, b_elems);
    Step();
    LoadA(l0a, l1_a, p);
    LoadB(l0b, l1_b, p);
  }
  if (p.accumulate) {
    DataCopy(ub, gm_c, c_elems);
    Step();
    DataCopy(l0c, ub, fractals, matrix);
  }
  Step();
  MmadParams params;
  params.m = p.m;
  params.n = p.n;
  params.k = p.k;
  params.cmatrixInitVal = p.accumulate == 0;
  Mmad(l0c, l0a, l0b, params);
  Step();
  DataCopy(ub, l0c, fractals, matrix);
  Step();
  DataCopy(gm_c, ub, c_elems);
}

}  // namespace

extern "C" __global__ __aicore__ void product(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR, GM_ADDR tiling) {
  GET_TILING_DATA_WITH_STRUCT(Product, p, tiling);
  if (p.types == 0) Multiply<half, half, float>(a, b, c, p);
  if (p.types == 1) Multiply<half, half, half>(a, b, c, p);
  if (p.types == 2) Multiply<int8_t, int8_t, int32_t>(a, b, c, p);
  if (p.types == 3) Multiply<uint8_t, int8_t, int32_t>(a, b, c, p);
  if (p.types == 4) Multiply<uint8_t, uint8_t, int32_t>(a, b, c, p);
}

struct L0cCopy {
  uint32_t count, length, l0c_gap, ub_gap;  // fractals, fractals, fractals, 32-byte blocks
  uint32_t types;  // 0: float, 1: half, 2: float -> half, 3: int32 -> half, 4: half -> float into L0C, float out
  uint32_t relu;
  uint32_t scale;  // half bits
  uint32_t in_bytes, out_bytes;
};

// UB -> L0C without gaps, L0C -> UB with them.
template <class In, class C, class Out>
void RoundTrip(GM_ADDR in, GM_ADDR out, const L0cCopy& p) {
  Memories mem;
  auto source = mem.ub.GetWithOffset<In>(p.in_bytes / sizeof(In), 0);
  auto target = mem.ub.GetWithOffset<Out>(p.out_bytes / sizeof(Out), 64 * 1024);
  auto l0c = mem.l0c.Get<C>();
  GlobalTensor<In> gm_in;
  GlobalTensor<Out> gm_out;
  gm_in.SetGlobalBuffer(reinterpret_cast<In*>(in));
  gm_out.SetGlobalBuffer(reinterpret_cast<Out*>(out));
  DataCopy(source, gm_in, p.in_bytes / sizeof(In));
  DataCopy(target, gm_out, p.out_bytes / sizeof(Out));
  Step();
  DataCopyEnhancedParams matrix;
  matrix.blockMode = BlockMode::BLOCK_MODE_MATRIX;
  const uint32_t fractals = p.in_bytes / sizeof(In) / 256;
  DataCopy(l0c, source, DataCopyParams(1, fractals, 0, 0), matrix);
  Step();
  matrix.isRelu = p.relu != 0;
  if (p.types == 3) {
    matrix.deqScale = DeqScale::DEQ;
    matrix.deqValue = p.scale;
  }
  DataCopy(target, l0c, DataCopyParams(p.count, p.length, p.l0c_gap, p.ub_gap), matrix);
  Step();
  DataCopy(gm_out, target, p.out_bytes / sizeof(Out));
}

extern "C" __global__ __aicore__ void l0c_copy(GM_ADDR in, GM_ADDR out, GM_ADDR, GM_ADDR tiling) {
  GET_TILING_DATA_WITH_STRUCT(L0cCopy, p, tiling);
  if (p.types == 0) RoundTrip<float, float, float>(in, out, p);
  if (p.types == 1) RoundTrip<half, half, half>(in, out, p);
  if (p.types == 2) RoundTrip<float, float, half>(in, out, p);
  if (p.types == 3) RoundTrip<int32_t, int32_t, half>(in, out, p);
  if (p.types == 4) RoundTrip<half, float, float>(in, out, p);
}

// Fill of L1, L0A, L0B: 1 * 2 summed over k = 16, and what L1 holds.
extern "C" __global__ __aicore__ void fill(GM_ADDR out, GM_ADDR l1_out, GM_ADDR, GM_ADDR) {
  Memories mem;
  auto l1 = mem.l1.Get<half>(4 * 256);
  Fill(mem.l0a.Get<half>(), InitConstValueParams<half>(1, static_cast<half>(1.0f)));
  InitConstValue(mem.l0b.Get<half>(), InitConstValueParams<half>(1, static_cast<half>(2.0f)));
  Fill(l1, InitConstValueParams<half>(4, static_cast<half>(-3.0f)));
  Step();
  Mmad(mem.l0c.Get<float>(), mem.l0a.Get<half>(), mem.l0b.Get<half>(), MmadParams(16, 16, 16, 0, false, true));
  auto ub = mem.ub.GetWithOffset<half>(4 * 256, 4096);
  DataCopy(ub, l1, 4 * 256);
  Step();
  DataCopyEnhancedParams matrix;
  matrix.blockMode = BlockMode::BLOCK_MODE_MATRIX;
  auto c = mem.ub.GetWithOffset<float>(256, 0);
  DataCopy(c, mem.l0c.Get<float>(), DataCopyParams(1, 1, 0, 0), matrix);
  Step();
  GlobalTensor<float> gm;
  gm.SetGlobalBuffer(reinterpret_cast<float*>(out), 256);
  GlobalTensor<half> gm_l1;
  gm_l1.SetGlobalBuffer(reinterpret_cast<half*>(l1_out), 4 * 256);
  DataCopy(gm, c, 256);
  DataCopy(gm_l1, ub, 4 * 256);
}

// A convolution window: LoadData (3D) into L0A, read out through a product with the identity.
struct Window {
  uint32_t height, width, channels, filter_w, filter_h, stride_w, stride_h, dilation_w, dilation_h;
  uint32_t pad[4];
  uint32_t m_start, k_start, m_extent, k_extent;
  uint32_t pro;
};
extern "C" __global__ __aicore__ void window(GM_ADDR map, GM_ADDR identity, GM_ADDR out, GM_ADDR, GM_ADDR tiling) {
  GET_TILING_DATA_WITH_STRUCT(Window, w, tiling);
  Memories mem;
  const uint32_t elems = w.height * w.width * w.channels;
  auto l1 = mem.l1.GetWithOffset<half>(elems, 0);
  GlobalTensor<half> gm_map, gm_identity;
  GlobalTensor<float> gm_out;
  const uint32_t m1 = Up(w.m_extent, 16), k1 = Up(w.k_extent, 16);
  gm_map.SetGlobalBuffer(reinterpret_cast<half*>(map), elems);
  gm_identity.SetGlobalBuffer(reinterpret_cast<half*>(identity), k1 * k1 * 256);
  gm_out.SetGlobalBuffer(reinterpret_cast<float*>(out), m1 * k1 * 256);
  DataCopy(l1, gm_map, elems);
  LoadFromGm(mem.l0b.Get<half>(), gm_identity, k1 * k1);
  Step();
  const uint8_t pad[4] = {static_cast<uint8_t>(w.pad[0]), static_cast<uint8_t>(w.pad[1]),
                          static_cast<uint8_t>(w.pad[2]), static_cast<uint8_t>(w.pad[3])};
  if (w.pro) {
    SetFmatrix(w.height, w.width, pad, FmatrixMode::FMATRIX_LEFT);
    SetLoadDataPaddingValue(static_cast<half>(0.5f));
    LoadData3DParamsV2Pro params;
    params.channelSize = w.channels;
    params.extConfig = uint64_t{w.m_start} << 48 | uint64_t{w.k_start} << 32 | uint64_t{w.m_extent} << 16 | w.k_extent;
    params.filterConfig = uint64_t{w.dilation_h} << 40 | uint64_t{w.dilation_w} << 32 | uint64_t{w.filter_h} << 24 |
                          uint64_t{w.filter_w} << 16 | uint64_t{w.stride_h} << 8 | w.stride_w;
    LoadData(mem.l0a.Get<half>(), l1, params);
  } else {
    const LoadData3DParamsV2<half> params(pad, w.height, w.width, w.channels, w.k_extent, w.m_extent, w.k_start,
                                          w.m_start, w.stride_w, w.stride_h, w.filter_w, w.filter_h, w.dilation_w,
                                          w.dilation_h, false, false, static_cast<half>(0.5f));
    LoadData(mem.l0a.Get<half>(), l1, params);
  }
  Step();
  Mmad(mem.l0c.Get<float>(), mem.l0a.Get<half>(), mem.l0b.Get<half>(),
       MmadParams(m1 * 16, k1 * 16, k1 * 16, 0, false, true));
  Step();
  DataCopyEnhancedParams matrix;
  matrix.blockMode = BlockMode::BLOCK_MODE_MATRIX;
  auto ub = mem.ub.Get<float>(m1 * k1 * 256);
  DataCopy(ub, mem.l0c.Get<float>(), DataCopyParams(k1, m1, 0, 0), matrix);
  Step();
  DataCopy(gm_out, ub, m1 * k1 * 256);
}

// Loads out of an L1 that holds only the flagged 32-byte blocks.
struct Holes {
  uint32_t blocks;  // 32-byte blocks in L1
  uint32_t image;   // 0: LoadData (2D), 1: LoadData (3D), pointwise
  uint32_t start, repeats, stride;
  uint32_t rows, m_start, m_extent, k_start, k_extent;
};
extern "C" __global__ __aicore__ void holes(GM_ADDR flags, GM_ADDR data, GM_ADDR, GM_ADDR tiling) {
  GET_TILING_DATA_WITH_STRUCT(Holes, h, tiling);
  Memories mem;
  GlobalTensor<uint8_t> stored;
  GlobalTensor<half> gm;
  stored.SetGlobalBuffer(flags, h.blocks);
  gm.SetGlobalBuffer(reinterpret_cast<half*>(data), h.blocks * 16);
  auto l1 = mem.l1.GetWithOffset<half>(h.blocks * 16, 0);
  for (uint32_t i = 0; i < h.blocks; ++i) {
    if (stored.GetValue(i)) DataCopy(l1[i * 16], gm[i * 16], 16);
  }
  Step();
  if (h.image == 0) {
    LoadData(mem.l0a.Get<half>(), l1, LoadData2DParams(h.start, h.repeats, h.stride, 0, 0, false, 0));
  } else {
    const uint8_t pad[4] = {0, 0, 0, 0};
    const LoadData3DParamsV2<half> params(pad, 1, h.rows, h.blocks / h.rows * 16, h.k_extent, h.m_extent, h.k_start,
                                          h.m_start, 1, 1, 1, 1, 1, 1, false, false, static_cast<half>(0.0f));
    LoadData(mem.l0a.Get<half>(), l1, params);
  }
}

// Rows broadcast into L0C, read back.
extern "C" __global__ __aicore__ void row_broadcast(GM_ADDR in, GM_ADDR out, GM_ADDR, GM_ADDR) {
  Memories mem;
  auto row = mem.ub.GetWithOffset<float>(64, 0);
  auto back = mem.ub.GetWithOffset<float>(4 * 256, 4096);
  GlobalTensor<float> gm_in, gm_out;
  gm_in.SetGlobalBuffer(reinterpret_cast<float*>(in), 64);
  gm_out.SetGlobalBuffer(reinterpret_cast<float*>(out), 4 * 256);
  DataCopy(row, gm_in, 64);
  Step();
  BroadCastVecToMM(mem.l0c.Get<float>(), row, 2, 2, 0, 0);
  Step();
  DataCopyEnhancedParams matrix;
  matrix.blockMode = BlockMode::BLOCK_MODE_MATRIX;
  DataCopy(back, mem.l0c.Get<float>(), DataCopyParams(1, 4, 0, 0), matrix);
  Step();
  DataCopy(gm_out, back, 4 * 256);
}
