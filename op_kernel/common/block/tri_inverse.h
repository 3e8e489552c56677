// SPDX-License-Identifier: Apache-2.0
// (I - A)^-1 of strictly lower triangular 16 x 16 blocks in fp32 on the Vector unit, four matrices side by side.
#ifndef CHUNK_GDR_COMMON_BLOCK_TRI_INVERSE_H_
#define CHUNK_GDR_COMMON_BLOCK_TRI_INVERSE_H_

#include "../tile/nz.h"

namespace chunk_gdr {

// Row i of X is e_i + sum_{j < i} A_ij X_j: X starts as the identity, and column by column j of A, times row j of X, is added to all rows
// below. a: [16][16][2][4] of ToLanes, of which the strictly lower part is read, and the diagonal by DiagonalExtremes; x: [16][8][2][4] of FromLanes, a row of all four one
// repeat. The Vector queue must be done between the calls.
constexpr uint8_t kRowOfX = 8;  // blocks
constexpr uint8_t kRowOfA = 16;

__aicore__ inline void ClearLanes(const LocalTensor<float>& x) { AscendC::Duplicate(x, 0.0f, kFractal * kRepeatFloats); }

// Column i of row i is in the first half of block i for i < 8, in the second half of block i - 8 for the others.
__aicore__ inline void SetIdentityLanes(const LocalTensor<float>& x) {
  constexpr uint32_t kHalfRows = kFractal / 2;
  constexpr uint8_t kStep = kRowOfX + 1;  // a row down, a block on
  uint64_t first[2] = {0x0F, 0};
  uint64_t second[2] = {0xF0, 0};
  AscendC::Duplicate(x, 1.0f, first, kHalfRows, 1, kStep);
  AscendC::Duplicate(x[kHalfRows * kRepeatFloats], 1.0f, second, kHalfRows, 1, kStep);
}

// a's row i times factor i of [16][2][4], as far as it is read: on and below the diagonal.
__aicore__ inline void ScaleLanesRows(const LocalTensor<float>& a, const LocalTensor<float>& factors) {
  constexpr uint32_t kHalfRows = kFractal / 2;
  for (uint32_t first = 0; first < kFractal; first += kHalfRows) {  // of the columns, and of the rows that reach below them
    const LocalTensor<float> x = a[(first * kFractal + first) * kFloatsPerBlock];
    AscendC::Mul(x, x, factors[first * kFloatsPerBlock], static_cast<uint64_t>(kRepeatFloats), static_cast<uint8_t>(kFractal - first),
                 {1, 1, 0, kRowOfA, kRowOfA, 1});
  }
}

// The smallest element of the four diagonals of a, of either half of the rows, in one block, the largest in the next; each with an index
// behind it.
constexpr uint32_t kDiagonalExtremes = 2 * kFloatsPerBlock;

__aicore__ inline void DiagonalExtremes(const LocalTensor<float>& extremes, const LocalTensor<float>& a) {
  constexpr int32_t kStep = kRowOfA + 1;  // a row down, a block on
  constexpr int32_t kHalfRows = kFractal / 2;
  AscendC::WholeReduceMin<float>(extremes, a, static_cast<int32_t>(kRepeatFloats), 2, 1, kStep, kHalfRows * kStep);
  AscendC::WholeReduceMax<float>(extremes[kFloatsPerBlock], a, static_cast<int32_t>(kRepeatFloats), 2, 1, kStep, kHalfRows * kStep);
}

// dst = x with column j times its factor in every other block of `factors`.
__aicore__ inline void ScaleLanesColumns(const LocalTensor<float>& dst, const LocalTensor<float>& x, const LocalTensor<float>& factors) {
  AscendC::Mul(dst, x, factors, static_cast<uint64_t>(kRepeatFloats), kFractal, {1, 1, 2, kRowOfX, kRowOfX, 0});
}

// j < 15.
__aicore__ inline void InvertLanesColumn(const LocalTensor<float>& x, const LocalTensor<float>& a, uint32_t j) {
  const uint32_t below = j + 1;
  AscendC::MulAddDst(x[below * kRepeatFloats], a[(below * kFractal + j) * kFloatsPerBlock], x[j * kRepeatFloats],
                     static_cast<uint64_t>(kRepeatFloats), static_cast<uint8_t>(kFractal - below), {1, 0, 1, kRowOfX, kRowOfA, 0});
}

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_COMMON_BLOCK_TRI_INVERSE_H_
