// SPDX-License-Identifier: Apache-2.0
// The lower triangle of a [BT, BT] NZ tile as a packed list of its 16 x 16 blocks: those on the diagonal, then the others strip by strip.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_LOWER_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_LOWER_H_

#include "../common/block/matmul.h"
#include "../common/tile/nz.h"
#include "buffers.h"

namespace chunk_gdr {

constexpr uint32_t kLowerElems = kLowerBlocks * kFractalElems;
constexpr uint32_t kDiagonalElems = kBlocksPerSide * kFractalElems;
constexpr uint32_t kOffElems = kOffBlocks * kFractalElems;

// Blocks of a strip below the diagonal, and the place of the first of them among all that lie below.
constexpr __aicore__ uint32_t BelowDiagonal(uint32_t strip) { return kBlocksPerSide - 1 - strip; }
constexpr __aicore__ uint32_t FirstBelow(uint32_t strip) { return strip * (2 * kBlocksPerSide - 1 - strip) / 2; }

// From a product in L0C with `pitch` fractals to a strip, its square at fractal row `row`.
__aicore__ inline void CopyLower(const LocalTensor<float>& list, const LocalTensor<float>& l0c, uint32_t pitch, uint32_t row) {
  CopyResult(list, l0c[row * kFractalElems], kBlocksPerSide, 1, pitch, 0);
  for (uint32_t s = 0; s + 1 < kBlocksPerSide; ++s) {
    const uint32_t below = kDiagonalElems + FirstBelow(s) * kFractalElems;
    CopyResult(list[below], l0c[(s * pitch + row + s + 1) * kFractalElems], 1, BelowDiagonal(s), 0, 0);
  }
}

// dst = list with row i times factor[i], a [BT, 16] tile; the diagonal blocks `pitch` elements apart in dst, those below from `below` on.
__aicore__ inline void ScaleLowerRows(const LocalTensor<float>& dst, uint32_t pitch, const LocalTensor<float>& below,
                                      const LocalTensor<float>& list, const LocalTensor<float>& factor) {
  if (pitch == kFractalElems) {
    ScaleRows(dst, list, factor, kChunk, 1);
  } else {
    for (uint32_t s = 0; s < kBlocksPerSide; ++s) {
      ScaleRows(dst[s * pitch], list[s * kFractalElems], factor[s * kFractalElems], kFractal, 1);
    }
  }
  for (uint32_t s = 0; s + 1 < kBlocksPerSide; ++s) {
    const uint32_t at = FirstBelow(s) * kFractalElems;
    ScaleRows(below[at], list[kDiagonalElems + at], factor[(s + 1) * kFractalElems], BelowDiagonal(s) * kFractal, 1);
  }
}

// A list whose diagonal blocks lie apart, so that a transposition that reaches for all of them meets different bank groups; the gaps are
// zero.
constexpr uint32_t kSpreadPitch = kFractalElems + 2 * kFractal;
constexpr uint32_t kSpreadDiagonalElems = kBlocksPerSide * kSpreadPitch;
constexpr uint32_t kSpreadElems = kSpreadDiagonalElems + kOffElems;

__aicore__ inline void ClearGaps(const LocalTensor<float>& spread) {
  AscendC::Duplicate(spread[kFractalElems], 0.0f, static_cast<uint64_t>(kSpreadPitch - kFractalElems), kBlocksPerSide, 1,
                     kSpreadPitch / kFloatsPerBlock);
}

// dst = spread list with column j times factor[j]; `factors` holds the 16 of a strip four times over, strip by strip.
__aicore__ inline void ScaleSpreadColumns(const LocalTensor<float>& dst, const LocalTensor<float>& list,
                                          const LocalTensor<float>& factors) {
  constexpr uint8_t kBlockRepeats = kFractal / kRowsPerRepeat;
  ClearGaps(dst);
  for (uint32_t s = 0; s < kBlocksPerSide; ++s) {
    const LocalTensor<float> factor = factors[s * kRepeatFloats];
    const uint32_t diagonal = s * kSpreadPitch;
    AscendC::Mul(dst[diagonal], list[diagonal], factor, static_cast<uint64_t>(kRepeatFloats), kBlockRepeats, {1, 1, 1, 8, 8, 0});
    if (BelowDiagonal(s) != 0) {
      const uint32_t below = kSpreadDiagonalElems + FirstBelow(s) * kFractalElems;
      AscendC::Mul(dst[below], list[below], factor, static_cast<uint64_t>(kRepeatFloats),
                   static_cast<uint8_t>(BelowDiagonal(s) * kBlockRepeats), {1, 1, 1, 8, 8, 0});
    }
  }
}

// A hi and a lo list to two full NZ tiles in L1, one behind the other. `halves` holds the lists likewise, `list` elements each.
constexpr uint32_t kTileElems = kChunk * kChunk;

__aicore__ inline void DiagonalsToL1(const LocalTensor<half>& l1, const LocalTensor<half>& halves, uint32_t list, uint32_t pitch) {
  for (uint32_t h = 0; h < 2; ++h) {
    AscendC::DataCopy(l1[h * kTileElems], halves[h * list],
                      AscendC::DataCopyParams(kBlocksPerSide, kFractal, static_cast<uint16_t>((pitch - kFractalElems) / kHalvesPerBlock),
                                              kBlocksPerSide * kFractal));
  }
}

// `halves` starts at the first block below the diagonal.
__aicore__ inline void OffDiagonalsToL1(const LocalTensor<half>& l1, const LocalTensor<half>& halves, uint32_t list) {
  for (uint32_t s = 0; s + 1 < kBlocksPerSide; ++s) {
    const uint32_t elems = BelowDiagonal(s) * kFractalElems;
    AscendC::DataCopy(l1[(s * kBlocksPerSide + s + 1) * kFractalElems], halves[FirstBelow(s) * kFractalElems],
                      AscendC::DataCopyParams(2, static_cast<uint16_t>(elems / kHalvesPerBlock),
                                              static_cast<uint16_t>((list - elems) / kHalvesPerBlock),
                                              static_cast<uint16_t>((kTileElems - elems) / kHalvesPerBlock)));
  }
}

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_LOWER_H_
