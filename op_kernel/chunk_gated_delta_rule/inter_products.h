// SPDX-License-Identifier: Apache-2.0
// The Cube jobs of the inter-chunk lane.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_INTER_PRODUCTS_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_INTER_PRODUCTS_H_

#include "../common/block/cube_slots.h"
#include "../common/tile/memory.h"
#include "../common/tile/stage.h"
#include "chunk.h"
#include "compensation.h"
#include "events.h"
#include "lower.h"
#include "places.h"
#include "slices.h"
#include "state_layout.h"

namespace chunk_gdr {

// Each job is issued a step or more after what it waits for was sent: MTE1 is in order, and one that waits holds up all behind it.
template <typename Table>
class InterProducts {
 public:
  // Of the chunk, before e^G Q S^T meets its factors.
  __aicore__ inline void SetPowers(const Powers& powers) { powers_ = powers; }

  // What is in L0C less the hi that was sent, if its lo is wanted.
  __aicore__ inline void SubtractResidual(uint32_t t) { SubtractRows<true>(t, kResidual); }
  __aicore__ inline void SubtractShifted(uint32_t t) { SubtractRows<Compensated::kShifted>(t, kResidual); }
  __aicore__ inline void SubtractVNew(uint32_t t) { SubtractRows<Compensated::kVNew>(t, kVNew); }

