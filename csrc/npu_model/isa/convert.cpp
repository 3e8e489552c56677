// SPDX-License-Identifier: Apache-2.0
#include "isa/convert.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>

#include "isa/lanes.h"

namespace npu_model::isa {
namespace {

constexpr uint8_t Modes(std::initializer_list<Round> modes) {
  uint8_t set = 0;
  for (const Round mode : modes) set = static_cast<uint8_t>(set | (1u << static_cast<uint8_t>(mode)));
  return set;
}

constexpr uint8_t kFloatToInt = Modes({Round::kRint, Round::kFloor, Round::kCeil, Round::kRound, Round::kTrunc});
constexpr uint8_t kHalfToByte = Modes({Round::kNone, Round::kFloor, Round::kCeil, Round::kRound, Round::kTrunc});
constexpr uint8_t kNoneOnly = Modes({Round::kNone});

struct CastRule {
  DType dst, src;
  uint8_t modes;
};
constexpr CastRule kRules[] = {
    {DType::kFloat, DType::kHalf, kNoneOnly},
    {DType::kHalf, DType::kFloat, Modes({Round::kNone, Round::kOdd})},
    {DType::kInt32, DType::kFloat, kFloatToInt},
    {DType::kFloat, DType::kInt32, kNoneOnly},
    {DType::kInt32, DType::kHalf, kFloatToInt},
    {DType::kInt16, DType::kHalf, Modes({Round::kRint})},
    {DType::kHalf, DType::kInt16, kNoneOnly},
    {DType::kInt8, DType::kHalf, kHalfToByte},
    {DType::kUint8, DType::kHalf, kHalfToByte},
    {DType::kHalf, DType::kInt8, kNoneOnly},
    {DType::kHalf, DType::kUint8, kNoneOnly},
    // The dequantising conversion ignores its rounding argument.
    {DType::kHalf, DType::kInt32, 0xff},
};

inline float RoundTo(float value, Round mode) {
  switch (mode) {
    case Round::kFloor:
      return std::floor(value);
    case Round::kCeil:
      return std::ceil(value);
    case Round::kRound:
      return std::round(value);
    case Round::kTrunc:
      return std::trunc(value);
    default:
      return std::nearbyint(value);
  }
}

template <class T>
inline T ToInteger(float value, Round mode) {
  const float rounded = RoundTo(value, mode);
  if (rounded != rounded) return 0;
  constexpr double kLow = std::numeric_limits<T>::min();
  constexpr double kHigh = std::numeric_limits<T>::max();
  return static_cast<T>(std::clamp(static_cast<double>(rounded), kLow, kHigh));
}

template <class D, class S, class Fn>
void Run(const Lanes& lanes, Operand dst, Operand src, Fn fn) {
  constexpr uint32_t kWidth = kRepeatBytes / std::max(sizeof(D), sizeof(S));
  alignas(64) S in[kWidth];
  alignas(64) D out[kWidth];
  for (uint32_t r = 0; r < lanes.repeats; ++r) {
    const uint64_t* mask = lanes.MaskOf(r);
    LoadLanes(src.base, src.block_stride, kWidth, mask, in);
    fn(in, out, kWidth);
    StoreLanes(dst.base, dst.block_stride, kWidth, mask, out);
    dst.base += dst.repeat_stride;
    src.base += src.repeat_stride;
  }
}

template <class D>
void HalfToInteger(const Lanes& lanes, const Operand& dst, const Operand& src, Round mode) {
  Run<D, uint16_t>(lanes, dst, src, [mode](const uint16_t* in, D* out, uint32_t n) {
    for (uint32_t i = 0; i < n; ++i) out[i] = ToInteger<D>(HalfToFloat(in[i]), mode);
  });
}

template <class S>
void IntegerToHalf(const Lanes& lanes, const Operand& dst, const Operand& src, float scale, Overflow overflow) {
  Run<uint16_t, S>(lanes, dst, src, [scale, overflow](const S* in, uint16_t* out, uint32_t n) {
    for (uint32_t i = 0; i < n; ++i) out[i] = FloatToHalf(static_cast<float>(in[i]) * scale, overflow);
  });
}

}  // namespace

int32_t FloatToInt32(float value, Round mode) { return ToInteger<int32_t>(value, mode); }

bool CastExists(DType dst, DType src, Round mode) {
  for (const CastRule& rule : kRules) {
    if (rule.dst == dst && rule.src == src) return ((rule.modes >> static_cast<uint8_t>(mode)) & 1) != 0;
  }
  return false;
}

void Cast(DType dst_type, DType src_type, Round mode, const Lanes& lanes, const Operand& dst, const Operand& src,
          Overflow overflow, float deq_scale) {
  if (src_type == DType::kHalf) {
    switch (dst_type) {
      case DType::kFloat:
        return Run<float, uint16_t>(lanes, dst, src,
                                    [](const uint16_t* in, float* out, uint32_t n) { HalfToFloat(in, out, n); });
      case DType::kInt32:
        return HalfToInteger<int32_t>(lanes, dst, src, mode);
      case DType::kInt16:
        return HalfToInteger<int16_t>(lanes, dst, src, mode);
      case DType::kInt8:
        return HalfToInteger<int8_t>(lanes, dst, src, mode);
      default:
        return HalfToInteger<uint8_t>(lanes, dst, src, mode);
    }
  }
  if (dst_type == DType::kHalf) {
    switch (src_type) {
      case DType::kFloat:
        if (mode == Round::kOdd) {
          return Run<uint16_t, float>(lanes, dst, src, [overflow](const float* in, uint16_t* out, uint32_t n) {
            for (uint32_t i = 0; i < n; ++i) {
              out[i] = FloatToHalfOdd(in[i]);
              if (overflow == Overflow::kSaturate) out[i] = SaturateHalf(out[i]);
            }
          });
        }
        return Run<uint16_t, float>(lanes, dst, src, [overflow](const float* in, uint16_t* out, uint32_t n) {
          FloatToHalf(in, out, n);
          if (overflow == Overflow::kSaturate) {
            for (uint32_t i = 0; i < n; ++i) out[i] = SaturateHalf(out[i]);
          }
        });
      case DType::kInt32:
        return IntegerToHalf<int32_t>(lanes, dst, src, deq_scale, overflow);
      case DType::kInt16:
        return IntegerToHalf<int16_t>(lanes, dst, src, 1.0f, overflow);
      case DType::kInt8:
        return IntegerToHalf<int8_t>(lanes, dst, src, 1.0f, overflow);
      default:
        return IntegerToHalf<uint8_t>(lanes, dst, src, 1.0f, overflow);
    }
  }
  if (dst_type == DType::kInt32) {
    return Run<int32_t, float>(lanes, dst, src, [mode](const float* in, int32_t* out, uint32_t n) {
      for (uint32_t i = 0; i < n; ++i) out[i] = ToInteger<int32_t>(in[i], mode);
    });
  }
  Run<float, int32_t>(lanes, dst, src, [](const int32_t* in, float* out, uint32_t n) {
    for (uint32_t i = 0; i < n; ++i) out[i] = static_cast<float>(in[i]);
  });
}

}  // namespace npu_model::isa
