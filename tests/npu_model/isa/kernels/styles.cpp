// SPDX-License-Identifier: Apache-2.0
// Whole small kernels in the styles people write: queues with double buffers, the queue-based matrix product, bound
// queues, static tensors, raw intrinsics, tensor operators, tiling keys, atomics, block synchronisation.
#include "kernel_operator.h"

using namespace AscendC;

constexpr int32_t BUFFER_NUM = 2;

struct AddTiling {
  uint32_t total;
  uint32_t tiles;
};

class KernelAdd {
 public:
  __aicore__ inline KernelAdd() {}
  __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t total, uint32_t tiles) {
    block_length_ = total / GetBlockNum();
    tile_num_ = tiles;
    tile_length_ = block_length_ / tiles / BUFFER_NUM;
    const uint32_t start = block_length_ * GetBlockIdx();
    x_gm_.SetGlobalBuffer((__gm__ half*)x + start, block_length_);
    y_gm_.SetGlobalBuffer((__gm__ half*)y + start, block_length_);
    z_gm_.SetGlobalBuffer((__gm__ half*)z + start, block_length_);
    pipe_.InitBuffer(in_x_, BUFFER_NUM, tile_length_ * sizeof(half));
    pipe_.InitBuffer(in_y_, BUFFER_NUM, tile_length_ * sizeof(half));
    pipe_.InitBuffer(out_z_, BUFFER_NUM, tile_length_ * sizeof(half));
  }
  __aicore__ inline void Process() {
    for (uint32_t i = 0; i < tile_num_ * BUFFER_NUM; i++) {
      CopyIn(i);
      Compute();
      CopyOut(i);
    }
  }

 private:
  __aicore__ inline void CopyIn(uint32_t progress) {
    LocalTensor<half> x = in_x_.AllocTensor<half>();
    LocalTensor<half> y = in_y_.AllocTensor<half>();
    DataCopy(x, x_gm_[progress * tile_length_], tile_length_);
    DataCopy(y, y_gm_[progress * tile_length_], tile_length_);
    in_x_.EnQue(x);
    in_y_.EnQue(y);
  }
  __aicore__ inline void Compute() {
    LocalTensor<half> x = in_x_.DeQue<half>();
    LocalTensor<half> y = in_y_.DeQue<half>();
    LocalTensor<half> z = out_z_.AllocTensor<half>();
    Add(z, x, y, tile_length_);
    out_z_.EnQue<half>(z);
    in_x_.FreeTensor(x);
    in_y_.FreeTensor(y);
  }
  __aicore__ inline void CopyOut(uint32_t progress) {
    LocalTensor<half> z = out_z_.DeQue<half>();
    DataCopy(z_gm_[progress * tile_length_], z, tile_length_);
    out_z_.FreeTensor(z);
  }

  TPipe pipe_;
  TQue<QuePosition::VECIN, BUFFER_NUM> in_x_, in_y_;
  TQue<QuePosition::VECOUT, BUFFER_NUM> out_z_;
  GlobalTensor<half> x_gm_, y_gm_, z_gm_;
  uint32_t block_length_ = 0, tile_num_ = 0, tile_length_ = 0;
};

extern "C" __global__ __aicore__ void add_custom(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AICORE);
  REGISTER_TILING_DEFAULT(AddTiling);
  GET_TILING_DATA(tiling_data, tiling);
  if (workspace == nullptr || GetUserWorkspace(workspace) == nullptr) return;
  KernelAdd op;
  if (TILING_KEY_IS(1)) {
    op.Init(x, y, z, tiling_data.total, tiling_data.tiles);
    op.Process();
  } else if (TILING_KEY_IS(2)) {
    op.Init(x, x, z, tiling_data.total, tiling_data.tiles);
    op.Process();
  }
}

