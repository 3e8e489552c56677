// SPDX-License-Identifier: Apache-2.0
// exp and ln of fp32 through our own double-precision polynomials: the same bits on every machine and C library,
// and loops that vectorise. The double result is good to 1e-15, so the fp32 one is correctly rounded but for rare ties.
#pragma once

#include <cstdint>
#include <cstring>

namespace npu_model::isa {

inline uint64_t DoubleBits(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

inline double BitsToDouble(uint64_t bits) {
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

inline double ExpDouble(double x) {
  // Beyond these every fp32 result is inf or 0; the comparisons let NaN through.
  x = x > 130.0 ? 130.0 : x;
  x = x < -160.0 ? -160.0 : x;
  constexpr double kShift = 0x1.8p52;  // adding it rounds to an integer, kept in the low bits
  const double shifted = x * 0x1.71547652b82fep0 + kShift;
  const double n = shifted - kShift;
  const double r = (x - n * 0x1.62e42fefa0000p-1) - n * 0x1.cf79abc9e3b3ap-40;
  double p = 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  return p * BitsToDouble((DoubleBits(shifted) + 1023) << 52);
}

inline double LnDouble(double x) {
  // x comes from fp32, so it is never a double subnormal. m in [sqrt(1/2), sqrt(2)).
  const uint64_t bits = DoubleBits(x);
  const uint64_t offset = bits - 0x3fe6a09e667f3bcdULL;
  const auto exponent = static_cast<int64_t>(offset) >> 52;
  const double m = BitsToDouble(bits - (static_cast<uint64_t>(exponent) << 52));
  const double s = (m - 1.0) / (m + 1.0);
  const double z = s * s;
  double p = 1.0 / 21.0;
  p = p * z + 1.0 / 19.0;
  p = p * z + 1.0 / 17.0;
  p = p * z + 1.0 / 15.0;
  p = p * z + 1.0 / 13.0;
  p = p * z + 1.0 / 11.0;
  p = p * z + 1.0 / 9.0;
  p = p * z + 1.0 / 7.0;
  p = p * z + 1.0 / 5.0;
  p = p * z + 1.0 / 3.0;
  const double log_m = 2.0 * s + 2.0 * s * z * p;
  return static_cast<double>(exponent) * 0x1.62e42fefa39efp-1 + log_m;
}

inline float ExpFloat(float x) { return static_cast<float>(ExpDouble(static_cast<double>(x))); }

inline float LnFloat(float x) {
  if (!(x > 0.0f)) return x == 0.0f ? -__builtin_inff() : __builtin_nanf("");
  if (x == __builtin_inff()) return x;
  return static_cast<float>(LnDouble(static_cast<double>(x)));
}

}  // namespace npu_model::isa
