// SPDX-License-Identifier: Apache-2.0
// The chunks of one core as one stream over its work items.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_CHUNK_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_CHUNK_H_

#include "buffers.h"
#include "problem.h"

namespace chunk_gdr {

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
};

template <typename Lengths>
class ChunkStream {
 public:
  __aicore__ inline ChunkStream(const Partition<Lengths>& partition, int64_t core) : items_(partition, core) {}

  // The next chunk; one that does not exist after the last.
  __aicore__ inline Chunk Next() {
    Chunk chunk;
    const bool first = begin_ >= item_.length;
    if (first) {
      if (!more_ || !items_.Next(item_)) {
        more_ = false;
        return chunk;
      }
      begin_ = 0;
    }
    const int64_t rest = item_.length - begin_;
    chunk.item = item_;
    chunk.token = item_.token_begin + begin_;
    chunk.state_row = item_.chunk_row_begin + begin_ / kChunk;
    chunk.live = static_cast<uint32_t>(rest < kChunk ? rest : kChunk);
    chunk.index = index_++;
    chunk.exists = true;
    chunk.first = first;
    chunk.last = rest <= kChunk;
    begin_ += kChunk;
    return chunk;
  }

 private:
  CoreItems<Lengths> items_;
  WorkItem item_{};
  int64_t begin_ = 0;  // tokens of item_ that are already chunks
  uint32_t index_ = 0;
  bool more_ = true;
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_CHUNK_H_
