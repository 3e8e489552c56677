// SPDX-License-Identifier: Apache-2.0
// chunk_gated_delta_rule on one core: four chunks at a time, each in its lane.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_KERNEL_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_KERNEL_H_

#include "combine.h"
#include "decays.h"
#include "handover.h"
#include "inter_chunk.h"
#include "loader.h"
#include "scores.h"
#include "solve.h"

namespace chunk_gdr {

constexpr uint32_t kFloatNanBits = 0x7FC00000u;
constexpr uint16_t kHalfNanBits = 0x7E00u;

template <uint32_t kBucket, typename StateT, StateLayout kLayout = kStateLayout>
class ChunkGatedDeltaRule {
 public:
  __aicore__ inline ChunkGatedDeltaRule(const KernelArgs& args, const ChunkGatedDeltaRuleTiling& tiling)
      : tiling_(tiling),
        gm_(args),
        loader_(chip_, gm_, tiling),
        scores_(chip_, slots_, tiling),
        decays_(chip_, tiling),
        solve_(chip_),
        combine_(chip_, slots_, tiling),
        inter_(chip_, slots_, gm_, tiling),
        handover_(chip_, gm_, tiling) {
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
    slots_.Open(Get<kSlotsA, half>(), Get<kSlotsB, half>(), kSlotElems);
    if constexpr (kShares) {
      if (tiling_.chunk_parallel != 0) {
        RunChunkParallel(partition);
      } else {
        RunSequenceMajor(partition);
      }
    } else {
      RunSequenceMajor(partition);
    }
    scores_.Close();
    inter_.Close();
    if constexpr (kShares) {
      handover_.Close();
    }
    slots_.Close();
  }

 private:
  __aicore__ inline void RunSequenceMajor(const Partition<SequenceLengths>& partition) {
    ChunkStream<SequenceLengths> stream(partition, AscendC::GetBlockIdx());
    // Each of these is one chunk ahead of the one before.
    Chunk now;
    Chunk next;
    Chunk mid;
    Chunk fetch = stream.Next();
    while (now.exists || next.exists || mid.exists || fetch.exists) {
      Advance(now, next, mid, fetch);
      now = next;
      next = mid;
      mid = fetch;
      fetch = stream.Next();
    }
  }

  // The two chunks of the inter-chunk lane, and those of the next round, whose rows and slots are fetched.
  struct Round {
    Chunk turn0;
    Chunk turn1;
    Chunk after0;
    Chunk after1;
    bool slots_follow = false;  // those of the next round are there already
  };

  // A core runs one item at most, a slice of Dv, two chunks a round. Of the item's chunks as many as there are slices of Dv share out what
  // does not depend on the state: each core takes its own through the scores and combine lanes, ahead of the inter-chunk lanes, and puts
  // T and P into the workspace. All cores meet every few rounds; what is in the workspace then is what the rounds up to the next meeting
  // work on.
  __aicore__ inline void RunChunkParallel(const Partition<SequenceLengths>& partition) {
    const int64_t rounds_apart = tiling_.chunk_parallel;
    const int64_t lead = rounds_apart + kRoundsToSlot;
    int64_t longest = 0;
    for (int64_t b = 0; b < tiling_.sequences; ++b) {
      const int64_t length = lengths_(b);
      longest = length > longest ? length : longest;
    }
    CoreItems<SequenceLengths> items(partition, AscendC::GetBlockIdx());
    WorkItem item{};
    const bool works = items.Next(item);
    const int64_t step = tiling_.v_tiles;
    int64_t own = works ? item.v_begin / tiling_.v_tile_dim : 0;
    uint32_t own_index = 0;
    Round before;
    Chunk done;
    Chunk next;
    Chunk mid;
    const int64_t rounds = CeilDiv<int64_t>(longest > 0 ? ChunksOf(longest) : 1, kTurns);
    for (int64_t round = -lead; round < rounds; ++round) {
      const bool meet = round >= 0 && round % rounds_apart == 0;
      if (meet) {
        AscendC::SyncAll(gm_.sync, Get<kGateWork, int32_t>());
      }
      if (!works) {
        continue;
      }
      Chunk fetch;
      if (own < kTurns * (round + lead + 1)) {
        fetch = ChunkOf(item, own);
        fetch.index = own_index++;
        own += step;
      }
      const int64_t first = kTurns * round;
      Round r{ChunkOf(item, first), ChunkOf(item, first + 1), ChunkOf(item, first + 2), ChunkOf(item, first + 3)};
      if (meet) {
        handover_.FetchSlot(r.turn0);
        handover_.FetchSlot(r.turn1);
        handover_.FactorsToUb(r.turn0);
      }
      r.slots_follow = round >= 0 && (round + 1) % rounds_apart != 0;
      AdvanceChunkParallel(before, r, done, next, mid, fetch);
      before = r;
      done = next;
      next = mid;
      mid = fetch;
    }
    StoreOut(before);
    AwaitOut();
  }

