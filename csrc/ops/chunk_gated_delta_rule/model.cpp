// SPDX-License-Identifier: Apache-2.0
// The device kernel on the host model of the chip: arguments in the layout that the kernel takes, launch, results back.
#include <ATen/ATen.h>

#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "npu_model/launch.h"
#include "op_host/chunk_gated_delta_rule/tiling.h"
#include "ops/chunk_gated_delta_rule/backends.h"

extern "C" void chunk_gated_delta_rule(uint8_t* query, uint8_t* key, uint8_t* value, uint8_t* beta,
                                       uint8_t* initial_state, uint8_t* lengths, uint8_t* g, uint8_t* chunk_state,
                                       uint8_t* out, uint8_t* final_state, uint8_t* workspace, uint8_t* tiling);

namespace chunk_gdr::chunk_gated_delta_rule {
namespace {

constexpr int64_t kGmAlignBytes = 32;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

int64_t PaddedDim(int64_t dim) { return (dim + 15) / 16 * 16; }

// Rows of g and beta: 32-byte steps, and room for a whole chunk that starts at the last token.
int64_t GateStride(int64_t tokens) { return (tokens + 7) / 8 * 8 + kChunkRows; }

bool IsAligned(const at::Tensor& tensor) {
  return reinterpret_cast<uintptr_t>(tensor.const_data_ptr()) % kGmAlignBytes == 0;
}

// The trailing dims of `tensor` grown to `dims` with zeros; contiguous and aligned.
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

// [T, Nv] -> fp32 [Nv, GateStride(T)]
at::Tensor GateRows(const at::Tensor& factors) {
  at::Tensor rows = at::zeros({factors.size(1), GateStride(factors.size(0))}, factors.options().dtype(at::kFloat));
  rows.narrow(1, 0, factors.size(0)).copy_(factors.t());
  return rows;
}

at::Tensor FilledWithNaN(at::IntArrayRef shape, const at::TensorOptions& options) {
  return at::full(shape, kNaN, options);
}

struct Launch {
  at::Tensor query, key, value;               // [T, N, D16]
  OptionalTensor beta, g;                     // fp32 [Nv, Tp]
  OptionalTensor initial_state, chunk_state;  // [.., Nv, Dv16, Dk16]
  OptionalTensor lengths;                     // int64 [B]
  at::Tensor out, final_state, workspace;
  host::LaunchPlan plan;
};

host::ProblemDesc Describe(const Problem& problem, uint32_t cores) {
  const Arguments& args = problem.args;
  host::ProblemDesc desc;
  desc.total_tokens = args.query.size(0);
  desc.batch = static_cast<int64_t>(problem.lengths.size());
  desc.key_heads = args.query.size(1);
  desc.value_heads = args.value.size(1);
  desc.key_dim = PaddedDim(args.query.size(2));
  desc.value_dim = PaddedDim(args.value.size(2));
  desc.has_beta = args.beta.has_value();
  desc.has_initial_state = args.initial_state.has_value();
  desc.has_lengths = args.actual_seq_lengths.has_value();
  desc.has_g = args.g.has_value();
  desc.has_chunk_state = args.chunk_state.has_value();
  desc.state_is_half = problem.sizes.state_dtype == at::kHalf;
  desc.use_qk_l2norm = args.use_qk_l2norm_in_kernel;
  desc.scale = static_cast<float>(args.scale.value_or(1.0));
  desc.gate_stride_elems = GateStride(desc.total_tokens);
  desc.chunk_state_rows = args.chunk_state ? args.chunk_state->size(0) : 0;
  desc.core_count = cores;
  return desc;
}

int64_t ChunksOf(const Problem& problem) {
  int64_t chunks = 0;
  for (const int64_t length : problem.lengths) chunks += ChunkCount(length);
  return chunks;
}

Launch Prepare(const Problem& problem, uint32_t cores) {
  const Arguments& args = problem.args;
  const host::ProblemDesc desc = Describe(problem, cores);
  Launch launch;
  launch.plan = host::MakeLaunchPlan(desc);
  launch.query = Padded(args.query, {desc.key_dim});
  launch.key = Padded(args.key, {desc.key_dim});
  launch.value = Padded(args.value, {desc.value_dim});
  if (args.beta) launch.beta = GateRows(*args.beta);
  if (args.g) launch.g = GateRows(*args.g);
  if (args.initial_state) launch.initial_state = Padded(*args.initial_state, {desc.value_dim, desc.key_dim});
  if (args.actual_seq_lengths) launch.lengths = args.actual_seq_lengths->to(at::kLong).contiguous().clone();
  if (args.chunk_state) {
    // A copy, because results count only if the launch is clean. Rows that no chunk owns keep the caller's values, so
    // that a write there shows.
    launch.chunk_state = Padded(args.chunk_state->clone(at::MemoryFormat::Contiguous), {desc.value_dim, desc.key_dim});
    launch.chunk_state->narrow(0, 0, ChunksOf(problem)).fill_(kNaN);
  }
  launch.out = FilledWithNaN({desc.total_tokens, desc.value_heads, desc.value_dim}, args.query.options());
  launch.final_state = FilledWithNaN({desc.batch, desc.value_heads, desc.value_dim, desc.key_dim},
                                     args.query.options().dtype(problem.sizes.state_dtype));
  launch.workspace = at::full({static_cast<int64_t>(launch.plan.workspace_bytes)}, 0xFF, at::kByte);
  return launch;
}

npu_model::GmArg Arg(const char* name, const at::Tensor& tensor) {
  npu_model::GmArg arg;
  arg.data = tensor.data_ptr();
  arg.bytes = tensor.nbytes();
  arg.name = name;
  return arg;
}

npu_model::GmArg Arg(const char* name, const OptionalTensor& tensor) {
  if (tensor) return Arg(name, *tensor);
  npu_model::GmArg absent;
  absent.name = name;
  return absent;
}

npu_model::GmArg Output(npu_model::GmArg arg) {
  arg.writable = true;
  arg.initialised = false;
  return arg;
}

npu_model::Mem MemFromName(const std::string& name) {
  for (int mem = 0; mem < npu_model::kMemCount; ++mem) {
    if (name == npu_model::Name(static_cast<npu_model::Mem>(mem))) return static_cast<npu_model::Mem>(mem);
  }
  throw std::logic_error("buffer plan names a memory that the model does not have: " + name);
}

npu_model::LaunchOptions Options(const host::LaunchPlan& plan, int64_t chunk_heads, npu_model::LaunchOptions options) {
  options.work_unit = "chunk_head";
  options.work_units = static_cast<uint64_t>(chunk_heads);
  options.block_num = static_cast<int>(plan.block_num);
  options.tiling_key = plan.tiling_key;
  for (const host::BufferRow& row : plan.buffers) {
    options.rows.push_back(
        {row.name, MemFromName(row.memory), row.offset_bytes, row.bytes, row.first_stage, row.last_stage});
  }
  for (size_t stage = 0; stage < plan.stage_names.size(); ++stage) {
    options.stage_names[static_cast<int>(stage)] = plan.stage_names[stage];
  }
  return options;
}

void RequireClean(const npu_model::Report& report) {
  const std::string error = report.error();
  TORCH_CHECK(error.empty(), "chunk_gated_delta_rule on the host model: the kernel was abandoned: ", error);
  TORCH_CHECK(report.errors() == 0, "chunk_gated_delta_rule on the host model: ", report.errors(),
              " hazard(s); chunk_gdr.model.last_report() has them all. The first: ", report.HazardText(1));
}

}  // namespace

Outputs RunModel(const Problem& problem) {
  const npu_model::LaunchOptions wished = npu_model::DefaultOptions();
  Launch launch = Prepare(problem, static_cast<uint32_t>(wished.cores));
  const std::vector<npu_model::GmArg> args = {
      Arg("query", launch.query),
      Arg("key", launch.key),
      Arg("value", launch.value),
      Arg("beta", launch.beta),
      Arg("initial_state", launch.initial_state),
      Arg("lengths", launch.lengths),
      Arg("g", launch.g),
      Output(Arg("chunk_state", launch.chunk_state)),
      Output(Arg("out", launch.out)),
      Output(Arg("final_state", launch.final_state)),
      Output(Arg("workspace", launch.workspace)),
  };
  const int64_t chunks = ChunksOf(problem);
  const npu_model::Report report =
      npu_model::Launch("chunk_gated_delta_rule", reinterpret_cast<void*>(&::chunk_gated_delta_rule), args,
                        &launch.plan.tiling, sizeof(launch.plan.tiling), Options(launch.plan, chunks * launch.plan.tiling.v_heads, wished));
  RequireClean(report);

  const int64_t value_dim = problem.args.value.size(2), key_dim = problem.args.query.size(2);
  const auto live_state = [&](const at::Tensor& state) { return state.narrow(2, 0, value_dim).narrow(3, 0, key_dim); };
  if (launch.chunk_state) problem.args.chunk_state->copy_(live_state(*launch.chunk_state));
  return {launch.out.narrow(2, 0, value_dim).contiguous(), live_state(launch.final_state).contiguous()};
}

}  // namespace chunk_gdr::chunk_gated_delta_rule
