// SPDX-License-Identifier: Apache-2.0
// Chunk-parallel: what the scores and combine lanes of one core make of a chunk reaches the inter-chunk lanes of other cores through its
// slot in the workspace; those fetch the rows of their chunks from GM themselves.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_HANDOVER_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_HANDOVER_H_

#include "../common/tile/memory.h"
#include "../common/tile/stage.h"
#include "../common/tile/sync.h"
#include "chunk.h"
#include "compensation.h"
#include "events.h"
#include "inputs.h"
#include "lower.h"
#include "places.h"

namespace chunk_gdr {

template <typename Table, typename StateT>
class ChunkHandover {
 public:
  using Tensors = GmTensors<StateT>;

  __aicore__ inline ChunkHandover(OnChip<Table>& chip, const Tensors& gm, const ChunkGatedDeltaRuleTiling& tiling)
      : chip_(chip), gm_(gm), tiling_(tiling) {}

  // --- to the slots ---

  // T from L1 to UB, behind the halves of P.
  __aicore__ inline void StageT(const Chunk& done) {
    if (!done.HasTokens()) {
      return;
    }
    const StageScope stage(kOutWeight);
    Handoff<HardEvent::V_MTE1>(kStagingFree);
    for (uint32_t h = 0; h < 2; ++h) {
      const auto t = TOf(chip_, done, h);
      for (uint32_t row = 0; row < kBlocksPerSide; ++row) {
        AscendC::DataCopy(Staged(h)[2 * kLowerElems + RowBegin(row)], t[row * kBlocksPerSide * kFractalElems],
                          (row + 1) * kFractalElems);
      }
    }
    Signal<HardEvent::MTE1_MTE3>(kStaged);
  }

  // T and P of a chunk. Nobody waits for these stores by name: what V writes to their places belongs to a later chunk, and the combine lane
  // of the chunk between brings rows to L1 behind them, whose product V has by then fetched.
  __aicore__ inline void Store(const Chunk& done) {
    if (!done.HasTokens()) {
      return;
    }
    const StageScope stage(kOutWeight);
    const int64_t slot = Slot(done);
    Await<HardEvent::MTE1_MTE3>(kStaged);  // V was through with P before T was staged
    AscendC::DataCopy(gm_.slots[slot + kSlotOutWeight], Staged(done.Parity()), kOutWeightPieces * kLowerElems);
    for (uint32_t h = 0; h < 2; ++h) {
      AscendC::DataCopy(gm_.slots[slot + kSlotT + h * kLowerElems], Staged(h)[2 * kLowerElems], kLowerElems);
    }
  }

  // The factors of the next chunk, whose diagonal blocks are through; likewise.
  __aicore__ inline void StoreFactors(const Chunk& next, const LocalTensor<float>& factors) {
    if (!next.HasTokens()) {
      return;
    }
    const StageScope stage(kSolve);
    const int64_t slot = Slot(next);
    Handoff<HardEvent::V_MTE3>(kSlotReady);
    AscendC::DataCopy(gm_.slots[slot + kSlotShift], Row<kShiftDiagonal, half>(chip_), kDiagonalElems);
    AscendC::DataCopy(gm_.slots[slot + kSlotFactors], factors.template ReinterpretCast<half>(), 2 * kFactorElems);
  }

  // --- from GM ---

  // Of a ragged chunk the rows without a token are zero. The slot of the same chunk follows, so that who has waited for its factors has the
  // rows as well; and the slot before it has waited for T of a chunk that met the state after the one whose rows lay here.
  __aicore__ inline void FetchRows(const Chunk& chunk) {
    if (!chunk.HasTokens()) {
      return;
    }
    const StageScope stage(kLoad);
    const int64_t k_head = KeyHead(tiling_, chunk.item);
    const auto l1 = TurnRowsOf(chip_, chunk);
    const uint32_t k = static_cast<uint32_t>(tiling_.k_dim);
    LoadRows(l1, gm_.key, chunk, (chunk.token * tiling_.k_heads + k_head) * k, k, tiling_.k_heads * tiling_.k_dim);
    LoadRows(l1[kChunk * k], gm_.query, chunk, (chunk.token * tiling_.k_heads + k_head) * k, k, tiling_.k_heads * tiling_.k_dim);
    LoadRows(TurnValuesOf(chip_, chunk), gm_.value, chunk,
             (chunk.token * tiling_.v_heads + chunk.item.v_head) * tiling_.v_dim + chunk.item.v_begin,
             static_cast<uint32_t>(chunk.item.v_cols), tiling_.v_heads * tiling_.v_dim);
  }

