// SPDX-License-Identifier: Apache-2.0
// Chunk-parallel: the steps of the inter-chunk lane that differ. A core has at most half of a wide Dv, so a single slice is the whole.
// While a store keeps MTE3 dark the Vector queue splits -e^G K S^T itself; and products start with what has arrived of their operands,
// while what they wait for is on its way.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_INTER_TURNS_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_INTER_TURNS_H_

#include "inter_chunk.h"

namespace chunk_gdr {

template <typename Table, typename StateT>
class InterTurns : public InterChunk<Table, StateT> {
 public:
  using Tensors = GmTensors<StateT>;

  __aicore__ inline InterTurns(OnChip<Table>& chip, CubeSlots& slots, const Tensors& gm, const ChunkGatedDeltaRuleTiling& tiling)
      : Base(chip, slots, gm, tiling) {}

  // --- -e^G K S^T: hi, what is left, lo; both leave together ---

  __aicore__ inline void DecayKeys() {
    if (!Active(0)) {
      return;
    }
    const StageScope stage(kResidual);
    ScaleRows(Residual(), Row<kFetched, float>(chip_), Row<kKeyDecay, float>(chip_), kChunk, slices_.strips[0]);
  }

  __aicore__ inline void SplitResidual(uint32_t step) {
    if (!Active(0)) {
      return;
    }
    const StageScope stage(kResidual);
    const uint32_t elems = slices_.ValueElems(0);
    const auto halves = Row<kSliceHalves, half>(chip_);
    if (step == 0) {
      Round(halves, Residual(), elems);
    } else if (step == 1) {
      SubtractHi(Residual(), halves, elems);
    } else {
      Round(halves[elems], Residual(), elems);
      Handoff<HardEvent::V_MTE3>(0);
      AscendC::DataCopy(Row<kRowsL1, half>(chip_), halves, 2 * elems);
      Signal<HardEvent::MTE3_MTE1>(0);
    }
  }

  __aicore__ inline void PreloadOut() {
    if (!Active(0)) {
      return;
    }
    Base::PreloadOut(0);
    Signal<HardEvent::V_M>(kOutPreloaded);
  }

  // --- Y = s V + s hi + s lo, hi and lo of -e^G K S^T; out += P V + P hi + P lo, without the product of both lo ---

  __aicore__ inline void ShiftValues() {
    if (!Active(0)) {
      return;
    }
    const StageScope stage(kResidual);
    value_slot_ = slots_.Begin();
    slots_.Hold(value_slot_);
    Await<HardEvent::MTE2_MTE1>(kSlotArrived + chunk_.Turn());
    LoadAWhole(slots_.A(value_slot_), SlotShiftOf(chip_, chunk_), kMatrix);
    LoadBRows(slots_.B(value_slot_), TurnValuesOf(chip_, chunk_), kChunk, slices_.strips[0], 0, slices_.strips[0]);
    slots_.Loaded(value_slot_);
    Multiply(Y(), slots_.A(value_slot_), slots_.B(value_slot_), kSide, slices_.strips[0], kSide, Onto::kNothing);
    LoadAWhole(slots_.A(value_slot_, kMatrix), SlotOutWeightOf(chip_, chunk_), 2 * kMatrix);
  }

  __aicore__ inline void ShiftResidual() {
    if (!Active(0)) {
      return;
    }
    const StageScope stage(kResidual);
    const uint32_t n = slices_.strips[0];
    const uint32_t piece = kSide * n;
    const auto shift = slots_.A(value_slot_);
    const auto residual = Row<kRowsL1, half>(chip_);
    Await<HardEvent::MTE3_MTE1>(0);
    LoadB(slots_.B(value_slot_, piece), 0, {residual, kSide, 0, 0}, kSide, n);
    slots_.LoadedRest(value_slot_);
    Multiply(Y(), shift, slots_.B(value_slot_, piece), kSide, n, kSide, Onto::kLast);
    LoadB(slots_.B(value_slot_, 2 * piece), 0, {residual[slices_.ValueElems(0)], kSide, 0, 0}, kSide, n);
    slots_.LoadedLast(value_slot_);
    Multiply(Y(), shift, slots_.B(value_slot_, 2 * piece), kSide, n, kSide, Onto::kLast);
    Signal<HardEvent::M_V>(0);
  }

  // P V, then P (hi + lo), in the gaps that the chain of the state leaves the Cube.
  __aicore__ inline void OutOfValues() {
    if (!Active(0)) {
      return;
    }
    const StageScope stage(kResidual);
    Await<HardEvent::V_M>(kOutPreloaded);
    MultiplyHiLo<Compensated::kOutWeight, false>(Row<kOutC, float>(chip_), slots_.A(value_slot_, kMatrix), slots_.B(value_slot_), kSide,
                                                 slices_.strips[0], kSide, Onto::kSettled);
  }

  __aicore__ inline void OutOfResidual() {
    if (!Active(0)) {
      return;
    }
    const StageScope stage(kResidual);
    const uint32_t n = slices_.strips[0];
    MultiplyHiLo<Compensated::kOutWeight, true>(Row<kOutC, float>(chip_), slots_.A(value_slot_, kMatrix),
                                                slots_.B(value_slot_, kSide * n), kSide, n, kSide, Onto::kLast);
    if constexpr (Base::kSignalsOut) {
      Signal<HardEvent::M_V>(kOutReady);
    }
    slots_.Release(value_slot_);
  }

