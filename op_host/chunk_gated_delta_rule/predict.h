// SPDX-License-Identifier: Apache-2.0
// Model cycles of a launch in closed form, under the pessimistic cost parameters.
#ifndef CHUNK_GDR_OP_HOST_CHUNK_GATED_DELTA_RULE_PREDICT_H_
#define CHUNK_GDR_OP_HOST_CHUNK_GATED_DELTA_RULE_PREDICT_H_

#include <cstdint>
#include <vector>

#include "../../op_kernel/chunk_gated_delta_rule/tiling.h"

namespace chunk_gdr::host {

// Cycles of a core: before its first item, for each item beside its chunks, and for each of its chunks, of which an l2norm takes `norm`.
// Chunk-parallel, also what a chunk of one's own adds before the first meeting, but for the very first; and a meeting of all cores.
struct CycleCosts {
  int64_t launch = 0;
  int64_t item = 0;
  int64_t empty = 0;  // an item that meets no token
  int64_t chunk = 0;
  int64_t norm = 0;
  int64_t early_chunk = 0;
  int64_t meeting = 0;
  int32_t chunk_size = kChunk;
  int32_t rounds_apart = 0;  // meetings
  int32_t v_tiles = 1;

  // Of an item of `length` tokens, if the longest of the launch has `longest`; `loads`: q and k are not those of the item before. Chunks of
  // one's own are charged before the first meeting only.
  int64_t Item(int64_t length, int64_t longest, bool loads) const;
};

// From the dims, flags and slices of `tiling`; its own costs are not read.
CycleCosts PredictCosts(const ChunkGatedDeltaRuleTiling& tiling, bool state_is_half);

// Cycles of each core for these lengths, of which there are tiling.sequences.
std::vector<int64_t> PredictCycles(const ChunkGatedDeltaRuleTiling& tiling, bool state_is_half,
                                   const std::vector<int64_t>& lengths, uint32_t cores);

}  // namespace chunk_gdr::host

#endif  // CHUNK_GDR_OP_HOST_CHUNK_GATED_DELTA_RULE_PREDICT_H_
