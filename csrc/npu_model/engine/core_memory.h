// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#include "memory/arch.h"

namespace npu_model {

constexpr uint8_t kPoisonByte = 0xFF;  // a NaN in every float format

// The bytes of one core's memories.
class CoreMemory {
 public:
  CoreMemory() {
    uint64_t total = 0;
    for (int m = 1; m < kMemCount; ++m) total += CapacityBytes(static_cast<Mem>(m));
    bytes_.reset(static_cast<uint8_t*>(::operator new[](total, kAlign)));
    total_ = total;
    uint8_t* next = bytes_.get();
    for (int m = 1; m < kMemCount; ++m) {
      begin_[m] = next;
      next += CapacityBytes(static_cast<Mem>(m));
    }
    Poison();
  }
  void Poison() { std::memset(bytes_.get(), kPoisonByte, total_); }
  uint8_t* begin(Mem mem) const { return begin_[static_cast<int>(mem)]; }

 private:
  static constexpr std::align_val_t kAlign{4096};
  struct Deleter {
    void operator()(uint8_t* p) const { ::operator delete[](p, kAlign); }
  };
  std::unique_ptr<uint8_t[], Deleter> bytes_;
  uint64_t total_ = 0;
  uint8_t* begin_[kMemCount] = {};
};

}  // namespace npu_model
