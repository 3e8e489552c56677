// SPDX-License-Identifier: Apache-2.0
#include "isa/cube.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace npu_model::isa {
namespace {

constexpr uint32_t kSide = 16;  // rows of a fractal, columns of C
constexpr uint32_t kFractalElems = kSide * kSide;

// One row of C inside a fractal.
typedef float Row __attribute__((vector_size(64)));

void TransposeFractal(const uint8_t* src, uint8_t* dst) {
  uint16_t in[kFractalElems], out[kFractalElems];
  std::memcpy(in, src, kFractalBytes);
  for (uint32_t r = 0; r < kSide; ++r) {
    for (uint32_t c = 0; c < kSide; ++c) out[c * kSide + r] = in[r * kSide + c];
  }
  std::memcpy(dst, out, kFractalBytes);
}

// Accumulation order of k: ascending, or a fixed shuffle of it.
std::vector<uint32_t> AccumulationOrder(const MmadShape& shape) {
  std::vector<uint32_t> order(shape.k);
  for (uint32_t i = 0; i < shape.k; ++i) order[i] = i;
  if (shape.permute) {
    uint64_t state = shape.permute_seed * 0x9e3779b97f4a7c15ULL + 0x632be59bd9b4e019ULL;
    for (uint32_t i = shape.k; i > 1; --i) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      std::swap(order[i - 1], order[(state >> 33) % i]);
    }
  }
  return order;
}

uint32_t CeilDiv(uint32_t a, uint32_t b) { return (a + b - 1) / b; }

// A as floats [m][k], k in accumulation order.
void UnpackA(const MmadShape& shape, const std::vector<uint32_t>& order, const uint8_t* a, float* out) {
  const uint32_t k_fractals = CeilDiv(shape.k, kSide);
  float row[kSide];
  for (uint32_t m = 0; m < shape.m; ++m) {
    float* natural = out + size_t{m} * shape.k;
    for (uint32_t k1 = 0; k1 < k_fractals; ++k1) {
      const uint32_t columns = std::min<uint32_t>(kSide, shape.k - k1 * kSide);
      const size_t elem = shape.m == 1 ? size_t{k1} * kSide
                                       : (size_t{m / kSide} * k_fractals + k1) * kFractalElems + (m % kSide) * kSide;
      uint16_t raw[kSide] = {};
      std::memcpy(raw, a + elem * 2, columns * 2);
      HalfToFloat(raw, row, kSide);
      std::memcpy(natural + k1 * kSide, row, columns * sizeof(float));
    }
  }
  if (!shape.permute) return;
  std::vector<float> line(shape.k);
  for (uint32_t m = 0; m < shape.m; ++m) {
    float* natural = out + size_t{m} * shape.k;
    for (uint32_t i = 0; i < shape.k; ++i) line[i] = natural[order[i]];
    std::copy(line.begin(), line.end(), natural);
  }
}

// Column block n1 of B as floats [k][16], k in accumulation order.
void UnpackB(const MmadShape& shape, const std::vector<uint32_t>& order, const uint8_t* b, uint32_t n1, float* out) {
  const uint32_t n_fractals = CeilDiv(shape.n, kSide);
  const uint32_t k_fractals = CeilDiv(shape.k, kSide);
  static thread_local std::vector<float> buffer;
  float* natural = out;
  if (shape.permute) {
    buffer.resize(size_t{k_fractals} * kFractalElems);
    natural = buffer.data();
  }
  for (uint32_t k1 = 0; k1 < k_fractals; ++k1) {
    uint16_t raw[kFractalElems];
    uint16_t transposed[kFractalElems];
    std::memcpy(raw, b + (size_t{k1} * n_fractals + n1) * kFractalBytes, kFractalBytes);
    for (uint32_t n = 0; n < kSide; ++n) {
      for (uint32_t k = 0; k < kSide; ++k) transposed[k * kSide + n] = raw[n * kSide + k];
    }
    HalfToFloat(transposed, natural + size_t{k1} * kFractalElems, kFractalElems);
  }
  if (!shape.permute) return;
  for (uint32_t i = 0; i < shape.k; ++i)
    std::copy_n(natural + size_t{order[i]} * kSide, kSide, out + size_t{i} * kSide);
}

