// SPDX-License-Identifier: Apache-2.0
// Plain descriptions of one instruction's operands. No time, no engine.
#pragma once

#include <cstdint>

#include "isa/fp16.h"

namespace npu_model::isa {

enum class DType : uint8_t { kInt8, kUint8, kInt16, kUint16, kInt32, kUint32, kHalf, kFloat };

constexpr uint32_t SizeOf(DType type) {
  switch (type) {
    case DType::kInt8:
    case DType::kUint8:
      return 1;
    case DType::kInt16:
    case DType::kUint16:
    case DType::kHalf:
      return 2;
    default:
      return 4;
  }
}

constexpr uint32_t kBlockBytes = 32;
constexpr uint32_t kRepeatBytes = 256;
constexpr uint32_t kMaxLanes = 128;
constexpr uint32_t kFractalBytes = 512;

// One vector operand: base address and byte strides between blocks of a repeat and between repeats.
struct Operand {
  uint8_t* base = nullptr;
  uint32_t block_stride = kBlockBytes;
  uint32_t repeat_stride = kRepeatBytes;
};

// Which lanes of how many repeats take part. Lane e is active iff bit e of the 128-bit mask is set.
struct Lanes {
  uint32_t repeats = 0;
  uint32_t width = 64;  // lanes of one repeat
  uint64_t mask[2] = {~uint64_t{0}, ~uint64_t{0}};
  uint64_t last_mask[2] = {~uint64_t{0}, ~uint64_t{0}};  // of the last repeat: differs in counter mode only

  static Lanes Count(uint32_t count, uint32_t width) {
    Lanes lanes;
    lanes.repeats = (count + width - 1) / width;
    lanes.width = width;
    SetPrefix(lanes.mask, width);
    const uint32_t tail = count % width;
    SetPrefix(lanes.last_mask, tail == 0 ? width : tail);
    return lanes;
  }
  static Lanes Masked(uint64_t low, uint64_t high, uint32_t repeats, uint32_t width) {
    Lanes lanes;
    lanes.repeats = repeats;
    lanes.width = width;
    uint64_t all[2];
    SetPrefix(all, width);
    lanes.mask[0] = lanes.last_mask[0] = low & all[0];
    lanes.mask[1] = lanes.last_mask[1] = high & all[1];
    return lanes;
  }
  static void SetPrefix(uint64_t (&mask)[2], uint32_t lanes) {
    mask[0] = lanes >= 64 ? ~uint64_t{0} : (uint64_t{1} << lanes) - 1;
    mask[1] = lanes >= 128 ? ~uint64_t{0} : (lanes > 64 ? (uint64_t{1} << (lanes - 64)) - 1 : 0);
  }
  const uint64_t* MaskOf(uint32_t repeat) const { return repeat + 1 == repeats ? last_mask : mask; }
};

}  // namespace npu_model::isa