  // What its scores and combine lanes left, after all cores have synchronised.
  __aicore__ inline void FetchSlot(const Chunk& chunk) {
    if (!chunk.HasTokens()) {
      return;
    }
    const StageScope stage(kLoad);
    const int64_t slot = Slot(chunk);
    const uint32_t t = chunk.Turn();
    if (slot_read_[t]) {
      Await<HardEvent::MTE1_MTE2>(kSlotRead + t);
    }
    slot_read_[t] = true;
    AscendC::DataCopy(SlotFactorsOf(chip_, chunk), gm_.slots[slot + kSlotFactors], 2 * kFactorElems);
    Signal<HardEvent::MTE2_MTE1>(kFactorsArrived + t);
    AscendC::DataCopy(SlotShiftOf(chip_, chunk), gm_.slots[slot + kSlotShift],
                      AscendC::DataCopyParams(kBlocksPerSide, kFractal, 0, kBlocksPerSide * kFractal));
    const auto out_weight = SlotOutWeightOf(chip_, chunk);
    for (uint32_t h = 0; h < kOutWeightPieces; ++h) {
      LowerToL1(out_weight[h * kTileElems], gm_.slots[slot + kSlotOutWeight + h * kLowerElems]);
    }
    const auto tile = SlotTOf(chip_, chunk);
    for (uint32_t row = 0; row < kBlocksPerSide; ++row) {
      const uint32_t blocks = row + 1;
      AscendC::DataCopy(tile[row * kBlocksPerSide * kFractalElems], gm_.slots[slot + kSlotT + RowBegin(row)],
                        AscendC::DataCopyParams(2, static_cast<uint16_t>(blocks * kFractal),
                                                static_cast<uint16_t>((kLowerBlocks - blocks) * kFractal),
                                                static_cast<uint16_t>((kBlocksPerSide * kBlocksPerSide - blocks) * kFractal)));
    }
    Signal<HardEvent::MTE2_MTE1>(kSlotArrived + t);
  }

  // Before the factors of a chunk come to UB so early that no rows have followed those of the turn before.
  __aicore__ inline void AwaitFactorsRead(const Chunk& chunk) {
    if (chunk.HasTokens()) {
      Handoff<HardEvent::V_MTE1>(kFactorsRead);
    }
  }

  // -e^G, the factor of K S^T, to where that of Q S^T is made of it. Behind a job with rows that V has sent to L1 after it used the factors
  // of the turn before, or behind AwaitFactorsRead.
  __aicore__ inline void FactorsToUb(const Chunk& chunk) {
    if (!chunk.HasTokens()) {
      return;
    }
    const StageScope stage(kLoad);
    const uint32_t t = chunk.Turn();
    Await<HardEvent::MTE2_MTE1>(kFactorsArrived + t);
    const auto factors = SlotFactorsOf(chip_, chunk);
    for (uint32_t block = 0; block < 2; ++block) {  // of a row of 16
      AscendC::DataCopy(Row<kKeyDecay, half>(chip_)[block * kHalvesPerBlock], factors, AscendC::DataCopyParams(kChunk, 1, 0, 1));
    }
    AscendC::DataCopy(Row<kChunkDecay, half>(chip_), factors[2 * kDecayAt], 2 * 2 * kRepeatFloats);
    AscendC::DataCopy(Row<kPowers, half>(chip_)[2 * t * kHalvesPerBlock], factors[2 * kPowersAt], 2 * kHalvesPerBlock);
  }

  // Behind a product that MTE1 has loaded for after them, and that V has fetched.
  __aicore__ inline void QueryFactors(const Chunk& chunk) {
    if (!chunk.HasTokens()) {
      return;
    }
    const StageScope stage(kLoad);
    Signal<HardEvent::V_S>(kPowersInUb);
    AscendC::Muls(Row<kQueryDecay, float>(chip_), Row<kKeyDecay, float>(chip_), -tiling_.scale_mantissa, kChunk * kFractal);
  }

  // p and u of the chunk whose factors are in UB, read long after they came.
  __aicore__ inline Powers ReadPowers(const Chunk& chunk) {
    Powers powers;
    if (chunk.HasTokens()) {
      Await<HardEvent::V_S>(kPowersInUb);
      const auto blocks = Row<kPowers, float>(chip_)[2 * chunk.Turn() * kFloatsPerBlock];
      powers.state = blocks.GetValue(0);
      powers.out = blocks.GetValue(kFloatsPerBlock);
      if (chunk.Turn() + 1 == kTurns) {  // for those of turn 0 as well: a round follows only if it had all turns
        Handoff<HardEvent::S_V>(kPowersRead);
      }
    }
    return powers;
  }

  // The last promises are met.
  __aicore__ inline void Close() {
    for (uint32_t t = 0; t < kTurns; ++t) {
      if (slot_read_[t]) {
        Await<HardEvent::MTE1_MTE2>(kSlotRead + t);
      }
    }
  }

 private:
  static constexpr uint32_t kOutWeightPieces = Compensated::kOutWeight ? 2 : 1;

  __aicore__ inline LocalTensor<half> Staged(uint32_t i) { return i == 0 ? Row<kRows0, half>(chip_) : Row<kRows1, half>(chip_); }

  // Elements before row `row` of blocks of T as a list.
  static constexpr __aicore__ uint32_t RowBegin(uint32_t row) { return row * (row + 1) / 2 * kFractalElems; }

  __aicore__ inline int64_t Slot(const Chunk& chunk) const {
    return (chunk.item.v_head * SlotsPerHead(tiling_) + chunk.Slot()) * kSlotElems;
  }

  __aicore__ inline void LoadRows(const LocalTensor<half>& l1, const GlobalTensor<half>& tensor, const Chunk& chunk, int64_t offset,
                                  uint32_t cols, int64_t pitch) {
    AscendC::DataCopy(l1, tensor[offset],
                      AscendC::DataCopyParams(static_cast<uint16_t>(chunk.live), static_cast<uint16_t>(cols / kFractal),
                                              static_cast<uint16_t>((pitch - cols) / kFractal), 0));
    if (chunk.live < kChunk) {
      AscendC::DataCopy(l1[chunk.live * cols], gm_.zeros, (kChunk - chunk.live) * cols);
    }
  }

  OnChip<Table>& chip_;
  const Tensors& gm_;
  const ChunkGatedDeltaRuleTiling& tiling_;
  bool slot_read_[kTurns] = {};
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_HANDOVER_H_
