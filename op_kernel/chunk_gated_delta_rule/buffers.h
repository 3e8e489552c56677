// SPDX-License-Identifier: Apache-2.0
// Every on-chip buffer of the kernel: what it holds, how large, from which stage to which. Offsets follow from this table alone.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_BUFFERS_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_BUFFERS_H_

#include "../common/plan.h"
#include "tiling.h"

namespace chunk_gdr {

// The stages in the order a work item passes them; kSplit..kOutput repeat for each chunk (kStore before kSplit when chunk_state is
// written). The numbers are the ten trace ids that AscendC leaves to the user.
enum Stage : uint32_t {
  kEnter,     // state from GM (or zeros)
  kSplit,     // state -> fp16 hi + lo in L1
  kLoad,      // q, k, v, g, beta from GM; l2norm; k and q to L1
  kScores,    // segment sums, decays, M = (Q K^T) o D, A = -(beta K K^T) o D
  kSolve,     // U = (I - A)^-1
  kResidual,  // R = beta (V - e^G K S^T), V' = U R
  kVNew,      // V' and F V' -> fp16 hi + lo in L1
  kState,     // S = e^{G_n} S + (F V')^T K
  kOutput,    // out = scale (e^G Q S^T + M V')
  kStore,     // state to GM (final_state, chunk_state)
  kStageCount
};
constexpr const char* kStageNames[kStageCount] = {"Enter",    "Split", "Load",  "Scores", "Solve",
                                                  "Residual", "VNew",  "State", "Output", "Store"};

// The segment-sum product has 16 extra rows (each sums the whole chunk) and 16 extra columns (each sums from the first token).
constexpr uint32_t kSegRows = kChunk + kFractal;
constexpr uint32_t kGatePieces = 3;  // fp16 pieces of an fp32 gate: 33 bits
constexpr uint32_t kSegInner = kGatePieces * kChunk;
constexpr uint32_t kSegPitch = kSegRows + 1;  // odd: eight blocks of one repeat fall into eight bank groups
constexpr uint32_t kSubBlock = kFractal;      // rows of a diagonal block that is inverted in fp32
constexpr uint32_t kSubBlocks = kChunk / kSubBlock;
constexpr uint32_t kLanes = 8;                // floats of one block: the solve keeps one matrix per lane

enum Buffer : uint32_t {
  // UB, whole kernel
  kStateNz,       // S [v, k], NZ
  kCausalBias,    // [16, 16]: 0 on and below the diagonal, a large negative number above
  kGateMask,      // [BT+16, BT]: row j keeps the tokens after j; the last 16 rows keep all
  kOutRows,       // out [BT, v] in rows, on its way to GM
  // UB, by stage
  kSegConstUb,    // built once, kept in L1
  kStatusWord,
  kStateIn,       // state as it lies in GM
  kStateOut,      // state as it goes to GM
  kSplitRest,     // S - hi
  kStateHiUb, kStateLoUb,
  kKeyRows, kQueryRows, kValueRows,  // as in GM
  kGate, kBeta,                      // [BT]
  kNormTile, kNormHalf, kNormSum, kNormVectors,
  kKeyFactor, kQueryFactor,          // [BT, 16]: mantissa factor of the l2norm, else 1
  kGateWork, kGatePieces16, kGateOperandUb,
  kSegments,                         // E then D = exp(E), [BT+16, BT] NZ
  kDecay,                            // e^G as [BT, 16]; its last 16 rows are e^{G_n}
  kBetaFactor,                       // [BT, 16]: beta times the key factor
  kAFactor,                          // [BT, 16]: -beta times the key factor squared
  kKeyDecay,                         // [BT, 16]: e^G times the key factor
  kDecayToEnd,                       // [BT, 16]: F
  kScoresK, kScoresQ, kScoresHi, kScoresLo,
  kSolveA, kSolveX, kSolvePad,       // lanes-last [16][16][8]
  kAHiUb, kALoUb,
  kInverse, kInverseHi, kInverseLo, kInverseRest,
  kCombine, kCombineHi, kCombineLo,  // product of one level of the blocked inverse
  kResidualKs, kResidualR, kResidualHi, kResidualLo,
  kVNewTile, kVNewScaled, kVNewHi, kVNewLo, kVScaledHi, kVScaledLo,
  kStateDelta,
  kOutState, kOutScores,
  // L1
  kSegConstL1, kGateOperandL1, kKeyQueryL1, kStateHiL1, kStateLoL1,
  kScoresHiL1, kScoresLoL1, kAHiL1, kALoL1, kInverseHiL1, kInverseLoL1, kCombineHiL1, kCombineLoL1,
  kResidualHiL1, kResidualLoL1, kVNewHiL1, kVNewLoL1, kVScaledHiL1, kVScaledLoL1,
  // L0A
  kSegA, kKeyQueryA, kSolveOpA, kInverseA, kScoresA, kVScaledA,
  // L0B
  kSegB, kKeyB, kSolveOpB, kStateB, kResidualB, kVNewB, kKeyRowsB,
  // L0C
  kSegC, kScoresC, kSolveC, kKeyQueryStateC, kVNewC, kStateC, kOutC,
  kBufferCount
};

template <uint32_t kBucket>
constexpr __aicore__ BufferTable<kBufferCount> MakeBufferTable() {
  constexpr uint32_t T = kChunk, D = kBucket, W = kFractal;
  constexpr uint32_t kValuePitch = D + kFractal;  // rows of v may be padded by a block
  BufferTable<kBufferCount> t;
  const auto ub = [&t](Buffer id, const char* name, Dtype dtype, uint32_t rows, uint32_t cols, Stage first, Stage last) {
    t.rows[id] = {name, Memory::kUB, dtype, rows, cols, first, last};
  };
  const auto on = [&t](Buffer id, const char* name, Memory memory, uint32_t rows, uint32_t cols, Stage first, Stage last) {
    t.rows[id] = {name, memory, memory == Memory::kL0C ? Dtype::kFloat : Dtype::kHalf, rows, cols, first, last};
  };
  constexpr Dtype F = Dtype::kFloat, H = Dtype::kHalf;
  ub(kStateNz, "state", F, D, D, kEnter, kStore);
  ub(kCausalBias, "causal_bias", F, W, W, kEnter, kStore);
  ub(kGateMask, "gate_mask", H, kSegRows, T, kEnter, kStore);
  ub(kOutRows, "out_rows", H, T, kValuePitch, kEnter, kStore);
  ub(kSegConstUb, "seg_const_ub", H, kSegRows, kSegInner, kEnter, kEnter);
  ub(kStatusWord, "status", F, 1, 8, kEnter, kEnter);
  ub(kStateIn, "state_in", F, D, D, kEnter, kEnter);
  ub(kStateOut, "state_out", F, D, D, kStore, kStore);
  ub(kSplitRest, "split_rest", F, D, D, kSplit, kSplit);
  ub(kStateHiUb, "state_hi", H, D, D, kSplit, kSplit);
  ub(kStateLoUb, "state_lo", H, D, D, kSplit, kSplit);
  ub(kKeyRows, "key_rows", H, T, D, kLoad, kLoad);
  ub(kQueryRows, "query_rows", H, T, D, kLoad, kLoad);
  ub(kValueRows, "value_rows", H, T, kValuePitch, kLoad, kResidual);
  ub(kGate, "gate", F, 1, T, kLoad, kScores);
  ub(kBeta, "beta", F, 1, T, kLoad, kScores);
  ub(kNormTile, "norm_tile", F, T, D, kLoad, kLoad);
  ub(kNormHalf, "norm_half", H, T, D, kLoad, kLoad);
  ub(kNormSum, "norm_sum", F, T, W, kLoad, kLoad);
  ub(kNormVectors, "norm_vectors", F, 4, T, kLoad, kLoad);
  ub(kKeyFactor, "key_factor", F, T, W, kLoad, kScores);
  ub(kQueryFactor, "query_factor", F, T, W, kLoad, kOutput);
  ub(kGateWork, "gate_work", F, 2, T, kScores, kScores);
  ub(kGatePieces16, "gate_pieces", H, kGatePieces, T, kScores, kScores);
  ub(kGateOperandUb, "gate_operand", H, kSegPitch, kSegInner, kScores, kScores);
  ub(kSegments, "segments", F, kSegRows, T, kScores, kScores);
  ub(kDecay, "decay", F, kSegRows, W, kScores, kOutput);
  ub(kBetaFactor, "beta_factor", F, T, W, kScores, kResidual);
  ub(kAFactor, "a_factor", F, T, W, kScores, kScores);
  ub(kDecayToEnd, "decay_to_end", F, T, W, kScores, kVNew);
  ub(kKeyDecay, "key_decay", F, T, W, kScores, kResidual);
  ub(kScoresK, "scores_k", F, T, T, kScores, kSolve);
  ub(kScoresQ, "scores_q", F, T, T, kScores, kScores);
  ub(kScoresHi, "scores_hi", H, T, T, kScores, kScores);
  ub(kScoresLo, "scores_lo", H, T, T, kScores, kScores);
  ub(kSolveA, "solve_a", F, kSubBlock * kSubBlock, kLanes, kSolve, kSolve);
  ub(kSolveX, "solve_x", F, kSubBlock * kSubBlock, kLanes, kSolve, kSolve);
  ub(kSolvePad, "solve_pad", F, (kLanes - kSubBlocks) * kSubBlock, kSubBlock, kSolve, kSolve);
  ub(kAHiUb, "a_hi", H, T, T, kSolve, kSolve);
  ub(kALoUb, "a_lo", H, T, T, kSolve, kSolve);
  ub(kInverse, "inverse", F, T, T, kSolve, kSolve);
  ub(kInverseHi, "inverse_hi", H, T, T, kSolve, kSolve);
  ub(kInverseLo, "inverse_lo", H, T, T, kSolve, kSolve);
  ub(kInverseRest, "inverse_rest", F, T, T, kSolve, kSolve);
  ub(kCombine, "combine", F, T / 2, T / 2, kSolve, kSolve);
  ub(kCombineHi, "combine_hi", H, T / 2, T / 2, kSolve, kSolve);
  ub(kCombineLo, "combine_lo", H, T / 2, T / 2, kSolve, kSolve);
  ub(kResidualKs, "residual_ks", F, T, D, kResidual, kResidual);
  ub(kResidualR, "residual", F, T, D, kResidual, kResidual);
  ub(kResidualHi, "residual_hi", H, T, D, kResidual, kResidual);
  ub(kResidualLo, "residual_lo", H, T, D, kResidual, kResidual);
  ub(kVNewTile, "v_new", F, T, D, kVNew, kVNew);
  ub(kVNewScaled, "v_scaled", F, T, D, kVNew, kVNew);
  ub(kVNewHi, "v_new_hi", H, T, D, kVNew, kVNew);
  ub(kVNewLo, "v_new_lo", H, T, D, kVNew, kVNew);
  ub(kVScaledHi, "v_scaled_hi", H, T, D, kVNew, kVNew);
  ub(kVScaledLo, "v_scaled_lo", H, T, D, kVNew, kVNew);
  ub(kStateDelta, "state_delta", F, D, D, kState, kState);
  ub(kOutState, "out_state", F, T, D, kOutput, kOutput);
  ub(kOutScores, "out_scores", F, T, D, kOutput, kOutput);
  // The two sources of an instruction lie in different phases.
  constexpr Buffer kEvenRows[] = {kStateNz,   kScoresK,  kScoresQ,   kCausalBias, kInverse,
                                  kResidualR, kKeyDecay, kVNewTile, kOutState,   kNormTile};
  constexpr Buffer kOddRows[] = {kSplitRest,   kStateDelta, kSegments,    kDecay,     kAFactor,     kInverseRest,
                                 kResidualKs, kBetaFactor, kDecayToEnd, kOutScores, kQueryFactor, kNormSum};
  for (const Buffer id : kEvenRows) {
    t.rows[id].phase = Phase::kEven;
  }
  for (const Buffer id : kOddRows) {
    t.rows[id].phase = Phase::kOdd;
  }

  constexpr Memory L1 = Memory::kL1, A = Memory::kL0A, B = Memory::kL0B, C = Memory::kL0C;
  on(kSegConstL1, "seg_const", L1, kSegRows, kSegInner, kEnter, kStore);
  on(kGateOperandL1, "gate_operand_l1", L1, kSegRows, kSegInner, kScores, kScores);
  on(kKeyQueryL1, "key_query_l1", L1, 2 * T, D, kLoad, kState);
  on(kStateHiL1, "state_hi_l1", L1, D, D, kSplit, kResidual);
  on(kStateLoL1, "state_lo_l1", L1, D, D, kSplit, kResidual);
  on(kScoresHiL1, "scores_hi_l1", L1, T, T, kScores, kState);
  on(kScoresLoL1, "scores_lo_l1", L1, T, T, kScores, kState);
  on(kAHiL1, "a_hi_l1", L1, T, T, kSolve, kSolve);
  on(kALoL1, "a_lo_l1", L1, T, T, kSolve, kSolve);
  on(kInverseHiL1, "inverse_hi_l1", L1, T, T, kSolve, kResidual);
  on(kInverseLoL1, "inverse_lo_l1", L1, T, T, kSolve, kResidual);
  on(kCombineHiL1, "combine_hi_l1", L1, T / 2, T / 2, kSolve, kSolve);
  on(kCombineLoL1, "combine_lo_l1", L1, T / 2, T / 2, kSolve, kSolve);
  on(kResidualHiL1, "residual_hi_l1", L1, T, D, kResidual, kVNew);
  on(kResidualLoL1, "residual_lo_l1", L1, T, D, kResidual, kVNew);
  on(kVNewHiL1, "v_new_hi_l1", L1, T, D, kVNew, kState);
  on(kVNewLoL1, "v_new_lo_l1", L1, T, D, kVNew, kState);
  on(kVScaledHiL1, "v_scaled_hi_l1", L1, T, D, kVNew, kState);
  on(kVScaledLoL1, "v_scaled_lo_l1", L1, T, D, kVNew, kState);

  on(kSegA, "seg_a", A, kSegRows, kSegInner, kScores, kScores);
  on(kKeyQueryA, "key_query_a", A, 2 * T, D, kScores, kResidual);
  on(kSolveOpA, "solve_op_a", A, T / 2, 3 * T / 2, kSolve, kSolve);
  on(kInverseA, "inverse_a", A, T, 3 * T, kResidual, kVNew);
  on(kVScaledA, "v_scaled_a", A, D, 2 * T, kState, kState);
  on(kScoresA, "scores_a", A, T, 3 * T, kState, kState);

  on(kSegB, "seg_b", B, kSegInner, kSegRows, kScores, kScores);
  on(kKeyB, "key_b", B, D, T, kScores, kScores);
  on(kSolveOpB, "solve_op_b", B, 3 * T / 2, T / 2, kSolve, kSolve);
  on(kStateB, "state_b", B, 2 * D, D, kResidual, kResidual);
  on(kKeyRowsB, "key_rows_b", B, T, D, kState, kState);
  on(kResidualB, "residual_b", B, 3 * T, D, kVNew, kVNew);
  on(kVNewB, "v_new_b", B, 3 * T, D, kState, kState);

  on(kSegC, "seg_c", C, kSegRows, kSegRows, kScores, kScores);
  on(kScoresC, "scores_c", C, 2 * T, T, kScores, kScores);
  on(kSolveC, "solve_c", C, T / 2, T / 2, kSolve, kSolve);
  on(kKeyQueryStateC, "key_query_state_c", C, 2 * T, D, kResidual, kOutput);
  on(kVNewC, "v_new_c", C, T, D, kVNew, kVNew);
  on(kStateC, "state_c", C, D, D, kState, kState);
  on(kOutC, "out_c", C, T, D, kState, kOutput);
  return t;
}

template <uint32_t kBucket>
struct Buffers {
  static constexpr BufferTable<kBufferCount> kTable = MakeBufferTable<kBucket>();
  static constexpr Placement<kBufferCount> kPlace = Place(kTable);
  static_assert(Fits(kPlace), "the buffer table does not fit the chip");
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_BUFFERS_H_
