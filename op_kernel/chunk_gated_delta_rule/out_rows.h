// SPDX-License-Identifier: Apache-2.0
// A finished out on its way to GM, while the kernel goes on.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_OUT_ROWS_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_OUT_ROWS_H_

#include "../common/tile/memory.h"
#include "../common/tile/nz.h"
#include "../common/tile/stage.h"
#include "chunk.h"
#include "events.h"
#include "inputs.h"
#include "slices.h"

namespace chunk_gdr {

template <typename Table, typename StateT>
class OutRows {
 public:
  __aicore__ inline OutRows(OnChip<Table>& chip, const GmTensors<StateT>& gm, const ChunkGatedDeltaRuleTiling& tiling)
      : chip_(chip), gm_(gm), tiling_(tiling) {}

  // A slice on its way from L0C, in the tile of a norm that is not being taken. kNz has one place for the slices in turn, kNd one for each.
  __aicore__ inline LocalTensor<float> ToScale(uint32_t t, const Slices& slices) {
    return Row<kNormTile, float>(chip_)[Apart(t, slices) + (IsChunkParallel<Table>(tiling_) ? kRepeatFloats : 0)];
  }
  // Chunk-parallel, one repeat lower than it came: an instruction that works in place writes into the banks that it reads from.
  __aicore__ inline LocalTensor<float> Scaled(uint32_t t, const Slices& slices) {
    return Row<kNormTile, float>(chip_)[Apart(t, slices)];
  }

  // A slice from NZ to its columns of the rows, rounded on the way.
  __aicore__ inline void Arrange(uint32_t t, const Chunk& chunk, const Slices& slices) {
    const StageScope stage(kState);
    Close();
    NzToRows(Rows(chunk)[slices.Begin(t)], Scaled(t, slices), kChunk, slices.strips[t], Pitch(chunk));
  }

  // The rows to GM. What MTE3 promises after that comes true when they have arrived; Close waits for them and for what else has gone to GM
  // until Leave.
  __aicore__ inline void Store(const Chunk& chunk) {
    Handoff<HardEvent::V_MTE3>(kOutRowsReady);
    Copy(chunk);
  }

  __aicore__ inline void Copy(const Chunk& chunk) {
    const StageScope stage(kLoad);
    const uint32_t strips = chunk.VStrips();
    const int64_t row = static_cast<int64_t>(tiling_.v_heads) * tiling_.v_dim;
    const int64_t offset = chunk.token * row + chunk.item.v_head * tiling_.v_dim + chunk.item.v_begin;
    AscendC::DataCopy(gm_.out[offset], Rows(chunk),
                      AscendC::DataCopyParams(static_cast<uint16_t>(chunk.live), static_cast<uint16_t>(strips),
                                              static_cast<uint16_t>(Pitch(chunk) - strips),
                                              static_cast<uint16_t>(row / kFractal - strips)));
  }

  __aicore__ inline void Leave() {
    Signal<HardEvent::MTE3_V>(kOutRowsLeft);
    leaving_ = true;
  }

  __aicore__ inline void Close() {
    if (leaving_) {
      Await<HardEvent::MTE3_V>(kOutRowsLeft);
      leaving_ = false;
    }
  }

 private:
  static __aicore__ inline uint32_t Apart(uint32_t t, const Slices& slices) {
    return Table::kLayout == StateLayout::kNz || t == 0 ? 0 : slices.ValueElems(0);
  }

  // Of two chunks of a round.
  __aicore__ inline bool IsSecond(const Chunk& chunk) const { return IsChunkParallel<Table>(tiling_) && chunk.Turn() == 1; }
  // In strips. Odd, so that rows lie in different bank groups; the second of two chunks has no room for that.
  __aicore__ inline uint32_t Pitch(const Chunk& chunk) const {
    return IsSecond(chunk) ? chunk.VStrips() : chunk.VStrips() | 1;
  }
  // Chunk-parallel the rows of two chunks, one behind the other.
  __aicore__ inline LocalTensor<half> Rows(const Chunk& chunk) {
    const uint32_t before = IsSecond(chunk) ? kChunk * (chunk.VStrips() | 1) * kFractal : 0;
    return Row<kOutRows, half>(chip_)[before];
  }

  OnChip<Table>& chip_;
  const GmTensors<StateT>& gm_;
  const ChunkGatedDeltaRuleTiling& tiling_;
  bool leaving_ = false;  // the rows before are on their way
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_OUT_ROWS_H_
