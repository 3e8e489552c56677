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

namespace chunk_gdr {

template <typename Table>
class ChunkSolve {
 public:
  __aicore__ inline explicit ChunkSolve(OnChip<Table>& chip) : chip_(chip) {}

  __aicore__ inline void Start(const Chunk& chunk) {
    chunk_ = chunk;
    active_ = chunk.HasTokens();
  }

  __aicore__ inline void GramToLanes() {
    if (!active_) {
      return;
    }
    const StageScope stage(kScores);
    ToLanes(Get<kSolveA, float>(), Get<kDiagonalGram, float>(), kSpreadPitch, kFractal);
    const auto factors = Get<kVectors, float>()[(chunk_.Handover() * kTokenVectors + kAVector) * kChunk];
    ToLanes(Get<kRowLanes, float>(), factors, kFractal, 1);
  }

  // The combine lane must be through with the X of the chunk before.
  __aicore__ inline void ScaleLanes() {
    if (!active_) {
      return;
    }
    const StageScope stage(kSolve);
    ScaleLanesRows(Get<kSolveA, float>(), Get<kRowLanes, float>());
    ClearLanes(Get<kSolveX, float>());
  }

  __aicore__ inline void IdentityLanes() {
    if (!active_) {
      return;
    }
    const StageScope stage(kSolve);
    SetIdentityLanes(Get<kSolveX, float>());
  }

  __aicore__ inline void InvertColumn(uint32_t column) {
    if (!active_) {
      return;
    }
    const StageScope stage(kSolve);
    InvertLanesColumn(Get<kSolveX, float>(), Get<kSolveA, float>(), column);
  }

 private:
  template <uint32_t kId, typename T>
  __aicore__ inline LocalTensor<T> Get() {
    return chip_.template Get<kId, T>();
  }

  OnChip<Table>& chip_;
  Chunk chunk_;
  bool active_ = false;
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_SOLVE_H_
