// SPDX-License-Identifier: Apache-2.0
// Tiles that depend on nothing but the chunk length; built once per core (constant tables cannot be materialised on this chip).
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_CONSTANTS_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_CONSTANTS_H_

#include "../common/tile/nz.h"
#include "buffers.h"

namespace chunk_gdr {

// A gate is the sum of two fp16 pieces, 22 bits, of which the second is stored times 2^11: small gates would otherwise leave it subnormal.
// The 0/1 side of the product carries the inverse, given as fp16 bits: 1 and 2^-11.
constexpr float kSecondPieceScale = 2048.0f;
constexpr __aicore__ uint16_t PieceWeightBits(uint32_t piece) { return piece == 0 ? 0x3C00 : 0x1000; }

template <typename T>
__aicore__ inline void FillLanes(const LocalTensor<T>& row, T value, uint64_t lanes) {
  uint64_t mask[2] = {lanes, 0};
  AscendC::Duplicate(row, value, mask, 1, 1, 8);
}

// value times the identity [16, 16].
__aicore__ inline void BuildIdentity(const LocalTensor<half>& identity, half value) {
  AscendC::Duplicate(identity, static_cast<half>(0.0f), kFractalElems);
  VectorDone();
  for (uint32_t i = 0; i < kFractal; ++i) {
    FillLanes(identity[i * kFractal], value, 1ull << i);
  }
}

// mask[j, l] = 1 for l > j, [16, 16].
__aicore__ inline void BuildGateMask(const LocalTensor<half>& mask) {
  AscendC::Duplicate(mask, static_cast<half>(0.0f), kFractalElems);
  VectorDone();
  for (uint32_t j = 0; j + 1 < kFractal; ++j) {
    FillLanes(mask[j * kFractal], static_cast<half>(1.0f), 0xFFFFull & ~((2ull << j) - 1));
  }
}

// ones[i, l] = the weight of a piece for l <= i, as the bits of an fp16 NZ [BT + 16, BT]; the last 16 rows sum every token.
__aicore__ inline void BuildUpToOnes(const LocalTensor<uint16_t>& ones, uint32_t piece) {
  const uint16_t weight = PieceWeightBits(piece);
  AscendC::Duplicate(ones, static_cast<uint16_t>(0), kSegSide * kChunk);
  VectorDone();
  for (uint32_t first = 0; first < kChunk; first += kFractal) {  // token of the strip's first column
    const LocalTensor<uint16_t> columns = ones[first * kSegSide];
    for (uint32_t i = 0; i + 1 < kFractal; ++i) {
      FillLanes(columns[(first + i) * kFractal], weight, (2ull << i) - 1);
    }
    const uint32_t full = first + kFractal - 1;  // first row that sees all 16 tokens
    AscendC::Duplicate(columns[full * kFractal], weight, (kSegSide - full) * kFractal);
  }
}

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_CONSTANTS_H_
