// SPDX-License-Identifier: Apache-2.0
#include "isa/fp16.h"

#ifdef __F16C__
#include <immintrin.h>
#endif

namespace npu_model::isa {

uint16_t FloatToHalfOdd(float value) {
  const uint32_t bits = FloatBits(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude >= 0x7f800000u) return FloatToHalf(value);
  if (magnitude >= 0x47800000u) return static_cast<uint16_t>(sign | kHalfMax);
  if (magnitude >= 0x38800000u) {
    const uint32_t truncated = (magnitude - (112u << 23)) >> 13;
    return static_cast<uint16_t>(sign | truncated | ((magnitude & 0x1fffu) != 0u ? 1u : 0u));
  }
  const float units = BitsToFloat(magnitude) * 0x1p24f;
  const auto truncated = static_cast<uint32_t>(units);
  return static_cast<uint16_t>(sign | truncated | (static_cast<float>(truncated) != units ? 1u : 0u));
}

void HalfToFloat(const uint16_t* src, float* dst, size_t count) {
  size_t i = 0;
#ifdef __F16C__
  for (; i + 8 <= count; i += 8) {
    _mm256_storeu_ps(dst + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(src + i))));
  }
#endif
  for (; i < count; ++i) dst[i] = HalfToFloat(src[i]);
}

void FloatToHalf(const float* src, uint16_t* dst, size_t count) {
  size_t i = 0;
#ifdef __F16C__
  for (; i + 8 <= count; i += 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(dst + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(src + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
#endif
  for (; i < count; ++i) dst[i] = FloatToHalf(src[i]);
}

}  // namespace npu_model::isa
