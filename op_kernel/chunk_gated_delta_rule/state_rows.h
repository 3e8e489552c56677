// SPDX-License-Identifier: Apache-2.0
// The state between GM, where it is rows, and L0C, where it is NZ; piece by piece through UB, two pieces on their way.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_STATE_ROWS_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_STATE_ROWS_H_

#include "../common/block/matmul.h"
#include "../common/tile/memory.h"
#include "../common/tile/nz.h"
#include "../common/tile/stage.h"
#include "chunk.h"
#include "events.h"
#include "inputs.h"
#include "places.h"
#include "slices.h"

namespace chunk_gdr {

template <typename Table, typename StateT>
class StateRows {
 public:
  static constexpr uint32_t kPieceStrips = PieceCols(Table::kBucketDim) / kFractal;
  static constexpr uint32_t kPieces = CeilDiv(Table::kBucketDim / kFractal, kPieceStrips);

  __aicore__ inline StateRows(OnChip<Table>& chip, const GmTensors<StateT>& gm, const ChunkGatedDeltaRuleTiling& tiling,
                              const Slices& slices)
      : chip_(chip), gm_(gm), tiling_(tiling), slices_(slices) {}

  // S <- initial_state, or zeros; and the same, bit for bit, to row `row` of `copy` unless that is null. While a piece becomes NZ, the next
  // is on its way.
  __aicore__ inline void Enter(const WorkItem& item, const GlobalTensor<StateT>* copy, int64_t row) {
    const StageScope stage(kCarry);
    const auto nz = Row<kFetched, float>(chip_);
    bool leaving[2] = {false, false};
    if (!tiling_.has_state) {
      AscendC::Duplicate(nz, 0.0f, PieceElems(0, 0));
      VectorDone();
    } else {
      LoadPiece(item, 0);
    }
    for (uint32_t i = 0; i < kSlices * kPieces; ++i) {
      if (tiling_.has_state && i + 1 < kSlices * kPieces) {
        AwaitRows(leaving, i + 1);
        LoadPiece(item, i + 1);
      }
      const uint32_t t = i / kPieces;
      const uint32_t piece = i % kPieces;
      if (PieceElems(t, piece) == 0) {
        continue;
      }
      if (tiling_.has_state) {
        Await<HardEvent::MTE2_V>(kStateRowsArrived + i % 2);
        if (copy != nullptr) {
          StoreRows(*copy, row, item, i, leaving);
        }
        if (item.length == 0) {
          continue;  // this state meets no token
        }
        if constexpr (sizeof(StateT) == sizeof(float)) {
          RowsToNz(nz, InRows(i), slices_.strips[t] * kFractal, PieceStrips(piece));
        } else {
          RowsToNz(nz, InRows(i), slices_.strips[t] * kFractal, PieceStrips(piece), PieceStrips(piece));
        }
        VectorDone();
      }
      PreloadResult(Piece(t, piece), nz, slices_.strips[t] * PieceStrips(piece));
      VectorDone();
    }
    AwaitRows(leaving, 0);
    AwaitRows(leaving, 1);
    if (!tiling_.has_state && copy != nullptr) {
      Store(*copy, row, item, false);
    }
  }

  // S, whole in L0C, to row `row` of a state tensor. While a piece leaves, the next becomes rows. A zero that was put together from halves
  // has lost its sign; so it does here if S is `uncut`, and a run that was split stores the same bits.
  __aicore__ inline void Store(const GlobalTensor<StateT>& to, int64_t row, const WorkItem& item, bool uncut) {
    const StageScope stage(kCarry);
    const auto nz = Row<kFetched, float>(chip_);
    bool leaving[2] = {false, false};
    for (uint32_t i = 0; i < kSlices * kPieces; ++i) {
      const uint32_t t = i / kPieces;
      const uint32_t piece = i % kPieces;
      if (PieceElems(t, piece) == 0) {
        continue;
      }
      CopyResult(nz, Piece(t, piece), 1, slices_.strips[t] * PieceStrips(piece), 0, 0);
      AwaitRows(leaving, i);
      VectorDone();
      if (uncut) {
        AscendC::Adds(nz, nz, 0.0f, PieceElems(t, piece));
        VectorDone();
      }
      if constexpr (sizeof(StateT) == sizeof(float)) {
        NzToRows(InRows(i), nz, slices_.strips[t] * kFractal, PieceStrips(piece));
      } else {
        NzToRows(InRows(i), nz, slices_.strips[t] * kFractal, PieceStrips(piece), PieceStrips(piece));
      }
      StoreRows(to, row, item, i, leaving);
      VectorDone();
    }
    AwaitRows(leaving, 0);
    AwaitRows(leaving, 1);
  }

