// SPDX-License-Identifier: Apache-2.0
// z = x + y on all cores, two tiles in flight: TQue hands the buffers from queue to queue and sets the flags.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

constexpr uint32_t kTile = 2048;  // elements
constexpr uint32_t kDepth = 2;
constexpr uint32_t kBlockElems = 8;  // 32 bytes, the granularity of DataCopy

class VectorAdd {
 public:
  __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t count) {
    // Whole 32-byte blocks for every core; the last cores may get less, or nothing.
    const uint32_t blocks = count / kBlockElems;
    const uint32_t share = (blocks + GetBlockNum() - 1) / GetBlockNum() * kBlockElems;
    const uint32_t begin = share * GetBlockIdx() < count ? share * GetBlockIdx() : count;
    count_ = count - begin < share ? count - begin : share;
    x_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x) + begin, count_);
    y_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y) + begin, count_);
    z_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(z) + begin, count_);
    pipe_.InitBuffer(in_x_, kDepth, kTile * sizeof(float));
    pipe_.InitBuffer(in_y_, kDepth, kTile * sizeof(float));
    pipe_.InitBuffer(out_z_, kDepth, kTile * sizeof(float));
  }

  __aicore__ inline void Process() {
    for (uint32_t at = 0; at < count_; at += kTile) {
      const uint32_t count = count_ - at < kTile ? count_ - at : kTile;
      CopyIn(at, count);
      Compute(count);
      CopyOut(at, count);
    }
  }

 private:
  __aicore__ inline void CopyIn(uint32_t at, uint32_t count) {
    LocalTensor<float> x = in_x_.AllocTensor<float>();
    LocalTensor<float> y = in_y_.AllocTensor<float>();
    DataCopy(x, x_[at], count);
    DataCopy(y, y_[at], count);
    in_x_.EnQue(x);
    in_y_.EnQue(y);
  }

  __aicore__ inline void Compute(uint32_t count) {
    LocalTensor<float> x = in_x_.DeQue<float>();
    LocalTensor<float> y = in_y_.DeQue<float>();
    LocalTensor<float> z = out_z_.AllocTensor<float>();
    Add(z, x, y, count);
    out_z_.EnQue(z);
    in_x_.FreeTensor(x);
    in_y_.FreeTensor(y);
  }

  __aicore__ inline void CopyOut(uint32_t at, uint32_t count) {
    LocalTensor<float> z = out_z_.DeQue<float>();
    DataCopy(z_[at], z, count);
    out_z_.FreeTensor(z);
  }

  TPipe pipe_;
  TQue<QuePosition::VECIN, kDepth> in_x_;
  TQue<QuePosition::VECIN, kDepth> in_y_;
  TQue<QuePosition::VECOUT, kDepth> out_z_;
  GlobalTensor<float> x_;
  GlobalTensor<float> y_;
  GlobalTensor<float> z_;
  uint32_t count_ = 0;
};

}  // namespace

// tiling: uint32_t, the number of elements, a multiple of 8.
extern "C" __global__ __aicore__ void vector_add(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling) {
  VectorAdd op;
  op.Init(x, y, z, *reinterpret_cast<__gm__ uint32_t*>(tiling));
  op.Process();
}
