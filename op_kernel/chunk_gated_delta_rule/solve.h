// SPDX-License-Identifier: Apache-2.0
// The scores lane, third part: the diagonal blocks of (I - A)^-1, A = -strict_lower(diag(beta r r) K K^T), in fp32 and all four at once. In
// steps, between which the Vector queue must be done.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_SOLVE_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_SOLVE_H_

#include "../common/block/tri_inverse.h"
#include "../common/tile/memory.h"
#include "../common/tile/stage.h"
#include "chunk.h"
#include "lower.h"
#include "places.h"

namespace chunk_gdr {

template <typename Table>
class ChunkSolve {
 public:
  __aicore__ inline explicit ChunkSolve(OnChip<Table>& chip) : chip_(chip) {}

  __aicore__ inline void Start(const Chunk& chunk) {
    chunk_ = chunk;
    active_ = chunk.HasTokens();
    columns_ = 0;
  }

  __aicore__ inline void GramToLanes() {
    if (!active_) {
      return;
    }
    const StageScope stage(kScores);
    ToLanes(Row<kSolveA, float>(chip_), Row<kDiagonalGram, float>(chip_), kSpreadPitch, kFractal);
    const auto factors = VectorOf(chip_, chunk_.Parity(), kAVector);
    ToLanes(Row<kRowLanes, float>(chip_), factors, kFractal, 1);
  }

  // The combine lane must be through with the X of the chunk before.
  __aicore__ inline void ScaleLanes() {
    if (!active_) {
      return;
    }
    const StageScope stage(kSolve);
    ScaleLanesRows(Row<kSolveA, float>(chip_), Row<kRowLanes, float>(chip_));
    ClearLanes(Row<kSolveX, float>(chip_));
  }

  __aicore__ inline void IdentityLanes() {
    if (!active_) {
      return;
    }
    const StageScope stage(kSolve);
    SetIdentityLanes(Row<kSolveX, float>(chip_));
  }

  __aicore__ inline void InvertColumn(uint32_t column) {
    if (!active_) {
      return;
    }
    const StageScope stage(kSolve);
    InvertLanesColumn(Row<kSolveX, float>(chip_), Row<kSolveA, float>(chip_), column);
    columns_ = column + 1;
  }

  // What says how much tokens grow what lies along their keys, in the place of a vector that is made later; to be read once V is there.
  __aicore__ inline void MeasureGrowth() {
    if (!active_) {
      return;
    }
    const StageScope stage(kSolve);
    DiagonalExtremes(Extremes(), Row<kSolveA, float>(chip_));
  }

  // The largest |1 + A_ii|; a NaN is none.
  __aicore__ inline float Growth() {
    float growth = 0.0f;
    for (uint32_t block = 0; block < kDiagonalExtremes; block += kFloatsPerBlock) {
      for (uint32_t half_rows = 0; half_rows < 2; ++half_rows) {
        const float factor = 1.0f + Extremes().GetValue(block + 2 * half_rows);
        growth = factor > growth ? factor : -factor > growth ? -factor : growth;
      }
    }
    return growth;
  }

  // From other diagonal blocks of K K^T, up to where it has come.
  __aicore__ inline void Restart() {
    const uint32_t columns = columns_;
    GramToLanes();
    VectorDone();
    ScaleLanes();
    VectorDone();
    IdentityLanes();
    for (uint32_t column = 0; column < columns; ++column) {
      VectorDone();
      InvertColumn(column);
    }
  }

 private:
  __aicore__ inline LocalTensor<float> Extremes() { return Row<kDecayVectors, float>(chip_)[kOutOfRange * kChunk]; }

  OnChip<Table>& chip_;
  Chunk chunk_;
  bool active_ = false;
  uint32_t columns_ = 0;  // that have been through
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_SOLVE_H_
