// SPDX-License-Identifier: Apache-2.0
// A PrivateUse1 device in host memory: tensors, views and copies between it and the host; any other operator runs on
// the CPU over the same memory. New memory is full of NaN. Copies are recorded by direction; whoever else reads or
// writes the memory from the host is killed.
#pragma once

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <sys/mman.h>
#include <torch/library.h>

#include <cstring>
#include <iterator>
#include <map>
#include <mutex>

#include "recorder.h"

namespace fake {
namespace {

constexpr c10::DeviceType kType = c10::DeviceType::PrivateUse1;

std::recursive_mutex mutex;
std::map<uintptr_t, size_t> allocations;  // begin -> bytes
int accesses = 0;                         // DeviceAccess alive

void Protect(int protection) {
  for (const auto& [begin, bytes] : allocations) mprotect(reinterpret_cast<void*>(begin), bytes, protection);
}

void Free(void* pointer) {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  const auto allocation = allocations.find(reinterpret_cast<uintptr_t>(pointer));
  munmap(pointer, allocation->second);
  allocations.erase(allocation);
}

struct Allocator final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    const c10::Device device(kType, 0);
    if (bytes == 0) return {nullptr, device};
    void* pointer = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    TORCH_CHECK(pointer != MAP_FAILED, "the fake device is out of memory");
    Event("allocate bytes=", bytes);
    const std::lock_guard<std::recursive_mutex> lock(mutex);
    allocations[reinterpret_cast<uintptr_t>(pointer)] = bytes;
    mprotect(pointer, bytes, PROT_READ | PROT_WRITE);
    std::memset(pointer, 0xFF, bytes);
    if (accesses == 0) mprotect(pointer, bytes, PROT_NONE);
    return {pointer, pointer, &Free, device};
  }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    const DeviceAccess access;
    std::memcpy(to, from, bytes);
  }
};

Allocator* TheAllocator() {
  static Allocator allocator;
  return &allocator;
}

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kType; }
  c10::Device exchangeDevice(c10::Device) const override { return getDevice(); }
  c10::Device getDevice() const override { return {kType, 0}; }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::Stream getStream(c10::Device device) const override {
    return c10::Stream(c10::Stream::UNSAFE, device, CurrentStream());
  }
  c10::Stream exchangeStream(c10::Stream stream) const override { return getStream(stream.device()); }
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard)

// The autograd engine asks for them.
struct Hooks final : at::PrivateUse1HooksInterface {
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  bool isAvailable() const override { return true; }
};

[[maybe_unused]] const bool registered = [] {
  at::RegisterPrivateUse1HooksInterface(new Hooks);
  return true;
}();

// The same memory as a CPU tensor.
at::Tensor OnHost(const at::Tensor& tensor) {
  if (tensor.device().type() != kType) return tensor;
  return at::from_blob(tensor.data_ptr(), tensor.sizes(), tensor.strides(), tensor.options().device(at::kCPU));
}

at::Tensor Empty(at::IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                 std::optional<at::Device>, std::optional<bool>, std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(size, TheAllocator(), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                   dtype.value_or(at::kFloat), format);
}

at::Tensor EmptyStrided(at::IntArrayRef size, at::IntArrayRef stride, std::optional<at::ScalarType> dtype,
                        std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>) {
  return at::detail::empty_strided_generic(size, stride, TheAllocator(),
                                           c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                           dtype.value_or(at::kFloat));
}

at::Tensor View(const at::Tensor& self, at::IntArrayRef size, at::IntArrayRef stride, int64_t offset) {
  at::Tensor view = at::detail::make_tensor<c10::TensorImpl>(c10::TensorImpl::VIEW, c10::Storage(self.storage()),
                                                             self.key_set(), self.dtype());
  view.unsafeGetTensorImpl()->set_storage_offset(offset);
  view.unsafeGetTensorImpl()->set_sizes_and_strides(size, stride);
  return view;
}

