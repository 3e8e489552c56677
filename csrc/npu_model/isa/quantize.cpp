// SPDX-License-Identifier: Apache-2.0
#include "isa/quantize.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "isa/lanes.h"

namespace npu_model::isa {
namespace {

constexpr uint32_t kScaleBits = 0xFFFFE000u;  // sign, exponent, ten bits of mantissa
constexpr uint32_t kOffsetShift = 37;
constexpr uint32_t kOffsetMask = 0x1FF;
constexpr uint32_t kOffsetSign = 0x100;
constexpr uint32_t kSignedShift = 46;

uint8_t Saturated(double value, bool is_signed) {
  const double rounded = std::nearbyint(value);
  if (rounded != rounded) return 0;
  if (is_signed) return static_cast<uint8_t>(static_cast<int8_t>(std::clamp(rounded, -128.0, 127.0)));
  return static_cast<uint8_t>(std::clamp(rounded, 0.0, 255.0));
}

// fn(lane of src0, lane of src1) -> lane of dst, a repeat at a time.
template <class D, class S, class Fn>
void ForLanes(const Lanes& lanes, Operand dst, Operand src0, Operand src1, Fn fn) {
  constexpr uint32_t kWidth = kRepeatBytes / sizeof(S);
  alignas(64) S a[kWidth];
  alignas(64) S b[kWidth];
  alignas(64) D out[kWidth];
  for (uint32_t r = 0; r < lanes.repeats; ++r) {
    const uint64_t* mask = lanes.MaskOf(r);
    LoadLanes(src0.base, src0.block_stride, kWidth, mask, a);
    LoadLanes(src1.base, src1.block_stride, kWidth, mask, b);
    for (uint32_t lane = 0; lane < kWidth; ++lane) out[lane] = fn(a[lane], b[lane]);
    StoreLanes(dst.base, dst.block_stride, kWidth, mask, out);
    dst.base += dst.repeat_stride;
    src0.base += src0.repeat_stride;
    src1.base += src1.repeat_stride;
  }
}

float Relu(float x) { return x < 0.0f ? 0.0f : x; }

}  // namespace

uint64_t Dequant::Pack(float scale, int16_t offset, bool is_signed) {
  uint32_t bits = 0;
  std::memcpy(&bits, &scale, sizeof(bits));
  return bits | static_cast<uint64_t>(static_cast<uint16_t>(offset) & kOffsetMask) << kOffsetShift |
         static_cast<uint64_t>(is_signed) << kSignedShift;
}

Dequant Dequant::Unpack(uint64_t word) {
  Dequant out;
  const uint32_t bits = static_cast<uint32_t>(word) & kScaleBits;
  std::memcpy(&out.scale, &bits, sizeof(bits));
  out.offset = static_cast<int32_t>((word >> kOffsetShift) & kOffsetMask);
  if ((out.offset & static_cast<int32_t>(kOffsetSign)) != 0) out.offset -= 2 * static_cast<int32_t>(kOffsetSign);
  out.is_signed = ((word >> kSignedShift) & 1) != 0;
  return out;
}

void CastDequant(const Lanes& lanes, const Operand& dst, const Operand& src, const uint8_t* words, bool per_lane,
                 bool high) {
  constexpr uint32_t kPerBlock = 16;
  constexpr uint32_t kWidth = kRepeatBytes / sizeof(int16_t);
  Dequant rules[kPerBlock];
  for (uint32_t i = 0; i < kPerBlock; ++i) {
    uint64_t word = 0;
    std::memcpy(&word, words + (per_lane ? i : 0) * sizeof(word), sizeof(word));
    rules[i] = Dequant::Unpack(word);
  }
  uint8_t* to = dst.base + (high ? kPerBlock : 0);
  const uint8_t* from = src.base;
  for (uint32_t r = 0; r < lanes.repeats; ++r) {
    const uint64_t* mask = lanes.MaskOf(r);
    int16_t in[kWidth];
    LoadLanes(from, src.block_stride, kWidth, mask, in);
    for (uint32_t lane = 0; lane < kWidth; ++lane) {
      if (((mask[lane >> 6] >> (lane & 63)) & 1) == 0) continue;
      const Dequant& rule = rules[lane % kPerBlock];
      // Exact in double: 16 by 11 bits, and an offset.
      const double value = static_cast<double>(in[lane]) * static_cast<double>(rule.scale) + rule.offset;
      to[size_t{lane / kPerBlock} * dst.block_stride + lane % kPerBlock] = Saturated(value, rule.is_signed);
    }
    to += dst.repeat_stride;
    from += src.repeat_stride;
  }
}

void RequantiseRows(uint32_t rows, const uint64_t (&words)[16], bool narrow, Overflow overflow, uint8_t* dst,
                    const uint8_t* src) {
  constexpr uint32_t kColumns = 16;
  Dequant rules[kColumns];
  for (uint32_t i = 0; i < kColumns; ++i) rules[i] = Dequant::Unpack(words[i]);
  for (uint32_t row = 0; row < rows; ++row) {
    int32_t in[kColumns];
    std::memcpy(in, src + size_t{row} * sizeof(in), sizeof(in));
    uint8_t* out = dst + size_t{row} * kBlockBytes;
    for (uint32_t i = 0; i < kColumns; ++i) {
      if (narrow) {
        out[i] = Saturated(double{rules[i].scale} * in[i] + rules[i].offset, rules[i].is_signed);
      } else {
        const uint16_t half = FloatToHalf(static_cast<float>(in[i]) * rules[i].scale, overflow);
        std::memcpy(out + i * sizeof(half), &half, sizeof(half));
      }
    }
  }
}

void BinaryCast(BinaryOp op, DType dst_type, DType src_type, const Lanes& lanes, const Operand& dst,
                const Operand& src0, const Operand& src1, Overflow overflow) {
  const auto combine = [op](float a, float b) {
    return op == BinaryOp::kMul ? a * b : Relu(op == BinaryOp::kSubRelu ? a - b : a + b);
  };
  if (src_type == DType::kFloat) {
    return ForLanes<uint16_t, float>(
        lanes, dst, src0, src1, [combine, overflow](float a, float b) { return FloatToHalf(combine(a, b), overflow); });
  }
  if (src_type == DType::kHalf) {
    const bool is_signed = dst_type == DType::kInt8;
    return ForLanes<uint8_t, uint16_t>(lanes, dst, src0, src1, [combine, overflow, is_signed](uint16_t a, uint16_t b) {
      const uint16_t half = FloatToHalf(combine(HalfToFloat(a), HalfToFloat(b)), overflow);
      return Saturated(HalfToFloat(half), is_signed);
    });
  }
  ForLanes<uint8_t, uint16_t>(lanes, dst, src0, src1, [op](uint16_t a, uint16_t b) {
    const int sum = op == BinaryOp::kSubRelu ? a - b : a + b;
    return Saturated(std::max<int16_t>(static_cast<int16_t>(static_cast<uint16_t>(sum)), 0), true);  // the sum wraps
  });
}

void AddDeqRelu(const Lanes& lanes, const Operand& dst, const Operand& src0, const Operand& src1, float scale,
                Overflow overflow) {
  ForLanes<uint16_t, uint32_t>(lanes, dst, src0, src1, [scale, overflow](uint32_t a, uint32_t b) {
    const int32_t sum = std::max(static_cast<int32_t>(a + b), 0);
    return FloatToHalf(static_cast<float>(sum) * scale, overflow);
  });
}

}  // namespace npu_model::isa
