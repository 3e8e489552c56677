// SPDX-License-Identifier: Apache-2.0
// Cube data path: fractal loads and the matrix product.
#pragma once

#include <vector>

#include "isa/types.h"

namespace npu_model::isa {

// `count` fractals of 512 bytes; fractal i moves from src + i * src_pitch to dst + i * dst_pitch. With `transpose`
// (2-byte elements) each 16x16 fractal is transposed on the way.
void LoadFractals(uint32_t count, int64_t src_pitch, int64_t dst_pitch, bool transpose, uint8_t* dst,
                  const uint8_t* src);

// img2col of a [C1, H, W, C0] feature map: the matrix of rows = output positions, columns = (c1, kh, kw, c0), as L0A or
// L0B hold a matrix; with `transpose` L0A gets its transpose.
struct Img2Col {
  uint16_t height = 0, width = 0;
  uint8_t pad_left = 0, pad_right = 0, pad_top = 0, pad_bottom = 0;
  uint16_t channels = 0;
  uint16_t k_extent = 0, m_extent = 0, k_start = 0, m_start = 0;
  uint8_t stride_w = 1, stride_h = 1;
  uint16_t filter_w = 1, filter_h = 1;
  uint8_t dilation_w = 1, dilation_h = 1;
  bool transpose = false;
  bool to_l0b = false;
  uint32_t element_bytes = 2;
  uint32_t pad_bits = 0;
};
void LoadImg2Col(const Img2Col& shape, uint8_t* dst, const uint8_t* src);
// Output positions of the map.
uint32_t Img2ColRows(const Img2Col& shape);

// The same map, fractal by fractal: 16 windows at one point of the filter, from the window whose corner is (left, top)
// in the map, padding being negative. The next fractal is at the filter's next point (width, height, then channel
// block), or with the next 16 windows.
struct Img2ColFractals {
  Img2Col map;
  uint32_t c1 = 0;
  uint32_t tap_w = 0, tap_h = 0;
  int left = 0, top = 0;
  bool along_windows = false;
  uint32_t repeats = 0;
  uint32_t dst_stride = 1;  // fractals
};
// Byte offset in the map of each of the repeats * 16 rows; kPaddingRow: padding.
constexpr uint64_t kPaddingRow = ~uint64_t{0};
std::vector<uint64_t> RowsOf(const Img2ColFractals& walk);
void LoadImg2ColFractals(const Img2ColFractals& walk, const std::vector<uint64_t>& rows, uint8_t* dst,
                         const uint8_t* src);

struct MmadShape {
  uint16_t m = 0, n = 0, k = 0;
  bool init = true;  // C = A B, else C += A B
  DType a = DType::kHalf, b = DType::kHalf, c = DType::kFloat;
  bool permute = false;  // accumulate k in another order
  uint32_t permute_seed = 0;
};
// fp32 accumulation with k ascending: products of halves are exact in fp32, so fused and separate add agree.
// Half C is rounded once, after the last k. m == 1 reads A as a plain vector. Rows and columns of C beyond m and n
// become NaN (integers: 0x7fffffff): their value is not specified.
void Mmad(const MmadShape& shape, uint8_t* c, const uint8_t* a, const uint8_t* b, Overflow overflow);

}  // namespace npu_model::isa
