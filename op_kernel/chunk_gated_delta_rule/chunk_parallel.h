// SPDX-License-Identifier: Apache-2.0
// Chunk-parallel: the cores of a v-head share out what does not depend on the state.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_CHUNK_PARALLEL_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_CHUNK_PARALLEL_H_

#include "lanes.h"

namespace chunk_gdr {

// A core runs one item at most, a slice of Dv, two chunks a round. Of the item's chunks as many as there are slices of Dv share out what
// does not depend on the state: each core takes its own through the scores and combine lanes, ahead of the inter-chunk lanes, and puts
// T and P into the workspace. All cores meet every few rounds; what is in the workspace then is what the rounds up to the next meeting
// work on.
template <typename Table, typename StateT>
class ChunkParallel {
 public:
  __aicore__ inline explicit ChunkParallel(Lanes<Table, StateT>& lanes)
      : chip_(lanes.chip),
        gm_(lanes.gm),
        tiling_(lanes.tiling),
        loader_(lanes.loader),
        scores_(lanes.scores),
        decays_(lanes.decays),
        solve_(lanes.solve),
        combine_(lanes.combine),
        detour_(lanes.detour),
        inter_(lanes.inter),
        handover_(lanes.handover) {}

  __aicore__ inline void Run(const Partition<SequenceLengths>& partition) {
    const int64_t rounds_apart = tiling_.chunk_parallel;
    const int64_t lead = rounds_apart + kRoundsToSlot;
    int64_t longest = 0;
    for (int64_t b = 0; b < tiling_.sequences; ++b) {
      const int64_t length = partition.length(b);
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
      const bool meets = round + 1 >= 0 && round + 1 < rounds && (round + 1) % rounds_apart == 0;
      if (!works) {
        Meet(meets);
        continue;
      }
      Chunk fetch;
      if (own < kTurns * (round + lead + 1)) {
        fetch = ChunkOf(item, own);
        fetch.index = own_index++;
        own += step;
      }
      const int64_t first = kTurns * round;
      const Round r{ChunkOf(item, first), ChunkOf(item, first + 1), ChunkOf(item, first + 2), ChunkOf(item, first + 3), meets};
      if (round + 1 < 0) {
        AdvanceAhead(done, next, mid, fetch);
      } else if (step <= kTurns) {
        AdvanceBusy(before, r, done, next, mid, fetch);
      } else {
        Advance(before, r, done, next, mid, fetch);
      }
      before = r;
      done = next;
      next = mid;
      mid = fetch;
    }
    inter_.CopyOut(before.turn0);  // behind them V has handed over the state
    inter_.CopyOut(before.turn1);
  }

 private:
  // The two chunks of the inter-chunk lane, and those of the next round, whose rows and slots are fetched.
  struct Round {
    Chunk turn0;
    Chunk turn1;
    Chunk after0;
    Chunk after1;
    bool meets = false;  // with the other cores
  };

  // All cores; then what each has stored is there for all.
  __aicore__ inline void Meet(bool meets) {
    if (meets) {
      AscendC::SyncAll(gm_.sync, chip_.template Get<kGateWork, int32_t>());
    }
  }

  // The rows of out of the round before, if it had a chunk; `handed_over`: V has handed over something to MTE3 since.
  __aicore__ inline void StoreOut(const Round& before, bool handed_over) {
    out_leaves_ = before.turn0.HasTokens();
    if (!out_leaves_) {
      return;
    }
    if (!handed_over) {
      Handoff<HardEvent::V_MTE3>(kOutRowsReady);
    }
    inter_.CopyOut(before.turn0);
    inter_.CopyOut(before.turn1);
    Signal<HardEvent::MTE3_V>(kOutRowsLeft);
  }
  __aicore__ inline void AwaitOut() {
    if (out_leaves_) {
      Await<HardEvent::MTE3_V>(kOutRowsLeft);
    }
  }

