// SPDX-License-Identifier: Apache-2.0
// chunk_gated_delta_rule on one core: three chunks at a time, each in its lane.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_KERNEL_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_KERNEL_H_

#include "inter_chunk.h"
#include "inverse.h"
#include "loader.h"
#include "scores.h"

namespace chunk_gdr {

constexpr uint32_t kFloatNanBits = 0x7FC00000u;
constexpr uint16_t kHalfNanBits = 0x7E00u;

template <uint32_t kBucket, typename StateT>
class ChunkGatedDeltaRule {
 public:
  __aicore__ inline ChunkGatedDeltaRule(const KernelArgs& args, const ChunkGatedDeltaRuleTiling& tiling)
      : tiling_(tiling),
        gm_(args),
        loader_(chip_, gm_, tiling),
        scores_(chip_, slots_, tiling),
        inverse_(chip_, slots_),
        inter_(chip_, slots_, gm_, tiling) {
    lengths_.in_gm.SetGlobalBuffer(reinterpret_cast<__gm__ int64_t*>(args.lengths));
    lengths_.given = tiling.has_lengths != 0;
    lengths_.tokens = tiling.tokens;
    chip_.Init(pipe_);
  }

  __aicore__ inline void Run() {
    const Partition<SequenceLengths> partition(tiling_, lengths_, AscendC::GetBlockNum());
    ReportStatus(partition.valid() ? kOk : kBadLengths);
    if (!partition.valid()) {
      RefuseWithNan();
      return;
    }
    BuildConstants();
    slots_.Open(Get<kSlotsA, half>(), Get<kSlotsB, half>(), kSlotElems);
    ChunkStream<SequenceLengths> stream(partition, AscendC::GetBlockIdx());
    // Each of these is one chunk ahead of the one before.
    Chunk now;
    Chunk next;
    Chunk fetch;
    Chunk queries = stream.Next();
    loader_.FetchQueries(queries);
    while (next.exists || fetch.exists || queries.exists) {
      now = next;
      next = fetch;
      fetch = queries;
      queries = stream.Next();
      Advance(now, next, fetch, queries);
    }
    inter_.Drain();
    slots_.Close();
  }

