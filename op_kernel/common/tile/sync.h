// SPDX-License-Identifier: Apache-2.0
// Edges between queues. A hand-made id lies in 0..5; an id of a pair may be set again only once its last wait is known to be over.
#ifndef CHUNK_GDR_COMMON_TILE_SYNC_H_
#define CHUNK_GDR_COMMON_TILE_SYNC_H_

#include "kernel_operator.h"

namespace chunk_gdr {

using AscendC::HardEvent;

// Everything the event's first queue has been given so far completes before what its second queue is given after Await.
template <HardEvent kEvent>
__aicore__ inline void Signal(int32_t id) {
  AscendC::SetFlag<kEvent>(id);
}

template <HardEvent kEvent>
__aicore__ inline void Await(int32_t id) {
  AscendC::WaitFlag<kEvent>(id);
}

template <HardEvent kEvent>
__aicore__ inline void Handoff(int32_t id) {
  Signal<kEvent>(id);
  Await<kEvent>(id);
}

// Between two vector instructions of which the second touches what the first wrote, or overwrites what it read.
__aicore__ inline void VectorDone() { AscendC::PipeBarrier<PIPE_V>(); }

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_COMMON_TILE_SYNC_H_
