// SPDX-License-Identifier: Apache-2.0
// The scores lane, first part: segment sums, K K^T and Q K^T. In steps, between which the Vector queue must be done.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_SCORES_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_SCORES_H_

#include "../common/block/cube_slots.h"
#include "../common/block/tri_inverse.h"
#include "../common/tile/memory.h"
#include "../common/tile/stage.h"
#include "chunk.h"
#include "compensation.h"
#include "events.h"
#include "lower.h"
#include "places.h"

namespace chunk_gdr {

template <typename Table>
class ChunkScores {
 public:
  __aicore__ inline ChunkScores(OnChip<Table>& chip, CubeSlots& slots, const ChunkGatedDeltaRuleTiling& tiling)
      : chip_(chip), slots_(slots), k_(static_cast<uint32_t>(tiling.k_dim) / kFractal) {}

  __aicore__ inline void Start(const Chunk& chunk) {
    chunk_ = chunk;
    active_ = chunk.HasTokens();
  }

  // K K^T and Q K^T.
  __aicore__ inline void ScoreProducts() {
    if (!active_) {
      return;
    }
    const StageScope stage(kScores);
    const auto keys = KeysQueriesOf(chip_, chunk_);
    Await<HardEvent::MTE3_MTE1>(kRowsInL1);
    const int32_t slot = slots_.Begin();
    LoadA(slots_.A(slot), 0, k_, {keys, 2 * kSide, 0, 0}, 2 * kSide, k_);
    LoadBTransposed(slots_.B(slot), 0, {keys, 2 * kSide, 0, 0}, k_, kSide);
    slots_.Loaded(slot);
    Multiply(Row<kGramC, float>(chip_), slots_.A(slot), slots_.B(slot), kSide, kSide, k_, Onto::kNothing);
    Multiply(Row<kQueryKeyC, float>(chip_), slots_.A(slot, kSide * k_), slots_.B(slot), kSide, kSide, k_, Onto::kNothing);
    Signal<HardEvent::M_V>(kScoresProduct);
    slots_.Done(slot);
  }

  // 16 rows hold all of g, row j of the others g_l [l > j], two fp16 pieces.
  __aicore__ inline void MaskGates() {
    if (!active_) {
      return;
    }
    const StageScope stage(kGates);
    Close();
    const auto pieces = Row<kGateHalves, half>(chip_);
    // [16 + BT, BT] NZ each; what is not written is zero in L1.
    const LocalTensor<half> operands[kGatePieces] = {Row<kGateOperand0, half>(chip_), Row<kGateOperand1, half>(chip_)};
    for (uint32_t s = 0; s < kGatePieces * kSide; ++s) {
      MaskStrip(operands[s / kSide][s % kSide * kSegSide * kFractal], pieces[s * kFractal], s % kSide);
    }
    Handoff<HardEvent::V_MTE3>(kScoresSplit);
    for (uint32_t s = 0; s < kGatePieces * kSide; ++s) {
      AscendC::DataCopy(Row<kGateOperandL1, half>(chip_)[s * kSegSide * kFractal], operands[s / kSide][s % kSide * kSegSide * kFractal],
                        (s % kSide + 2) * kFractalElems);
    }
    Signal<HardEvent::MTE3_MTE1>(kScoresInL1);
  }

  // Of the scores only the diagonal blocks of K K^T in fp32, the rest as hi.
  __aicore__ inline void FetchScores() {
    if (!active_) {
      return;
    }
    const StageScope stage(kScores);
    Await<HardEvent::M_V>(kScoresProduct);
    CopyResult(Row<kDiagonalGram, float>(chip_), Row<kGramC, float>(chip_), kSide, 1, kSide,
               (kSpreadPitch - kFractalElems) / kFloatsPerBlock);
    CopyBelow(Row<kGramHalves, half>(chip_), Row<kGramC, float>(chip_), kSide);
    CopyLower(Row<kQueryKeyHalves, half>(chip_), Row<kQueryKeyC, float>(chip_), kSide);
  }

