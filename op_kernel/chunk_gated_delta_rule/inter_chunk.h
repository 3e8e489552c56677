// SPDX-License-Identifier: Apache-2.0
// The inter-chunk lane: a chunk meets the state, slice of Dv by slice. S stays in L0C, in fp32, from the first chunk of its item to the
// last. In steps, between which the Vector queue must be done.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_INTER_CHUNK_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_INTER_CHUNK_H_

#include "inter_products.h"
#include "out_rows.h"
#include "state_rows.h"

namespace chunk_gdr {

template <typename Table, typename StateT>
class InterChunk : public InterProducts<Table> {
 public:
  using Tensors = GmTensors<StateT>;

  __aicore__ inline InterChunk(OnChip<Table>& chip, CubeSlots& slots, const Tensors& gm, const ChunkGatedDeltaRuleTiling& tiling)
      : Base(chip, slots, tiling.chunk_parallel != 0), gm_(gm), tiling_(tiling), state_(chip, gm, tiling, slices_), out_(chip, gm, tiling) {
    slices_.k = static_cast<uint32_t>(tiling.k_dim) / kFractal;
  }

  // power: what the chunk's weights and e^{G_n} are divided by, see decays.h.
  __aicore__ inline void Start(const Chunk& chunk, float power) {
    chunk_ = chunk;
    SetPower(power);
    if (!chunk_.exists) {
      return;
    }
    slices_.Cut(chunk_.VStrips());
    for (uint32_t t = 0; t < kTiles; ++t) {
      state_ready_[t] = false;
    }
    if (chunk_.first) {
      EnterState();
    } else if (tiling_.has_chunk_state) {
      Store(gm_.chunk_state, chunk_.state_row);
    }
  }

  // Before the state is rounded.
  __aicore__ inline void SetPower(float power) { power_ = power; }

  __aicore__ inline void Finish() {
    if (chunk_.HasTokens() && chunk_.last) {
      Store(gm_.final_state, chunk_.item.sequence);
    }
  }

  __aicore__ inline void ArrangeOut(uint32_t t) {
    if (Active(t)) {
      out_.Arrange(t, chunk_, slices_);
    }
  }

  __aicore__ inline void StoreOut() {
    if (chunk_.HasTokens()) {
      out_.Store(chunk_);
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

  // --- -e^G K S^T as hi + lo, e^G Q S^T where out is accumulated, e^{G_n} S where S is ---

  __aicore__ inline void FetchKeyState(uint32_t t) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kResidual);
    Await<HardEvent::M_V>(t);
    CopyResult(Get<kFetched, float>(), Of<kRowsC, float>(t), 1, RowFractals(t), 0, 0);
  }

