// SPDX-License-Identifier: Apache-2.0
// Tiles that depend on nothing but the chunk length; built once per core (constant tables cannot be materialised on this chip).
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_CONSTANTS_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_CONSTANTS_H_

#include "../common/tile/nz.h"
#include "buffers.h"

namespace chunk_gdr {

// Far below any exponent, so that exp gives 0 whatever is added.
constexpr float kMasked = -1.0e30f;

// Gate pieces 2 and 3 are stored times 2^11 and 2^22; the 0/1 side of the product carries the inverse (both exact in fp16).
constexpr float kPieceScale = 2048.0f;

template <typename T>
__aicore__ inline void FillLanes(const LocalTensor<T>& row, float value, uint64_t lanes) {
  uint64_t mask[2] = {lanes, 0};
  AscendC::Duplicate(row, static_cast<T>(value), mask, 1, 1, 8);
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
    FillLanes(mask[j * kChunk], 1.0f, ~((2ull << j) - 1));
  }
}

// T[i, (p, l)] = weight_p for l <= i, as NZ [BT+16, 3 BT]; the 16 rows after the chunk's sum every token.
__aicore__ inline void BuildSegmentOnes(const LocalTensor<half>& t) {
  AscendC::Duplicate(t, static_cast<half>(0.0f), kSegRows * kSegInner);
  VectorDone();
  float weight = 1.0f;
  for (uint32_t piece = 0; piece < kGatePieces; ++piece) {
    for (uint32_t first = 0; first < kChunk; first += kFractal) {  // token of the strip's first column
      const LocalTensor<half> columns = t[(piece * kChunk + first) * kSegRows];
      for (uint32_t i = 0; i + 1 < kFractal; ++i) {
        FillLanes(columns[(first + i) * kFractal], weight, (2ull << i) - 1);
      }
      const uint32_t full = first + kFractal - 1;  // first row that sees all 16 tokens
      AscendC::Duplicate(columns[full * kFractal], static_cast<half>(weight), (kSegRows - full) * kFractal);
    }
    weight /= kPieceScale;
  }
}

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_CONSTANTS_H_