  // One round further in every lane; a list of steps like that of sequence_major.h, and searched for in the same way.
  __aicore__ inline void Advance(const Round& before, const Round& r, const Chunk& done, const Chunk& next, const Chunk& mid,
                                 const Chunk& fetch) {
    inter_.Start(r.turn0, {});
    loader_.RowsInL1(mid);
    StoreOut(before, false);
    decays_.ShiftStep(0);
    loader_.GateStep(mid, 0);
    loader_.FactorStep(mid, 0);
    VectorDone();
    solve_.InvertColumn(13);
    scores_.Start(mid);
    loader_.FactorStep(mid, 1);
    handover_.StageT(done);
    decays_.ShiftStep(1);
    loader_.GateStep(mid, 1);
    handover_.QueryFactors(r.turn0);
    loader_.FetchKeys(fetch);
    inter_.FetchKeyState(0);
    inter_.SetPowers(handover_.ReadPowers(r.turn0));
    VectorDone();
    solve_.InvertColumn(14);
    inter_.DecayKeys();
    VectorDone();
    inter_.SplitResidual(0);
    VectorDone();
    inter_.SplitResidual(1);
    loader_.GateStep(mid, 2);
    scores_.ScoreProducts();
    VectorDone();
    inter_.SplitResidual(2);
    solve_.Start(mid);
    decays_.ShiftStep(2);
    decays_.PowersToFactors(detour_.power(next));
    combine_.Start(next);
    handover_.Store(done);
    handover_.StoreFactors(next, decays_.Factors());
    loader_.FactorStep(mid, 2);
    combine_.ScaleColumns();
    scores_.FetchScores();
    inter_.FetchQueryState(0);
    loader_.GateStep(mid, 3);
    VectorDone();
    combine_.FromLanesToBlocks();
    solve_.GramToLanes();
    inter_.ShiftValues();
    inter_.DecayQueryState(0);
    detour_.Measure(mid, 0);
    VectorDone();
    solve_.ScaleLanes();
    inter_.PreloadOut();
    inter_.FetchState(0, 0);
    detour_.Measure(mid, 1);
    VectorDone();
    inter_.ShiftResidual();
    inter_.DecayState(0, 0);
    solve_.IdentityLanes();
    loader_.GateStep(mid, 4);
    detour_.Measure(mid, 2);
    VectorDone();
    loader_.GateStep(mid, 5);
    solve_.InvertColumn(0);
    combine_.RoundDiagonals();
    detour_.Measure(mid, 3);
    VectorDone();
    inter_.PreloadState(0, 0);
    loader_.GateStep(mid, 6);
    inter_.FetchState(0, 1);
    solve_.InvertColumn(1);
    combine_.RestOfDiagonals();
    VectorDone();
    inter_.FetchShifted();
    inter_.DecayState(0, 1);
    inter_.OutProducts(0);
    handover_.FactorsToUb(r.turn1);
    solve_.InvertColumn(2);
    loader_.GateStep(mid, 7);
    inter_.OutProducts(1);
    AwaitOut();
    inter_.SubtractShifted();
    combine_.SendDiagonals();
    VectorDone();
    solve_.InvertColumn(3);
    loader_.GateStep(mid, 8);
    VectorDone();
    inter_.PreloadState(0, 1);
    handover_.AwaitFactors();
    handover_.AwaitStore();
    solve_.InvertColumn(4);
    inter_.VNewProduct(0);
    VectorDone();
    inter_.SendShifted();
    inter_.VNewProduct(1);
    scores_.MaskGates();
    inter_.FetchOut(0);
    combine_.GramTimesFirst16();
    VectorDone();
    inter_.ScaleOut(0);
    inter_.FetchVNew(0);
    solve_.InvertColumn(5);
    handover_.QueryFactors(r.turn1);
    combine_.FetchProduct(1);
    VectorDone();
    Meet(r.meets);
    inter_.SubtractVNew(0);
    inter_.SendVNew(0);
    inter_.StateProduct(0);
    inter_.StateProduct(1);
    solve_.InvertColumn(6);
    scores_.SegmentProduct();
    combine_.RestOfProduct(1);
    VectorDone();
    solve_.InvertColumn(7);
    combine_.SendInner(1);
    inter_.RoundState(0);
    VectorDone();
    combine_.SecondTimesInner16();
    decays_.Start(mid);
    inter_.SubtractState(0);
    solve_.InvertColumn(8);
    inter_.ArrangeOut(0);
    scores_.FetchSums();
    combine_.FetchProduct(1);
    inter_.SendState(0);
    inter_.StateProducts(0, r.turn1);
    VectorDone();
    combine_.RestOfProduct(1);
    handover_.FetchRows(0, r.after0);
    decays_.Exp();
    inter_.Finish();
    VectorDone();
    inter_.Start(r.turn1, {});
    combine_.SendOuter16();
    inter_.SetPowers(handover_.ReadPowers(r.turn1));
    detour_.ScoresOf(mid);
    scores_.SendHi();
    solve_.InvertColumn(9);
    combine_.GramTimesFirst32();
    inter_.FetchKeyState(0);
    VectorDone();
    inter_.DecayKeys();
    VectorDone();
    inter_.SplitResidual(0);
    VectorDone();
    inter_.SplitResidual(1);
    VectorDone();
    inter_.SplitResidual(2);
    combine_.FetchProduct(2);
    VectorDone();
    inter_.FetchQueryState(0);
    inter_.ShiftValues();
    loader_.ReceiveKeys(fetch);
    combine_.RestOfProduct(2);
    VectorDone();
    scores_.SubtractHi();
    inter_.ShiftResidual();
    combine_.SendInner(2);
    combine_.SecondTimesInner32();
    decays_.FactorStep(0);
    handover_.FetchSlot(r.after0);
    inter_.DecayQueryState(0);
    VectorDone();
    solve_.InvertColumn(10);
    inter_.PreloadOut();
    inter_.FetchShifted();
    inter_.FetchState(0, 0);
    combine_.FetchProduct(2);
    inter_.OutProducts(0);
    decays_.FactorStep(1);
    VectorDone();
    decays_.FactorStep(2);
    combine_.RestOfProduct(2);
    inter_.SubtractShifted();
    inter_.OutProducts(1);
    inter_.SendShifted();
    inter_.DecayState(0, 0);
    VectorDone();
    inter_.PreloadState(0, 0);
    inter_.VNewProduct(0);
    solve_.InvertColumn(11);
    combine_.SendOuter32();
    inter_.FetchState(0, 1);
    inter_.VNewProduct(1);
    combine_.QueryKeyTimesT();
    decays_.FactorStep(3);
    scores_.FetchLo();
    VectorDone();
    decays_.FactorStep(4);
    inter_.DecayState(0, 1);
    VectorDone();
    inter_.PreloadState(0, 1);
    handover_.FetchRows(1, r.after1);
    VectorDone();
    inter_.FetchVNew(0);
    handover_.FetchSlot(r.after1);
    decays_.FactorStep(5);
    solve_.InvertColumn(12);
    inter_.FetchOut(0);
    scores_.MaskLo();
    combine_.FetchOutWeight();
    VectorDone();
    inter_.SubtractVNew(0);
    inter_.SendVNew(0);
    combine_.DecayOutWeight();
    decays_.FactorStep(6);
    inter_.StateProduct(0);
    VectorDone();
    inter_.StateProduct(1);
    combine_.RoundOutWeight();
    decays_.FactorStep(7);
    VectorDone();
    handover_.FactorsToUb(r.after0);
    scores_.SendLo();
    decays_.FactorStep(8);
    combine_.RestOfOutWeight();
    inter_.RoundState(0);
    inter_.ScaleOut(0);
    inter_.SubtractState(0);
    VectorDone();
    decays_.FactorStep(9);
    combine_.RoundOutWeightRest();
    inter_.SendState(0);
    inter_.StateProducts(0, r.after0);
    inter_.ArrangeOut(0);
    VectorDone();
    detour_.RowsOfT(next);
    inter_.Finish();
  }

