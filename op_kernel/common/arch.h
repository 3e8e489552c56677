// SPDX-License-Identifier: Apache-2.0
// Facts of dav_m200 (Ascend 310P) that kernels, host tiling and Python share.
#ifndef CHUNK_GDR_COMMON_ARCH_H_
#define CHUNK_GDR_COMMON_ARCH_H_

#include <cstdint>

// Host-side translation units include the shared headers without AscendC, where the device qualifier does not exist.
#ifndef __aicore__
#define __aicore__
#endif

namespace chunk_gdr {

constexpr uint32_t kBlockBytes = 32;            // address granularity of UB and L1
constexpr uint32_t kRepeatBytes = 256;          // one vector repeat: eight blocks
constexpr uint32_t kRepeatFloats = 64;
constexpr uint32_t kBlocksPerRepeat = 8;
constexpr uint32_t kFractal = 16;               // rows and columns of a half fractal
constexpr uint32_t kFractalElems = kFractal * kFractal;
constexpr uint32_t kMinParallelMmadTiles = 10;  // smaller back-to-back accumulations into one L0C region need a barrier

constexpr uint32_t kUbBytes = 248 * 1024;       // 256 KiB less the library's scratch at the top
constexpr uint32_t kL1Bytes = 1024 * 1024;
constexpr uint32_t kL0ABytes = 64 * 1024;
constexpr uint32_t kL0BBytes = 64 * 1024;
constexpr uint32_t kL0CBytes = 256 * 1024;

constexpr uint64_t kSystemWorkspaceBytes = 2 * 1024 * 1024;
constexpr uint32_t kAiCores = 8;                // Ascend 310P3, P5, P7

template <typename T>
constexpr __aicore__ T CeilDiv(T a, T b) {
  return (a + b - 1) / b;
}

template <typename T>
constexpr __aicore__ T RoundUp(T a, T b) {
  return CeilDiv(a, b) * b;
}

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_COMMON_ARCH_H_
