// SPDX-License-Identifier: Apache-2.0
// Moves the lanes of one repeat between strided memory and local arrays. Every instruction reads a whole repeat
// before it writes, so the copies through local arrays are the semantics, not a shortcut.
#pragma once

#include <cstring>

#include "isa/types.h"

namespace npu_model::isa {

inline bool AllActive(const uint64_t* mask, uint32_t width) {
  uint64_t all[2];
  Lanes::SetPrefix(all, width);
  return (mask[0] & all[0]) == all[0] && (mask[1] & all[1]) == all[1];
}

// Bits [first, first + count) of a lane mask; count <= 32 and never across a 64-bit word.
inline uint64_t MaskBits(const uint64_t* mask, uint32_t first, uint32_t count) {
  return (mask[first >> 6] >> (first & 63)) & ((uint64_t{1} << count) - 1);
}

// Blocks without an active lane are not touched: they may lie outside the memory. Their lanes come out as zero.
template <class T>
inline void LoadLanes(const uint8_t* base, uint32_t block_stride, uint32_t width, const uint64_t* mask, T* lanes) {
  constexpr uint32_t kPerBlock = kBlockBytes / sizeof(T);
  if (AllActive(mask, width)) {
    if (block_stride == kBlockBytes) {
      std::memcpy(lanes, base, width * sizeof(T));
      return;
    }
    for (uint32_t lane = 0; lane < width; lane += kPerBlock, base += block_stride) {
      std::memcpy(lanes + lane, base, kBlockBytes);
    }
    return;
  }
  std::memset(lanes, 0, width * sizeof(T));
  for (uint32_t lane = 0; lane < width; lane += kPerBlock, base += block_stride) {
    if (MaskBits(mask, lane, kPerBlock) != 0) std::memcpy(lanes + lane, base, kBlockBytes);
  }
}

template <class T>
inline void StoreLanes(uint8_t* base, uint32_t block_stride, uint32_t width, const uint64_t* mask, const T* lanes) {
  constexpr uint32_t kPerBlock = kBlockBytes / sizeof(T);
  if (AllActive(mask, width)) {
    if (block_stride == kBlockBytes) {
      std::memcpy(base, lanes, width * sizeof(T));
      return;
    }
    for (uint32_t lane = 0; lane < width; lane += kPerBlock, base += block_stride) {
      std::memcpy(base, lanes + lane, kBlockBytes);
    }
    return;
  }
  for (uint32_t lane = 0; lane < width; ++lane) {
    if ((mask[lane >> 6] >> (lane & 63)) & 1) {
      std::memcpy(base + lane / kPerBlock * block_stride + lane % kPerBlock * sizeof(T), lanes + lane, sizeof(T));
    }
  }
}

// Storage type -> arithmetic type. Halves are computed in fp32 and rounded once: for + - * / sqrt that equals IEEE
// half arithmetic, because 24 >= 2 * 11 + 2.
template <DType type>
struct Arith;
template <>
struct Arith<DType::kFloat> {
  using Store = float;
  using Value = float;
};
template <>
struct Arith<DType::kHalf> {
  using Store = uint16_t;
  using Value = float;
};
template <>
struct Arith<DType::kInt32> {
  using Store = uint32_t;  // wraps
  using Value = uint32_t;
};
template <>
struct Arith<DType::kInt16> {
  using Store = uint16_t;
  using Value = uint16_t;
};

template <DType type>
inline void LoadValues(const uint8_t* base, uint32_t block_stride, uint32_t width, const uint64_t* mask,
                       typename Arith<type>::Value* out) {
  if constexpr (type == DType::kHalf) {
    uint16_t raw[kMaxLanes];
    LoadLanes(base, block_stride, width, mask, raw);
    HalfToFloat(raw, out, width);
  } else {
    LoadLanes(base, block_stride, width, mask, out);
  }
}

template <DType type>
inline void StoreValues(uint8_t* base, uint32_t block_stride, uint32_t width, const uint64_t* mask, Overflow overflow,
                        const typename Arith<type>::Value* values) {
  if constexpr (type == DType::kHalf) {
    uint16_t raw[kMaxLanes];
    FloatToHalf(values, raw, width);
    if (overflow == Overflow::kSaturate) {
      for (uint32_t lane = 0; lane < width; ++lane) raw[lane] = SaturateHalf(raw[lane]);
    }
    StoreLanes(base, block_stride, width, mask, raw);
  } else {
    StoreLanes(base, block_stride, width, mask, values);
  }
}

}  // namespace npu_model::isa
