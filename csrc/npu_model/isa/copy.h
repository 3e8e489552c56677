// SPDX-License-Identifier: Apache-2.0
// Block copies between memories, with the conversions the L0C <-> UB paths do on the way.
#pragma once

#include "isa/types.h"

namespace npu_model::isa {

// `blocks` runs of `bytes`; consecutive runs start `pitch` bytes apart on each side.
struct BlockCopy {
  uint32_t blocks = 1;
  uint32_t bytes = 0;
  uint64_t src_pitch = 0;
  uint64_t dst_pitch = 0;
};

void Copy(const BlockCopy& shape, uint8_t* dst, const uint8_t* src);

// dst += src, element type float, half or int16.
void CopyAdd(const BlockCopy& shape, DType type, uint8_t* dst, const uint8_t* src, Overflow overflow);

// `blocks` times `units` runs of `elements` values, converted one by one; pitches in bytes.
struct ConvertCopy {
  uint32_t blocks = 1;
  uint32_t units = 1;
  uint32_t elements = 0;
  uint64_t src_pitch = 0;
  uint64_t dst_pitch = 0;
  uint64_t src_unit_pitch = 0;
  uint64_t dst_unit_pitch = 0;
  DType dst_type = DType::kFloat;
  DType src_type = DType::kFloat;
  bool relu = false;
  float deq_scale = 1.0f;  // int32 -> half, int8, uint8, int16
};
void Copy(const ConvertCopy& shape, uint8_t* dst, const uint8_t* src, Overflow overflow);

// Repeats one 32-byte-multiple pattern value: `runs` runs of `bytes` every `pitch` bytes, element_bytes 2 or 4.
void FillRuns(uint8_t* dst, uint32_t runs, uint32_t bytes, uint64_t pitch, uint32_t element_bytes, uint32_t value_bits);

}  // namespace npu_model::isa
