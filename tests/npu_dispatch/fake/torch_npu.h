// SPDX-License-Identifier: Apache-2.0
// What the NPU kernels call of torch_npu, compiled against its headers.
#pragma once

#include "runtime.h"
#include "torch_npu/csrc/core/npu/NPUFormat.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"

namespace c10_npu {
NPUStream getCurrentNPUStream(c10::DeviceIndex device) {
  return NPUStream(NPUStream::UNCHECKED, c10::Stream(c10::Stream::UNSAFE, {c10::kPrivateUse1, device}, state.stream));
}
aclrtStream NPUStream::stream() const {
  Event("drain_task_queue stream=", id());
  return reinterpret_cast<aclrtStream>(kFirstStream + id());
}
}  // namespace c10_npu

namespace at_npu::native {
int64_t get_npu_format(const at::Tensor&) { return state.format; }
}  // namespace at_npu::native
