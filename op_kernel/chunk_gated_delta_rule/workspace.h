// SPDX-License-Identifier: Apache-2.0
// The kernel's share of the workspace, behind the system part.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_WORKSPACE_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_WORKSPACE_H_

#include "../common/arch.h"

namespace chunk_gdr {

// One status block per core: 0, or why the core refused to run. A block each, so that no two cores write the same 32 bytes.
constexpr uint32_t kStatusBlockBytes = kBlockBytes;
enum Status : int32_t { kOk = 0, kBadLengths = 1, kTooWide = 2 };  // kTooWide: the tiling is not one for this kernel's state layout

constexpr __aicore__ uint64_t StatusOffset(uint64_t core) { return core * kStatusBlockBytes; }
constexpr __aicore__ uint64_t WorkspaceBytes(uint64_t cores) { return StatusOffset(cores); }

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_WORKSPACE_H_
