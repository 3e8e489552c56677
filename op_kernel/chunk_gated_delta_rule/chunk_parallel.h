// SPDX-License-Identifier: Apache-2.0
// Chunk-parallel: the cores of a v-head share out what does not depend on the state.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_CHUNK_PARALLEL_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_CHUNK_PARALLEL_H_

#include "chunk_parallel_round.h"

namespace chunk_gdr {

// A core runs one item at most, a slice of Dv, two chunks a round. Of the item's chunks as many as there are slices of Dv share out what
// does not depend on the state: each core takes its own through the scores and combine lanes, ahead of the inter-chunk lanes, and puts
// T and P into the workspace. All cores meet every few rounds; what is in the workspace then is what the rounds up to the next meeting
// work on.
template <typename Table, typename StateT>
class ChunkParallel {
 public:
  __aicore__ inline explicit ChunkParallel(Lanes<Table, StateT>& lanes)
      : tiling_(lanes.tiling), round_(lanes) {}

  __aicore__ inline void Run(const Partition<SequenceLengths>& partition) {
    const int64_t rounds_apart = tiling_.chunk_parallel;
    const int64_t lead = rounds_apart + kRoundsToSlot;
    int64_t longest = 0;
    for (int64_t b = 0; b < tiling_.sequences; ++b) {
      const int64_t length = partition.length(b);
      longest = length > longest ? length : longest;
    }
    CoreItems<SequenceLengths> items(partition, AscendC::GetBlockIdx());
    WorkItem item{};
    const bool works = items.Next(item);
    const int64_t step = tiling_.v_tiles;
    int64_t own = works ? item.v_begin / tiling_.v_tile_dim : 0;
    uint32_t own_index = 0;
    RoundChunks before;
    Chunk done;
    Chunk next;
    Chunk mid;
    const int64_t rounds = CeilDiv<int64_t>(longest > 0 ? ChunksOf(longest) : 1, kTurns);
    for (int64_t round = -lead; round < rounds; ++round) {
      const bool meets = round + 1 >= 0 && round + 1 < rounds && (round + 1) % rounds_apart == 0;
      if (!works) {
        round_.Meet(meets);
        continue;
      }
      Chunk fetch;
      if (own < kTurns * (round + lead + 1)) {
        fetch = ChunkOf(item, own);
        fetch.index = own_index++;
        own += step;
      }
      const int64_t first = kTurns * round;
      const RoundChunks r{ChunkOf(item, first), ChunkOf(item, first + 1), ChunkOf(item, first + 2), ChunkOf(item, first + 3), meets};
      if (round + 1 < 0) {
        round_.AdvanceAhead(done, next, mid, fetch);
      } else if (step <= kTurns) {
        round_.AdvanceBusy(before, r, done, next, mid, fetch);
      } else {
        round_.Advance(before, r, done, next, mid, fetch);
      }
      before = r;
      done = next;
      next = mid;
      mid = fetch;
    }
    round_.StoreOut(before, true);  // the state
  }

 private:
  const ChunkGatedDeltaRuleTiling& tiling_;
  ChunkParallelRound<Table, StateT> round_;
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_CHUNK_PARALLEL_H_
