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
    if (t + 1 == kTiles || slices_.strips[t + 1] == 0) {
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
    const auto values = Get<kValueL1, half>()[chunk_.InL1() * kChunk * Table::kBucketDim];
    const auto residual = Of<kRowsL1, half>(t);
    const auto y = Of<kRowsC, float>(t);
    const auto out = Of<kOutC, float>(t);
    const int32_t slot = slots_.Begin();
    LoadAWhole(slots_.A(slot), Get<kShiftL1, half>()[chunk_.Handover() * kTileElems], kMatrix);
    LoadB(slots_.B(slot), 0, {values, kSide, 0, slices_.Begin(t) / kFractal}, kSide, n);
    Await<HardEvent::MTE3_MTE1>(t);
    LoadB(slots_.B(slot, piece), 0, {residual, kSide, 0, 0}, kSide, n);
    LoadB(slots_.B(slot, 2 * piece), 0, {residual[slices_.ValueElems(t)], kSide, 0, 0}, kSide, n);
    slots_.Loaded(slot);
    Multiply(y, slots_.A(slot), slots_.B(slot), kSide, n, kSide, Onto::kNothing);
    Multiply(y, slots_.A(slot), slots_.B(slot, piece), kSide, n, kSide, Onto::kLast);
    Multiply(y, slots_.A(slot), slots_.B(slot, 2 * piece), kSide, n, kSide, Onto::kLast);
    Signal<HardEvent::M_V>(t);
    const auto p = slots_.A(slot, kMatrix);
    LoadAWhole(p, Get<kOutWeightL1, half>(), 2 * kMatrix);
    slots_.LoadedRest(slot);
    MultiplyHiLo<Compensated::kOutWeight, false>(out, p, slots_.B(slot), kSide, n, kSide, Onto::kSettled);
    MultiplyHiLo<Compensated::kOutWeight, true>(out, p, slots_.B(slot, piece), kSide, n, kSide, Onto::kLast);
    Signal<HardEvent::M_V>(kOutReady + t);
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
    LoadAWhole(slots_.A(slot), Get<kTL1, half>()[chunk_.Handover() * 2 * kTileElems], 2 * kMatrix);
    if constexpr (!Compensated::kShifted) {
      Await<HardEvent::MTE3_MTE1>(t);
    }
    LoadB(slots_.B(slot), 0, {y, kSide, 0, 0}, kSide, n);
    if constexpr (Compensated::kShifted) {
      Await<HardEvent::MTE3_MTE1>(t);
      LoadB(slots_.B(slot, piece), 0, {y[slices_.ValueElems(t)], kSide, 0, 0}, kSide, n);
    }
    slots_.Loaded(slot);
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
    const auto keys = Get<kKeyQueryL1, half>()[chunk_.InL1() * 2 * kChunk * Table::kBucketDim];
    const auto v_new = Of<kRowsL1, half>(t);
    const int32_t slot = slots_.Begin();
    LoadB(slots_.B(slot), 0, {keys, 2 * kSide, 0, 0}, kSide, slices_.k);
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

  __aicore__ inline InterProducts(OnChip<Table>& chip, CubeSlots& slots) : chip_(chip), slots_(slots) {}

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
    const auto keys = Get<kKeyQueryL1, half>()[next.InL1() * 2 * kChunk * Table::kBucketDim];
    const uint32_t n = slices_.strips[t];
    const uint32_t lo = slices_.StateFractals(t);
    const int32_t slot = slots_.Begin();
    slot_of_[t] = slot;
    if (t == 0) {  // for both slices
      LoadA(slots_.A(slot), 0, slices_.k, {keys, 2 * kSide, 0, 0}, 2 * kSide, slices_.k);
    }
    if constexpr (!kStateInL0C || !Compensated::kState) {  // otherwise hi was awaited to be subtracted
      Await<HardEvent::MTE3_MTE1>(t);
    }
    LoadBWholeTransposed(slots_.B(slot), Of<kStateHiL1, half>(t), lo);
    if constexpr (Compensated::kState) {
      if constexpr (kStateInL0C) {
        Await<HardEvent::MTE3_MTE1>(t);
      }
      LoadBWholeTransposed(slots_.B(slot, lo), Of<kStateLoL1, half>(t), lo);
    }
    slots_.Loaded(slot);
    MultiplyHiLo<false, Compensated::kState>(Of<kRowsC, float>(t), slots_.A(slot_of_[0]), slots_.B(slot), kSide, n, slices_.k);
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
    slices_.Cut(chunk_.VStrips());
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

  OnChip<Table>& chip_;
  CubeSlots& slots_;
  Slices slices_;
  Chunk chunk_;

 private:
  int32_t slot_of_[kTiles] = {};
  bool state_ready_[kTiles] = {};
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_INTER_PRODUCTS_H_
