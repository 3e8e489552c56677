// SPDX-License-Identifier: Apache-2.0
// The Cube jobs of the combine lane.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_COMBINE_PRODUCTS_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_COMBINE_PRODUCTS_H_

#include "../common/block/cube_slots.h"
#include "../common/tile/memory.h"
#include "../common/tile/stage.h"
#include "chunk.h"
#include "compensation.h"
#include "events.h"
#include "lower.h"
#include "places.h"

namespace chunk_gdr {

// With X_a, X_b diagonal blocks of (I - A)^-1, a before b, and A_ba = diag(-beta r r)_b (K K^T)_ba, the block below X_a is X_b A_ba X_a. So
// T_ba = L_b (K K^T)_ba T_a with L = (I - A)^-1 diag(-beta r r): K K^T enters as it is. First for blocks of 16, then of 32; L is needed of
// blocks that are a left side: (1, 1), and of 32 rows the last. Each job is issued a step or more after what it waits for was
// sent.
template <typename Table>
class CombineProducts {
 public:
  // (K K^T)_10 T_00, (K K^T)_32 [T_22 | L_22].
  __aicore__ inline void GramTimesFirst16() {
    if (!active_) {
      return;
    }
    const StageScope stage(kCombine);
    Await<HardEvent::MTE3_MTE1>(kCombineInL1);
    const auto gram = GramOf(chip_, chunk_, 0);
    const auto t = TOf(chip_, chunk_, 0);
    const auto l = Row<kLL1, half>(chip_);
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
    const auto l = Row<kLL1, half>(chip_);
    const auto inner = Row<kCombineL1, half>(chip_);
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
    const auto gram = GramOf(chip_, chunk_, 0);
    const auto t = TOf(chip_, chunk_, 0);
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
    const auto l = Row<kLL1, half>(chip_);
    const auto inner = Row<kCombineL1, half>(chip_);
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
    LoadAWhole(slots_.A(slot), QueryKeyOf(chip_, chunk_, 0), 2 * kSide * kSide);
    LoadBWhole(slots_.B(slot), TOf(chip_, chunk_, 0), 2 * kSide * kSide);
    slots_.Loaded(slot);
    MultiplyHiLo<Compensated::kScores, Compensated::kInverse>(Row<kOutWeightC, float>(chip_), slots_.A(slot), slots_.B(slot), kSide, kSide,
                                                              kSide);
    Signal<HardEvent::M_V>(kCombineProduct);
    slots_.Done(slot);
  }

 protected:
  static constexpr uint32_t kSide = kBlocksPerSide;
  static constexpr uint32_t kPieces = Compensated::kInverse ? 2 : 1;  // of T and L
  static constexpr uint32_t kListElems = kBlocksPerSide * kFractalElems;

  __aicore__ inline CombineProducts(OnChip<Table>& chip, CubeSlots& slots) : chip_(chip), slots_(slots) {}

  static constexpr __aicore__ uint32_t Fractal(uint32_t row, uint32_t col) { return (row * kSide + col) * kFractalElems; }

  OnChip<Table>& chip_;
  Chunk chunk_;
  bool active_ = false;

 private:
  static constexpr uint32_t kPair = 4;  // fractals of a 32 x 32 block

  template <bool kALo>
  __aicore__ inline void MultiplyPairs16(int32_t slot) {
    const auto c = Row<kSolveC, float>(chip_);
    slots_.Loaded(slot);
    MultiplyHiLo<kALo, Compensated::kInverse>(c, slots_.A(slot), slots_.B(slot), 1, 1, 1);
    MultiplyHiLo<kALo, Compensated::kInverse>(c[kFractalElems], slots_.A(slot, 2), slots_.B(slot, 2), 1, 2, 1);
    Signal<HardEvent::M_V>(kCombineProduct);
    slots_.Done(slot);
  }

  template <bool kALo>
  __aicore__ inline void Multiply32(int32_t slot) {
    slots_.Loaded(slot);
    MultiplyHiLo<kALo, Compensated::kInverse>(Row<kSolveC, float>(chip_), slots_.A(slot), slots_.B(slot), 2, 2, 2);
    Signal<HardEvent::M_V>(kCombineProduct);
    slots_.Done(slot);
  }

  CubeSlots& slots_;
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_COMBINE_PRODUCTS_H_
