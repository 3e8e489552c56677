// SPDX-License-Identifier: Apache-2.0
// The combine lane: T = (I - A)^-1 diag(f) from its diagonal blocks, then P = (Q K^T T) o D beta r scale / f. In steps, between which the
// Vector queue must be done.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_COMBINE_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_COMBINE_H_

#include "../common/block/cube_slots.h"
#include "../common/block/tri_inverse.h"
#include "../common/tile/memory.h"
#include "../common/tile/stage.h"
#include "chunk.h"
#include "compensation.h"
#include "events.h"
#include "lower.h"

namespace chunk_gdr {

// With X_a, X_b diagonal blocks of (I - A)^-1, a before b, and A_ba = diag(-beta r r)_b (K K^T)_ba, the block below X_a is X_b A_ba X_a. So
// T_ba = L_b (K K^T)_ba T_a with L = (I - A)^-1 diag(-beta r r): K K^T enters as it is. First for blocks of 16, then of 32; L is needed of
// blocks that are a left side: (1, 1), and of 32 rows the last.
template <typename Table>
class ChunkCombine {
 public:
  __aicore__ inline ChunkCombine(OnChip<Table>& chip, CubeSlots& slots, const ChunkGatedDeltaRuleTiling& tiling)
      : chip_(chip), slots_(slots), hands_over_(IsChunkParallel<Table>(tiling)) {}

  __aicore__ inline void Start(const Chunk& chunk) {
    chunk_ = chunk;
    active_ = chunk.HasTokens();
  }

  __aicore__ inline void ScaleColumns() {
    if (!active_) {
      return;
    }
    const StageScope stage(kCombine);
    const auto x = Get<kSolveX, float>();
    const auto columns = Get<kColumnLanes, float>();
    ScaleLanesColumns(Get<kScaledX, float>(), x, columns);
    VectorDone();
    ScaleLanesColumns(x, x, columns[kFloatsPerBlock]);
  }

  __aicore__ inline void FromLanesToBlocks() {
    if (!active_) {
      return;
    }
    const StageScope stage(kCombine);
    const auto t = Get<kDiagonals, float>();
    const auto l = t[kSpreadDiagonalElems];
    FromLanes(t, Get<kScaledX, float>(), kSpreadPitch);
    FromLanes(l, Get<kSolveX, float>(), kSpreadPitch);
    ClearGaps(t);
    ClearGaps(l);
  }

  __aicore__ inline void RoundDiagonals() {
    if (!active_) {
      return;
    }
    const StageScope stage(kCombine);
    Round(Get<kDiagonalHalves, half>(), Get<kDiagonals, float>(), kBothElems);
  }

  __aicore__ inline void RestOfDiagonals() {
    if (!Compensated::kInverse || !active_) {
      return;
    }
    const StageScope stage(kCombine);
    SubtractHi(Get<kDiagonals, float>(), Get<kDiagonalHalves, half>(), kBothElems);
  }

