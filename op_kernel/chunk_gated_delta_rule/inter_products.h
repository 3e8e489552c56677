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

  // The next chunk's products with S; no other job may come between those of the slices.
  __aicore__ inline void StateProducts(uint32_t t, const Chunk& next) {
    if (!Active(t) || chunk_.last) {
      return;
    }
    const StageScope stage(kState);
    KeyProduct(t, next);
    if (IsLast(t)) {
      QueryProducts();
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
    const auto residual = Of<kRowsL1, half>(t);
    const auto y = Of<kRowsC, float>(t);
    const auto out = Of<kOutC, float>(t);
    const int32_t slot = slots_.Begin();
    if constexpr (kShares) {
      if (from_slots_ && t == 0) {
        Await<HardEvent::MTE2_MTE1>(kSlotArrived + chunk_.Turn());
      }
    }
    LoadAWhole(slots_.A(slot), Shift(), kMatrix);
    LoadValues(slots_.B(slot), t);
    Await<HardEvent::MTE3_MTE1>(t);
    LoadB(slots_.B(slot, piece), 0, {residual, kSide, 0, 0}, kSide, n);
    LoadB(slots_.B(slot, 2 * piece), 0, {residual[slices_.ValueElems(t)], kSide, 0, 0}, kSide, n);
    slots_.Loaded(slot);
    Multiply(y, slots_.A(slot), slots_.B(slot), kSide, n, kSide, Onto::kNothing);
    Multiply(y, slots_.A(slot), slots_.B(slot, piece), kSide, n, kSide, Onto::kLast);
    Multiply(y, slots_.A(slot), slots_.B(slot, 2 * piece), kSide, n, kSide, Onto::kLast);
    Signal<HardEvent::M_V>(t);
    const auto p = slots_.A(slot, kMatrix);
    LoadAWhole(p, OutWeight(), 2 * kMatrix);
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
    const auto y = Of<kRowsL1, half>(t);
    const int32_t slot = slots_.Begin();
    LoadAWhole(slots_.A(slot), T(), 2 * kMatrix);
    if constexpr (!Compensated::kShifted) {
      Await<HardEvent::MTE3_MTE1>(t);
    }
    LoadB(slots_.B(slot), 0, {y, kSide, 0, 0}, kSide, n);
    if constexpr (Compensated::kShifted) {
      Await<HardEvent::MTE3_MTE1>(t);
      LoadB(slots_.B(slot, piece), 0, {y[slices_.ValueElems(t)], kSide, 0, 0}, kSide, n);
    }
    slots_.Loaded(slot);
    if constexpr (kShares) {
      if (from_slots_ && IsLast(t)) {
        Signal<HardEvent::MTE1_MTE2>(kSlotRead + chunk_.Turn());
      }
    }
    MultiplyHiLo<Compensated::kInverse, Compensated::kShifted>(Of<kRowsC, float>(t), slots_.A(slot), slots_.B(slot), kSide, n, kSide);
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
    const auto v_new = Of<kRowsL1, half>(t);
    const int32_t slot = slots_.Begin();
    LoadKeys(slots_.B(slot));
    if constexpr (!Compensated::kVNew) {
      Await<HardEvent::MTE3_MTE1>(t);
    }
    LoadAWholeTransposed(slots_.A(slot), v_new, piece);
    if constexpr (Compensated::kVNew) {
      Await<HardEvent::MTE3_MTE1>(t);
      LoadAWholeTransposed(slots_.A(slot, piece), v_new[slices_.ValueElems(t)], piece);
    }
    slots_.Loaded(slot);
    MultiplyHiLo<Compensated::kVNew, false>(Of<kStateC, float>(t), slots_.A(slot), slots_.B(slot), n, slices_.k, kSide,
                                            kStateInL0C ? Onto::kSettled : Onto::kNothing);
    Signal<HardEvent::M_V>(t);
    slots_.Done(slot);
  }

 protected:
  static constexpr uint32_t kSide = kBlocksPerSide;
  static constexpr uint32_t kMatrix = kSide * kSide;
  static constexpr bool kStateInL0C = Table::kLayout == StateLayout::kNz;
  static constexpr bool kShares = RunsChunkParallel(Table::kLayout);
  // Otherwise V has fetched the lo of Y, a later product, when it fetches out.
  static constexpr bool kSignalsOut = !Compensated::kShifted;

  __aicore__ inline InterProducts(OnChip<Table>& chip, CubeSlots& slots, const ChunkGatedDeltaRuleTiling& tiling)
      : from_slots_(IsChunkParallel<Table>(tiling)), chip_(chip), slots_(slots) {}

  // The rows in L0C less the hi that was sent, exact in fp32; if their lo is wanted.
  template <bool kLo>
  __aicore__ inline void SubtractRows(uint32_t t, Stage of) {
    if (!kLo || !Active(t)) {
      return;
    }
    const StageScope stage(of);
    AddBlocks(slots_, Of<kRowsC, float>(t), Of<kRowsL1, half>(t), Get<kMinusOneL1, half>(), RowFractals(t), t);
    Signal<HardEvent::M_V>(t);
  }

  // K S^T; the operands stay for QueryProducts.
  __aicore__ inline void KeyProduct(uint32_t t, const Chunk& next) {
    const uint32_t n = slices_.strips[t];
    const uint32_t lo = slices_.StateFractals(t);
    const int32_t slot = slots_.Begin();
    slot_of_[t] = slot;
    if (t == 0) {  // for both slices
      LoadKeysQueries(slots_.A(slot), next);
    }
    if constexpr (!kStateInL0C || !Compensated::kState) {  // otherwise hi was awaited to be subtracted
      Await<HardEvent::MTE3_MTE1>(t);
    }
    LoadBWholeTransposed(slots_.B(slot), Of<kStateHiL1, half>(t), lo);
    const auto rows = Of<kRowsC, float>(t);
    if constexpr (Compensated::kState && kShares) {
      if (from_slots_) {  // lo is still on its way
        slots_.Loaded(slot);
        Multiply(rows, slots_.A(slot), slots_.B(slot), kSide, n, slices_.k, Onto::kNothing);
        Await<HardEvent::MTE3_MTE1>(t);
        LoadBWholeTransposed(slots_.B(slot, lo), Of<kStateLoL1, half>(t), lo);
        slots_.LoadedRest(slot);
        Multiply(rows, slots_.A(slot), slots_.B(slot, lo), kSide, n, slices_.k, Onto::kLast);
        Signal<HardEvent::M_V>(t);
        return;
      }
    }
    if constexpr (Compensated::kState) {
      if constexpr (kStateInL0C) {
        Await<HardEvent::MTE3_MTE1>(t);
      }
      LoadBWholeTransposed(slots_.B(slot, lo), Of<kStateLoL1, half>(t), lo);
    }
    slots_.Loaded(slot);
    MultiplyHiLo<false, Compensated::kState>(rows, slots_.A(slot_of_[0]), slots_.B(slot), kSide, n, slices_.k);
    Signal<HardEvent::M_V>(t);
  }

  // Q S^T of both slices; and S, if the Cube took it apart, put together again.
  __aicore__ inline void QueryProducts() {
    const uint32_t k = slices_.k;
    const auto queries = slots_.A(slot_of_[0], kSide * k);
    for (uint32_t t = 0; t < kTiles && slices_.strips[t] != 0; ++t) {
      const int32_t slot = slot_of_[t];
      const uint32_t n = slices_.strips[t];
      MultiplyHiLo<false, Compensated::kState>(Of<kOutC, float>(t), queries, slots_.B(slot), kSide, n, k);
    }
    for (uint32_t t = 0; t < kTiles && slices_.strips[t] != 0; ++t) {
      slots_.Done(slot_of_[t]);
    }
    for (uint32_t t = 0; t < kTiles && slices_.strips[t] != 0; ++t) {
      if constexpr (kStateInL0C && Compensated::kState) {
        AddBlocks(slots_, Of<kStateC, float>(t), Of<kStateHiL1, half>(t), Get<kOneL1, half>(), slices_.StateFractals(t), kArrived);
      }
      Signal<HardEvent::M_V>(kOutReady + t);
    }
  }

  __aicore__ inline void OpenChunk(const Chunk& chunk) {
    chunk_ = chunk;
    if (from_slots_) {
      slices_.TakeWhole(chunk_.VStrips());
    } else {
      slices_.Cut(chunk_.VStrips());
    }
    for (uint32_t t = 0; t < kTiles; ++t) {
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

  // --- the operands of a chunk: of the lanes before this one, or, chunk-parallel, of slots in GM, with rows as they are there ---

  __aicore__ inline LocalTensor<half> T() {
    if constexpr (kShares) {
      if (from_slots_) {
        return Get<kSlotTL1, half>()[chunk_.Turn() * 2 * kTileElems];
      }
    }
    return Get<kTL1, half>()[chunk_.Handover() * 2 * kTileElems];
  }
  __aicore__ inline LocalTensor<half> OutWeight() {
    if constexpr (kShares) {
      if (from_slots_) {
        return Get<kSlotOutWeightL1, half>()[chunk_.Turn() * 2 * kTileElems];
      }
    }
    return Get<kOutWeightL1, half>();
  }
  __aicore__ inline LocalTensor<half> Shift() {
    if constexpr (kShares) {
      if (from_slots_) {
        return Get<kSlotShiftL1, half>()[chunk_.Turn() * kTileElems];
      }
    }
    return Get<kShiftL1, half>()[chunk_.Handover() * kTileElems];
  }

  // [K; Q] of the next chunk.
  __aicore__ inline void LoadKeysQueries(const LocalTensor<half>& l0a, const Chunk& next) {
    if constexpr (kShares) {
      if (from_slots_) {
        LoadARows(l0a, Rows(next), 2 * kChunk, slices_.k);
        return;
      }
    }
    const auto rows = Get<kKeyQueryL1, half>()[next.InL1() * 2 * kChunk * Table::kBucketDim];
    LoadA(l0a, 0, slices_.k, {rows, 2 * kSide, 0, 0}, 2 * kSide, slices_.k);
  }

  __aicore__ inline void LoadKeys(const LocalTensor<half>& l0b) {
    if constexpr (kShares) {
      if (from_slots_) {
        LoadBRows(l0b, Rows(chunk_), kChunk, slices_.k, 0, slices_.k);
        return;
      }
    }
    const auto rows = Get<kKeyQueryL1, half>()[chunk_.InL1() * 2 * kChunk * Table::kBucketDim];
    LoadB(l0b, 0, {rows, 2 * kSide, 0, 0}, kSide, slices_.k);
  }

  __aicore__ inline void LoadValues(const LocalTensor<half>& l0b, uint32_t t) {
    const uint32_t first = slices_.Begin(t) / kFractal;
    if constexpr (kShares) {
      if (from_slots_) {
        LoadBRows(l0b, Rows(chunk_)[2 * kChunk * Table::kBucketDim], kChunk, chunk_.VStrips(), first, slices_.strips[t]);
        return;
      }
    }
    const auto values = Get<kValueL1, half>()[chunk_.InL1() * kChunk * Table::kBucketDim];
    LoadB(l0b, 0, {values, kSide, 0, first}, kSide, slices_.strips[t]);
  }

  __aicore__ inline LocalTensor<half> Rows(const Chunk& chunk) {
    return Get<kSlotRowsL1, half>()[chunk.RowsInL1() * kSlotRows * Table::kBucketDim];
  }

  __aicore__ inline bool IsLast(uint32_t t) const { return t + 1 == kTiles || slices_.strips[t + 1] == 0; }
  __aicore__ inline bool Active(uint32_t t) const { return chunk_.HasTokens() && slices_.strips[t] != 0; }
  __aicore__ inline uint32_t RowFractals(uint32_t t) const { return kSide * slices_.strips[t]; }

  template <uint32_t kId, typename T>
  __aicore__ inline LocalTensor<T> Get() {
    return chip_.template Get<kId, T>();
  }
  // The row of slice 1 follows that of slice 0.
  template <uint32_t kId, typename T>
  __aicore__ inline LocalTensor<T> Of(uint32_t t) {
    return t == 0 ? chip_.template Get<kId, T>() : chip_.template Get<kId + 1, T>();
  }

  const bool from_slots_;  // chunk-parallel
  OnChip<Table>& chip_;
  CubeSlots& slots_;
  Slices slices_;
  Chunk chunk_;
  Powers powers_;

 private:
  int32_t slot_of_[kTiles] = {};
  bool state_ready_[kTiles] = {};
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_INTER_PRODUCTS_H_
