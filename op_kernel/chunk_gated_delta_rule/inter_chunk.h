// SPDX-License-Identifier: Apache-2.0
// The inter-chunk lane: a chunk meets the state, slice of Dv by slice. S stays on chip, in fp32, from the first chunk of its item to the
// last, in one of two layouts. In steps, between which the Vector queue must be done.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_INTER_CHUNK_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_INTER_CHUNK_H_

#include "out_rows.h"
#include "state_nd.h"
#include "state_nz.h"

namespace chunk_gdr {

template <StateLayout kLayout, typename Table, typename StateT>
struct StateIn {
  using Type = StateInNz<Table, StateT>;
};
template <typename Table, typename StateT>
struct StateIn<StateLayout::kNd, Table, StateT> {
  using Type = StateInNd<Table, StateT>;
};

template <typename Table, typename StateT>
class InterChunk : public StateIn<Table::kLayout, Table, StateT>::Type {
 public:
  using Tensors = GmTensors<StateT>;

  __aicore__ inline InterChunk(OnChip<Table>& chip, CubeSlots& slots, const Tensors& gm, const ChunkGatedDeltaRuleTiling& tiling)
      : Base(chip, slots, gm, tiling), gm_(gm), tiling_(tiling), out_(chip, gm, tiling) {
    slices_.k = static_cast<uint32_t>(tiling.k_dim) / kFractal;
  }

  __aicore__ inline void Start(const Chunk& chunk, const Powers& powers) {
    this->OpenChunk(chunk);
    this->SetPowers(powers);
    if (!chunk_.exists) {
      return;
    }
    if (chunk_.first) {
      EnterState();
    } else if (tiling_.has_chunk_state && chunk_.StartsStateRow() && !Base::kStoresAhead) {
      this->Store(gm_.chunk_state, chunk_.StateRow(), false);
    }
  }

  __aicore__ inline void Finish() {
    if (chunk_.HasTokens() && chunk_.last) {
      this->Store(gm_.final_state, chunk_.item.sequence, true);
    }
  }

  // kNd: both slices with slice 0, before the state takes their place.
  __aicore__ inline void ArrangeOut(uint32_t t) {
    for (uint32_t i = FirstOf(t); i < EndOf(t); ++i) {
      if (Active(i)) {
        out_.Arrange(i, chunk_, slices_);
      }
    }
  }

  // kNd: once the state has left for L1.
  __aicore__ inline void StoreOut() {
    if constexpr (Base::kStateInL0C) {
      StoreRows();
    }
  }

  __aicore__ inline void AddStep(uint32_t t, uint32_t step) {
    Base::AddStep(t, step);
    if (!Base::kStateInL0C && t + 1 == kSlices && step + 1 == Base::kAddSteps) {
      StoreRows();
    }
  }

  // Chunk-parallel: without the promises, for a chunk that is through.
  __aicore__ inline void CopyOut(const Chunk& chunk) {
    if (chunk.HasTokens()) {
      out_.Copy(chunk);
    }
  }

  // What is still on its way to GM has arrived.
  __aicore__ inline void Close() { out_.Close(); }

  // --- -e^G K S^T as hi + lo, e^G Q S^T where out is accumulated ---

