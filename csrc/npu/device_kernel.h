// SPDX-License-Identifier: Apache-2.0
// One kernel of a device binary, launched through the CANN runtime alone: no operator package, no generated code.
#pragma once

#include <acl/acl.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace chunk_gdr::npu {

// What went wrong, in one line: operator, device, entry point, code, and what the runtime says about it.
struct LaunchError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class DeviceKernel {
 public:
  // `binary`: what ascendc_fatbin_library makes of the kernel's source; it is read at the first launch on a device.
  DeviceKernel(std::string name, std::string binary) : name_(std::move(name)), binary_(std::move(binary)) {}

  // Puts one launch on the stream and does not wait for it. `device` is the current one. The kernel sees the pointers
  // as its arguments, and behind them one to a copy of the tiling bytes, which travels with the launch.
  void Launch(int device, aclrtStream stream, uint32_t blocks, const std::vector<void*>& pointers, const void* tiling,
              size_t tiling_bytes);

  // AI cores of the device. Throws LaunchError unless it is an Ascend 310P.
  uint32_t Cores(int device) const;

 private:
  aclrtFuncHandle Function(int device);
  void Require(aclError code, const char* entry_point, int device) const;

  std::string name_;
  std::string binary_;
  std::mutex mutex_;
  std::map<int, aclrtFuncHandle> functions_;  // by device: loading copies the binary there
};

}  // namespace chunk_gdr::npu
