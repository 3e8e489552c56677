// SPDX-License-Identifier: Apache-2.0
// Comparisons to bit masks, and selection by them. Types half and float.
#pragma once

#include "isa/types.h"

namespace npu_model::isa {

enum class CompareOp : uint8_t { kLt, kGt, kEq, kLe, kGe, kNe };

// All lanes of every repeat take part. One bit per lane, little-endian: repeat r writes width / 8 bytes at
// dst + r * width / 8.
void Compare(CompareOp op, DType type, uint32_t repeats, uint8_t* dst, const Operand& src0, const Operand& src1);
void CompareScalar(CompareOp op, DType type, uint32_t repeats, uint8_t* dst, const Operand& src, uint32_t scalar_bits);
// One repeat into the compare-mask register, active lanes only; the other bits are 0.
void CompareToRegister(CompareOp op, DType type, const uint64_t* mask, const Operand& src0, const Operand& src1,
                       uint64_t* bits);

enum class SelectMode : uint8_t { kRegister, kTensorScalar, kTensorTensor };
// Bit 1 takes src0, bit 0 src1 (or the scalar). kRegister: the same width bits for every repeat; the others consume
// width bits per repeat from `bits`.
void Select(SelectMode mode, DType type, const Lanes& lanes, const Operand& dst, const uint8_t* bits,
            const Operand& src0, const Operand& src1, uint32_t scalar_bits);

}  // namespace npu_model::isa
