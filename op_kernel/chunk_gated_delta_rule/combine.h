// SPDX-License-Identifier: Apache-2.0
// The combine lane: T = (I - A)^-1 diag(f) from its diagonal blocks, then P = (Q K^T T) o D beta r scale / f. In steps, between which the
// Vector queue must be done.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_COMBINE_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_COMBINE_H_

#include "../common/block/tri_inverse.h"
#include "combine_products.h"

namespace chunk_gdr {

template <typename Table>
class ChunkCombine : public CombineProducts<Table> {
 public:
  __aicore__ inline ChunkCombine(OnChip<Table>& chip, CubeSlots& slots, const ChunkGatedDeltaRuleTiling& tiling)
      : Base(chip, slots), chunk_parallel_(IsChunkParallel<Table>(tiling)) {}

  __aicore__ inline void Start(const Chunk& chunk) {
    chunk_ = chunk;
    active_ = chunk.HasTokens();
  }

  __aicore__ inline void ScaleColumns() {
    if (!active_) {
      return;
    }
    const StageScope stage(kCombine);
    const auto x = Row<kSolveX, float>(chip_);
    const auto columns = Row<kColumnLanes, float>(chip_);
    ScaleLanesColumns(Row<kScaledX, float>(chip_), x, columns);
    VectorDone();
    ScaleLanesColumns(x, x, columns[kFloatsPerBlock]);
  }

  __aicore__ inline void FromLanesToBlocks() {
    if (!active_) {
      return;
    }
    const StageScope stage(kCombine);
    const auto t = Row<kDiagonals, float>(chip_);
    const auto l = t[kSpreadDiagonalElems];
    FromLanes(t, Row<kScaledX, float>(chip_), kSpreadPitch);
    FromLanes(l, Row<kSolveX, float>(chip_), kSpreadPitch);
    ClearGaps(t);
    ClearGaps(l);
  }

  __aicore__ inline void RoundDiagonals() {
    if (!active_) {
      return;
    }
    const StageScope stage(kCombine);
    Round(Row<kDiagonalHalves, half>(chip_), Row<kDiagonals, float>(chip_), kBothElems);
  }

  __aicore__ inline void RestOfDiagonals() {
    if (!Compensated::kInverse || !active_) {
      return;
    }
    const StageScope stage(kCombine);
    SubtractHi(Row<kDiagonals, float>(chip_), Row<kDiagonalHalves, half>(chip_), kBothElems);
  }

  // What T starts from, and diag(s / p), to L1.
  __aicore__ inline void SendDiagonals() {
    if (!active_) {
      return;
    }
    const StageScope stage(kCombine);
    const auto halves = Row<kDiagonalHalves, half>(chip_);
    if constexpr (Compensated::kInverse) {
      Round(halves[kBothElems], Row<kDiagonals, float>(chip_), kBothElems);
    }
    Handoff<HardEvent::V_MTE3>(kCombineSplit);
    for (uint32_t h = 0; h < kPieces; ++h) {
      DiagonalToL1(TOf(chip_, chunk_, 0)[h * kTileElems], halves[h * kBothElems], kSpreadPitch);
      DiagonalToL1(Row<kLL1, half>(chip_)[h * kTileElems], halves[h * kBothElems + kSpreadDiagonalElems], kSpreadPitch);
    }
    if (!chunk_parallel_) {
      DiagonalToL1(ShiftOf(chip_, chunk_), Row<kShiftDiagonal, half>(chip_), kFractalElems);
    }
    Signal<HardEvent::MTE3_MTE1>(kCombineInL1);
  }

  // A product, and its hi.
  __aicore__ inline void FetchProduct(uint32_t size) {
    if (!active_) {
      return;
    }
    const StageScope stage(kCombine);
    Await<HardEvent::M_V>(kCombineProduct);
    CopyResult(Product(), Row<kSolveC, float>(chip_), 1, BlocksOf(size), 0, 0);
    CopyResult(Row<kCombineHalves, half>(chip_), Row<kSolveC, float>(chip_), 1, BlocksOf(size), 0, 0);
  }

  __aicore__ inline void RestOfProduct(uint32_t size) {
    if (!Compensated::kInverse || !active_) {
      return;
    }
    const StageScope stage(kCombine);
    SubtractHi(Product(), Row<kCombineHalves, half>(chip_), BlocksOf(size) * kFractalElems);
  }

