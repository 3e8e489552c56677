// SPDX-License-Identifier: Apache-2.0
// The lanes of a core, and what they share.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_LANES_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_LANES_H_

#include "combine.h"
#include "decays.h"
#include "detour.h"
#include "handover.h"
#include "inter_turns.h"
#include "loader.h"
#include "scores.h"
#include "solve.h"

namespace chunk_gdr {

template <typename Table, typename StateT>
struct Lanes {
  __aicore__ inline Lanes(OnChip<Table>& on_chip, const GmTensors<StateT>& tensors, const ChunkGatedDeltaRuleTiling& tiling_data)
      : chip(on_chip),
        gm(tensors),
        tiling(tiling_data),
        loader(chip, gm, tiling),
        scores(chip, slots, tiling),
        decays(chip, tiling),
        solve(chip),
        combine(chip, slots, tiling),
        detour(scores, decays, solve, combine),
        inter(chip, slots, gm, tiling),
        handover(chip, gm, tiling) {}

  __aicore__ inline void Open() {
    slots.Open(Row<kSlotsA, half>(chip), Row<kSlotsB, half>(chip), kL0SlotElems);
  }

  // The last promises are met.
  __aicore__ inline void Close() {
    scores.Close();
    inter.Close();
    if constexpr (Table::kChunkParallel) {
      handover.Close();
    }
    slots.Close();
  }

  OnChip<Table>& chip;
  const GmTensors<StateT>& gm;
  const ChunkGatedDeltaRuleTiling& tiling;
  CubeSlots slots;
  ChunkLoader<Table, StateT> loader;
  ChunkScores<Table> scores;
  ChunkDecays<Table> decays;
  ChunkSolve<Table> solve;
  ChunkCombine<Table> combine;
  Detour<Table> detour;
  InterTurns<Table, StateT> inter;
  ChunkHandover<Table, StateT> handover;
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_LANES_H_
