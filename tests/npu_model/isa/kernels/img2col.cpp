// SPDX-License-Identifier: Apache-2.0
// LoadData with LoadData3DParamsV1: fractals of a feature map into L0A or L0B, read out through a product with the
// identity.
#include "kernel_operator.h"

using namespace AscendC;

struct Walk {
  uint32_t height, width, channel_blocks, filter_w, filter_h, stride_w, stride_h, dilation_w, dilation_h;
  uint32_t pad[4];
  uint32_t c1, tap_w, tap_h;
  int32_t left, top;
  uint32_t jump, mode, repeats, narrow, to_l0b;
};

namespace {

__aicore__ inline void Step() { PipeBarrier<PIPE_ALL>(); }

__aicore__ inline void LoadSquares(const LocalTensor<half>& dst, const GlobalTensor<half>& src, uint32_t fractals) {
  LoadData(dst, src, LoadData2DParams(0, fractals, 1, 0, 0, false, 0));
}

}  // namespace

// out: the fractals, one behind the other, of 16 x 16 floats. A fractal of L0A times the identity is itself, as is the
// identity times one of L0B.
extern "C" __global__ __aicore__ void fractals(GM_ADDR map, GM_ADDR identity, GM_ADDR out, GM_ADDR, GM_ADDR tiling) {
  GET_TILING_DATA_WITH_STRUCT(Walk, w, tiling);
  TPipe pipe;
  TBuf<TPosition::A1> l1_buf;
  TBuf<TPosition::A2> l0a_buf;
  TBuf<TPosition::B2> l0b_buf;
  TBuf<TPosition::CO1> l0c_buf;
  TBuf<TPosition::VECCALC> ub_buf;
  pipe.InitBuffer(l1_buf, 64 * 1024);
  pipe.InitBuffer(l0a_buf, 64 * 1024);
  pipe.InitBuffer(l0b_buf, 64 * 1024);
  pipe.InitBuffer(l0c_buf, 64 * 1024);
  pipe.InitBuffer(ub_buf, 64 * 1024);
  const uint32_t elems = w.channel_blocks * w.height * w.width * 16;
  auto l1 = l1_buf.Get<half>(elems);
  auto l0a = l0a_buf.Get<half>(), l0b = l0b_buf.Get<half>();
  auto l0c = l0c_buf.Get<float>(), ub = ub_buf.Get<float>(256);
  GlobalTensor<half> gm_map, gm_identity;
  GlobalTensor<float> gm_out;
  gm_map.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(map), elems);
  gm_identity.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(identity), 256);
  gm_out.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(out), w.repeats * 256);
  const uint8_t pad[4] = {static_cast<uint8_t>(w.pad[0]), static_cast<uint8_t>(w.pad[1]),
                          static_cast<uint8_t>(w.pad[2]), static_cast<uint8_t>(w.pad[3])};
  DataCopy(l1, gm_map, elems);
  LoadSquares(w.to_l0b ? l0a : l0b, gm_identity, 1);
  Step();
  const LoadData3DParamsV1<half> params(pad, w.height, w.width, w.c1, w.tap_w, w.tap_h, w.left, w.top, w.stride_w,
                                        w.stride_h, w.filter_w, w.filter_h, w.dilation_w, w.dilation_h, w.jump, w.mode,
                                        w.repeats, w.narrow, static_cast<half>(0.5f));
  LoadData(w.to_l0b ? l0b : l0a, l1, params);
  Step();
  DataCopyEnhancedParams matrix;
  matrix.blockMode = BlockMode::BLOCK_MODE_MATRIX;
  for (uint32_t i = 0; i < w.repeats; ++i) {
    const uint32_t at = i * w.jump * 256;
    Mmad(l0c, w.to_l0b ? l0a : l0a[at], w.to_l0b ? l0b[at] : l0b, MmadParams(16, 16, 16, 0, false, true));
    Step();
    DataCopy(ub, l0c, DataCopyParams(1, 1, 0, 0), matrix);
    Step();
    DataCopy(gm_out[i * 256], ub, 256);
    Step();
  }
}