template <uint32_t kRows>
void MultiplyRows(uint32_t k, const float* a, uint32_t a_pitch, const float* b, Row* acc) {
  Row sum[kRows];
  for (uint32_t r = 0; r < kRows; ++r) sum[r] = acc[r];
  for (uint32_t i = 0; i < k; ++i) {
    Row column;
    std::memcpy(&column, b + size_t{i} * kSide, sizeof(column));
    for (uint32_t r = 0; r < kRows; ++r) sum[r] += column * a[size_t{r} * a_pitch + i];
  }
  for (uint32_t r = 0; r < kRows; ++r) acc[r] = sum[r];
}

void LoadRow(const uint8_t* c, DType type, Row* row) {
  if (type == DType::kFloat) {
    std::memcpy(row, c, sizeof(*row));
    return;
  }
  uint16_t raw[kSide];
  float values[kSide];
  std::memcpy(raw, c, sizeof(raw));
  HalfToFloat(raw, values, kSide);
  std::memcpy(row, values, sizeof(*row));
}

void StoreRow(const Row& row, DType type, uint32_t columns, Overflow overflow, uint8_t* c) {
  float values[kSide];
  std::memcpy(values, &row, sizeof(values));
  for (uint32_t i = columns; i < kSide; ++i) values[i] = BitsToFloat(0x7fffffffu);
  if (type == DType::kFloat) {
    std::memcpy(c, values, sizeof(values));
    return;
  }
  uint16_t raw[kSide];
  for (uint32_t i = 0; i < kSide; ++i) raw[i] = FloatToHalf(values[i], overflow);
  std::memcpy(c, raw, sizeof(raw));
}

void MmadHalf(const MmadShape& shape, uint8_t* c, const uint8_t* a, const uint8_t* b, Overflow overflow) {
  const std::vector<uint32_t> order = AccumulationOrder(shape);
  static thread_local std::vector<float> a_values, b_values;
  a_values.resize(size_t{shape.m} * shape.k);
  b_values.resize(size_t{CeilDiv(shape.k, kSide)} * kFractalElems);
  UnpackA(shape, order, a, a_values.data());
  const uint32_t m_fractals = CeilDiv(shape.m, kSide);
  const uint32_t row_bytes = kSide * SizeOf(shape.c);
  for (uint32_t n1 = 0; n1 * kSide < shape.n; ++n1) {
    UnpackB(shape, order, b, n1, b_values.data());
    const uint32_t columns = std::min<uint32_t>(kSide, shape.n - n1 * kSide);
    uint8_t* c_strip = c + size_t{n1} * m_fractals * kSide * row_bytes;
    constexpr uint32_t kTile = 8;
    for (uint32_t m = 0; m < shape.m; m += kTile) {
      const uint32_t rows = std::min<uint32_t>(kTile, shape.m - m);
      Row acc[kTile] = {};
      if (!shape.init) {
        for (uint32_t r = 0; r < rows; ++r) LoadRow(c_strip + size_t{m + r} * row_bytes, shape.c, &acc[r]);
      }
      const float* a_rows = a_values.data() + size_t{m} * shape.k;
      if (rows == kTile) {
        MultiplyRows<kTile>(shape.k, a_rows, shape.k, b_values.data(), acc);
      } else {
        for (uint32_t r = 0; r < rows; ++r) {
          MultiplyRows<1>(shape.k, a_rows + size_t{r} * shape.k, shape.k, b_values.data(), &acc[r]);
        }
      }
      for (uint32_t r = 0; r < rows; ++r) {
        StoreRow(acc[r], shape.c, columns, overflow, c_strip + size_t{m + r} * row_bytes);
      }
    }
    const Row unspecified = {};
    for (uint32_t m = shape.m; shape.m > 1 && m < m_fractals * kSide; ++m) {
      StoreRow(unspecified, shape.c, 0, overflow, c_strip + size_t{m} * row_bytes);
    }
  }
}