// C = A B of one 32 x 32 x 32 tile through every queue position; A and B arrive as ND, C leaves as ND.
class KernelProduct {
 public:
  __aicore__ inline void Init(GM_ADDR a, GM_ADDR b, GM_ADDR c) {
    a_gm_.SetGlobalBuffer((__gm__ half*)a);
    b_gm_.SetGlobalBuffer((__gm__ half*)b);
    c_gm_.SetGlobalBuffer((__gm__ float*)c);
    pipe_.InitBuffer(a1_, 1, kSide * kSide * sizeof(half));
    pipe_.InitBuffer(a2_, 1, kSide * kSide * sizeof(half));
    pipe_.InitBuffer(b1_, 1, kSide * kSide * sizeof(half));
    pipe_.InitBuffer(b2_, 2, kSide * kSide * sizeof(half) / 2);
    pipe_.InitBuffer(co1_, 2, kSide * kSide * sizeof(float) / 2);
    pipe_.InitBuffer(co2_, 1, kSide * kSide * sizeof(float));
  }
  __aicore__ inline void Process() {
    CopyIn();
    SplitA();
    LocalTensor<half> b1 = b1_.DeQue<half>();
    LocalTensor<half> a2 = a2_.DeQue<half>();
    LocalTensor<float> c2 = co2_.AllocTensor<float>();
    // Two column halves, each 32 x 16.
    for (int part = 0; part < 2; ++part) {
      SplitB(b1, part);
      Compute(a2);
      Aggregate(c2, part);
    }
    b1_.FreeTensor(b1);
    a2_.FreeTensor(a2);
    co2_.EnQue<float>(c2);
    CopyOut();
  }

 private:
  static constexpr int kSide = 32;
  __aicore__ inline void CopyNd2Nz(const LocalTensor<half>& dst, const GlobalTensor<half>& src) {
    for (int strip = 0; strip < kSide / 16; ++strip) {
      DataCopyParams params;
      params.blockCount = kSide;
      params.blockLen = 1;
      params.srcStride = kSide / 16 - 1;
      params.dstStride = 0;
      DataCopy(dst[strip * 16 * kSide], src[strip * 16], params);
    }
  }
  __aicore__ inline void CopyIn() {
    LocalTensor<half> a1 = a1_.AllocTensor<half>();
    LocalTensor<half> b1 = b1_.AllocTensor<half>();
    CopyNd2Nz(a1, a_gm_);
    CopyNd2Nz(b1, b_gm_);
    a1_.EnQue(a1);
    b1_.EnQue(b1);
  }
  __aicore__ inline void SplitA() {
    LocalTensor<half> a1 = a1_.DeQue<half>();
    LocalTensor<half> a2 = a2_.AllocTensor<half>();
    for (int i = 0; i < kSide / 16; ++i) {
      LoadData2dParams params;
      params.repeatTimes = kSide / 16;
      params.srcStride = kSide / 16;
      params.ifTranspose = false;
      LoadData(a2[i * 16 * kSide], a1[i * 256], params);
    }
    a2_.EnQue<half>(a2);
    a1_.FreeTensor(a1);
  }
  __aicore__ inline void SplitB(const LocalTensor<half>& b1, int part) {
    LocalTensor<half> b2 = b2_.AllocTensor<half>();
    LoadData2dParams params;
    params.repeatTimes = kSide / 16;
    params.srcStride = 1;
    params.ifTranspose = true;
    LoadData(b2, b1[part * 16 * kSide], params);
    b2_.EnQue<half>(b2);
  }
  __aicore__ inline void Compute(const LocalTensor<half>& a2) {
    LocalTensor<half> b2 = b2_.DeQue<half>();
    LocalTensor<float> c1 = co1_.AllocTensor<float>();
    MmadParams params;
    params.m = kSide;
    params.n = 16;
    params.k = kSide;
    Mmad(c1, a2, b2, params);
    co1_.EnQue<float>(c1);
    b2_.FreeTensor(b2);
  }
  __aicore__ inline void Aggregate(const LocalTensor<float>& c2, int part) {
    LocalTensor<float> c1 = co1_.DeQue<float>();
    DataCopyParams params;
    params.blockCount = 1;
    params.blockLen = 2;
    DataCopyEnhancedParams enhanced;
    enhanced.blockMode = BlockMode::BLOCK_MODE_MATRIX;
    DataCopy(c2[part * 16 * kSide], c1, params, enhanced);
    co1_.FreeTensor(c1);
  }
  __aicore__ inline void CopyOut() {
    LocalTensor<float> c2 = co2_.DeQue<float>();
    for (int strip = 0; strip < kSide / 16; ++strip) {
      DataCopy(c_gm_[strip * 16], c2[strip * 16 * kSide], {kSide, 2, 0, uint16_t((kSide / 16 - 1) * 2)});
    }
    co2_.FreeTensor(c2);
  }

  TPipe pipe_;
  TQue<QuePosition::A1, 1> a1_;
  TQue<QuePosition::A2, 1> a2_;
  TQue<QuePosition::B1, 1> b1_;
  TQue<QuePosition::B2, 2> b2_;
  TQue<QuePosition::CO1, 2> co1_;
  TQue<QuePosition::CO2, 1> co2_;
  GlobalTensor<half> a_gm_, b_gm_;
  GlobalTensor<float> c_gm_;
};

