// SPDX-License-Identifier: Apache-2.0
// Byte regions of vector operands: exactly the active lanes, block by block and repeat by repeat.
#pragma once

#include "engine/core.h"
#include "isa/types.h"
#include "issue/view.h"

namespace npu_model::issue {

// Strides of one operand in bytes.
struct Stride {
  uint32_t block = kBlockBytes;
  uint32_t repeat = isa::kRepeatBytes;
};

// Operand number `slot` of the instruction being issued (each slot has its own region storage until the next issue).
npu_model::Operand VectorOperand(int slot, Access access, const View& view, uint32_t elem_bytes,
                                 const isa::Lanes& lanes, const Stride& stride);

// Storage for operands that need more regions than an Operand holds.
Region* RegionStorage(int slot, uint32_t count);

inline isa::Operand At(Core& core, const View& view, const Stride& stride) {
  return {Pointer(core, view), stride.block, stride.repeat};
}

}  // namespace npu_model::issue
