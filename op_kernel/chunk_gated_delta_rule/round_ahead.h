// SPDX-License-Identifier: Apache-2.0
// Chunk-parallel: the steps of a round before the first chunk meets the state.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_ROUND_AHEAD_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_ROUND_AHEAD_H_

#include "round_lanes.h"

namespace chunk_gdr {

// One round further in the lanes ahead of the state; the same steps as in round_chain.h without the others.
template <typename Table, typename StateT>
class RoundAhead : public RoundLanes<Table, StateT> {
 public:
  __aicore__ inline explicit RoundAhead(Lanes<Table, StateT>& lanes) : Base(lanes) {}

  __aicore__ inline void Advance(const OwnChunks& own) {
    const auto& [done, next, mid, fetch] = own;
    handover_.StageT(done);
    loader_.FactorStep(mid, 0);
    scores_.Start(mid);
    solve_.InvertColumn(13);
    loader_.GateStep(mid, 0);
    VectorDone();
    loader_.PromiseRows(mid);
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
    decays_.FactorsForSlot(detour_.out_power(next));
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
    solve_.InvertColumn(11);
    VectorDone();
    loader_.ReceiveKeys(fetch);
    decays_.FactorStep(5);
    VectorDone();
    scores_.FetchLo();
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
    VectorDone();
    combine_.RestOfOutWeight();
    VectorDone();
    combine_.RoundOutWeightRest();
    detour_.RowsOfT(next);
  }

 private:
  using Base = RoundLanes<Table, StateT>;
  using Base::loader_;
  using Base::scores_;
  using Base::decays_;
  using Base::solve_;
  using Base::combine_;
  using Base::detour_;
  using Base::handover_;
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_ROUND_AHEAD_H_
