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

// From a product in L0C with `pitch` fractals to a strip, what lies below the diagonal blocks.
template <typename T>
__aicore__ inline void CopyBelow(const LocalTensor<T>& below, const LocalTensor<float>& l0c, uint32_t pitch) {
  for (uint32_t s = 0; s + 1 < kBlocksPerSide; ++s) {
    CopyResult(below[FirstBelow(s) * kFractalElems], l0c[(s * pitch + s + 1) * kFractalElems], 1, BelowDiagonal(s), 0, 0);
  }
}

// The diagonal blocks and what lies below them.
template <typename T>
__aicore__ inline void CopyLower(const LocalTensor<T>& list, const LocalTensor<float>& l0c, uint32_t pitch) {
  CopyResult(list, l0c, kBlocksPerSide, 1, pitch, 0);
  CopyBelow(list[kDiagonalElems], l0c, pitch);
}

// The way back, for what accumulates onto it.
__aicore__ inline void PreloadBelow(const LocalTensor<float>& l0c, const LocalTensor<float>& below, uint32_t pitch) {
  for (uint32_t s = 0; s + 1 < kBlocksPerSide; ++s) {
    PreloadResult(l0c[(s * pitch + s + 1) * kFractalElems], below[FirstBelow(s) * kFractalElems], BelowDiagonal(s));
  }
}

// list with row i times factor[i], a [BT, 16] tile.
__aicore__ inline void ScaleLowerRows(const LocalTensor<float>& list, const LocalTensor<float>& factor) {
  ScaleRows(list, list, factor, kChunk, 1);
  for (uint32_t s = 0; s + 1 < kBlocksPerSide; ++s) {
    const LocalTensor<float> below = list[kDiagonalElems + FirstBelow(s) * kFractalElems];
    ScaleRows(below, below, factor[(s + 1) * kFractalElems], BelowDiagonal(s) * kFractal, 1);
  }
}

// dst = list with column j times factor[j]; `factors` holds the 16 of a strip four times over, strip by strip.
__aicore__ inline void ScaleLowerColumns(const LocalTensor<float>& dst, const LocalTensor<float>& list, const LocalTensor<float>& factors) {
  constexpr uint8_t kBlockRepeats = kFractal / kRowsPerRepeat;
  for (uint32_t s = 0; s < kBlocksPerSide; ++s) {
    const LocalTensor<float> factor = factors[s * kRepeatFloats];
    const uint32_t diagonal = s * kFractalElems;
    AscendC::Mul(dst[diagonal], list[diagonal], factor, static_cast<uint64_t>(kRepeatFloats), kBlockRepeats, {1, 1, 1, 8, 8, 0});
    if (BelowDiagonal(s) != 0) {
      const uint32_t below = kDiagonalElems + FirstBelow(s) * kFractalElems;
      AscendC::Mul(dst[below], list[below], factor, static_cast<uint64_t>(kRepeatFloats),
                   static_cast<uint8_t>(BelowDiagonal(s) * kBlockRepeats), {1, 1, 1, 8, 8, 0});
    }
  }
}

// A list whose diagonal blocks lie apart; the gaps are zero.
constexpr uint32_t kSpreadDiagonalElems = kBlocksPerSide * kSpreadPitch;

__aicore__ inline void ClearGaps(const LocalTensor<float>& spread) {
  AscendC::Duplicate(spread[kFractalElems], 0.0f, static_cast<uint64_t>(kSpreadPitch - kFractalElems), kBlocksPerSide, 1,
                     kSpreadPitch / kFloatsPerBlock);
}

// [BT, BT] operands in L1 are tiles of fractals row by row, the order of L0A and L0B: one load takes the whole.
constexpr uint32_t kTileElems = kChunk * kChunk;

// The blocks of a list that lie below the diagonal of the tile, strip by strip; from UB or GM.
template <typename Source>
__aicore__ inline void BelowToL1(const LocalTensor<half>& l1, const Source& below) {
  for (uint32_t s = 0; s + 1 < kBlocksPerSide; ++s) {
    AscendC::DataCopy(l1[((s + 1) * kBlocksPerSide + s) * kFractalElems], below[FirstBelow(s) * kFractalElems],
                      AscendC::DataCopyParams(static_cast<uint16_t>(BelowDiagonal(s)), kFractal, 0, (kBlocksPerSide - 1) * kFractal));
  }
}

// The diagonal blocks, `pitch` elements apart.
template <typename Source>
__aicore__ inline void DiagonalToL1(const LocalTensor<half>& l1, const Source& blocks, uint32_t pitch) {
  AscendC::DataCopy(l1, blocks,
                    AscendC::DataCopyParams(kBlocksPerSide, kFractal, static_cast<uint16_t>((pitch - kFractalElems) / kHalvesPerBlock),
                                            kBlocksPerSide * kFractal));
}

template <typename Source>
__aicore__ inline void LowerToL1(const LocalTensor<half>& l1, const Source& list) {
  DiagonalToL1(l1, list, kFractalElems);
  BelowToL1(l1, list[kDiagonalElems]);
}

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_LOWER_H_