  // hi and lo of the inner product; L times it follows.
  __aicore__ inline void SendInner(uint32_t size) {
    if (!active_) {
      return;
    }
    const StageScope stage(kCombine);
    RoundRest(size);
    const uint16_t gap = static_cast<uint16_t>((kBlocksPerSide - BlocksOf(size)) * kFractal);
    AscendC::DataCopy(Row<kCombineL1, half>(chip_), Row<kCombineHalves, half>(chip_),
                      AscendC::DataCopyParams(kPieces, static_cast<uint16_t>(BlocksOf(size) * kFractal), gap, gap));
    Signal<HardEvent::MTE3_MTE1>(kCombineInL1);
  }

  // hi and lo of the outer product come to their places in T and L.
  __aicore__ inline void SendOuter16() {
    if (!active_) {
      return;
    }
    const StageScope stage(kCombine);
    RoundRest(1);
    Place(TOf(chip_, chunk_, 0), 1, 0, 0, 1);
    Place(TOf(chip_, chunk_, 0), 3, 2, 1, 1);
    Place(Row<kLL1, half>(chip_), 3, 2, 2, 1);
    Signal<HardEvent::MTE3_MTE1>(kCombineInL1);
  }

  __aicore__ inline void SendOuter32() {
    if (!active_) {
      return;
    }
    const StageScope stage(kCombine);
    RoundRest(2);
    Place(TOf(chip_, chunk_, 0), 2, 0, 0, 2);
    Place(TOf(chip_, chunk_, 0), 2, 1, 2, 2);
    Signal<HardEvent::MTE3_MTE1>(kCombineInL1);
  }

  __aicore__ inline void FetchOutWeight() {
    if (!active_) {
      return;
    }
    const StageScope stage(kOutWeight);
    Await<HardEvent::M_V>(kCombineProduct);
    CopyLower(OutWeight(1), Row<kOutWeightC, float>(chip_), kSide);
  }

  __aicore__ inline void DecayOutWeight() {
    if (!active_) {
      return;
    }
    const StageScope stage(kOutWeight);
    AscendC::Mul(OutWeight(0), OutWeight(1), Row<kOutDecay, float>(chip_), kLowerElems);
  }

  __aicore__ inline void RoundOutWeight() {
    if (!active_) {
      return;
    }
    const StageScope stage(kOutWeight);
    Round(OutWeightHalves(), OutWeight(0), kLowerElems);
  }

  __aicore__ inline void RestOfOutWeight() {
    if (!Compensated::kOutWeight || !active_) {
      return;
    }
    const StageScope stage(kOutWeight);
    SubtractHi(OutWeight(0), OutWeightHalves(), kLowerElems);
  }

  __aicore__ inline void RoundOutWeightRest() {
    if (!active_) {
      return;
    }
    const StageScope stage(kOutWeight);
    if constexpr (Compensated::kOutWeight) {
      Round(OutWeightHalves()[kLowerElems], OutWeight(0), kLowerElems);
    }
    weight_ready_ = true;
  }

  // P to L1, in the next round: the inter-chunk lane, which works on its chunk by now, has handed over from V to MTE3 right before.
  __aicore__ inline void SendOutWeight() {
    if (!weight_ready_) {
      return;
    }
    const StageScope stage(kOutWeight);
    const auto halves = Row<kOutWeightHalves, half>(chip_);
    for (uint32_t h = 0; h < (Compensated::kOutWeight ? 2 : 1); ++h) {
      LowerToL1(Row<kOutWeightL1, half>(chip_)[h * kTileElems], halves[h * kLowerElems]);
    }
    weight_ready_ = false;
  }

