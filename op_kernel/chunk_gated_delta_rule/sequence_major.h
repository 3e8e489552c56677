// SPDX-License-Identifier: Apache-2.0
// Sequence-major: a core runs its items chunk after chunk, four chunks at a time, each in its lane. With slices of Dv as items: v-tiles.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_SEQUENCE_MAJOR_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_SEQUENCE_MAJOR_H_

#include "lanes.h"

namespace chunk_gdr {

template <typename Table, typename StateT>
class SequenceMajor {
 public:
  __aicore__ inline explicit SequenceMajor(Lanes<Table, StateT>& lanes) : lanes_(lanes), inter_(lanes.inter) {}

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
    inter_.Start(now, {lanes_.decays.state_power(), lanes_.detour.out_power(now)});
    lanes_.scores.Start(mid);
    lanes_.loader.KeysToL1(mid, 0);
    lanes_.loader.KeysToL1(mid, 1);
    inter_.FetchKeyState(0);
    lanes_.loader.QueriesToL1(mid, 0);
    VectorDone();
    inter_.DecayKeyState(0);
    VectorDone();
    lanes_.loader.QueriesToL1(mid, 1);
    inter_.RoundResidual(0);
    lanes_.combine.SendOutWeight();
    inter_.FetchKeyState(1);
    VectorDone();
    inter_.DecayKeyState(1);
    VectorDone();
    inter_.RoundResidual(1);
    inter_.FetchQueryState(0);
    VectorDone();
    lanes_.loader.GateStep(mid, 0);
    inter_.DecayQueryState(0);
    lanes_.loader.KeysToL1(mid, 2);
    lanes_.loader.KeysToL1(mid, 3);
    lanes_.solve.InvertColumn(13);
    VectorDone();
    inter_.SubtractResidual(0);
    inter_.PreloadOut(0);
    inter_.SendResidual(0);
    lanes_.solve.InvertColumn(14);
    inter_.FetchQueryState(1);
    lanes_.loader.KeysToL1(mid, 4);
    lanes_.loader.KeysToL1(mid, 5);
    VectorDone();
    lanes_.loader.KeysToL1(mid, 6);
    lanes_.loader.KeysToL1(mid, 7);
    lanes_.combine.Start(next);
    lanes_.combine.ScaleColumns();
    lanes_.loader.GateStep(mid, 1);
    inter_.SubtractResidual(1);
    inter_.DecayQueryState(1);
    VectorDone();
    inter_.PreloadOut(1);
    lanes_.loader.QueriesToL1(mid, 2);
    inter_.SendResidual(1);
    inter_.FetchState(0, 0);
    lanes_.combine.FromLanesToBlocks();
    lanes_.decays.ShiftStep(0);
    VectorDone();
    lanes_.loader.FetchValues(next);
    lanes_.combine.RoundDiagonals();
    lanes_.decays.ShiftStep(1);
    lanes_.loader.QueriesToL1(mid, 3);
    inter_.DecayState(0, 0);
    lanes_.loader.GateStep(mid, 2);
    VectorDone();
    inter_.ValueProducts(0);
    lanes_.loader.QueriesToL1(mid, 4);
    lanes_.loader.QueriesToL1(mid, 5);
    inter_.FetchState(0, 1);
    inter_.PreloadState(0, 0);
    lanes_.combine.RestOfDiagonals();
    lanes_.decays.ShiftStep(2);
    lanes_.loader.QueriesToL1(mid, 6);
    lanes_.loader.QueriesToL1(mid, 7);
    inter_.ValueProducts(1);
    lanes_.loader.GateStep(mid, 3);
    VectorDone();
    inter_.DecayState(0, 1);
    lanes_.scores.ScoreProducts();
    lanes_.combine.SendDiagonals();
    lanes_.loader.GateStep(mid, 4);
    inter_.FetchShifted(1);
    VectorDone();
    inter_.PreloadState(0, 1);
    lanes_.loader.FetchQueries(fetch);
    lanes_.loader.GateStep(mid, 5);
    inter_.FetchShifted(0);
    inter_.FetchState(1, 0);
    VectorDone();
    inter_.DecayState(1, 0);
    lanes_.loader.FactorStep(mid, 0);
    lanes_.loader.GateStep(mid, 6);
    VectorDone();
    lanes_.loader.FactorStep(mid, 1);
    inter_.FetchState(1, 1);
    lanes_.combine.GramTimesFirst16();
    inter_.PreloadState(1, 0);
    VectorDone();
    inter_.DecayState(1, 1);
    lanes_.loader.FactorStep(mid, 2);
    inter_.SubtractShifted(0);
    lanes_.loader.GateStep(mid, 7);
    lanes_.scores.FetchScores();
    lanes_.combine.FetchProduct(1);
    inter_.SendShifted(0);
    inter_.SubtractShifted(1);
    VectorDone();
    lanes_.detour.Measure(mid, 0);
    lanes_.loader.GateStep(mid, 8);
    lanes_.combine.RestOfProduct(1);
    VectorDone();
    lanes_.detour.Measure(mid, 1);
    lanes_.combine.SendInner(1);
    inter_.SendShifted(1);
    lanes_.scores.MaskGates();
    inter_.PreloadState(1, 1);
    inter_.VNewProduct(0);
    lanes_.combine.SecondTimesInner16();
    inter_.VNewProduct(1);
    lanes_.scores.SegmentProduct();
    lanes_.solve.Start(mid);
    lanes_.solve.GramToLanes();
    VectorDone();
    lanes_.detour.Measure(mid, 2);
    lanes_.solve.ScaleLanes();
    inter_.FetchOut(0);
    lanes_.loader.ReceiveValues(next);
    lanes_.loader.ValuesToL1(next, 0);
    lanes_.combine.FetchProduct(1);
    VectorDone();
    lanes_.detour.Measure(mid, 3);
    inter_.ScaleOut(0);
    lanes_.solve.IdentityLanes();
    lanes_.combine.RestOfProduct(1);
    lanes_.loader.ValuesToL1(next, 1);
    VectorDone();
    lanes_.combine.SendOuter16();
    inter_.ArrangeOut(0);
    lanes_.combine.GramTimesFirst32();
    lanes_.solve.InvertColumn(0);
    lanes_.decays.RowFactors();
    lanes_.decays.Start(mid);
    lanes_.loader.ValuesToL1(next, 2);
    VectorDone();
    inter_.FetchVNew(0);
    inter_.FetchOut(1);
    inter_.FetchVNew(1);
    lanes_.solve.InvertColumn(1);
    lanes_.loader.ValuesToL1(next, 3);
    inter_.SubtractVNew(0);
    inter_.SubtractVNew(1);
    lanes_.scores.FetchSums();
    lanes_.combine.FetchProduct(2);
    inter_.SendVNew(0);
    inter_.SendVNew(1);
    lanes_.loader.ValuesToL1(next, 4);
    inter_.StateProduct(0);
    lanes_.loader.ValuesToL1(next, 5);
    inter_.StateProduct(1);
    VectorDone();
    inter_.ScaleOut(1);
    lanes_.loader.ValuesToL1(next, 6);
    lanes_.loader.ValuesToL1(next, 7);
    lanes_.decays.Exp();
    lanes_.combine.RestOfProduct(2);
    inter_.AddStep(0, 0);
    VectorDone();
    lanes_.detour.ScoresOf(mid);
    lanes_.loader.FetchKeys(fetch);
    lanes_.combine.SendInner(2);
    inter_.RoundState(0);
    lanes_.decays.FactorStep(0);
    lanes_.solve.InvertColumn(2);
    lanes_.scores.SendHi();
    inter_.AddStep(0, 1);
    VectorDone();
    lanes_.decays.FactorStep(1);
    lanes_.combine.SecondTimesInner32();
    lanes_.solve.InvertColumn(3);
    inter_.RoundState(1);
    inter_.SubtractState(0);
    lanes_.combine.FetchProduct(2);
    inter_.AddStep(0, 2);
    inter_.AddStep(1, 0);
    VectorDone();
    lanes_.decays.FactorStep(2);
    lanes_.combine.RestOfProduct(2);
    inter_.AddStep(0, 3);
    inter_.AddStep(1, 1);
    VectorDone();
    lanes_.combine.SendOuter32();
    inter_.SubtractState(1);
    lanes_.decays.FactorStep(3);
    inter_.SendState(0);
    lanes_.solve.InvertColumn(4);
    inter_.SendState(1);
    lanes_.scores.SubtractHi();
    inter_.AddStep(0, 4);
    inter_.AddStep(1, 2);
    VectorDone();
    lanes_.decays.FactorStep(4);
    inter_.ArrangeOut(1);
    inter_.StoreOut();
    lanes_.scores.FetchLo();
    lanes_.solve.InvertColumn(5);
    inter_.AddStep(1, 3);
    VectorDone();
    lanes_.combine.QueryKeyTimesT();
    lanes_.solve.InvertColumn(6);
    lanes_.decays.FactorStep(5);
    inter_.AddStep(1, 4);
    VectorDone();
    lanes_.decays.FactorStep(6);
    lanes_.solve.InvertColumn(7);
    lanes_.scores.MaskLo();
    VectorDone();
    lanes_.decays.FactorStep(7);
    lanes_.scores.SendLo();
    lanes_.solve.InvertColumn(8);
    lanes_.combine.FetchOutWeight();
    VectorDone();
    lanes_.combine.DecayOutWeight();
    lanes_.decays.FactorStep(8);
    inter_.StateProducts(0, next);
    lanes_.solve.InvertColumn(9);
    lanes_.loader.ReceiveQueries(fetch);
    VectorDone();
    lanes_.combine.RoundOutWeight();
    lanes_.solve.InvertColumn(10);
    inter_.StateProducts(1, next);
    VectorDone();
    lanes_.solve.InvertColumn(11);
    lanes_.combine.RestOfOutWeight();
    VectorDone();
    lanes_.decays.FactorStep(9);
    lanes_.combine.RoundOutWeightRest();
    lanes_.solve.InvertColumn(12);
    lanes_.loader.ReceiveKeys(fetch);
    VectorDone();
    lanes_.detour.RowsOfT(next);
    inter_.Finish();
  }

  Lanes<Table, StateT>& lanes_;
  InterChunk<Table, StateT>& inter_;  // its steps for two slices, which chunk-parallel has others for
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_SEQUENCE_MAJOR_H_
