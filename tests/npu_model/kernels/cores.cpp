// SPDX-License-Identifier: Apache-2.0
// Several blocks on one GM tensor, and the scalar data cache.
#include "mutant.h"

namespace {

constexpr uint32_t kElems = 256;  // of one block
constexpr uint32_t kMaxBlocks = 16;
constexpr uint32_t kSlotElems = 8;

struct Buffers {
  TPipe pipe;
  TBuf<TPosition::VECCALC> ub;
  LocalTensor<float> a, b;
  LocalTensor<int32_t> sync;

  __aicore__ inline Buffers() {
    pipe.InitBuffer(ub, 2 * kElems * sizeof(float) + kMaxBlocks * kSlotElems * sizeof(int32_t));
    a = ub.GetWithOffset<float>(kElems, 0);
    b = ub.GetWithOffset<float>(kElems, kElems * sizeof(float));
    sync = ub.GetWithOffset<int32_t>(kMaxBlocks * kSlotElems, 2 * kElems * sizeof(float));
  }
};

}  // namespace

// Each block writes its part of z, and after a SyncAll adds the part of the next block to it. flags: zeros, 32 bytes
// per block.
extern "C" __global__ __aicore__ void neighbours(GM_ADDR x, GM_ADDR z, GM_ADDR out, GM_ADDR flags, GM_ADDR workspace,
                                                 GM_ADDR tiling) {
  const uint32_t variant = VariantOf(tiling);
  const uint32_t me = GetBlockIdx();
  const uint32_t next = (me + 1) % GetBlockNum();
  Buffers m;
  GlobalTensor<float> gx, gz, gout;
  GlobalTensor<int32_t> gflags;
  gx.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x));
  gz.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(z));
  gout.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(out));
  gflags.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(flags));
  DataCopy(m.a, gx[me * kElems], kElems);
  Edge<HardEvent::MTE2_MTE3>(true);
  DataCopy(gz[me * kElems], m.a, kElems);
  if (variant == 2) DataCopy(gz[next * kElems], m.a, kElems);  // two blocks write one place
  if (variant == 5 && next != 0)
    DataCopy(gz[next * kElems - 8], m.a, kElems);  // a tail that runs into the neighbour's rows
  if (variant == 0 || (variant == 3 && me != 0)) SyncAll(gflags, m.sync);
  if (variant == 4) {
    IBSet(gflags, m.sync, static_cast<int32_t>(me), 0);
    IBWait(gflags, m.sync, static_cast<int32_t>(next), 0);
  }
  if (variant == 2 || variant == 5) return;
  DataCopy(m.b, gz[next * kElems], kElems);
  Edge<HardEvent::MTE2_V>(true);
  Add(m.b, m.b, m.a, kElems);
  Edge<HardEvent::V_MTE3>(true);
  DataCopy(gout[me * kElems], m.b, kElems);
}

// All blocks add into the same place.
extern "C" __global__ __aicore__ void reduce(GM_ADDR x, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t variant = VariantOf(tiling);
  Buffers m;
  GlobalTensor<float> gx, gz;
  gx.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x));
  gz.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(z));
  DataCopy(m.a, gx[GetBlockIdx() * kElems], kElems);
  Edge<HardEvent::MTE2_MTE3>(true);
  if (variant == 0) SetAtomicAdd<float>();
  DataCopy(gz, m.a, kElems);
  if (variant == 0) SetAtomicNone();
}

// Scalar reads and writes of GM beside DMA of the same core.
extern "C" __global__ __aicore__ void scalar_gm(GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t variant = VariantOf(tiling);
  Buffers m;
  GlobalTensor<float> gz;
  gz.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(z));
  const float first = gz.GetValue(0);
  Duplicate(m.a, first + 1.0f, kElems);
  Edge<HardEvent::V_MTE3>(true);
  Edge<HardEvent::S_MTE3>(true);
  DataCopy(gz, m.a, kElems);
  Edge<HardEvent::MTE3_S>(variant != 1);
  if (variant != 2) DataCacheCleanAndInvalid<float, CacheLine::ENTIRE_DATA_CACHE>(gz);
  gz.SetValue(kElems, gz.GetValue(0));  // variant 2: still the old line
  if (variant != 3) DataCacheCleanAndInvalid<float, CacheLine::SINGLE_CACHE_LINE>(gz[kElems]);
  Edge<HardEvent::S_MTE2>(variant != 4);
  DataCopy(m.b, gz[kElems], 16);  // variant 3: the store is still in the cache
}
