// SPDX-License-Identifier: Apache-2.0
// IBSet, IBWait and SyncAll: what they order, what they wait for, what they cost. Tiling: {variant, rounds}.
#include "mutant.h"

namespace {

constexpr uint32_t kElems = 64;  // of one tile
constexpr uint32_t kFlagElems = 8;
constexpr uint32_t kBlocks = 8;
constexpr uint32_t kDelayElems = 8192;

inline __aicore__ uint32_t RoundsOf(GM_ADDR tiling) { return reinterpret_cast<__gm__ uint32_t*>(tiling)[1]; }

struct Buffers {
  TPipe pipe;
  TBuf<TPosition::VECCALC> ub;
  LocalTensor<int32_t> flags;
  LocalTensor<float> tile, delay;

  __aicore__ inline Buffers() {
    constexpr uint32_t kFlagBytes = kBlocks * kFlagElems * sizeof(int32_t);
    constexpr uint32_t kTileBytes = kElems * sizeof(float);
    pipe.InitBuffer(ub, kFlagBytes + kTileBytes + kDelayElems * sizeof(float));
    flags = ub.GetWithOffset<int32_t>(kBlocks * kFlagElems, 0);
    tile = ub.GetWithOffset<float>(kElems, kFlagBytes);
    delay = ub.GetWithOffset<float>(kDelayElems, kFlagBytes + kTileBytes);
  }

  // 128 repeats and a barrier each.
  __aicore__ inline void Delay(uint32_t times) {
    for (uint32_t i = 0; i < times; ++i) {
      Duplicate(delay, 1.0f, kDelayElems);
      PipeBarrier<PIPE_V>();
    }
  }
};

}  // namespace

// Block 0 hands rounds of tiles to block 1 through a ring of slots in GM. Its IBSet of a round returns when block 1 has
// reached its IBWait of the round before, with all it did before that: three slots are enough for one flag. Variants:
// 0 so, 1 two slots, 2 three slots and a flag of its own for each round, 3 no synchronisation, 4 two slots and a
// second flag by which block 1 gives a slot back.
extern "C" __global__ __aicore__ void ring(GM_ADDR x, GM_ADDR slots, GM_ADDR out, GM_ADDR flags, GM_ADDR workspace,
                                           GM_ADDR tiling) {
  const uint32_t variant = VariantOf(tiling);
  const uint32_t rounds = RoundsOf(tiling);
  const uint32_t depth = variant == 1 || variant == 4 ? 2 : 3;
  Buffers m;
  auto gx = Gm<float>(x, rounds * kElems);
  auto gslots = Gm<float>(slots, depth * kElems);
  auto gout = Gm<float>(out, rounds * kElems);
  auto gflags = Gm<int32_t>(flags, (rounds + 2) * 2 * kFlagElems);
  const bool produces = GetBlockIdx() == 0;
  for (uint32_t i = 0; i < rounds; ++i) {
    const int32_t event = variant == 2 ? static_cast<int32_t>(i) : 0;
    if (variant == 4 && produces && i >= depth) IBWait(gflags, m.flags, 0, 1);
    if (!produces && variant != 3) IBWait(gflags, m.flags, 1, event);
    auto from = produces ? gx[i * kElems] : gslots[i % depth * kElems];
    auto to = produces ? gslots[i % depth * kElems] : gout[i * kElems];
    DataCopy(m.tile, from, kElems);
    Edge<HardEvent::MTE2_MTE3>(true);
    DataCopy(to, m.tile, kElems);
    Edge<HardEvent::MTE3_MTE2>(true);
    if (produces && variant != 3) IBSet(gflags, m.flags, 1, event);
    if (variant == 4 && !produces && i + depth < rounds) IBSet(gflags, m.flags, 0, 1);
  }
}

