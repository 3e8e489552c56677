// SPDX-License-Identifier: Apache-2.0
// Where in a row of the buffer table something is: of a chunk, of a slice of Dv, of a state.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_PLACES_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_PLACES_H_

#include "../common/tile/memory.h"
#include "chunk.h"
#include "lower.h"

namespace chunk_gdr {

// Of slice t: the row of slice 1 follows that of slice 0.
template <uint32_t kId, typename T, typename Table>
__aicore__ inline LocalTensor<T> RowOf(OnChip<Table>& chip, uint32_t t) {
  return t == 0 ? Row<kId, T>(chip) : Row<kId + 1, T>(chip);
}

// A slice of one of the states on chip, or of its halves.
template <uint32_t kId, typename T, typename Table>
__aicore__ inline LocalTensor<T> StateOf(OnChip<Table>& chip, uint32_t t, uint32_t state) {
  return RowOf<kId, T>(chip, t)[state * (Elems(Table::kTable.rows[kId]) / Table::kStates)];
}

// An instruction that works in place writes one repeat below what it reads: into the banks of the other phase. So a row that is worked on
// n times starts n repeats late.
template <uint32_t kId, typename Table>
__aicore__ inline LocalTensor<float> Late(OnChip<Table>& chip, uint32_t repeats) {
  return Row<kId, float>(chip)[repeats * kRepeatFloats];
}

// A vector of the tokens of a chunk.
template <typename Table>
__aicore__ inline LocalTensor<float> VectorOf(OnChip<Table>& chip, uint32_t parity, TokenVector which) {
  return Row<kVectors, float>(chip)[(parity * kTokenVectors + which) * kChunk];
}

// --- operands in L1, as the lanes of a core hand them on ---

// [K; Q], strips of 2 BT rows.
template <typename Table>
__aicore__ inline LocalTensor<half> KeysQueriesOf(OnChip<Table>& chip, const Chunk& chunk) {
  return Row<kKeyQueryL1, half>(chip)[chunk.KeysInL1() * 2 * kChunk * Table::kBucketDim];
}

template <typename Table>
__aicore__ inline LocalTensor<half> ValuesOf(OnChip<Table>& chip, const Chunk& chunk) {
  return Row<kValueL1, half>(chip)[chunk.ValuesInL1() * kChunk * Table::kBucketDim];
}

// diag(s / p).
template <typename Table>
__aicore__ inline LocalTensor<half> ShiftOf(OnChip<Table>& chip, const Chunk& chunk) {
  return Row<kShiftL1, half>(chip)[chunk.Parity() * kTileElems];
}

// hi (0) or lo (1) of K K^T below its diagonal blocks, a list; of Q K^T; of T.
template <typename Table>
__aicore__ inline LocalTensor<half> GramOf(OnChip<Table>& chip, const Chunk& chunk, uint32_t piece) {
  return Row<kGramL1, half>(chip)[(chunk.Parity() * 2 + piece) * kOffElems];
}
template <typename Table>
__aicore__ inline LocalTensor<half> QueryKeyOf(OnChip<Table>& chip, const Chunk& chunk, uint32_t piece) {
  return Row<kQueryKeyL1, half>(chip)[(chunk.Parity() * 2 + piece) * kTileElems];
}
template <typename Table>
__aicore__ inline LocalTensor<half> TOf(OnChip<Table>& chip, const Chunk& chunk, uint32_t piece) {
  return Row<kTL1, half>(chip)[(chunk.Parity() * 2 + piece) * kTileElems];
}

// --- chunk-parallel: of a chunk on its way through the inter-chunk lane, from GM ---

// Rows of k and q, then of v, as they are there.
template <typename Table>
__aicore__ inline LocalTensor<half> TurnRowsOf(OnChip<Table>& chip, const Chunk& chunk) {
  return Row<kTurnRowsL1, half>(chip)[chunk.TurnInL1() * kTurnRows * Table::kBucketDim];
}
template <typename Table>
__aicore__ inline LocalTensor<half> TurnValuesOf(OnChip<Table>& chip, const Chunk& chunk) {
  return TurnRowsOf(chip, chunk)[2 * kChunk * Table::kBucketDim];
}

// What its slot had: T and P, hi, then lo; diag(s / p); the factors.
template <typename Table>
__aicore__ inline LocalTensor<half> SlotTOf(OnChip<Table>& chip, const Chunk& chunk) {
  return Row<kSlotTL1, half>(chip)[chunk.Turn() * 2 * kTileElems];
}
template <typename Table>
__aicore__ inline LocalTensor<half> SlotOutWeightOf(OnChip<Table>& chip, const Chunk& chunk) {
  return Row<kSlotOutWeightL1, half>(chip)[chunk.Turn() * 2 * kTileElems];
}
template <typename Table>
__aicore__ inline LocalTensor<half> SlotShiftOf(OnChip<Table>& chip, const Chunk& chunk) {
  return Row<kSlotShiftL1, half>(chip)[chunk.Turn() * kTileElems];
}
template <typename Table>
__aicore__ inline LocalTensor<half> SlotFactorsOf(OnChip<Table>& chip, const Chunk& chunk) {
  return Row<kSlotFactorsL1, half>(chip)[chunk.Turn() * 2 * kFactorElems];
}

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_PLACES_H_
