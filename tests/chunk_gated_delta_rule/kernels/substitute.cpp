// SPDX-License-Identifier: Apache-2.0
// Kernels that take the place of the shipped one, to see what the torch boundary does with what they leave behind.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

constexpr uint32_t kElems = 16;

__aicore__ inline void WritesNothing(GM_ADDR, GM_ADDR) {}

// Ones to the first 16 elements of chunk_state and to 16 others, by one core.
__aicore__ inline void WriteOnes(GM_ADDR chunk_state, uint64_t second_elem) {
  if (GetBlockIdx() != 0) return;
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, kElems * sizeof(float));
  LocalTensor<float> ones = buffer.Get<float>();
  Duplicate(ones, 1.0f, kElems);
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  GlobalTensor<float> to;
  to.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(chunk_state));
  DataCopy(to, ones, kElems);
  DataCopy(to[second_elem], ones, kElems);
}

// The first two rows of chunk_state, in bounds.
__aicore__ inline void WritesTwoRows(GM_ADDR chunk_state, GM_ADDR) { WriteOnes(chunk_state, kElems); }

// The same, and then far behind its end.
__aicore__ inline void WritesBehindTheEnd(GM_ADDR chunk_state, GM_ADDR) { WriteOnes(chunk_state, uint64_t{1} << 20); }

}  // namespace

extern "C" __global__ __aicore__ void chunk_gated_delta_rule(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR,
                                                             GM_ADDR, GM_ADDR chunk_state, GM_ADDR out, GM_ADDR,
                                                             GM_ADDR, GM_ADDR) {
  SUBSTITUTE(chunk_state, out);
}