  __aicore__ inline void FetchSums() {
    if (!active_) {
      return;
    }
    const StageScope stage(kScores);
    const auto sums = Row<kSegC, float>(chip_);
    Await<HardEvent::M_V>(kScoresProduct);
    CopyLower(Late<kSegments>(chip_, 1), sums[kSegSide * kFractal], kSegSide / kFractal);
    CopyResult(Late<kDecays>(chip_, 1), sums, 1, kSegSide / kFractal, 0, 0);
  }

  // hi to L1, and less hi in L0C.
  __aicore__ inline void SendHi() {
    if (!active_) {
      return;
    }
    const StageScope stage(kScores);
    ToL1(0);
    if constexpr (Compensated::kScores) {
      Signal<HardEvent::MTE3_MTE1>(kScoresInL1);
    } else {
      Leaving();
    }
  }

  __aicore__ inline void FetchLo() {
    if (!Compensated::kScores || !active_) {
      return;
    }
    const StageScope stage(kScores);
    Await<HardEvent::M_V>(kScoresProduct);
    CopyBelow(Row<kGramHalves, half>(chip_), Row<kGramC, float>(chip_), kSide);
    CopyLower(Row<kQueryKeyHalves, half>(chip_), Row<kQueryKeyC, float>(chip_), kSide);
  }

  __aicore__ inline void MaskLo() {
    if (!Compensated::kScores || !active_) {
      return;
    }
    const StageScope stage(kScores);
    MaskDiagonals(Row<kQueryKeyHalves, half>(chip_));
  }

  __aicore__ inline void SendLo() {
    if (!Compensated::kScores || !active_) {
      return;
    }
    const StageScope stage(kScores);
    ToL1(1);
    Leaving();
  }

  __aicore__ inline void Close() {
    if (leaving_) {
      Await<HardEvent::MTE3_V>(kScoresLeft);
      leaving_ = false;
    }
  }

  __aicore__ inline void SegmentProduct() {
    if (!active_) {
      return;
    }
    const StageScope stage(kScores);
    constexpr uint32_t kSize = kSegSide / kFractal;
    constexpr uint32_t kPiece = kSize * kSide;
    const int32_t slot = slots_.Begin();
    LoadAWhole(slots_.A(slot), Row<kUpToOnesL1, half>(chip_), kGatePieces * kPiece);
    Await<HardEvent::MTE3_MTE1>(kScoresInL1);
    LoadBWholeTransposed(slots_.B(slot), Row<kGateOperandL1, half>(chip_), kGatePieces * kPiece);
    slots_.Loaded(slot);
    // The small pieces first: added one by one to a large sum, each would lose what lies below the sum's last bit, and all the same if the
    // gates are equal. First pieces are few bits, and sums of them exact.
    const auto sums = Row<kSegC, float>(chip_);
    Multiply(sums, slots_.A(slot, kPiece), slots_.B(slot, kPiece), kSize, kSize, kSide, Onto::kNothing);
    Multiply(sums, slots_.A(slot), slots_.B(slot), kSize, kSize, kSide, Onto::kLast);
    Signal<HardEvent::M_V>(kScoresProduct);
    slots_.Done(slot);
  }

  // The scores without what is above the diagonal, in the step after they were fetched, and their largest in size: where E comes later,
  // then of each repeat, then of all; to be read once V is there.
  __aicore__ inline void MeasureScores(uint32_t step) {
    if (!active_) {
      return;
    }
    const StageScope stage(kScores);
    constexpr uint32_t kRepeatHalves = 2 * kRepeatFloats;
    constexpr uint32_t kRepeats = kLowerElems / kRepeatHalves;
    static_assert(2 * kRepeats <= kRepeatFloats, "their largest are in the lower half of a mask");
    const auto scores = Row<kQueryKeyHalves, half>(chip_);
    const auto sizes = Row<kSegments, half>(chip_);
    const auto largest = LargestScore()[kHalvesPerBlock];  // each with an index behind it
    switch (step) {
      case 0:
        MaskDiagonals(scores);
        break;
      case 1:
        AscendC::Abs(sizes, scores, kLowerElems);
        break;
      case 2:
        AscendC::WholeReduceMax<half>(largest, sizes, static_cast<int32_t>(kRepeatHalves), kRepeats, 1, 1, kRepeatHalves / kHalvesPerBlock);
        break;
      default:
        uint64_t values[2] = {0x5555555555555555ull & ((1ull << 2 * kRepeats) - 1), 0};
        AscendC::WholeReduceMax<half>(LargestScore(), largest, values, 1, 1, 1, kFloatsPerBlock);
        break;
    }
  }
  __aicore__ inline float Largest() { return static_cast<float>(LargestScore().GetValue(0)); }