  __aicore__ inline uint32_t PieceStrips(uint32_t piece) const {
    const uint32_t begin = piece * kPieceStrips;
    return slices_.k <= begin ? 0 : slices_.k - begin < kPieceStrips ? slices_.k - begin : kPieceStrips;
  }
  __aicore__ inline uint32_t PieceElems(uint32_t t, uint32_t piece) const {
    return slices_.strips[t] * PieceStrips(piece) * kFractalElems;
  }
  __aicore__ inline LocalTensor<float> Piece(uint32_t t, uint32_t piece) {
    return StateOf<kStateC, float>(chip_, t, slices_.state)[piece * kPieceStrips * slices_.strips[t] * kFractalElems];
  }

 private:
  // The rows of piece `i`, which the Vector queue is given before, to GM.
  __aicore__ inline void StoreRows(const GlobalTensor<StateT>& to, int64_t row, const WorkItem& item, uint32_t i, bool (&leaving)[2]) {
    const uint32_t t = i / kPieces;
    const uint32_t piece = i % kPieces;
    // The slices' ids are at rest between two chunks; chunk-parallel, the second is not a slice's.
    Handoff<HardEvent::V_MTE3>(i % 2 != 0 && IsChunkParallel<Table>(tiling_) ? kStateRowsReady : static_cast<int32_t>(i % 2));
    AscendC::DataCopy(to[Offset(item, row, t, piece)], InRows(i), Rows(t, piece, false));
    Signal<HardEvent::MTE3_V>(kStateRowsLeft + i % 2);
    leaving[i % 2] = true;
  }

  // The place of piece `i` is free.
  __aicore__ inline void AwaitRows(bool (&leaving)[2], uint32_t i) {
    if (leaving[i % 2]) {
      Await<HardEvent::MTE3_V>(kStateRowsLeft + i % 2);
      leaving[i % 2] = false;
    }
  }

  __aicore__ inline void LoadPiece(const WorkItem& item, uint32_t i) {
    const uint32_t t = i / kPieces;
    const uint32_t piece = i % kPieces;
    if (PieceElems(t, piece) == 0) {
      return;
    }
    Handoff<HardEvent::V_MTE2>(kStateRowsRead + i % 2);
    AscendC::DataCopy(InRows(i), gm_.initial_state[Offset(item, item.sequence, t, piece)], Rows(t, piece, true));
    Signal<HardEvent::MTE2_V>(kStateRowsArrived + i % 2);
  }

  // Rows of every other piece; between two chunks nothing else is in these buffers.
  __aicore__ inline LocalTensor<StateT> InRows(uint32_t i) {
    return i % 2 == 0 ? Row<kScaled, StateT>(chip_) : Row<kSliceHalves, StateT>(chip_);
  }

  __aicore__ inline int64_t Offset(const WorkItem& item, int64_t row, uint32_t t, uint32_t piece) const {
    const int64_t v_row = (row * tiling_.v_heads + item.v_head) * tiling_.v_dim + item.v_begin + slices_.Begin(t);
    return v_row * tiling_.k_dim + piece * kPieceStrips * kFractal;
  }

  // Rows of a piece, contiguous in UB, among the rows of a state tensor.
  __aicore__ inline AscendC::DataCopyParams Rows(uint32_t t, uint32_t piece, bool from_gm) const {
    constexpr uint32_t kStripBlocks = kFractal * sizeof(StateT) / kBlockBytes;
    const uint16_t gap = static_cast<uint16_t>((slices_.k - PieceStrips(piece)) * kStripBlocks);
    return AscendC::DataCopyParams(static_cast<uint16_t>(slices_.strips[t] * kFractal),
                                   static_cast<uint16_t>(PieceStrips(piece) * kStripBlocks), from_gm ? gap : static_cast<uint16_t>(0),
                                   from_gm ? static_cast<uint16_t>(0) : gap);
  }

  OnChip<Table>& chip_;
  const GmTensors<StateT>& gm_;
  const ChunkGatedDeltaRuleTiling& tiling_;
  const Slices& slices_;
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_STATE_ROWS_H_
