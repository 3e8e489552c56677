// SPDX-License-Identifier: Apache-2.0
// Work items and their split over cores; the plan on the host and every core on the device run this same code.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_PROBLEM_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_PROBLEM_H_

#include "tiling.h"

namespace chunk_gdr {

// One (sequence, v-head, slice of Dv), run by one core from its first chunk to its last.
struct WorkItem {
  int64_t sequence;
  int64_t token_begin;      // first token of the sequence in the packed layout
  int64_t length;           // tokens
  int64_t chunk_row_begin;  // first row of the sequence in chunk_state
  int32_t v_head;
  int32_t v_begin;          // first column of the slice
  int32_t v_cols;
};

__aicore__ inline int64_t ChunksOf(int64_t length) { return CeilDiv<int64_t>(length, kChunk); }

// Reading and writing the state costs about as much GM time as one chunk (64 KiB each way at D 128).
constexpr int64_t kStateIoWeight = 1;
__aicore__ inline int64_t ItemWeight(int64_t length) { return ChunksOf(length) + kStateIoWeight; }

// Contiguous ranges of items, ordered by (sequence, v-head, slice), cut where the running weight crosses core / cores of the total; an
// item belongs to the core in whose share its midpoint lies. Lengths: a callable int64_t(int64_t sequence).
template <typename Lengths>
class Partition {
 public:
  __aicore__ inline Partition(const ChunkGatedDeltaRuleTiling& tiling, const Lengths& lengths, int64_t cores)
      : tiling_(tiling), lengths_(lengths), cores_(cores) {
    int64_t tokens = 0;
    for (int64_t b = 0; b < tiling_.sequences; ++b) {
      const int64_t length = lengths_(b);
      if (length < 0 || length > tiling_.tokens - tokens) {
        valid_ = false;
        return;
      }
      tokens += length;
      total_ += ItemWeight(length) * ItemsPerSequence();
    }
    valid_ = tokens == tiling_.tokens;
  }

  // False: a length is negative or the lengths do not add up to T. Nothing may be indexed by them.
  __aicore__ inline bool valid() const { return valid_; }

  template <typename Visit>
  __aicore__ inline void ForEach(int64_t core, Visit&& visit) const {
    WorkItem item{};
    int64_t base = 0;
    for (int64_t b = 0; b < tiling_.sequences; ++b) {
      item.sequence = b;
      item.length = lengths_(b);
      const int64_t weight = ItemWeight(item.length);
      const int64_t end = FirstItem(base, weight, core + 1);
      for (int64_t i = FirstItem(base, weight, core); i < end; ++i) {
        item.v_head = static_cast<int32_t>(i / tiling_.v_tiles);
        item.v_begin = static_cast<int32_t>(i % tiling_.v_tiles) * tiling_.v_tile_dim;
        const int32_t rest = tiling_.v_dim - item.v_begin;
        item.v_cols = rest < tiling_.v_tile_dim ? rest : tiling_.v_tile_dim;
        visit(item);
      }
      base += weight * ItemsPerSequence();
      item.token_begin += item.length;
      item.chunk_row_begin += ChunksOf(item.length);
    }
  }

 private:
  __aicore__ inline int64_t ItemsPerSequence() const { return static_cast<int64_t>(tiling_.v_heads) * tiling_.v_tiles; }

  // Smallest i with (base + (i + 1/2) weight) / total >= core / cores.
  __aicore__ inline int64_t FirstItem(int64_t base, int64_t weight, int64_t core) const {
    const int64_t numerator = 2 * total_ * core - (2 * base + weight) * cores_;
    if (numerator <= 0) {
      return 0;
    }
    const int64_t first = CeilDiv(numerator, 2 * weight * cores_);
    return first < ItemsPerSequence() ? first : ItemsPerSequence();
  }

  const ChunkGatedDeltaRuleTiling& tiling_;
  const Lengths& lengths_;
  int64_t cores_;
  int64_t total_ = 0;
  bool valid_ = false;
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_PROBLEM_H_