  // (K K^T) o D, as if it had been fetched so.
  __aicore__ inline void GramMeetsDecays() {
    const StageScope stage(kScores);
    const auto diagonal = Row<kDiagonalGram, float>(chip_);
    for (uint32_t s = 0; s < kSide; ++s) {
      const LocalTensor<float> block = diagonal[s * kSpreadPitch];
      AscendC::Mul(block, block, Late<kSegments>(chip_, 0)[s * kFractalElems], kFractalElems);
    }
    const auto gram = Row<kGramC, float>(chip_);
    const auto below = Row<kSolveA, float>(chip_);
    CopyBelow(below, gram, kSide);
    RescaleList(below, kDiagonalElems, kOffElems, 1.0f, true);
    Round(Row<kGramHalves, half>(chip_), below, kOffElems);
    PreloadBelow(gram, below, kSide);
    VectorDone();
  }

  // power Q K^T, o D too if it is gated, in L0C and as if it had been fetched so.
  __aicore__ inline void Rescale(float power, bool gated) {
    const StageScope stage(kScores);
    const auto part = Row<kSolveA, float>(chip_);
    const auto query_key = Row<kQueryKeyC, float>(chip_);
    const auto halves = Row<kQueryKeyHalves, half>(chip_);
    CopyResult(part, query_key, kSide, 1, kSide, 0);
    RescaleList(part, 0, kDiagonalElems, power, gated);
    Round(halves, part, kDiagonalElems);
    for (uint32_t s = 0; s < kSide; ++s) {
      PreloadResult(query_key[s * (kSide + 1) * kFractalElems], part[s * kFractalElems], 1);
    }
    VectorDone();
    CopyBelow(part, query_key, kSide);
    MaskDiagonals(halves);
    RescaleList(part, kDiagonalElems, kOffElems, power, gated);
    Round(halves[kDiagonalElems], part, kOffElems);
    PreloadBelow(query_key, part, kSide);
    VectorDone();
  }

  // C -= hi of both scores; of K K^T only what lies below the diagonal blocks.
  __aicore__ inline void SubtractHi() {
    if (!Compensated::kScores || !active_) {
      return;
    }
    const StageScope stage(kScores);
    const auto gram = Row<kGramC, float>(chip_);
    const auto query_key = Row<kQueryKeyC, float>(chip_);
    const int32_t slot = slots_.Begin();
    LoadB(slots_.B(slot), 0, {Row<kMinusOneL1, half>(chip_), 1, 0, 0}, 1, 1);
    Await<HardEvent::MTE3_MTE1>(kScoresInL1);
    LoadA(slots_.A(slot), 0, kOffBlocks, {GramOf(chip_, chunk_, 0), 1, 0, 0}, 1, kOffBlocks);
    for (uint32_t s = 0; s < kSide; ++s) {  // a strip of C is a column of the tile
      LoadFractals(slots_.A(slot, kOffBlocks + s * kSide), 0, {QueryKeyOf(chip_, chunk_, 0), 1, 0, 0}, s, 0, kSide, kSide, false);
    }
    slots_.Loaded(slot);
    for (uint32_t s = 0; s + 1 < kSide; ++s) {
      Multiply(gram[(s * kSide + s + 1) * kFractalElems], slots_.A(slot, FirstBelow(s)), slots_.B(slot), BelowDiagonal(s), 1, 1,
               Onto::kSettled);
    }
    Multiply(query_key, slots_.A(slot, kOffBlocks), slots_.B(slot), kSide * kSide, 1, 1, Onto::kSettled);
    Signal<HardEvent::M_V>(kScoresProduct);
    slots_.Done(slot);
  }