 private:
  // One chunk further in every lane. Up to each VectorDone is a step: what the Vector queue is given between two barriers, instructions
  // that do not depend on one another. A slice's next step comes after enough others for its operands to pass through L1, L0 and the Cube.
  // What MTE3 carries for the loader and for out goes in small parts, behind what the Cube waits for.
  __aicore__ inline void Advance(const Chunk& now, const Chunk& next, const Chunk& fetch, const Chunk& queries) {
    inter_.Start(now);
    inter_.FetchKeyState(0);
    inverse_.RoundDiagonal();
    VectorDone();
    inter_.DecayKeyState(0);
    inter_.FetchKeyState(1);
    inverse_.RestOfDiagonal();
    VectorDone();
    inter_.RoundResidual(0);
    inter_.DecayKeyState(1);
    inverse_.SendDiagonal();
    VectorDone();
    inter_.RoundResidual(1);
    loader_.ReceiveQueries(fetch);
    inter_.FetchQueryState(0);
    inter_.FetchState(0, 0);
    VectorDone();
    inter_.DecayQueryState(0);
    inter_.DecayState(0, 0);
    VectorDone();
    inter_.PreloadOut(0);
    inter_.FetchQueryState(1);
    inter_.SendResidual(0);
    inverse_.FetchInner(1);
    VectorDone();
    inter_.PreloadState(0, 0);
    inter_.FetchState(0, 1);
    inter_.SendResidual(1);
    inverse_.RestOfProduct(1);
    VectorDone();
    inter_.DecayQueryState(1);
    inverse_.SendInner(1);
    loader_.ReceiveValues(next, fetch);
    loader_.ValuesToL1(next, 0);
    VectorDone();
    inter_.PreloadOut(1);
    loader_.ValuesToL1(next, 1);
    loader_.ValuesToL1(next, 2);
    inter_.DecayState(0, 1);
    inverse_.FetchOuter16();
    loader_.ValuesToL1(next, 3);
    VectorDone();
    inter_.PreloadState(0, 1);
    inverse_.RestOfProduct(1);
    loader_.ValuesToL1(next, 4);
    loader_.ValuesToL1(next, 5);
    VectorDone();
    inverse_.SendOuter16();
    inter_.FetchState(1, 0);
    loader_.ValuesToL1(next, 6);
    VectorDone();
    inter_.DecayState(1, 0);
    loader_.ValuesToL1(next, 7);
    loader_.FetchKeys(fetch);
    VectorDone();
    inter_.PreloadState(1, 0);
    inverse_.FetchInner(2);
    loader_.QueriesToL1(fetch, 0);
    VectorDone();
    inverse_.RestOfProduct(2);
    loader_.QueriesToL1(fetch, 1);
    VectorDone();
    inter_.FetchState(1, 1);
    inverse_.SendInner(2);
    inter_.VNewOperands(0);
    inter_.VNewOperands(1);
    loader_.QueriesToL1(fetch, 2);
    VectorDone();
    inter_.DecayState(1, 1);
    loader_.QueriesToL1(fetch, 3);
    loader_.QueriesToL1(fetch, 4);
    VectorDone();
    inter_.PreloadState(1, 1);
    inter_.ArrangeOut(1);
    inverse_.FetchOuter32();
    loader_.QueriesToL1(fetch, 5);
    VectorDone();
    inverse_.ScaleInverse();
    loader_.QueriesToL1(fetch, 6);
    VectorDone();
    inverse_.RoundInverse();
    loader_.QueriesToL1(fetch, 7);
    loader_.FetchQueries(queries);
    VectorDone();
    inverse_.RestOfInverse();
    VectorDone();
    inverse_.SendInverse();
    inter_.VNewProduct(0);
    inter_.VNewProduct(1);
    inter_.StoreOut(1, 0);
    VectorDone();
    scores_.Start(next);
    inverse_.Start(next);
    scores_.MaskGates();
    inter_.FetchVNew(0);
    inter_.StoreOut(1, 1);
    inter_.StoreOut(1, 2);
    VectorDone();
    inter_.DecayVNew(0);
    inter_.FetchVNew(1);
    inter_.StoreOut(1, 3);
    VectorDone();
    inter_.RoundVNew(0);
    inter_.DecayVNew(1);
    VectorDone();
    inter_.RestOfVNew(0);
    inter_.RoundVNew(1);
    VectorDone();
    inter_.SendVNew(0);
    inter_.RestOfVNew(1);
    scores_.FetchScores();
    VectorDone();
    inter_.SendVNew(1);
    scores_.ExpSegments();
    loader_.ReceiveKeys(fetch);
    VectorDone();
    scores_.DecayScores();
    loader_.GateStep(fetch, 0);
    loader_.FactorStep(fetch, 0);
    loader_.KeysToL1(fetch, 0);
    loader_.KeysToL1(fetch, 1);
    VectorDone();
    scores_.ScaleScores();
    loader_.GateStep(fetch, 1);
    loader_.FactorStep(fetch, 1);
    loader_.KeysToL1(fetch, 2);
    loader_.KeysToL1(fetch, 3);
    VectorDone();
    inter_.RoundState(0);
    scores_.RoundScores();
    inverse_.DiagonalToLanes();
    loader_.GateStep(fetch, 2);
    loader_.FactorStep(fetch, 2);
    VectorDone();
    inter_.RoundState(1);
    scores_.RestOfScores();
    inverse_.IdentityLanes();
    loader_.GateStep(fetch, 3);
    VectorDone();
    scores_.SendScores();
    inverse_.InvertColumn(0);
    loader_.GateStep(fetch, 4);
    VectorDone();
    inverse_.InvertColumn(1);
    loader_.GateStep(fetch, 5);
    VectorDone();
    inter_.SendState(0, next);
    inverse_.InvertColumn(2);
    loader_.GateStep(fetch, 6);
    VectorDone();
    inter_.ArrangeOut(0);
    inverse_.InvertColumn(3);
    loader_.GateStep(fetch, 7);
    VectorDone();
    inter_.SendState(1, next);
    inverse_.InvertColumn(4);
    loader_.GateStep(fetch, 8);
    loader_.KeysToL1(fetch, 4);
    VectorDone();
    inverse_.InvertColumn(5);
    loader_.KeysToL1(fetch, 5);
    loader_.KeysToL1(fetch, 6);
    VectorDone();
    inverse_.InvertColumn(6);
    loader_.KeysToL1(fetch, 7);
    loader_.FetchValues(fetch);
    VectorDone();
    inverse_.InvertColumn(7);
    VectorDone();
    inverse_.InvertColumn(8);
    inter_.StoreOut(0, 0);
    VectorDone();
    inverse_.InvertColumn(9);
    inter_.StoreOut(0, 1);
    VectorDone();
    inverse_.InvertColumn(10);
    inter_.StoreOut(0, 2);
    scores_.BroadcastHandover();
    VectorDone();
    inverse_.InvertColumn(11);
    inter_.StoreOut(0, 3);
    scores_.HandOver();
    VectorDone();
    inverse_.InvertColumn(12);
    VectorDone();
    inverse_.InvertColumn(13);
    VectorDone();
    inverse_.InvertColumn(14);
    VectorDone();
    inverse_.DiagonalFromLanes();
    VectorDone();
    inter_.Finish();
  }

