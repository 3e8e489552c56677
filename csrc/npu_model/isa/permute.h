// SPDX-License-Identifier: Apache-2.0
// Vector instructions that move elements between lanes.
#pragma once

#include "isa/types.h"

namespace npu_model::isa {

// dst[i] = the element at src + offsets[i] (bytes), over the active lanes. element_bytes 2 or 4; offsets are uint32,
// contiguous. An offset that leaves the `readable` bytes behind src gives all-ones; returns how many did.
uint32_t Gather(uint32_t element_bytes, const Lanes& lanes, const Operand& dst, const uint8_t* src, uint64_t readable,
                const uint8_t* offsets);

// The 16-address transposes. Repeat r moves every address by r * stride bytes.
struct AddressLists {
  uint8_t* dst[16] = {};
  const uint8_t* src[16] = {};
  uint32_t repeats = 1;
  uint32_t dst_stride = 0;
  uint32_t src_stride = 0;
};
// 2-byte elements: dst[j][i] = src[i][j].
void Transpose16(const AddressLists& lists);
// 4-byte elements, 8 per address: src row s, element j goes to dst[2 j + s / 8][s % 8].
void Transpose32(const AddressLists& lists);
// 1-byte elements, 16 per address, in the high or low half of each 32-byte block.
void Transpose8(const AddressLists& lists, bool dst_high, bool src_high);

// [rows, columns] -> [columns, rows]
void TransposeMatrix(uint32_t rows, uint32_t columns, uint32_t element_bytes, uint8_t* dst, const uint8_t* src);

// One 16x16 matrix of 2-byte elements.
void TransposeBlock(uint8_t* dst, const uint8_t* src);

// Compacts the selected ones of `elements` elements, 256 bytes of them per repeat; returns how many. Patterns 1 and 2
// select even and odd elements, 3..6 every fourth from 0..3; 0 takes bits from `bits`, one per element, repeat r at
// bits + r * stride. dst may be src. A null dst only counts.
struct GatherMaskShape {
  uint32_t element_bytes = 2;
  uint32_t elements = 0;
  uint32_t src_block_stride = kBlockBytes;
  uint32_t src_repeat_stride = kRepeatBytes;
  uint32_t bits_repeat_stride = 0;
  uint8_t pattern = 0;
};
uint32_t GatherMask(const GatherMaskShape& shape, uint8_t* dst, const uint8_t* src, const uint8_t* bits);

}  // namespace npu_model::isa