  __aicore__ inline void DecayKeyState(uint32_t t) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kResidual);
    ScaleRows(Get<kScaled, float>(), Get<kFetched, float>(), Get<kKeyDecay, float>(), kChunk, slices_.strips[t]);
  }

  __aicore__ inline void RoundResidual(uint32_t t) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kResidual);
    Round(Of<kSliceHalves, half>(t), Get<kScaled, float>(), slices_.ValueElems(t));
    PreloadResult(Of<kRowsC, float>(t), Get<kScaled, float>(), RowFractals(t));
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
    AwaitState(t);
    CopyResult(Get<kFetched, float>(), Of<kOutC, float>(t), 1, RowFractals(t), 0, 0);
  }

  __aicore__ inline void DecayQueryState(uint32_t t) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kCarry);
    ScaleRows(Get<kScaled, float>(), Get<kFetched, float>(), Get<kQueryDecay, float>(), kChunk, slices_.strips[t]);
  }

  __aicore__ inline void PreloadOut(uint32_t t) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kCarry);
    PreloadResult(Of<kOutC, float>(t), Get<kScaled, float>(), RowFractals(t));
  }

  __aicore__ inline void FetchState(uint32_t t, uint32_t piece) {
    if (!HasPiece(t, piece)) {
      return;
    }
    const StageScope stage(kCarry);
    CopyResult(Get<kFetched, float>(), state_.Piece(t, piece), 1, slices_.strips[t] * state_.PieceStrips(piece), 0, 0);
  }

  __aicore__ inline void DecayState(uint32_t t, uint32_t piece) {
    if (!HasPiece(t, piece)) {
      return;
    }
    const StageScope stage(kCarry);
    ScaleAll(Get<kScaled, float>(), Get<kFetched, float>(), Get<kChunkDecay, float>(), state_.PieceElems(t, piece));
  }

  __aicore__ inline void PreloadState(uint32_t t, uint32_t piece) {
    if (!HasPiece(t, piece)) {
      return;
    }
    const StageScope stage(kCarry);
    PreloadResult(state_.Piece(t, piece), Get<kScaled, float>(), slices_.strips[t] * state_.PieceStrips(piece));
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

  // --- S as hi, then lo for the next chunk ---

  __aicore__ inline void RoundState(uint32_t t) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kState);
    if (power_ == 1.0f) {
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

  // A finished slice of out leaves L0C. The scale's power of two comes last, and in fp32, so that out is rounded once.
  __aicore__ inline void FetchOut(uint32_t t) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kState);
    Await<HardEvent::M_V>(kOutReady + t);
    if (tiling_.scale_power == 1.0f) {
      CopyResult(Get<kOutHalf, half>(), Of<kOutC, float>(t), 1, RowFractals(t), 0, 0);
    } else {
      CopyResult(Get<kNormTile, float>(), Of<kOutC, float>(t), 1, RowFractals(t), 0, 0);  // no norm is being taken
    }
  }

  __aicore__ inline void ScaleOut(uint32_t t) {
    if (!Active(t) || tiling_.scale_power == 1.0f) {
      return;
    }
    const StageScope stage(kState);
    const auto out = Get<kNormTile, float>();
    AscendC::Muls(out, out, tiling_.scale_power, slices_.ValueElems(t));
  }

 private:
  using Base = InterProducts<Table>;
  using Base::Active;
  using Base::chip_;
  using Base::chunk_;
  using Base::RowFractals;
  using Base::slices_;

  // --- rows of a slice: L0C -> UB -> L1 ---

  __aicore__ inline void FetchHi(uint32_t t) {
    Await<HardEvent::M_V>(t);
    CopyResult(Of<kSliceHalves, half>(t), Of<kRowsC, float>(t), 1, RowFractals(t), 0, 0);
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
      CopyResult(Of<kSliceHalves, half>(t)[at], Of<kRowsC, float>(t), 1, RowFractals(t), 0, 0);
    }
    RowsToL1(t, kLo ? at : 0);
  }

  __aicore__ inline void RowsToL1(uint32_t t, uint32_t at) {
    Handoff<HardEvent::V_MTE3>(t);
    AscendC::DataCopy(Of<kRowsL1, half>(t)[at], Of<kSliceHalves, half>(t)[at], slices_.ValueElems(t));
    Signal<HardEvent::MTE3_MTE1>(t);
  }

  // --- halves of S ---

  // A fresh S, which is a row of chunk_state too; of final_state, if it meets no token.
  __aicore__ inline void EnterState() {
    if (!chunk_.HasTokens()) {
      state_.Enter(chunk_.item, &gm_.final_state, chunk_.item.sequence);
      return;
    }
    state_.Enter(chunk_.item, tiling_.has_chunk_state ? &gm_.chunk_state : nullptr, chunk_.state_row);
    SplitFresh();
  }

  // The halves of a fresh S and its products with the first chunk's rows.
  __aicore__ inline void SplitFresh() {
    const StageScope stage(kState);
    for (uint32_t t = 0; t < kTiles && slices_.strips[t] != 0; ++t) {
      StateHiToL1(t);
      if constexpr (Compensated::kState) {
        this->SubtractStateHi(t);
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

  // S / p in L0C becomes S, both slices side by side, through where their halves are about to be.
  __aicore__ inline void RestoreState() {
    for (uint32_t t = 0; t < kTiles; ++t) {
      if (Active(t)) {
        Await<HardEvent::M_V>(t);
      }
    }
    for (uint32_t piece = 0; piece < StateRows<Table, StateT>::kPieces && HasPiece(0, piece); ++piece) {
      for (uint32_t t = 0; t < kTiles && HasPiece(t, piece); ++t) {
        CopyResult(Of<kSliceHalves, float>(t), state_.Piece(t, piece), 1, PieceFractals(t, piece), 0, 0);
      }
      VectorDone();
      for (uint32_t t = 0; t < kTiles && HasPiece(t, piece); ++t) {
        AscendC::Muls(Of<kSliceHalves, float>(t), Of<kSliceHalves, float>(t), power_, state_.PieceElems(t, piece));
      }
      VectorDone();
      for (uint32_t t = 0; t < kTiles && HasPiece(t, piece); ++t) {
        PreloadResult(state_.Piece(t, piece), Of<kSliceHalves, float>(t), PieceFractals(t, piece));
      }
      VectorDone();
    }
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

  __aicore__ inline void Store(const GlobalTensor<StateT>& to, int64_t row) {
    for (uint32_t t = 0; t < kTiles; ++t) {
      if (Active(t)) {
        AwaitState(t);
      }
    }
    state_.Store(to, row, chunk_.item);
  }

  // S is whole in L0C, and Q S^T beside it.
  __aicore__ inline void AwaitState(uint32_t t) {
    if (!state_ready_[t]) {
      Await<HardEvent::M_V>(kOutReady + t);
      state_ready_[t] = true;
    }
  }

  __aicore__ inline uint32_t PieceFractals(uint32_t t, uint32_t piece) const { return slices_.strips[t] * state_.PieceStrips(piece); }
  __aicore__ inline bool HasPiece(uint32_t t, uint32_t piece) const { return Active(t) && state_.PieceStrips(piece) != 0; }

  template <uint32_t kId, typename T>
  __aicore__ inline LocalTensor<T> Get() {
    return chip_.template Get<kId, T>();
  }
  // The row of slice 1 follows that of slice 0.
  template <uint32_t kId, typename T>
  __aicore__ inline LocalTensor<T> Of(uint32_t t) {
    return t == 0 ? chip_.template Get<kId, T>() : chip_.template Get<kId + 1, T>();
  }

  const Tensors& gm_;
  const ChunkGatedDeltaRuleTiling& tiling_;
  StateRows<Table, StateT> state_;
  OutRows<Table, StateT> out_;
  bool state_ready_[kTiles] = {};
  float power_ = 1.0f;
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_INTER_CHUNK_H_
