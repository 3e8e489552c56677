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
  int32_t chunk_size;       // tokens
  int32_t v_head;
  int32_t v_begin;          // first column of the slice
  int32_t v_cols;
};

__aicore__ inline int64_t KeyHead(const ChunkGatedDeltaRuleTiling& tiling, const WorkItem& item) {
  return item.v_head / (tiling.v_heads / tiling.k_heads);
}

// Two items of a core, one after the other, that have the same q and k, and slices of Dv as wide as one another.
__aicore__ inline bool ShareRows(const ChunkGatedDeltaRuleTiling& tiling, const WorkItem& item, const WorkItem& after) {
  return item.sequence == after.sequence && KeyHead(tiling, item) == KeyHead(tiling, after) && item.v_cols == after.v_cols;
}

__aicore__ inline int64_t ChunksOf(const ChunkGatedDeltaRuleTiling& tiling, int64_t length) {
  return CeilDiv<int64_t>(length, tiling.chunk_size);
}

// Of chunk_state.
__aicore__ inline int64_t StateRowsOf(int64_t length) { return CeilDiv<int64_t>(length, kChunk); }

// Predicted cycles of one item on its core, at most: one without tokens takes less.
__aicore__ inline int64_t ItemCycles(const ChunkGatedDeltaRuleTiling& tiling, int64_t length) {
  return tiling.item_cycles + ChunksOf(tiling, length) * tiling.chunk_cycles;
}

// The split of all items over cores. Lengths: a callable int64_t(int64_t sequence).
template <typename Lengths>
class Partition {
 public:
  __aicore__ inline Partition(const ChunkGatedDeltaRuleTiling& tiling, const Lengths& lengths, int64_t cores)
      : tiling_(tiling), lengths_(lengths), cores_(cores) {
    int64_t tokens = 0;
    for (int64_t b = 0; b < tiling_.sequences; ++b) {
      const int64_t length = lengths_(b);
      if (length < 0 || length > tiling_.tokens - tokens) {
        return;
      }
      tokens += length;
    }
    valid_ = tokens == tiling_.tokens;
  }

  // False: a length is negative or the lengths do not add up to T. Nothing may be indexed by them.
  __aicore__ inline bool valid() const { return valid_; }
  __aicore__ inline const ChunkGatedDeltaRuleTiling& tiling() const { return tiling_; }
  __aicore__ inline int64_t length(int64_t sequence) const { return lengths_(sequence); }
  __aicore__ inline int64_t cores() const { return cores_; }

 private:
  const ChunkGatedDeltaRuleTiling& tiling_;
  const Lengths& lengths_;
  int64_t cores_;
  bool valid_ = false;
};

// The items of one core in the order it runs them, of a valid partition. Each length is read once; where items are spare,
// once more, because sequences longer than the mean then come first and the others level what they leave uneven.
//
// A sequence's items, ordered by (v-head, slice), are cut into one run per core: items / cores of them for each, and one
// more for those with the least load, so that loads never differ by more than the largest item. Runs follow the ranking
// of the cores by load, the longer ones first. Runs of one length thus lie together, and the number of odd runs is even
// where that of the items is: an even run never cuts a pair of v-heads that share a k-head, and of two odd runs one does.
template <typename Lengths>
class CoreItems {
 public:
  __aicore__ inline CoreItems(const Partition<Lengths>& partition, int64_t core)
      : partition_(partition), core_(core), rank_(core) {
    const ChunkGatedDeltaRuleTiling& tiling = partition.tiling();
    const int64_t items = static_cast<int64_t>(tiling.v_heads) * tiling.v_tiles;
    each_ = items / partition.cores();
    spare_ = items % partition.cores();
    long_ones_ = spare_ != 0;
    for (int64_t rank = 0; rank < partition.cores(); ++rank) {
      ranking_[rank] = {0, rank};
    }
  }

  // False: there are no more.
  __aicore__ inline bool Next(WorkItem& item) {
    while (next_ == end_) {
      if (!NextSequence()) {
        return false;
      }
    }
    const ChunkGatedDeltaRuleTiling& tiling = partition_.tiling();
    item.sequence = sequence_;
    item.token_begin = token_end_ - length_;
    item.length = length_;
    item.chunk_row_begin = chunk_row_end_ - StateRowsOf(length_);
    item.chunk_size = tiling.chunk_size;
    item.v_head = static_cast<int32_t>(next_ / tiling.v_tiles);
    item.v_begin = static_cast<int32_t>(next_ % tiling.v_tiles) * tiling.v_tile_dim;
    const int32_t rest = tiling.v_dim - item.v_begin;
    item.v_cols = rest < tiling.v_tile_dim ? rest : tiling.v_tile_dim;
    ++next_;
    return true;
  }

 private:
  struct Ranked {
    int64_t load;  // cycles of its spare items
    int64_t core;
    __aicore__ inline bool Before(const Ranked& other) const {
      return load < other.load || (load == other.load && core < other.core);
    }
  };

  __aicore__ inline bool NextSequence() {
    const ChunkGatedDeltaRuleTiling& tiling = partition_.tiling();
    if (++sequence_ >= tiling.sequences) {
      if (!long_ones_) {
        return false;
      }
      long_ones_ = false;
      sequence_ = -1;
      token_end_ = 0;
      chunk_row_end_ = 0;
      return true;
    }
    length_ = partition_.length(sequence_);
    token_end_ += length_;
    chunk_row_end_ += StateRowsOf(length_);
    if (spare_ == 0 || (length_ * tiling.sequences > tiling.tokens) == long_ones_) {
      TakeShare();
    }
    return true;
  }

  __aicore__ inline void TakeShare() {
    next_ = rank_ * each_ + (rank_ < spare_ ? rank_ : spare_);
    end_ = next_ + each_ + (rank_ < spare_ ? 1 : 0);
    if (spare_ != 0) {
      ChargeSpareItems(ItemCycles(partition_.tiling(), length_));
    }
  }

  // The first cores of the ranking got a spare item; they and the others are still sorted among themselves: merge them.
  __aicore__ inline void ChargeSpareItems(int64_t cycles) {
    Ranked before[kAiCores];
    const int64_t cores = partition_.cores();
    for (int64_t rank = 0; rank < cores; ++rank) {
      before[rank] = ranking_[rank];
      before[rank].load += rank < spare_ ? cycles : 0;
    }
    int64_t charged = 0;
    int64_t other = spare_;
    for (int64_t rank = 0; rank < cores; ++rank) {
      const bool take_charged = charged < spare_ && (other == cores || before[charged].Before(before[other]));
      ranking_[rank] = before[take_charged ? charged++ : other++];
      if (ranking_[rank].core == core_) {
        rank_ = rank;
      }
    }
  }

  const Partition<Lengths>& partition_;
  int64_t core_;
  int64_t each_ = 0;          // items of a sequence for every core
  int64_t spare_ = 0;         // and for that many cores one more
  Ranked ranking_[kAiCores];  // all cores, the least loaded first
  int64_t rank_;              // this core's place in it
  bool long_ones_ = false;    // it is at the sequences longer than the mean
  int64_t sequence_ = -1;
  int64_t length_ = 0;
  int64_t token_end_ = 0;
  int64_t chunk_row_end_ = 0;
  int64_t next_ = 0;  // items of the sequence that this core still has to run
  int64_t end_ = 0;
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_PROBLEM_H_
