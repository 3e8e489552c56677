// SPDX-License-Identifier: Apache-2.0
// Chunks that the common way has no room for. Two numbers that follow from what each chunk leaves in UB say which; such
// a chunk stops between two steps, and what it takes is done there.
//
// Growth. T has no decays in it, see README.md; that takes keys for which the recurrence is stable without them: what lies along the key of
// a token is multiplied by 1 - beta |k|^2 r^2. Where that is more than 1 in size, (I - A)^-1 grows by it from token to token, strong gates
// or not. So such a chunk has its decays in A and in Q K^T, as the usual form has: (I - A o D)^-1 and Q K^T o D. What follows from D is
// then as if D were 1, and F, which the rows of T have in them otherwise, comes to them once P is made.
//
// Scores. Where all of Q K^T is so small that its halves are near their absolute floor, or some of it so large that they end, it is
// multiplied by u, a power of two; so are then P and what out is accumulated onto, and out is divided by it.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_DETOUR_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_DETOUR_H_

#include "combine.h"
#include "decays.h"
#include "scores.h"
#include "solve.h"

namespace chunk_gdr {

// As large as 1.6 after 64 tokens, so that rounding does not send keys of norm 1 with a beta of 2 the longer way.
constexpr float kLargestGrowth = 1.0f + 0x1p-7f;
// P needs room above the scores: for the mantissa of scale with its lift, and for decays of up to e^4.
constexpr float kLargeScore = 0x1p4f;
constexpr float kLargestHalf = 65504.0f;
constexpr float kPowerBeyondHalf = 0x1p-13f;
constexpr float kSmallScore = 0x1p-8f;
constexpr float kLargestPower = 0x1p24f;  // also where the largest score is 0, rounded to fp16

template <typename Table>
class Detour {
 public:
  __aicore__ inline Detour(ChunkScores<Table>& scores, ChunkDecays<Table>& decays, ChunkSolve<Table>& solve, ChunkCombine<Table>& combine)
      : scores_(scores), decays_(decays), solve_(solve), combine_(combine) {}

  // The two scalars, in four steps after a chunk's scores were fetched, the last one with A in lanes.
  __aicore__ inline void Measure(const Chunk& chunk, uint32_t step) {
    if (!chunk.HasTokens()) {
      return;
    }
    scores_.MeasureScores(step);
    if (step == kMeasureSteps - 1) {
      solve_.MeasureGrowth();
      Signal<HardEvent::V_S>(kDetourKnown);
    }
  }

  // A chunk whose scores and decays are in UB, before the scores leave for L1.
  __aicore__ inline void ScoresOf(const Chunk& chunk) {
    if (!chunk.HasTokens()) {
      return;
    }
    bool& gated = gated_[chunk.Parity()];
    float& power = powers_[chunk.Parity()];
    Await<HardEvent::V_S>(kDetourKnown);
    gated = solve_.Growth() > kLargestGrowth;
    power = PowerFor(scores_.Largest());
    Handoff<HardEvent::S_V>(kDetourRead);
    if (!gated && power == 1.0f) {
      return;
    }
    if (gated) {
      scores_.GramMeetsDecays();
    }
    scores_.Rescale(power, gated);
    solve_.Restart();
    if (gated) {
      decays_.ToRowDecay();
    }
    VectorDone();
  }

  // A chunk whose P is in UB.
  __aicore__ inline void RowsOfT(const Chunk& chunk) {
    if (chunk.HasTokens() && gated_[chunk.Parity()]) {
      combine_.MeetRowDecay();
    }
  }

  // u.
  __aicore__ inline float out_power(const Chunk& chunk) const { return powers_[chunk.Parity()]; }

 private:
  static constexpr uint32_t kMeasureSteps = 4;

  // No more than it takes: other rows of the chunk may have smaller scores.
  static __aicore__ inline float PowerFor(float largest) {
    if (largest >= kLargestHalf) {
      return kPowerBeyondHalf;
    }
    float power = 1.0f;
    while (largest * power > kLargeScore) {
      power *= 0.5f;
    }
    if (largest < kSmallScore) {
      while (largest * power < 1.0f && power < kLargestPower) {
        power *= 2.0f;
      }
    }
    return power;
  }

  ChunkScores<Table>& scores_;
  ChunkDecays<Table>& decays_;
  ChunkSolve<Table>& solve_;
  ChunkCombine<Table>& combine_;
  bool gated_[kParities] = {};
  float powers_[kParities] = {1.0f, 1.0f};
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_DETOUR_H_
