// SPDX-License-Identifier: Apache-2.0
#include "ops/chunk_gated_delta_rule/prepare.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <vector>

#include "environment.h"

namespace chunk_gdr::chunk_gated_delta_rule {
namespace {

constexpr int64_t kGmAlignBytes = 32;

int64_t PaddedDim(int64_t dim) { return (dim + 15) / 16 * 16; }

bool IsAligned(const at::Tensor& tensor) {
  return reinterpret_cast<uintptr_t>(tensor.const_data_ptr()) % kGmAlignBytes == 0;
}

// The trailing dims of `tensor` grown to `dims` with zeros; contiguous and aligned. The tensor itself where it is that.
at::Tensor Padded(const at::Tensor& tensor, at::IntArrayRef dims) {
  std::vector<int64_t> shape = tensor.sizes().vec();
  std::copy(dims.begin(), dims.end(), shape.end() - dims.size());
  if (tensor.sizes() == at::IntArrayRef(shape)) {
    const at::Tensor same = tensor.contiguous();
    return IsAligned(same) ? same : same.clone();
  }
  at::Tensor padded = at::zeros(shape, tensor.options());
  at::Tensor live = padded;
  for (int64_t dim = 0; dim < tensor.dim(); ++dim) live = live.narrow(dim, 0, tensor.size(dim));
  live.copy_(tensor);
  return padded;
}

// [T, Nv] -> fp32 [Nv, GatePitch(T)]
at::Tensor GateRows(const at::Tensor& factors) {
  at::Tensor rows = at::zeros({factors.size(1), host::GatePitch(factors.size(0))}, factors.options().dtype(at::kFloat));
  rows.narrow(1, 0, factors.size(0)).copy_(factors.t());
  return rows;
}

host::ProblemDesc Describe(const Arguments& args, const Sizes& sizes, uint32_t cores) {
  host::ProblemDesc desc;
  desc.total_tokens = args.query.size(0);
  desc.batch = sizes.batch.expect_int();
  desc.key_heads = args.query.size(1);
  desc.value_heads = args.value.size(1);
  desc.key_dim = PaddedDim(args.query.size(2));
  desc.value_dim = PaddedDim(args.value.size(2));
  desc.has_beta = args.beta.has_value();
  desc.has_initial_state = args.initial_state.has_value();
  desc.has_lengths = args.actual_seq_lengths.has_value();
  desc.has_g = args.g.has_value();
  desc.has_chunk_state = args.chunk_state.has_value();
  desc.state_is_half = sizes.state_dtype == at::kHalf;
  desc.use_qk_l2norm = args.use_qk_l2norm_in_kernel;
  desc.scale = static_cast<float>(args.scale.value_or(1.0));
  desc.gate_stride_elems = host::GatePitch(desc.total_tokens);
  desc.core_count = cores;
  desc.state_layout = ChosenStateLayout();
  TakeFromEnvironment("CHUNK_GDR_SCHEDULE", [&](const std::string& name) { host::SetSchedule(desc, name); });
  TakeFromEnvironment("CHUNK_GDR_CHUNK_SIZE", [&](const std::string& name) { host::SetChunkSize(desc, name); });
  return desc;
}

}  // namespace

StateLayout ChosenStateLayout() {
  StateLayout layout = kStateLayout;
  TakeFromEnvironment("CHUNK_GDR_STATE_LAYOUT", [&](const std::string& name) { layout = host::StateLayoutFromName(name); });
  return layout;
}

std::array<KernelArgument, 10> Prepared::Arguments() const {
  return {{{"query", query, false},
           {"key", key, false},
           {"value", value, false},
           {"beta", beta, false},
           {"initial_state", initial_state, false},
           {"lengths", lengths, false},
           {"g", g, false},
           {"chunk_state", chunk_state, true},
           {"out", out, true},
           {"final_state", final_state, true}}};
}

Prepared Prepare(const Arguments& args, const Sizes& sizes, uint32_t cores, ChunkState chunk_state) {
  const host::ProblemDesc desc = Describe(args, sizes, cores);
  Prepared p;
  p.plan = host::MakeLaunchPlan(desc);
  p.query = Padded(args.query, {desc.key_dim});
  p.key = Padded(args.key, {desc.key_dim});
  p.value = Padded(args.value, {desc.value_dim});
  if (args.beta) p.beta = GateRows(*args.beta);
  if (args.g) p.g = GateRows(*args.g);
  if (args.initial_state) p.initial_state = Padded(*args.initial_state, {desc.value_dim, desc.key_dim});
  if (args.actual_seq_lengths) p.lengths = Padded(args.actual_seq_lengths->to(args.query.device(), at::kLong), {});
  if (args.chunk_state) {
    // Padded with the caller's values, because rows that no chunk owns keep them.
    const at::Tensor rows = chunk_state == ChunkState::kCopied ? args.chunk_state->clone() : *args.chunk_state;
    p.chunk_state = Padded(rows, {desc.value_dim, desc.key_dim});
  }
  p.out = at::empty({desc.total_tokens, desc.value_heads, desc.value_dim}, args.query.options());
  p.final_state = at::empty({desc.batch, desc.value_heads, desc.value_dim, desc.key_dim},
                            args.query.options().dtype(sizes.state_dtype));
  return p;
}

void ZeroWorkspace(const host::LaunchPlan& plan, const at::Tensor& workspace) {
  for (const host::WorkspaceSlot& slot : plan.workspace) {
    if (slot.zeroed) {
      workspace.narrow(0, static_cast<int64_t>(kSystemWorkspaceBytes + slot.offset_bytes), static_cast<int64_t>(slot.bytes)).zero_();
    }
  }
}

Outputs Finish(const Arguments& args, const Prepared& prepared) {
  const int64_t value_dim = args.value.size(2), key_dim = args.query.size(2);
  const auto live_state = [&](const at::Tensor& state) { return state.narrow(2, 0, value_dim).narrow(3, 0, key_dim); };
  if (args.chunk_state && !prepared.chunk_state->is_same(*args.chunk_state)) {
    args.chunk_state->copy_(live_state(*prepared.chunk_state));
  }
  return {prepared.out.narrow(2, 0, value_dim).contiguous(), live_state(prepared.final_state).contiguous()};
}

}  // namespace chunk_gdr::chunk_gated_delta_rule
