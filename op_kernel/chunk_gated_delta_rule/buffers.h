// SPDX-License-Identifier: Apache-2.0
// Every on-chip buffer of the kernel: what it holds, how large, from which stage to which. Offsets follow from this table alone.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_BUFFERS_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_BUFFERS_H_

#include "../common/plan.h"
#include "tiling.h"

namespace chunk_gdr {

// Three lanes run at once: while chunk c meets the state, what chunk c + 1 needs no state for is computed, and v of chunk c + 1 and k, q
// and the gates of chunk c + 2 are made ready. The numbers are the ten trace ids that AscendC leaves to the user.
enum Stage : uint32_t {
  // loader
  kLoad,      // q, k, v, g, beta from GM; k, q, v to L1; gate pieces; out to GM
  // intra-chunk
  kGates,     // masked gates, the operand of the segment sums
  kScores,    // decays, M = (Q K^T) o D, A = -(beta K K^T) o D
  kSplit,     // M and A as hi + lo
  kSolve,     // diagonal blocks of (I - A)^-1
  kCombine,   // U = (I - A)^-1 diag(beta), in the first half of the chunk's own time
  // inter-chunk
  kResidual,  // -e^G K S^T
  kCarry,     // e^G Q S^T and e^{G_n} S, what out and S are accumulated onto; state from and to GM
  kVNew,      // V' = U (V - e^G K S^T), F V'
  kState,     // S = e^{G_n} S + (F V')^T K, out = scale (e^G Q S^T + M V'); l2norm
  kStageCount
};
constexpr const char* kStageNames[kStageCount] = {"Load",    "Gates",    "Scores", "Split", "Solve",
                                                  "Combine", "Residual", "Carry",  "VNew",  "State"};

enum Lane : uint32_t { kLoaderLane, kIntraLane, kInterLane, kTile0Lane, kTile1Lane };
constexpr __aicore__ Lane LaneOf(uint32_t stage) { return stage < kGates ? kLoaderLane : stage < kResidual ? kIntraLane : kInterLane; }

constexpr uint32_t kBlocksPerSide = kChunk / kFractal;                          // of a [BT, BT] tile
constexpr uint32_t kLowerBlocks = kBlocksPerSide * (kBlocksPerSide + 1) / 2;    // on and below the diagonal
constexpr uint32_t kOffBlocks = kLowerBlocks - kBlocksPerSide;                  // below it
// The segment sums are two products of 0/1 rows with masked gates: 64 rows that sum up to a token, times 64 columns that sum from after a
// token and 16 that sum from the first; and 16 rows that sum the whole chunk over 64 that sum what follows a token, times the last 16.
constexpr uint32_t kSegCols = kChunk + kFractal;
constexpr uint32_t kTotalRows = kFractal + kChunk;
constexpr uint32_t kGatePieces = 2;  // fp16 pieces of an fp32 gate
constexpr uint32_t kSegInner = kGatePieces * kChunk;
constexpr uint32_t kSubBlock = kFractal;  // rows of a diagonal block that is inverted in fp32
constexpr uint32_t kLanes = 8;            // floats of one block: an element of each of the four diagonal blocks, twice over
constexpr uint32_t kL1Chunks = 3;         // chunks whose rows are in L1 at a time
constexpr uint32_t kHandovers = 2;        // chunks whose intra-chunk results are in L1 at a time
constexpr uint32_t kTiles = 2;            // slices of Dv that take turns on the queues
constexpr uint32_t kCubeSlots = 2;
constexpr uint32_t kSlotElems = kL0ABytes / kCubeSlots / 2;

// Columns of the wider of the two slices of Dv, and of a piece of the state's rows.
constexpr __aicore__ uint32_t TileCols(uint32_t bucket) { return RoundUp(CeilDiv(bucket, kTiles), kFractal); }
constexpr __aicore__ uint32_t PieceCols(uint32_t bucket) { return bucket <= kChunk ? bucket : TileCols(bucket); }

enum Buffer : uint32_t {
  // UB, whole kernel
  kCausalScale,   // [16, 16]: the mantissa of scale on and below the diagonal, 0 above
  kGateMask,      // [16, 16]: row j keeps the tokens after j
  kRows0,         // k rows, then v rows, as in GM
  kRows1,         // q rows
  kGate, kBeta,   // [BT]
  kVectors,       // per-token factors of the chunks on their way, see TokenVector
  kGateHalves,    // gate pieces of the chunks on their way
  kKeyDecay,      // [BT, 16]: -e^G times the key factor
  kQueryDecay,    // [BT, 16]: e^G times the query factor
  kDecayToEnd,    // [BT, 16]: F
  kChunkDecay,    // two repeats of e^{G_n}, one in either phase
  kOutRows,       // out [BT, tile] in rows, on its way to GM
  // loader
  kGateWork,
  // intra-chunk
  kGateOperandUb,
  kSegments,      // E, D = exp(E), then A below the diagonal: blocks on the diagonal, then those below it, strip by strip
  kDecays,        // e^G [BT, 16], e^{G_n} [16, 16], F [BT, 16]
  kFactors,       // [BT, 16]: -beta r^2, then the query factors
  kScoresK, kScoresQ,
  kDiagonalA,     // the diagonal blocks of A, a row apart
  // hi, then lo
  kScoresHalves,
  kAHalves,       // of A below the diagonal blocks
  kSolveA, kSolveX,  // [16][16][2][4] and [16][8][2][4], see tri_inverse.h
  kInverse, kInverseRest, kInverseHalves,
  kCombine32, kCombineHalves,
  kColumnFactors, // [4][64]: beta r of 16 tokens, four times over
  kHandoverFactors,  // the key factors [BT, 16], then the query factors
  // inter-chunk
  kConstantsUb,
  kNormTile, kNormSum, kNormVectors,
  kKeyState, kKeyState1, kKeyStateScaled, kKeyStateScaled1,
  kQueryState, kQueryStateScaled,
  kStatePiece, kStatePieceScaled,
  kVNew32, kVNew321, kVNewScaled, kVNewScaled1,
  kOutHalf, kOut32,
  // inter-chunk, of one slice each
  kResidualHi, kResidualHi1, kResidualLo, kResidualLo1,
  kVNewHi, kVNewHi1, kVScaledHi, kVScaledHi1, kVScaledLo, kVScaledLo1,
  kVNewLo, kVNewLo1,
  kStateHalf, kStateHalf1,  // hi, then lo
  // L1
  kUpToOnesL1, kTotalOnesL1, kMinusOneL1, kOneL1, kGateOperandL1, kKeyQueryL1, kValueL1,
  kScoresL1, kUL1, kAL1, kInverseL1, kCombineL1,
  kResidualHiL1, kResidualHiL1b, kResidualLoL1, kResidualLoL1b,
  kVNewHiL1, kVNewHiL1b, kVNewLoL1, kVNewLoL1b,
  kVScaledHiL1, kVScaledHiL1b, kVScaledLoL1, kVScaledLoL1b,
  kStateHiL1, kStateHiL1b, kStateLoL1, kStateLoL1b,
  // L0A, L0B
  kSlotsA, kSlotsB,
  // L0C
  kSegC, kTotalsC, kScoresC, kSolveC,
  kKeyStateC, kKeyStateC1,
  kOutC, kOutC1,      // e^G Q S^T, then out / scale
  kResidualC, kResidualC1,  // -e^G K S^T, then less its hi
  kVNewC, kVNewC1,
  kStateC, kStateC1,  // S [tile, k], between its chunks too
  kBufferCount
};

// Rows of kVectors; the first three of a chunk lie beside those of the chunk before it.
enum TokenVector : uint32_t { kBetaVector, kAVector, kKeyVector, kQueryVector, kTokenVectors };

template <uint32_t kBucket>
constexpr __aicore__ BufferTable<kBufferCount> MakeBufferTable() {
  constexpr uint32_t T = kChunk, D = kBucket, W = kFractal, V = TileCols(kBucket), P = PieceCols(kBucket);
  constexpr uint32_t kNorm = D * T;
  constexpr uint32_t kRepeatRows = kRepeatFloats / W;  // for each time a row is worked on in place
  BufferTable<kBufferCount> t;
  const auto ub = [&t](Buffer id, const char* name, Dtype dtype, uint32_t rows, uint32_t cols, Stage first, Stage last) {
    t.rows[id] = {name, Memory::kUB, dtype, rows, cols, first, last, LaneOf(first)};
  };
  const auto tile = [&t](uint32_t id, const char* name, const char* name1, uint32_t rows, uint32_t cols, Stage first, Stage last) {
    t.rows[id] = {name, Memory::kUB, Dtype::kHalf, rows, cols, first, last, kTile0Lane};
    t.rows[id + 1] = {name1, Memory::kUB, Dtype::kHalf, rows, cols, first, last, kTile1Lane};
  };
  const auto on = [&t](uint32_t id, const char* name, Memory memory, uint32_t rows, uint32_t cols) {
    t.rows[id] = {name, memory, memory == Memory::kL0C ? Dtype::kFloat : Dtype::kHalf, rows, cols, kLoad, kState};
  };
  constexpr Dtype F = Dtype::kFloat, H = Dtype::kHalf;
  ub(kCausalScale, "causal_scale", F, W, W, kLoad, kState);
  ub(kGateMask, "gate_mask", H, W, W, kLoad, kState);
  ub(kRows0, "key_or_value_rows", H, T, D, kLoad, kState);
  ub(kRows1, "query_rows", H, T, D, kLoad, kState);
  ub(kGate, "gate", F, 1, T, kLoad, kState);
  ub(kBeta, "beta", F, 1, T, kLoad, kState);
  ub(kVectors, "token_vectors", F, kHandovers * kTokenVectors, T, kLoad, kState);
  ub(kGateHalves, "gate_pieces", H, kHandovers * kGatePieces, T, kLoad, kState);
  ub(kKeyDecay, "key_decay", F, T, W, kLoad, kState);
  ub(kQueryDecay, "query_decay", F, T, W, kLoad, kState);
  ub(kDecayToEnd, "decay_to_end", F, T, W, kLoad, kState);
  ub(kChunkDecay, "chunk_decay", F, 2, T, kLoad, kState);
  ub(kOutRows, "out_rows", H, T, V + W, kLoad, kState);
  ub(kGateWork, "gate_work", F, 3, T, kLoad, kLoad);

  ub(kGateOperandUb, "gate_operand", H, kSegCols, kSegInner, kGates, kGates);
  ub(kSegments, "segments", F, kLowerBlocks * W + kRepeatRows, W, kScores, kSplit);
  ub(kDecays, "decays", F, 2 * T + W + kRepeatRows, W, kScores, kSolve);
  ub(kFactors, "a_factors", F, T, W, kScores, kScores);
  ub(kScoresK, "scores_k", F, kLowerBlocks * W + kRepeatRows, W, kScores, kScores);
  ub(kDiagonalA, "a_diagonal", F, kBlocksPerSide * (W + 2), W, kScores, kSplit);
  ub(kScoresQ, "scores_q", F, kLowerBlocks * W + kRepeatRows, W, kScores, kSplit);
  ub(kScoresHalves, "scores_halves", H, 2 * kLowerBlocks * W, W, kSplit, kSolve);
  ub(kAHalves, "a_halves", H, 2 * kOffBlocks * W, W, kSplit, kSolve);
  ub(kSolveA, "solve_a", F, kSubBlock * kSubBlock, kLanes, kSplit, kSolve);
  ub(kSolveX, "solve_x", F, kSubBlock * kSubBlock / 2, kLanes, kSplit, kSolve);
  ub(kInverse, "inverse", F, kLowerBlocks * W + 2 * kBlocksPerSide, W, kSolve, kCombine);
  ub(kInverseRest, "inverse_rest", F, kLowerBlocks * W + 2 * kBlocksPerSide, W, kCombine, kCombine);
  ub(kInverseHalves, "inverse_halves", H, 2 * (kLowerBlocks * W + 2 * kBlocksPerSide), W, kCombine, kCombine);
  ub(kCombine32, "combine", F, T / 2, T / 2, kCombine, kCombine);
  ub(kCombineHalves, "combine_halves", H, T, T / 2, kCombine, kCombine);
  ub(kColumnFactors, "column_factors", F, kBlocksPerSide, T, kCombine, kCombine);
  ub(kHandoverFactors, "handover_factors", F, 2 * T, W, kSolve, kSolve);

  ub(kConstantsUb, "constants_ub", H, kTotalRows, T, kState, kState);
  ub(kNormTile, "norm_tile", F, kNorm / W, W, kState, kState);
  ub(kNormSum, "norm_sum", F, T, W, kState, kState);
  ub(kNormVectors, "norm_vectors", F, 4, T, kState, kState);
  ub(kKeyState, "key_state", F, T, V, kResidual, kResidual);
  ub(kKeyState1, "key_state_1", F, T, V, kResidual, kResidual);
  ub(kKeyStateScaled, "key_state_scaled", F, T, V, kResidual, kResidual);
  ub(kKeyStateScaled1, "key_state_scaled_1", F, T, V, kResidual, kResidual);
  ub(kQueryState, "query_state", F, T, V, kCarry, kCarry);
  ub(kQueryStateScaled, "query_state_scaled", F, T, V, kCarry, kCarry);
  ub(kStatePiece, "state_piece", F, V, P, kCarry, kCarry);
  ub(kStatePieceScaled, "state_piece_scaled", F, V, P, kCarry, kCarry);
  ub(kVNew32, "v_new", F, T, V, kVNew, kVNew);
  ub(kVNew321, "v_new_1", F, T, V, kVNew, kVNew);
  ub(kVNewScaled, "v_scaled", F, T, V, kVNew, kVNew);
  ub(kVNewScaled1, "v_scaled_1", F, T, V, kVNew, kVNew);
  ub(kOutHalf, "out_half", H, T, V, kLoad, kState);
  ub(kOut32, "out_32", F, T, V, kState, kState);
  tile(kResidualHi, "residual_hi", "residual_hi_1", T, V, kResidual, kResidual);
  tile(kResidualLo, "residual_lo", "residual_lo_1", T, V, kCarry, kCarry);
  tile(kVNewHi, "v_new_hi", "v_new_hi_1", T, V, kVNew, kVNew);
  tile(kVScaledHi, "v_scaled_hi", "v_scaled_hi_1", T, V, kVNew, kVNew);
  tile(kVScaledLo, "v_scaled_lo", "v_scaled_lo_1", T, V, kVNew, kVNew);
  tile(kVNewLo, "v_new_lo", "v_new_lo_1", T, V, kState, kState);
  tile(kStateHalf, "state_half", "state_half_1", V, D, kState, kState);
  // The two sources of an instruction lie in different phases, its destination in another quarter. The gate operand is written while the
  // halves of U are still on their way to L1: it lies in another quarter too.
  constexpr Buffer kEvenRows[] = {kSolveX, kCausalScale, kInverse, kKeyState, kKeyState1, kQueryState, kStatePiece,
                                  kVNew32, kVNew321, kNormTile, kDecays, kFactors};
  constexpr Buffer kOddRows[] = {kSolveA, kScoresK, kScoresQ, kSegments, kKeyDecay, kQueryDecay, kDecayToEnd, kColumnFactors,
                                 kHandoverFactors, kNormSum};
  for (const Buffer id : kEvenRows) {
    t.rows[id].phase = Phase::kEven;
  }
  for (const Buffer id : kOddRows) {
    t.rows[id].phase = Phase::kOdd;
  }
  t.rows[kChunkDecay].phase = Phase::kEven;
  constexpr Buffer kFirstQuarter[] = {kGateOperandUb, kScoresK, kScoresQ, kSolveA, kSolveX, kRows0, kRows1};
  constexpr Buffer kSecondQuarter[] = {kKeyState, kKeyState1, kQueryState, kStatePiece, kVNew32,
                                       kVNew321,  kOutRows,   kNormTile,   kSegments,   kDecays};
  constexpr Buffer kThirdQuarter[] = {kKeyStateScaled, kKeyStateScaled1, kQueryStateScaled, kStatePieceScaled, kVNewScaled,
                                      kVNewScaled1,    kOut32,           kNormSum,          kNormVectors,      kConstantsUb,
                                      kScoresHalves,   kInverseHalves,   kDiagonalA};
  for (const Buffer id : kFirstQuarter) {
    t.rows[id].quarter = 0;
  }
  for (const Buffer id : kSecondQuarter) {
    t.rows[id].quarter = 1;
  }
  for (const Buffer id : kThirdQuarter) {
    t.rows[id].quarter = 2;
  }
  for (uint32_t id = kResidualHi; id <= kStateHalf1; ++id) {
    t.rows[id].quarter = 3;
  }

  constexpr Memory L1 = Memory::kL1, C = Memory::kL0C;
  on(kUpToOnesL1, "up_to_ones", L1, T, kSegInner);
  on(kTotalOnesL1, "total_ones", L1, kTotalRows, kSegInner);
  on(kMinusOneL1, "minus_one", L1, T, T);
  on(kOneL1, "one", L1, T, T);
  on(kGateOperandL1, "gate_operand_l1", L1, kSegCols, kSegInner);
  on(kKeyQueryL1, "key_query_l1", L1, kL1Chunks * 2 * T, D);
  on(kValueL1, "value_l1", L1, kL1Chunks * T, D);
  on(kScoresL1, "scores_l1", L1, kHandovers * 2 * T, T);  // hi, then lo
  on(kUL1, "u_l1", L1, kHandovers * 2 * T, T);
  on(kAL1, "a_l1", L1, 2 * T, T);
  on(kInverseL1, "inverse_l1", L1, 2 * T, T);
  on(kCombineL1, "combine_l1", L1, T, T / 2);
  const auto both = [&on](uint32_t id, const char* name, const char* name1, Memory memory, uint32_t rows, uint32_t cols) {
    on(id, name, memory, rows, cols);
    on(id + 1, name1, memory, rows, cols);
  };
  both(kResidualHiL1, "residual_hi_l1", "residual_hi_l1_1", L1, T, V);
  both(kResidualLoL1, "residual_lo_l1", "residual_lo_l1_1", L1, T, V);
  both(kVNewHiL1, "v_new_hi_l1", "v_new_hi_l1_1", L1, T, V);
  both(kVNewLoL1, "v_new_lo_l1", "v_new_lo_l1_1", L1, T, V);
  both(kVScaledHiL1, "v_scaled_hi_l1", "v_scaled_hi_l1_1", L1, T, V);
  both(kVScaledLoL1, "v_scaled_lo_l1", "v_scaled_lo_l1_1", L1, T, V);
  both(kStateHiL1, "state_hi_l1", "state_hi_l1_1", L1, V, D);
  both(kStateLoL1, "state_lo_l1", "state_lo_l1_1", L1, V, D);
  on(kSlotsA, "slots_a", Memory::kL0A, kCubeSlots, kSlotElems);
  on(kSlotsB, "slots_b", Memory::kL0B, kCubeSlots, kSlotElems);
  on(kSegC, "segments_c", C, T, kSegCols);
  on(kTotalsC, "totals_c", C, kTotalRows, W);
  on(kScoresC, "scores_c", C, 2 * T, T);
  on(kSolveC, "solve_c", C, T / 2, T / 2);
  both(kKeyStateC, "key_state_c", "key_state_c_1", C, T, V);
  both(kOutC, "out_c", "out_c_1", C, T, V);
  both(kResidualC, "residual_c", "residual_c_1", C, T, V);
  both(kVNewC, "v_new_c", "v_new_c_1", C, T, V);
  both(kStateC, "state_c", "state_c_1", C, V, D);
  return t;
}

template <uint32_t kBucket>
struct Buffers {
  static constexpr uint32_t kBucketDim = kBucket;
  static constexpr BufferTable<kBufferCount> kTable = MakeBufferTable<kBucket>();
  static constexpr Placement<kBufferCount> kPlace = Place(kTable);
  static_assert(Fits(kPlace), "the buffer table does not fit the chip");
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_BUFFERS_H_
