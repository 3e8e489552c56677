// SPDX-License-Identifier: Apache-2.0
// The state in L0C, in NZ: through UB and back for its decay, then (F V')^T K is accumulated onto it. The Cube takes it apart into hi + lo,
// and puts it together again.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_STATE_NZ_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_STATE_NZ_H_

#include "inter_products.h"
#include "state_rows.h"

namespace chunk_gdr {

template <typename Table, typename StateT>
class StateInNz : public InterProducts<Table> {
 public:
  // S <- initial_state, or zeros; and the same, bit for bit, to row `row` of `copy` unless that is null.
  __aicore__ inline void Enter(const GlobalTensor<StateT>* copy, int64_t row) {
    if (chunk_.state != 0 && chunk_.HasTokens()) {  // halves of the other state were here; MTE1 has waited until they had left
      Handoff<HardEvent::MTE1_V>(kOtherHalvesLeft);
    }
    rows_.Enter(chunk_.item, copy, row);
  }

  // The halves of a fresh S and its products with the first chunk's rows.
  __aicore__ inline void SplitFresh() {
    const StageScope stage(kState);
    for (uint32_t t = 0; t < kSlices && slices_.strips[t] != 0; ++t) {
      StateHiToL1(t);
      if constexpr (Compensated::kState) {
        SubtractStateHi(t);
      }
    }
    for (uint32_t t = 0; t < kSlices && slices_.strips[t] != 0; ++t) {
      if constexpr (Compensated::kState) {
        StateLoToL1(t);
      }
      this->KeyProduct(t, chunk_, true);
    }
    this->QueryProducts(chunk_);
  }

  // S to row `row` of a state tensor; `uncut`: it has not been in halves.
  __aicore__ inline void Store(const GlobalTensor<StateT>& to, int64_t row, bool uncut) {
    for (uint32_t t = 0; t < kSlices; ++t) {
      if (Active(t)) {
        this->AwaitState(t);
      }
    }
    rows_.Store(to, row, chunk_.item, uncut);
  }

  // --- e^{G_n} S where S is ---

  __aicore__ inline void FetchState(uint32_t t, uint32_t piece) {
    if (!HasPiece(t, piece)) {
      return;
    }
    const StageScope stage(kCarry);
    CopyResult(Row<kFetched, float>(chip_), rows_.Piece(t, piece), 1, slices_.strips[t] * rows_.PieceStrips(piece), 0, 0);
  }

  __aicore__ inline void DecayState(uint32_t t, uint32_t piece) {
    if (!HasPiece(t, piece)) {
      return;
    }
    const StageScope stage(kCarry);
    ScaleAll(Row<kScaled, float>(chip_), Row<kFetched, float>(chip_), Row<kChunkDecay, float>(chip_), rows_.PieceElems(t, piece));
  }

  __aicore__ inline void PreloadState(uint32_t t, uint32_t piece) {
    if (!HasPiece(t, piece)) {
      return;
    }
    const StageScope stage(kCarry);
    PreloadResult(rows_.Piece(t, piece), Row<kScaled, float>(chip_), slices_.strips[t] * rows_.PieceStrips(piece));
  }

  // Steps of the other layout.
  static constexpr bool kStoresAhead = false;
  static constexpr uint32_t kAddSteps = 0;
  __aicore__ inline void AddStep(uint32_t, uint32_t) {}

  // --- S as hi, then lo for the next chunk ---

