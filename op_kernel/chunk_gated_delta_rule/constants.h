// SPDX-License-Identifier: Apache-2.0
// Tiles that depend on nothing but the chunk length; built once per core (constant tables cannot be materialised on this chip).
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_CONSTANTS_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_CONSTANTS_H_

#include "../common/tile/nz.h"
#include "buffers.h"

namespace chunk_gdr {

// Far below any exponent, so that exp gives 0 whatever is added.
constexpr float kMasked = -1.0e30f;

// A gate is the sum of three fp16 pieces, of which the second is stored times 2^11 and the third times 2^14: small gates would otherwise
// leave them subnormal. The 0/1 side of the product carries the inverse, given as fp16 bits: 1, 2^-11, 2^-14, all normal.
constexpr float kSecondPieceScale = 2048.0f;
constexpr float kThirdPieceScale = 8.0f;  // relative to the second
constexpr __aicore__ uint16_t PieceWeightBits(uint32_t piece) { return piece == 0 ? 0x3C00 : piece == 1 ? 0x1000 : 0x0400; }

template <typename T>
__aicore__ inline void FillLanes(const LocalTensor<T>& row, T value, uint64_t lanes) {
  uint64_t mask[2] = {lanes, 0};
  AscendC::Duplicate(row, value, mask, 1, 1, 8);
}

// bias[i, j] = 0 for j <= i, kMasked above the diagonal.
__aicore__ inline void BuildCausalBias(const LocalTensor<float>& bias) {
  AscendC::Duplicate(bias, 0.0f, kFractalElems);
  VectorDone();
  for (uint32_t i = 0; i + 1 < kFractal; ++i) {
    FillLanes(bias[i * kFractal], kMasked, 0xFFFFull & ~((2ull << i) - 1));
  }
}

// mask[j, l] = 1 for l > j; the 16 rows after the chunk's are all ones.
__aicore__ inline void BuildGateMask(const LocalTensor<half>& mask) {
  AscendC::Duplicate(mask, static_cast<half>(0.0f), kChunk * kChunk);
  AscendC::Duplicate(mask[kChunk * kChunk], static_cast<half>(1.0f), kFractal * kChunk);
  VectorDone();
  for (uint32_t j = 0; j + 1 < kChunk; ++j) {
    FillLanes(mask[j * kChunk], static_cast<half>(1.0f), ~((2ull << j) - 1));
  }
}

// T[i, (p, l)] = weight_p for l <= i, as the bits of an fp16 NZ [BT+16, 3 BT]; the 16 rows after the chunk's sum every token.
__aicore__ inline void BuildSegmentOnes(const LocalTensor<uint16_t>& t) {
  AscendC::Duplicate(t, static_cast<uint16_t>(0), kSegRows * kSegInner);
  VectorDone();
  for (uint32_t piece = 0; piece < kGatePieces; ++piece) {
    const uint16_t weight = PieceWeightBits(piece);
    for (uint32_t first = 0; first < kChunk; first += kFractal) {  // token of the strip's first column
      const LocalTensor<uint16_t> columns = t[(piece * kChunk + first) * kSegRows];
      for (uint32_t i = 0; i + 1 < kFractal; ++i) {
        FillLanes(columns[(first + i) * kFractal], weight, (2ull << i) - 1);
      }
      const uint32_t full = first + kFractal - 1;  // first row that sees all 16 tokens
      AscendC::Duplicate(columns[full * kFractal], weight, (kSegRows - full) * kFractal);
    }
  }
}

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_CONSTANTS_H_
