// SPDX-License-Identifier: Apache-2.0
// The chunks of one core as one stream over its work items.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_CHUNK_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_CHUNK_H_

#include "buffers.h"
#include "problem.h"

namespace chunk_gdr {

constexpr int64_t kRoundsToSlot = 3;  // chunk-parallel: from a chunk's fetch to its slot

struct Chunk {
  WorkItem item{};
  int64_t token = 0;      // its first token
  int64_t state_row = 0;  // its row of chunk_state
  uint32_t live = 0;      // tokens; 0 only for the one chunk of a sequence without tokens
  uint32_t index = 0;     // in the stream
  bool exists = false;
  bool first = false;     // of its item
  bool last = false;

  __aicore__ inline bool HasTokens() const { return exists && live != 0; }
  __aicore__ inline uint32_t VStrips() const { return static_cast<uint32_t>(item.v_cols) / kFractal; }
  __aicore__ inline uint32_t InL1() const { return index % kL1Chunks; }
  __aicore__ inline uint32_t Handover() const { return index % kHandovers; }
  // Chunk-parallel: which of a round's chunks it is, and where the rows of its round lie.
  __aicore__ inline uint32_t Turn() const { return index % kTurns; }
  __aicore__ inline uint32_t RowsInL1() const { return index % (kL1Rounds * kTurns); }
};

// Powers of two that a chunk's operands were scaled by: its weights and e^{G_n} divided by p (decays.h), Q K^T multiplied by u (detour.h).
struct Powers {
  float state = 1.0f;  // p
  float out = 1.0f;    // u
};

// Chunk `i` of an item; one that does not exist before the first or after the last. An item without tokens has one without tokens.
__aicore__ inline Chunk ChunkOf(const WorkItem& item, int64_t i) {
  Chunk chunk;
  const int64_t begin = i * kChunk;
  if (i < 0 || (i > 0 && begin >= item.length)) {
    return chunk;
  }
  const int64_t rest = item.length - begin;
  chunk.item = item;
  chunk.token = item.token_begin + begin;
  chunk.state_row = item.chunk_row_begin + i;
  chunk.live = static_cast<uint32_t>(rest < kChunk ? rest : kChunk);
  chunk.index = static_cast<uint32_t>(i);
  chunk.exists = true;
  chunk.first = i == 0;
  chunk.last = rest <= kChunk;
  return chunk;
}

template <typename Lengths>
class ChunkStream {
 public:
  __aicore__ inline ChunkStream(const Partition<Lengths>& partition, int64_t core) : items_(partition, core) {}

  // The next chunk; one that does not exist after the last.
  __aicore__ inline Chunk Next() {
    Chunk chunk = ChunkOf(item_, next_);
    if (!chunk.exists && more_) {
      more_ = items_.Next(item_);
      if (more_) {
        next_ = 0;
        chunk = ChunkOf(item_, 0);
      }
    }
    ++next_;
    chunk.index = index_++;
    return chunk;
  }

 private:
  CoreItems<Lengths> items_;
  WorkItem item_{};
  int64_t next_ = -1;  // chunk of item_
  uint32_t index_ = 0;
  bool more_ = true;
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_CHUNK_H_
