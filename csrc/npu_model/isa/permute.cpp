// SPDX-License-Identifier: Apache-2.0
#include "isa/permute.h"

#include "isa/lanes.h"

namespace npu_model::isa {
namespace {

template <class T>
uint32_t GatherOf(const Lanes& lanes, Operand dst, const uint8_t* src, uint64_t readable, const uint8_t* offsets) {
  uint32_t outside = 0;
  constexpr uint32_t kWidth = kRepeatBytes / sizeof(T);
  for (uint32_t r = 0; r < lanes.repeats; ++r) {
    const uint64_t* mask = lanes.MaskOf(r);
    T out[kWidth] = {};
    for (uint32_t lane = 0; lane < kWidth; ++lane) {
      if (((mask[lane >> 6] >> (lane & 63)) & 1) == 0) continue;
      uint32_t offset = 0;
      std::memcpy(&offset, offsets + (size_t{r} * kWidth + lane) * sizeof(offset), sizeof(offset));
      if (uint64_t{offset} + sizeof(T) <= readable) {
        std::memcpy(&out[lane], src + offset, sizeof(T));
      } else {
        out[lane] = static_cast<T>(~T{0});
        ++outside;
      }
    }
    StoreLanes(dst.base, dst.block_stride, kWidth, mask, out);
    dst.base += dst.repeat_stride;
  }
  return outside;
}

// 16 rows of kElems elements from `src`; element (s, j) goes to slot(s, j) of the 16 destination rows.
template <class T, uint32_t kElems, class Slot>
void TransposeLists(const AddressLists& lists, uint32_t src_shift, uint32_t dst_shift, Slot slot) {
  for (uint32_t r = 0; r < lists.repeats; ++r) {
    T in[16][kElems];
    T out[16][kElems];
    for (uint32_t s = 0; s < 16; ++s) {
      std::memcpy(in[s], lists.src[s] + size_t{r} * lists.src_stride + src_shift, sizeof(in[s]));
    }
    for (uint32_t s = 0; s < 16; ++s) {
      for (uint32_t j = 0; j < kElems; ++j) *slot(out, s, j) = in[s][j];
    }
    for (uint32_t d = 0; d < 16; ++d) {
      std::memcpy(lists.dst[d] + size_t{r} * lists.dst_stride + dst_shift, out[d], sizeof(out[d]));
    }
  }
}

}  // namespace

uint32_t Gather(uint32_t element_bytes, const Lanes& lanes, const Operand& dst, const uint8_t* src, uint64_t readable,
                const uint8_t* offsets) {
  if (element_bytes == 2) return GatherOf<uint16_t>(lanes, dst, src, readable, offsets);
  return GatherOf<uint32_t>(lanes, dst, src, readable, offsets);
}

void Transpose16(const AddressLists& lists) {
  TransposeLists<uint16_t, 16>(lists, 0, 0, [](auto& out, uint32_t s, uint32_t j) { return &out[j][s]; });
}

void Transpose32(const AddressLists& lists) {
  TransposeLists<uint32_t, 8>(lists, 0, 0,
                              [](auto& out, uint32_t s, uint32_t j) { return &out[2 * j + s / 8][s % 8]; });
}

void Transpose8(const AddressLists& lists, bool dst_high, bool src_high) {
  TransposeLists<uint8_t, 16>(lists, src_high ? 16 : 0, dst_high ? 16 : 0,
                              [](auto& out, uint32_t s, uint32_t j) { return &out[j][s]; });
}

void TransposeMatrix(uint32_t rows, uint32_t columns, uint32_t element_bytes, uint8_t* dst, const uint8_t* src) {
  for (uint32_t r = 0; r < rows; ++r) {
    for (uint32_t c = 0; c < columns; ++c) {
      std::memcpy(dst + (size_t{c} * rows + r) * element_bytes, src + (size_t{r} * columns + c) * element_bytes,
                  element_bytes);
    }
  }
}

void TransposeBlock(uint8_t* dst, const uint8_t* src) {
  uint16_t in[16][16];
  uint16_t out[16][16];
  std::memcpy(in, src, sizeof(in));
  for (uint32_t r = 0; r < 16; ++r) {
    for (uint32_t c = 0; c < 16; ++c) out[c][r] = in[r][c];
  }
  std::memcpy(dst, out, sizeof(out));
}

uint32_t GatherMask(const GatherMaskShape& shape, uint8_t* dst, const uint8_t* src, const uint8_t* bits) {
  const uint32_t size = shape.element_bytes;
  const uint32_t per_block = kBlockBytes / size;
  const uint32_t width = kRepeatBytes / size;
  const auto selected = [&](uint32_t repeat, uint32_t i) {
    switch (shape.pattern) {
      case 0:
        return ((bits[size_t{repeat} * shape.bits_repeat_stride + i / 8] >> (i % 8)) & 1) != 0;
      case 1:
        return i % 2 == 0;
      case 2:
        return i % 2 == 1;
      default:
        return i % 4 == shape.pattern - 3u;
    }
  };
  uint32_t count = 0;
  for (uint32_t at = 0; at < shape.elements; ++at) {
    const uint32_t repeat = at / width;
    const uint32_t i = at % width;
    if (!selected(repeat, i)) continue;
    if (dst != nullptr) {
      std::memmove(dst + size_t{count} * size,
                   src + size_t{repeat} * shape.src_repeat_stride + size_t{i / per_block} * shape.src_block_stride +
                       i % per_block * size,
                   size);
    }
    ++count;
  }
  return count;
}

}  // namespace npu_model::isa