  __aicore__ inline void RoundState(uint32_t t) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kState);
    if (powers_.state == 1.0f) {
      Await<HardEvent::M_V>(t);
    } else if (t == 0) {
      RestoreState();
    }
    if (!chunk_.last) {
      StateHiToL1(t);
    }
  }

  // S - hi leaves L0C.
  __aicore__ inline void SendState(uint32_t t) {
    if (!Compensated::kState || !Active(t) || chunk_.last) {
      return;
    }
    const StageScope stage(kState);
    StateLoToL1(t);
  }

  __aicore__ inline void SubtractState(uint32_t t) {
    if (!Compensated::kState || !Active(t) || chunk_.last) {
      return;
    }
    const StageScope stage(kState);
    SubtractStateHi(t);
  }

 protected:
  __aicore__ inline StateInNz(OnChip<Table>& chip, CubeSlots& slots, const GmTensors<StateT>& gm, const ChunkGatedDeltaRuleTiling& tiling)
      : Base(chip, slots, tiling), rows_(chip, gm, tiling, slices_) {}

  using Base = InterProducts<Table>;
  using Base::Active;
  using Base::chip_;
  using Base::chunk_;
  using Base::powers_;
  using Base::slices_;
  using Base::slots_;

 private:
  // S / p in L0C becomes S, both slices side by side, through where their halves are about to be.
  __aicore__ inline void RestoreState() {
    for (uint32_t t = 0; t < kSlices; ++t) {
      if (Active(t)) {
        Await<HardEvent::M_V>(t);
      }
    }
    for (uint32_t piece = 0; piece < StateRows<Table, StateT>::kPieces && HasPiece(0, piece); ++piece) {
      for (uint32_t t = 0; t < kSlices && HasPiece(t, piece); ++t) {
        CopyResult(RowOf<kSliceHalves, float>(chip_, t), rows_.Piece(t, piece), 1, PieceFractals(t, piece), 0, 0);
      }
      VectorDone();
      for (uint32_t t = 0; t < kSlices && HasPiece(t, piece); ++t) {
        const auto part = RowOf<kSliceHalves, float>(chip_, t);
        AscendC::Muls(part, part, powers_.state, rows_.PieceElems(t, piece));
      }
      VectorDone();
      for (uint32_t t = 0; t < kSlices && HasPiece(t, piece); ++t) {
        PreloadResult(rows_.Piece(t, piece), RowOf<kSliceHalves, float>(chip_, t), PieceFractals(t, piece));
      }
      VectorDone();
    }
  }

  __aicore__ inline void SubtractStateHi(uint32_t t) {
    AddBlocks(slots_, StateOf<kStateC, float>(chip_, t, slices_.state), StateOf<kStateHiL1, half>(chip_, t, slices_.state),
              Row<kMinusOneL1, half>(chip_), slices_.StateFractals(t), t);
    Signal<HardEvent::M_V>(t);
  }

  __aicore__ inline void StateHiToL1(uint32_t t) {
    const uint32_t fractals = slices_.StateFractals(t);
    CopyResult(RowOf<kSliceHalves, half>(chip_, t), StateOf<kStateC, float>(chip_, t, slices_.state), 1, fractals, 0, 0);
    Handoff<HardEvent::V_MTE3>(t);
    AscendC::DataCopy(StateOf<kStateHiL1, half>(chip_, t, slices_.state), RowOf<kSliceHalves, half>(chip_, t), fractals * kFractalElems);
    Signal<HardEvent::MTE3_MTE1>(t);
  }

  __aicore__ inline void StateLoToL1(uint32_t t) {
    const uint32_t fractals = slices_.StateFractals(t);
    Await<HardEvent::M_V>(t);
    CopyResult(RowOf<kSliceHalves, half>(chip_, t), StateOf<kStateC, float>(chip_, t, slices_.state), 1, fractals, 0, 0);
    Handoff<HardEvent::V_MTE3>(t);
    AscendC::DataCopy(StateOf<kStateLoL1, half>(chip_, t, slices_.state), RowOf<kSliceHalves, half>(chip_, t), fractals * kFractalElems);
    Signal<HardEvent::MTE3_MTE1>(t);
  }

  __aicore__ inline uint32_t PieceFractals(uint32_t t, uint32_t piece) const { return slices_.strips[t] * rows_.PieceStrips(piece); }
  __aicore__ inline bool HasPiece(uint32_t t, uint32_t piece) const { return Active(t) && rows_.PieceStrips(piece) != 0; }

  StateRows<Table, StateT> rows_;
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_STATE_NZ_H_
