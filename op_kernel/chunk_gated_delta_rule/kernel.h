// SPDX-License-Identifier: Apache-2.0
// chunk_gated_delta_rule on one core: setup, the schedule, refusal.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_KERNEL_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_KERNEL_H_

#include "chunk_parallel.h"
#include "sequence_major.h"

namespace chunk_gdr {

constexpr uint32_t kFloatNanBits = 0x7FC00000u;
constexpr uint16_t kHalfNanBits = 0x7E00u;

template <uint32_t kBucket, typename StateT, StateLayout kLayout = kStateLayout>
class ChunkGatedDeltaRule {
 public:
  __aicore__ inline ChunkGatedDeltaRule(const KernelArgs& args, const ChunkGatedDeltaRuleTiling& tiling)
      : tiling_(tiling),
        gm_(args),
        lanes_(chip_, gm_, tiling) {
    lengths_.in_gm.SetGlobalBuffer(reinterpret_cast<__gm__ int64_t*>(args.lengths));
    lengths_.given = tiling.has_lengths != 0;
    lengths_.tokens = tiling.tokens;
    chip_.Init(pipe_);
  }

  __aicore__ inline void Run() {
    const Partition<SequenceLengths> partition(tiling_, lengths_, AscendC::GetBlockNum());
    const bool fits = tiling_.state_layout == static_cast<int32_t>(Table::kLayout);
    ReportStatus(!fits ? kOtherLayout : partition.valid() ? kOk : kBadLengths);
    if (!fits || !partition.valid()) {
      RefuseWithNan();
      return;
    }
    BuildConstants();
    lanes_.Open();
    RunSchedule(partition);
    lanes_.Close();
  }

 private:
  __aicore__ inline void RunSchedule(const Partition<SequenceLengths>& partition) {
    if constexpr (Table::kChunkParallel) {
      if (tiling_.rounds_apart != 0) {
        ChunkParallel<Table, StateT>(lanes_).Run(partition);
        return;
      }
    }
    SequenceMajor<Table, StateT>(lanes_).Run(partition);
  }

  // Tiles in L1 that depend on nothing but the chunk length, and zeros above the diagonals.
  __aicore__ inline void BuildConstants() {
    const StageScope stage(Table::kTable.rows[kConstantsUb].first_stage);
    BuildGateMask(Row<kGateMask, half>(chip_));
    BuildIdentity(Row<kIdentity, half>(chip_), static_cast<half>(1.0f));
    const auto bits = Row<kConstantsUb, uint16_t>(chip_);
    for (uint32_t piece = 0; piece < kGatePieces; ++piece) {
      BuildUpToOnes(bits, piece);
      UpToOnesToL1(Row<kUpToOnesL1, half>(chip_)[piece * kSegSide * kChunk]);
    }
    BuildIdentity(Row<kConstantsUb, half>(chip_), static_cast<half>(1.0f));
    ConstantToL1(Row<kOneL1, half>(chip_), kFractalElems);
    BuildIdentity(Row<kConstantsUb, half>(chip_), static_cast<half>(-1.0f));
    ConstantToL1(Row<kMinusOneL1, half>(chip_), kFractalElems);
    AscendC::Duplicate(bits, static_cast<uint16_t>(0), kSegSide * kChunk);
    Handoff<HardEvent::V_MTE3>(kConstantsReady);
    for (uint32_t piece = 0; piece < kGatePieces; ++piece) {
      AscendC::DataCopy(Row<kGateOperandL1, half>(chip_)[piece * kSegSide * kChunk], Row<kConstantsUb, half>(chip_), kSegSide * kChunk);
    }
    ZeroTiles(Row<kLL1, half>(chip_), 2);
    ZeroTiles(Row<kQueryKeyL1, half>(chip_), kParities * 2);
    ZeroTiles(Row<kTL1, half>(chip_), kParities * 2);
    if constexpr (Table::kChunkParallel) {
      if (tiling_.rounds_apart != 0) {  // P and diag(s / p) come from slots
        ZeroTiles(Row<kSlotOutWeightL1, half>(chip_), kTurns * 2);
        ZeroTiles(Row<kSlotTL1, half>(chip_), kTurns * 2);
        ZeroTiles(Row<kSlotShiftL1, half>(chip_), kTurns);
        // V does not wait: what it writes to the zeros' place in UB first is an out, whose products have waited for rows that MTE3
        // brought to L1 behind them.
        return;
      }
    }
    ZeroTiles(Row<kOutWeightL1, half>(chip_), 2);
    ZeroTiles(Row<kShiftL1, half>(chip_), kParities);
    Handoff<HardEvent::MTE3_V>(kConstantsCopied);
  }

