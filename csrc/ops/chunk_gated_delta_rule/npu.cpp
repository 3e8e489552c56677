// SPDX-License-Identifier: Apache-2.0
// The device kernel on the chip: tensors of torch_npu in, one asynchronous launch on their current stream.
#include <ATen/ATen.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include <algorithm>
#include <string>
#include <vector>

#include "npu/device_kernel.h"
#include "npu/library.h"
#include "op_kernel/common/direct.h"
#include "ops/chunk_gated_delta_rule/check.h"
#include "ops/chunk_gated_delta_rule/prepare.h"
#include "registration.h"
#include "torch_npu/csrc/core/npu/NPUFormat.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"

namespace chunk_gdr::chunk_gated_delta_rule {
namespace {

constexpr const char* kOperator = "chunk_gated_delta_rule";

npu::DeviceKernel& Kernel() {
  static npu::DeviceKernel kernel(kOperator, npu::DeviceBinary(kOperator));
  return kernel;
}

// torch_npu's own layouts (FRACTAL_NZ and the like) are not what their strides say.
void CheckFormats(const Arguments& args) {
  for (const auto& [name, tensor] : PresentTensors(args)) {
    if (tensor->device().is_cpu()) continue;
    const int64_t format = at_npu::native::get_npu_format(*tensor);
    TORCH_CHECK(format == ACL_FORMAT_ND || format == ACL_FORMAT_NCHW || format == ACL_FORMAT_NHWC ||
                    format == ACL_FORMAT_NCDHW,
                kOperator, ": argument '", name, "': expected a base format such as ND (", int{ACL_FORMAT_ND},
                "), got format ", format, "; torch_npu.npu_format_cast converts it");
  }
}

// By value where the lengths are on the CPU already. Those on the device stay there: the kernel checks them.
void CheckLengthsWithoutCopy(const Arguments& args, const Sizes& sizes) {
  if (!args.actual_seq_lengths || args.actual_seq_lengths->device().is_cpu()) {
    CheckLengths(args, sizes);
  } else {
    CheckChunkStateRowBound(args, sizes);
  }
}

Outputs Npu(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const OptionalTensor& beta,
            const OptionalTensor& initial_state, const OptionalTensor& actual_seq_lengths, std::optional<double> scale,
            const OptionalTensor& g, const OptionalTensor& chunk_state, bool use_qk_l2norm_in_kernel) {
  const Arguments args{
      query, key, value, beta, initial_state, actual_seq_lengths, scale, g, chunk_state, use_qk_l2norm_in_kernel};
  const Sizes sizes = CheckShapes(args, KernelDtypes());
  CheckLengthsWithoutCopy(args, sizes);
  CheckChunkStateStorage(args);
  CheckFormats(args);

  const c10::DeviceGuard guard(query.device());
  const int device = query.device().index();
  const uint32_t cores = std::min(Kernel().Cores(device), kAiCores);
  const Prepared prepared = Prepare(args, sizes, cores, ChunkState::kWhereItIs);
  const host::LaunchPlan& plan = prepared.plan;
  if (prepared.out.numel() == 0 && prepared.final_state.numel() == 0) return Finish(args, prepared);

  // Freed when this function returns, for work that comes later on the same stream.
  const at::Tensor workspace =
      at::empty({static_cast<int64_t>(plan.workspace_bytes)}, query.options().dtype(at::kByte));
  ZeroWorkspace(plan, workspace);
  std::vector<void*> pointers;
  for (const KernelArgument& argument : prepared.Arguments()) {
    pointers.push_back(argument.tensor ? argument.tensor->data_ptr() : nullptr);
  }
  pointers.push_back(workspace.data_ptr());

  const DirectTiling<ChunkGatedDeltaRuleTiling> tiling{plan.tiling_key, plan.tiling};
  const c10_npu::NPUStream stream = c10_npu::getCurrentNPUStream(static_cast<c10::DeviceIndex>(device));
  // stream() hands over what torch_npu still holds back in its task queue, so the launch comes behind it, and fails
  // here and not in a later call.
  Kernel().Launch(device, stream.stream(), plan.block_num, pointers, &tiling, sizeof(tiling));

  // Inputs may come from other streams; none may be handed out again before this stream is done with it.
  for (const KernelArgument& argument : prepared.Arguments()) {
    if (argument.tensor && argument.tensor->numel() > 0) argument.tensor->record_stream(stream.unwrap());
  }
  return Finish(args, prepared);
}

}  // namespace

TORCH_LIBRARY_IMPL(chunk_gdr, PrivateUse1, m) { m.impl("chunk_gated_delta_rule", &Npu); }

TORCH_LIBRARY_IMPL(npu, PrivateUse1, m) {
  if (OwnsNpuName("chunk_gated_delta_rule")) m.impl("chunk_gated_delta_rule", &Npu);
}

}  // namespace chunk_gdr::chunk_gated_delta_rule