// Calls that never return, or should not be made. Variants: 0 IBWait of a flag that is never set; 1 a second IBSet
// while nobody consumes the first; 2 both blocks set twice before they wait; 3 block 1 in SyncAll while block 0 waits
// for its IBSet; 4 two blocks set one flag; 5 two blocks wait for one flag; 6 block 1 sets back on the flag it waited
// for; 7 block 0 overwrites a flag that is up; 8 blockIdx is no block; 9 the flag lies outside the workspace; 10 as 4,
// with a SyncAll between them; 11 block 1 puts its flag of SyncAll back to zero; 12 the blocks call SyncAll with flags
// of their own; 13 rounds of SyncAll, whose scratch V then writes.
extern "C" __global__ __aicore__ void stuck(GM_ADDR flags, GM_ADDR meeting, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t variant = VariantOf(tiling);
  const bool first = GetBlockIdx() == 0;
  const int32_t me = static_cast<int32_t>(GetBlockIdx());
  Buffers m;
  auto gflags = Gm<int32_t>(flags, 16 * kFlagElems);
  auto gmeeting = Gm<int32_t>(meeting, kBlocks * kFlagElems);
  switch (variant) {
    case 0:
      if (first) IBWait(gflags, m.flags, 1, 0);
      break;
    case 1:
      if (first) IBSet(gflags, m.flags, 1, 0);
      if (first) IBSet(gflags, m.flags, 1, 0);
      break;
    case 2:
      IBSet(gflags, m.flags, me, 0);
      IBSet(gflags, m.flags, me, 0);
      for (int i = 0; i < 2; ++i) IBWait(gflags, m.flags, 1 - me, 0);
      break;
    case 3:
      if (first) IBWait(gflags, m.flags, 1, 0);
      SyncAll(gmeeting, m.flags);
      if (!first) IBSet(gflags, m.flags, 1, 0);
      break;
    case 4:
    case 10:
      if (me == 0) IBSet(gflags, m.flags, 0, 0);
      if (me == 2) IBWait(gflags, m.flags, 0, 0);
      if (variant == 10) SyncAll(gmeeting, m.flags);
      if (me == 1) IBSet(gflags, m.flags, 0, 0);
      if (me == 2) IBWait(gflags, m.flags, 0, 0);
      break;
    case 5:
      if (me == 0) IBSet(gflags, m.flags, 0, 0);
      if (me == 0) IBSet(gflags, m.flags, 0, 0);
      if (me != 0) IBWait(gflags, m.flags, 0, 0);
      break;
    case 6:
      if (first) IBSet(gflags, m.flags, 0, 0);
      if (first) m.Delay(64);
      IBWait(gflags, m.flags, 0, 0);
      if (!first) IBSet(gflags, m.flags, 0, 0);
      break;
    case 7:
      if (first) {
        IBSet(gflags, m.flags, 0, 0);
        Duplicate(m.flags, int32_t{7}, kFlagElems);
        Edge<HardEvent::V_MTE3>(true);
        DataCopy(gflags, m.flags, kFlagElems);
        PipeBarrier<PIPE_ALL>();
      }
      SyncAll(gmeeting, m.flags);
      if (!first) IBWait(gflags, m.flags, 0, 0);
      break;
    case 8: IBSet(gflags, m.flags, static_cast<int32_t>(GetBlockNum()), 0); break;
    case 9: IBWait(gflags, m.flags, 1, 8); break;
    case 11:
      SyncAll(gmeeting, m.flags);
      if (!first) {
        Duplicate(m.flags, int32_t{0}, kBlocks * kFlagElems);
        Edge<HardEvent::V_MTE3>(true);
        DataCopy(gmeeting[kFlagElems], m.flags, kFlagElems);
        PipeBarrier<PIPE_ALL>();
      }
      SyncAll(gmeeting, m.flags);
      break;
    case 12: SyncAll(first ? gmeeting : gflags, m.flags); break;
    case 13:
      for (uint32_t i = 0; i < RoundsOf(tiling); ++i) SyncAll(gmeeting, m.flags);
      Duplicate(m.flags, int32_t{0}, kBlocks * kFlagElems);
      break;
    default: break;
  }
}

// Variants: 0 a block sets a flag and consumes it itself; 1 block 0 sets what block 1 waits for; 2 the same after block
// 0 was late by 64 delays; 3 block 1 was; 4 SyncAll; 5 SyncAll to which the last block is late; 6 as 0, with a vector
// instruction between the two.
extern "C" __global__ __aicore__ void cost(GM_ADDR flags, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t variant = VariantOf(tiling);
  const bool first = GetBlockIdx() == 0;
  Buffers m;
  auto gflags = Gm<int32_t>(flags, kBlocks * kFlagElems);
  if (variant == 2 && first) m.Delay(64);
  if (variant == 3 && !first) m.Delay(64);
  if (variant == 5 && GetBlockIdx() + 1 == GetBlockNum()) m.Delay(64);
  for (uint32_t i = 0; i < RoundsOf(tiling); ++i) {
    if (variant >= 4 && variant != 6) {
      SyncAll(gflags, m.flags);
      continue;
    }
    const bool alone = variant == 0 || variant == 6;
    if (alone || first) IBSet(gflags, m.flags, 0, 0);
    if (variant == 6) Duplicate(m.delay, 1.0f, kDelayElems);
    if (alone || !first) IBWait(gflags, m.flags, 0, 0);
  }
}
