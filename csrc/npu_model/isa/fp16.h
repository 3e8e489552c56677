// SPDX-License-Identifier: Apache-2.0
// IEEE binary16 conversions, bit-exact with and without F16C.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace npu_model::isa {

// What a float -> half conversion does beyond 65504 (control bit 53 of the chip; documents disagree about its default).
enum class Overflow : uint8_t { kSaturate, kInf };

inline uint32_t FloatBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

inline float BitsToFloat(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

constexpr uint16_t kHalfInf = 0x7c00;
constexpr uint16_t kHalfMax = 0x7bff;

inline float HalfToFloat(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t magnitude = half & 0x7fffu;
  if (magnitude >= 0x7c00u) {
    // A signalling NaN comes out quiet, as the hardware converters of the host do it.
    const uint32_t quiet = magnitude > 0x7c00u ? 0x00400000u : 0u;
    return BitsToFloat(sign | 0x7f800000u | quiet | ((magnitude & 0x3ffu) << 13));
  }
  if (magnitude >= 0x0400u) return BitsToFloat(sign | ((magnitude << 13) + (112u << 23)));
  // Subnormal: magnitude * 2^-24 is exact in fp32.
  return BitsToFloat(sign | FloatBits(static_cast<float>(magnitude) * 0x1p-24f));
}

// Round to nearest even; values that round beyond 65504 become inf.
inline uint16_t FloatToHalf(float value) {
  const uint32_t bits = FloatBits(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | kHalfInf);
  if (magnitude >= 0x38800000u) {
    const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    return static_cast<uint16_t>(sign | ((rounded - (112u << 23)) >> 13));
  }
  // Subnormal result: adding 0.5 leaves the rounded multiple of 2^-24 in the low mantissa bits.
  const float shifted = BitsToFloat(magnitude) + 0.5f;
  return static_cast<uint16_t>(sign | (FloatBits(shifted) - 0x3f000000u));
}

// An infinite half becomes the largest finite one of its sign; NaN stays.
inline uint16_t SaturateHalf(uint16_t half) {
  return (half & 0x7fffu) == kHalfInf ? static_cast<uint16_t>((half & 0x8000u) | kHalfMax) : half;
}

inline uint16_t FloatToHalf(float value, Overflow overflow) {
  const uint16_t half = FloatToHalf(value);
  return overflow == Overflow::kSaturate ? SaturateHalf(half) : half;
}

// Round to odd: truncate, then set the last bit if anything was lost. Never rounds a finite value to inf.
uint16_t FloatToHalfOdd(float value);

void HalfToFloat(const uint16_t* src, float* dst, size_t count);
void FloatToHalf(const float* src, uint16_t* dst, size_t count);

}  // namespace npu_model::isa
