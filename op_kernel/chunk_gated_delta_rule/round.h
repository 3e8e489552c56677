// SPDX-License-Identifier: Apache-2.0
// Chunk-parallel: the chunks of a round, and what its lists of steps have in common.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_ROUND_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_ROUND_H_

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

// All cores; then what each has stored is there for all.
template <typename Table, typename StateT>
__aicore__ inline void Meet(Lanes<Table, StateT>& lanes, bool meets) {
  if (meets) {
    AscendC::SyncAll(lanes.gm.sync, Row<kGateWork, int32_t>(lanes.chip));
  }
}

// The rows of out of a round; `handed_over`: V has handed over something to MTE3 since. What V writes to their place belongs to a later
// round, of which rows have been to L1 behind them, and their product has come back.
template <typename Table, typename StateT>
__aicore__ inline void StoreOut(Lanes<Table, StateT>& lanes, const RoundChunks& before, bool handed_over) {
  if (!before.turn0.HasTokens()) {
    return;
  }
  if (!handed_over) {
    Handoff<HardEvent::V_MTE3>(kOutRowsReady);
  }
  lanes.inter.CopyOut(before.turn0);
  lanes.inter.CopyOut(before.turn1);
}

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_ROUND_H_