  // Tiles in L1 that depend on nothing but the chunk length, and zeros above the diagonals.
  __aicore__ inline void BuildConstants() {
    const StageScope stage(kState);
    BuildCausalScale(Get<kCausalScale, float>(), tiling_.scale_mantissa);
    BuildGateMask(Get<kGateMask, half>());
    const auto bits = Get<kConstantsUb, uint16_t>();
    for (uint32_t piece = 0; piece < kGatePieces; ++piece) {
      BuildUpToOnes(bits, piece);
      ConstantToL1(Get<kUpToOnesL1, half>()[piece * kChunk * kChunk], kChunk * kChunk);
      BuildTotalOnes(bits, piece);
      ConstantToL1(Get<kTotalOnesL1, half>()[piece * kTotalRows * kChunk], kTotalRows * kChunk);
    }
    BuildDiagonal(bits, kHalfOneBits);
    ConstantToL1(Get<kOneL1, half>(), kChunk * kChunk);
    BuildDiagonal(bits, kHalfMinusOneBits);
    ConstantToL1(Get<kMinusOneL1, half>(), kChunk * kChunk);
    AscendC::Duplicate(bits, static_cast<uint16_t>(0), kChunk * kChunk);
    for (uint32_t h = 0; h < 2; ++h) {
      ConstantToL1(Get<kInverseL1, half>()[h * kTileElems], kTileElems);
    }
    for (uint32_t h = 0; h < kHandovers * 2; ++h) {
      ConstantToL1(Get<kScoresL1, half>()[h * kTileElems], kTileElems);
      ConstantToL1(Get<kUL1, half>()[h * kTileElems], kTileElems);
    }
  }

  __aicore__ inline void ConstantToL1(const LocalTensor<half>& l1, uint32_t elems) {
    Handoff<HardEvent::V_MTE3>(kConstantsReady);
    AscendC::DataCopy(l1, Get<kConstantsUb, half>(), elems);
    Handoff<HardEvent::MTE3_V>(kConstantsCopied);
  }

  __aicore__ inline void ReportStatus(Status status) {
    const auto word = Get<kStatePiece, int32_t>();
    const StageScope stage(kCarry);
    AscendC::Duplicate(word, static_cast<int32_t>(status), kStatusBlockBytes / sizeof(int32_t));
    Handoff<HardEvent::V_MTE3>(kStatusReady);
    AscendC::DataCopy(gm_.status[StatusOffset(AscendC::GetBlockIdx()) / sizeof(int32_t)], word, kStatusBlockBytes / sizeof(int32_t));
    Handoff<HardEvent::MTE3_V>(kStateRowsLeft);
  }

  // Lengths that do not fit T: no index may come from them, so every output becomes NaN, shared evenly by the cores.
  __aicore__ inline void RefuseWithNan() {
    const StageScope stage(kCarry);
    FillShareWithNan(gm_.out, Get<kStatePieceScaled, half>(), tiling_.tokens * tiling_.v_heads * tiling_.v_dim);
    FillShareWithNan(gm_.final_state, Get<kStatePieceScaled, StateT>(),
                     tiling_.sequences * tiling_.v_heads * tiling_.v_dim * tiling_.k_dim);
  }

  template <typename T>
  __aicore__ inline void FillShareWithNan(const GlobalTensor<T>& to, const LocalTensor<T>& tile, int64_t elems) {
    constexpr int64_t kTile = TileCols(kBucket) * PieceCols(kBucket);
    const int64_t cores = AscendC::GetBlockNum();
    const int64_t share = RoundUp<int64_t>(CeilDiv<int64_t>(elems, cores), kFractal);  // rows are multiples of 16 elements
    const int64_t begin = share * AscendC::GetBlockIdx();
    const int64_t end = begin + share < elems ? begin + share : elems;
    if constexpr (sizeof(T) == sizeof(float)) {
      AscendC::Duplicate(tile.template ReinterpretCast<uint32_t>(), kFloatNanBits, kTile);
    } else {
      AscendC::Duplicate(tile.template ReinterpretCast<uint16_t>(), kHalfNanBits, kTile);
    }
    Handoff<HardEvent::V_MTE3>(kStateRowsReady);
    for (int64_t at = begin; at < end; at += kTile) {
      AscendC::DataCopy(to[at], tile, static_cast<uint32_t>(end - at < kTile ? end - at : kTile));
    }
    Handoff<HardEvent::MTE3_V>(kStateRowsLeft);
  }

  template <uint32_t kId, typename T>
  __aicore__ inline LocalTensor<T> Get() {
    return chip_.template Get<kId, T>();
  }

  using Table = Buffers<kBucket>;

  const ChunkGatedDeltaRuleTiling& tiling_;
  AscendC::TPipe pipe_;
  OnChip<Table> chip_;
  GmTensors<StateT> gm_;
  CubeSlots slots_;
  SequenceLengths lengths_;
  ChunkLoader<Table, StateT> loader_;
  ChunkScores<Table> scores_;
  ChunkInverse<Table> inverse_;
  InterChunk<Table, StateT> inter_;
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_KERNEL_H_