  __aicore__ inline void ZeroTiles(const LocalTensor<half>& l1, uint32_t tiles) {
    for (uint32_t i = 0; i < tiles; ++i) {
      AscendC::DataCopy(l1[i * kTileElems], Row<kConstantsUb, half>(chip_), kTileElems);
    }
  }

  // Fractals row by row.
  __aicore__ inline void UpToOnesToL1(const LocalTensor<half>& l1) {
    constexpr uint16_t kGap = (kBlocksPerSide - 1) * kFractal;
    Handoff<HardEvent::V_MTE3>(kConstantsReady);
    for (uint32_t s = 0; s < kBlocksPerSide; ++s) {
      AscendC::DataCopy(l1[s * kFractalElems], Row<kConstantsUb, half>(chip_)[s * kSegSide * kFractal],
                        AscendC::DataCopyParams(kSegSide / kFractal, kFractal, 0, kGap));
    }
    Handoff<HardEvent::MTE3_V>(kConstantsCopied);
  }

  __aicore__ inline void ConstantToL1(const LocalTensor<half>& l1, uint32_t elems) {
    Handoff<HardEvent::V_MTE3>(kConstantsReady);
    AscendC::DataCopy(l1, Row<kConstantsUb, half>(chip_), elems);
    Handoff<HardEvent::MTE3_V>(kConstantsCopied);
  }

  __aicore__ inline void ReportStatus(Status status) {
    const auto word = Row<kFetched, int32_t>(chip_);
    const StageScope stage(kCarry);
    AscendC::Duplicate(word, static_cast<int32_t>(status), kStatusBlockBytes / sizeof(int32_t));
    Handoff<HardEvent::V_MTE3>(kStatusReady);
    AscendC::DataCopy(gm_.status[StatusOffset(AscendC::GetBlockIdx()) / sizeof(int32_t)], word, kStatusBlockBytes / sizeof(int32_t));
    Handoff<HardEvent::MTE3_V>(kStateRowsLeft);
  }

  // Lengths that do not fit T: no index may come from them, so every output becomes NaN, shared evenly by the cores.
  __aicore__ inline void RefuseWithNan() {
    const StageScope stage(kCarry);
    FillShareWithNan(gm_.out, Row<kScaled, half>(chip_), tiling_.tokens * tiling_.v_heads * tiling_.v_dim);
    Handoff<HardEvent::MTE3_V>(kStateRowsLeft);
    FillShareWithNan(gm_.final_state, Row<kScaled, StateT>(chip_),
                     tiling_.sequences * tiling_.v_heads * tiling_.v_dim * tiling_.k_dim);
  }

  template <typename T>
  __aicore__ inline void FillShareWithNan(const GlobalTensor<T>& to, const LocalTensor<T>& tile, int64_t elems) {
    constexpr int64_t kTile = Elems(Table::kTable.rows[kScaled]);
    const int64_t cores = AscendC::GetBlockNum();
    const int64_t share = RoundUp<int64_t>(CeilDiv<int64_t>(elems, cores), kFractal);  // rows are multiples of 16 elements
    const int64_t begin = share * AscendC::GetBlockIdx();
    const int64_t end = begin + share < elems ? begin + share : elems;
    if constexpr (sizeof(T) == sizeof(float)) {
      AscendC::Duplicate(tile.template ReinterpretCast<uint32_t>(), kFloatNanBits, kTile);
    } else {
      AscendC::Duplicate(tile.template ReinterpretCast<uint16_t>(), kHalfNanBits, kTile);
    }
    Handoff<HardEvent::V_MTE3>(kNanReady);
    for (int64_t at = begin; at < end; at += kTile) {
      AscendC::DataCopy(to[at], tile, static_cast<uint32_t>(end - at < kTile ? end - at : kTile));
    }
  }

  using Table = Buffers<kBucket, kLayout>;

  const ChunkGatedDeltaRuleTiling& tiling_;
  AscendC::TPipe pipe_;
  OnChip<Table> chip_;
  GmTensors<StateT> gm_;
  SequenceLengths lengths_;
  Lanes<Table, StateT> lanes_;
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_KERNEL_H_