  // What T starts from, and diag(s / p), to L1.
  __aicore__ inline void SendDiagonals() {
    if (!active_) {
      return;
    }
    const StageScope stage(kCombine);
    const auto halves = Get<kDiagonalHalves, half>();
    if constexpr (Compensated::kInverse) {
      Round(halves[kBothElems], Get<kDiagonals, float>(), kBothElems);
    }
    Handoff<HardEvent::V_MTE3>(kCombineSplit);
    for (uint32_t h = 0; h < kPieces; ++h) {
      DiagonalToL1(T()[h * kTileElems], halves[h * kBothElems], kSpreadPitch);
      DiagonalToL1(Get<kLL1, half>()[h * kTileElems], halves[h * kBothElems + kSpreadDiagonalElems], kSpreadPitch);
    }
    if (!hands_over_) {
      DiagonalToL1(Get<kShiftL1, half>()[chunk_.Handover() * kTileElems], Get<kShiftDiagonal, half>(), kFractalElems);
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
    CopyResult(Product(), Get<kSolveC, float>(), 1, BlocksOf(size), 0, 0);
    CopyResult(Get<kCombineHalves, half>(), Get<kSolveC, float>(), 1, BlocksOf(size), 0, 0);
  }

  __aicore__ inline void RestOfProduct(uint32_t size) {
    if (!Compensated::kInverse || !active_) {
      return;
    }
    const StageScope stage(kCombine);
    SubtractHi(Product(), Get<kCombineHalves, half>(), BlocksOf(size) * kFractalElems);
  }

  // hi and lo of the inner product; L times it follows.
  __aicore__ inline void SendInner(uint32_t size) {
    if (!active_) {
      return;
    }
    const StageScope stage(kCombine);
    RoundRest(size);
    const uint16_t gap = static_cast<uint16_t>((kBlocksPerSide - BlocksOf(size)) * kFractal);
    AscendC::DataCopy(Get<kCombineL1, half>(), Get<kCombineHalves, half>(),
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
    Place(T(), 1, 0, 0, 1);
    Place(T(), 3, 2, 1, 1);
    Place(Get<kLL1, half>(), 3, 2, 2, 1);
    Signal<HardEvent::MTE3_MTE1>(kCombineInL1);
  }

  __aicore__ inline void SendOuter32() {
    if (!active_) {
      return;
    }
    const StageScope stage(kCombine);
    RoundRest(2);
    Place(T(), 2, 0, 0, 2);
    Place(T(), 2, 1, 2, 2);
    Signal<HardEvent::MTE3_MTE1>(kCombineInL1);
  }

  __aicore__ inline void FetchOutWeight() {
    if (!active_) {
      return;
    }
    const StageScope stage(kOutWeight);
    Await<HardEvent::M_V>(kCombineProduct);
    CopyLower(OutWeight(1), Get<kOutWeightC, float>(), kSide);
  }

  __aicore__ inline void DecayOutWeight() {
    if (!active_) {
      return;
    }
    const StageScope stage(kOutWeight);
    AscendC::Mul(OutWeight(0), OutWeight(1), Get<kOutDecay, float>(), kLowerElems);
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
    const auto halves = Get<kOutWeightHalves, half>();
    for (uint32_t h = 0; h < (Compensated::kOutWeight ? 2 : 1); ++h) {
      LowerToL1(Get<kOutWeightL1, half>()[h * kTileElems], halves[h * kLowerElems]);
    }
    weight_ready_ = false;
  }

  // Rows of T times F, once P has been made of T: back from L1, block row by block row. MTE1 has waited for what was sent from here.
  __aicore__ inline void MeetRowDecay() {
    const StageScope stage(kCombine);
    const auto halves = Get<kCombineHalves, half>();
    const auto rows = Get<kDiagonals, float>();
    const auto rest = rows[kListElems];
    const auto decays = Product();
    const auto factor = decays[kChunk];  // [16, 16]
    AscendC::DataCopy(decays.template ReinterpretCast<half>(), Get<kRowDecayL1, half>()[chunk_.Handover() * 2 * kChunk], 2 * kChunk);
    for (uint32_t row = 0; row < kSide; ++row) {
      const uint32_t elems = (row + 1) * kFractalElems;
      const uint16_t blocks = static_cast<uint16_t>((row + 1) * kFractal);
      const uint16_t gap = static_cast<uint16_t>(kListElems / kHalvesPerBlock - blocks);
      const uint16_t gap_in_l1 = static_cast<uint16_t>(kTileElems / kHalvesPerBlock - blocks);
      const auto in_l1 = T()[Fractal(row, 0)];
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
    if (hands_over_) {
      Handoff<HardEvent::MTE1_V>(kRowOfTInUb);  // V knows that all of these are over; otherwise it does by what follows
    }
  }

  // --- Cube jobs, each a step or more after what it waits for was sent ---

  // (K K^T)_10 T_00, (K K^T)_32 [T_22 | L_22].
  __aicore__ inline void GramTimesFirst16() {
    if (!active_) {
      return;
    }
    const StageScope stage(kCombine);
    Await<HardEvent::MTE3_MTE1>(kCombineInL1);
    const auto gram = Gram();
    const auto t = T();
    const auto l = Get<kLL1, half>();
    const int32_t slot = slots_.Begin();
    for (uint32_t h = 0; h < 2; ++h) {
      if (h == 0 || Compensated::kScores) {
        LoadAWhole(slots_.A(slot, h), gram[h * kOffElems + FirstBelow(0) * kFractalElems], 1);
        LoadAWhole(slots_.A(slot, 2 + h), gram[h * kOffElems + FirstBelow(2) * kFractalElems], 1);
      }
      if (h == 0 || Compensated::kInverse) {
        LoadBWhole(slots_.B(slot, h), t[h * kTileElems], 1);
        LoadBWhole(slots_.B(slot, 2 + 2 * h), t[h * kTileElems + Fractal(2, 2)], 1);
        LoadBWhole(slots_.B(slot, 2 + 2 * h + 1), l[h * kTileElems + Fractal(2, 2)], 1);
      }
    }
    MultiplyPairs16<Compensated::kScores>(slot);
  }

  // L_11 and L_33 times what that gave.
  __aicore__ inline void SecondTimesInner16() {
    if (!active_) {
      return;
    }
    const StageScope stage(kCombine);
    Await<HardEvent::MTE3_MTE1>(kCombineInL1);
    const auto l = Get<kLL1, half>();
    const auto inner = Get<kCombineL1, half>();
    const int32_t slot = slots_.Begin();
    for (uint32_t h = 0; h < kPieces; ++h) {
      LoadAWhole(slots_.A(slot, h), l[h * kTileElems + Fractal(1, 1)], 1);
      LoadAWhole(slots_.A(slot, 2 + h), l[h * kTileElems + Fractal(3, 3)], 1);
      LoadBWhole(slots_.B(slot, h), inner[h * kListElems], 1);
      LoadBWhole(slots_.B(slot, 2 + 2 * h), inner[h * kListElems + kFractalElems], 2);
    }
    MultiplyPairs16<Compensated::kInverse>(slot);
  }

  // 32 rows and columns: the last of K K^T and L, the first of T. In the list the blocks (2, 0), (3, 0), (2, 1), (3, 1) follow one another.
  __aicore__ inline void GramTimesFirst32() {
    if (!active_) {
      return;
    }
    const StageScope stage(kCombine);
    Await<HardEvent::MTE3_MTE1>(kCombineInL1);
    const auto gram = Gram();
    const auto t = T();
    const int32_t slot = slots_.Begin();
    for (uint32_t h = 0; h < 2; ++h) {
      if (h == 0 || Compensated::kScores) {
        LoadA(slots_.A(slot, h * kPair), 0, 2, {gram[h * kOffElems], 2, 1, 0}, 2, 2);
      }
      for (uint32_t i = 0; i < 2 && (h == 0 || Compensated::kInverse); ++i) {
        LoadBWhole(slots_.B(slot, h * kPair + 2 * i), t[h * kTileElems + Fractal(i, 0)], 2);
      }
    }
    Multiply32<Compensated::kScores>(slot);
  }

  __aicore__ inline void SecondTimesInner32() {
    if (!active_) {
      return;
    }
    const StageScope stage(kCombine);
    Await<HardEvent::MTE3_MTE1>(kCombineInL1);
    const auto l = Get<kLL1, half>();
    const auto inner = Get<kCombineL1, half>();
    const int32_t slot = slots_.Begin();
    for (uint32_t h = 0; h < kPieces; ++h) {
      for (uint32_t i = 0; i < 2; ++i) {
        LoadAWhole(slots_.A(slot, h * kPair + 2 * i), l[h * kTileElems + Fractal(2 + i, 2)], 2);
      }
      LoadB(slots_.B(slot, h * kPair), 0, {inner[h * kListElems], 2, 0, 0}, 2, 2);
    }
    Multiply32<Compensated::kInverse>(slot);
  }

  __aicore__ inline void QueryKeyTimesT() {
    if (!active_) {
      return;
    }
    const StageScope stage(kOutWeight);
    Await<HardEvent::MTE3_MTE1>(kCombineInL1);
    const int32_t slot = slots_.Begin();
    LoadAWhole(slots_.A(slot), Get<kQueryKeyL1, half>()[chunk_.Handover() * 2 * kTileElems], 2 * kSide * kSide);
    LoadBWhole(slots_.B(slot), T(), 2 * kSide * kSide);
    slots_.Loaded(slot);
    MultiplyHiLo<Compensated::kScores, Compensated::kInverse>(Get<kOutWeightC, float>(), slots_.A(slot), slots_.B(slot), kSide, kSide,
                                                              kSide);
    Signal<HardEvent::M_V>(kCombineProduct);
    slots_.Done(slot);
  }

 private:
  static constexpr uint32_t kSide = kBlocksPerSide;
  static constexpr uint32_t kPieces = Compensated::kInverse ? 2 : 1;  // of T and L
  static constexpr uint32_t kPair = 4;  // fractals of a 32 x 32 block
  static constexpr uint32_t kBothElems = 2 * kSpreadDiagonalElems;
  static constexpr uint32_t kListElems = kBlocksPerSide * kFractalElems;

  // Blocks of a product: two of T and one of L, or all four of 32 x 32.
  static constexpr __aicore__ uint32_t BlocksOf(uint32_t size) { return size == 1 ? 3 : 4; }

  __aicore__ inline void RoundRest(uint32_t size) {
    if constexpr (Compensated::kInverse) {
      Round(Get<kCombineHalves, half>()[kListElems], Product(), BlocksOf(size) * kFractalElems);
    }
    Handoff<HardEvent::V_MTE3>(kCombineSplit);
  }

  // In fp32, where the scaled lanes were before they became blocks.
  __aicore__ inline LocalTensor<float> Product() { return Get<kScaledX, float>(); }

  // Block (row, col) of a tile and, `rows` being 2, the one below: hi and lo of the list from `block` on.
  __aicore__ inline void Place(const LocalTensor<half>& tile, uint32_t row, uint32_t col, uint32_t block, uint16_t rows) {
    for (uint32_t h = 0; h < kPieces; ++h) {
      AscendC::DataCopy(tile[h * kTileElems + Fractal(row, col)], Get<kCombineHalves, half>()[h * kListElems + block * kFractalElems],
                        AscendC::DataCopyParams(rows, kFractal, 0, (kSide - 1) * kFractal));
    }
  }

  static constexpr __aicore__ uint32_t Fractal(uint32_t row, uint32_t col) { return (row * kSide + col) * kFractalElems; }

  template <bool kALo>
  __aicore__ inline void MultiplyPairs16(int32_t slot) {
    const auto c = Get<kSolveC, float>();
    slots_.Loaded(slot);
    MultiplyHiLo<kALo, Compensated::kInverse>(c, slots_.A(slot), slots_.B(slot), 1, 1, 1);
    MultiplyHiLo<kALo, Compensated::kInverse>(c[kFractalElems], slots_.A(slot, 2), slots_.B(slot, 2), 1, 2, 1);
    Signal<HardEvent::M_V>(kCombineProduct);
    slots_.Done(slot);
  }

  template <bool kALo>
  __aicore__ inline void Multiply32(int32_t slot) {
    slots_.Loaded(slot);
    MultiplyHiLo<kALo, Compensated::kInverse>(Get<kSolveC, float>(), slots_.A(slot), slots_.B(slot), 2, 2, 2);
    Signal<HardEvent::M_V>(kCombineProduct);
    slots_.Done(slot);
  }

  __aicore__ inline LocalTensor<half> T() { return Get<kTL1, half>()[chunk_.Handover() * 2 * kTileElems]; }
  __aicore__ inline LocalTensor<half> Gram() { return Get<kGramL1, half>()[chunk_.Handover() * 2 * kOffElems]; }
  // Where they go to a slot, two chunks take turns.
  __aicore__ inline LocalTensor<half> OutWeightHalves() {
    return !hands_over_ ? Get<kOutWeightHalves, half>() : chunk_.Handover() == 0 ? Get<kRows0, half>() : Get<kRows1, half>();
  }
  __aicore__ inline LocalTensor<float> OutWeight(uint32_t late) { return Get<kOutWeight32, float>()[late * kRepeatFloats]; }

  template <uint32_t kId, typename U>
  __aicore__ inline LocalTensor<U> Get() {
    return chip_.template Get<kId, U>();
  }

  OnChip<Table>& chip_;
  CubeSlots& slots_;
  bool hands_over_;  // diag(s) and P go to a slot
  Chunk chunk_;
  bool active_ = false;
  bool weight_ready_ = false;  // P of the chunk before is complete in UB
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_COMBINE_H_