  // The rows of out of the round before.
  __aicore__ inline void StoreOut(const Round& before) {
    Handoff<HardEvent::V_MTE3>(kOutRowsReady);
    inter_.CopyOut(before.turn0);
    inter_.CopyOut(before.turn1);
    Signal<HardEvent::MTE3_V>(kOutRowsLeft);
  }
  __aicore__ inline void AwaitOut() { Await<HardEvent::MTE3_V>(kOutRowsLeft); }

  __aicore__ inline void AdvanceChunkParallel(const Round& before, const Round& r, const Chunk& done, const Chunk& next, const Chunk& mid,
                                              const Chunk& fetch) {
    inter_.Start(r.turn0, 1.0f);
    StoreOut(before);
    inter_.FetchKeyState(0);
    handover_.QueryFactors(r.turn0);
    loader_.QueriesToL1(mid, 0);
    VectorDone();
    handover_.KeyFactors(r.turn0);
    solve_.InvertColumn(13);
    decays_.ShiftStep(0);
    VectorDone();
    inter_.DecayKeyState(0);
    decays_.ShiftStep(1);
    decays_.PowerToFactors();
    VectorDone();
    inter_.FetchKeyState(1);
    solve_.InvertColumn(14);
    inter_.RoundResidual(0);
    decays_.ShiftStep(2);
    VectorDone();
    inter_.DecayKeyState(1);
    VectorDone();
    combine_.Start(next);
    inter_.RoundResidual(1);
    loader_.QueriesToL1(mid, 1);
    inter_.FetchQueryState(0);
    loader_.GateStep(mid, 0);
    VectorDone();
    inter_.DecayQueryState(0);
    combine_.ScaleColumns();
    loader_.GateStep(mid, 1);
    VectorDone();
    loader_.KeysToL1(mid, 0);
    combine_.FromLanesToBlocks();
    inter_.SubtractResidual(0);
    inter_.PreloadOut(0);
    inter_.FetchQueryState(1);
    VectorDone();
    inter_.SubtractResidual(1);
    inter_.DecayQueryState(1);
    VectorDone();
    inter_.FetchState(0, 0);
    inter_.SendResidual(0);
    loader_.KeysToL1(mid, 1);
    loader_.QueriesToL1(mid, 2);
    loader_.QueriesToL1(mid, 3);
    inter_.PreloadOut(1);
    inter_.SendResidual(1);
    loader_.KeysToL1(mid, 2);
    combine_.RoundDiagonals();
    VectorDone();
    inter_.DecayState(0, 0);
    inter_.ValueProducts(0);
    combine_.RestOfDiagonals();
    VectorDone();
    inter_.FetchShifted(0);
    loader_.KeysToL1(mid, 3);
    loader_.GateStep(mid, 2);
    inter_.FetchState(0, 1);
    inter_.PreloadState(0, 0);
    scores_.Start(mid);
    combine_.SendDiagonals();
    inter_.ValueProducts(1);
    VectorDone();
    inter_.DecayState(0, 1);
    handover_.StageT(done);
    loader_.GateStep(mid, 3);
    VectorDone();
    inter_.FetchState(1, 0);
    loader_.KeysToL1(mid, 4);
    inter_.PreloadState(0, 1);
    inter_.FetchShifted(1);
    VectorDone();
    combine_.GramTimesFirst16();
    decays_.Start(mid);
    loader_.QueriesToL1(mid, 4);
    inter_.DecayState(1, 0);
    VectorDone();
    inter_.FetchState(1, 1);
    inter_.PreloadState(1, 0);
    loader_.FactorStep(mid, 0);
    inter_.SubtractShifted(0);
    combine_.FetchProduct(1);
    loader_.KeysToL1(mid, 5);
    loader_.QueriesToL1(mid, 5);
    inter_.SendShifted(0);
    AwaitOut();
    VectorDone();
    inter_.DecayState(1, 1);
    inter_.SubtractShifted(1);
    inter_.SendShifted(1);
    loader_.KeysToL1(mid, 6);
    combine_.RestOfProduct(1);
    inter_.VNewProduct(0);
    VectorDone();
    inter_.PreloadState(1, 1);
    combine_.SendInner(1);
    VectorDone();
    loader_.KeysToL1(mid, 7);
    inter_.VNewProduct(1);
    combine_.SecondTimesInner16();
    inter_.FetchVNew(0);
    loader_.GateStep(mid, 4);
    inter_.SubtractVNew(0);
    inter_.FetchVNew(1);
    combine_.FetchProduct(1);
    loader_.QueriesToL1(mid, 6);
    inter_.FetchOut(0);
    loader_.FactorStep(mid, 1);
    inter_.SendVNew(0);
    inter_.SubtractVNew(1);
    VectorDone();
    inter_.SendVNew(1);
    inter_.StateProduct(0);
    loader_.GateStep(mid, 5);
    handover_.FetchSlot(r.slots_follow ? r.after0 : Chunk());
    combine_.RestOfProduct(1);
    inter_.ScaleOut(0);
    loader_.QueriesToL1(mid, 7);
    VectorDone();
    inter_.ArrangeOut(0);
    combine_.SendOuter16();
    inter_.StateProduct(1);
    loader_.GateStep(mid, 6);
    inter_.SetPower(handover_.Power(r.turn0));
    inter_.RoundState(0);
    VectorDone();
    loader_.FetchQueries(fetch);
    solve_.Start(mid);
    inter_.RoundState(1);
    inter_.SubtractState(0);
    inter_.SubtractState(1);
    inter_.FetchOut(1);
    inter_.SendState(0);
    handover_.FactorsToUb(r.turn1);
    loader_.FactorStep(mid, 2);
    scores_.ScoreProducts();
    loader_.FetchKeys(fetch);
    inter_.SendState(1);
    handover_.Store(next, done);
    combine_.GramTimesFirst32();
    VectorDone();
    scores_.FetchScores();
    inter_.StateProducts(0, r.turn1);
    handover_.QueryFactors(r.turn1);
    inter_.ScaleOut(1);
    inter_.StateProducts(1, r.turn1);
    VectorDone();
    inter_.ArrangeOut(1);
    combine_.FetchProduct(2);
    handover_.KeyFactors(r.turn1);
    handover_.FetchRows(0, r.after0);
    solve_.GramToLanes();
    VectorDone();
    inter_.Finish();
    inter_.Start(r.turn1, 1.0f);
    solve_.ScaleLanes();
    inter_.FetchKeyState(0);
    VectorDone();
    solve_.IdentityLanes();
    inter_.DecayKeyState(0);
    combine_.RestOfProduct(2);
    VectorDone();
    inter_.RoundResidual(0);
    inter_.FetchKeyState(1);
    solve_.InvertColumn(0);
    VectorDone();
    inter_.DecayKeyState(1);
    solve_.InvertColumn(1);
    loader_.GateStep(mid, 7);
    VectorDone();
    inter_.RoundResidual(1);
    solve_.InvertColumn(2);
    inter_.FetchQueryState(0);
    combine_.SendInner(2);
    VectorDone();
    inter_.DecayQueryState(0);
    solve_.InvertColumn(3);
    VectorDone();
    loader_.GateStep(mid, 8);
    inter_.PreloadOut(0);
    inter_.FetchQueryState(1);
    solve_.InvertColumn(4);
    loader_.ReceiveQueries(fetch);
    inter_.SubtractResidual(0);
    VectorDone();
    inter_.DecayQueryState(1);
    handover_.AwaitStore();
    scores_.MaskGates();
    VectorDone();
    combine_.SecondTimesInner32();
    inter_.PreloadOut(1);
    inter_.FetchState(0, 0);
    inter_.SubtractResidual(1);
    solve_.InvertColumn(5);
    VectorDone();
    inter_.DecayState(0, 0);
    scores_.SegmentProduct();
    combine_.FetchProduct(2);
    VectorDone();
    inter_.SendResidual(0);
    combine_.RestOfProduct(2);
    inter_.PreloadState(0, 0);
    inter_.FetchState(0, 1);
    solve_.InvertColumn(6);
    VectorDone();
    inter_.DecayState(0, 1);
    VectorDone();
    solve_.InvertColumn(7);
    inter_.ValueProducts(0);
    combine_.SendOuter32();
    inter_.FetchState(1, 0);
    inter_.PreloadState(0, 1);
    scores_.FetchSums();
    inter_.SendResidual(1);
    scores_.SendHi();
    VectorDone();
    decays_.Exp();
    inter_.DecayState(1, 0);
    VectorDone();
    inter_.PreloadState(1, 0);
    combine_.QueryKeyTimesT();
    inter_.FetchState(1, 1);
    decays_.FactorStep(0);
    VectorDone();
    inter_.FetchShifted(0);
    inter_.DecayState(1, 1);
    decays_.FactorStep(1);
    VectorDone();
    inter_.ValueProducts(1);
    solve_.InvertColumn(8);
    decays_.FactorStep(2);
    combine_.FetchOutWeight();
    VectorDone();
    inter_.FetchShifted(1);
    inter_.SubtractShifted(0);
    decays_.FactorStep(3);
    solve_.InvertColumn(9);
    VectorDone();
    decays_.FactorStep(4);
    inter_.PreloadState(1, 1);
    inter_.SendShifted(0);
    combine_.DecayOutWeight();
    inter_.SubtractShifted(1);
    VectorDone();
    inter_.SendShifted(1);
    inter_.VNewProduct(0);
    inter_.VNewProduct(1);
    inter_.FetchOut(0);
    decays_.FactorStep(5);
    combine_.RoundOutWeight();
    scores_.SubtractHi();
    VectorDone();
    loader_.ReceiveKeys(fetch);
    inter_.ScaleOut(0);
    handover_.FactorsToUb(r.slots_follow ? r.after0 : Chunk());
    decays_.FactorStep(6);
    solve_.InvertColumn(10);
    VectorDone();
    combine_.RestOfOutWeight();
    decays_.FactorStep(7);
    inter_.FetchVNew(0);
    inter_.FetchVNew(1);
    solve_.InvertColumn(11);
    inter_.ArrangeOut(0);
    scores_.FetchLo();
    inter_.SubtractVNew(0);
    inter_.SendVNew(0);
    VectorDone();
    combine_.RoundOutWeightRest();
    inter_.SubtractVNew(1);
    solve_.InvertColumn(12);
    inter_.FetchOut(1);
    decays_.FactorStep(8);
    scores_.MaskLo();
    inter_.SendVNew(1);
    VectorDone();
    scores_.SendLo();
    inter_.StateProduct(0);
    inter_.StateProduct(1);
    inter_.SetPower(handover_.Power(r.turn1));
    inter_.RoundState(0);
    inter_.ScaleOut(1);
    handover_.FetchSlot(r.slots_follow ? r.after1 : Chunk());
    VectorDone();
    inter_.SubtractState(0);
    inter_.RoundState(1);
    decays_.FactorStep(9);
    inter_.SubtractState(1);
    inter_.SendState(0);
    inter_.SendState(1);
    inter_.StateProducts(0, r.after0);
    inter_.StateProducts(1, r.after0);
    handover_.FetchRows(1, r.after1);
    inter_.ArrangeOut(1);
    VectorDone();
    inter_.Finish();
  }

