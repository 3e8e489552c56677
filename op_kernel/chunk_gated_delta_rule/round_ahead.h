// SPDX-License-Identifier: Apache-2.0
// Chunk-parallel: the steps of a round before the first chunk meets the state.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_ROUND_AHEAD_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_ROUND_AHEAD_H_

#include "round.h"

namespace chunk_gdr {

// One round further in the lanes ahead of the state; the same steps as in round_chain.h without the others.
template <typename Table, typename StateT>
__aicore__ inline void AdvanceAhead(Lanes<Table, StateT>& lanes, const OwnChunks& own) {
  const auto& [done, next, mid, fetch] = own;
  lanes.handover.StageT(done);
  lanes.loader.FactorStep(mid, 0);
  lanes.scores.Start(mid);
  lanes.solve.InvertColumn(13);
  lanes.loader.GateStep(mid, 0);
  VectorDone();
  lanes.loader.PromiseRows(mid);
  lanes.loader.FactorStep(mid, 1);
  lanes.scores.ScoreProducts();
  lanes.loader.GateStep(mid, 1);
  lanes.solve.InvertColumn(14);
  lanes.combine.Start(next);
  VectorDone();
  lanes.loader.GateStep(mid, 2);
  lanes.decays.ShiftStep(0);
  lanes.loader.FactorStep(mid, 2);
  lanes.handover.Store(done);
  lanes.combine.ScaleColumns();
  VectorDone();
  lanes.decays.FactorsForSlot(lanes.detour.out_power(next));
  lanes.combine.FromLanesToBlocks();
  lanes.loader.GateStep(mid, 3);
  lanes.decays.ShiftStep(1);
  lanes.loader.FetchKeys(fetch);
  VectorDone();
  lanes.solve.Start(mid);
  lanes.combine.RoundDiagonals();
  lanes.scores.FetchScores();
  lanes.loader.GateStep(mid, 4);
  VectorDone();
  lanes.decays.ShiftStep(2);
  lanes.detour.Measure(mid, 0);
  lanes.combine.RestOfDiagonals();
  lanes.solve.GramToLanes();
  VectorDone();
  lanes.combine.SendDiagonals();
  lanes.loader.GateStep(mid, 5);
  lanes.solve.ScaleLanes();
  VectorDone();
  lanes.loader.GateStep(mid, 6);
  lanes.detour.Measure(mid, 1);
  lanes.handover.StoreFactors(next, lanes.decays.Factors());
  lanes.combine.GramTimesFirst16();
  lanes.solve.IdentityLanes();
  VectorDone();
  lanes.solve.InvertColumn(0);
  VectorDone();
  lanes.loader.GateStep(mid, 7);
  lanes.solve.InvertColumn(1);
  VectorDone();
  lanes.solve.InvertColumn(2);
  lanes.loader.GateStep(mid, 8);
  lanes.detour.Measure(mid, 2);
  VectorDone();
  lanes.scores.MaskGates();
  lanes.solve.InvertColumn(3);
  lanes.combine.FetchProduct(1);
  VectorDone();
  lanes.combine.RestOfProduct(1);
  VectorDone();
  lanes.decays.Start(mid);
  lanes.combine.SendInner(1);
  lanes.detour.Measure(mid, 3);
  lanes.solve.InvertColumn(4);
  VectorDone();
  lanes.combine.SecondTimesInner16();
  lanes.solve.InvertColumn(5);
  lanes.combine.FetchProduct(1);
  VectorDone();
  lanes.combine.RestOfProduct(1);
  lanes.scores.SegmentProduct();
  VectorDone();
  lanes.combine.SendOuter16();
  lanes.combine.GramTimesFirst32();
  lanes.solve.InvertColumn(6);
  VectorDone();
  lanes.scores.FetchSums();
  lanes.solve.InvertColumn(7);
  VectorDone();
  lanes.solve.InvertColumn(8);
  lanes.combine.FetchProduct(2);
  VectorDone();
  lanes.combine.RestOfProduct(2);
  VectorDone();
  lanes.combine.SendInner(2);
  lanes.combine.SecondTimesInner32();
  lanes.decays.Exp();
  VectorDone();
  lanes.detour.ScoresOf(mid);
  lanes.scores.SendHi();
  lanes.combine.FetchProduct(2);
  VectorDone();
  lanes.combine.RestOfProduct(2);
  VectorDone();
  lanes.combine.SendOuter32();
  lanes.solve.InvertColumn(9);
  lanes.decays.FactorStep(0);
  VectorDone();
  lanes.decays.FactorStep(1);
  VectorDone();
  lanes.decays.FactorStep(2);
  VectorDone();
  lanes.scores.SubtractHi();
  lanes.combine.QueryKeyTimesT();
  lanes.solve.InvertColumn(10);
  lanes.decays.FactorStep(3);
  VectorDone();
  lanes.decays.FactorStep(4);
  lanes.solve.InvertColumn(11);
  VectorDone();
  lanes.loader.ReceiveKeys(fetch);
  lanes.decays.FactorStep(5);
  VectorDone();
  lanes.scores.FetchLo();
  lanes.decays.FactorStep(6);
  lanes.solve.InvertColumn(12);
  VectorDone();
  lanes.decays.FactorStep(7);
  VectorDone();
  lanes.decays.FactorStep(8);
  lanes.scores.MaskLo();
  lanes.combine.FetchOutWeight();
  VectorDone();
  lanes.combine.DecayOutWeight();
  lanes.scores.SendLo();
  VectorDone();
  lanes.decays.FactorStep(9);
  lanes.combine.RoundOutWeight();
  VectorDone();
  lanes.combine.RestOfOutWeight();
  VectorDone();
  lanes.combine.RoundOutWeightRest();
  lanes.detour.RowsOfT(next);
}

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_ROUND_AHEAD_H_