extern "C" __global__ __aicore__ void product_custom(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR, GM_ADDR) {
  KernelProduct op;
  op.Init(a, b, c);
  op.Process();
}

// GM -> UB -> GM in one bound queue, no vector instruction between.
extern "C" __global__ __aicore__ void bound_copy(GM_ADDR x, GM_ADDR z, GM_ADDR, GM_ADDR) {
  TPipe pipe;
  TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
  GlobalTensor<float> in, out;
  in.SetGlobalBuffer((__gm__ float*)x);
  out.SetGlobalBuffer((__gm__ float*)z);
  pipe.InitBuffer(queue, 2, 1024);
  for (int i = 0; i < 4; ++i) {
    auto t = queue.AllocTensor<float>();
    DataCopy(t, in[i * 256], 256);
    queue.EnQue(t);
    t = queue.DeQue<float>();
    DataCopy(out[i * 256], t, 256);
    queue.FreeTensor(t);
  }
}

// TQueSync, event ids by TPipe, a TBuf beside a queue of depth 0 semantics; raw intrinsics.
extern "C" __global__ __aicore__ void raw_sync(GM_ADDR x, GM_ADDR z, GM_ADDR, GM_ADDR) {
  TPipe pipe;
  TBuf<> buffer;
  pipe.InitBuffer(buffer, 2048);
  auto t = buffer.Get<float>();
  GlobalTensor<float> in, out;
  in.SetGlobalBuffer((__gm__ float*)x);
  out.SetGlobalBuffer((__gm__ float*)z);
  DataCopy(t, in, 256);
  TQueSync<PIPE_MTE2, PIPE_V> loaded;
  loaded.SetFlag(0);
  loaded.WaitFlag(0);
  Muls(t, t, 3.0f, 256);
  pipe_barrier(PIPE_V);
  Adds(t, t, 1.0f, 256);
  const TEventID id = GetTPipePtr()->AllocEventID<HardEvent::V_MTE3>();
  SetFlag<HardEvent::V_MTE3>(id);
  WaitFlag<HardEvent::V_MTE3>(id);
  GetTPipePtr()->ReleaseEventID<HardEvent::V_MTE3>(id);
  DataCopy(out, t, 256);
  set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
  wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
  event_t fetched = static_cast<event_t>(GetTPipePtr()->FetchEventID(HardEvent::V_S));
  Duplicate(t, 7.0f, 8);
  SetFlag<HardEvent::V_S>(fetched);
  WaitFlag<HardEvent::V_S>(fetched);
  const float seven = t.GetValue(0);
  PRINTF("value %f block %d\n", seven, static_cast<int>(GetBlockIdx()));
  printf("half %f\n", static_cast<half>(0.5f));
  DumpTensor(t, 3, 2);
}

// Static tensors: no TPipe.
extern "C" __global__ __aicore__ void static_tensors(GM_ADDR x, GM_ADDR z, GM_ADDR, GM_ADDR) {
  InitSocState();
  LocalMemAllocator<Hardware::UB> ub;
  auto a = ub.Alloc<TPosition::VECIN, float>(256);
  auto b = ub.Alloc<TPosition::VECOUT, float, 256>();
  GlobalTensor<float> in, out;
  in.SetGlobalBuffer((__gm__ float*)x);
  out.SetGlobalBuffer((__gm__ float*)z);
  DataCopy(a, in, 256);
  SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
  Add(b, a, a, 256);
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  DataCopy(out, b, 256);
  PipeBarrier<PIPE_ALL>();
}

// a op b by the tensor operators, results behind each other; a mask by a comparison.
extern "C" __global__ __aicore__ void operators(GM_ADDR x, GM_ADDR z, GM_ADDR, GM_ADDR) {
  TPipe pipe;
  TBuf<> buffer;
  pipe.InitBuffer(buffer, 16 * 1024);
  GlobalTensor<float> in, out;
  in.SetGlobalBuffer((__gm__ float*)x);
  out.SetGlobalBuffer((__gm__ float*)z);
  auto a = buffer.GetWithOffset<float>(64, 0);
  auto b = buffer.GetWithOffset<float>(64, 256);
  LocalTensor<float> r[4];
  for (int i = 0; i < 4; ++i) r[i] = buffer.GetWithOffset<float>(64, 512 + 256 * i);
  auto bits = buffer.GetWithOffset<uint8_t>(32, 1536);
  DataCopy(a, in, 64);
  DataCopy(b, in[64], 64);
  SetFlag<HardEvent::MTE2_V>(0);
  WaitFlag<HardEvent::MTE2_V>(0);
  Duplicate(bits.ReinterpretCast<uint16_t>(), static_cast<uint16_t>(0), 16);
  PipeBarrier<PIPE_V>();
  r[0] = a + b;
  r[1] = a - b;
  r[2] = a * b;
  r[3] = a / b;
  bits = a < b;
  SetFlag<HardEvent::V_MTE3>(0);
  WaitFlag<HardEvent::V_MTE3>(0);
  for (int i = 0; i < 4; ++i) DataCopy(out[64 * i], r[i], 64);
  DataCopy(out[256], bits.ReinterpretCast<float>(), 8);
}

