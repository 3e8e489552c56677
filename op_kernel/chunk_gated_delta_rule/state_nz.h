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
  __aicore__ inline void Enter(const GlobalTensor<StateT>* copy, int64_t row) { rows_.Enter(chunk_.item, copy, row); }

  // The halves of a fresh S and its products with the first chunk's rows.
  __aicore__ inline void SplitFresh() {
    const StageScope stage(kState);
    for (uint32_t t = 0; t < kTiles && slices_.strips[t] != 0; ++t) {
      StateHiToL1(t);
      if constexpr (Compensated::kState) {
        SubtractStateHi(t);
      }
    }
    for (uint32_t t = 0; t < kTiles && slices_.strips[t] != 0; ++t) {
      if constexpr (Compensated::kState) {
        StateLoToL1(t);
      }
      this->KeyProduct(t, chunk_);
    }
    this->QueryProducts();
  }

  // S to row `row` of a state tensor; `uncut`: it has not been in halves.
  __aicore__ inline void Store(const GlobalTensor<StateT>& to, int64_t row, bool uncut) {
    for (uint32_t t = 0; t < kTiles; ++t) {
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
    CopyResult(Get<kFetched, float>(), rows_.Piece(t, piece), 1, slices_.strips[t] * rows_.PieceStrips(piece), 0, 0);
  }

  __aicore__ inline void DecayState(uint32_t t, uint32_t piece) {
    if (!HasPiece(t, piece)) {
      return;
    }
    const StageScope stage(kCarry);
    ScaleAll(Get<kScaled, float>(), Get<kFetched, float>(), Get<kChunkDecay, float>(), rows_.PieceElems(t, piece));
  }

  __aicore__ inline void PreloadState(uint32_t t, uint32_t piece) {
    if (!HasPiece(t, piece)) {
      return;
    }
    const StageScope stage(kCarry);
    PreloadResult(rows_.Piece(t, piece), Get<kScaled, float>(), slices_.strips[t] * rows_.PieceStrips(piece));
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
    for (uint32_t t = 0; t < kTiles; ++t) {
      if (Active(t)) {
        Await<HardEvent::M_V>(t);
      }
    }
    for (uint32_t piece = 0; piece < StateRows<Table, StateT>::kPieces && HasPiece(0, piece); ++piece) {
      for (uint32_t t = 0; t < kTiles && HasPiece(t, piece); ++t) {
        CopyResult(Of<kSliceHalves, float>(t), rows_.Piece(t, piece), 1, PieceFractals(t, piece), 0, 0);
      }
      VectorDone();
      for (uint32_t t = 0; t < kTiles && HasPiece(t, piece); ++t) {
        AscendC::Muls(Of<kSliceHalves, float>(t), Of<kSliceHalves, float>(t), powers_.state, rows_.PieceElems(t, piece));
      }
      VectorDone();
      for (uint32_t t = 0; t < kTiles && HasPiece(t, piece); ++t) {
        PreloadResult(rows_.Piece(t, piece), Of<kSliceHalves, float>(t), PieceFractals(t, piece));
      }
      VectorDone();
    }
  }

  __aicore__ inline void SubtractStateHi(uint32_t t) {
    AddBlocks(slots_, Of<kStateC, float>(t), Of<kStateHiL1, half>(t), Get<kMinusOneL1, half>(), slices_.StateFractals(t), t);
    Signal<HardEvent::M_V>(t);
  }

  __aicore__ inline void StateHiToL1(uint32_t t) {
    const uint32_t fractals = slices_.StateFractals(t);
    CopyResult(Of<kSliceHalves, half>(t), Of<kStateC, float>(t), 1, fractals, 0, 0);
    Handoff<HardEvent::V_MTE3>(t);
    AscendC::DataCopy(Of<kStateHiL1, half>(t), Of<kSliceHalves, half>(t), fractals * kFractalElems);
    Signal<HardEvent::MTE3_MTE1>(t);
  }

  __aicore__ inline void StateLoToL1(uint32_t t) {
    const uint32_t fractals = slices_.StateFractals(t);
    Await<HardEvent::M_V>(t);
    CopyResult(Of<kSliceHalves, half>(t), Of<kStateC, float>(t), 1, fractals, 0, 0);
    Handoff<HardEvent::V_MTE3>(t);
    AscendC::DataCopy(Of<kStateLoL1, half>(t), Of<kSliceHalves, half>(t), fractals * kFractalElems);
    Signal<HardEvent::MTE3_MTE1>(t);
  }

  __aicore__ inline uint32_t PieceFractals(uint32_t t, uint32_t piece) const { return slices_.strips[t] * rows_.PieceStrips(piece); }
  __aicore__ inline bool HasPiece(uint32_t t, uint32_t piece) const { return Active(t) && rows_.PieceStrips(piece) != 0; }

  template <uint32_t kId, typename T>
  __aicore__ inline LocalTensor<T> Get() {
    return chip_.template Get<kId, T>();
  }
  // The row of slice 1 follows that of slice 0.
  template <uint32_t kId, typename T>
  __aicore__ inline LocalTensor<T> Of(uint32_t t) {
    return t == 0 ? chip_.template Get<kId, T>() : chip_.template Get<kId + 1, T>();
  }

  StateRows<Table, StateT> rows_;
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_STATE_NZ_H_
