// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace npu_model {

// The in-order queues of one core. Kernel code itself is S.
enum class Queue : uint8_t { kS, kV, kM, kMte1, kMte2, kMte3 };
constexpr int kQueueCount = 6;

constexpr const char* Name(Queue queue) {
  constexpr const char* kNames[kQueueCount] = {"S", "V", "M", "MTE1", "MTE2", "MTE3"};
  return kNames[static_cast<int>(queue)];
}

// A line of kernel source. Use as a default argument of every API function: `Site site = Site::Here()`.
struct Site {
  const char* file = "";
  uint32_t line = 0;

  static constexpr Site Here(const char* f = __builtin_FILE(), uint32_t l = __builtin_LINE()) { return {f, l}; }
};

}  // namespace npu_model
