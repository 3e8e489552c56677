// SPDX-License-Identifier: Apache-2.0
// Kernels of the hazard tests come in variants: the first tiling word says which single thing is wrong (0: nothing).
#pragma once

#include "kernel_operator.h"

using namespace AscendC;

inline __aicore__ uint32_t VariantOf(GM_ADDR tiling) { return *reinterpret_cast<__gm__ uint32_t*>(tiling); }

template <class T>
__aicore__ inline GlobalTensor<T> Gm(GM_ADDR address, uint64_t elems) {
  GlobalTensor<T> tensor;
  tensor.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(address), elems);
  return tensor;
}

template <HardEvent event>
__aicore__ inline void Edge(bool present, event_t id = EVENT_ID0) {
  if (!present) return;
  SetFlag<event>(id);
  WaitFlag<event>(id);
}

template <pipe_t pipe>
__aicore__ inline void Barrier(bool present) {
  if (present) PipeBarrier<pipe>();
}
