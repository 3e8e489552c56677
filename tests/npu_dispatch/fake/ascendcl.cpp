// SPDX-License-Identifier: Apache-2.0
// In place of libascendcl below the real torch_npu: what it asks for to move a tensor to the device and back, beside
// what the NPU kernels call. Device memory is host memory, full of NaN.
#include <cstdlib>
#include <iterator>
#include <map>
#include <mutex>

#include "runtime.h"

namespace {
std::mutex memory_mutex;
std::map<uintptr_t, size_t> memory;  // begin -> bytes
uintptr_t next_handle = kFirstStream;

void Copy(void* to, const void* from, size_t bytes, aclrtMemcpyKind kind) {
  const char* direction = kind == ACL_MEMCPY_HOST_TO_DEVICE   ? "host_to_device"
                          : kind == ACL_MEMCPY_DEVICE_TO_HOST ? "device_to_host"
                                                              : "device_to_device";
  Event("copy direction=", direction, " bytes=", bytes);
  std::memcpy(to, from, bytes);
}

aclError NewHandle(void** handle) {
  *handle = reinterpret_cast<void*>(next_handle++);
  return ACL_SUCCESS;
}
}  // namespace

namespace fake {
DeviceAccess::DeviceAccess() = default;
DeviceAccess::~DeviceAccess() = default;

size_t BytesBehind(const void* pointer) {
  const std::lock_guard<std::mutex> lock(memory_mutex);
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  const auto next = memory.upper_bound(address);
  if (next == memory.begin()) return 0;
  const auto [begin, bytes] = *std::prev(next);
  return address < begin + bytes ? begin + bytes - address : 0;
}
}  // namespace fake

aclError aclrtMalloc(void** pointer, size_t bytes, aclrtMemMallocPolicy) {
  constexpr size_t kPageBytes = 2 << 20;
  *pointer = std::aligned_alloc(kPageBytes, (bytes + kPageBytes - 1) / kPageBytes * kPageBytes);
  std::memset(*pointer, 0xFF, bytes);
  const std::lock_guard<std::mutex> lock(memory_mutex);
  memory[reinterpret_cast<uintptr_t>(*pointer)] = bytes;
  return ACL_SUCCESS;
}

aclError aclrtMallocAlign32(void** pointer, size_t bytes, aclrtMemMallocPolicy policy) {
  return aclrtMalloc(pointer, bytes, policy);
}

aclError aclrtFree(void* pointer) {
  const std::lock_guard<std::mutex> lock(memory_mutex);
  memory.erase(reinterpret_cast<uintptr_t>(pointer));
  std::free(pointer);
  return ACL_SUCCESS;
}

aclError aclrtMallocHost(void** pointer, size_t bytes) {
  *pointer = std::malloc(bytes);
  return ACL_SUCCESS;
}

aclError aclrtFreeHost(void* pointer) {
  std::free(pointer);
  return ACL_SUCCESS;
}

aclError aclrtMemcpy(void* to, size_t, const void* from, size_t bytes, aclrtMemcpyKind kind) {
  Copy(to, from, bytes, kind);
  return ACL_SUCCESS;
}

aclError aclrtMemcpyAsync(void* to, size_t, const void* from, size_t bytes, aclrtMemcpyKind kind, aclrtStream) {
  Copy(to, from, bytes, kind);
  return ACL_SUCCESS;
}

aclError aclrtGetDeviceCount(uint32_t* count) {
  *count = 1;
  return ACL_SUCCESS;
}

aclError aclrtGetDevice(int32_t* device) {
  *device = 0;
  return ACL_SUCCESS;
}

aclError aclrtGetMemInfo(aclrtMemAttr, size_t* free_bytes, size_t* total_bytes) {
  *free_bytes = *total_bytes = size_t{8} << 30;
  return ACL_SUCCESS;
}

aclError aclrtGetSysParamOpt(aclSysParamOpt, int64_t* value) {
  *value = 0;
  return ACL_SUCCESS;
}

aclError aclrtGetCurrentContext(aclrtContext* context) { return NewHandle(context); }
aclError aclrtCreateStream(aclrtStream* stream) { return NewHandle(stream); }
aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t, uint32_t) { return NewHandle(stream); }
aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t) { return NewHandle(event); }
aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t) { return NewHandle(event); }

aclError aclrtQueryEventStatus(aclrtEvent, aclrtEventRecordedStatus* status) {
  *status = ACL_EVENT_RECORDED_STATUS_COMPLETE;
  return ACL_SUCCESS;
}
