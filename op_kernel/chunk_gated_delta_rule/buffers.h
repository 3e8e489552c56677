// SPDX-License-Identifier: Apache-2.0
// Every on-chip buffer of the kernel: what it holds, how large, from which stage to which. Offsets follow from this table alone.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_BUFFERS_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_BUFFERS_H_

#include "../common/plan.h"
#include "state_layout.h"
#include "tiling.h"

namespace chunk_gdr {

// Four chunks are on their way at once: while chunk c meets the state, T and P of chunk c + 1 are put together, scores, decays and diagonal
// blocks of chunk c + 2 are computed, and rows and gates come from GM. Stages that run beside one another are in different lanes: rows of
// different lanes never share bytes. Those of a lane follow one another, so its rows may; masked gates and P take turns in one place, and
// are a lane of their own for that. A Cube job counts as the stage that its operands come from. The numbers are the ten trace ids that
// AscendC leaves to the user.
enum Stage : uint32_t {
  // loader
  kLoad,      // q, k, v, g, beta from GM; k, q, v to L1; gate pieces; out to GM
  // weights lane
  kOutWeight,  // P = (Q K^T T) o D
  kGates,      // masked gates, the operand of the segment sums
  // scores lane
  kScores,    // K K^T and Q K^T as hi + lo; decays
  kSolve,     // diagonal blocks of (I - A)^-1; row and column factors
  // combine lane
  kCombine,   // T = (I - A)^-1 diag(f)
  // inter-chunk lane
  kResidual,  // -e^G K S^T, then Y = s/p (V - e^G K S^T), as hi + lo
  kCarry,     // e^G Q S^T and e^{G_n} S, what out and S are accumulated onto; state from and to GM
  kVNew,      // F V' / p = T Y as hi + lo
  kState,     // S = p (e^{G_n}/p S + (F V' / p)^T K), out = e^G Q S^T + P (V - e^G K S^T); l2norm
  kStageCount
};
constexpr const char* kStageNames[kStageCount] = {"Load",    "OutWeight", "Gates",    "Scores", "Solve",
                                                  "Combine", "Residual", "Carry",     "VNew",   "State"};

enum Lane : uint32_t { kLoaderLane, kWeightsLane, kScoresLane, kCombineLane, kInterLane };
constexpr __aicore__ Lane LaneOf(uint32_t stage) {
  return stage < kOutWeight  ? kLoaderLane
         : stage < kScores   ? kWeightsLane
         : stage < kCombine  ? kScoresLane
         : stage < kResidual ? kCombineLane
                             : kInterLane;
}

constexpr uint32_t kBlocksPerSide = kChunk / kFractal;                          // of a [BT, BT] tile
constexpr uint32_t kLowerBlocks = kBlocksPerSide * (kBlocksPerSide + 1) / 2;    // on and below the diagonal
constexpr uint32_t kOffBlocks = kLowerBlocks - kBlocksPerSide;                  // below it
// The segment sums are a product of 0/1 rows with masked gates: 64 rows that sum up to a token and 16 that sum the whole chunk, times 16
// columns that sum from the first token and 64 that sum from after a token.
constexpr uint32_t kSegSide = kChunk + kFractal;
constexpr uint32_t kGatePieces = 2;  // fp16 pieces of an fp32 gate
constexpr uint32_t kSegInner = kGatePieces * kChunk;
constexpr uint32_t kSubBlock = kFractal;  // rows of a diagonal block that is inverted in fp32
constexpr uint32_t kLanes = 8;            // floats of one block: an element of each of the four diagonal blocks, twice over
constexpr uint32_t kL1Chunks = 3;         // chunks whose rows are in L1 at a time
constexpr uint32_t kParities = 2;        // chunks whose results of one lane wait for the next at a time
constexpr uint32_t kSlices = 2;            // slices of Dv that take turns on the queues
// v-heads of a k-head that take turns on a core, whose states are on chip at a time. S in rows fills UB.
constexpr __aicore__ uint32_t StatesOnChip(StateLayout layout) { return layout == StateLayout::kNz ? 2 : 1; }
constexpr uint32_t kTurns = 2;            // chunk-parallel: chunks that the inter-chunk lane runs in a round,
constexpr uint32_t kL1Rounds = 2;         // rounds whose rows are in L1 at a time,
constexpr uint32_t kTurnRows = 3 * kChunk;  // and those rows: k, q, v
// The factors in a slot, fp32: -e^G as [BT, 8], 128 times e^{G_n} / p, a block of p and one of u (detour.h).
constexpr uint32_t kDecayAt = kChunk * kBlockBytes / 4;
constexpr uint32_t kPowersAt = kDecayAt + 2 * kRepeatFloats;
constexpr uint32_t kFactorElems = kPowersAt + 2 * kBlockBytes / 4;
constexpr uint32_t kCubeSlots = 2;
constexpr uint32_t kL0SlotElems = kL0ABytes / kCubeSlots / 2;
// From one diagonal block of a list to the next where they lie apart: a transposition that reaches for all of them meets different bank
// groups.
constexpr uint32_t kSpreadPitch = kFractalElems + 2 * kFractal;

static_assert(kChunk == kRepeatFloats, "a vector of tokens is one repeat");
static_assert(kSlices == 2, "a row of slice 1 follows that of slice 0");
static_assert(2 * kBlocksPerSide * (kMaxHeadDim / kFractal) * kFractalElems <= kL0SlotElems, "[K; Q] has to fit a slot of L0A");
static_assert(kAiCores * kBlockBytes <= 2 * kChunk * sizeof(float), "SyncAll takes gate_work for its flags");
static_assert(kOffBlocks * kFractalElems <= kSubBlock * kSubBlock * kLanes, "a detour takes solve_a for scores");
static_assert(kBlocksPerSide * kFractalElems <= kSubBlock * kSubBlock / 2 * kLanes, "the combine lane takes scaled_x for products");

// Columns of the wider of the two slices of an item's columns of Dv, and, with kNz, of a piece of the state's rows.
constexpr __aicore__ uint32_t SliceCols(uint32_t v_cols) { return RoundUp(CeilDiv(v_cols, kSlices), kFractal); }
constexpr __aicore__ uint32_t PieceCols(uint32_t bucket) { return bucket <= kChunk ? bucket : SliceCols(bucket); }
constexpr __aicore__ uint32_t OtherSliceCols(uint32_t v_cols) { return v_cols - SliceCols(v_cols); }
// Floats from one row of the state to the next, with kNd. An odd number of blocks, so that rows lie in different bank groups.
constexpr __aicore__ uint32_t StatePitch(uint32_t k_dim) { return k_dim + kBlockBytes / sizeof(float); }

// Chunk-parallel: the rows of out of two chunks share the room of one chunk of the whole bucket.
constexpr __aicore__ bool FitsTwoChunks(uint32_t bucket, uint32_t v_cols) {
  const uint32_t strips = v_cols / kFractal;
  return (strips | 1) + strips <= bucket / kFractal + 1;
}

enum Buffer : uint32_t {
  // UB, whole kernel
  kGateMask,      // [16, 16] fp16: row j keeps the tokens after j
  kIdentity,      // [16, 16] fp16
  kRows0,         // k rows, then v rows, as in GM; chunk-parallel: halves of P of every other chunk, then hi of T on its way to GM
  kRows1,         // q rows; chunk-parallel: those of the others, then lo of T
  kGate, kBeta,   // [BT]
  kVectors,       // per-token factors of the chunks on their way, see TokenVector
  kGateHalves,    // gate pieces
  kKeyDecay,      // [BT, 16]: -e^G times the key factor
  kQueryDecay,    // [BT, 16]: e^G times the query factor and the mantissa of scale
  kChunkDecay,    // two repeats of e^{G_n} / p, one in either phase; p: see decays.h
  kPowers,        // p and u of the chunks of a round from their slots, a block each
  kShiftDiagonal,  // the diagonal blocks of diag(s / p), fp16
  kSolveX,        // [16][8][2][4], see tri_inverse.h
  kColumnLanes,   // column factors of T and of L in the order of kSolveX
  kOutDecay,      // D beta r scale / f below and on the diagonal, of the next chunk
  kOutRows,       // out in rows, on its way to GM
  // loader
  kGateWork,      // chunk-parallel also the flags of SyncAll
  // weights
  kGateOperand0, kGateOperand1,  // of either gate piece
  kOutWeight32, kOutWeightHalves,
  // scores
  kSegments,      // sizes of scores; E, then D = exp(E): blocks on the diagonal, then those below it, strip by strip
  kDecays,        // e^G [BT, 16], e^{G_n} [16, 16]
  kDiagonalGram,  // the diagonal blocks of K K^T, kSpreadPitch apart
  kGramHalves,    // K K^T below the diagonal blocks, hi, then lo in its place
  kQueryKeyHalves,  // Q K^T on and below the diagonal, likewise
  kSolveA,        // [16][16][2][4]; on a detour scores in fp32, before it is made again
  kRowLanes,      // row factors of A in the order of kSolveA
  kDecayVectors,  // [BT] each, see DecayVector
  kDecayColumns,  // [4][64]: beta r scale / f of 16 tokens, four times over
  kScaledX,       // kSolveX with the columns of T; those of L take its own place; then products, on a detour factors of rows
  // combine
  kDiagonals,     // the diagonal blocks of T, then of L, kSpreadPitch apart; on a detour rows of T in fp32
  kDiagonalHalves,  // hi of both, then lo of both
  kCombineHalves,   // hi, then lo
  // inter-chunk
  kConstantsUb,
  kNormTile, kNormSum, kNormVectors,
  kFetched,  // a piece from L0C; kNd: (F V')^T K of a slice, or lo of the state of both
  kScaled, kScaled1,  // it with its factors on its way back; kNd: a slice of S in NZ
  kSliceHalves, kSliceHalves1,  // hi, then lo, of the rows of a slice; a half of its state; a piece of S / p in fp32
  kStateRows,     // kNd: S in rows, between its chunks too
  kStateDecay,    // kNd: e^{G_n}, so often that a block of S, wherever its bank group, finds one in another
  // L1
  kUpToOnesL1, kMinusOneL1, kOneL1, kGateOperandL1, kKeyQueryL1, kValueL1,
  kGramL1, kQueryKeyL1, kTL1, kLL1, kCombineL1, kOutWeightL1, kShiftL1,
  kRowDecayL1,  // fp32: F of a chunk on a detour
  kRowsL1, kRowsL1b,  // of a slice, one after the other: -e^G K S^T, Y, F V'; hi, then lo
  kStateHiL1, kStateHiL1b, kStateLoL1, kStateLoL1b,
  kTurnRowsL1, kSlotTL1, kSlotOutWeightL1, kSlotShiftL1, kSlotFactorsL1,  // chunk-parallel, of each turn
  // L0A, L0B
  kSlotsA, kSlotsB,
  // L0C
  kSegC, kGramC, kQueryKeyC, kSolveC, kOutWeightC,
  kRowsC, kRowsC1,    // of a slice, one after the other: K S^T, -e^G K S^T, Y, F V'
  kOutC, kOutC1,      // e^G Q S^T, then out, both but for the power of two of scale and u
  kStateC, kStateC1,  // kNz: S [tile, k], between its chunks too, S / p for a while; kNd: (F V')^T K
  kBufferCount
};

// Rows of kVectors.
enum TokenVector : uint32_t { kBetaVector, kAVector, kKeyVector, kQueryVector, kTokenVectors };

// Rows of kDecayVectors: beta_j r_j F_j = s_j f_j with s a power of two; see decays.h.
enum DecayVector : uint32_t { kWeight, kShift, kMantissa, kInRange, kOutOfRange, kColumnOfP, kDecayVectorCount };

// For items of at most `v_cols` columns of Dv. Rows that a layout has no use for are empty.
template <uint32_t kBucket, StateLayout kLayout, uint32_t kVCols>
constexpr __aicore__ BufferTable<kBufferCount> MakeBufferTable() {
  constexpr bool kNd = kLayout == StateLayout::kNd, kChunkParallel = RunsChunkParallel(kLayout);
  constexpr uint32_t T = kChunk, D = kBucket, W = kFractal, P = kNd ? D : PieceCols(kBucket);
  constexpr uint32_t V = SliceCols(kVCols), V1 = kNd ? OtherSliceCols(kVCols) : V;
  constexpr uint32_t kStates = StatesOnChip(kLayout);
  constexpr uint32_t kNorm = D * T;
  constexpr uint32_t kStagedCols = 3 * kLowerBlocks * kFractalElems / T;
  constexpr uint32_t kRowCols = kChunkParallel && D < kStagedCols ? kStagedCols : D;
  constexpr uint32_t kPieceRows = V * P > T * V ? V * P / W : T * V / W;
  constexpr uint32_t kHalves = 2 * T > D ? 2 * T : D;
  static_assert(kNd || 2 * P <= kHalves, "a piece of a slice of S passes where its halves are, in fp32");
  static_assert(!kChunkParallel || 2 * T <= kHalves, "-e^G K S^T is in fp32 where the halves of the slice are that there is not");
  static_assert(!kChunkParallel || !FitsTwoChunks(D, SliceCols(D) + W), "chunk-parallel, an item is no wider than a slice");
  constexpr uint32_t kRepeatRows = kRepeatFloats / W;  // for each time a row is worked on in place
  BufferTable<kBufferCount> t;
  const auto ub = [&t](uint32_t id, const char* name, Dtype dtype, uint32_t rows, uint32_t cols, Stage first, Stage last) {
    t.rows[id] = {name, Memory::kUB, dtype, rows, cols, first, last, LaneOf(first)};
  };
  const auto on = [&t](uint32_t id, const char* name, Memory memory, uint32_t rows, uint32_t cols) {
    t.rows[id] = {name, memory, memory == Memory::kL0C ? Dtype::kFloat : Dtype::kHalf, rows, cols, kLoad, kState};
  };
  constexpr Dtype F = Dtype::kFloat, H = Dtype::kHalf;
  ub(kGateMask, "gate_mask", H, W, W, kLoad, kState);
  ub(kIdentity, "identity", H, W, W, kLoad, kState);
  ub(kRows0, "key_or_value_rows", H, T, kRowCols, kLoad, kState);
  ub(kRows1, "query_rows", H, T, kRowCols, kLoad, kState);
  ub(kGate, "gate", F, 1, T, kLoad, kState);
  ub(kBeta, "beta", F, 1, T, kLoad, kState);
  ub(kVectors, "token_vectors", F, kParities * kTokenVectors, T, kLoad, kState);
  ub(kGateHalves, "gate_pieces", H, kGatePieces, T, kLoad, kState);
  ub(kKeyDecay, "key_decay", F, T, W, kLoad, kState);
  ub(kQueryDecay, "query_decay", F, T, W, kLoad, kState);
  ub(kChunkDecay, "chunk_decay", F, 2, T, kLoad, kState);
  ub(kPowers, "powers", F, kTurns, 2 * kBlockBytes / 4, kLoad, kState);
  ub(kShiftDiagonal, "shift_diagonal", H, kBlocksPerSide * W, W, kLoad, kState);
  ub(kSolveX, "solve_x", F, kSubBlock * kSubBlock / 2, kLanes, kLoad, kState);
  ub(kColumnLanes, "column_lanes", F, kSubBlock, kLanes, kLoad, kState);
  ub(kOutDecay, "out_decay", F, kLowerBlocks * W, W, kLoad, kState);
  ub(kOutRows, "out_rows", H, T, kChunkParallel ? D + W : (kVCols / W | 1) * W, kLoad, kState);  // also of two chunks: FitsTwoChunks
  ub(kGateWork, "gate_work", F, 2, T, kLoad, kLoad);

  ub(kGateOperand0, "gate_operand", H, kSegSide, kChunk, kGates, kGates);
  ub(kGateOperand1, "gate_operand_1", H, kSegSide, kChunk, kGates, kGates);
  ub(kSegments, "segments", F, kLowerBlocks * W + kRepeatRows, W, kScores, kSolve);
  ub(kDecays, "decays", F, kSegSide + kRepeatRows, W, kScores, kSolve);
  ub(kDiagonalGram, "gram_diagonal", F, kBlocksPerSide * kSpreadPitch / W, W, kScores, kSolve);
  ub(kGramHalves, "gram_halves", H, kOffBlocks * W, W, kScores, kSolve);
  ub(kQueryKeyHalves, "query_key_halves", H, kLowerBlocks * W, W, kScores, kSolve);
  ub(kSolveA, "solve_a", F, kSubBlock * kSubBlock, kLanes, kScores, kSolve);
  ub(kRowLanes, "row_lanes", F, kSubBlock, kLanes, kScores, kSolve);
  ub(kScaledX, "scaled_x", F, kSubBlock * kSubBlock / 2, kLanes, kCombine, kCombine);
  ub(kDecayVectors, "decay_vectors", F, kDecayVectorCount, T, kScores, kSolve);
  ub(kDecayColumns, "decay_columns", F, kBlocksPerSide, T, kScores, kSolve);

  ub(kDiagonals, "diagonals", F, 2 * kBlocksPerSide * kSpreadPitch / W, W, kCombine, kCombine);
  ub(kDiagonalHalves, "diagonal_halves", H, 4 * kBlocksPerSide * kSpreadPitch / W, W, kCombine, kCombine);
  ub(kCombineHalves, "combine_halves", H, 2 * kBlocksPerSide * W, W, kCombine, kCombine);
  ub(kOutWeight32, "out_weight", F, kLowerBlocks * W + kRepeatRows, W, kOutWeight, kOutWeight);
  ub(kOutWeightHalves, "out_weight_halves", H, 2 * kLowerBlocks * W, W, kOutWeight, kOutWeight);

  // kNd: out has left norm_tile before F V' comes, and the state then takes the place of all that is dead in kCarry.
  ub(kConstantsUb, "constants_ub", H, kSegSide, T, kNd ? kVNew : kCarry, kNd ? kVNew : kCarry);
  ub(kNormTile, "norm_tile", F, kNorm / W, W, kNd ? kState : kVNew, kState);
  ub(kNormSum, "norm_sum", F, T, W, kState, kState);
  ub(kNormVectors, "norm_vectors", F, 4, T, kState, kState);
  ub(kFetched, "fetched", F, kPieceRows + (kNd ? kRepeatRows : 0), W, kResidual, kCarry);
  ub(kScaled, "scaled", F, kPieceRows, W, kResidual, kCarry);
  ub(kScaled1, "scaled_1", F, kNd ? V1 : 0, D, kResidual, kCarry);
  ub(kStateDecay, "state_decay", F, kNd ? 4 : 0, T, kResidual, kState);
  ub(kSliceHalves, "slice_halves", H, kHalves, V, kResidual, kState);
  ub(kSliceHalves1, "slice_halves_1", H, kHalves, V1, kResidual, kState);
  ub(kStateRows, "state_rows", F, kNd ? kVCols : 0, StatePitch(D), kLoad, kState);
  // The two sources of an instruction lie in different phases, its destination in another quarter.
  constexpr Buffer kEvenRows[] = {kSolveX, kFetched, kNormTile, kDecays, kSegments, kOutWeight32, kOutDecay, kChunkDecay};
  constexpr Buffer kOddRows[] = {kScaledX, kSolveA, kKeyDecay, kQueryDecay, kDecayColumns, kNormSum};
  for (const Buffer id : kEvenRows) {
    t.rows[id].phase = Phase::kEven;
  }
  for (const Buffer id : kOddRows) {
    t.rows[id].phase = Phase::kOdd;
  }
  if (kNd) {
    t.rows[kScaled].phase = Phase::kEven;
    t.rows[kScaled1].phase = Phase::kEven;
    t.rows[kChunkDecay].phase = Phase::kAny;  // these two meet no other source here, and UB is full
    t.rows[kDecays].phase = Phase::kAny;
  }
  constexpr Buffer kFirstQuarter[] = {kSolveA, kSolveX, kScaledX, kRows0, kOutRows};
  constexpr Buffer kSecondQuarter[] = {kFetched, kConstantsUb, kNormTile, kSegments, kDecays};
  constexpr Buffer kThirdQuarter[] = {kScaled,         kNormSum,         kNormVectors,  kOutDecay,     kDiagonals,
                                      kQueryKeyHalves, kOutWeightHalves, kGateOperand1, kCombineHalves};
  constexpr Buffer kFourthQuarter[] = {kSliceHalves, kSliceHalves1, kDiagonalHalves, kOutWeight32, kGateOperand0, kDiagonalGram};
  for (const Buffer id : kFirstQuarter) {
    t.rows[id].quarter = 0;
  }
  for (const Buffer id : kSecondQuarter) {
    t.rows[id].quarter = 1;
  }
  for (const Buffer id : kThirdQuarter) {
    t.rows[id].quarter = 2;
  }
  for (const Buffer id : kFourthQuarter) {
    t.rows[id].quarter = 3;
  }
  if (kNd) {
    t.rows[kScaled1].quarter = 2;
    t.rows[kStateRows].quarter = 0;
    t.rows[kRows0].quarter = kAnyQuarter;  // only an l2norm would gain, and the rows of S need the room
  }

  constexpr Memory L1 = Memory::kL1, C = Memory::kL0C;
  const auto both = [&on](uint32_t id, const char* name, const char* name1, Memory memory, uint32_t rows, uint32_t cols) {
    on(id, name, memory, rows, cols);
    on(id + 1, name1, memory, rows, cols);
  };
  on(kUpToOnesL1, "up_to_ones", L1, kSegSide, kSegInner);
  on(kMinusOneL1, "minus_one", L1, W, W);
  on(kOneL1, "one", L1, W, W);
  on(kGateOperandL1, "gate_operand_l1", L1, kSegSide, kSegInner);
  on(kKeyQueryL1, "key_query_l1", L1, kL1Chunks * 2 * T, D);
  on(kValueL1, "value_l1", L1, kL1Chunks * T, D);
  on(kGramL1, "gram_l1", L1, kParities * 2 * kOffBlocks * W, W);  // a list; hi, then lo, as those below
  on(kQueryKeyL1, "query_key_l1", L1, kParities * 2 * T, T);
  on(kTL1, "t_l1", L1, kParities * 2 * T, T);
  on(kLL1, "l_l1", L1, 2 * T, T);
  on(kCombineL1, "combine_l1", L1, 2 * kBlocksPerSide * W, W);
  on(kOutWeightL1, "out_weight_l1", L1, 2 * T, T);
  on(kShiftL1, "shift_l1", L1, kParities * T, T);
  on(kRowDecayL1, "row_decay_l1", L1, kParities * 2, T);
  both(kRowsL1, "rows_l1", "rows_l1_1", L1, 2 * T, V);
  both(kStateHiL1, "state_hi_l1", "state_hi_l1_1", L1, kStates * V, D);
  both(kStateLoL1, "state_lo_l1", "state_lo_l1_1", L1, kStates * V, D);
  on(kTurnRowsL1, "turn_rows", L1, kChunkParallel * kL1Rounds * kTurns * kTurnRows, D);
  on(kSlotTL1, "slot_t", L1, kChunkParallel * kTurns * 2 * T, T);
  on(kSlotOutWeightL1, "slot_out_weight", L1, kChunkParallel * kTurns * 2 * T, T);
  on(kSlotShiftL1, "slot_shift", L1, kChunkParallel * kTurns * T, T);
  on(kSlotFactorsL1, "slot_factors", L1, kChunkParallel * kTurns * kFactorElems * 2 / W, W);  // fp32
  on(kSlotsA, "slots_a", Memory::kL0A, kCubeSlots, kL0SlotElems);
  on(kSlotsB, "slots_b", Memory::kL0B, kCubeSlots, kL0SlotElems);
  t.rows[kSegC] = {"segments_c", C, F, kSegSide, kSegSide, kGates, kScores, kWeightsLane};
  on(kGramC, "gram_c", C, T, T);
  on(kQueryKeyC, "query_key_c", C, T, T);
  on(kSolveC, "solve_c", C, kBlocksPerSide * W, W);
  t.rows[kOutWeightC] = {"out_weight_c", C, F, T, T, kOutWeight, kOutWeight, kWeightsLane};
  both(kRowsC, "rows_c", "rows_c_1", C, T, V);
  both(kOutC, "out_c", "out_c_1", C, T, V);
  both(kStateC, "state_c", "state_c_1", C, kStates * V, D);
  return t;
}

template <uint32_t kBucket, StateLayout kStateLayout, uint32_t kVCols>
struct BuffersFor {
  static constexpr uint32_t kBucketDim = kBucket;
  static constexpr StateLayout kLayout = kStateLayout;
  static constexpr uint32_t kStates = StatesOnChip(kLayout);
  static constexpr bool kChunkParallel = RunsChunkParallel(kLayout);
  static constexpr uint32_t kMaxVCols = kVCols;  // of an item
  static constexpr BufferTable<kBufferCount> kTable = MakeBufferTable<kBucket, kStateLayout, kVCols>();
  static constexpr Placement<kBufferCount> kPlace = Place(kTable);
  static constexpr bool kFits = Fits(kPlace);
};

// For items as wide as the chip has room for.
template <uint32_t kBucket, StateLayout kLayout, uint32_t kVCols, bool kFits>
struct WidestBuffers {
  static_assert(kVCols > kFractal, "the buffer table does not fit the chip");
  static constexpr uint32_t kNarrower = kVCols - kFractal;
  using Type = typename WidestBuffers<kBucket, kLayout, kNarrower, BuffersFor<kBucket, kLayout, kNarrower>::kFits>::Type;
};
template <uint32_t kBucket, StateLayout kLayout, uint32_t kVCols>
struct WidestBuffers<kBucket, kLayout, kVCols, true> {
  using Type = BuffersFor<kBucket, kLayout, kVCols>;
};

template <uint32_t kBucket, StateLayout kLayout>
using Buffers = typename WidestBuffers<kBucket, kLayout, kBucket, BuffersFor<kBucket, kLayout, kBucket>::kFits>::Type;

template <typename Table>
__aicore__ inline bool IsChunkParallel(const ChunkGatedDeltaRuleTiling& tiling) {
  return Table::kChunkParallel && tiling.rounds_apart != 0;
}

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_BUFFERS_H_
