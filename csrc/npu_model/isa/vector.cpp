// SPDX-License-Identifier: Apache-2.0
#include "isa/vector.h"

#include <cmath>

#include "isa/lanes.h"
#include "isa/math.h"

namespace npu_model::isa {
namespace {

struct AddFn {
  template <class V>
  static V Of(V a, V b) {
    return static_cast<V>(a + b);
  }
};
struct SubFn {
  template <class V>
  static V Of(V a, V b) {
    return static_cast<V>(a - b);
  }
};
struct MulFn {
  template <class V>
  static V Of(V a, V b) {
    if constexpr (sizeof(V) == 2) {
      return static_cast<V>(uint32_t{a} * uint32_t{b});  // int promotion would overflow
    } else {
      return static_cast<V>(a * b);
    }
  }
};
struct DivFn {
  static float Of(float a, float b) { return a / b; }
};
// Unsigned storage of int16 and int32 compares as signed.
inline float Ordered(float a) { return a; }
inline int32_t Ordered(uint32_t a) { return static_cast<int32_t>(a); }
inline int16_t Ordered(uint16_t a) { return static_cast<int16_t>(a); }
struct MaxFn {
  template <class V>
  static V Of(V a, V b) {
    return ((Ordered(a) > Ordered(b)) | (a != a)) ? a : b;
  }
};
struct MinFn {
  template <class V>
  static V Of(V a, V b) {
    return ((Ordered(a) < Ordered(b)) | (a != a)) ? a : b;
  }
};
inline float ReluOf(float a) { return ((a > 0.0f) | (a != a)) ? a : 0.0f; }
inline uint16_t ReluOf(uint16_t a) { return Ordered(a) > 0 ? a : 0; }
struct AddReluFn {
  template <class V>
  static V Of(V a, V b) {
    return ReluOf(static_cast<V>(a + b));
  }
};
struct SubReluFn {
  template <class V>
  static V Of(V a, V b) {
    return ReluOf(static_cast<V>(a - b));
  }
};

template <DType type, class Fn>
void RunBinary(const Lanes& lanes, Operand dst, Operand src0, Operand src1, Overflow overflow) {
  using V = typename Arith<type>::Value;
  alignas(64) V a[kMaxLanes], b[kMaxLanes];
  constexpr uint32_t kWidth = kRepeatBytes / sizeof(typename Arith<type>::Store);
  for (uint32_t r = 0; r < lanes.repeats; ++r) {
    const uint64_t* mask = lanes.MaskOf(r);
    LoadValues<type>(src0.base, src0.block_stride, kWidth, mask, a);
    LoadValues<type>(src1.base, src1.block_stride, kWidth, mask, b);
    for (uint32_t lane = 0; lane < kWidth; ++lane) a[lane] = Fn::Of(a[lane], b[lane]);
    StoreValues<type>(dst.base, dst.block_stride, kWidth, mask, overflow, a);
    dst.base += dst.repeat_stride;
    src0.base += src0.repeat_stride;
    src1.base += src1.repeat_stride;
  }
}

template <DType type, class Fn>
void RunUnary(const Lanes& lanes, Operand dst, Operand src, Overflow overflow, Fn fn) {
  using V = typename Arith<type>::Value;
  alignas(64) V a[kMaxLanes];
  constexpr uint32_t kWidth = kRepeatBytes / sizeof(typename Arith<type>::Store);
  for (uint32_t r = 0; r < lanes.repeats; ++r) {
    const uint64_t* mask = lanes.MaskOf(r);
    LoadValues<type>(src.base, src.block_stride, kWidth, mask, a);
    for (uint32_t lane = 0; lane < kWidth; ++lane) a[lane] = fn(a[lane]);
    StoreValues<type>(dst.base, dst.block_stride, kWidth, mask, overflow, a);
    dst.base += dst.repeat_stride;
    src.base += src.repeat_stride;
  }
}

// fn(dst, src0, src1) -> dst. 64 lanes per repeat when either side is fp32.
template <DType dst_type, DType src_type, class Fn>
void RunTernary(const Lanes& lanes, Operand dst, Operand src0, Operand src1, Overflow overflow, Fn fn) {
  alignas(64) float d[kMaxLanes], a[kMaxLanes], b[kMaxLanes];
  constexpr uint32_t kWidth = dst_type == DType::kHalf ? 128 : 64;
  for (uint32_t r = 0; r < lanes.repeats; ++r) {
    const uint64_t* mask = lanes.MaskOf(r);
    LoadValues<dst_type>(dst.base, dst.block_stride, kWidth, mask, d);
    LoadValues<src_type>(src0.base, src0.block_stride, kWidth, mask, a);
    LoadValues<src_type>(src1.base, src1.block_stride, kWidth, mask, b);
    for (uint32_t lane = 0; lane < kWidth; ++lane) d[lane] = fn(d[lane], a[lane], b[lane]);
    StoreValues<dst_type>(dst.base, dst.block_stride, kWidth, mask, overflow, d);
    dst.base += dst.repeat_stride;
    src0.base += src0.repeat_stride;
    src1.base += src1.repeat_stride;
  }
}

// The half multiply-add rounds its product to half first; fp32 rounds it to fp32 by itself.
template <DType type>
inline float RoundProduct(float product) {
  return type == DType::kHalf ? HalfToFloat(FloatToHalf(product)) : product;
}

template <DType dst_type, DType src_type>
void TernaryOf(TernaryOp op, const Lanes& lanes, const Operand& dst, const Operand& src0, const Operand& src1,
               Overflow overflow) {
  switch (op) {
    case TernaryOp::kMulAddDst:
      return RunTernary<dst_type, src_type>(lanes, dst, src0, src1, overflow, [](float d, float a, float b) {
        return RoundProduct<dst_type>(a * b) + d;
      });
    case TernaryOp::kFusedMulAdd:
      return RunTernary<dst_type, src_type>(lanes, dst, src0, src1, overflow, [](float d, float a, float b) {
        return RoundProduct<dst_type>(a * d) + b;
      });
    case TernaryOp::kMulAddRelu:
      return RunTernary<dst_type, src_type>(lanes, dst, src0, src1, overflow, [](float d, float a, float b) {
        return ReluOf(RoundProduct<dst_type>(a * b) + d);
      });
    case TernaryOp::kFusedMulAddRelu:
      return RunTernary<dst_type, src_type>(lanes, dst, src0, src1, overflow, [](float d, float a, float b) {
        return ReluOf(RoundProduct<dst_type>(a * d) + b);
      });
  }
}

template <DType dst_type, DType src_type>
void AxpyOf(const Lanes& lanes, Operand dst, Operand src, float scalar, Overflow overflow) {
  alignas(64) float d[kMaxLanes], a[kMaxLanes];
  constexpr uint32_t kWidth = dst_type == DType::kHalf ? 128 : 64;
  for (uint32_t r = 0; r < lanes.repeats; ++r) {
    const uint64_t* mask = lanes.MaskOf(r);
    LoadValues<dst_type>(dst.base, dst.block_stride, kWidth, mask, d);
    LoadValues<src_type>(src.base, src.block_stride, kWidth, mask, a);
    for (uint32_t lane = 0; lane < kWidth; ++lane) d[lane] = RoundProduct<dst_type>(a[lane] * scalar) + d[lane];
    StoreValues<dst_type>(dst.base, dst.block_stride, kWidth, mask, overflow, d);
    dst.base += dst.repeat_stride;
    src.base += src.repeat_stride;
  }
}

// Keeps `bits` explicit mantissa bits, rounding to nearest.
inline float CutMantissa(float value, int bits) {
  const uint32_t raw = FloatBits(value);
  if ((raw & 0x7f800000u) == 0x7f800000u) return value;
  const int drop = 23 - bits;
  return BitsToFloat((raw + (1u << (drop - 1))) & ~((1u << drop) - 1));
}

template <DType type>
void UnaryFloat(UnaryOp op, const Lanes& lanes, const Operand& dst, const Operand& src, Overflow overflow) {
  constexpr int kApproximateBits = type == DType::kHalf ? 8 : 11;
  switch (op) {
    case UnaryOp::kExp:
      return RunUnary<type>(lanes, dst, src, overflow, [](float a) { return ExpFloat(a); });
    case UnaryOp::kLn:
      return RunUnary<type>(lanes, dst, src, overflow, [](float a) { return LnFloat(a); });
    case UnaryOp::kAbs:
      return RunUnary<type>(lanes, dst, src, overflow, [](float a) { return __builtin_fabsf(a); });
    case UnaryOp::kSqrt:
      return RunUnary<type>(lanes, dst, src, overflow, [](float a) { return std::sqrt(a); });
    case UnaryOp::kRsqrt:
      return RunUnary<type>(lanes, dst, src, overflow,
                            [](float a) { return CutMantissa(1.0f / std::sqrt(a), kApproximateBits); });
    case UnaryOp::kReciprocal:
      return RunUnary<type>(lanes, dst, src, overflow, [](float a) { return CutMantissa(1.0f / a, kApproximateBits); });
    case UnaryOp::kRelu:
      return RunUnary<type>(lanes, dst, src, overflow, [](float a) { return ReluOf(a); });
    case UnaryOp::kNot:
      return;
  }
}

template <DType type>
typename Arith<type>::Value ScalarValue(uint32_t bits) {
  if constexpr (type == DType::kFloat) {
    return BitsToFloat(bits);
  } else if constexpr (type == DType::kHalf) {
    return HalfToFloat(static_cast<uint16_t>(bits));
  } else {
    return static_cast<typename Arith<type>::Value>(bits);
  }
}

template <DType type>
void ScalarOf(ScalarOp op, const Lanes& lanes, const Operand& dst, const Operand& src, uint32_t bits,
              Overflow overflow) {
  using V = typename Arith<type>::Value;
  const V s = ScalarValue<type>(bits);
  switch (op) {
    case ScalarOp::kAdds:
      return RunUnary<type>(lanes, dst, src, overflow, [s](V a) { return AddFn::Of(a, s); });
    case ScalarOp::kMuls:
      return RunUnary<type>(lanes, dst, src, overflow, [s](V a) { return MulFn::Of(a, s); });
    case ScalarOp::kMaxs:
      return RunUnary<type>(lanes, dst, src, overflow, [s](V a) { return MaxFn::Of(a, s); });
    case ScalarOp::kMins:
      return RunUnary<type>(lanes, dst, src, overflow, [s](V a) { return MinFn::Of(a, s); });
    case ScalarOp::kLeakyRelu:
      if constexpr (sizeof(V) == 4 && static_cast<V>(0.5) != 0) {
        return RunUnary<type>(lanes, dst, src, overflow, [s](V a) { return ((a >= 0) | (a != a)) ? a : a * s; });
      }
      return;
    case ScalarOp::kShiftLeft:
    case ScalarOp::kShiftRight:
      return;
  }
}

}  // namespace

void Binary(BinaryOp op, DType type, const Lanes& lanes, const Operand& dst, const Operand& src0, const Operand& src1,
            Overflow overflow) {
  using Fn = void (*)(const Lanes&, Operand, Operand, Operand, Overflow);
  static constexpr Fn kFloat[] = {RunBinary<DType::kFloat, AddFn>,
                                  RunBinary<DType::kFloat, SubFn>,
                                  RunBinary<DType::kFloat, MulFn>,
                                  RunBinary<DType::kFloat, DivFn>,
                                  RunBinary<DType::kFloat, MaxFn>,
                                  RunBinary<DType::kFloat, MinFn>,
                                  nullptr,
                                  nullptr,
                                  RunBinary<DType::kFloat, AddReluFn>,
                                  RunBinary<DType::kFloat, SubReluFn>};
  static constexpr Fn kHalf[] = {RunBinary<DType::kHalf, AddFn>,
                                 RunBinary<DType::kHalf, SubFn>,
                                 RunBinary<DType::kHalf, MulFn>,
                                 RunBinary<DType::kHalf, DivFn>,
                                 RunBinary<DType::kHalf, MaxFn>,
                                 RunBinary<DType::kHalf, MinFn>,
                                 nullptr,
                                 nullptr,
                                 RunBinary<DType::kHalf, AddReluFn>,
                                 RunBinary<DType::kHalf, SubReluFn>};
  struct AndFn {
    static uint16_t Of(uint16_t a, uint16_t b) { return a & b; }
  };
  struct OrFn {
    static uint16_t Of(uint16_t a, uint16_t b) { return a | b; }
  };
  static constexpr Fn kInt16[] = {RunBinary<DType::kInt16, AddFn>,     RunBinary<DType::kInt16, SubFn>,
                                  RunBinary<DType::kInt16, MulFn>,     nullptr,
                                  RunBinary<DType::kInt16, MaxFn>,     RunBinary<DType::kInt16, MinFn>,
                                  RunBinary<DType::kInt16, AndFn>,     RunBinary<DType::kInt16, OrFn>,
                                  RunBinary<DType::kInt16, AddReluFn>, RunBinary<DType::kInt16, SubReluFn>};
  static constexpr Fn kInt32[] = {RunBinary<DType::kInt32, AddFn>,
                                  RunBinary<DType::kInt32, SubFn>,
                                  RunBinary<DType::kInt32, MulFn>,
                                  nullptr,
                                  RunBinary<DType::kInt32, MaxFn>,
                                  RunBinary<DType::kInt32, MinFn>,
                                  nullptr,
                                  nullptr,
                                  nullptr,
                                  nullptr};
  const auto index = static_cast<size_t>(op);
  switch (type) {
    case DType::kFloat:
      return kFloat[index](lanes, dst, src0, src1, overflow);
    case DType::kHalf:
      return kHalf[index](lanes, dst, src0, src1, overflow);
    case DType::kInt16:
    case DType::kUint16:
      return kInt16[index](lanes, dst, src0, src1, overflow);
    default:
      return kInt32[index](lanes, dst, src0, src1, overflow);
  }
}

void Unary(UnaryOp op, DType type, const Lanes& lanes, const Operand& dst, const Operand& src, Overflow overflow) {
  switch (type) {
    case DType::kFloat:
      return UnaryFloat<DType::kFloat>(op, lanes, dst, src, overflow);
    case DType::kHalf:
      return UnaryFloat<DType::kHalf>(op, lanes, dst, src, overflow);
    case DType::kInt32:
      return RunUnary<DType::kInt32>(lanes, dst, src, overflow, [](uint32_t a) { return MaxFn::Of(a, 0u); });
    default:
      return RunUnary<DType::kInt16>(lanes, dst, src, overflow, [](uint16_t a) { return static_cast<uint16_t>(~a); });
  }
}

void Scalar(ScalarOp op, DType type, const Lanes& lanes, const Operand& dst, const Operand& src, uint32_t scalar_bits,
            Overflow overflow) {
  switch (type) {
    case DType::kFloat:
      return ScalarOf<DType::kFloat>(op, lanes, dst, src, scalar_bits, overflow);
    case DType::kHalf:
      return ScalarOf<DType::kHalf>(op, lanes, dst, src, scalar_bits, overflow);
    case DType::kInt16:
    case DType::kUint16:
      return ScalarOf<DType::kInt16>(op, lanes, dst, src, scalar_bits, overflow);
    default:
      return ScalarOf<DType::kInt32>(op, lanes, dst, src, scalar_bits, overflow);
  }
}

void Ternary(TernaryOp op, DType dst_type, DType src_type, const Lanes& lanes, const Operand& dst, const Operand& src0,
             const Operand& src1, Overflow overflow) {
  if (dst_type == DType::kHalf) {
    return TernaryOf<DType::kHalf, DType::kHalf>(op, lanes, dst, src0, src1, overflow);
  }
  if (src_type == DType::kHalf) {
    return TernaryOf<DType::kFloat, DType::kHalf>(op, lanes, dst, src0, src1, overflow);
  }
  TernaryOf<DType::kFloat, DType::kFloat>(op, lanes, dst, src0, src1, overflow);
}

void Axpy(DType dst_type, DType src_type, const Lanes& lanes, const Operand& dst, const Operand& src,
          uint32_t scalar_bits, Overflow overflow) {
  const float scalar =
      src_type == DType::kHalf ? HalfToFloat(static_cast<uint16_t>(scalar_bits)) : BitsToFloat(scalar_bits);
  if (dst_type == DType::kHalf) return AxpyOf<DType::kHalf, DType::kHalf>(lanes, dst, src, scalar, overflow);
  if (src_type == DType::kHalf) return AxpyOf<DType::kFloat, DType::kHalf>(lanes, dst, src, scalar, overflow);
  AxpyOf<DType::kFloat, DType::kFloat>(lanes, dst, src, scalar, overflow);
}

void Duplicate(uint32_t element_bytes, const Lanes& lanes, const Operand& dst, uint32_t scalar_bits) {
  uint32_t words[kRepeatBytes / 4];
  const uint32_t word = element_bytes == 2 ? (scalar_bits & 0xffffu) * 0x10001u : scalar_bits;
  for (uint32_t& w : words) w = word;
  uint8_t* base = dst.base;
  for (uint32_t r = 0; r < lanes.repeats; ++r, base += dst.repeat_stride) {
    if (element_bytes == 2) {
      uint16_t halves[kMaxLanes];
      std::memcpy(halves, words, sizeof(words));
      StoreLanes(base, dst.block_stride, 128, lanes.MaskOf(r), halves);
    } else {
      StoreLanes(base, dst.block_stride, 64, lanes.MaskOf(r), words);
    }
  }
}

}  // namespace npu_model::isa
