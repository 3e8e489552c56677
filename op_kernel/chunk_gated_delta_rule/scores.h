// SPDX-License-Identifier: Apache-2.0
// The intra-chunk lane, first part: decays, M and A of a chunk. In steps, between which the Vector queue must be done.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_SCORES_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_SCORES_H_

#include "../common/block/cube_slots.h"
#include "../common/tile/memory.h"
#include "../common/tile/stage.h"
#include "chunk.h"
#include "events.h"
#include "lower.h"

namespace chunk_gdr {

template <typename Table>
class ChunkScores {
 public:
  __aicore__ inline ChunkScores(OnChip<Table>& chip, CubeSlots& slots, const ChunkGatedDeltaRuleTiling& tiling)
      : chip_(chip), slots_(slots), tiling_(tiling), k_(static_cast<uint32_t>(tiling.k_dim) / kFractal) {}

  __aicore__ inline void Start(const Chunk& chunk) {
    chunk_ = chunk;
    active_ = chunk.HasTokens();
  }

  // [K; Q] K^T is issued; row j of B^T = g_l [l > j], two fp16 pieces; 16 more rows hold all of g.
  __aicore__ inline void MaskGates() {
    if (!active_) {
      return;
    }
    const StageScope stage(kGates);
    ScoreProduct();
    const auto pieces = Get<kGateHalves, half>()[chunk_.Handover() * kGatePieces * kChunk];
    const auto operand = Get<kGateOperandUb, half>();  // [BT+16, 2 BT] NZ
    for (uint32_t s = 0; s < kGatePieces * kSide; ++s) {
      MaskStrip(operand[s * kSegCols * kFractal], pieces[s * kFractal], s % kSide);
    }
    Handoff<HardEvent::V_MTE3>(kGatesMasked);
    AscendC::DataCopy(Get<kGateOperandL1, half>(), operand, kSegCols * kSegInner);
    Signal<HardEvent::MTE3_MTE1>(kGatesInL1);
    SegmentProduct();
  }

  // E, e^G, F and the scores from L0C.
  __aicore__ inline void FetchScores() {
    if (!active_) {
      return;
    }
    const StageScope stage(kScores);
    Await<HardEvent::M_V>(kIntraProduct);
    const auto decays = Late<kDecays>(1);
    CopyLower(Late<kSegments>(1), Get<kSegC, float>(), kSide, 0);
    CopyResult(decays, Get<kSegC, float>()[kSide * kDiagonalElems], 1, kSide, 0, 0);
    CopyResult(decays[kChunk * kFractal], Get<kTotalsC, float>(), 1, kTotalRows / kFractal, 0, 0);
    CopyLower(Late<kScoresK>(1), Get<kScoresC, float>(), 2 * kSide, 0);
    CopyLower(Late<kScoresQ>(1), Get<kScoresC, float>(), 2 * kSide, kSide);
    BroadcastRows(Get<kFactors, float>(), Vector(kAVector), kChunk / kFloatsPerBlock);
  }

  // D = exp(E); above the diagonal exp(0), which only M minds.
  __aicore__ inline void ExpSegments() {
    if (!active_) {
      return;
    }
    const StageScope stage(kScores);
    AscendC::Exp(Late<kSegments>(0), Late<kSegments>(1), kLowerElems);
    AscendC::Exp(Late<kDecays>(0), Late<kDecays>(1), kDecayRows * kFractal);
  }

  // M = (Q K^T) o D and (K K^T) o D.
  __aicore__ inline void DecayScores() {
    if (!active_) {
      return;
    }
    const StageScope stage(kScores);
    AscendC::Mul(Late<kScoresK>(0), Late<kScoresK>(1), Late<kSegments>(0), kLowerElems);
    AscendC::Mul(Late<kScoresQ>(0), Late<kScoresQ>(1), Late<kSegments>(0), kLowerElems);
  }

  __aicore__ inline void ScaleScores() {
    if (!active_) {
      return;
    }
    const StageScope stage(kScores);
    ScaleLowerRows(Get<kDiagonalA, float>(), kSpreadPitch, Get<kSegments, float>(), Late<kScoresK>(0), Get<kFactors, float>());
    const auto m = Late<kScoresQ>(0);
    if (tiling_.use_qk_l2norm) {
      VectorDone();
      BroadcastRows(Get<kFactors, float>(), Vector(kQueryVector), kChunk / kFloatsPerBlock);
      VectorDone();
      ScaleLowerRows(m, kFractalElems, m[kDiagonalElems], m, Get<kFactors, float>());
      VectorDone();
    }
    for (uint32_t s = 0; s < kSide; ++s) {
      const LocalTensor<float> diagonal = m[s * kFractalElems];
      AscendC::Mul(diagonal, diagonal, Get<kCausalScale, float>(), kFractalElems);
    }
    AscendC::Muls(m[kDiagonalElems], m[kDiagonalElems], tiling_.scale_mantissa, kOffElems);
  }

