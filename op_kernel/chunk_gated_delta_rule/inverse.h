// SPDX-License-Identifier: Apache-2.0
// The intra-chunk lane, second part: U = (I - A)^-1 diag(beta r). In steps, between which the Vector queue must be done.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_INVERSE_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_INVERSE_H_

#include "../common/block/cube_slots.h"
#include "../common/block/tri_inverse.h"
#include "../common/tile/memory.h"
#include "../common/tile/stage.h"
#include "chunk.h"
#include "events.h"
#include "lower.h"

namespace chunk_gdr {

template <typename Table>
class ChunkInverse {
 public:
  __aicore__ inline ChunkInverse(OnChip<Table>& chip, CubeSlots& slots) : chip_(chip), slots_(slots) {}

  __aicore__ inline void Start(const Chunk& chunk) {
    chunk_ = chunk;
    active_ = chunk.HasTokens();
  }

  // The diagonal blocks of (I - A)^-1 in fp32, all four at once.
  __aicore__ inline void DiagonalToLanes() {
    if (!active_) {
      return;
    }
    const StageScope stage(kSplit);
    ToLanes(Get<kSolveA, float>(), Get<kDiagonalA, float>(), kSpreadPitch);
    ClearLanes(Get<kSolveX, float>());
  }

  __aicore__ inline void IdentityLanes() {
    if (!active_) {
      return;
    }
    const StageScope stage(kSplit);
    SetIdentityLanes(Get<kSolveX, float>());
  }

  __aicore__ inline void InvertColumn(uint32_t column) {
    if (!active_) {
      return;
    }
    const StageScope stage(kSolve);
    InvertLanesColumn(Get<kSolveX, float>(), Get<kSolveA, float>(), column);
  }

  __aicore__ inline void DiagonalFromLanes() {
    if (!active_) {
      return;
    }
    const StageScope stage(kSolve);
    FromLanes(Get<kInverse, float>(), Get<kSolveX, float>(), kSpreadPitch);
    ClearGaps(Get<kInverse, float>());
  }

  __aicore__ inline void RoundDiagonal() {
    if (!active_) {
      return;
    }
    const StageScope stage(kCombine);
    Round(Get<kInverseHalves, half>(), Get<kInverse, float>(), kSpreadDiagonalElems);
    AscendC::Muls(Get<kInverseRest, float>(), Get<kInverse, float>(), 1.0f, kSpreadDiagonalElems);
  }

  __aicore__ inline void RestOfDiagonal() {
    if (!active_) {
      return;
    }
    const StageScope stage(kCombine);
    SubtractHi(Get<kInverseRest, float>(), Get<kInverseHalves, half>(), kSpreadDiagonalElems);
  }

  __aicore__ inline void SendDiagonal() {
    if (!active_) {
      return;
    }
    const StageScope stage(kCombine);
    Round(Get<kInverseHalves, half>()[kSpreadElems], Get<kInverseRest, float>(), kSpreadDiagonalElems);
    Handoff<HardEvent::V_MTE3>(kIntraSplit);
    DiagonalsToL1(Get<kInverseL1, half>(), Get<kInverseHalves, half>(), kSpreadElems, kSpreadPitch);
    Handoff<HardEvent::MTE3_MTE1>(kIntraInL1);
    LowerTimesFirst(1);
  }

  // With U_a and U_b the inverses of two neighbouring diagonal blocks and A_ba the block below the first, the joint inverse has
  // U_ba = U_b (A_ba U_a) in that place; first for blocks of 16, then of 32. Each product splits both sides.
  __aicore__ inline void FetchInner(uint32_t size) {
    if (!active_) {
      return;
    }
    const StageScope stage(kCombine);
    Await<HardEvent::M_V>(kIntraProduct);
    CopyResult(Get<kCombine32, float>(), Get<kSolveC, float>(), 1, BlocksOf(size), 0, 0);
    CopyResult(Get<kCombineHalves, half>(), Get<kSolveC, float>(), 1, BlocksOf(size), 0, 0);
  }

  __aicore__ inline void RestOfProduct(uint32_t size) {
    if (!active_) {
      return;
    }
    const StageScope stage(kCombine);
    SubtractHi(Get<kCombine32, float>(), Get<kCombineHalves, half>(), BlocksOf(size) * kFractalElems);
  }

