// SPDX-License-Identifier: Apache-2.0
// Chunk-parallel: the chunks of a round, and the lanes that its lists of steps are for.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_ROUND_LANES_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_ROUND_LANES_H_

#include "lanes.h"

namespace chunk_gdr {

// The two chunks of the inter-chunk lane, and those of the next round, whose rows and slots are fetched.
struct RoundChunks {
  Chunk turn0;
  Chunk turn1;
  Chunk after0;
  Chunk after1;
  bool meets = false;  // with the other cores
};

// The core's own chunks, each a lane ahead of the one before.
struct OwnChunks {
  Chunk done;   // T and P on their way to its slot
  Chunk next;   // combine lane
  Chunk mid;    // scores lane
  Chunk fetch;  // loader
};

template <typename Table, typename StateT>
class RoundLanes {
 public:
  __aicore__ inline explicit RoundLanes(Lanes<Table, StateT>& lanes)
      : chip_(lanes.chip),
        gm_(lanes.gm),
        loader_(lanes.loader),
        scores_(lanes.scores),
        decays_(lanes.decays),
        solve_(lanes.solve),
        combine_(lanes.combine),
        detour_(lanes.detour),
        inter_(lanes.inter),
        handover_(lanes.handover) {}

  // All cores; then what each has stored is there for all.
  __aicore__ inline void Meet(bool meets) {
    if (meets) {
      AscendC::SyncAll(gm_.sync, Row<kGateWork, int32_t>(chip_));
    }
  }

  // The rows of out of a round; `handed_over`: V has handed over something to MTE3 since. What V writes to their place belongs to a later
  // round, of which rows have been to L1 behind them, and their product has come back.
  __aicore__ inline void StoreOut(const RoundChunks& before, bool handed_over) {
    if (!before.turn0.HasTokens()) {
      return;
    }
    if (!handed_over) {
      Handoff<HardEvent::V_MTE3>(kOutRowsReady);
    }
    inter_.CopyOut(before.turn0);
    inter_.CopyOut(before.turn1);
  }

 protected:
  OnChip<Table>& chip_;
  const GmTensors<StateT>& gm_;
  ChunkLoader<Table, StateT>& loader_;
  ChunkScores<Table>& scores_;
  ChunkDecays<Table>& decays_;
  ChunkSolve<Table>& solve_;
  ChunkCombine<Table>& combine_;
  Detour<Table>& detour_;
  InterTurns<Table, StateT>& inter_;
  ChunkHandover<Table, StateT>& handover_;
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_ROUND_LANES_H_
