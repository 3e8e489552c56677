// SPDX-License-Identifier: Apache-2.0
// The few entry points of CANN that the NPU kernels call: every call is recorded, any can be made to fail, and a launch
// runs on the host model of the chip.
#pragma once

#include <acl/acl.h>
#include <dlfcn.h>

#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "launch.h"
#include "recorder.h"

namespace fake {
namespace {

struct Param {
  std::vector<uint8_t> bytes;  // the value, or what a placeholder points to
  bool placeholder = false;
};
using Args = std::deque<Param>;

struct State {
  std::string events;
  std::string failing_entry;
  aclError failing_code = 0;
  std::string soc = "Ascend310P3";
  int64_t stream = 0, cores = 8, format = ACL_FORMAT_ND;  // the first and last are torch_npu's to tell
};
State state;
constexpr uintptr_t kFirstStream = 0x1000;  // the handle of stream 0
void* kernels = nullptr;  // library that runs in place of the device binary
Args args;

// The code that the entry point returns.
aclError Enter(const char* entry) {
  return state.failing_entry == entry ? state.failing_code : ACL_SUCCESS;
}

std::vector<void*> Values(std::vector<Param>& params) {
  std::vector<void*> pointers;
  for (Param& param : params) {
    void* value = param.bytes.data();
    if (!param.placeholder) std::memcpy(&value, param.bytes.data(), sizeof(value));
    pointers.push_back(value);
  }
  return pointers;
}

// All arguments are pointers, the last one points to the tiling.
void RunOnModel(const std::string& kernel, uint32_t blocks, std::vector<Param> params) {
  const DeviceAccess access;
  const std::vector<void*> pointers = Values(params);
  std::vector<npu_model::GmArg> gm;
  for (size_t i = 0; i + 1 < pointers.size(); ++i) {
    const size_t bytes = BytesBehind(pointers[i]);
    Event("argument index=", i, " bytes=", bytes, " null=", pointers[i] == nullptr);
    gm.push_back({pointers[i], bytes, "argument " + std::to_string(i), true, true});
  }
  npu_model::LaunchOptions options;
  options.block_num = static_cast<int>(blocks);
  const Param& tiling = params.back();
  const npu_model::Report report = npu_model::Launch(kernel, dlsym(kernels, kernel.c_str()), gm, tiling.bytes.data(),
                                                     tiling.bytes.size(), options);
  Event("model errors=", report.errors(), " auto_sync=", report.auto_sync());
  if (!report.error().empty()) Event("abandoned ", report.error());
}

}  // namespace

void Record(const std::string& event) { state.events += event + "\n"; }
int64_t CurrentStream() { return state.stream; }

}  // namespace fake

using namespace fake;

// --- what the tests set and read

extern "C" {
void fake_reset() { state = State(); }
const char* fake_events() { return state.events.c_str(); }
void fake_fail(const char* entry, int code) {
  state.failing_entry = entry;
  state.failing_code = code;
}
void fake_set_stream(int64_t id) { state.stream = id; }
void fake_set_soc(const char* name) { state.soc = name; }
void fake_set_cores(int64_t count) { state.cores = count; }
void fake_set_format(int64_t value) { state.format = value; }
// Null on success, else why the library of kernels cannot be loaded.
const char* fake_load_kernels(const char* library) {
  kernels = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  return kernels == nullptr ? dlerror() : nullptr;
}
}

// --- CANN runtime; the names are also those of its documentation pages, chapter "Kernel loading and execution"

const char* aclrtGetSocName() { return state.soc.c_str(); }
const char* aclGetRecentErrMsg() { return "EZ9999: Inner Error!\nTraceBack"; }

aclError aclGetDeviceCapability(uint32_t, aclDeviceInfo, int64_t* value) {
  *value = state.cores;
  return Enter("aclGetDeviceCapability");
}

aclError aclrtBinaryLoadFromFile(const char* path, aclrtBinaryLoadOptions*, aclrtBinHandle* binary) {
  Event("load path=", path);
  *binary = kernels;
  return Enter("aclrtBinaryLoadFromFile");
}

aclError aclrtBinaryGetFunction(const aclrtBinHandle, const char* name, aclrtFuncHandle* function) {
  static std::deque<std::string> names;
  names.emplace_back(name);
  *function = &names.back();
  return Enter("aclrtBinaryGetFunction");
}

aclError aclrtKernelArgsInit(aclrtFuncHandle, aclrtArgsHandle* handle) {
  args.clear();
  *handle = &args;
  return Enter("aclrtKernelArgsInit");
}

aclError aclrtKernelArgsAppend(aclrtArgsHandle handle, void* value, size_t bytes, aclrtParamHandle* param) {
  auto& list = *static_cast<Args*>(handle);
  const auto* data = static_cast<const uint8_t*>(value);
  list.push_back({{data, data + bytes}, false});
  *param = &list.back();
  return Enter("aclrtKernelArgsAppend");
}

aclError aclrtKernelArgsAppendPlaceHolder(aclrtArgsHandle handle, aclrtParamHandle* param) {
  auto& list = *static_cast<Args*>(handle);
  list.push_back({{}, true});
  *param = &list.back();
  return Enter("aclrtKernelArgsAppendPlaceHolder");
}

aclError aclrtKernelArgsGetPlaceHolderBuffer(aclrtArgsHandle, aclrtParamHandle param, size_t bytes, void** buffer) {
  auto& placeholder = *static_cast<Param*>(param);
  placeholder.bytes.resize(bytes);
  *buffer = placeholder.bytes.data();
  return Enter("aclrtKernelArgsGetPlaceHolderBuffer");
}

aclError aclrtKernelArgsFinalize(aclrtArgsHandle) {
  Event("finalize");
  return Enter("aclrtKernelArgsFinalize");
}

aclError aclrtLaunchKernelWithConfig(aclrtFuncHandle function, uint32_t blocks, aclrtStream on,
                                     aclrtLaunchKernelCfg* config, aclrtArgsHandle handle, void* reserved) {
  auto& list = *static_cast<Args*>(handle);
  const std::string& name = *static_cast<std::string*>(function);
  std::string tiling;
  for (const uint8_t byte : list.back().bytes) {
    static constexpr char kDigits[] = "0123456789abcdef";
    tiling += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  Event("launch kernel=", name, " blocks=", blocks, " stream=", reinterpret_cast<uintptr_t>(on) - kFirstStream,
        " arguments=", list.size(), " placeholder=", list.back().placeholder,
        " defaults=", config == nullptr && reserved == nullptr, " tiling=", tiling);
  const aclError code = Enter("aclrtLaunchKernelWithConfig");
  if (code == ACL_SUCCESS && kernels != nullptr) RunOnModel(name, blocks, {list.begin(), list.end()});
  return code;
}
