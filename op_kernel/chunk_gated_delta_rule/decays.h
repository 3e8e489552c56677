// SPDX-License-Identifier: Apache-2.0
// The scores lane, second part: decays, and the factors that follow from them. In steps, between which the Vector queue must be done.
//
// What token j adds to the state is scaled by c_j = beta_j r_j F_j, F_j the decay from j to the chunk's end, which may be far below what
// fp16 holds while what it scales is large. So c is cut into s_j f_j: s a power of two, down to 2^-24 and exact in fp16, which meets V and
// -e^G K S^T on the Cube; and f with the sign of c and |f| in [1, 2) for all but the smallest |c|, which scales the columns of T. So
// neither a small beta nor a small F makes T small. P is made from T, so its factors are divided by f, and f must leave T its bits: a token
// with |c| below 2^-33 adds nothing to the state (s = 0, f = 1).
//
// Where strong gates leave little of the state before and only small weights are near the chunk's end, all of c is small, and F V' would
// lie near the absolute floor of fp16 halves; and gates above 0 make c large, and F V' more than halves hold. So, if the largest |c| is 2
// or more, or below 1/16 and e^{G_n} below 1/2, s and e^{G_n} are divided by p, a power of two that brings the largest |c| to [1, 2), or
// [1/2, 1). What is accumulated is S / p, and becomes S again, exactly, before it is cut into halves (which have to be those of S: a run
// that starts from a stored S knows no p). The scalar unit makes p of the largest s a round later, when that is long there.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_DECAYS_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_DECAYS_H_

#include "../common/block/l2norm.h"
#include "../common/tile/memory.h"
#include "../common/tile/stage.h"
#include "chunk.h"
#include "events.h"
#include "lower.h"
#include "places.h"

namespace chunk_gdr {

constexpr float kSmallestShift = 0x1p-24f;
constexpr float kLargestShift = 0x1p31f;
constexpr float kSmallWeight = 0x1p-4f;
constexpr float kSmallDecay = 0.5f;
// Of the exponents of numbers below 2 the upper half, from 2^-63 on, have this bit; it alone is 2^-63. So a weight of 2^-33 to 2^31,
// brought to that edge, leaves 2^-63 there, a smaller one nothing; and a NaN counts as a weight.
constexpr uint32_t kUpperExponents = 0x20000000u;
constexpr float kSmallestWeightToEdge = 0x1p-30f;
constexpr float kEdgeToOne = 0x1p63f;

template <typename Table>
class ChunkDecays {
 public:
  __aicore__ inline ChunkDecays(OnChip<Table>& chip, const ChunkGatedDeltaRuleTiling& tiling) : chip_(chip), tiling_(tiling) {}

  __aicore__ inline void Start(const Chunk& chunk) {
    chunk_ = chunk;
    active_ = chunk.HasTokens();
  }

  // D = exp(E), e^G, e^{G_n}; above the diagonal exp(0), which meets zeros of Q K^T T.
  __aicore__ inline void Exp() {
    if (!active_) {
      return;
    }
    const StageScope stage(kScores);
    AscendC::Exp(Late<kSegments>(chip_, 0), Late<kSegments>(chip_, 1), kLowerElems);
    AscendC::Exp(Late<kDecays>(chip_, 0), Late<kDecays>(chip_, 1), kSegSide * kFractal);
  }

  // F to L1, and D becomes 1, what follows from it too.
  __aicore__ inline void ToRowDecay() {
    const StageScope stage(kScores);
    const auto decays = Late<kSegments>(chip_, 0);
    const auto row_decay = Row<kRowDecayL1, half>(chip_)[chunk_.Parity() * 2 * kChunk];
    Handoff<HardEvent::V_MTE3>(kScoresSplit);
    for (uint32_t s = 0; s < kSide; ++s) {
      AscendC::DataCopy(row_decay[2 * s * kFractal], decays[LastRow(s)].template ReinterpretCast<half>(), 2 * kFractal);
    }
    Handoff<HardEvent::MTE3_V>(kScoresLeft);
    AscendC::Duplicate(decays, 1.0f, kLowerElems);
  }

