// SPDX-License-Identifier: Apache-2.0
// What the host hands to the kernel, and which compiled instance runs.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_TILING_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_TILING_H_

#include <cstdint>

#include "../common/arch.h"

namespace chunk_gdr {

constexpr uint32_t kChunk = 64;  // BT: rows of a chunk, its tokens at most, and tokens between two rows of chunk_state
// What the mantissa of scale is multiplied by, and its power of two divided by. The mantissa is in P, whose halves have an absolute floor;
// the power waits for the finished out.
constexpr float kScaleLift = 16.0f;

// Plain data, copied from GM by every core. Head dims are already multiples of 16.
struct ChunkGatedDeltaRuleTiling {
  int64_t tokens;        // T, packed over all sequences
  int64_t sequences;     // B
  int64_t gate_pitch;    // elements from one head's row of g and beta to the next; at least T + kChunk
  int32_t k_heads;       // Nk
  int32_t v_heads;       // Nv
  int32_t k_dim;         // Dk
  int32_t v_dim;         // Dv
  int32_t state_layout;  // StateLayout of the kernel that the rest is planned for
  int32_t chunk_size;    // tokens per chunk: kChunk or a divisor of it
  int32_t v_tiles;       // slices of Dv; each is a work item of its own
  int32_t v_tile_dim;    // columns of a slice (the last may be shorter)
  int32_t has_lengths;   // 0: one sequence of T tokens
  int32_t has_beta;      // 0: 1
  int32_t has_g;         // 0: 0
  int32_t has_state;     // 0: zeros
  int32_t has_chunk_state;
  int32_t rounds_apart;  // chunk-parallel: rounds between two synchronisations of all cores; 0: sequence-major
  int32_t use_qk_l2norm;
  float scale_mantissa;  // scale = mantissa * power, a power of two; in [16, 32)
  float scale_power;
  int32_t item_cycles;   // predicted cycles of a work item beside its chunks,
  int32_t chunk_cycles;  // and of each chunk: what the split over cores weighs items by
};

constexpr uint32_t kBuckets[] = {64, 80, 96, 128};
constexpr uint32_t kMaxHeadDim = 128;

// Tiling key: bucket * 10 + (1 if the state tensors are fp16).
constexpr __aicore__ uint32_t TilingKey(uint32_t bucket, bool half_state) { return bucket * 10 + (half_state ? 1 : 0); }

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_TILING_H_
