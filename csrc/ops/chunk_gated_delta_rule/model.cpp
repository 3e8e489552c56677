// SPDX-License-Identifier: Apache-2.0
// The device kernel on the host model of the chip.
#include <ATen/ATen.h>
#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "npu_model/launch.h"
#include "op_kernel/chunk_gated_delta_rule/workspace.h"
#include "ops/chunk_gated_delta_rule/backends.h"
#include "ops/chunk_gated_delta_rule/prepare.h"

extern "C" void chunk_gated_delta_rule(uint8_t* query, uint8_t* key, uint8_t* value, uint8_t* beta,
                                       uint8_t* initial_state, uint8_t* lengths, uint8_t* g, uint8_t* chunk_state,
                                       uint8_t* out, uint8_t* final_state, uint8_t* workspace, uint8_t* tiling);

namespace chunk_gdr::chunk_gated_delta_rule {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

int64_t ChunksOf(const Problem& problem, int64_t chunk_size) {
  int64_t chunks = 0;
  for (const int64_t length : problem.lengths) chunks += CeilDiv(length, chunk_size);
  return chunks;
}

// What a kernel forgets to write shows as NaN.
void Spoil(const Prepared& prepared, int64_t state_rows) {
  prepared.out.fill_(kNaN);
  prepared.final_state.fill_(kNaN);
  if (prepared.chunk_state) prepared.chunk_state->narrow(0, 0, state_rows).fill_(kNaN);
}

npu_model::GmArg GmArgOf(const KernelArgument& argument) {
  npu_model::GmArg arg;
  arg.name = argument.name;
  arg.writable = argument.written;
  arg.initialised = !argument.written;
  if (argument.tensor) {
    arg.data = argument.tensor->data_ptr();
    arg.bytes = argument.tensor->nbytes();
  }
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
    options.stage_lanes[static_cast<int>(stage)] = plan.stage_lanes[stage];
  }
  return options;
}

// The kernel of the package, or of the library that CHUNK_GDR_MODEL_KERNEL names: another build of it, to try.
void* KernelEntry() {
  const char* library = std::getenv("CHUNK_GDR_MODEL_KERNEL");
  if (library == nullptr || *library == '\0') return reinterpret_cast<void*>(&::chunk_gated_delta_rule);
  // A bare name is a file here too, not one in the linker's folders.
  void* handle = dlopen(std::filesystem::absolute(library).c_str(), RTLD_NOW | RTLD_LOCAL);
  TORCH_CHECK(handle != nullptr, "chunk_gated_delta_rule on the host model: CHUNK_GDR_MODEL_KERNEL: ", dlerror());
  void* entry = dlsym(handle, "chunk_gated_delta_rule");
  TORCH_CHECK(entry != nullptr, "chunk_gated_delta_rule on the host model: CHUNK_GDR_MODEL_KERNEL: ", dlerror());
  return entry;
}

// A kernel that was planned for another build of it knows none of the buffers: that is the one thing to say.
void RequireLayout(const host::LaunchPlan& plan, const at::Tensor& workspace) {
  const auto* status = reinterpret_cast<const int32_t*>(workspace.const_data_ptr<uint8_t>() + kSystemWorkspaceBytes);
  TORCH_CHECK(*status != kOtherLayout, "chunk_gated_delta_rule on the host model: CHUNK_GDR_STATE_LAYOUT: expected the state layout that "
              "the kernel was built for, got ", plan.state_layout);
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
  // chunk_state is a copy, because results count only if the launch is clean.
  const Prepared prepared =
      Prepare(problem.args, problem.sizes, static_cast<uint32_t>(wished.cores), ChunkState::kCopied);
  Spoil(prepared, ChunksOf(problem, kChunkRows));
  const host::LaunchPlan& plan = prepared.plan;
  const at::Tensor workspace = at::full({static_cast<int64_t>(plan.workspace_bytes)}, 0xFF, at::kByte);
  ZeroWorkspace(plan, workspace);

  std::vector<npu_model::GmArg> args;
  for (const KernelArgument& argument : prepared.Arguments()) args.push_back(GmArgOf(argument));
  args.push_back(GmArgOf({"workspace", workspace, true}));
  for (const host::WorkspaceSlot& slot : plan.workspace) {
    if (slot.zeroed) args.back().written.emplace_back(kSystemWorkspaceBytes + slot.offset_bytes, slot.bytes);
  }
  const npu_model::Report report = npu_model::Launch(
      "chunk_gated_delta_rule", KernelEntry(), args, &plan.tiling, sizeof(plan.tiling),
      Options(plan, ChunksOf(problem, plan.tiling.chunk_size) * plan.tiling.v_heads, wished));
  RequireLayout(plan, workspace);
  RequireClean(report);
  return Finish(problem.args, prepared);
}

}  // namespace chunk_gdr::chunk_gated_delta_rule