  // s, f, and the column factors of T, L and P.
  __aicore__ inline void FactorStep(uint32_t step) {
    if (!active_) {
      return;
    }
    const StageScope stage(kSolve);
    const auto weight = Of(kWeight);
    const auto shift = Of(kShift);
    const auto mantissa = Of(kMantissa);
    const auto in_range = Of(kInRange);
    const auto out_of_range = Of(kOutOfRange);
    switch (step) {
      case 0:
        Weights(weight);
        AscendC::Duplicate(mantissa.template ReinterpretCast<uint32_t>(), kExponentBits, kChunk);
        AscendC::Duplicate(out_of_range.template ReinterpretCast<uint32_t>(), kUpperExponents, kChunk);
        break;
      case 1:
        BitsOf(shift, weight, mantissa);
        AscendC::Muls(in_range, weight, kSmallestWeightToEdge, kChunk);
        break;
      case 2:
        AscendC::Maxs(shift, shift, kSmallestShift, kChunk);
        BitsOf(in_range, in_range, out_of_range);
        break;
      case 3:
        AscendC::Div(mantissa, weight, shift, kChunk);
        AscendC::Muls(in_range, in_range, kEdgeToOne, kChunk);
        break;
      case 4:
        AscendC::Mul(shift, shift, in_range, kChunk);
        AscendC::Mul(mantissa, mantissa, in_range, kChunk);
        AscendC::Muls(out_of_range, in_range, -1.0f, kChunk);
        break;
      case 5:
        AscendC::Adds(out_of_range, out_of_range, 1.0f, kChunk);
        AscendC::WholeReduceMax<float>(Largest(), shift, kChunk, 1, 1, 1, kChunk / kFloatsPerBlock);
        Signal<HardEvent::V_S>(kLargestShiftKnown);
        break;
      case 6:
        AscendC::Add(mantissa, mantissa, out_of_range, kChunk);
        AscendC::Muls(Of(kColumnOfP), Vector(kBetaVector), tiling_.scale_mantissa, kChunk);
        break;
      case 7:
        AscendC::Div(Of(kColumnOfP), Of(kColumnOfP), mantissa, kChunk);
        break;
      case 8:
        ColumnsToLanes(Row<kColumnLanes, float>(chip_), mantissa, Vector(kAVector));
        SpreadColumns(Row<kDecayColumns, float>(chip_), Of(kColumnOfP));
        break;
      default:
        ScaleLowerColumns(Row<kOutDecay, float>(chip_), Late<kSegments>(chip_, 0), Row<kDecayColumns, float>(chip_));
        break;
    }
  }

  // In the next round: p, and diag(s / p).
  __aicore__ inline void ShiftStep(uint32_t step) {
    if (!active_) {
      return;
    }
    const StageScope stage(kSolve);
    const auto shift = Of(kShift);
    switch (step) {
      case 0:
        ChoosePower();
        AscendC::Muls(shift, shift, 1.0f / power_, kChunk);
        break;
      case 1:
        AscendC::Cast(Shifts(), shift, AscendC::RoundMode::CAST_NONE, kChunk);
        break;
      default:
        DiagonalOfShifts();
        break;
    }
  }

  // Chunk-parallel, for the chunk's slot: -e^G, of every row a block; e^{G_n} / p; p and u. In the place of D, which is in P's factors by
  // now, and behind what the scores of the next chunk are measured in.
  __aicore__ inline void FactorsForSlot(float out_power) {
    if (!active_) {
      return;
    }
    const StageScope stage(kSolve);
    const auto decays = Late<kDecays>(chip_, 0);
    const auto factors = Factors();
    AscendC::Muls(factors, decays, -1.0f, static_cast<uint64_t>(kRepeatFloats), kChunk / kBlocksPerRepeat,
                  {1, kFractal / kFloatsPerBlock, kBlocksPerRepeat, kBlocksPerRepeat * kFractal / kFloatsPerBlock});
    AscendC::Muls(factors[kDecayAt], decays[kChunk * kFractal], 1.0f / power_, 2 * kRepeatFloats);
    AscendC::Duplicate(factors[kPowersAt], power_, kFloatsPerBlock);
    AscendC::Duplicate(factors[kPowersAt + kFloatsPerBlock], out_power, kFloatsPerBlock);
  }

  __aicore__ inline LocalTensor<float> Factors() {
    constexpr uint32_t kAt = kLowerElems / 2 + kChunk;
    static_assert(kAt + kFactorElems <= Elems(Table::kTable.rows[kSegments]), "the factors of a slot fit the place of D");
    return Row<kSegments, float>(chip_)[kAt];
  }

  // p of the chunk that was handed over last.
  __aicore__ inline float state_power() const { return power_; }

  // The row factors of the inter-chunk lane, which must be through with those of the chunk before; and of P's decay.
  __aicore__ inline void RowFactors() {
    if (!active_) {
      return;
    }
    const StageScope stage(kSolve);
    constexpr uint32_t kTile = kChunk * kFractal;
    const auto decays = Late<kDecays>(chip_, 0);
    const auto key = Row<kKeyDecay, float>(chip_);
    const auto query = Row<kQueryDecay, float>(chip_);
    AscendC::Muls(key, decays, -1.0f, kTile);
    AscendC::Muls(query, decays, tiling_.scale_mantissa, kTile);
    AscendC::Muls(Row<kChunkDecay, float>(chip_), decays[kTile], 1.0f / power_, 2 * kRepeatFloats);
    if (tiling_.use_qk_l2norm) {
      const StageScope norm(kState);
      const auto factors = Row<kNormSum, float>(chip_);  // [BT, 16]
      BroadcastRows(factors, Vector(kKeyVector), kChunk / kFloatsPerBlock);
      VectorDone();
      ScaleRows(key, key, factors, kChunk, 1);
      VectorDone();
      BroadcastRows(factors, Vector(kQueryVector), kChunk / kFloatsPerBlock);
      VectorDone();
      ScaleRows(query, query, factors, kChunk, 1);
      ScaleLowerRows(Row<kOutDecay, float>(chip_), factors);
    }
  }

