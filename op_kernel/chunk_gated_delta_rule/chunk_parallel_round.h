// SPDX-License-Identifier: Apache-2.0
// Chunk-parallel: what the lanes give the queues in a round, step by step.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_CHUNK_PARALLEL_ROUND_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_CHUNK_PARALLEL_ROUND_H_

#include "lanes.h"

namespace chunk_gdr {

// The two chunks of the inter-chunk lane, and those of the next round, whose rows and slots are fetched.
struct RoundChunks {
  Chunk turn0;
  Chunk turn1;
  Chunk after0;
  Chunk after1;
  bool slots_follow = false;  // those of the next round are there already
};

template <typename Table, typename StateT>
class ChunkParallelRound {
 public:
  __aicore__ inline explicit ChunkParallelRound(Lanes<Table, StateT>& lanes)
      : loader_(lanes.loader),
        scores_(lanes.scores),
        decays_(lanes.decays),
        solve_(lanes.solve),
        combine_(lanes.combine),
        detour_(lanes.detour),
        inter_(lanes.inter),
        handover_(lanes.handover) {}

  // The rows of out of the round before.
  __aicore__ inline void StoreOut(const RoundChunks& before) {
    Handoff<HardEvent::V_MTE3>(kOutRowsReady);
    inter_.CopyOut(before.turn0);
    inter_.CopyOut(before.turn1);
    Signal<HardEvent::MTE3_V>(kOutRowsLeft);
  }
  __aicore__ inline void AwaitOut() { Await<HardEvent::MTE3_V>(kOutRowsLeft); }

  // One round further in every lane; a list of steps like that of sequence_major.h, and searched for in the same way.
  __aicore__ inline void Advance(const RoundChunks& before, const RoundChunks& r, const Chunk& done, const Chunk& next, const Chunk& mid,
                                 const Chunk& fetch) {
    inter_.Start(r.turn0, {});
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
    decays_.PowersToFactors(detour_.power(next));
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
    inter_.SetPowers(handover_.ReadPowers(r.turn0));
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
    detour_.Measure(mid, 0);
    inter_.ArrangeOut(1);
    combine_.FetchProduct(2);
    handover_.KeyFactors(r.turn1);
    handover_.FetchRows(0, r.after0);
    solve_.GramToLanes();
    VectorDone();
    detour_.Measure(mid, 1);
    inter_.Finish();
    inter_.Start(r.turn1, {});
    solve_.ScaleLanes();
    inter_.FetchKeyState(0);
    VectorDone();
    detour_.Measure(mid, 2);
    solve_.IdentityLanes();
    inter_.DecayKeyState(0);
    combine_.RestOfProduct(2);
    VectorDone();
    detour_.Measure(mid, 3);
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
    inter_.SetPowers(handover_.ReadPowers(r.turn1));
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
    VectorDone();
    decays_.Exp();
    inter_.DecayState(1, 0);
    VectorDone();
    detour_.ScoresOf(mid);
    scores_.SendHi();
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
    detour_.RowsOfT(next);
    inter_.Finish();
  }

 private:
  ChunkLoader<Table, StateT>& loader_;
  ChunkScores<Table>& scores_;
  ChunkDecays<Table>& decays_;
  ChunkSolve<Table>& solve_;
  ChunkCombine<Table>& combine_;
  Detour<Table>& detour_;
  InterChunk<Table, StateT>& inter_;
  ChunkHandover<Table, StateT>& handover_;
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_CHUNK_PARALLEL_ROUND_H_