  // Rows of T times F, once P has been made of T: back from L1, block row by block row. MTE1 has waited for what was sent from here.
  __aicore__ inline void MeetRowDecay() {
    const StageScope stage(kCombine);
    const auto halves = Row<kCombineHalves, half>(chip_);
    const auto rows = Row<kDiagonals, float>(chip_);
    const auto rest = rows[kListElems];
    const auto decays = Product();
    const auto factor = decays[kChunk];  // [16, 16]
    AscendC::DataCopy(decays.template ReinterpretCast<half>(), Row<kRowDecayL1, half>(chip_)[chunk_.Parity() * 2 * kChunk], 2 * kChunk);
    for (uint32_t row = 0; row < kSide; ++row) {
      const uint32_t elems = (row + 1) * kFractalElems;
      const uint16_t blocks = static_cast<uint16_t>((row + 1) * kFractal);
      const uint16_t gap = static_cast<uint16_t>(kListElems / kHalvesPerBlock - blocks);
      const uint16_t gap_in_l1 = static_cast<uint16_t>(kTileElems / kHalvesPerBlock - blocks);
      const auto in_l1 = TOf(chip_, chunk_, 0)[Fractal(row, 0)];
      AscendC::DataCopy(halves, in_l1, AscendC::DataCopyParams(kPieces, blocks, gap_in_l1, gap));
      Handoff<HardEvent::MTE1_V>(kRowOfTInUb);
      AscendC::Cast(rows, halves, AscendC::RoundMode::CAST_NONE, elems);
      if constexpr (Compensated::kInverse) {
        AscendC::Cast(rest, halves[kListElems], AscendC::RoundMode::CAST_NONE, elems);
      }
      BroadcastRows(factor, decays[row * kFractal], kFractal / kFloatsPerBlock);
      VectorDone();
      if constexpr (Compensated::kInverse) {
        AscendC::Add(rows, rows, rest, elems);
        VectorDone();
      }
      ScaleRows(rows, rows, factor, kFractal, row + 1);
      VectorDone();
      Round(halves, rows, elems);
      if constexpr (Compensated::kInverse) {
        VectorDone();
        SubtractHi(rows, halves, elems);
        VectorDone();
        Round(halves[kListElems], rows, elems);
      }
      Handoff<HardEvent::V_MTE3>(kCombineSplit);
      AscendC::DataCopy(in_l1, halves, AscendC::DataCopyParams(kPieces, blocks, gap, gap_in_l1));
      Handoff<HardEvent::MTE3_MTE1>(kCombineInL1);
    }
    if (chunk_parallel_) {
      Handoff<HardEvent::MTE1_V>(kRowOfTInUb);  // V knows that all of these are over; otherwise it does by what follows
    }
  }

 private:
  using Base = CombineProducts<Table>;
  using Base::active_;
  using Base::chip_;
  using Base::chunk_;
  using Base::Fractal;
  using Base::kListElems;
  using Base::kPieces;
  using Base::kSide;

  static constexpr uint32_t kBothElems = 2 * kSpreadDiagonalElems;

  // Blocks of a product: two of T and one of L, or all four of 32 x 32.
  static constexpr __aicore__ uint32_t BlocksOf(uint32_t size) { return size == 1 ? 3 : 4; }

  __aicore__ inline void RoundRest(uint32_t size) {
    if constexpr (Compensated::kInverse) {
      Round(Row<kCombineHalves, half>(chip_)[kListElems], Product(), BlocksOf(size) * kFractalElems);
    }
    Handoff<HardEvent::V_MTE3>(kCombineSplit);
  }

  // In fp32, where the scaled lanes were before they became blocks.
  __aicore__ inline LocalTensor<float> Product() { return Row<kScaledX, float>(chip_); }

  // Block (row, col) of a tile and, `rows` being 2, the one below: hi and lo of the list from `block` on.
  __aicore__ inline void Place(const LocalTensor<half>& tile, uint32_t row, uint32_t col, uint32_t block, uint16_t rows) {
    for (uint32_t h = 0; h < kPieces; ++h) {
      AscendC::DataCopy(tile[h * kTileElems + Fractal(row, col)], Row<kCombineHalves, half>(chip_)[h * kListElems + block * kFractalElems],
                        AscendC::DataCopyParams(rows, kFractal, 0, (kSide - 1) * kFractal));
    }
  }

  // Where they go to a slot, two chunks take turns.
  __aicore__ inline LocalTensor<half> OutWeightHalves() {
    if (!chunk_parallel_) {
      return Row<kOutWeightHalves, half>(chip_);
    }
    return chunk_.Parity() == 0 ? Row<kRows0, half>(chip_) : Row<kRows1, half>(chip_);
  }
  __aicore__ inline LocalTensor<float> OutWeight(uint32_t late) { return Row<kOutWeight32, float>(chip_)[late * kRepeatFloats]; }

  bool chunk_parallel_;  // diag(s) and P go to a slot
  bool weight_ready_ = false;  // P of the chunk before is complete in UB
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_COMBINE_H_
