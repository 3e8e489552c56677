// SPDX-License-Identifier: Apache-2.0
// Calls that the library builds from several instructions, on a UB image: Broadcast, Silu.
#include "image.h"

using namespace AscendC;

namespace {

// Call::extra: rows, columns, rows and columns of the source, bytes of the temporary buffer (0: the rest of UB).
template <class T, int32_t axis>
void BroadcastOf(const LocalTensor<uint8_t>& ub, const Call& c) {
  const uint32_t to[2] = {c.extra[0], c.extra[1]};
  const uint32_t from[2] = {c.extra[2], c.extra[3]};
  auto d = At<T>(ub, c.offset[0]), s = At<T>(ub, c.offset[1]);
  if (c.extra[4] == 0) return Broadcast<T, 2, axis>(d, s, to, from);
  LocalTensor<uint8_t> tmp = ub[c.offset[2]];
  tmp.SetSize(c.extra[4]);
  Broadcast<T, 2, axis>(d, s, to, from, tmp);
}

}  // namespace

// Call::mode: the axis.
extern "C" __global__ __aicore__ void broadcast(GM_ADDR image, GM_ADDR, GM_ADDR tiling) {
  OnImage(image, tiling, [](auto& ub, const Call& c) {
    if (c.type == 0) return c.mode == 0 ? BroadcastOf<half, 0>(ub, c) : BroadcastOf<half, 1>(ub, c);
    c.mode == 0 ? BroadcastOf<float, 0>(ub, c) : BroadcastOf<float, 1>(ub, c);
  });
}

extern "C" __global__ __aicore__ void silu(GM_ADDR image, GM_ADDR, GM_ADDR tiling) {
  OnImage(image, tiling, [](auto& ub, const Call& c) {
    const uint32_t count = static_cast<uint32_t>(c.count);
    if (c.type == 0) return Silu(At<half>(ub, c.offset[0]), At<half>(ub, c.offset[1]), count);
    Silu(At<float>(ub, c.offset[0]), At<float>(ub, c.offset[1]), count);
  });
}
