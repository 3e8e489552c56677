// SPDX-License-Identifier: Apache-2.0
// Where the state lies between the chunks of its item.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_STATE_LAYOUT_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_STATE_LAYOUT_H_

#include "../common/arch.h"

namespace chunk_gdr {

enum class StateLayout : uint32_t {
  kNz,  // in L0C, in NZ; through UB and back for its decay, so that products accumulate onto it
  kNd,  // in UB, in rows; products come from zero, and what adds them converts
};

// The chunk-parallel schedule is written for one of them.
constexpr __aicore__ bool RunsChunkParallel(StateLayout layout) { return layout == StateLayout::kNz; }

// A build of the kernel may choose otherwise.
#ifndef CHUNK_GDR_STATE_LAYOUT
#define CHUNK_GDR_STATE_LAYOUT kNz
#endif
constexpr StateLayout kStateLayout = StateLayout::CHUNK_GDR_STATE_LAYOUT;

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_STATE_LAYOUT_H_
