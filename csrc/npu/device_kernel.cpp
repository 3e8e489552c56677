// SPDX-License-Identifier: Apache-2.0
#include "npu/device_kernel.h"

#include <cstring>
#include <utility>

namespace chunk_gdr::npu {
namespace {

constexpr const char* kSocPrefix = "Ascend310P";

std::string Where(const std::string& kernel, int device) { return kernel + " on npu:" + std::to_string(device) + ": "; }

// The runtime's messages have many lines; the first is the reason.
std::string RecentError() {
  const char* text = aclGetRecentErrMsg();
  if (text == nullptr) return "the runtime gives no reason";
  const std::string message = text;
  return message.substr(0, message.find('\n'));
}

}  // namespace

void DeviceKernel::Require(aclError code, const char* entry_point, int device) const {
  if (code == ACL_SUCCESS) return;
  throw LaunchError(Where(name_, device) + entry_point + " failed with code " + std::to_string(code) + ": " +
                    RecentError());
}

uint32_t DeviceKernel::Cores(int device) const {
  const char* soc = aclrtGetSocName();
  if (soc == nullptr || std::strncmp(soc, kSocPrefix, std::strlen(kSocPrefix)) != 0) {
    throw LaunchError(Where(name_, device) + "expected a device " + kSocPrefix + "*, got " +
                      (soc == nullptr ? "no name" : soc));
  }
  int64_t cores = 0;
  Require(aclGetDeviceCapability(static_cast<uint32_t>(device), ACL_DEVICE_INFO_AI_CORE_NUM, &cores),
          "aclGetDeviceCapability", device);
  if (cores < 1) throw LaunchError(Where(name_, device) + "expected at least 1 AI core, got " + std::to_string(cores));
  return static_cast<uint32_t>(cores);
}

aclrtFuncHandle DeviceKernel::Function(int device) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = functions_.find(device);
  if (known != functions_.end()) return known->second;
  aclrtBinHandle binary = nullptr;
  const aclError loaded = aclrtBinaryLoadFromFile(binary_.c_str(), nullptr, &binary);
  Require(loaded, ("aclrtBinaryLoadFromFile of " + binary_).c_str(), device);
  aclrtFuncHandle function = nullptr;
  Require(aclrtBinaryGetFunction(binary, name_.c_str(), &function), "aclrtBinaryGetFunction", device);
  functions_.emplace(device, function);
  return function;
}

void DeviceKernel::Launch(int device, aclrtStream stream, uint32_t blocks, const std::vector<void*>& pointers,
                          const void* tiling, size_t tiling_bytes) {
  const aclrtFuncHandle function = Function(device);
  aclrtArgsHandle args = nullptr;
  Require(aclrtKernelArgsInit(function, &args), "aclrtKernelArgsInit", device);
  aclrtParamHandle param = nullptr;
  for (void* pointer : pointers) {
    Require(aclrtKernelArgsAppend(args, &pointer, sizeof(pointer), &param), "aclrtKernelArgsAppend", device);
  }
  // The launch itself carries the bytes to the device and the kernel gets their address there.
  Require(aclrtKernelArgsAppendPlaceHolder(args, &param), "aclrtKernelArgsAppendPlaceHolder", device);
  void* buffer = nullptr;
  Require(aclrtKernelArgsGetPlaceHolderBuffer(args, param, tiling_bytes, &buffer),
          "aclrtKernelArgsGetPlaceHolderBuffer", device);
  std::memcpy(buffer, tiling, tiling_bytes);
  Require(aclrtKernelArgsFinalize(args), "aclrtKernelArgsFinalize", device);
  Require(aclrtLaunchKernelWithConfig(function, blocks, stream, nullptr, args, nullptr), "aclrtLaunchKernelWithConfig",
          device);
}

}  // namespace chunk_gdr::npu
