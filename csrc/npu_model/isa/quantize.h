// SPDX-License-Identifier: Apache-2.0
// Vector instructions that scale or add and narrow in one go: pure functions over memory.
#pragma once

#include "isa/types.h"
#include "isa/vector.h"

namespace npu_model::isa {

// One 64-bit word of quantisation: a float with 10 bits of mantissa (bits 0..31), a signed 9-bit offset (37..45),
// whether the result is signed (46).
struct Dequant {
  float scale = 1.0f;
  int32_t offset = 0;
  bool is_signed = false;

  static uint64_t Pack(float scale, int16_t offset, bool is_signed);
  static Dequant Unpack(uint64_t word);
};

// int16 -> 8 bits: round(src * scale + offset) to nearest even, saturated. Of each 32-byte block of `dst`, the results
// of the source's block fill the first 16 bytes, or the last if `high`. `words`: 16 of them, one per position in a
// block, or (per_lane false) one for all.
void CastDequant(const Lanes& lanes, const Operand& dst, const Operand& src, const uint8_t* words, bool per_lane,
                 bool high);

// Rows of 16 int32, 64 bytes apart, to 16 halves or, `narrow`, bytes each; rows of `dst` are 32 bytes apart. Halves:
// float(src) * scale. Bytes: as CastDequant. `words`: one per column.
void RequantiseRows(uint32_t rows, const uint64_t (&words)[16], bool narrow, Overflow overflow, uint8_t* dst,
                    const uint8_t* src);

// max(src0 + src1, 0), max(src0 - src1, 0) or src0 * src1 in the source's type, converted. kAddRelu, kSubRelu: float ->
// half, half -> int8, int16 -> int8. kMul: half -> int8, uint8.
void BinaryCast(BinaryOp op, DType dst_type, DType src_type, const Lanes& lanes, const Operand& dst,
                const Operand& src0, const Operand& src1, Overflow overflow);

// half(max(src0 + src1, 0) * scale), int32 sources that wrap.
void AddDeqRelu(const Lanes& lanes, const Operand& dst, const Operand& src0, const Operand& src1, float scale,
                Overflow overflow);

}  // namespace npu_model::isa
