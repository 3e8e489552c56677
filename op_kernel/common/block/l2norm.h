// SPDX-License-Identifier: Apache-2.0
// Row norms as an exact power of two inside the fp16 operand and a mantissa factor outside the products.
#ifndef CHUNK_GDR_COMMON_BLOCK_L2NORM_H_
#define CHUNK_GDR_COMMON_BLOCK_L2NORM_H_

#include "../tile/nz.h"

namespace chunk_gdr {

constexpr float kL2NormEps = 1.0e-6f;
constexpr float kSmallestSquare = 1.0e-15f;  // below the square of the smallest fp16, 3.6e-15
constexpr uint32_t kExponentBits = 0x7F800000u;  // of an fp32

struct L2NormScratch {
  LocalTensor<float> tile;     // [rows, 16 strips] in NZ
  LocalTensor<float> sum;      // [rows, 16]
  LocalTensor<float> vectors;  // four of [rows]
};

// What the power of two follows where eps outweighs the row: kOwnNorm brings every row's norm into (1, 2]; kScaled only its share of the
// factor, so that m stays in [1/2, 1) and with it what m is multiplied into.
enum class PowerOf { kOwnNorm, kScaled };

// 1 / sqrt(sum x^2 + eps) = p m with p a power of two. Writes x p to `scaled` in NZ (exact, norm at most 2; it may take the place of x) and
// m to `factor`, a vector. 64 rows of x, `pitch_blocks` apart.
__aicore__ inline void L2NormRows(const LocalTensor<half>& scaled, const LocalTensor<float>& factor, const LocalTensor<half>& x,
                                  uint32_t strips, uint32_t pitch_blocks, PowerOf power_of,
                                  const L2NormScratch& scratch) {
  constexpr uint32_t kRows = kRepeatFloats;
  constexpr uint32_t kRowBlocks = kRows / kFloatsPerBlock;
  constexpr uint32_t kTile = kRows * kFractal;
  const LocalTensor<float> reciprocal = scratch.vectors;
  const LocalTensor<float> power = scratch.vectors[kRows];
  const LocalTensor<float> one = scratch.vectors[2 * kRows];
  const LocalTensor<uint32_t> exponent_mask = scratch.vectors[3 * kRows].ReinterpretCast<uint32_t>();

  RowsToNz(scratch.tile, x, kRows, strips, pitch_blocks);
  AscendC::Duplicate(one, 1.0f, kRows);
  AscendC::Duplicate(exponent_mask, kExponentBits, kRows);
  AscendC::Duplicate(scratch.sum, 0.0f, kTile);
  VectorDone();
  for (uint32_t s = 0; s < strips; ++s) {
    const LocalTensor<float> strip = scratch.tile[s * kTile];
    AscendC::MulAddDst(scratch.sum, strip, strip, kTile);
    VectorDone();
  }
  AscendC::WholeReduceSum<float>(reciprocal, scratch.sum, kFractal, kRows, 1, 1, kFractal / kFloatsPerBlock);
  VectorDone();
  if (power_of == PowerOf::kOwnNorm) {
    AscendC::Maxs(power, reciprocal, kSmallestSquare, kRows);
    VectorDone();
    AscendC::Adds(reciprocal, reciprocal, kL2NormEps, kRows);
  } else {
    AscendC::Adds(reciprocal, reciprocal, kL2NormEps, kRows);
    VectorDone();
    AscendC::Adds(power, reciprocal, 0.0f, kRows);
  }
  VectorDone();
  AscendC::Sqrt(power, power, kRows);
  AscendC::Sqrt(reciprocal, reciprocal, kRows);
  VectorDone();
  AscendC::Div(power, one, power, kRows);
  AscendC::Div(reciprocal, one, reciprocal, kRows);
  VectorDone();
  AscendC::And(power.ReinterpretCast<uint16_t>(), power.ReinterpretCast<uint16_t>(), exponent_mask.ReinterpretCast<uint16_t>(),
               kRows * 2);
  VectorDone();
  AscendC::Muls(power, power, 2.0f, kRows);
  VectorDone();
  AscendC::Div(factor, reciprocal, power, kRows);
  BroadcastRows(scratch.sum, power, kRowBlocks);
  VectorDone();
  ScaleRows(scratch.tile, scratch.tile, scratch.sum, kRows, strips);
  VectorDone();
  AscendC::Cast(scaled, scratch.tile, AscendC::RoundMode::CAST_NONE, strips * kTile);
}

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_COMMON_BLOCK_L2NORM_H_