  // The same where every round has a chunk of the core's own: the Vector queue then has as much to do as the chain of the state takes.
  __aicore__ inline void AdvanceBusy(const Round& before, const Round& r, const Chunk& done, const Chunk& next, const Chunk& mid,
                                     const Chunk& fetch) {
    inter_.Start(r.turn0, {});
    loader_.RowsInL1(mid);
    StoreOut(before, true);  // a state
    handover_.QueryFactors(r.turn0);
    loader_.FactorStep(mid, 0);
    scores_.Start(mid);
    handover_.FetchRows(0, r.after0);
    loader_.GateStep(mid, 0);
    inter_.FetchKeyState(0);
    handover_.StageT(done);
    solve_.InvertColumn(13);
    VectorDone();
    inter_.DecayKeys();
    VectorDone();
    inter_.SplitResidual(0);
    VectorDone();
    loader_.GateStep(mid, 1);
    inter_.SplitResidual(1);
    VectorDone();
    inter_.SetPowers(handover_.ReadPowers(r.turn0));
    inter_.SplitResidual(2);
    handover_.Store(done);
    solve_.InvertColumn(14);
    loader_.FactorStep(mid, 1);
    scores_.ScoreProducts();
    loader_.GateStep(mid, 2);
    inter_.FetchQueryState(0);
    VectorDone();
    inter_.DecayQueryState(0);
    solve_.Start(mid);
    loader_.FetchKeys(fetch);
    decays_.ShiftStep(0);
    combine_.Start(next);
    loader_.GateStep(mid, 3);
    combine_.ScaleColumns();
    VectorDone();
    scores_.FetchScores();
    inter_.ShiftValues();
    loader_.FactorStep(mid, 2);
    inter_.PreloadOut();
    inter_.FetchState(0, 0);
    decays_.ShiftStep(1);
    combine_.FromLanesToBlocks();
    loader_.GateStep(mid, 4);
    inter_.ShiftResidual();
    AwaitOut();
    VectorDone();
    combine_.RoundDiagonals();
    decays_.ShiftStep(2);
    decays_.PowersToFactors(detour_.power(next));
    loader_.GateStep(mid, 5);
    solve_.GramToLanes();
    VectorDone();
    combine_.RestOfDiagonals();
    solve_.ScaleLanes();
    inter_.FetchShifted();
    inter_.DecayState(0, 0);
    VectorDone();
    inter_.OutProducts(0);
    handover_.StoreFactors(next, decays_.Factors());
    detour_.Measure(mid, 0);
    solve_.IdentityLanes();
    inter_.FetchState(0, 1);
    loader_.GateStep(mid, 6);
    inter_.PreloadState(0, 0);
    VectorDone();
    inter_.OutProducts(1);
    inter_.SubtractShifted();
    detour_.Measure(mid, 1);
    inter_.DecayState(0, 1);
    solve_.InvertColumn(0);
    VectorDone();
    loader_.GateStep(mid, 7);
    solve_.InvertColumn(1);
    VectorDone();
    loader_.GateStep(mid, 8);
    inter_.VNewProduct(0);
    solve_.InvertColumn(2);
    inter_.PreloadState(0, 1);
    combine_.SendDiagonals();
    VectorDone();
    handover_.AwaitStore();
    solve_.InvertColumn(3);
    inter_.SendShifted();
    scores_.MaskGates();
    inter_.VNewProduct(1);
    decays_.Start(mid);
    combine_.GramTimesFirst16();
    VectorDone();
    handover_.FactorsToUb(r.turn1);
    solve_.InvertColumn(4);
    inter_.FetchVNew(0);
    inter_.SubtractVNew(0);
    inter_.FetchOut(0);
    combine_.FetchProduct(1);
    inter_.StateProduct(0);
    VectorDone();
    inter_.SendVNew(0);
    inter_.ScaleOut(0);
    VectorDone();
    handover_.AwaitFactors();
    inter_.ArrangeOut(0);
    combine_.RestOfProduct(1);
    detour_.Measure(mid, 2);
    inter_.StateProduct(1);
    solve_.InvertColumn(5);
    VectorDone();
    combine_.SendInner(1);
    inter_.RoundState(0);
    scores_.SegmentProduct();
    solve_.InvertColumn(6);
    combine_.SecondTimesInner16();
    VectorDone();
    handover_.QueryFactors(r.turn1);
    scores_.FetchSums();
    solve_.InvertColumn(7);
    inter_.SubtractState(0);
    combine_.FetchProduct(1);
    inter_.SendState(0);
    inter_.StateProducts(0, r.turn1);
    detour_.Measure(mid, 3);
    VectorDone();
    inter_.Finish();
    solve_.InvertColumn(8);
    decays_.Exp();
    combine_.RestOfProduct(1);
    VectorDone();
    detour_.ScoresOf(mid);
    inter_.Start(r.turn1, {});
    combine_.SendOuter16();
    inter_.FetchKeyState(0);
    combine_.GramTimesFirst32();
    VectorDone();
    inter_.SetPowers(handover_.ReadPowers(r.turn1));
    inter_.DecayKeys();
    scores_.SendHi();
    scores_.SubtractHi();
    inter_.ShiftValues();
    VectorDone();
    inter_.SplitResidual(0);
    VectorDone();
    inter_.SplitResidual(1);
    VectorDone();
    inter_.SplitResidual(2);
    combine_.FetchProduct(2);
    decays_.FactorStep(0);
    VectorDone();
    Meet(r.meets);
    inter_.FetchQueryState(0);
    combine_.RestOfProduct(2);
    inter_.ShiftResidual();
    decays_.FactorStep(1);
    VectorDone();
    loader_.ReceiveKeys(fetch);
    combine_.SendInner(2);
    combine_.SecondTimesInner32();
    inter_.DecayQueryState(0);
    decays_.FactorStep(2);
    VectorDone();
    inter_.FetchShifted();
    inter_.PreloadOut();
    decays_.FactorStep(3);
    inter_.FetchState(0, 0);
    inter_.SubtractShifted();
    inter_.OutProducts(0);
    combine_.FetchProduct(2);
    solve_.InvertColumn(9);
    VectorDone();
    inter_.SendShifted();
    inter_.VNewProduct(0);
    combine_.RestOfProduct(2);
    inter_.OutProducts(1);
    inter_.DecayState(0, 0);
    decays_.FactorStep(4);
    inter_.VNewProduct(1);
    handover_.FetchSlot(r.after0);
    VectorDone();
    handover_.FetchRows(1, r.after1);
    combine_.SendOuter32();
    scores_.FetchLo();
    inter_.FetchState(0, 1);
    handover_.FetchSlot(r.after1);
    solve_.InvertColumn(10);
    inter_.PreloadState(0, 0);
    decays_.FactorStep(5);
    VectorDone();
    combine_.QueryKeyTimesT();
    inter_.DecayState(0, 1);
    handover_.FactorsToUb(r.after0);
    VectorDone();
    inter_.PreloadState(0, 1);
    inter_.FetchVNew(0);
    decays_.FactorStep(6);
    solve_.InvertColumn(11);
    inter_.SubtractVNew(0);
    scores_.MaskLo();
    inter_.StateProduct(0);
    inter_.FetchOut(0);
    combine_.FetchOutWeight();
    inter_.SendVNew(0);
    VectorDone();
    decays_.FactorStep(7);
    inter_.ScaleOut(0);
    combine_.DecayOutWeight();
    VectorDone();
    decays_.FactorStep(8);
    combine_.RoundOutWeight();
    inter_.StateProduct(1);
    scores_.SendLo();
    inter_.ArrangeOut(0);
    inter_.RoundState(0);
    inter_.SubtractState(0);
    VectorDone();
    combine_.RestOfOutWeight();
    decays_.FactorStep(9);
    inter_.SendState(0);
    VectorDone();
    combine_.RoundOutWeightRest();
    solve_.InvertColumn(12);
    inter_.StateProducts(0, r.after0);
    VectorDone();
    detour_.RowsOfT(next);
    inter_.Finish();
  }

