// SPDX-License-Identifier: Apache-2.0
// The state in UB, in rows: as in GM it is on chip, and enters and leaves as it is. What decays it makes it NZ, where (F V')^T K is added
// as it comes from L0C; the sum goes back to the rows, and on to L1 as hi + lo.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_STATE_ND_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_STATE_ND_H_

#include "../common/tile/nz.h"
#include "inputs.h"
#include "inter_products.h"

namespace chunk_gdr {

template <typename Table, typename StateT>
class StateInNd : public InterProducts<Table> {
 public:
  // S <- initial_state, or zeros; and the same, bit for bit, to row `row` of `copy` unless that is null.
  __aicore__ inline void Enter(const GlobalTensor<StateT>* copy, int64_t row) {
    const StageScope stage(kCarry);
    if (!tiling_.has_state) {
      AscendC::Duplicate(Row<kStateRows, float>(chip_), 0.0f, Rows() * Pitch());
    } else {
      LoadRows();
    }
    AscendC::Duplicate(Row<kStateDecay, float>(chip_), 1.0f, kDecayRepeats * kRepeatFloats);
    VectorDone();
    if (copy != nullptr) {
      StoreRows(*copy, row, tiling_.has_state != 0);
    }
  }

  // The halves of a fresh S and its products with the first chunk's rows.
  __aicore__ inline void SplitFresh() {
    const StageScope stage(kCarry);
    const uint32_t tiles = slices_.strips[1] == 0 ? 1 : kSlices;
    for (uint32_t t = 0; t < tiles; ++t) {
      ToNz(t);
    }
    VectorDone();
    for (uint32_t t = 0; t < tiles; ++t) {
      SplitHi(t);
    }
    if constexpr (Compensated::kState) {
      VectorDone();
      for (uint32_t t = 0; t < tiles; ++t) {
        LeaveLo(t);
      }
      VectorDone();
      for (uint32_t t = 0; t < tiles; ++t) {
        SplitLo(t);
      }
    }
    for (uint32_t t = 0; t < tiles; ++t) {
      this->KeyProduct(t, chunk_, true);
    }
    this->QueryProducts(chunk_);
    AwaitHalves();
  }

  // S to row `row` of a state tensor. It has never been put together from halves.
  __aicore__ inline void Store(const GlobalTensor<StateT>& to, int64_t row, bool) {
    const StageScope stage(kCarry);
    for (uint32_t t = 0; t < kSlices; ++t) {
      if (Active(t)) {
        this->AwaitState(t);  // MTE3 has read the halves that its products came from: they and the slices' ids are free
      }
    }
    StoreRows(to, row, false);
  }

  // The same where MTE3 has just waited for all that the Vector queue did. Whoever calls this waits for the rows to leave before the next
  // sum is written to them.
  static constexpr bool kStoresAhead = sizeof(StateT) == sizeof(float);
  __aicore__ inline void StoreAhead(const GlobalTensor<float>& to, int64_t row) {
    const StageScope stage(kCarry);
    AscendC::DataCopy(to[Offset(row)], Row<kStateRows, float>(chip_), WholeRows(1, 0));
  }

  // e^{G_n} is needed for longer than it stays where it is.
  __aicore__ inline void DecayState(uint32_t t, uint32_t piece) {
    if (t != 0 || piece != 0 || !Active(t)) {
      return;
    }
    const StageScope stage(kCarry);
    AscendC::Muls(Row<kStateDecay, float>(chip_), Row<kChunkDecay, float>(chip_), 1.0f, static_cast<uint64_t>(kRepeatFloats), kDecayRepeats,
                  {1, 1, kBlocksPerRepeat, 0});
  }

  // Steps of the other layout.
  __aicore__ inline void FetchState(uint32_t, uint32_t) {}
  __aicore__ inline void PreloadState(uint32_t, uint32_t) {}
  __aicore__ inline void RoundState(uint32_t) {}
  __aicore__ inline void SubtractState(uint32_t) {}
  __aicore__ inline void SendState(uint32_t) {}

