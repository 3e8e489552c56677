// SPDX-License-Identifier: Apache-2.0
// The chunks of one core as one stream over its work items.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_CHUNK_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_CHUNK_H_

#include "buffers.h"
#include "problem.h"

namespace chunk_gdr {

struct Chunk {
  WorkItem item{};
  int64_t begin = 0;      // its first token, in the sequence
  int64_t token = 0;      // and in the packed layout
  uint32_t live = 0;      // tokens; 0 only for the one chunk of a sequence without tokens
  uint32_t index = 0;     // in the stream
  uint32_t rows = 0;      // its q and k in the order in which a core loads them
  uint32_t state = 0;     // which of the states on chip it meets
  bool exists = false;
  bool first = false;     // of its item
  bool last = false;

  __aicore__ inline bool HasTokens() const { return exists && live != 0; }
  // Whether the state it meets is a row of chunk_state, and that of the chunk after it.
  __aicore__ inline bool StartsStateRow() const { return begin % kChunk == 0; }
  __aicore__ inline bool EndsStateRow() const { return (begin + item.chunk_size) % kChunk == 0; }
  __aicore__ inline int64_t StateRow() const { return item.chunk_row_begin + begin / kChunk; }
  // Among the slots of its head.
  __aicore__ inline int64_t Slot() const { return (item.chunk_row_begin * kChunk + begin) / item.chunk_size; }
  __aicore__ inline uint32_t VStrips() const { return static_cast<uint32_t>(item.v_cols) / kFractal; }
  // Otherwise they are those of the chunk before: the same tokens, another v-head.
  __aicore__ inline bool LoadsRows() const { return HasTokens() && state == 0; }
  __aicore__ inline uint32_t KeysInL1() const { return rows % kL1Chunks; }
  __aicore__ inline uint32_t ValuesInL1() const { return index % kL1Chunks; }
  __aicore__ inline uint32_t Parity() const { return index % kParities; }
  // Chunk-parallel: which of a round's chunks it is, and where the rows of its round lie.
  __aicore__ inline uint32_t Turn() const { return index % kTurns; }
  __aicore__ inline uint32_t TurnInL1() const { return index % (kL1Rounds * kTurns); }
};

// Powers of two that a chunk's operands were scaled by: its weights and e^{G_n} divided by p (decays.h), Q K^T multiplied by u (detour.h).
struct Powers {
  float state = 1.0f;  // p
  float out = 1.0f;    // u
};

// Chunk `i` of an item; one that does not exist before the first or after the last. An item without tokens has one without tokens.
__aicore__ inline Chunk ChunkOf(const WorkItem& item, int64_t i) {
  Chunk chunk;
  const int64_t begin = i * item.chunk_size;
  if (i < 0 || (i > 0 && begin >= item.length)) {
    return chunk;
  }
  const int64_t rest = item.length - begin;
  chunk.item = item;
  chunk.begin = begin;
  chunk.token = item.token_begin + begin;
  chunk.live = static_cast<uint32_t>(rest < item.chunk_size ? rest : item.chunk_size);
  chunk.index = static_cast<uint32_t>(i);
  chunk.exists = true;
  chunk.first = i == 0;
  chunk.last = rest <= item.chunk_size;
  return chunk;
}

// Items that share q and k take turns, chunk by chunk, so that one load is for both; kStates: as many as there are states on chip, at most.
template <typename Lengths, uint32_t kStates>
class ChunkStream {
 public:
  __aicore__ inline ChunkStream(const Partition<Lengths>& partition, int64_t core)
      : tiling_(partition.tiling()), items_(partition, core), more_(items_.Next(ahead_)) {}

  // The next chunk; one that does not exist after the last.
  __aicore__ inline Chunk Next() {
    if (turn_ == together_) {
      turn_ = 0;
      ++next_;
    }
    if (more_ && !ChunkOf(item_[0], next_).exists) {
      TakeItems();
    }
    Chunk chunk = ChunkOf(item_[turn_], next_);
    rows_ += turn_ == 0 ? 1 : 0;
    chunk.rows = rows_;
    chunk.state = turn_++;
    chunk.index = index_++;
    return chunk;
  }

 private:
  __aicore__ inline void TakeItems() {
    next_ = 0;
    together_ = 1;
    item_[0] = ahead_;
    more_ = items_.Next(ahead_);
    while (more_ && together_ < kStates && ShareRows(tiling_, item_[0], ahead_)) {
      item_[together_++] = ahead_;
      more_ = items_.Next(ahead_);
    }
  }

  const ChunkGatedDeltaRuleTiling& tiling_;
  CoreItems<Lengths> items_;
  WorkItem ahead_{};           // the one after item_
  bool more_;                  // it exists
  WorkItem item_[kStates] = {};
  uint32_t together_ = 1;      // of item_
  uint32_t turn_ = 0;          // which of them is next,
  int64_t next_ = -1;          // and its chunk
  uint32_t rows_ = 0;
  uint32_t index_ = 0;
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_CHUNK_H_
