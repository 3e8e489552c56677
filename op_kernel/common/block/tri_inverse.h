// SPDX-License-Identifier: Apache-2.0
// (I - A)^-1 of strictly lower triangular 16 x 16 blocks in fp32 on the Vector unit, one matrix per lane.
#ifndef CHUNK_GDR_COMMON_BLOCK_TRI_INVERSE_H_
#define CHUNK_GDR_COMMON_BLOCK_TRI_INVERSE_H_

#include "../tile/nz.h"

namespace chunk_gdr {

// a, x: [16][16][8], element (i, j) of eight matrices in one block. Row i of X is e_i + sum_{j < i} A_ij X_j: step j adds column j of A times
// row j of X to all rows below, one instruction per half row. Only the strictly lower part of `a` is read.
__aicore__ inline void InvertLanes(const LocalTensor<float>& x, const LocalTensor<float>& a) {
  constexpr uint32_t kN = kFractal;
  constexpr uint32_t kRow = kN * kFloatsPerBlock;  // elements of one row of all matrices
  constexpr uint32_t kHalfRow = kRow / 2;
  constexpr uint8_t kRowBlocks = kN;
  AscendC::Duplicate(x, 0.0f, kN * kRow);
  VectorDone();
  AscendC::Duplicate(x, 1.0f, static_cast<uint64_t>(kFloatsPerBlock), kN, 1, kRowBlocks + 1);
  VectorDone();
  for (uint32_t j = 0; j + 1 < kN; ++j) {
    const uint32_t below = j + 1;
    for (uint32_t side = 0; side <= j / (kN / 2); ++side) {  // columns after j are still zero
      AscendC::MulAddDst(x[below * kRow + side * kHalfRow], a[below * kRow + j * kFloatsPerBlock], x[j * kRow + side * kHalfRow],
                         static_cast<uint64_t>(kRepeatFloats), static_cast<uint8_t>(kN - below), {1, 0, 1, kRowBlocks, kRowBlocks, 0});
    }
    VectorDone();
  }
}

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_COMMON_BLOCK_TRI_INVERSE_H_
