// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "isa/types.h"

namespace npu_model::isa {

enum class Round : uint8_t { kNone, kRint, kFloor, kCeil, kRound, kTrunc, kOdd };

// Whether the chip has the conversion with this rounding.
bool CastExists(DType dst, DType src, Round mode);

// One repeat has as many lanes as the wider side fills 256 bytes; the narrower side packs them into fewer blocks.
// Float to integer saturates, NaN gives 0. int32 -> half multiplies by deq_scale.
void Cast(DType dst_type, DType src_type, Round mode, const Lanes& lanes, const Operand& dst, const Operand& src,
          Overflow overflow, float deq_scale);

// One value, as the scalar unit converts it.
int32_t FloatToInt32(float value, Round mode);

}  // namespace npu_model::isa