at::Tensor AsStrided(const at::Tensor& self, at::IntArrayRef size, at::IntArrayRef stride,
                     std::optional<int64_t> offset) {
  return View(self, size, stride, offset.value_or(self.storage_offset()));
}

at::Tensor ViewAs(const at::Tensor& self, at::IntArrayRef size) {
  // The host knows the rules for strides.
  const at::Tensor host = OnHost(self).view(size);
  return View(self, host.sizes(), host.strides(), self.storage_offset());
}

const char* Direction(const at::Tensor& from, const at::Tensor& to) {
  if (from.device().type() != kType) return "host_to_device";
  return to.device().type() == kType ? "device_to_device" : "device_to_host";
}

at::Tensor CopyFrom(const at::Tensor& from, const at::Tensor& to, bool) {
  Event("copy direction=", Direction(from, to), " bytes=", from.nbytes());
  const DeviceAccess access;
  OnHost(to).copy_(OnHost(from));
  return to;
}

at::Scalar LocalScalar(const at::Tensor& self) {
  Event("copy direction=device_to_host bytes=", self.nbytes());
  const DeviceAccess access;
  return OnHost(self).item();
}

void RecordStream(at::Tensor& self, c10::Stream stream) {
  Event("record_stream pointer=", self.data_ptr(), " stream=", stream.id());
}

// Any other operator: on the CPU, over the same memory; what it returns fresh goes to the device.
void RunOnHost(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const DeviceAccess access;
  const size_t inputs = op.schema().arguments().size(), outputs = op.schema().returns().size();
  std::vector<std::pair<at::Tensor, at::Tensor>> aliases;  // device, host
  for (size_t i = 0; i < inputs; ++i) {
    c10::IValue& value = torch::jit::peek(*stack, i, inputs);
    if (value.isTensor() && value.toTensor().defined() && value.toTensor().device().type() == kType) {
      aliases.emplace_back(value.toTensor(), OnHost(value.toTensor()));
      value = aliases.back().second;
    } else if (value.isDevice()) {
      value = at::Device(at::kCPU);
    } else {
      TORCH_CHECK(!value.isTensorList(), "the fake device has no lists of tensors: ", op.schema().name());
    }
  }
  op.callBoxed(stack);
  for (size_t i = 0; i < outputs; ++i) {
    c10::IValue& value = torch::jit::peek(*stack, i, outputs);
    if (!value.isTensor()) continue;
    const at::Tensor host = value.toTensor();
    at::Tensor device;
    for (const auto& [original, alias] : aliases) {
      if (host.is_same(alias)) device = original;
    }
    if (!device.defined()) {
      device = at::empty_strided(host.sizes(), host.strides(), host.options().device(at::Device(kType, 0)));
      OnHost(device).copy_(host);
    }
    value = device;
  }
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", &Empty);
  m.impl("empty_strided", &EmptyStrided);
  m.impl("as_strided", &AsStrided);
  m.impl("view", &ViewAs);
  m.impl("_reshape_alias", [](const at::Tensor& self, at::IntArrayRef size, at::IntArrayRef stride) {
    return View(self, size, stride, self.storage_offset());
  });
  m.impl("_copy_from", &CopyFrom);
  m.impl("_local_scalar_dense", &LocalScalar);
  m.impl("record_stream", &RecordStream);
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&RunOnHost>()); }

}  // namespace

DeviceAccess::DeviceAccess() {
  mutex.lock();
  if (accesses++ == 0) Protect(PROT_READ | PROT_WRITE);
}

DeviceAccess::~DeviceAccess() {
  if (--accesses == 0) Protect(PROT_NONE);
  mutex.unlock();
}

size_t BytesBehind(const void* pointer) {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  auto next = allocations.upper_bound(address);
  if (next == allocations.begin()) return 0;
  const auto [begin, bytes] = *std::prev(next);
  return address < begin + bytes ? begin + bytes - address : 0;
}

}  // namespace fake