  // --- S = e^{G_n} S + (F V')^T K in NZ, from there to its rows, and as hi, then lo for the next chunk ---

  static constexpr uint32_t kAddSteps = 5;

  // Two steps of a slice lie between step 0 of slice 0 and that of slice 1: by then the place of what comes from L0C is free again.
  __aicore__ inline void AddStep(uint32_t t, uint32_t step) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kCarry);
    const bool more = !chunk_.last;  // a next chunk needs the halves
    switch (step) {
      case 0:
        Await<HardEvent::M_V>(t);
        CopyResult(Update(), RowOf<kStateC, float>(chip_, t), 1, slices_.StateFractals(t), 0, 0);
        ToNz(t);
        break;
      case 1:
        AscendC::Add(RowOf<kScaled, float>(chip_, t), RowOf<kScaled, float>(chip_, t), Update(), StateElems(t));
        if (powers_.state != 1.0f) {  // S / p becomes S
          VectorDone();
          AscendC::Muls(RowOf<kScaled, float>(chip_, t), RowOf<kScaled, float>(chip_, t), powers_.state, StateElems(t));
        }
        break;
      case 2:
        ToRows(t);
        if (more) {
          SplitHi(t);
        }
        break;
      case 3:
        if (more && Compensated::kState) {
          LeaveLo(t);
        }
        break;
      default:
        if (more && Compensated::kState) {
          SplitLo(t);
        }
        break;
    }
  }

  // The last halves are on their way to L1; before anything else takes their place, they have to be there.
  __aicore__ inline void StateProducts(uint32_t t, const Chunk& next) {
    if (t + 1 == kSlices || tiling_.use_qk_l2norm) {
      AwaitHalves();
    }
    Base::StateProducts(t, next);
  }

 protected:
  __aicore__ inline StateInNd(OnChip<Table>& chip, CubeSlots& slots, const GmTensors<StateT>& gm, const ChunkGatedDeltaRuleTiling& tiling)
      : Base(chip, slots, tiling), gm_(gm), tiling_(tiling) {}

  using Base = InterProducts<Table>;
  using Base::Active;
  using Base::chip_;
  using Base::chunk_;
  using Base::powers_;
  using Base::slices_;

 private:
  static constexpr uint32_t kRowsPerGroup = kBlocksPerRepeat;  // a repeat takes a block of each
  static constexpr uint8_t kHalfRows = kFractal / kFloatsPerBlock;  // blocks of a row of a strip
  static constexpr uint8_t kDecayRepeats = Table::kTable.rows[kStateDecay].rows;
  static constexpr uint8_t kEveryOther = kHalfRows;  // block of an NZ tile: one half of its rows

  // hi waits in the slice's own place, and lo where (F V')^T K was; the last of them takes both to L1.
  __aicore__ inline void SplitHi(uint32_t t) {
    Round(RowOf<kSliceHalves, half>(chip_, t), RowOf<kScaled, float>(chip_, t), StateElems(t));
    if constexpr (!Compensated::kState) {
      HalvesToL1(t);
    }
  }

  __aicore__ inline void LeaveLo(uint32_t t) {
    SubtractHi(RowOf<kScaled, float>(chip_, t), RowOf<kSliceHalves, half>(chip_, t), StateElems(t));
  }

  __aicore__ inline void SplitLo(uint32_t t) {
    Round(LoOf(t), RowOf<kScaled, float>(chip_, t), StateElems(t));
    HalvesToL1(t);
  }

  __aicore__ inline void HalvesToL1(uint32_t t) {
    Handoff<HardEvent::V_MTE3>(t);
    AscendC::DataCopy(RowOf<kStateHiL1, half>(chip_, t), RowOf<kSliceHalves, half>(chip_, t), StateElems(t));
    if constexpr (Compensated::kState) {
      AscendC::DataCopy(RowOf<kStateLoL1, half>(chip_, t), LoOf(t), StateElems(t));
    }
    Signal<HardEvent::MTE3_MTE1>(t);
    if (t + 1 == kSlices || slices_.strips[t + 1] == 0) {
      Signal<HardEvent::MTE3_V>(kStateHalvesLeft);
      halves_leave_ = true;
    }
  }

  __aicore__ inline LocalTensor<half> LoOf(uint32_t t) { return Row<kFetched, half>(chip_)[t == 0 ? 0 : StateElems(0)]; }

  __aicore__ inline void AwaitHalves() {
    if (halves_leave_) {
      Await<HardEvent::MTE3_V>(kStateHalvesLeft);
      halves_leave_ = false;
    }
  }

  // --- between rows and NZ: a repeat takes the same block of eight rows, and the next repeat that of the next strip ---

  // NZ = S times the numbers in kStateDecay, which are all the same.
  __aicore__ inline void ToNz(uint32_t t) {
    // Blocks of S from group g on, an odd number apart, never are in group g + 8.
    constexpr uint32_t kGroups = kPhasePeriodBytes / kBlockBytes;
    constexpr uint32_t kDecayGroup = Table::kPlace.offset[kStateDecay] / kBlockBytes % kGroups;
    constexpr uint32_t kOther = Table::kPlace.offset[kStateRows] / kBlockBytes + kBlocksPerRepeat + kGroups - kDecayGroup;
    const auto nz = RowOf<kScaled, float>(chip_, t);
    const auto state = StateOf(t);
    const auto decay = Row<kStateDecay, float>(chip_);
    const uint8_t pitch = static_cast<uint8_t>(PitchBlocks());
    for (uint32_t row = 0; row < slices_.strips[t] * kFractal; row += kRowsPerGroup) {
      for (uint32_t h = 0; h < kHalfRows; ++h) {
        const uint32_t block = (kOther + (slices_.Begin(t) + row) * pitch + h) % kGroups;
        AscendC::Mul(nz[InNz(row, h)], state[InRows(row, h)], decay[block * kFloatsPerBlock], static_cast<uint64_t>(kRepeatFloats),
                     static_cast<uint8_t>(slices_.k), {kEveryOther, pitch, 0, StripBlocks(t), kHalfRows, kHalfRows});
      }
    }
  }

  __aicore__ inline void ToRows(uint32_t t) {
    const auto nz = RowOf<kScaled, float>(chip_, t);
    const auto state = StateOf(t);
    for (uint32_t row = 0; row < slices_.strips[t] * kFractal; row += kRowsPerGroup) {
      for (uint32_t h = 0; h < kHalfRows; ++h) {
        AscendC::Muls(state[InRows(row, h)], nz[InNz(row, h)], 1.0f, static_cast<uint64_t>(kRepeatFloats),
                      static_cast<uint8_t>(slices_.k), {static_cast<uint16_t>(PitchBlocks()), kEveryOther, kHalfRows, StripBlocks(t)});
      }
    }
  }

  // --- rows in GM ---

  // fp16 rows are in slice_halves on their way. `arrived`: S has just come that way, and they are there, as they were in GM.
  __aicore__ inline void StoreRows(const GlobalTensor<StateT>& to, int64_t row, [[maybe_unused]] bool arrived) {
    const GlobalTensor<StateT> rows = to[Offset(row)];
    if constexpr (sizeof(StateT) == sizeof(float)) {
      Handoff<HardEvent::V_MTE3>(0);
      AscendC::DataCopy(rows, Row<kStateRows, float>(chip_), WholeRows(1, 0));
    } else {
      for (uint32_t t = 0; t < kSlices && slices_.strips[t] != 0; ++t) {
        if (!arrived) {
          CastRows(RowOf<kSliceHalves, half>(chip_, t), StateOf(t), slices_.k, PitchBlocks(), slices_.strips[t] * kFractal);
        }
        Handoff<HardEvent::V_MTE3>(t);
        AscendC::DataCopy(rows[slices_.Begin(t) * tiling_.k_dim], RowOf<kSliceHalves, half>(chip_, t), StateElems(t));
      }
    }
    Handoff<HardEvent::MTE3_V>(kStateRowsLeft);
  }

  __aicore__ inline void LoadRows() {
    const auto rows = gm_.initial_state[Offset(chunk_.item.sequence)];
    Handoff<HardEvent::V_MTE2>(kStateRowsRead);
    if constexpr (sizeof(StateT) == sizeof(float)) {
      AscendC::DataCopy(Row<kStateRows, float>(chip_), rows, WholeRows(0, 1));
      Handoff<HardEvent::MTE2_V>(kStateRowsArrived);
    } else {
      for (uint32_t t = 0; t < kSlices && slices_.strips[t] != 0; ++t) {
        AscendC::DataCopy(RowOf<kSliceHalves, half>(chip_, t), rows[slices_.Begin(t) * tiling_.k_dim], StateElems(t));
      }
      Handoff<HardEvent::MTE2_V>(kStateRowsArrived);
      for (uint32_t t = 0; t < kSlices && slices_.strips[t] != 0; ++t) {
        CastRows(StateOf(t), RowOf<kSliceHalves, half>(chip_, t), PitchBlocks(), slices_.k, slices_.strips[t] * kFractal);
      }
    }
  }

  // fp32 rows from or to fp16 rows, pitches in blocks: a repeat takes 64 columns of a row, or what is left of them.
  template <typename To, typename From>
  __aicore__ inline void CastRows(const LocalTensor<To>& to, const LocalTensor<From>& from, uint32_t to_pitch, uint32_t from_pitch,
                                  uint32_t rows) {
    const uint32_t cols = slices_.k * kFractal;
    for (uint32_t col = 0; col < cols; col += kRepeatFloats) {
      const uint32_t lanes = cols - col < kRepeatFloats ? cols - col : kRepeatFloats;
      AscendC::Cast(to[col], from[col], AscendC::RoundMode::CAST_NONE, static_cast<uint64_t>(lanes), static_cast<uint8_t>(rows),
                    {1, 1, static_cast<uint8_t>(to_pitch), static_cast<uint8_t>(from_pitch)});
    }
  }

  // All rows of the item, with gaps in blocks.
  __aicore__ inline AscendC::DataCopyParams WholeRows(uint16_t from_gap, uint16_t to_gap) const {
    return AscendC::DataCopyParams(static_cast<uint16_t>(Rows()), static_cast<uint16_t>(slices_.k * kHalfRows), from_gap, to_gap);
  }

  __aicore__ inline int64_t Offset(int64_t row) const {
    return ((row * tiling_.v_heads + chunk_.item.v_head) * tiling_.v_dim + chunk_.item.v_begin) * tiling_.k_dim;
  }

  __aicore__ inline uint32_t Rows() const { return chunk_.VStrips() * kFractal; }
  __aicore__ inline uint32_t Pitch() const { return StatePitch(slices_.k * kFractal); }
  __aicore__ inline uint32_t PitchBlocks() const { return Pitch() / kFloatsPerBlock; }
  __aicore__ inline uint8_t StripBlocks(uint32_t t) const { return static_cast<uint8_t>(slices_.strips[t] * kFractal * kHalfRows); }
  __aicore__ inline uint32_t InRows(uint32_t row, uint32_t h) const { return row * Pitch() + h * kFloatsPerBlock; }
  __aicore__ inline uint32_t InNz(uint32_t row, uint32_t h) const { return row * kFractal + h * kFloatsPerBlock; }

  __aicore__ inline LocalTensor<float> StateOf(uint32_t t) { return Row<kStateRows, float>(chip_)[slices_.Begin(t) * Pitch()]; }
  // (F V')^T K, in the other phase than what it is added to.
  __aicore__ inline LocalTensor<float> Update() { return Row<kFetched, float>(chip_)[kRepeatFloats]; }
  __aicore__ inline uint32_t StateElems(uint32_t t) const { return slices_.StateFractals(t) * kFractalElems; }

  const GmTensors<StateT>& gm_;
  const ChunkGatedDeltaRuleTiling& tiling_;
  bool halves_leave_ = false;  // for L1
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_STATE_ND_H_
