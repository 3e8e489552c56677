// SPDX-License-Identifier: Apache-2.0
// Calls with parameters or tensors that the chip does not accept: one variant each, rejected by name.
#include "kernel_operator.h"

using namespace AscendC;

namespace {
struct Variant {
  uint32_t number;
};
}  // namespace

extern "C" __global__ __aicore__ void illegal(GM_ADDR in, GM_ADDR, GM_ADDR tiling) {
  GET_TILING_DATA_WITH_STRUCT(Variant, variant, tiling);
  TPipe pipe;
  TBuf<TPosition::VECCALC> ub;
  TBuf<TPosition::A1> l1;
  TBuf<TPosition::A2> l0a;
  TBuf<TPosition::B2> l0b;
  TBuf<TPosition::CO1> l0c;
  pipe.InitBuffer(ub, 16 * 1024);
  pipe.InitBuffer(l1, 16 * 1024);
  pipe.InitBuffer(l0a, 16 * 1024);
  pipe.InitBuffer(l0b, 16 * 1024);
  pipe.InitBuffer(l0c, 16 * 1024);
  auto x = ub.GetWithOffset<float>(1024, 0);
  auto y = ub.GetWithOffset<float>(1024, 4096);
  auto h = ub.GetWithOffset<half>(1024, 8192);
  auto bytes = ub.GetWithOffset<uint8_t>(1024, 12288);
  auto a1 = l1.Get<half>();
  auto a2 = l0a.Get<half>();
  auto b2 = l0b.Get<half>();
  auto c = l0c.Get<float>();
  GlobalTensor<float> gm;
  gm.SetGlobalBuffer(reinterpret_cast<float*>(in));
  Duplicate(x, 1.0f, 1024);
  Duplicate(h, static_cast<half>(1.0f), 1024);
  PipeBarrier<PIPE_ALL>();
  uint64_t none[2] = {0, 0}, wide[2] = {1, 1};
  const BinaryRepeatParams binary;
  const UnaryRepeatParams unary;
  DataCopyEnhancedParams matrix;
  matrix.blockMode = BlockMode::BLOCK_MODE_MATRIX;
  switch (variant.number) {
    case 0:
      Add(y, x, x, static_cast<uint64_t>(0), 1, binary);
      break;
    case 1:
      Add(y, x, x, static_cast<uint64_t>(65), 1, binary);
      break;
    case 2:
      Add(y, x, x, none, 1, binary);
      break;
    case 3:
      Add(y, x, x, wide, 1, binary);
      break;
    case 4:
      Add(y, x, x, -1);
      break;
    case 5:
      Adds(y, x, 1.0f, static_cast<uint64_t>(64), 1, UnaryRepeatParams(0, 1, 8, 8));
      break;
    case 6:
      SetVectorMask<float>(0, 0);
      Add<float, false>(y, x, x, MASK_PLACEHOLDER, 1, binary);
      break;
    case 7:
      Cast(h, x, RoundMode::CAST_RINT, 64);
      break;
    case 8:
      Cast(x, h, RoundMode::CAST_ODD, 64);
      break;
    case 9:
      Cast(h, x, RoundMode::CAST_TRUNC, 64);
      break;
    case 10:
      Add(c, c, c, 64);
      break;
    case 11:
      DataCopy(y, x, DataCopyParams(0, 1, 0, 0));
      break;
    case 12:
      DataCopy(y, x, DataCopyParams(4096, 1, 0, 0));
      break;
    case 13:
      DataCopy(y, x, DataCopyParams(1, 0, 0, 0));
      break;
    case 14:
      DataCopy(y, x, 9);
      break;
    case 15:
      DataCopy(a1, h[512], 0);
      break;
    case 16:
      DataCopy(a2, a1, 256);
      break;
    case 17:
      DataCopy(x, c, DataCopyParams(1, 1, 0, 0), DataCopyEnhancedParams());
      break;
    case 18:
      matrix.blockMode = BlockMode::BLOCK_MODE_SMALL_CHANNEL;
      DataCopy(x, c, DataCopyParams(1, 1, 0, 0), matrix);
      break;
    case 19:
      LoadData(h, a1, LoadData2DParams(0, 1, 1, 0, 0, false, 0));
      break;
    case 20:
      Mmad(c, a2, b2, MmadParams(4096, 16, 16, 0, false, true));
      break;
    case 21:
      Mmad(c, a1, b2, MmadParams(16, 16, 16, 0, false, true));
      break;
    case 22:
      Mmad(c, a2, b2, MmadParams(16, 16, 16, 0, true, true));
      break;
    case 23:
      Fill(h, InitConstValueParams<half>(1, static_cast<half>(0.0f)));
      break;
    case 24:
      Fill(a1, InitConstValueParams<half>(256, static_cast<half>(0.0f)));
      break;
    case 25:
      Compare(bytes, x, x, CMPMODE::LT, 100);
      break;
    case 26:
      Select(y, bytes, x, x, SELMODE::VSEL_TENSOR_SCALAR_MODE, 64);
      break;
    case 27:
      WholeReduceMax(y, x, 64, 1, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE);
      break;
    case 28:
      WholeReduceSum(y, x, 64, 256, 1, 1, 8);
      break;
    case 29:
      BlockReduceSum(y, x, 64, 1, 1, 65536, 8);
      break;
    case 30:
      Add(y[1], x, x, 64);
      break;
    case 31:
      Add(y, x[4], x, 64);
      break;
    case 32:
      SetFlag<HardEvent::V_MTE3>(8);
      break;
    case 33:
      ub.Get<float>(5000);
      break;
    case 34:
      ub.GetWithOffset<float>(8, 16);
      break;
    case 35:
      DataCopy(a1.ReinterpretCast<float>(), gm, Nd2NzParams(1, 16, 16, 0, 16, 16, 1, 0));
      DataCopy(y, gm, Nd2NzParams(1, 16, 16, 0, 16, 16, 1, 0));
      break;
    case 36:
      Mmad(c[8], a2, b2, MmadParams(16, 16, 16, 0, false, true));
      break;
    case 37:
      Duplicate(h, static_cast<half>(0.0f), static_cast<uint64_t>(129), 1, 1, 8);
      break;
    case 38:
      SetFmatrix(1, 16, matrix.isRelu ? nullptr : reinterpret_cast<const uint8_t*>("\0\0\0\0"),
                 FmatrixMode::FMATRIX_RIGHT);
      break;
    case 39: {
      LoadData3DParamsV2<half> window;
      window.l1H = 1;
      window.l1W = 16;
      window.channelSize = 16;
      window.mExtension = 48;
      window.kExtension = 16;
      LoadData(a2, a1, window);
      break;
    }
    case 40:
      Cast(h, x, RoundMode::CAST_NONE, static_cast<uint64_t>(65), 1, UnaryRepeatParams(1, 1, 4, 8));
      break;
    default:
      ASCENDC_ASSERT(variant.number == 0, { KERNEL_LOG(KERNEL_ERROR, "variant %u", variant.number); });
  }
  static_cast<void>(unary);
}
