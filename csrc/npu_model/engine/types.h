// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

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

// A 32-byte flag of IBSet and IBWait in GM, and which of the two calls is made.
struct GmFlag {
  uint64_t workspace = 0;  // address of the GM tensor it lies in
  uint64_t address = 0;
  int32_t block_idx = 0;
  int32_t event_id = 0;
  bool set = false;

  const char* Call() const { return set ? "IBSet" : "IBWait"; }
  std::string ToString() const;
};

}  // namespace npu_model
