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
    const bool fits = tiling_.v_tile_dim <= static_cast<int32_t>(Table::kMaxVCols) && (kShares || tiling_.chunk_parallel == 0);
    ReportStatus(!fits ? kOtherLayout : partition.valid() ? kOk : kBadLengths);
    if (!fits || !partition.valid()) {
      RefuseWithNan();
      return;
    }
    BuildConstants();
    lanes_.Open();
    bool shared = false;
    if constexpr (kShares) {
      shared = tiling_.chunk_parallel != 0;
      if (shared) {
        ChunkParallel<Table, StateT>(lanes_).Run(partition);
      }
    }
    if (!shared) {
      SequenceMajor<Table, StateT>(lanes_).Run(partition);
    }
    lanes_.Close();
  }

 private:
  // Tiles in L1 that depend on nothing but the chunk length, and zeros above the diagonals.
  __aicore__ inline void BuildConstants() {
    const bool shares = IsChunkParallel<Table>(tiling_);
    const StageScope stage(Table::kTable.rows[kConstantsUb].first_stage);
    BuildGateMask(Get<kGateMask, half>());
    BuildIdentity(Get<kIdentity, half>(), static_cast<half>(1.0f));
    const auto bits = Get<kConstantsUb, uint16_t>();
    for (uint32_t piece = 0; piece < kGatePieces; ++piece) {
      BuildUpToOnes(bits, piece);
      UpToOnesToL1(Get<kUpToOnesL1, half>()[piece * kSegSide * kChunk]);
    }
    BuildIdentity(Get<kConstantsUb, half>(), static_cast<half>(1.0f));
    ConstantToL1(Get<kOneL1, half>(), kFractalElems);
    BuildIdentity(Get<kConstantsUb, half>(), static_cast<half>(-1.0f));
    ConstantToL1(Get<kMinusOneL1, half>(), kFractalElems);
    AscendC::Duplicate(bits, static_cast<uint16_t>(0), kSegSide * kChunk);
    if constexpr (kShares) {
      if (shares) {
        ZerosOfSlots();
        return;
      }
    }
    for (uint32_t piece = 0; piece < kGatePieces; ++piece) {
      ConstantToL1(Get<kGateOperandL1, half>()[piece * kSegSide * kChunk], kSegSide * kChunk);
    }
    for (uint32_t h = 0; h < 2; ++h) {
      ConstantToL1(Get<kLL1, half>()[h * kTileElems], kTileElems);
      ConstantToL1(Get<kOutWeightL1, half>()[h * kTileElems], kTileElems);
    }
    for (uint32_t h = 0; h < kHandovers; ++h) {
      ConstantToL1(Get<kShiftL1, half>()[h * kTileElems], kTileElems);
    }
    for (uint32_t h = 0; h < kHandovers * 2; ++h) {
      ConstantToL1(Get<kQueryKeyL1, half>()[h * kTileElems], kTileElems);
      ConstantToL1(Get<kTL1, half>()[h * kTileElems], kTileElems);
    }
  }

  // Chunk-parallel, where P and diag(s / p) come from slots. V waits for none of them: what it writes to their place in UB first is an out,
  // whose products have waited for rows that MTE3 brought to L1 behind them.
  __aicore__ inline void ZerosOfSlots() {
    Handoff<HardEvent::V_MTE3>(kConstantsReady);
    for (uint32_t piece = 0; piece < kGatePieces; ++piece) {
      AscendC::DataCopy(Get<kGateOperandL1, half>()[piece * kSegSide * kChunk], Get<kConstantsUb, half>(), kSegSide * kChunk);
    }
    ZeroTiles(Get<kLL1, half>(), 2);
    ZeroTiles(Get<kQueryKeyL1, half>(), kHandovers * 2);
    ZeroTiles(Get<kTL1, half>(), kHandovers * 2);
    ZeroTiles(Get<kSlotOutWeightL1, half>(), kTurns * 2);
    ZeroTiles(Get<kSlotTL1, half>(), kTurns * 2);
    ZeroTiles(Get<kSlotShiftL1, half>(), kTurns);
  }

  __aicore__ inline void ZeroTiles(const LocalTensor<half>& l1, uint32_t tiles) {
    for (uint32_t i = 0; i < tiles; ++i) {
      AscendC::DataCopy(l1[i * kTileElems], Get<kConstantsUb, half>(), kTileElems);
    }
  }

  // Fractals row by row.
  __aicore__ inline void UpToOnesToL1(const LocalTensor<half>& l1) {
    constexpr uint16_t kGap = (kBlocksPerSide - 1) * kFractal;
    Handoff<HardEvent::V_MTE3>(kConstantsReady);
    for (uint32_t s = 0; s < kBlocksPerSide; ++s) {
      AscendC::DataCopy(l1[s * kFractalElems], Get<kConstantsUb, half>()[s * kSegSide * kFractal],
                        AscendC::DataCopyParams(kSegSide / kFractal, kFractal, 0, kGap));
    }
    Handoff<HardEvent::MTE3_V>(kConstantsCopied);
  }

  __aicore__ inline void ConstantToL1(const LocalTensor<half>& l1, uint32_t elems) {
    Handoff<HardEvent::V_MTE3>(kConstantsReady);
    AscendC::DataCopy(l1, Get<kConstantsUb, half>(), elems);
    Handoff<HardEvent::MTE3_V>(kConstantsCopied);
  }

  __aicore__ inline void ReportStatus(Status status) {
    const auto word = Get<kFetched, int32_t>();
    const StageScope stage(kCarry);
    AscendC::Duplicate(word, static_cast<int32_t>(status), kStatusBlockBytes / sizeof(int32_t));
    Handoff<HardEvent::V_MTE3>(kStatusReady);
    AscendC::DataCopy(gm_.status[StatusOffset(AscendC::GetBlockIdx()) / sizeof(int32_t)], word, kStatusBlockBytes / sizeof(int32_t));
    Handoff<HardEvent::MTE3_V>(kStateRowsLeft);
  }

  // Lengths that do not fit T: no index may come from them, so every output becomes NaN, shared evenly by the cores.
  __aicore__ inline void RefuseWithNan() {
    const StageScope stage(kCarry);
    FillShareWithNan(gm_.out, Get<kScaled, half>(), tiling_.tokens * tiling_.v_heads * tiling_.v_dim);
    Handoff<HardEvent::MTE3_V>(kStateRowsLeft);
    FillShareWithNan(gm_.final_state, Get<kScaled, StateT>(),
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

  template <uint32_t kId, typename T>
  __aicore__ inline LocalTensor<T> Get() {
    return chip_.template Get<kId, T>();
  }

  using Table = Buffers<kBucket, kLayout>;
  static constexpr bool kShares = RunsChunkParallel(kLayout);

  const ChunkGatedDeltaRuleTiling& tiling_;
  AscendC::TPipe pipe_;
  OnChip<Table> chip_;
  GmTensors<StateT> gm_;
  SequenceLengths lengths_;
  Lanes<Table, StateT> lanes_;
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_KERNEL_H_
