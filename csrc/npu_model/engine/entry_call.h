// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace npu_model {

constexpr size_t kMaxEntryArgs = 32;  // GM arguments, workspace and tiling together

// Calls `extern "C" void kernel(GM_ADDR, ...)` with as many pointers as are given.
void CallEntry(void* entry, const std::vector<void*>& pointers);

}  // namespace npu_model
