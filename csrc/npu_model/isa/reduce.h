// SPDX-License-Identifier: Apache-2.0
// Reductions inside a repeat. Inactive lanes do not take part; a result without any active lane is not written.
#pragma once

#include "isa/types.h"

namespace npu_model::isa {

enum class ReduceOp : uint8_t { kSum, kMax, kMin };

// dst: results of repeat r start at base + r * repeat_stride. Sums are binary trees over neighbours; half sums round
// to half at every level. Types half and float.
void ReduceBlocks(ReduceOp op, DType type, const Lanes& lanes, const Operand& dst, const Operand& src,
                  Overflow overflow);
// Sums of neighbouring pairs.
void ReducePairs(DType type, const Lanes& lanes, const Operand& dst, const Operand& src, Overflow overflow);
// One result per repeat: the sum, or (value, index) of the first extreme element; `index_first` swaps the two. The
// index is an integer in the bits of the element type.
void ReduceRepeats(ReduceOp op, DType type, bool index_first, const Lanes& lanes, const Operand& dst,
                   const Operand& src, Overflow overflow);

}  // namespace npu_model::isa
