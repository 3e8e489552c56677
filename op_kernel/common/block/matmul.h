// SPDX-License-Identifier: Apache-2.0
// Cube products from NZ tiles in L1: operand loads in fractals, hi/lo terms laid side by side in the inner dimension.
#ifndef CHUNK_GDR_COMMON_BLOCK_MATMUL_H_
#define CHUNK_GDR_COMMON_BLOCK_MATMUL_H_

#include "../arch.h"
#include "kernel_operator.h"

namespace chunk_gdr {

using AscendC::LocalTensor;

// A rectangle of fractals inside an NZ tile in L1.
struct NzBlock {
  const LocalTensor<half>& tile;
  uint32_t pitch;  // fractals from one column strip to the next
  uint32_t row;    // first fractal row
  uint32_t col;    // first fractal column
};

__aicore__ inline void LoadFractals(const LocalTensor<half>& dst, uint32_t dst_fractal, const NzBlock& src, uint32_t row, uint32_t col,
                                    uint32_t count, uint32_t stride, bool transpose) {
  const uint32_t fractal = (src.col + col) * src.pitch + src.row + row;
  AscendC::LoadData(dst[dst_fractal * kFractalElems], src.tile[fractal * kFractalElems],
                    AscendC::LoadData2DParams(0, static_cast<uint8_t>(count), static_cast<uint16_t>(stride), 0, 0, transpose, 0));
}

// All sizes in fractals. Each puts one operand piece at inner offset `k_at` of an operand that is `k_all` long.

// A[m, k] from a tile that holds A.
__aicore__ inline void LoadA(const LocalTensor<half>& l0a, uint32_t k_at, uint32_t k_all, const NzBlock& a, uint32_t m, uint32_t k) {
  for (uint32_t i = 0; i < m; ++i) {
    LoadFractals(l0a, i * k_all + k_at, a, i, 0, k, a.pitch, false);
  }
}

// B[k, n] from a tile that holds B.
__aicore__ inline void LoadB(const LocalTensor<half>& l0b, uint32_t k_at, const NzBlock& b, uint32_t k, uint32_t n) {
  for (uint32_t i = 0; i < k; ++i) {
    LoadFractals(l0b, (k_at + i) * n, b, i, 0, n, b.pitch, true);
  }
}

// B[k, n] from a tile that holds B^T.
__aicore__ inline void LoadBTransposed(const LocalTensor<half>& l0b, uint32_t k_at, const NzBlock& bt, uint32_t k, uint32_t n) {
  for (uint32_t i = 0; i < k; ++i) {
    LoadFractals(l0b, (k_at + i) * n, bt, 0, i, n, 1, false);
  }
}

// B[k, n] from a tile that holds B^T in NZ and nothing else: in L1 its fractals lie in the order of L0B.
__aicore__ inline void LoadBWholeTransposed(const LocalTensor<half>& l0b, const LocalTensor<half>& bt, uint32_t fractals) {
  AscendC::LoadData(l0b, bt, AscendC::LoadData2DParams(0, static_cast<uint8_t>(fractals), 1, 0, 0, false, 0));
}

// A[m, k] from a tile that holds A^T in NZ and nothing else.
__aicore__ inline void LoadAWholeTransposed(const LocalTensor<half>& l0a, const LocalTensor<half>& at, uint32_t fractals) {
  AscendC::LoadData(l0a, at, AscendC::LoadData2DParams(0, static_cast<uint8_t>(fractals), 1, 0, 0, true, 0));
}

// A or B from a tile whose fractals lie row by row.
__aicore__ inline void LoadAWhole(const LocalTensor<half>& l0a, const LocalTensor<half>& a, uint32_t fractals) {
  AscendC::LoadData(l0a, a, AscendC::LoadData2DParams(0, static_cast<uint8_t>(fractals), 1, 0, 0, false, 0));
}

__aicore__ inline void LoadBWhole(const LocalTensor<half>& l0b, const LocalTensor<half>& b, uint32_t fractals) {
  AscendC::LoadData(l0b, b, AscendC::LoadData2DParams(0, static_cast<uint8_t>(fractals), 1, 0, 0, true, 0));
}

// A 3D load of `strips` strips of `rows` rows that lie as in GM, row behind row, nothing else between: the rows are a line of blocks of 16
// channels, and a filter as wide as a row, moved on by a row, gathers one row after the other.
__aicore__ inline AscendC::LoadData3DParamsV2<half> RowsAsLine(uint32_t rows, uint32_t strips) {
  AscendC::LoadData3DParamsV2<half> params;
  params.l1H = 1;
  params.l1W = static_cast<uint16_t>(rows * strips);
  params.channelSize = kFractal;
  params.kExtension = static_cast<uint16_t>(strips * kFractal);
  params.mExtension = static_cast<uint16_t>(rows);
  params.strideW = static_cast<uint8_t>(strips);
  params.strideH = 1;
  params.filterW = static_cast<uint8_t>(strips);
  params.filterH = 1;
  params.dilationFilterW = 1;
  params.dilationFilterH = 1;
  return params;
}

// A[m, k] from rows of A. `m` in elements.
__aicore__ inline void LoadARows(const LocalTensor<half>& l0a, const LocalTensor<half>& rows, uint32_t m, uint32_t k_strips) {
  AscendC::LoadData(l0a, rows, RowsAsLine(m, k_strips));
}

// B[k, n] from `n` strips, from `first` on, of rows of `strips`; into L0B a 3D load transposes by itself. `k` in elements.
__aicore__ inline void LoadBRows(const LocalTensor<half>& l0b, const LocalTensor<half>& rows, uint32_t k, uint32_t strips, uint32_t first,
                                 uint32_t n) {
  AscendC::LoadData3DParamsV2<half> params = RowsAsLine(k, strips);
  params.kStartPt = static_cast<uint16_t>(first * kFractal);
  params.kExtension = static_cast<uint16_t>(n * kFractal);
  AscendC::LoadData(l0b, rows, params);
}

// What a product does with what is in C: replace it, add to what is known to be there, or add to what the product right before it leaves.
enum class Onto { kNothing, kSettled, kLast };

// Sizes in fractals.
__aicore__ inline void Multiply(const LocalTensor<float>& c, const LocalTensor<half>& a, const LocalTensor<half>& b, uint32_t m, uint32_t n,
                                uint32_t k, Onto onto) {
  // The Cube overlaps accumulations into one region unless the tile is large enough to hide its own latency.
  if (onto == Onto::kLast && m * n < kMinParallelMmadTiles) {
    AscendC::PipeBarrier<PIPE_M>();
  }
  AscendC::Mmad(c, a, b,
                AscendC::MmadParams(static_cast<uint16_t>(m * kFractal), static_cast<uint16_t>(n * kFractal),
                                    static_cast<uint16_t>(k * kFractal), 0, false, onto == Onto::kNothing));
}

// c = (a_hi + a_lo) (b_hi + b_lo) without the product of both lo; in L0 lo lies right behind hi. A side may be hi alone.
template <bool kALo, bool kBLo>
__aicore__ inline void MultiplyHiLo(const LocalTensor<float>& c, const LocalTensor<half>& a, const LocalTensor<half>& b, uint32_t m,
                                    uint32_t n, uint32_t k, Onto onto = Onto::kNothing) {
  Multiply(c, a, b, m, n, k, onto);
  if constexpr (kALo) {
    Multiply(c, a[m * k * kFractalElems], b, m, n, k, Onto::kLast);
  }
  if constexpr (kBLo) {
    Multiply(c, a, b[k * n * kFractalElems], m, n, k, Onto::kLast);
  }
}

// Fractals of L0C to UB, rounded to fp16 on the way if `ub` is: `strips` column strips of `rows` fractals, gaps in fractals on the L0C side
// and in blocks on the UB side.
template <typename T>
__aicore__ inline void CopyResult(const LocalTensor<T>& ub, const LocalTensor<float>& l0c, uint32_t strips, uint32_t rows,
                                  uint32_t l0c_gap_fractals, uint32_t ub_gap_blocks) {
  AscendC::DataCopyEnhancedParams matrix;
  matrix.blockMode = AscendC::BlockMode::BLOCK_MODE_MATRIX;
  AscendC::DataCopy(ub, l0c,
                    AscendC::DataCopyParams(static_cast<uint16_t>(strips), static_cast<uint16_t>(rows),
                                            static_cast<uint16_t>(l0c_gap_fractals), static_cast<uint16_t>(ub_gap_blocks)),
                    matrix);
}

// The way back: what the next product accumulates onto.
__aicore__ inline void PreloadResult(const LocalTensor<float>& l0c, const LocalTensor<float>& ub, uint32_t fractals) {
  AscendC::DataCopyEnhancedParams matrix;
  matrix.blockMode = AscendC::BlockMode::BLOCK_MODE_MATRIX;
  AscendC::DataCopy(l0c, ub, AscendC::DataCopyParams(1, static_cast<uint16_t>(fractals), 0, 0), matrix);
}

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_COMMON_BLOCK_MATMUL_H_