  __aicore__ inline void RoundScores() {
    if (!active_) {
      return;
    }
    const StageScope stage(kSplit);
    Round(Get<kScoresHalves, half>(), Late<kScoresQ>(0), kLowerElems);
    Round(Get<kAHalves, half>(), Get<kSegments, float>(), kOffElems);
  }

  __aicore__ inline void RestOfScores() {
    if (!active_) {
      return;
    }
    const StageScope stage(kSplit);
    SubtractHi(Late<kScoresQ>(0), Get<kScoresHalves, half>(), kLowerElems);
    SubtractHi(Get<kSegments, float>(), Get<kAHalves, half>(), kOffElems);
  }

  __aicore__ inline void SendScores() {
    if (!active_) {
      return;
    }
    const StageScope stage(kSplit);
    Round(Get<kScoresHalves, half>()[kLowerElems], Late<kScoresQ>(0), kLowerElems);
    Round(Get<kAHalves, half>()[kOffElems], Get<kSegments, float>(), kOffElems);
    Handoff<HardEvent::V_MTE3>(kIntraSplit);
    const auto scores = Get<kScoresHalves, half>();
    const auto l1 = Get<kScoresL1, half>()[chunk_.Handover() * 2 * kTileElems];
    OffDiagonalsToL1(Get<kAL1, half>(), Get<kAHalves, half>(), kOffElems);
    DiagonalsToL1(l1, scores, kLowerElems, kFractalElems);
    OffDiagonalsToL1(l1, scores[kDiagonalElems], kLowerElems);
  }

  // The row factors of the inter-chunk lane; it must be through with those of the chunk before.
  __aicore__ inline void BroadcastHandover() {
    if (!active_ || !tiling_.use_qk_l2norm) {
      return;
    }
    const StageScope stage(kSolve);
    const auto factors = Get<kHandoverFactors, float>();
    BroadcastRows(factors, Vector(kKeyVector), kChunk / kFloatsPerBlock);
    BroadcastRows(factors[kChunk * kFractal], Vector(kQueryVector), kChunk / kFloatsPerBlock);
  }

  __aicore__ inline void HandOver() {
    if (!active_) {
      return;
    }
    const StageScope stage(kSolve);
    const auto decays = Late<kDecays>(0);
    constexpr uint32_t kTile = kChunk * kFractal;
    if (tiling_.use_qk_l2norm) {
      const auto factors = Get<kHandoverFactors, float>();
      AscendC::Muls(Get<kKeyDecay, float>(), decays, -1.0f, kTile);
      AscendC::Muls(Get<kQueryDecay, float>(), decays, tiling_.scale_mantissa, kTile);
      VectorDone();
      ScaleRows(Get<kKeyDecay, float>(), Get<kKeyDecay, float>(), factors, kChunk, 1);
      ScaleRows(Get<kQueryDecay, float>(), Get<kQueryDecay, float>(), factors[kTile], kChunk, 1);
    } else {
      AscendC::Muls(Get<kKeyDecay, float>(), decays, -1.0f, kTile);
      AscendC::Muls(Get<kQueryDecay, float>(), decays, tiling_.scale_mantissa, kTile);
    }
    AscendC::Muls(Get<kChunkDecay, float>(), decays[kTile], 1.0f, 2 * kRepeatFloats);
    AscendC::Muls(Get<kDecayToEnd, float>(), decays[kTile + kFractalElems], 1.0f, kTile);
  }

 private:
  static constexpr uint32_t kSide = kBlocksPerSide;
  static constexpr uint32_t kDecayRows = 2 * kChunk + kFractal;