  __aicore__ inline void SendInner(uint32_t size) {
    if (!active_) {
      return;
    }
    const StageScope stage(kCombine);
    const uint32_t elems = BlocksOf(size) * kFractalElems;
    Round(Get<kCombineHalves, half>()[kCombineElems], Get<kCombine32, float>(), elems);
    Handoff<HardEvent::V_MTE3>(kIntraSplit);
    const uint16_t gap = static_cast<uint16_t>((kCombineElems - elems) / kHalvesPerBlock);
    AscendC::DataCopy(Get<kCombineL1, half>(), Get<kCombineHalves, half>(),
                      AscendC::DataCopyParams(2, static_cast<uint16_t>(elems / kHalvesPerBlock), gap, gap));
    Handoff<HardEvent::MTE3_MTE1>(kIntraInL1);
    SecondTimesInner(size);
  }

  // The two blocks of 16 come to their places in the list, and as operands of the next level.
  __aicore__ inline void FetchOuter16() {
    if (!active_) {
      return;
    }
    const StageScope stage(kCombine);
    Await<HardEvent::M_V>(kIntraProduct);
    CopyResult(Below(0), Get<kSolveC, float>(), 1, 1, 0, 0);
    CopyResult(Below(FirstBelow(2)), Get<kSolveC, float>()[kFractalElems], 1, 1, 0, 0);
    CopyResult(Get<kCombine32, float>(), Get<kSolveC, float>(), 1, 2, 0, 0);
    CopyResult(Get<kCombineHalves, half>(), Get<kSolveC, float>(), 1, 2, 0, 0);
  }

  __aicore__ inline void SendOuter16() {
    if (!active_) {
      return;
    }
    const StageScope stage(kCombine);
    Round(Get<kCombineHalves, half>()[kCombineElems], Get<kCombine32, float>(), 2 * kFractalElems);
    Handoff<HardEvent::V_MTE3>(kIntraSplit);
    // Blocks (1, 0) and (3, 2): ten fractals apart.
    const AscendC::DataCopyParams places(2, kFractal, 0, (2 * kSide + 1) * kFractal);
    AscendC::DataCopy(Get<kInverseL1, half>()[kFractalElems], Get<kCombineHalves, half>(), places);
    AscendC::DataCopy(Get<kInverseL1, half>()[kTileElems + kFractalElems], Get<kCombineHalves, half>()[kCombineElems], places);
    Handoff<HardEvent::MTE3_MTE1>(kIntraInL1);
    LowerTimesFirst(2);
  }

  __aicore__ inline void FetchOuter32() {
    if (!active_) {
      return;
    }
    const StageScope stage(kCombine);
    Await<HardEvent::M_V>(kIntraProduct);
    CopyResult(Below(1), Get<kSolveC, float>(), 1, 4, 0, 0);
    BuildColumnFactors();
  }

  // U = (I - A)^-1 diag(beta r): with the columns scaled, v and K S^T enter as they are.
  __aicore__ inline void ScaleInverse() {
    if (!active_) {
      return;
    }
    const StageScope stage(kCombine);
    ScaleSpreadColumns(Get<kInverseRest, float>(), Get<kInverse, float>(), Get<kColumnFactors, float>());
  }

  __aicore__ inline void RoundInverse() {
    if (!active_) {
      return;
    }
    const StageScope stage(kCombine);
    Round(Get<kInverseHalves, half>(), Get<kInverseRest, float>(), kSpreadElems);
  }

  __aicore__ inline void RestOfInverse() {
    if (!active_) {
      return;
    }
    const StageScope stage(kCombine);
    SubtractHi(Get<kInverseRest, float>(), Get<kInverseHalves, half>(), kSpreadElems);
  }

  __aicore__ inline void SendInverse() {
    if (!active_) {
      return;
    }
    const StageScope stage(kCombine);
    Round(Get<kInverseHalves, half>()[kSpreadElems], Get<kInverseRest, float>(), kSpreadElems);
    Handoff<HardEvent::V_MTE3>(kIntraSplit);
    const auto inverse = Get<kInverseHalves, half>();
    const auto l1 = Get<kUL1, half>()[chunk_.Handover() * 2 * kTileElems];
    DiagonalsToL1(l1, inverse, kSpreadElems, kSpreadPitch);
    OffDiagonalsToL1(l1, inverse[kSpreadDiagonalElems], kSpreadElems);
    Signal<HardEvent::MTE3_MTE1>(kIntraInL1);
  }

