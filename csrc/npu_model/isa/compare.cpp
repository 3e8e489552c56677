// SPDX-License-Identifier: Apache-2.0
#include "isa/compare.h"

#include "isa/lanes.h"

namespace npu_model::isa {
namespace {

bool Holds(CompareOp op, float a, float b) {
  switch (op) {
    case CompareOp::kLt:
      return a < b;
    case CompareOp::kGt:
      return a > b;
    case CompareOp::kEq:
      return a == b;
    case CompareOp::kLe:
      return a <= b;
    case CompareOp::kGe:
      return a >= b;
    default:
      return a != b;
  }
}

constexpr uint64_t kAll[2] = {~uint64_t{0}, ~uint64_t{0}};

template <DType type>
constexpr uint32_t kWidthOf = type == DType::kHalf ? 128 : 64;

template <DType type>
void PackBits(CompareOp op, const float* a, const float* b, uint8_t* bits) {
  for (uint32_t lane = 0; lane < kWidthOf<type>; lane += 8) {
    uint8_t byte = 0;
    for (uint32_t i = 0; i < 8; ++i)
      byte = static_cast<uint8_t>(byte | (Holds(op, a[lane + i], b[lane + i]) ? 1u << i : 0u));
    bits[lane / 8] = byte;
  }
}

template <DType type>
void CompareOf(CompareOp op, uint32_t repeats, uint8_t* dst, Operand src0, Operand src1, const float* scalar) {
  constexpr uint32_t kWidth = kWidthOf<type>;
  float a[kWidth], b[kWidth];
  uint8_t bits[kWidth / 8];
  for (uint32_t r = 0; r < repeats; ++r) {
    LoadValues<type>(src0.base, src0.block_stride, kWidth, kAll, a);
    if (scalar != nullptr) {
      for (float& value : b) value = *scalar;
    } else {
      LoadValues<type>(src1.base, src1.block_stride, kWidth, kAll, b);
    }
    PackBits<type>(op, a, b, bits);
    std::memcpy(dst + size_t{r} * sizeof(bits), bits, sizeof(bits));
    src0.base += src0.repeat_stride;
    src1.base += src1.repeat_stride;
  }
}

template <class T>
void SelectOf(SelectMode mode, const Lanes& lanes, Operand dst, const uint8_t* bits, Operand src0, Operand src1,
              T scalar) {
  constexpr uint32_t kWidth = kRepeatBytes / sizeof(T);
  for (uint32_t r = 0; r < lanes.repeats; ++r) {
    const uint64_t* mask = lanes.MaskOf(r);
    T a[kWidth], b[kWidth];
    LoadLanes(src0.base, src0.block_stride, kWidth, mask, a);
    if (mode == SelectMode::kTensorScalar) {
      for (T& value : b) value = scalar;
    } else {
      LoadLanes(src1.base, src1.block_stride, kWidth, mask, b);
    }
    const uint8_t* row = mode == SelectMode::kRegister ? bits : bits + size_t{r} * (kWidth / 8);
    for (uint32_t lane = 0; lane < kWidth; ++lane) {
      const bool active = ((mask[lane >> 6] >> (lane & 63)) & 1) != 0;
      if (active && ((row[lane / 8] >> (lane % 8)) & 1) == 0) a[lane] = b[lane];
    }
    StoreLanes(dst.base, dst.block_stride, kWidth, mask, a);
    dst.base += dst.repeat_stride;
    src0.base += src0.repeat_stride;
    src1.base += src1.repeat_stride;
  }
}

}  // namespace

void Compare(CompareOp op, DType type, uint32_t repeats, uint8_t* dst, const Operand& src0, const Operand& src1) {
  if (type == DType::kHalf) return CompareOf<DType::kHalf>(op, repeats, dst, src0, src1, nullptr);
  CompareOf<DType::kFloat>(op, repeats, dst, src0, src1, nullptr);
}

void CompareScalar(CompareOp op, DType type, uint32_t repeats, uint8_t* dst, const Operand& src, uint32_t scalar_bits) {
  const float scalar =
      type == DType::kHalf ? HalfToFloat(static_cast<uint16_t>(scalar_bits)) : BitsToFloat(scalar_bits);
  if (type == DType::kHalf) return CompareOf<DType::kHalf>(op, repeats, dst, src, src, &scalar);
  CompareOf<DType::kFloat>(op, repeats, dst, src, src, &scalar);
}

void CompareToRegister(CompareOp op, DType type, const uint64_t* mask, const Operand& src0, const Operand& src1,
                       uint64_t* bits) {
  uint64_t result[2] = {0, 0};
  float a[kMaxLanes], b[kMaxLanes];
  const uint32_t width = type == DType::kHalf ? 128 : 64;
  if (type == DType::kHalf) {
    LoadValues<DType::kHalf>(src0.base, src0.block_stride, 128, mask, a);
    LoadValues<DType::kHalf>(src1.base, src1.block_stride, 128, mask, b);
  } else {
    LoadValues<DType::kFloat>(src0.base, src0.block_stride, 64, mask, a);
    LoadValues<DType::kFloat>(src1.base, src1.block_stride, 64, mask, b);
  }
  for (uint32_t lane = 0; lane < width; ++lane) {
    if (((mask[lane >> 6] >> (lane & 63)) & 1) != 0 && Holds(op, a[lane], b[lane])) {
      result[lane >> 6] |= uint64_t{1} << (lane & 63);
    }
  }
  bits[0] = result[0];
  bits[1] = result[1];
}

void Select(SelectMode mode, DType type, const Lanes& lanes, const Operand& dst, const uint8_t* bits,
            const Operand& src0, const Operand& src1, uint32_t scalar_bits) {
  if (type == DType::kHalf) {
    return SelectOf<uint16_t>(mode, lanes, dst, bits, src0, src1, static_cast<uint16_t>(scalar_bits));
  }
  SelectOf<uint32_t>(mode, lanes, dst, bits, src0, src1, scalar_bits);
}

}  // namespace npu_model::isa
