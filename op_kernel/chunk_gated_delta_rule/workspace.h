// SPDX-License-Identifier: Apache-2.0
// The kernel's share of the workspace, behind the system part.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_WORKSPACE_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_WORKSPACE_H_

#include "buffers.h"

namespace chunk_gdr {

// One status block per core: 0, or why the core refused to run. A block each, so that no two cores write the same 32 bytes.
constexpr uint32_t kStatusBlockBytes = kBlockBytes;
enum Status : int32_t { kOk = 0, kBadLengths = 1, kOtherLayout = 2 };  // kOtherLayout: the tiling is for another state layout

constexpr __aicore__ uint64_t StatusOffset(uint64_t core) { return core * kStatusBlockBytes; }
constexpr __aicore__ uint64_t StatusBytes(uint64_t cores) { return StatusOffset(cores); }

// Chunk-parallel: a flag per core for SyncAll and rows of zeros, both zero at the launch; then a slot per chunk and v-head.
constexpr __aicore__ uint64_t SyncOffset(uint64_t cores) { return StatusBytes(cores); }
constexpr __aicore__ uint64_t SyncBytes(uint64_t cores) { return cores * kBlockBytes; }
constexpr __aicore__ uint64_t ZerosOffset(uint64_t cores) { return SyncOffset(cores) + SyncBytes(cores); }
constexpr uint64_t kZerosBytes = static_cast<uint64_t>(kChunk) * kMaxHeadDim * 2;
constexpr __aicore__ uint64_t SlotsOffset(uint64_t cores) { return ZerosOffset(cores) + kZerosBytes; }

// What a slot hands over, in fp16 elements: T, row of blocks by row of blocks, and P as a list (lower.h), each hi, then lo; the diagonal
// blocks of diag(s / p); factors in fp32.
constexpr uint32_t kSlotT = 0;
constexpr uint32_t kSlotOutWeight = kSlotT + 2 * kLowerBlocks * kFractalElems;
constexpr uint32_t kSlotShift = kSlotOutWeight + 2 * kLowerBlocks * kFractalElems;
constexpr uint32_t kSlotFactors = kSlotShift + kBlocksPerSide * kFractalElems;
constexpr uint32_t kSlotElems = kSlotFactors + 2 * kFactorElems;

// At most so many rows of chunk_state, with as many slots each as they have chunks.
constexpr __aicore__ int64_t SlotsPerHead(const ChunkGatedDeltaRuleTiling& t) {
  return (t.tokens / kChunk + t.sequences) * (kChunk / t.chunk_size);
}
constexpr __aicore__ uint64_t SlotsBytes(const ChunkGatedDeltaRuleTiling& t) {
  return static_cast<uint64_t>(t.v_heads) * SlotsPerHead(t) * kSlotElems * 2;
}

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_WORKSPACE_H_