  __aicore__ inline void FetchKeyState(uint32_t t) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kResidual);
    Await<HardEvent::M_V>(t);
    CopyResult(Row<kFetched, float>(chip_), RowOf<kRowsC, float>(chip_, t), 1, RowFractals(t), 0, 0);
  }

  __aicore__ inline void DecayKeyState(uint32_t t) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kResidual);
    ScaleRows(Row<kScaled, float>(chip_), Row<kFetched, float>(chip_), Row<kKeyDecay, float>(chip_), kChunk, slices_.strips[t]);
  }

  __aicore__ inline void RoundResidual(uint32_t t) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kResidual);
    Round(RowOf<kSliceHalves, half>(chip_, t), Row<kScaled, float>(chip_), slices_.ValueElems(t));
    PreloadResult(RowOf<kRowsC, float>(chip_, t), Row<kScaled, float>(chip_), RowFractals(t));
    HiToL1<true>(t);
  }

  __aicore__ inline void SendResidual(uint32_t t) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kResidual);
    LoToL1<true>(t);
  }

  __aicore__ inline void FetchQueryState(uint32_t t) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kCarry);
    this->AwaitState(t);
    CopyResult(Row<kFetched, float>(chip_), RowOf<kOutC, float>(chip_, t), 1, RowFractals(t), 0, 0);
  }

  __aicore__ inline void DecayQueryState(uint32_t t) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kCarry);
    ScaleRows(Row<kScaled, float>(chip_), Row<kFetched, float>(chip_), Row<kQueryDecay, float>(chip_), kChunk, slices_.strips[t]);
    if (powers_.out != 1.0f) {
      VectorDone();
      AscendC::Muls(Row<kScaled, float>(chip_), Row<kScaled, float>(chip_), powers_.out, slices_.ValueElems(t));
    }
  }

  __aicore__ inline void PreloadOut(uint32_t t) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kCarry);
    PreloadResult(RowOf<kOutC, float>(chip_, t), Row<kScaled, float>(chip_), RowFractals(t));
  }

  // --- Y = s (V - e^G K S^T), then F V' = T Y, each as hi, then lo ---

  __aicore__ inline void FetchShifted(uint32_t t) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kResidual);
    FetchHi(t);
    HiToL1<Compensated::kShifted>(t);
  }

  __aicore__ inline void SendShifted(uint32_t t) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kResidual);
    LoToL1<Compensated::kShifted>(t);
  }

  __aicore__ inline void FetchVNew(uint32_t t) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kVNew);
    FetchHi(t);
    HiToL1<Compensated::kVNew>(t);
  }

  __aicore__ inline void SendVNew(uint32_t t) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kVNew);
    LoToL1<Compensated::kVNew>(t);
  }

  // A finished slice of out leaves L0C; kNd: both with slice 0. The scale's power of two comes last, and in fp32, so that out is rounded
  // once.
  __aicore__ inline void FetchOut(uint32_t t) {
    for (uint32_t i = FirstOf(t); i < EndOf(t); ++i) {
      if (Active(i)) {
        const StageScope stage(kState);
        if constexpr (Base::kSignalsOut) {
          Await<HardEvent::M_V>(kOutReady + i);
        }
        CopyResult(out_.ToScale(i, slices_), RowOf<kOutC, float>(chip_, i), 1, RowFractals(i), 0, 0);
      }
    }
  }

  __aicore__ inline void ScaleOut(uint32_t t) {
    for (uint32_t i = FirstOf(t); i < EndOf(t); ++i) {
      if (Active(i)) {
        const StageScope stage(kState);
        AscendC::Muls(out_.Scaled(i, slices_), out_.ToScale(i, slices_), tiling_.scale_power / powers_.out, slices_.ValueElems(i));
      }
    }
  }

 protected:
  using Base = typename StateIn<Table::kLayout, Table, StateT>::Type;
  using Base::Active;
  using Base::chip_;
  using Base::chunk_;
  using Base::powers_;
  using Base::RowFractals;
  using Base::slices_;

  // A fresh S, which is a row of chunk_state too; of final_state, if it meets no token.
  __aicore__ inline void EnterState() {
    if (!chunk_.HasTokens()) {
      this->Enter(&gm_.final_state, chunk_.item.sequence);
      return;
    }
    this->Enter(tiling_.has_chunk_state ? &gm_.chunk_state : nullptr, chunk_.StateRow());
    this->SplitFresh();
  }

  // And with them, if it can be so early, the state that the next chunk starts from.
  __aicore__ inline void StoreRows() {
    if (!chunk_.HasTokens()) {
      return;
    }
    out_.Store(chunk_);
    if constexpr (Base::kStoresAhead) {
      if (tiling_.has_chunk_state && chunk_.EndsStateRow() && !chunk_.last) {
        this->StoreAhead(gm_.chunk_state, chunk_.StateRow() + 1);
      }
    }
    out_.Leave();
  }

  // Slices whose out is handled as slice t's turn comes.
  static __aicore__ inline uint32_t FirstOf(uint32_t t) { return Base::kStateInL0C || t == 0 ? t : kSlices; }
  static __aicore__ inline uint32_t EndOf(uint32_t t) { return Base::kStateInL0C ? t + 1 : kSlices; }

  // --- rows of a slice: L0C -> UB -> L1 ---

  __aicore__ inline void FetchHi(uint32_t t) {
    Await<HardEvent::M_V>(t);
    CopyResult(RowOf<kSliceHalves, half>(chip_, t), RowOf<kRowsC, float>(chip_, t), 1, RowFractals(t), 0, 0);
  }

  template <bool kLo>
  __aicore__ inline void HiToL1(uint32_t t) {
    if constexpr (kLo) {
      RowsToL1(t, 0);
    }
  }

  // What is left once hi is subtracted; hi itself, if it is all.
  template <bool kLo>
  __aicore__ inline void LoToL1(uint32_t t) {
    const uint32_t at = slices_.ValueElems(t);
    if constexpr (kLo) {
      Await<HardEvent::M_V>(t);
      CopyResult(RowOf<kSliceHalves, half>(chip_, t)[at], RowOf<kRowsC, float>(chip_, t), 1, RowFractals(t), 0, 0);
    }
    RowsToL1(t, kLo ? at : 0);
  }

  __aicore__ inline void RowsToL1(uint32_t t, uint32_t at) {
    Handoff<HardEvent::V_MTE3>(t);
    AscendC::DataCopy(RowOf<kRowsL1, half>(chip_, t)[at], RowOf<kSliceHalves, half>(chip_, t)[at], slices_.ValueElems(t));
    Signal<HardEvent::MTE3_MTE1>(t);
  }

  const Tensors& gm_;
  const ChunkGatedDeltaRuleTiling& tiling_;
  OutRows<Table, StateT> out_;
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_INTER_CHUNK_H_
