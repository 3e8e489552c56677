// SPDX-License-Identifier: Apache-2.0
// From a checked call to what the device kernel takes, and back: one way for the chip and for its host model. Made of
// torch operators, so it runs where the tensors live.
#pragma once

#include <array>
#include <cstdint>

#include "op_host/chunk_gated_delta_rule/tiling.h"
#include "ops/chunk_gated_delta_rule/check.h"
#include "ops/chunk_gated_delta_rule/state_layout.h"

namespace chunk_gdr::chunk_gated_delta_rule {

static_assert(kChunkRows == kChunk && kMaxHeadDim == chunk_gdr::kMaxHeadDim, "the checks and the kernel have the same limits");

struct KernelArgument {
  const char* name;
  OptionalTensor tensor;
  bool written;
};

// Contiguous, at addresses that are multiples of 32; head dims padded with zeros to multiples of 16.
struct Prepared {
  at::Tensor query, key, value;               // [T, N, D16]
  OptionalTensor beta, g;                     // fp32 [Nv, Tp]
  OptionalTensor initial_state, chunk_state;  // [.., Nv, Dv16, Dk16]
  OptionalTensor lengths;                     // int64 [B]
  at::Tensor out, final_state;                // nothing written yet
  host::LaunchPlan plan;

  // In the order of the kernel's entry, before the workspace.
  std::array<KernelArgument, 10> Arguments() const;
};

enum class ChunkState {
  kWhereItIs,  // the kernel writes the caller's tensor, if its layout is the kernel's
  kCopied,     // it writes a copy
};

Prepared Prepare(const Arguments& args, const Sizes& sizes, uint32_t cores, ChunkState chunk_state);

// Zeros where the plan wants them. workspace: bytes [plan.workspace_bytes].
void ZeroWorkspace(const host::LaunchPlan& plan, const at::Tensor& workspace);

// The results of the launch, with the head dims of the call. Also completes the caller's chunk_state.
Outputs Finish(const Arguments& args, const Prepared& prepared);

}  // namespace chunk_gdr::chunk_gated_delta_rule
