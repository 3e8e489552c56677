// SPDX-License-Identifier: Apache-2.0
// U = (I - A)^-1 for one chunk: diagonal 16 x 16 blocks in fp32 on the Vector unit, then 16 -> 32 -> 64 on the Cube.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_SOLVE_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_SOLVE_H_

#include "../common/block/matmul.h"
#include "../common/block/tri_inverse.h"
#include "../common/tile/memory.h"
#include "buffers.h"
#include "events.h"

namespace chunk_gdr {

// With U_a and U_b the inverses of two neighbouring diagonal blocks and A_ba the block below the first, the joint inverse has
// U_ba = U_b (A_ba U_a) in that place. Both products split both sides.
template <typename Table>
class UnitLowerInverse {
 public:
  __aicore__ inline explicit UnitLowerInverse(OnChip<Table>& chip) : chip_(chip) {}

  // Reads A from kScoresK (and consumes it); leaves U as hi + lo in kInverseHiL1, kInverseLoL1.
  __aicore__ inline void Run() {
    const auto a = Get<kScoresK, float>();   // [BT, BT] NZ
    const auto u = Get<kInverse, float>();   // [BT, BT] NZ
    constexpr uint32_t kDiagonal = kT * kFractalElems + kFractalElems;  // from one diagonal block to the next
    ToLanes<kSubBlocks>(Get<kSolveA, float>(), a, kDiagonal);
    AscendC::Duplicate(u, 0.0f, kChunk * kChunk);
    InvertLanes(Get<kSolveX, float>(), Get<kSolveA, float>());
    FromLanes<kSubBlocks>(u, Get<kSolvePad, float>(), Get<kSolveX, float>(), kDiagonal);
    SplitConsume(Get<kAHiUb, half>(), Get<kALoUb, half>(), a, kChunk * kChunk);
    InverseToL1(true);
    for (uint32_t size = 1; size < kT; size *= 2) {
      Combine(size);
      InverseToL1(false);
    }
  }

 private:
  static constexpr uint32_t kT = kChunk / kFractal;

  __aicore__ inline void InverseToL1(bool with_a) {
    const auto hi = Get<kInverseHi, half>();
    const auto lo = Get<kInverseLo, half>();
    SplitKeep(hi, lo, Get<kInverseRest, float>(), Get<kInverse, float>(), kChunk * kChunk);
    Handoff<AscendC::HardEvent::V_MTE3>(kSolveSplit);
    if (with_a) {
      AscendC::DataCopy(Get<kAHiL1, half>(), Get<kAHiUb, half>(), kChunk * kChunk);
      AscendC::DataCopy(Get<kALoL1, half>(), Get<kALoUb, half>(), kChunk * kChunk);
    }
    AscendC::DataCopy(Get<kInverseHiL1, half>(), hi, kChunk * kChunk);
    AscendC::DataCopy(Get<kInverseLoL1, half>(), lo, kChunk * kChunk);
    Handoff<AscendC::HardEvent::MTE3_MTE1>(kInverseInL1);
  }

  // Fills the block below each even diagonal block of `size` fractals.
  __aicore__ inline void Combine(uint32_t size) {
    const auto a_hi = Get<kAHiL1, half>();
    const auto a_lo = Get<kALoL1, half>();
    const auto u_hi = Get<kInverseHiL1, half>();
    const auto u_lo = Get<kInverseLoL1, half>();
    const auto t_hi = Get<kCombineHiL1, half>();
    const auto t_lo = Get<kCombineLoL1, half>();
    const auto product = Get<kCombine, float>();
    const uint32_t pairs = kT / (2 * size);
    const uint32_t block = size * size * kFractalElems;
    for (uint32_t p = 0; p < pairs; ++p) {
      const uint32_t first = 2 * p * size;
      Load(p, size, {a_hi, kT, first + size, first}, {a_lo, kT, first + size, first}, {u_hi, kT, first, first}, {u_lo, kT, first, first});
    }
    MultiplyPairs(pairs, size);
    CopyResult(product, Get<kSolveC, float>(), 1, pairs * size * size, 0, 0);
    VectorDone();
    SplitConsume(Get<kCombineHi, half>(), Get<kCombineLo, half>(), product, pairs * block);
    Handoff<AscendC::HardEvent::V_MTE3>(kSolveSplit);
    AscendC::DataCopy(t_hi, Get<kCombineHi, half>(), pairs * block);
    AscendC::DataCopy(t_lo, Get<kCombineLo, half>(), pairs * block);
    Handoff<AscendC::HardEvent::MTE3_MTE1>(kSolveInL1);
    for (uint32_t p = 0; p < pairs; ++p) {
      const uint32_t second = (2 * p + 1) * size;
      Load(p, size, {u_hi, kT, second, second}, {u_lo, kT, second, second}, {t_hi, size, 0, p * size}, {t_lo, size, 0, p * size});
    }
    MultiplyPairs(pairs, size);
    for (uint32_t p = 0; p < pairs; ++p) {
      const uint32_t first = 2 * p * size;
      CopyResult(Get<kInverse, float>()[(first * kT + first + size) * kFractalElems], Get<kSolveC, float>()[p * block], size, size, 0,
                 (kT - size) * kFractalElems / kFloatsPerBlock);
    }
    VectorDone();
  }

  __aicore__ inline void Load(uint32_t pair, uint32_t size, const NzBlock& a_hi, const NzBlock& a_lo, const NzBlock& b_hi, const NzBlock& b_lo) {
    const uint32_t at = pair * kThreeTerms * size * size * kFractalElems;
    LoadAThreeTerms(Get<kSolveOpA, half>()[at], a_hi, a_lo, size, size);
    LoadBThreeTerms(Get<kSolveOpB, half>()[at], b_hi, b_lo, size, size);
  }

  __aicore__ inline void MultiplyPairs(uint32_t pairs, uint32_t size) {
    Handoff<AscendC::HardEvent::MTE1_M>(kOperandsReady);
    for (uint32_t p = 0; p < pairs; ++p) {
      const uint32_t at = p * kThreeTerms * size * size * kFractalElems;
      Multiply(Get<kSolveC, float>()[p * size * size * kFractalElems], Get<kSolveOpA, half>()[at], Get<kSolveOpB, half>()[at], size, size,
               kThreeTerms * size, false);
    }
    Handoff<AscendC::HardEvent::M_V>(kProductReady);
  }

  template <uint32_t kId, typename T>
  __aicore__ inline LocalTensor<T> Get() {
    return chip_.template Get<kId, T>();
  }

  OnChip<Table>& chip_;
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_SOLVE_H_