// 8-bit operands: fractals of 16 rows by 32 columns of k.
void MmadInt8(const MmadShape& shape, uint8_t* c, const uint8_t* a, const uint8_t* b) {
  constexpr uint32_t kDepth = 32;
  const uint32_t m_fractals = CeilDiv(shape.m, kSide);
  const uint32_t n_fractals = CeilDiv(shape.n, kSide);
  const uint32_t k_fractals = CeilDiv(shape.k, kDepth);
  const auto value = [](uint8_t raw, DType type) {
    return type == DType::kInt8 ? static_cast<int32_t>(static_cast<int8_t>(raw)) : static_cast<int32_t>(raw);
  };
  for (uint32_t m = 0; m < shape.m; ++m) {
    for (uint32_t n = 0; n < shape.n; ++n) {
      uint8_t* at =
          c + ((size_t{n / kSide} * m_fractals + m / kSide) * kFractalElems + (m % kSide) * kSide + n % kSide) * 4;
      uint32_t sum = 0;  // wraps like the accumulator
      if (!shape.init) std::memcpy(&sum, at, 4);
      for (uint32_t k = 0; k < shape.k; ++k) {
        const size_t a_at = shape.m == 1 ? k
                                         : (size_t{m / kSide} * k_fractals + k / kDepth) * kFractalBytes +
                                               (m % kSide) * kDepth + k % kDepth;
        const size_t b_at =
            (size_t{k / kDepth} * n_fractals + n / kSide) * kFractalBytes + (n % kSide) * kDepth + k % kDepth;
        sum += static_cast<uint32_t>(value(a[a_at], shape.a) * value(b[b_at], shape.b));
      }
      std::memcpy(at, &sum, 4);
    }
  }
  const uint32_t unspecified = 0x7fffffffu;
  for (uint32_t m = 0; shape.m > 1 && m < m_fractals * kSide; ++m) {
    for (uint32_t n = m < shape.m ? shape.n : 0; n < n_fractals * kSide; ++n) {
      std::memcpy(
          c + ((size_t{n / kSide} * m_fractals + m / kSide) * kFractalElems + (m % kSide) * kSide + n % kSide) * 4,
          &unspecified, 4);
    }
  }
}

}  // namespace

void LoadFractals(uint32_t count, int64_t src_pitch, int64_t dst_pitch, bool transpose, uint8_t* dst,
                  const uint8_t* src) {
  for (uint32_t i = 0; i < count; ++i) {
    const uint8_t* from = src + static_cast<int64_t>(i) * src_pitch;
    uint8_t* to = dst + static_cast<int64_t>(i) * dst_pitch;
    if (transpose) {
      TransposeFractal(from, to);
    } else {
      std::memcpy(to, from, kFractalBytes);
    }
  }
}

uint32_t Img2ColRows(const Img2Col& s) {
  const int eff_w = s.dilation_w * (s.filter_w - 1) + 1;
  const int eff_h = s.dilation_h * (s.filter_h - 1) + 1;
  const int out_w = (s.width + s.pad_left + s.pad_right - eff_w) / s.stride_w + 1;
  const int out_h = (s.height + s.pad_top + s.pad_bottom - eff_h) / s.stride_h + 1;
  return out_w > 0 && out_h > 0 ? static_cast<uint32_t>(out_w * out_h) : 0;
}

void LoadImg2Col(const Img2Col& s, uint8_t* dst, const uint8_t* src) {
  const uint32_t c0 = kBlockBytes / s.element_bytes;
  const uint32_t m_fractals = CeilDiv(s.m_extent, kSide);
  const uint32_t k_fractals = CeilDiv(s.k_extent, c0);
  const int out_w = (s.width + s.pad_left + s.pad_right - (s.dilation_w * (s.filter_w - 1) + 1)) / s.stride_w + 1;
  const uint32_t taps = uint32_t{s.filter_w} * s.filter_h;
  uint8_t padding[kBlockBytes];
  for (uint32_t i = 0; i < kBlockBytes; i += s.element_bytes) std::memcpy(padding + i, &s.pad_bits, s.element_bytes);
  for (uint32_t m1 = 0; m1 < m_fractals; ++m1) {
    for (uint32_t k1 = 0; k1 < k_fractals; ++k1) {
      const uint32_t column = s.k_start / c0 + k1;  // (c1, kh, kw)
      const uint32_t tap = column % taps;
      uint8_t fractal[kFractalBytes];
      for (uint32_t row = 0; row < kSide; ++row) {
        const uint32_t position = s.m_start + m1 * kSide + row;
        const int y = static_cast<int>(position) / out_w * s.stride_h - s.pad_top +
                      static_cast<int>(tap / s.filter_w) * s.dilation_h;
        const int x = static_cast<int>(position) % out_w * s.stride_w - s.pad_left +
                      static_cast<int>(tap % s.filter_w) * s.dilation_w;
        const bool inside = y >= 0 && x >= 0 && y < s.height && x < s.width;
        const uint8_t* from = inside ? src + ((size_t{column / taps} * s.height + static_cast<uint32_t>(y)) * s.width +
                                              static_cast<uint32_t>(x)) *
                                                 kBlockBytes
                                     : padding;
        std::memcpy(fractal + row * kBlockBytes, from, kBlockBytes);
      }
      const size_t index = s.transpose ? size_t{k1} * m_fractals + m1 : size_t{m1} * k_fractals + k1;
      if (s.to_l0b || s.transpose) {
        TransposeFractal(fractal, dst + index * kFractalBytes);
      } else {
        std::memcpy(dst + index * kFractalBytes, fractal, kFractalBytes);
      }
    }
  }
}