  // The next chunk's products with its S, and the lo of this one's is awaited; no other job may come between those of the slices. Where
  // v-heads take turns, the states are two, and either chunk may be the first or the last of its own.
  __aicore__ inline void StateProducts(uint32_t t, const Chunk& next) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kState);
    const bool sent = !chunk_.last;
    if (next.HasTokens() && !next.first) {
      KeyProduct(t, next, sent);
      if (IsLast(t)) {
        QueryProducts(next);
      }
    } else if (sent) {
      Await<HardEvent::MTE3_MTE1>(t);
    }
  }

  // Y = s (V + hi + lo), hi and lo of -e^G K S^T; out += P (V + hi + lo), without the product of both lo.
  __aicore__ inline void ValueProducts(uint32_t t) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kResidual);
    const uint32_t n = slices_.strips[t];
    const uint32_t piece = kSide * n;
    const auto residual = RowOf<kRowsL1, half>(chip_, t);
    const auto y = RowOf<kRowsC, float>(chip_, t);
    const auto out = RowOf<kOutC, float>(chip_, t);
    const int32_t slot = slots_.Begin();
    LoadAWhole(slots_.A(slot), ShiftOf(chip_, chunk_), kMatrix);
    LoadB(slots_.B(slot), 0, {ValuesOf(chip_, chunk_), kSide, 0, slices_.Begin(t) / kFractal}, kSide, n);
    Await<HardEvent::MTE3_MTE1>(t);
    LoadB(slots_.B(slot, piece), 0, {residual, kSide, 0, 0}, kSide, n);
    LoadB(slots_.B(slot, 2 * piece), 0, {residual[slices_.ValueElems(t)], kSide, 0, 0}, kSide, n);
    slots_.Loaded(slot);
    Multiply(y, slots_.A(slot), slots_.B(slot), kSide, n, kSide, Onto::kNothing);
    Multiply(y, slots_.A(slot), slots_.B(slot, piece), kSide, n, kSide, Onto::kLast);
    Multiply(y, slots_.A(slot), slots_.B(slot, 2 * piece), kSide, n, kSide, Onto::kLast);
    Signal<HardEvent::M_V>(t);
    const auto p = slots_.A(slot, kMatrix);
    LoadAWhole(p, Row<kOutWeightL1, half>(chip_), 2 * kMatrix);
    slots_.LoadedRest(slot);
    MultiplyHiLo<Compensated::kOutWeight, false>(out, p, slots_.B(slot), kSide, n, kSide, Onto::kSettled);
    MultiplyHiLo<Compensated::kOutWeight, true>(out, p, slots_.B(slot, piece), kSide, n, kSide, Onto::kLast);
    if constexpr (kSignalsOut) {
      Signal<HardEvent::M_V>(kOutReady + t);
    }
    slots_.Done(slot);
  }

  // F V' = T Y, without the product of both lo.
  __aicore__ inline void VNewProduct(uint32_t t) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kResidual);
    const uint32_t n = slices_.strips[t];
    const uint32_t piece = kSide * n;
    const auto y = RowOf<kRowsL1, half>(chip_, t);
    const int32_t slot = slots_.Begin();
    LoadAWhole(slots_.A(slot), TOf(chip_, chunk_, 0), 2 * kMatrix);
    if constexpr (!Compensated::kShifted) {
      Await<HardEvent::MTE3_MTE1>(t);
    }
    LoadB(slots_.B(slot), 0, {y, kSide, 0, 0}, kSide, n);
    if constexpr (Compensated::kShifted) {
      Await<HardEvent::MTE3_MTE1>(t);
      LoadB(slots_.B(slot, piece), 0, {y[slices_.ValueElems(t)], kSide, 0, 0}, kSide, n);
    }
    slots_.Loaded(slot);
    MultiplyHiLo<Compensated::kInverse, Compensated::kShifted>(RowOf<kRowsC, float>(chip_, t), slots_.A(slot), slots_.B(slot), kSide, n,
                                                               kSide);
    Signal<HardEvent::M_V>(t);
    slots_.Done(slot);
  }

  // S += (F V')^T K, if S is in L0C; otherwise the product itself.
  __aicore__ inline void StateProduct(uint32_t t) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kVNew);
    const uint32_t n = slices_.strips[t];
    const uint32_t piece = kSide * n;
    const auto v_new = RowOf<kRowsL1, half>(chip_, t);
    const int32_t slot = slots_.Begin();
    LoadB(slots_.B(slot), 0, {KeysQueriesOf(chip_, chunk_), 2 * kSide, 0, 0}, kSide, slices_.k);
    if constexpr (!Compensated::kVNew) {
      Await<HardEvent::MTE3_MTE1>(t);
    }
    LoadAWholeTransposed(slots_.A(slot), v_new, piece);
    if constexpr (Compensated::kVNew) {
      Await<HardEvent::MTE3_MTE1>(t);
      LoadAWholeTransposed(slots_.A(slot, piece), v_new[slices_.ValueElems(t)], piece);
    }
    slots_.Loaded(slot);
    MultiplyHiLo<Compensated::kVNew, false>(StateOf<kStateC, float>(chip_, t, slices_.state), slots_.A(slot), slots_.B(slot), n, slices_.k,
                                            kSide, kStateInL0C ? Onto::kSettled : Onto::kNothing);
    Signal<HardEvent::M_V>(t);
    slots_.Done(slot);
  }

 protected:
  static constexpr uint32_t kSide = kBlocksPerSide;
  static constexpr uint32_t kMatrix = kSide * kSide;
  static constexpr bool kStateInL0C = Table::kLayout == StateLayout::kNz;
  // Otherwise V has fetched the lo of Y, a later product, when it fetches out.
  static constexpr bool kSignalsOut = !Compensated::kShifted;

  __aicore__ inline InterProducts(OnChip<Table>& chip, CubeSlots& slots, const ChunkGatedDeltaRuleTiling& tiling)
      : chunk_parallel_(IsChunkParallel<Table>(tiling)), chip_(chip), slots_(slots) {}

  // The rows in L0C less the hi that was sent, exact in fp32; if their lo is wanted.
  template <bool kLo>
  __aicore__ inline void SubtractRows(uint32_t t, Stage of) {
    if (!kLo || !Active(t)) {
      return;
    }
    const StageScope stage(of);
    AddBlocks(slots_, RowOf<kRowsC, float>(chip_, t), RowOf<kRowsL1, half>(chip_, t), Row<kMinusOneL1, half>(chip_), RowFractals(t), t);
    Signal<HardEvent::M_V>(t);
  }

  // K S^T; the operands stay for QueryProducts. `sent`: halves are on their way, not necessarily these.
  __aicore__ inline void KeyProduct(uint32_t t, const Chunk& next, bool sent) {
    const uint32_t n = slices_.strips[t];
    const uint32_t lo = slices_.StateFractals(t);
    const int32_t slot = slots_.Begin();
    slot_of_[t] = slot;
    if (t == 0) {  // for both slices
      LoadKeysQueries(slots_.A(slot), next);
    }
    if constexpr (!kStateInL0C || !Compensated::kState) {  // otherwise hi was awaited to be subtracted
      if (sent) {
        Await<HardEvent::MTE3_MTE1>(t);
      }
    }
    LoadBWholeTransposed(slots_.B(slot), StateOf<kStateHiL1, half>(chip_, t, next.state), lo);
    const auto rows = RowOf<kRowsC, float>(chip_, t);
    if constexpr (Compensated::kState && Table::kChunkParallel) {
      if (chunk_parallel_) {  // lo is still on its way
        slots_.Loaded(slot);
        Multiply(rows, slots_.A(slot), slots_.B(slot), kSide, n, slices_.k, Onto::kNothing);
        Await<HardEvent::MTE3_MTE1>(t);
        LoadBWholeTransposed(slots_.B(slot, lo), StateOf<kStateLoL1, half>(chip_, t, next.state), lo);
        slots_.LoadedRest(slot);
        Multiply(rows, slots_.A(slot), slots_.B(slot, lo), kSide, n, slices_.k, Onto::kLast);
        Signal<HardEvent::M_V>(t);
        return;
      }
    }
    if constexpr (Compensated::kState) {
      if constexpr (kStateInL0C) {
        if (sent) {
          Await<HardEvent::MTE3_MTE1>(t);
        }
      }
      LoadBWholeTransposed(slots_.B(slot, lo), StateOf<kStateLoL1, half>(chip_, t, next.state), lo);
    }
    slots_.Loaded(slot);
    MultiplyHiLo<false, Compensated::kState>(rows, slots_.A(slot_of_[0]), slots_.B(slot), kSide, n, slices_.k);
    Signal<HardEvent::M_V>(t);
  }

  // Q S^T of both slices; and S, if the Cube took it apart, put together again.
  __aicore__ inline void QueryProducts(const Chunk& next) {
    const uint32_t k = slices_.k;
    const auto queries = slots_.A(slot_of_[0], kSide * k);
    for (uint32_t t = 0; t < kSlices && slices_.strips[t] != 0; ++t) {
      const int32_t slot = slot_of_[t];
      const uint32_t n = slices_.strips[t];
      MultiplyHiLo<false, Compensated::kState>(RowOf<kOutC, float>(chip_, t), queries, slots_.B(slot), kSide, n, k);
    }
    for (uint32_t t = 0; t < kSlices && slices_.strips[t] != 0; ++t) {
      slots_.Done(slot_of_[t]);
    }
    for (uint32_t t = 0; t < kSlices && slices_.strips[t] != 0; ++t) {
      if constexpr (kStateInL0C && Compensated::kState) {
        AddBlocks(slots_, StateOf<kStateC, float>(chip_, t, next.state), StateOf<kStateHiL1, half>(chip_, t, next.state),
                  Row<kOneL1, half>(chip_), slices_.StateFractals(t), kArrived);
      }
      Signal<HardEvent::M_V>(kOutReady + t);
    }
  }

  __aicore__ inline void OpenChunk(const Chunk& chunk) {
    chunk_ = chunk;
    slices_.state = chunk.state;
    if (chunk_parallel_) {
      slices_.TakeWhole(chunk_.VStrips());
    } else {
      slices_.Cut(chunk_.VStrips());
    }
    for (uint32_t t = 0; t < kSlices; ++t) {
      state_ready_[t] = false;
    }
  }

  // Q S^T is in L0C, and S, if it is there, whole.
  __aicore__ inline void AwaitState(uint32_t t) {
    if (!state_ready_[t]) {
      Await<HardEvent::M_V>(kOutReady + t);
      state_ready_[t] = true;
    }
  }

  // [K; Q] of the next chunk; chunk-parallel, its rows as they are in GM.
  __aicore__ inline void LoadKeysQueries(const LocalTensor<half>& l0a, const Chunk& next) {
    if constexpr (Table::kChunkParallel) {
      if (chunk_parallel_) {
        LoadARows(l0a, TurnRowsOf(chip_, next), 2 * kChunk, slices_.k);
        return;
      }
    }
    LoadA(l0a, 0, slices_.k, {KeysQueriesOf(chip_, next), 2 * kSide, 0, 0}, 2 * kSide, slices_.k);
  }

  __aicore__ inline bool IsLast(uint32_t t) const { return t + 1 == kSlices || slices_.strips[t + 1] == 0; }
  __aicore__ inline bool Active(uint32_t t) const { return chunk_.HasTokens() && slices_.strips[t] != 0; }
  __aicore__ inline uint32_t RowFractals(uint32_t t) const { return kSide * slices_.strips[t]; }

  const bool chunk_parallel_;  // chunk-parallel
  OnChip<Table>& chip_;
  CubeSlots& slots_;
  Slices slices_;
  Chunk chunk_;
  Powers powers_;

 private:
  int32_t slot_of_[kSlices] = {};
  bool state_ready_[kSlices] = {};
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_INTER_PRODUCTS_H_