  // One chunk further in every lane. Up to each VectorDone is a step: what the Vector queue is given between two barriers, instructions
  // that do not depend on one another. Cube jobs stand where their operands are about to be in L1, copies of the loader behind what the
  // Cube waits for. The order was searched for with a replay of the queues (see README.md); the scores and combine lanes go on to their
  // next chunk in the middle.
  __aicore__ inline void Advance(const Chunk& now, const Chunk& next, const Chunk& mid, const Chunk& fetch) {
    inter_.Start(now, decays_.power());
    scores_.Start(mid);
    loader_.KeysToL1(mid, 0);
    loader_.KeysToL1(mid, 1);
    inter_.FetchKeyState(0);
    loader_.QueriesToL1(mid, 0);
    VectorDone();
    inter_.DecayKeyState(0);
    VectorDone();
    loader_.QueriesToL1(mid, 1);
    inter_.RoundResidual(0);
    combine_.SendOutWeight();
    inter_.FetchKeyState(1);
    VectorDone();
    inter_.DecayKeyState(1);
    VectorDone();
    inter_.RoundResidual(1);
    inter_.FetchQueryState(0);
    VectorDone();
    loader_.GateStep(mid, 0);
    inter_.DecayQueryState(0);
    loader_.KeysToL1(mid, 2);
    loader_.KeysToL1(mid, 3);
    solve_.InvertColumn(13);
    VectorDone();
    inter_.SubtractResidual(0);
    inter_.PreloadOut(0);
    inter_.SendResidual(0);
    solve_.InvertColumn(14);
    inter_.FetchQueryState(1);
    loader_.KeysToL1(mid, 4);
    loader_.KeysToL1(mid, 5);
    VectorDone();
    loader_.KeysToL1(mid, 6);
    loader_.KeysToL1(mid, 7);
    combine_.Start(next);
    combine_.ScaleColumns();
    loader_.GateStep(mid, 1);
    inter_.SubtractResidual(1);
    inter_.DecayQueryState(1);
    VectorDone();
    inter_.PreloadOut(1);
    loader_.QueriesToL1(mid, 2);
    inter_.SendResidual(1);
    inter_.FetchState(0, 0);
    combine_.FromLanesToBlocks();
    decays_.ShiftStep(0);
    VectorDone();
    loader_.FetchValues(next);
    combine_.RoundDiagonals();
    decays_.ShiftStep(1);
    loader_.QueriesToL1(mid, 3);
    inter_.DecayState(0, 0);
    loader_.GateStep(mid, 2);
    VectorDone();
    inter_.ValueProducts(0);
    loader_.QueriesToL1(mid, 4);
    loader_.QueriesToL1(mid, 5);
    inter_.FetchState(0, 1);
    inter_.PreloadState(0, 0);
    combine_.RestOfDiagonals();
    decays_.ShiftStep(2);
    loader_.QueriesToL1(mid, 6);
    loader_.QueriesToL1(mid, 7);
    inter_.ValueProducts(1);
    loader_.GateStep(mid, 3);
    VectorDone();
    inter_.DecayState(0, 1);
    scores_.ScoreProducts();
    combine_.SendDiagonals();
    loader_.GateStep(mid, 4);
    inter_.FetchShifted(1);
    VectorDone();
    inter_.PreloadState(0, 1);
    loader_.FetchQueries(fetch);
    loader_.GateStep(mid, 5);
    inter_.FetchShifted(0);
    inter_.FetchState(1, 0);
    VectorDone();
    inter_.DecayState(1, 0);
    loader_.FactorStep(mid, 0);
    loader_.GateStep(mid, 6);
    VectorDone();
    loader_.FactorStep(mid, 1);
    inter_.FetchState(1, 1);
    combine_.GramTimesFirst16();
    inter_.PreloadState(1, 0);
    VectorDone();
    inter_.DecayState(1, 1);
    loader_.FactorStep(mid, 2);
    inter_.SubtractShifted(0);
    loader_.GateStep(mid, 7);
    scores_.FetchScores();
    combine_.FetchProduct(1);
    inter_.SendShifted(0);
    inter_.SubtractShifted(1);
    VectorDone();
    loader_.GateStep(mid, 8);
    combine_.RestOfProduct(1);
    VectorDone();
    combine_.SendInner(1);
    inter_.SendShifted(1);
    scores_.MaskGates();
    inter_.PreloadState(1, 1);
    inter_.VNewProduct(0);
    combine_.SecondTimesInner16();
    inter_.VNewProduct(1);
    scores_.SegmentProduct();
    solve_.Start(mid);
    solve_.GramToLanes();
    VectorDone();
    solve_.ScaleLanes();
    inter_.FetchOut(0);
    loader_.ReceiveValues(next);
    loader_.ValuesToL1(next, 0);
    combine_.FetchProduct(1);
    VectorDone();
    inter_.ScaleOut(0);
    solve_.IdentityLanes();
    combine_.RestOfProduct(1);
    loader_.ValuesToL1(next, 1);
    VectorDone();
    combine_.SendOuter16();
    inter_.ArrangeOut(0);
    combine_.GramTimesFirst32();
    solve_.InvertColumn(0);
    decays_.HandOver();
    decays_.Start(mid);
    loader_.ValuesToL1(next, 2);
    VectorDone();
    inter_.FetchVNew(0);
    inter_.FetchOut(1);
    inter_.FetchVNew(1);
    solve_.InvertColumn(1);
    loader_.ValuesToL1(next, 3);
    inter_.SubtractVNew(0);
    inter_.SubtractVNew(1);
    scores_.FetchSums();
    combine_.FetchProduct(2);
    inter_.SendVNew(0);
    inter_.SendVNew(1);
    loader_.ValuesToL1(next, 4);
    inter_.StateProduct(0);
    loader_.ValuesToL1(next, 5);
    inter_.StateProduct(1);
    VectorDone();
    inter_.ScaleOut(1);
    loader_.ValuesToL1(next, 6);
    loader_.ValuesToL1(next, 7);
    decays_.Exp();
    combine_.RestOfProduct(2);
    inter_.AddStep(0, 0);
    VectorDone();
    loader_.FetchKeys(fetch);
    combine_.SendInner(2);
    inter_.RoundState(0);
    decays_.FactorStep(0);
    solve_.InvertColumn(2);
    scores_.SendHi();
    inter_.AddStep(0, 1);
    VectorDone();
    decays_.FactorStep(1);
    combine_.SecondTimesInner32();
    solve_.InvertColumn(3);
    inter_.RoundState(1);
    inter_.SubtractState(0);
    combine_.FetchProduct(2);
    inter_.AddStep(0, 2);
    inter_.AddStep(1, 0);
    VectorDone();
    decays_.FactorStep(2);
    combine_.RestOfProduct(2);
    inter_.AddStep(0, 3);
    inter_.AddStep(1, 1);
    VectorDone();
    combine_.SendOuter32();
    inter_.SubtractState(1);
    decays_.FactorStep(3);
    inter_.SendState(0);
    solve_.InvertColumn(4);
    inter_.SendState(1);
    scores_.SubtractHi();
    inter_.AddStep(0, 4);
    inter_.AddStep(1, 2);
    VectorDone();
    decays_.FactorStep(4);
    inter_.ArrangeOut(1);
    inter_.StoreOut();
    scores_.FetchLo();
    solve_.InvertColumn(5);
    inter_.AddStep(1, 3);
    VectorDone();
    combine_.QueryKeyTimesT();
    solve_.InvertColumn(6);
    decays_.FactorStep(5);
    inter_.AddStep(1, 4);
    VectorDone();
    decays_.FactorStep(6);
    solve_.InvertColumn(7);
    scores_.MaskLo();
    VectorDone();
    decays_.FactorStep(7);
    scores_.SendLo();
    solve_.InvertColumn(8);
    combine_.FetchOutWeight();
    VectorDone();
    combine_.DecayOutWeight();
    decays_.FactorStep(8);
    inter_.StateProducts(0, next);
    solve_.InvertColumn(9);
    loader_.ReceiveQueries(fetch);
    VectorDone();
    combine_.RoundOutWeight();
    solve_.InvertColumn(10);
    inter_.StateProducts(1, next);
    VectorDone();
    solve_.InvertColumn(11);
    combine_.RestOfOutWeight();
    VectorDone();
    decays_.FactorStep(9);
    combine_.RoundOutWeightRest();
    solve_.InvertColumn(12);
    loader_.ReceiveKeys(fetch);
    VectorDone();
    inter_.Finish();
  }