std::vector<uint64_t> RowsOf(const Img2ColFractals& walk) {
  const Img2Col& map = walk.map;
  std::vector<uint64_t> rows;
  uint32_t c1 = walk.c1;
  uint32_t tap_w = walk.tap_w;
  uint32_t tap_h = walk.tap_h;
  int left = walk.left;
  int top = walk.top;
  const int last_left = map.width + map.pad_right - (map.dilation_w * (map.filter_w - 1) + 1);
  for (uint32_t repeat = 0; repeat < walk.repeats; ++repeat) {
    int x0 = left;
    int y0 = top;
    for (uint32_t window = 0; window < kSide; ++window) {
      const int x = x0 + static_cast<int>(tap_w) * map.dilation_w;
      const int y = y0 + static_cast<int>(tap_h) * map.dilation_h;
      const bool inside = x >= 0 && y >= 0 && x < map.width && y < map.height;
      const uint64_t pixel =
          inside ? (uint64_t{c1} * map.height + static_cast<uint64_t>(y)) * map.width + static_cast<uint64_t>(x) : 0;
      rows.push_back(inside ? pixel * kBlockBytes : kPaddingRow);
      x0 += map.stride_w;
      if (x0 > last_left) {
        x0 = -static_cast<int>(map.pad_left);
        y0 += map.stride_h;
      }
    }
    if (walk.along_windows) {
      left = x0;
      top = y0;
    } else if (++tap_w == map.filter_w) {
      tap_w = 0;
      if (++tap_h == map.filter_h) {
        tap_h = 0;
        ++c1;
      }
    }
  }
  return rows;
}

void LoadImg2ColFractals(const Img2ColFractals& walk, const std::vector<uint64_t>& rows, uint8_t* dst,
                         const uint8_t* src) {
  const Img2Col& map = walk.map;
  uint8_t padding[kBlockBytes];
  for (uint32_t i = 0; i < kBlockBytes; i += map.element_bytes) {
    std::memcpy(padding + i, &map.pad_bits, map.element_bytes);
  }
  for (uint32_t repeat = 0; repeat < walk.repeats; ++repeat) {
    uint8_t fractal[kFractalBytes];
    for (uint32_t row = 0; row < kSide; ++row) {
      const uint64_t at = rows[size_t{repeat} * kSide + row];
      std::memcpy(fractal + row * kBlockBytes, at == kPaddingRow ? padding : src + at, kBlockBytes);
    }
    uint8_t* to = dst + uint64_t{repeat} * walk.dst_stride * kFractalBytes;
    if (map.to_l0b) {
      TransposeFractal(fractal, to);
    } else {
      std::memcpy(to, fractal, kFractalBytes);
    }
  }
}

void Mmad(const MmadShape& shape, uint8_t* c, const uint8_t* a, const uint8_t* b, Overflow overflow) {
  if (shape.m == 0 || shape.n == 0 || shape.k == 0) return;
  if (shape.a == DType::kHalf) {
    MmadHalf(shape, c, a, b, overflow);
  } else {
    MmadInt8(shape, c, a, b);
  }
}

}  // namespace npu_model::isa