 private:
  __aicore__ inline void Leaving() {
    Signal<HardEvent::MTE3_V>(kScoresLeft);
    leaving_ = true;
  }

  static constexpr uint32_t kSide = kBlocksPerSide;

  // A strip, the 16 tokens l of block `block`: all of them in the first 16 rows and where j lies in an earlier block, none where it lies
  // in a later one.
  __aicore__ inline void MaskStrip(const LocalTensor<half>& strip, const LocalTensor<half>& gates, uint32_t block) {
    const uint64_t lanes = 2 * kRepeatFloats;
    constexpr uint8_t kRepeats = kFractal / kBlocksPerRepeat;  // of one block's rows
    AscendC::Muls(strip, gates, static_cast<half>(1.0f), lanes, static_cast<uint8_t>((block + 1) * kRepeats), {1, 0, kBlocksPerRepeat, 0});
    AscendC::Mul(strip[(block + 1) * kFractalElems], Row<kGateMask, half>(chip_), gates, lanes, kRepeats,
                 {1, 1, 0, kBlocksPerRepeat, kBlocksPerRepeat, 0});
  }

  // Zeros above the diagonal of four blocks: an instruction for the upper half of all, one for the lower. Written, not multiplied: the
  // score of a later key may be beyond half, and 0 * inf is no zero.
  __aicore__ inline void MaskDiagonals(const LocalTensor<half>& blocks) {
    constexpr uint32_t kRows = kFractal / 2;
    for (uint32_t row = 0; row < kFractal; row += kRows) {
      uint64_t above[2] = {AboveDiagonal(row), AboveDiagonal(row + kRows / 2)};
      AscendC::Duplicate(blocks[row * kFractal], static_cast<half>(0.0f), above, kSide, 1, kFractalElems / kHalvesPerBlock);
    }
  }
  // What lies above the diagonal in four rows of 16, a bit each.
  static constexpr __aicore__ uint64_t AboveDiagonal(uint32_t row) {
    uint64_t above = 0;
    for (uint32_t i = 0; i < 4; ++i) {
      above |= (0xFFFFull & ~((2ull << (row + i)) - 1)) << i * kFractal;
    }
    return above;
  }

  // In the place of a vector that is made later, behind what ChunkSolve leaves there.
  __aicore__ inline LocalTensor<half> LargestScore() {
    return Row<kDecayVectors, float>(chip_)[kOutOfRange * kChunk + kDiagonalExtremes].template ReinterpretCast<half>();
  }

  // Blocks of a list, from element `first` on, where A is made of K K^T again later.
  __aicore__ inline void RescaleList(const LocalTensor<float>& part, uint32_t first, uint32_t elems, float power, bool gated) {
    VectorDone();
    if (gated) {
      AscendC::Mul(part, part, Late<kSegments>(chip_, 0)[first], elems);
      VectorDone();
    }
    AscendC::Muls(part, part, power, elems);
    VectorDone();
  }

  // hi or lo of both scores.
  __aicore__ inline void ToL1(uint32_t piece) {
    Handoff<HardEvent::V_MTE3>(kScoresSplit);
    AscendC::DataCopy(GramOf(chip_, chunk_, piece), Row<kGramHalves, half>(chip_), kOffElems);
    LowerToL1(QueryKeyOf(chip_, chunk_, piece), Row<kQueryKeyHalves, half>(chip_));
  }

  OnChip<Table>& chip_;
  CubeSlots& slots_;
  Chunk chunk_;
  bool active_ = false;
  bool leaving_ = false;  // the scores of the chunk before are on their way to L1
  uint32_t k_;  // strips of Dk
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_SCORES_H_