  // Tiles in L1 that depend on nothing but the chunk length, and zeros above the diagonals.
  __aicore__ inline void BuildConstants() {
    const StageScope stage(Table::kTable.rows[kConstantsUb].first_stage);
    BuildCausalMask(Get<kCausalMask, half>());
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
    if constexpr (kShares) {
      if (tiling_.chunk_parallel != 0) {
        ZeroSlots();
      }
    }
  }

  // Above the diagonals of what slots are fetched to; the tile of zeros is in UB.
  __aicore__ inline void ZeroSlots() {
    for (uint32_t h = 0; h < kTurns * 2; ++h) {
      ConstantToL1(Get<kSlotOutWeightL1, half>()[h * kTileElems], kTileElems);
      ConstantToL1(Get<kSlotTL1, half>()[h * kTileElems], kTileElems);
    }
    for (uint32_t h = 0; h < kTurns; ++h) {
      ConstantToL1(Get<kSlotShiftL1, half>()[h * kTileElems], kTileElems);
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

  using Table = Buffers<kBucket, kLayout>;
  static constexpr bool kShares = RunsChunkParallel(kLayout);

  const ChunkGatedDeltaRuleTiling& tiling_;
  AscendC::TPipe pipe_;
  OnChip<Table> chip_;
  GmTensors<StateT> gm_;
  CubeSlots slots_;
  SequenceLengths lengths_;
  ChunkLoader<Table, StateT> loader_;
  ChunkScores<Table> scores_;
  ChunkDecays<Table> decays_;
  ChunkSolve<Table> solve_;
  ChunkCombine<Table> combine_;
  InterChunk<Table, StateT> inter_;
  ChunkHandover<Table, StateT> handover_;
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_KERNEL_H_