  // One round further in the lanes ahead of the state, before the first chunk meets it; the same steps without the others.
  __aicore__ inline void AdvanceAhead(const Chunk& done, const Chunk& next, const Chunk& mid, const Chunk& fetch) {
    handover_.StageT(done);
    loader_.FactorStep(mid, 0);
    scores_.Start(mid);
    solve_.InvertColumn(13);
    loader_.GateStep(mid, 0);
    VectorDone();
    loader_.RowsInL1(mid);
    loader_.FactorStep(mid, 1);
    scores_.ScoreProducts();
    loader_.GateStep(mid, 1);
    solve_.InvertColumn(14);
    combine_.Start(next);
    VectorDone();
    loader_.GateStep(mid, 2);
    decays_.ShiftStep(0);
    loader_.FactorStep(mid, 2);
    handover_.Store(done);
    combine_.ScaleColumns();
    VectorDone();
    decays_.PowersToFactors(detour_.power(next));
    combine_.FromLanesToBlocks();
    loader_.GateStep(mid, 3);
    decays_.ShiftStep(1);
    loader_.FetchKeys(fetch);
    VectorDone();
    solve_.Start(mid);
    combine_.RoundDiagonals();
    scores_.FetchScores();
    loader_.GateStep(mid, 4);
    VectorDone();
    decays_.ShiftStep(2);
    detour_.Measure(mid, 0);
    combine_.RestOfDiagonals();
    solve_.GramToLanes();
    VectorDone();
    combine_.SendDiagonals();
    loader_.GateStep(mid, 5);
    solve_.ScaleLanes();
    VectorDone();
    loader_.GateStep(mid, 6);
    detour_.Measure(mid, 1);
    handover_.StoreFactors(next, decays_.Factors());
    combine_.GramTimesFirst16();
    solve_.IdentityLanes();
    VectorDone();
    solve_.InvertColumn(0);
    VectorDone();
    loader_.GateStep(mid, 7);
    solve_.InvertColumn(1);
    VectorDone();
    solve_.InvertColumn(2);
    loader_.GateStep(mid, 8);
    detour_.Measure(mid, 2);
    VectorDone();
    scores_.MaskGates();
    solve_.InvertColumn(3);
    combine_.FetchProduct(1);
    VectorDone();
    combine_.RestOfProduct(1);
    VectorDone();
    decays_.Start(mid);
    combine_.SendInner(1);
    detour_.Measure(mid, 3);
    solve_.InvertColumn(4);
    VectorDone();
    combine_.SecondTimesInner16();
    handover_.AwaitFactors();
    solve_.InvertColumn(5);
    combine_.FetchProduct(1);
    VectorDone();
    combine_.RestOfProduct(1);
    scores_.SegmentProduct();
    VectorDone();
    combine_.SendOuter16();
    combine_.GramTimesFirst32();
    solve_.InvertColumn(6);
    VectorDone();
    scores_.FetchSums();
    solve_.InvertColumn(7);
    VectorDone();
    solve_.InvertColumn(8);
    combine_.FetchProduct(2);
    VectorDone();
    combine_.RestOfProduct(2);
    VectorDone();
    combine_.SendInner(2);
    combine_.SecondTimesInner32();
    decays_.Exp();
    VectorDone();
    detour_.ScoresOf(mid);
    scores_.SendHi();
    combine_.FetchProduct(2);
    VectorDone();
    combine_.RestOfProduct(2);
    VectorDone();
    combine_.SendOuter32();
    solve_.InvertColumn(9);
    decays_.FactorStep(0);
    VectorDone();
    decays_.FactorStep(1);
    VectorDone();
    decays_.FactorStep(2);
    VectorDone();
    scores_.SubtractHi();
    combine_.QueryKeyTimesT();
    solve_.InvertColumn(10);
    decays_.FactorStep(3);
    VectorDone();
    decays_.FactorStep(4);
    loader_.ReceiveKeys(fetch);
    solve_.InvertColumn(11);
    VectorDone();
    decays_.FactorStep(5);
    scores_.FetchLo();
    VectorDone();
    decays_.FactorStep(6);
    solve_.InvertColumn(12);
    VectorDone();
    decays_.FactorStep(7);
    VectorDone();
    decays_.FactorStep(8);
    scores_.MaskLo();
    combine_.FetchOutWeight();
    VectorDone();
    combine_.DecayOutWeight();
    scores_.SendLo();
    VectorDone();
    decays_.FactorStep(9);
    combine_.RoundOutWeight();
    handover_.AwaitStore();
    VectorDone();
    combine_.RestOfOutWeight();
    VectorDone();
    combine_.RoundOutWeightRest();
    detour_.RowsOfT(next);
  }

  OnChip<Table>& chip_;
  const GmTensors<StateT>& gm_;
  const ChunkGatedDeltaRuleTiling& tiling_;
  ChunkLoader<Table, StateT>& loader_;
  ChunkScores<Table>& scores_;
  ChunkDecays<Table>& decays_;
  ChunkSolve<Table>& solve_;
  ChunkCombine<Table>& combine_;
  Detour<Table>& detour_;
  InterTurns<Table, StateT>& inter_;
  ChunkHandover<Table, StateT>& handover_;
  bool out_leaves_ = false;
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_CHUNK_PARALLEL_H_
