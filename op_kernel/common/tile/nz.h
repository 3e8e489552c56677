// SPDX-License-Identifier: Apache-2.0
// Vector arithmetic on fp32 tiles in NZ order: strips of 16 columns, rows contiguous inside a strip, so that one repeat covers four rows.
#ifndef CHUNK_GDR_COMMON_TILE_NZ_H_
#define CHUNK_GDR_COMMON_TILE_NZ_H_

#include "../arch.h"
#include "kernel_operator.h"
#include "sync.h"

namespace chunk_gdr {

using AscendC::LocalTensor;

constexpr uint32_t kRowsPerRepeat = kRepeatFloats / kFractal;
constexpr uint32_t kFloatsPerBlock = kBlockBytes / sizeof(float);
constexpr uint32_t kHalvesPerBlock = kBlockBytes / sizeof(half);

// dst = src o factor for each of `strips` strips of `rows` rows; factor is [rows, 16], its row i the factor of row i.
__aicore__ inline void ScaleRows(const LocalTensor<float>& dst, const LocalTensor<float>& src, const LocalTensor<float>& factor,
                                 uint32_t rows, uint32_t strips) {
  for (uint32_t s = 0; s < strips; ++s) {
    const uint32_t at = s * rows * kFractal;
    AscendC::Mul(dst[at], src[at], factor, static_cast<uint64_t>(kRepeatFloats), rows / kRowsPerRepeat, {1, 1, 1, 8, 8, 8});
  }
}

// dst = src o factor, factor two repeats of 64 equal numbers, the first of even phase like src: each repeat of src meets the one of the
// other phase.
__aicore__ inline void ScaleAll(const LocalTensor<float>& dst, const LocalTensor<float>& src, const LocalTensor<float>& factor,
                                uint32_t elems) {
  const uint32_t repeats = elems / kRepeatFloats;
  AscendC::Mul(dst, src, factor[kRepeatFloats], static_cast<uint64_t>(kRepeatFloats), static_cast<uint8_t>((repeats + 1) / 2),
               {1, 1, 1, 16, 16, 0});
  if (repeats > 1) {
    AscendC::Mul(dst[kRepeatFloats], src[kRepeatFloats], factor, static_cast<uint64_t>(kRepeatFloats), static_cast<uint8_t>(repeats / 2),
                 {1, 1, 1, 16, 16, 0});
  }
}

// x -= hi, the first step to lo = half(x - hi): exact in fp32 when hi = half(x).
__aicore__ inline void SubtractHi(const LocalTensor<float>& x, const LocalTensor<half>& hi, uint32_t elems) {
  AscendC::Axpy(x, hi, static_cast<half>(-1.0f), elems);
}

__aicore__ inline void Round(const LocalTensor<half>& dst, const LocalTensor<float>& x, uint32_t elems) {
  AscendC::Cast(dst, x, AscendC::RoundMode::CAST_NONE, elems);
}

// fp16 rows (pitch in blocks) -> fp32 NZ: a repeat reads one block of each of four rows.
__aicore__ inline void RowsToNz(const LocalTensor<float>& dst, const LocalTensor<half>& src, uint32_t rows, uint32_t strips,
                                uint32_t pitch_blocks) {
  for (uint32_t s = 0; s < strips; ++s) {
    AscendC::Cast(dst[s * rows * kFractal], src[s * kHalvesPerBlock], AscendC::RoundMode::CAST_NONE, static_cast<uint64_t>(kRepeatFloats),
                  rows / kRowsPerRepeat,
                  {1, static_cast<uint16_t>(pitch_blocks), 8, static_cast<uint8_t>(kRowsPerRepeat * pitch_blocks)});
  }
}

// fp32 NZ -> fp16 rows, the conversion fused into the cast that is needed anyway.
__aicore__ inline void NzToRows(const LocalTensor<half>& dst, const LocalTensor<float>& src, uint32_t rows, uint32_t strips,
                                uint32_t pitch_blocks) {
  for (uint32_t s = 0; s < strips; ++s) {
    AscendC::Cast(dst[s * kHalvesPerBlock], src[s * rows * kFractal], AscendC::RoundMode::CAST_NONE, static_cast<uint64_t>(kRepeatFloats),
                  rows / kRowsPerRepeat,
                  {static_cast<uint16_t>(pitch_blocks), 1, static_cast<uint8_t>(kRowsPerRepeat * pitch_blocks), 8});
  }
}

// fp32 rows <-> fp32 NZ, bit for bit: a strip is `rows` pieces of two blocks.
__aicore__ inline void RowsToNz(const LocalTensor<float>& dst, const LocalTensor<float>& src, uint32_t rows, uint32_t strips) {
  constexpr uint16_t kPiece = kFractal / kFloatsPerBlock;
  for (uint32_t s = 0; s < strips; ++s) {
    AscendC::DataCopy(dst[s * rows * kFractal], src[s * kFractal],
                      AscendC::DataCopyParams(rows, kPiece, static_cast<uint16_t>((strips - 1) * kPiece), 0));
  }
}

__aicore__ inline void NzToRows(const LocalTensor<float>& dst, const LocalTensor<float>& src, uint32_t rows, uint32_t strips) {
  constexpr uint16_t kPiece = kFractal / kFloatsPerBlock;
  for (uint32_t s = 0; s < strips; ++s) {
    AscendC::DataCopy(dst[s * kFractal], src[s * rows * kFractal],
                      AscendC::DataCopyParams(rows, kPiece, 0, static_cast<uint16_t>((strips - 1) * kPiece)));
  }
}

constexpr uint32_t kTransposeList = 16;

__aicore__ inline uint64_t Address(const LocalTensor<float>& x) { return reinterpret_cast<uint64_t>(x.GetPhyAddr()); }

// tile[i, 0..15] = x[i] for i < 8 * blocks: a transposition whose 16 source rows are one and the same block.
__aicore__ inline void BroadcastRows(const LocalTensor<float>& tile, const LocalTensor<float>& x, uint32_t blocks) {
  uint64_t dst[kTransposeList];
  uint64_t src[kTransposeList];
  for (uint32_t i = 0; i < kTransposeList; ++i) {
    dst[i] = Address(tile[i * kFloatsPerBlock]);
    src[i] = Address(x);
  }
  AscendC::TransDataTo5HD<float>(dst, src, AscendC::TransDataTo5HDParams(false, false, blocks, kTransposeList, 1));
}

// Four fp32 matrices of 16 columns, `stride` elements apart, side by side: [rows][16][2][4], element (i, j) of all four, twice over.
constexpr uint32_t kSideBySide = 4;

__aicore__ inline void ToLanes(const LocalTensor<float>& lanes, const LocalTensor<float>& x, uint32_t stride, uint32_t rows) {
  uint64_t dst[kTransposeList];
  uint64_t src[kTransposeList];
  for (uint32_t half_row = 0; half_row < 2; ++half_row) {
    for (uint32_t i = 0; i < kFloatsPerBlock; ++i) {
      src[half_row * kFloatsPerBlock + i] = Address(x[(i % kSideBySide) * stride + half_row * kFloatsPerBlock]);
      dst[2 * i + half_row] = Address(lanes[(half_row * kFloatsPerBlock + i) * kFloatsPerBlock]);
    }
  }
  const uint16_t step = rows == 1 ? 0 : kFractal;
  AscendC::TransDataTo5HD<float>(dst, src, AscendC::TransDataTo5HDParams(false, false, rows, step, step / kFloatsPerBlock));
}

// Two vectors of four times 16: block 2 j of `lanes` holds elements j and then j + 8 of all four of `first`, block 2 j + 1 those of
// `second`.
__aicore__ inline void ColumnsToLanes(const LocalTensor<float>& lanes, const LocalTensor<float>& first, const LocalTensor<float>& second) {
  uint64_t dst[kTransposeList];
  uint64_t src[kTransposeList];
  for (uint32_t i = 0; i < kFloatsPerBlock; ++i) {
    const uint32_t at = i % kSideBySide * kFractal + i / kSideBySide * kFloatsPerBlock;
    src[i] = Address(first[at]);
    src[kFloatsPerBlock + i] = Address(second[at]);
    dst[2 * i] = Address(lanes[2 * i * kFloatsPerBlock]);
    dst[2 * i + 1] = Address(lanes[(2 * i + 1) * kFloatsPerBlock]);
  }
  AscendC::TransDataTo5HD<float>(dst, src, AscendC::TransDataTo5HDParams(false, false, 1, 0, 0));
}

// Back from [16][8][2][4], where the block of (i, j) holds the elements (i, j) and then (i, j + 8) of all four; two rows i at a time.
__aicore__ inline void FromLanes(const LocalTensor<float>& x, const LocalTensor<float>& lanes, uint32_t stride) {
  uint64_t dst[kTransposeList];
  uint64_t src[kTransposeList];
  for (uint32_t i = 0; i < kTransposeList; ++i) {
    src[i] = Address(lanes[i * kFloatsPerBlock]);
    const uint32_t lane = i / 2;
    dst[i] = Address(x[lane % kSideBySide * stride + lane / kSideBySide * kFloatsPerBlock + i % 2 * kFractal]);
  }
  AscendC::TransDataTo5HD<float>(dst, src, AscendC::TransDataTo5HDParams(false, false, kFractal / 2, 4, kFractal));
}

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_COMMON_TILE_NZ_H_