// Every block writes its number, all meet, every block sums what all wrote.
extern "C" __global__ __aicore__ void meet(GM_ADDR flags, GM_ADDR slots, GM_ADDR sums, GM_ADDR, GM_ADDR) {
  TPipe pipe;
  TBuf<> buffer;
  pipe.InitBuffer(buffer, 16 * 1024);
  auto t = buffer.GetWithOffset<float>(8 * GetBlockNum(), 0);
  auto scratch = buffer.GetWithOffset<int32_t>(8 * GetBlockNum(), 8192);
  GlobalTensor<int32_t> gm_flags;
  GlobalTensor<float> gm_slots, gm_sums;
  gm_flags.SetGlobalBuffer((__gm__ int32_t*)flags);
  gm_slots.SetGlobalBuffer((__gm__ float*)slots);
  gm_sums.SetGlobalBuffer((__gm__ float*)sums);
  for (int round = 0; round < 2; ++round) {
    Duplicate(t, static_cast<float>(GetBlockIdx() + 1 + 100 * round), 8);
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(gm_slots[8 * GetBlockIdx()], t, 8);
    SyncAll(gm_flags, scratch);
    DataCopy(t, gm_slots, 8 * GetBlockNum());
    SetFlag<HardEvent::MTE2_V>(0);
    WaitFlag<HardEvent::MTE2_V>(0);
    for (int64_t i = 1; i < GetBlockNum(); ++i) {
      Add(t, t, t[8 * i], 8);
      PipeBarrier<PIPE_V>();
    }
    SetFlag<HardEvent::V_MTE3>(1);
    WaitFlag<HardEvent::V_MTE3>(1);
    DataCopy(gm_sums[(round * GetBlockNum() + GetBlockIdx()) * 8], t, 8);
    SyncAll(gm_flags, scratch);
  }
}

// Block 0 hands a tile to block 1.
extern "C" __global__ __aicore__ void hand_over(GM_ADDR flags, GM_ADDR tile, GM_ADDR out, GM_ADDR, GM_ADDR) {
  TPipe pipe;
  TBuf<> buffer;
  pipe.InitBuffer(buffer, 4096);
  auto t = buffer.GetWithOffset<float>(64, 0);
  auto scratch = buffer.GetWithOffset<int32_t>(8, 2048);
  GlobalTensor<int32_t> gm_flags;
  GlobalTensor<float> gm_tile, gm_out;
  gm_flags.SetGlobalBuffer((__gm__ int32_t*)flags);
  gm_tile.SetGlobalBuffer((__gm__ float*)tile);
  gm_out.SetGlobalBuffer((__gm__ float*)out);
  if (GetBlockIdx() == 0) {
    Duplicate(t, 5.0f, 64);
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(gm_tile, t, 64);
    IBSet(gm_flags, scratch, 0, 0);
  } else {
    IBWait(gm_flags, scratch, 0, 0);
    DataCopy(t, gm_tile, 64);
    SetFlag<HardEvent::MTE2_MTE3>(0);
    WaitFlag<HardEvent::MTE2_MTE3>(0);
    DataCopy(gm_out, t, 64);
  }
}

// The scalar `half` behaves as the device's built-in type.
extern "C" __global__ __aicore__ void half_scalar(GM_ADDR z, GM_ADDR, GM_ADDR) {
  GlobalTensor<half> out;
  out.SetGlobalBuffer((__gm__ half*)z);
  half a = 1.5, b = static_cast<half>(0.1f);
  half c = a * b + 2;
  c += a;
  const float f = c;
  half d = static_cast<half>(f / 3);
  d -= 1;
  out.SetValue(0, a);
  out.SetValue(1, b);
  out.SetValue(2, c);
  out.SetValue(3, d);
  out.SetValue(4, a > b ? half(1) : half(0));
  out.SetValue(5, static_cast<half>(static_cast<int32_t>(a)));
  DataCacheCleanAndInvalid<half, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(out);
}