 private:
  static constexpr uint32_t kSide = kBlocksPerSide;

  // Row 63 of D, which is F, times beta r: the last row of the four blocks of the last block row.
  __aicore__ inline void Weights(const LocalTensor<float>& row) {
    const auto beta = Vector(kBetaVector);
    for (uint32_t s = 0; s < kSide; ++s) {
      AscendC::Mul(row[s * kFractal], Late<kSegments>(chip_, 0)[LastRow(s)], beta[s * kFractal], kFractal);
    }
  }
  // Of strip s of the list.
  static constexpr __aicore__ uint32_t LastRow(uint32_t s) {
    const uint32_t block = s + 1 == kSide ? s : kSide + FirstBelow(s + 1) - 1;
    return (block + 1) * kFractalElems - kFractal;
  }

  __aicore__ inline void ChoosePower() {
    Await<HardEvent::V_S>(kLargestShiftKnown);
    const float shift = Largest().GetValue(0);
    const float decay = Late<kDecays>(chip_, 0)[kChunk * kFractal].GetValue(0);
    Handoff<HardEvent::S_V>(kLargestShiftRead);
    power_ = 1.0f;
    while (shift > power_ && power_ < kLargestShift) {
      power_ *= 2.0f;
    }
    if (shift < kSmallWeight && decay < kSmallDecay) {
      while (shift < 0.5f * power_ && power_ > kSmallestShift) {
        power_ *= 0.5f;
      }
    }
  }

  // The bits of x that are set in mask.
  __aicore__ inline void BitsOf(const LocalTensor<float>& dst, const LocalTensor<float>& x, const LocalTensor<float>& mask) {
    AscendC::And(dst.template ReinterpretCast<uint16_t>(), x.template ReinterpretCast<uint16_t>(),
                 mask.template ReinterpretCast<uint16_t>(), 2 * kChunk);
  }

  // The diagonal blocks of diag(s / p).
  __aicore__ inline void DiagonalOfShifts() {
    constexpr uint64_t kLanesOfRows = 2 * kRepeatFloats;
    const auto blocks = Row<kShiftDiagonal, half>(chip_);
    for (uint32_t s = 0; s < kSide; ++s) {
      AscendC::Mul(blocks[s * kFractalElems], Row<kIdentity, half>(chip_), Shifts()[s * kFractal], kLanesOfRows,
                   kFractal / kBlocksPerRepeat,
                   {1, 1, 0, kBlocksPerRepeat, kBlocksPerRepeat, 0});
    }
  }

  // The 16 factors of a strip, two blocks, four times over: an instruction for the first blocks of all strips, one for the second.
  __aicore__ inline void SpreadColumns(const LocalTensor<float>& columns, const LocalTensor<float>& vector) {
    constexpr uint64_t kLanesOfFour = 4 * kFloatsPerBlock;
    constexpr uint8_t kStripBlocks = kFractal / kFloatsPerBlock;
    for (uint32_t block = 0; block < kStripBlocks; ++block) {
      const uint32_t at = block * kFloatsPerBlock;
      AscendC::Muls(columns[at], vector[at], 1.0f, kLanesOfFour, kSide, {kStripBlocks, 0, 8, kStripBlocks});
    }
  }

  __aicore__ inline LocalTensor<float> Of(DecayVector which) { return Row<kDecayVectors, float>(chip_)[which * kChunk]; }
  // The largest s and its token, in the place of what says which are in range.
  __aicore__ inline LocalTensor<float> Largest() { return Of(kInRange); }
  // s / p in fp16, in the place of the weights, which are not needed any more.
  __aicore__ inline LocalTensor<half> Shifts() { return Of(kWeight).template ReinterpretCast<half>(); }
  __aicore__ inline LocalTensor<float> Vector(TokenVector which) {
    return VectorOf(chip_, chunk_.Parity(), which);
  }

  OnChip<Table>& chip_;
  const ChunkGatedDeltaRuleTiling& tiling_;
  Chunk chunk_;
  bool active_ = false;
  float power_ = 1.0f;  // p
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_DECAYS_H_