  // Rows j of a strip, the 16 tokens l of block `block`: all of them where j lies in an earlier block, none in a later one, all in the last
  // 16 rows.
  __aicore__ inline void MaskStrip(const LocalTensor<half>& strip, const LocalTensor<half>& gates, uint32_t block) {
    const uint64_t lanes = 2 * kRepeatFloats;
    constexpr uint8_t kRepeats = kFractal / kBlocksPerRepeat;  // of one block's rows
    const uint32_t after = (block + 1) * kFractalElems;
    if (block != 0) {
      AscendC::Muls(strip, gates, static_cast<half>(1.0f), lanes, static_cast<uint8_t>(block * kRepeats), {1, 0, kBlocksPerRepeat, 0});
    }
    AscendC::Mul(strip[block * kFractalElems], Get<kGateMask, half>(), gates, lanes, kRepeats,
                 {1, 1, 0, kBlocksPerRepeat, kBlocksPerRepeat, 0});
    if (block + 1 != kSide) {
      AscendC::Duplicate(strip[after], static_cast<half>(0.0f), (kSide - 1 - block) * kFractalElems);
    }
    AscendC::Muls(strip[kChunk * kFractal], gates, static_cast<half>(1.0f), lanes, kRepeats, {1, 0, kBlocksPerRepeat, 0});
  }

  // [K; Q] K^T, exact operands.
  __aicore__ inline void ScoreProduct() {
    const auto keys = Get<kKeyQueryL1, half>()[chunk_.InL1() * 2 * kChunk * Table::kBucketDim];
    Await<HardEvent::MTE3_MTE1>(kKeysInL1);
    const int32_t slot = slots_.Begin();
    LoadA(slots_.A(slot), 0, k_, {keys, 2 * kSide, 0, 0}, 2 * kSide, k_);
    LoadBTransposed(slots_.B(slot), 0, {keys, 2 * kSide, 0, 0}, k_, kSide);
    slots_.Loaded(slot);
    Multiply(Get<kScoresC, float>(), slots_.A(slot), slots_.B(slot), 2 * kSide, kSide, k_, Onto::kNothing);
    slots_.Done(slot);
  }

  // Segment sums: [BT, BT+16], and [16 + BT, 16] from the last strip of the same operand.
  __aicore__ inline void SegmentProduct() {
    constexpr uint32_t kCols = kSegCols / kFractal;
    constexpr uint32_t kRows = kTotalRows / kFractal;
    constexpr uint32_t kInner = kSegInner / kFractal;
    const auto gates = Get<kGateOperandL1, half>();
    const auto up_to = Get<kUpToOnesL1, half>();
    const auto total = Get<kTotalOnesL1, half>();
    int32_t slot = slots_.Begin();
    LoadA(slots_.A(slot), 0, kInner, {up_to, kSide, 0, 0}, kSide, kInner);
    Await<HardEvent::MTE3_MTE1>(kGatesInL1);
    LoadBWholeTransposed(slots_.B(slot), gates, kInner * kCols);
    slots_.Loaded(slot);
    Multiply(Get<kSegC, float>(), slots_.A(slot), slots_.B(slot), kSide, kCols, kInner, Onto::kNothing);
    slots_.Done(slot);
    slot = slots_.Begin();
    LoadA(slots_.A(slot), 0, kInner, {total, kRows, 0, 0}, kRows, kInner);
    LoadFractals(slots_.B(slot), 0, {gates, kCols, 0, 0}, kCols - 1, 0, kInner, kCols, false);
    slots_.Loaded(slot);
    Multiply(Get<kTotalsC, float>(), slots_.A(slot), slots_.B(slot), kRows, 1, kInner, Onto::kNothing);
    Signal<HardEvent::M_V>(kIntraProduct);
    slots_.Done(slot);
  }

  // An instruction that works in place writes one repeat below what it reads: into the banks of the other phase. So a row that is worked on
  // n times starts n repeats late.
  template <uint32_t kId>
  __aicore__ inline LocalTensor<float> Late(uint32_t repeats) {
    return Get<kId, float>()[repeats * kRepeatFloats];
  }

  __aicore__ inline LocalTensor<float> Vector(TokenVector which) {
    return Get<kVectors, float>()[(chunk_.Handover() * kTokenVectors + which) * kChunk];
  }

  template <uint32_t kId, typename T>
  __aicore__ inline LocalTensor<T> Get() {
    return chip_.template Get<kId, T>();
  }

  OnChip<Table>& chip_;
  CubeSlots& slots_;
  const ChunkGatedDeltaRuleTiling& tiling_;
  Chunk chunk_;
  bool active_ = false;
  uint32_t k_;  // strips of Dk
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_SCORES_H_
