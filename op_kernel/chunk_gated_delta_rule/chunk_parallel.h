// SPDX-License-Identifier: Apache-2.0
// Chunk-parallel: the cores of a v-head share out what does not depend on the state.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_CHUNK_PARALLEL_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_CHUNK_PARALLEL_H_

#include "round_ahead.h"
#include "round_busy.h"
#include "round_chain.h"

namespace chunk_gdr {

constexpr int64_t kRoundsToSlot = 3;  // from a chunk's fetch to its slot

// A core runs one item at most, a slice of Dv, two chunks a round. Of the item's chunks as many as there are slices of Dv share out what
// does not depend on the state: each core takes its own through the scores and combine lanes, ahead of the inter-chunk lanes, and puts
// T and P into the workspace. All cores meet every few rounds; what is in the workspace then is what the rounds up to the next meeting
// work on.
template <typename Table, typename StateT>
class ChunkParallel {
 public:
  __aicore__ inline explicit ChunkParallel(Lanes<Table, StateT>& lanes) : lanes_(lanes) {}

  __aicore__ inline void Run(const Partition<SequenceLengths>& partition) {
    const int64_t rounds_apart = lanes_.tiling.rounds_apart;
    const int64_t lead = rounds_apart + kRoundsToSlot;
    int64_t longest = 0;
    for (int64_t b = 0; b < lanes_.tiling.sequences; ++b) {
      const int64_t length = partition.length(b);
      longest = length > longest ? length : longest;
    }
    CoreItems<SequenceLengths> items(partition, AscendC::GetBlockIdx());
    WorkItem item{};
    const bool works = items.Next(item);
    const int64_t sharing = lanes_.tiling.v_tiles;  // cores
    int64_t own = works ? item.v_begin / lanes_.tiling.v_tile_dim : 0;
    uint32_t own_index = 0;
    RoundChunks before;
    OwnChunks chunks;
    const int64_t rounds = CeilDiv<int64_t>(longest > 0 ? ChunksOf(lanes_.tiling, longest) : 1, kTurns);
    for (int64_t round = -lead; round < rounds; ++round) {
      const bool meets = round + 1 >= 0 && round + 1 < rounds && (round + 1) % rounds_apart == 0;
      if (!works) {
        Meet(lanes_, meets);
        continue;
      }
      chunks = {chunks.next, chunks.mid, chunks.fetch, {}};
      if (own < kTurns * (round + lead + 1)) {
        chunks.fetch = ChunkOf(item, own);
        chunks.fetch.index = chunks.fetch.rows = own_index++;
        own += sharing;
      }
      const int64_t first = kTurns * round;
      const RoundChunks r{ChunkOf(item, first), ChunkOf(item, first + 1), ChunkOf(item, first + 2), ChunkOf(item, first + 3), meets};
      if (round + 1 < 0) {
        AdvanceAhead(lanes_, chunks);
      } else if (sharing <= kTurns) {
        AdvanceBusy(lanes_, before, r, chunks);
      } else {
        AdvanceChain(lanes_, before, r, chunks);
      }
      before = r;
    }
    StoreOut(lanes_, before, true);  // final_state
  }

 private:
  Lanes<Table, StateT>& lanes_;
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_CHUNK_PARALLEL_H_