 private:
  static constexpr uint32_t kSide = kBlocksPerSide;
  static constexpr uint32_t kCombineElems = kChunk / 2 * kChunk / 2;

  static constexpr __aicore__ uint32_t BlocksOf(uint32_t size) { return kSide / (2 * size) * size * size; }

  __aicore__ inline void LowerTimesFirst(uint32_t size) {
    const auto a_hi = Get<kAL1, half>();
    const auto a_lo = a_hi[kTileElems];
    const auto u_hi = Get<kInverseL1, half>();
    const auto u_lo = u_hi[kTileElems];
    const int32_t slot = slots_.Begin();
    for (uint32_t p = 0; p < kSide / (2 * size); ++p) {
      const uint32_t first = 2 * p * size;
      Load(slot, p, size, {a_hi, kSide, first + size, first}, {a_lo, kSide, first + size, first}, {u_hi, kSide, first, first},
           {u_lo, kSide, first, first});
    }
    MultiplyPairs(slot, size);
  }

  __aicore__ inline void SecondTimesInner(uint32_t size) {
    const auto u_hi = Get<kInverseL1, half>();
    const auto u_lo = u_hi[kTileElems];
    const auto inner_hi = Get<kCombineL1, half>();
    const auto inner_lo = inner_hi[kCombineElems];
    const int32_t slot = slots_.Begin();
    for (uint32_t p = 0; p < kSide / (2 * size); ++p) {
      const uint32_t second = (2 * p + 1) * size;
      Load(slot, p, size, {u_hi, kSide, second, second}, {u_lo, kSide, second, second}, {inner_hi, size, 0, p * size},
           {inner_lo, size, 0, p * size});
    }
    MultiplyPairs(slot, size);
  }

  __aicore__ inline void Load(int32_t slot, uint32_t pair, uint32_t size, const NzBlock& a_hi, const NzBlock& a_lo, const NzBlock& b_hi,
                              const NzBlock& b_lo) {
    const uint32_t at = pair * kThreeTerms * size * size;
    LoadAThreeTerms(slots_.A(slot, at), a_hi, a_lo, size, size);
    LoadBThreeTerms(slots_.B(slot, at), b_hi, b_lo, size, size);
  }

  __aicore__ inline void MultiplyPairs(int32_t slot, uint32_t size) {
    slots_.Loaded(slot);
    for (uint32_t p = 0; p < kSide / (2 * size); ++p) {
      const uint32_t at = p * kThreeTerms * size * size;
      Multiply(Get<kSolveC, float>()[p * size * size * kFractalElems], slots_.A(slot, at), slots_.B(slot, at), size, size,
               kThreeTerms * size, Onto::kNothing);
    }
    Signal<HardEvent::M_V>(kIntraProduct);
    slots_.Done(slot);
  }

  // The 16 factors of a strip, two blocks, four times over: an instruction for the first blocks of all strips, one for the second.
  __aicore__ inline void BuildColumnFactors() {
    constexpr uint64_t kLanesOfFour = 4 * kFloatsPerBlock;
    constexpr uint8_t kStripBlocks = kFractal / kFloatsPerBlock;
    const auto factors = Get<kColumnFactors, float>();
    for (uint32_t block = 0; block < kStripBlocks; ++block) {
      const uint32_t at = block * kFloatsPerBlock;
      AscendC::Muls(factors[at], BetaFactors()[at], 1.0f, kLanesOfFour, kSide, {kStripBlocks, 0, 8, kStripBlocks});
    }
  }

  __aicore__ inline LocalTensor<float> Below(uint32_t block) {
    return Get<kInverse, float>()[kSpreadDiagonalElems + block * kFractalElems];
  }

  __aicore__ inline LocalTensor<float> BetaFactors() {
    return Get<kVectors, float>()[(chunk_.Handover() * kTokenVectors + kBetaVector) * kChunk];
  }

  template <uint32_t kId, typename T>
  __aicore__ inline LocalTensor<T> Get() {
    return chip_.template Get<kId, T>();
  }

  OnChip<Table>& chip_;
  CubeSlots& slots_;
  Chunk chunk_;
  bool active_ = false;
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_INVERSE_H_