  __aicore__ inline void FetchShifted() {
    if (!Active(0)) {
      return;
    }
    const StageScope stage(kResidual);
    FetchFrom(Y(), 0);
    this->RowsToL1(0, 0);
  }

  __aicore__ inline void SubtractShifted() {
    if (!Compensated::kShifted || !Active(0)) {
      return;
    }
    const StageScope stage(kResidual);
    AddBlocks(slots_, Y(), Row<kRowsL1, half>(chip_), Row<kMinusOneL1, half>(chip_), this->RowFractals(0), 0);
    Signal<HardEvent::M_V>(0);
  }

  __aicore__ inline void SendShifted() {
    if (!Compensated::kShifted || !Active(0)) {
      return;
    }
    const StageScope stage(kResidual);
    const uint32_t lo = slices_.ValueElems(0);
    FetchFrom(Y(), lo);
    this->RowsToL1(0, lo);
  }

  // --- F V' = T Y, without the product of both lo ---

  __aicore__ inline void VNewOfHi() {
    if (!Active(0)) {
      return;
    }
    const StageScope stage(kResidual);
    const uint32_t n = slices_.strips[0];
    slot_ = slots_.Begin();
    slots_.Hold(slot_);
    LoadAWhole(slots_.A(slot_), SlotTOf(chip_, chunk_), 2 * kMatrix);
    Signal<HardEvent::MTE1_MTE2>(kSlotRead + chunk_.Turn());
    if constexpr (!Compensated::kShifted) {
      Await<HardEvent::MTE3_MTE1>(0);
    }
    LoadB(slots_.B(slot_), 0, {Row<kRowsL1, half>(chip_), kSide, 0, 0}, kSide, n);
    slots_.Loaded(slot_);
    MultiplyHiLo<Compensated::kInverse, false>(Row<kRowsC, float>(chip_), slots_.A(slot_), slots_.B(slot_), kSide, n, kSide);
  }

  __aicore__ inline void VNewOfLo() {
    if (!Active(0)) {
      return;
    }
    const StageScope stage(kResidual);
    if constexpr (Compensated::kShifted) {
      const uint32_t n = slices_.strips[0];
      const auto lo = slots_.B(slot_, kSide * n);
      Await<HardEvent::MTE3_MTE1>(0);
      LoadB(lo, 0, {Row<kRowsL1, half>(chip_)[slices_.ValueElems(0)], kSide, 0, 0}, kSide, n);
      slots_.LoadedRest(slot_);
      Multiply(Row<kRowsC, float>(chip_), slots_.A(slot_), lo, kSide, n, kSide, Onto::kLast);
    }
    Signal<HardEvent::M_V>(0);
    slots_.Release(slot_);
  }

  // --- S += (F V')^T K ---

  __aicore__ inline void StateOfHi() {
    if (!Active(0)) {
      return;
    }
    const StageScope stage(kVNew);
    const uint32_t n = slices_.strips[0];
    slot_ = slots_.Begin();
    slots_.Hold(slot_);
    LoadBRows(slots_.B(slot_), TurnRowsOf(chip_, chunk_), kChunk, slices_.k, 0, slices_.k);
    if constexpr (!Compensated::kVNew) {
      Await<HardEvent::MTE3_MTE1>(0);
    }
    LoadAWholeTransposed(slots_.A(slot_), Row<kRowsL1, half>(chip_), kSide * n);
    slots_.Loaded(slot_);
    Multiply(Row<kStateC, float>(chip_), slots_.A(slot_), slots_.B(slot_), n, slices_.k, kSide, Onto::kSettled);
  }

  __aicore__ inline void StateOfLo() {
    if (!Active(0)) {
      return;
    }
    const StageScope stage(kVNew);
    if constexpr (Compensated::kVNew) {
      const uint32_t n = slices_.strips[0];
      const auto lo = slots_.A(slot_, kSide * n);
      Await<HardEvent::MTE3_MTE1>(0);
      LoadAWholeTransposed(lo, Row<kRowsL1, half>(chip_)[slices_.ValueElems(0)], kSide * n);
      slots_.LoadedRest(slot_);
      Multiply(Row<kStateC, float>(chip_), lo, slots_.B(slot_), n, slices_.k, kSide, Onto::kLast);
    }
    Signal<HardEvent::M_V>(0);
    slots_.Release(slot_);
  }

 private:
  using Base = InterChunk<Table, StateT>;
  using Base::Active;
  using Base::chip_;
  using Base::chunk_;
  using Base::slices_;
  using Base::slots_;
  using Base::kMatrix;
  using Base::kSide;

  __aicore__ inline void FetchFrom(const LocalTensor<float>& rows, uint32_t at) {
    Await<HardEvent::M_V>(0);
    CopyResult(Row<kSliceHalves, half>(chip_)[at], rows, 1, this->RowFractals(0), 0, 0);
  }

  // In fp32, in the place of the slice that there is not; so is Y in L0C, so that F V' may start while its lo is being made.
  __aicore__ inline LocalTensor<float> Residual() { return Row<kSliceHalves1, float>(chip_); }
  __aicore__ inline LocalTensor<float> Y() { return Row<kRowsC1, float>(chip_); }

  int32_t value_slot_ = 0;
  int32_t slot_ = 0;
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_INTER_TURNS_H_
