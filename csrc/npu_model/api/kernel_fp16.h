// SPDX-License-Identifier: Apache-2.0
// `half`, a built-in type of the device compiler.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "isa/fp16.h"

struct half {
  half() = default;
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  half(T value) : bits(npu_model::isa::FloatToHalf(static_cast<float>(value))) {}  // NOLINT: implicit as on the device
  operator float() const { return npu_model::isa::HalfToFloat(bits); }             // NOLINT

  half& operator+=(half other) { return *this = half(float(*this) + float(other)); }
  half& operator-=(half other) { return *this = half(float(*this) - float(other)); }
  half& operator*=(half other) { return *this = half(float(*this) * float(other)); }
  half& operator/=(half other) { return *this = half(float(*this) / float(other)); }

  static half FromBits(uint16_t raw) {
    half value;
    value.bits = raw;
    return value;
  }

  uint16_t bits;
};
static_assert(sizeof(half) == 2 && std::is_trivially_copyable_v<half>);

using float16_t = half;
