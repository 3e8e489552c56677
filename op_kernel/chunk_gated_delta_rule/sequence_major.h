// SPDX-License-Identifier: Apache-2.0
// Sequence-major: a core runs its items chunk after chunk, four chunks at a time, each in its lane. With slices of Dv as items: v-tiles.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_SEQUENCE_MAJOR_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_SEQUENCE_MAJOR_H_

#include "lanes.h"

namespace chunk_gdr {

template <typename Table, typename StateT>
class SequenceMajor {
 public:
  __aicore__ inline explicit SequenceMajor(Lanes<Table, StateT>& lanes)
      : loader_(lanes.loader),
        scores_(lanes.scores),
        decays_(lanes.decays),
        solve_(lanes.solve),
        combine_(lanes.combine),
        detour_(lanes.detour),
        inter_(lanes.inter) {}

  __aicore__ inline void Run(const Partition<SequenceLengths>& partition) {
    ChunkStream<SequenceLengths, Table::kStates> stream(partition, AscendC::GetBlockIdx());
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

 private:
  // One chunk further in every lane. Up to each VectorDone is a step: what the Vector queue is given between two barriers, instructions
  // that do not depend on one another. Cube jobs stand where their operands are about to be in L1, copies of the loader behind what the
  // Cube waits for. The order was searched for with a replay of the queues (see README.md); the scores and combine lanes go on to their
  // next chunk in the middle.
  __aicore__ inline void Advance(const Chunk& now, const Chunk& next, const Chunk& mid, const Chunk& fetch) {
    inter_.Start(now, {decays_.state_power(), detour_.out_power(now)});
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
    detour_.Measure(mid, 0);
    loader_.GateStep(mid, 8);
    combine_.RestOfProduct(1);
    VectorDone();
    detour_.Measure(mid, 1);
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
    detour_.Measure(mid, 2);
    solve_.ScaleLanes();
    inter_.FetchOut(0);
    loader_.ReceiveValues(next);
    loader_.ValuesToL1(next, 0);
    combine_.FetchProduct(1);
    VectorDone();
    detour_.Measure(mid, 3);
    inter_.ScaleOut(0);
    solve_.IdentityLanes();
    combine_.RestOfProduct(1);
    loader_.ValuesToL1(next, 1);
    VectorDone();
    combine_.SendOuter16();
    inter_.ArrangeOut(0);
    combine_.GramTimesFirst32();
    solve_.InvertColumn(0);
    decays_.RowFactors();
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
    detour_.ScoresOf(mid);
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
    detour_.RowsOfT(next);
    inter_.Finish();
  }

  ChunkLoader<Table, StateT>& loader_;
  ChunkScores<Table>& scores_;
  ChunkDecays<Table>& decays_;
  ChunkSolve<Table>& solve_;
  ChunkCombine<Table>& combine_;
  Detour<Table>& detour_;
  InterChunk<Table, StateT>& inter_;
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_SEQUENCE_MAJOR_H_
