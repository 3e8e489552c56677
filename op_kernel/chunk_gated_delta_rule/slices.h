// SPDX-License-Identifier: Apache-2.0
// The two slices of Dv that take turns on the queues, so that one is on the Vector queue while the other passes L1, L0 and the Cube.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_SLICES_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_SLICES_H_

#include "buffers.h"

namespace chunk_gdr {

struct Slices {
  uint32_t k = 0;                 // strips of Dk
  uint32_t strips[kSlices] = {};   // of each slice
  uint32_t state = 0;             // which of the states on chip they are of

  __aicore__ inline void Cut(uint32_t v_strips) {
    strips[0] = (v_strips + 1) / kSlices;
    strips[1] = v_strips / kSlices;
  }
  // Chunk-parallel, where Dv is narrow: the first slice is the whole.
  __aicore__ inline void TakeWhole(uint32_t v_strips) {
    strips[0] = v_strips;
    strips[1] = 0;
  }
  // Columns of Dv before slice t.
  __aicore__ inline uint32_t Begin(uint32_t t) const { return t == 0 ? 0 : strips[0] * kFractal; }
  __aicore__ inline uint32_t ValueElems(uint32_t t) const { return kChunk * strips[t] * kFractal; }
  __aicore__ inline uint32_t StateFractals(uint32_t t) const { return strips[t] * k; }
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_SLICES_H_
