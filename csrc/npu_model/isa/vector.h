// SPDX-License-Identifier: Apache-2.0
// Element-wise vector instructions: pure functions over memory.
#pragma once

#include "isa/types.h"

namespace npu_model::isa {

enum class BinaryOp : uint8_t { kAdd, kSub, kMul, kDiv, kMax, kMin, kAnd, kOr, kAddRelu, kSubRelu };
enum class UnaryOp : uint8_t { kExp, kLn, kAbs, kSqrt, kRsqrt, kReciprocal, kRelu, kNot };
enum class ScalarOp : uint8_t { kAdds, kMuls, kMaxs, kMins, kLeakyRelu, kShiftLeft, kShiftRight };
// dst = src0 * src1 + dst; dst = src0 * dst + src1; the same two with max(., 0).
enum class TernaryOp : uint8_t { kMulAddDst, kFusedMulAdd, kMulAddRelu, kFusedMulAddRelu };

// Types: half, float for all; int16, int32 for + - * max min; uint16/int16 for and, or (bits).
// max and min return NaN if either side is NaN; integers wrap.
void Binary(BinaryOp op, DType type, const Lanes& lanes, const Operand& dst, const Operand& src0, const Operand& src1,
            Overflow overflow);

// rsqrt and reciprocal keep only 12 significant bits (9 for half): the chip's are approximations.
void Unary(UnaryOp op, DType type, const Lanes& lanes, const Operand& dst, const Operand& src, Overflow overflow);

// scalar_bits: the scalar in the storage format of the type.
void Scalar(ScalarOp op, DType type, const Lanes& lanes, const Operand& dst, const Operand& src, uint32_t scalar_bits,
            Overflow overflow);

// The product is rounded before the sum (exact for float dst with half sources).
void Ternary(TernaryOp op, DType dst_type, DType src_type, const Lanes& lanes, const Operand& dst, const Operand& src0,
             const Operand& src1, Overflow overflow);

// dst = src * scalar + dst; scalar_bits in the source's format.
void Axpy(DType dst_type, DType src_type, const Lanes& lanes, const Operand& dst, const Operand& src,
          uint32_t scalar_bits, Overflow overflow);

// element_bytes 2 or 4.
void Duplicate(uint32_t element_bytes, const Lanes& lanes, const Operand& dst, uint32_t scalar_bits);

}  // namespace npu_model::isa
