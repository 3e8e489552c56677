// SPDX-License-Identifier: Apache-2.0
// chunk_gated_delta_rule on one core: the stages of README.md, in the order a chunk passes them.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_KERNEL_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_KERNEL_H_

#include "../common/block/l2norm.h"
#include "../common/block/matmul.h"
#include "../common/tile/memory.h"
#include "../common/tile/nz.h"
#include "../common/tile/sync.h"
#include "buffers.h"
#include "constants.h"
#include "events.h"
#include "problem.h"
#include "solve.h"
#include "workspace.h"

namespace chunk_gdr {

using AscendC::GlobalTensor;
using AscendC::HardEvent;

constexpr float kMinGate = -30000.0f;  // exp of it is 0 and its sum over a chunk stays finite; an fp16 piece holds it
constexpr uint32_t kFloatNanBits = 0x7FC00000u;
constexpr uint16_t kHalfNanBits = 0x7E00u;

// One declaration each: GM_ADDR is a macro that ends in '*'.
struct KernelArgs {
  GM_ADDR query;
  GM_ADDR key;
  GM_ADDR value;
  GM_ADDR beta;
  GM_ADDR initial_state;
  GM_ADDR lengths;
  GM_ADDR g;
  GM_ADDR chunk_state;
  GM_ADDR out;
  GM_ADDR final_state;
  GM_ADDR workspace;
};

// Lengths in GM, or the one length T.
struct SequenceLengths {
  GlobalTensor<int64_t> in_gm;
  bool given;
  int64_t tokens;
  __aicore__ inline int64_t operator()(int64_t b) const { return given ? in_gm.GetValue(b) : tokens; }
};

template <uint32_t kBucket, typename StateT>
class ChunkGatedDeltaRule {
 public:
  __aicore__ inline ChunkGatedDeltaRule(const KernelArgs& args, const ChunkGatedDeltaRuleTiling& tiling) : tiling_(tiling) {
    query_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(args.query));
    key_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(args.key));
    value_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(args.value));
    beta_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(args.beta));
    gate_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(args.g));
    initial_state_.SetGlobalBuffer(reinterpret_cast<__gm__ StateT*>(args.initial_state));
    chunk_state_.SetGlobalBuffer(reinterpret_cast<__gm__ StateT*>(args.chunk_state));
    out_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(args.out));
    final_state_.SetGlobalBuffer(reinterpret_cast<__gm__ StateT*>(args.final_state));
    status_.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(AscendC::GetUserWorkspace(args.workspace)));
    lengths_.in_gm.SetGlobalBuffer(reinterpret_cast<__gm__ int64_t*>(args.lengths));
    lengths_.given = tiling.has_lengths != 0;
    lengths_.tokens = tiling.tokens;
    k_ = static_cast<uint32_t>(tiling.k_dim) / kFractal;
    chip_.Init(pipe_);
  }

  __aicore__ inline void Run() {
    const Partition<SequenceLengths> partition(tiling_, lengths_, AscendC::GetBlockNum());
    ReportStatus(partition.valid() ? kOk : kBadLengths);
    if (!partition.valid()) {
      RefuseWithNan();
      return;
    }
    TRACE_START(kEnter);
    BuildConstants();
    TRACE_STOP(kEnter);
    partition.ForEach(AscendC::GetBlockIdx(), RunItem{*this});
  }

 private:
  struct RunItem {
    ChunkGatedDeltaRule& kernel;
    __aicore__ inline void operator()(const WorkItem& item) const { kernel.Process(item); }
  };

  // One (sequence, v-head, slice of Dv): the state stays in UB from Enter to Store.
  __aicore__ inline void Process(const WorkItem& item) {
    item_ = item;
    v_ = static_cast<uint32_t>(item.v_cols) / kFractal;
    Enter();
    for (int64_t begin = 0; begin < item.length; begin += kChunk) {
      token_ = item.token_begin + begin;
      live_ = static_cast<uint32_t>(item.length - begin < kChunk ? item.length - begin : kChunk);
      if (tiling_.has_chunk_state) {
        Store(chunk_state_, item.chunk_row_begin + begin / kChunk);
      }
      Split();
      Load();
      Scores();
      Solve();
      Residual();
      VNew();
      State();
      Output();
    }
    Store(final_state_, item.sequence);
  }

  // S <- initial_state, or zeros.
  __aicore__ inline void Enter() {
    TRACE_START(kEnter);
    const auto state = Get<kStateNz, float>();  // [v, k] NZ
    if (!tiling_.has_state) {
      AscendC::Duplicate(state, 0.0f, StateElems());
    } else {
      const auto rows = Get<kStateIn, StateT>();  // [v, k]
      Handoff<HardEvent::V_MTE2>(kStateInFree);
      AscendC::DataCopy(rows, initial_state_[StateOffset(item_.sequence)], StateElems());
      Handoff<HardEvent::MTE2_V>(kStateInReady);
      if constexpr (sizeof(StateT) == sizeof(float)) {
        RowsToNz(state, rows, v_ * kFractal, k_);
      } else {
        RowsToNz(state, rows, v_ * kFractal, k_, k_);
      }
    }
    VectorDone();
    TRACE_STOP(kEnter);
  }

  // S -> fp16 hi + lo, the operand of K S^T and Q S^T.
  __aicore__ inline void Split() {
    TRACE_START(kSplit);
    const auto hi = Get<kStateHiUb, half>();
    const auto lo = Get<kStateLoUb, half>();
    SplitKeep(hi, lo, Get<kSplitRest, float>(), Get<kStateNz, float>(), StateElems());
    Handoff<HardEvent::V_MTE3>(kStateSplit);
    AscendC::DataCopy(Get<kStateHiL1, half>(), hi, StateElems());
    AscendC::DataCopy(Get<kStateLoL1, half>(), lo, StateElems());
    TRACE_STOP(kSplit);
  }

  // q, k, v, g, beta of the chunk; dead rows of a ragged chunk are zero, with beta 0 and gate 0.
  __aicore__ inline void Load() {
    TRACE_START(kLoad);
    const auto key = Get<kKeyRows, half>();      // [BT, k]
    const auto query = Get<kQueryRows, half>();  // [BT, k]
    const auto value = Get<kValueRows, half>();  // [BT, v], odd pitch
    const auto gate = Get<kGate, float>();
    const auto beta = Get<kBeta, float>();
    const int64_t k_head = item_.v_head / (tiling_.v_heads / tiling_.k_heads);
    Handoff<HardEvent::MTE3_MTE2>(kRowsLeft);  // MTE3 has waited for the Vector queue at Split
    LoadRows(key, key_, k_head, tiling_.k_heads, tiling_.k_dim, 0, k_, k_);
    LoadRows(query, query_, k_head, tiling_.k_heads, tiling_.k_dim, 0, k_, k_);
    LoadRows(value, value_, item_.v_head, tiling_.v_heads, tiling_.v_dim, item_.v_begin, v_, ValuePitch());
    if (tiling_.has_g) {
      AscendC::DataCopy(gate, gate_[item_.v_head * tiling_.gate_pitch + token_], kChunk);
    }
    if (tiling_.has_beta) {
      AscendC::DataCopy(beta, beta_[item_.v_head * tiling_.gate_pitch + token_], kChunk);
    }
    Handoff<HardEvent::MTE2_V>(kRowsReady);
    if (!tiling_.has_g) {
      AscendC::Duplicate(gate, 0.0f, kChunk);
    }
    if (!tiling_.has_beta) {
      AscendC::Duplicate(beta, 1.0f, kChunk);
    }
    if (live_ < kChunk) {
      VectorDone();
      const uint32_t dead = kChunk - live_;
      AscendC::Duplicate(key[live_ * k_ * kFractal], static_cast<half>(0.0f), dead * k_ * kFractal);
      AscendC::Duplicate(query[live_ * k_ * kFractal], static_cast<half>(0.0f), dead * k_ * kFractal);
      AscendC::Duplicate(value[live_ * ValuePitch() * kFractal], static_cast<half>(0.0f), dead * ValuePitch() * kFractal);
      FillLanes(gate, 0.0f, ~0ull << live_);
      FillLanes(beta, 0.0f, ~0ull << live_);
    }
    VectorDone();
    KeysToL1(key, query);
    Handoff<HardEvent::MTE3_V>(kRowsCopied);
    TRACE_STOP(kLoad);
  }

  // E, D = exp(E), e^G and F from one product of masked gates; M = (Q K^T) o D; A = -(beta K K^T) o D.
  __aicore__ inline void Scores() {
    TRACE_START(kScores);
    GateOperand();
    ScoreProducts();
    Decays();
    constexpr uint32_t kT = kChunk / kFractal;
    constexpr uint32_t kStrip = kChunk * kFractal;         // one strip of a [BT, BT] tile
    constexpr uint32_t kSegStrip = kSegRows * kFractal;
    const auto decay = Get<kSegments, float>();            // [BT+16, BT]
    const auto a = Get<kScoresK, float>();                 // [BT, BT]
    const auto m = Get<kScoresQ, float>();                 // [BT, BT]
    for (uint32_t s = 0; s < kT; ++s) {
      const uint32_t row = s * kFractal * kFractal;  // the strip's first row on the diagonal
      const uint8_t below = static_cast<uint8_t>((kChunk - s * kFractal) / kRowsPerRepeat);
      AscendC::Mul(m[s * kStrip + row], m[s * kStrip + row], decay[s * kSegStrip + row], static_cast<uint64_t>(kRepeatFloats), below,
                   {1, 1, 1, 8, 8, 8});
      AscendC::Mul(a[s * kStrip], a[s * kStrip], decay[s * kSegStrip], kStrip);
    }
    VectorDone();
    const auto hi = Get<kScoresHi, half>();
    const auto lo = Get<kScoresLo, half>();
    SplitConsume(hi, lo, m, kChunk * kChunk);
    Handoff<HardEvent::V_MTE3>(kScoresSplit);
    AscendC::DataCopy(Get<kScoresHiL1, half>(), hi, kChunk * kChunk);
    AscendC::DataCopy(Get<kScoresLoL1, half>(), lo, kChunk * kChunk);
    ScaleRows(a, a, Get<kAFactor, float>(), kChunk, kT);
    VectorDone();
    Handoff<HardEvent::MTE3_V>(kScoresCopied);
    TRACE_STOP(kScores);
  }

  // U = (I - A)^-1, left in L1 as hi + lo.
  __aicore__ inline void Solve() {
    TRACE_START(kSolve);
    UnitLowerInverse<Table>(chip_).Run();
    TRACE_STOP(kSolve);
  }

  // R = beta (V - e^G K S^T); K and Q meet the state in one product.
  __aicore__ inline void Residual() {
    TRACE_START(kResidual);
    constexpr uint32_t kT = kChunk / kFractal;
    const auto keys_a = Get<kKeyQueryA, half>();
    const auto state_b = Get<kStateB, half>();
    const auto states = Get<kKeyQueryStateC, float>();  // [2 BT, v]: K S^T over Q S^T
    const uint32_t lo_at = k_ * v_ * kFractalElems;
    const auto state_hi = Get<kStateHiL1, half>();
    const auto state_lo = Get<kStateLoL1, half>();
    LoadBTransposed(state_b, 0, {state_hi, v_, 0, 0}, k_, v_);
    LoadBTransposed(state_b[lo_at], 0, {state_lo, v_, 0, 0}, k_, v_);
    Handoff<HardEvent::MTE1_M>(kOperandsReady);
    Multiply(states, keys_a, state_b, 2 * kT, v_, k_, false);
    Multiply(states, keys_a, state_b[lo_at], 2 * kT, v_, k_, true);
    Handoff<HardEvent::M_V>(kProductReady);
    const auto ks = Get<kResidualKs, float>();  // [BT, v]
    const auto r = Get<kResidualR, float>();    // [BT, v]
    CopyResult(ks, states, v_, kT, kT, 0);
    RowsToNz(r, Get<kValueRows, half>(), kChunk, v_, ValuePitch());
    VectorDone();
    ScaleRows(ks, ks, Get<kKeyDecay, float>(), kChunk, v_);
    VectorDone();
    AscendC::Sub(r, r, ks, ValueElems());
    VectorDone();
    ScaleRows(r, r, Get<kBetaFactor, float>(), kChunk, v_);
    VectorDone();
    const auto hi = Get<kResidualHi, half>();
    const auto lo = Get<kResidualLo, half>();
    const auto inverse_hi = Get<kInverseHiL1, half>();
    const auto inverse_lo = Get<kInverseLoL1, half>();
    SplitConsume(hi, lo, r, ValueElems());
    Handoff<HardEvent::V_MTE3>(kResidualSplit);
    AscendC::DataCopy(Get<kResidualHiL1, half>(), hi, ValueElems());
    AscendC::DataCopy(Get<kResidualLoL1, half>(), lo, ValueElems());
    LoadAThreeTerms(Get<kInverseA, half>(), {inverse_hi, kT, 0, 0}, {inverse_lo, kT, 0, 0}, kT, kT);
    Handoff<HardEvent::MTE3_MTE1>(kResidualInL1);
    TRACE_STOP(kResidual);
  }

  // V' = U R; V' and F V' as hi + lo.
  __aicore__ inline void VNew() {
    TRACE_START(kVNew);
    constexpr uint32_t kT = kChunk / kFractal;
    const auto r_hi = Get<kResidualHiL1, half>();
    const auto r_lo = Get<kResidualLoL1, half>();
    LoadBThreeTerms(Get<kResidualB, half>(), {r_hi, kT, 0, 0}, {r_lo, kT, 0, 0}, kT, v_);
    Handoff<HardEvent::MTE1_M>(kOperandsReady);
    Multiply(Get<kVNewC, float>(), Get<kInverseA, half>(), Get<kResidualB, half>(), kT, v_, kThreeTerms * kT, false);
    Handoff<HardEvent::M_V>(kProductReady);
    const auto v_new = Get<kVNewTile, float>();     // [BT, v]
    const auto scaled = Get<kVNewScaled, float>();  // [BT, v]
    CopyResult(v_new, Get<kVNewC, float>(), v_, kT, 0, 0);
    VectorDone();
    ScaleRows(scaled, v_new, Get<kDecayToEnd, float>(), kChunk, v_);
    VectorDone();
    SplitConsume(Get<kVScaledHi, half>(), Get<kVScaledLo, half>(), scaled, ValueElems());
    SplitConsume(Get<kVNewHi, half>(), Get<kVNewLo, half>(), v_new, ValueElems());
    Handoff<HardEvent::V_MTE3>(kVNewSplit);
    AscendC::DataCopy(Get<kVScaledHiL1, half>(), Get<kVScaledHi, half>(), ValueElems());
    AscendC::DataCopy(Get<kVScaledLoL1, half>(), Get<kVScaledLo, half>(), ValueElems());
    AscendC::DataCopy(Get<kVNewHiL1, half>(), Get<kVNewHi, half>(), ValueElems());
    AscendC::DataCopy(Get<kVNewLoL1, half>(), Get<kVNewLo, half>(), ValueElems());
    Handoff<HardEvent::MTE3_MTE1>(kVNewInL1);
    TRACE_STOP(kVNew);
  }

  // S <- e^{G_n} S + (F V')^T K; M V' is issued behind it.
  __aicore__ inline void State() {
    TRACE_START(kState);
    constexpr uint32_t kT = kChunk / kFractal;
    const auto scaled_hi = Get<kVScaledHiL1, half>();
    const auto scaled_lo = Get<kVScaledLoL1, half>();
    const auto keys = Get<kKeyQueryL1, half>();
    const auto a = Get<kVScaledA, half>();
    const auto b = Get<kKeyRowsB, half>();
    const auto product = Get<kStateC, float>();  // [v, k]
    const uint32_t lo_at = v_ * kT * kFractalElems;
    LoadATransposed(a, 0, kT, {scaled_hi, kT, 0, 0}, v_, kT);
    LoadATransposed(a[lo_at], 0, kT, {scaled_lo, kT, 0, 0}, v_, kT);
    LoadB(b, 0, {keys, 2 * kT, 0, 0}, kT, k_);
    Handoff<HardEvent::MTE1_M>(kOperandsReady);
    Multiply(product, a, b, v_, k_, kT, false);
    Multiply(product, a[lo_at], b, v_, k_, kT, true);

    const auto m_hi = Get<kScoresHiL1, half>();
    const auto m_lo = Get<kScoresLoL1, half>();
    const auto v_hi = Get<kVNewHiL1, half>();
    const auto v_lo = Get<kVNewLoL1, half>();
    LoadAThreeTerms(Get<kScoresA, half>(), {m_hi, kT, 0, 0}, {m_lo, kT, 0, 0}, kT, kT);
    LoadBThreeTerms(Get<kVNewB, half>(), {v_hi, kT, 0, 0}, {v_lo, kT, 0, 0}, kT, v_);
    Handoff<HardEvent::MTE1_M>(kOutOperandsReady);
    Multiply(Get<kOutC, float>(), Get<kScoresA, half>(), Get<kVNewB, half>(), kT, v_, kThreeTerms * kT, false);
    Handoff<HardEvent::M_V>(kProductReady);

    const auto state = Get<kStateNz, float>();
    const auto delta = Get<kStateDelta, float>();
    CopyResult(delta, product, k_, v_, 0, 0);
    ScaleAll(state, Get<kDecay, float>()[kChunk * kFractal], StateElems());
    VectorDone();
    AscendC::Add(state, state, delta, StateElems());
    VectorDone();
    TRACE_STOP(kState);
  }

  // out = scale (e^G Q S^T + M V'), fp16.
  __aicore__ inline void Output() {
    TRACE_START(kOutput);
    constexpr uint32_t kT = kChunk / kFractal;
    const auto out = Get<kOutState, float>();         // [BT, v]
    const auto from_scores = Get<kOutScores, float>();  // [BT, v]
    const auto factor = Get<kQueryFactor, float>();
    CopyResult(out, Get<kKeyQueryStateC, float>()[kT * kFractalElems], v_, kT, kT, 0);
    CopyResult(from_scores, Get<kOutC, float>(), v_, kT, 0, 0);
    AscendC::Muls(factor, factor, tiling_.scale, kChunk * kFractal);
    VectorDone();
    ScaleRows(out, out, Get<kDecay, float>(), kChunk, v_);
    VectorDone();
    AscendC::Add(out, out, from_scores, ValueElems());
    VectorDone();
    ScaleRows(out, out, factor, kChunk, v_);
    VectorDone();
    const auto rows = Get<kOutRows, half>();  // [BT, v], odd pitch
    NzToRows(rows, out, kChunk, v_, ValuePitch());
    Handoff<HardEvent::V_MTE3>(kOutRowsReady);
    const int64_t offset = (token_ * tiling_.v_heads + item_.v_head) * tiling_.v_dim + item_.v_begin;
    AscendC::DataCopy(out_[offset], rows,
                      AscendC::DataCopyParams(static_cast<uint16_t>(live_), static_cast<uint16_t>(v_), static_cast<uint16_t>(ValuePitch() - v_),
                                              static_cast<uint16_t>(tiling_.v_heads * tiling_.v_dim / kFractal - v_)));
    TRACE_STOP(kOutput);
  }

  // S to row `row` of a state tensor.
  __aicore__ inline void Store(const GlobalTensor<StateT>& to, int64_t row) {
    TRACE_START(kStore);
    const auto state = Get<kStateNz, float>();
    const auto rows = Get<kStateOut, StateT>();
    VectorDone();
    if constexpr (sizeof(StateT) == sizeof(float)) {
      NzToRows(rows, state, v_ * kFractal, k_);
    } else {
      NzToRows(rows, state, v_ * kFractal, k_, k_);
    }
    Handoff<HardEvent::V_MTE3>(kStateOutReady);
    AscendC::DataCopy(to[StateOffset(row)], rows, StateElems());
    Handoff<HardEvent::MTE3_V>(kStateOutFree);
    TRACE_STOP(kStore);
  }

  // --- parts of Load ---

  // `strips` * 16 columns of the chunk's live rows of one head of a [T, heads, dim] tensor.
  __aicore__ inline void LoadRows(const LocalTensor<half>& dst, const GlobalTensor<half>& src, int64_t head, int32_t heads, int32_t dim,
                                  int32_t column, uint32_t strips, uint32_t pitch_blocks) {
    const int64_t offset = (token_ * heads + head) * dim + column;
    AscendC::DataCopy(dst, src[offset],
                      AscendC::DataCopyParams(static_cast<uint16_t>(live_), static_cast<uint16_t>(strips),
                                              static_cast<uint16_t>(heads * dim / kFractal - strips),
                                              static_cast<uint16_t>(pitch_blocks - strips)));
  }

  // k and q rows to the [2 BT, k] operand in L1: as they are, or scaled to norm <= 2 with the rest of the l2norm in the factors.
  __aicore__ inline void KeysToL1(const LocalTensor<half>& key, const LocalTensor<half>& query) {
    const auto key_factor = Get<kKeyFactor, float>();
    const auto query_factor = Get<kQueryFactor, float>();
    if (tiling_.use_qk_l2norm) {
      NormRowsToL1(key, key_factor, 0, PowerOf::kScaled, kKeyRowsReady);  // the factor enters V'
      Handoff<HardEvent::MTE3_V>(kNormCopied);
      NormRowsToL1(query, query_factor, kChunk / kFractal, PowerOf::kOwnNorm, kQueryRowsReady);
    } else {
      AscendC::Duplicate(key_factor, 1.0f, kChunk * kFractal);
      AscendC::Duplicate(query_factor, 1.0f, kChunk * kFractal);
      Handoff<HardEvent::V_MTE3>(kKeyRowsReady);
      RowsToL1(key, 0);
      RowsToL1(query, kChunk / kFractal);
    }
  }

  __aicore__ inline void NormRowsToL1(const LocalTensor<half>& rows, const LocalTensor<float>& factor, uint32_t first_fractal_row,
                                      PowerOf power_of, int32_t ready) {
    const auto scaled = Get<kNormHalf, half>();  // [BT, k] NZ
    L2NormRows(scaled, factor, rows, k_, k_, power_of, {Get<kNormTile, float>(), Get<kNormSum, float>(), Get<kNormVectors, float>()});
    Handoff<HardEvent::V_MTE3>(ready);
    AscendC::DataCopy(Get<kKeyQueryL1, half>()[first_fractal_row * kFractalElems], scaled,
                      AscendC::DataCopyParams(static_cast<uint16_t>(k_), kChunk, 0, kChunk));
  }

  __aicore__ inline void RowsToL1(const LocalTensor<half>& rows, uint32_t first_fractal_row) {
    const LocalTensor<half> l1 = Get<kKeyQueryL1, half>()[first_fractal_row * kFractalElems];
    for (uint32_t s = 0; s < k_; ++s) {
      AscendC::DataCopy(l1[s * 2 * kChunk * kFractal], rows[s * kFractal],
                        AscendC::DataCopyParams(kChunk, 1, static_cast<uint16_t>(k_ - 1), 0));
    }
  }

  // --- parts of Scores ---

  // Gate pieces masked per column j (tokens after j): row j of B^T holds g_l [l > j], three fp16 pieces; 16 more rows hold all of g.
  __aicore__ inline void GateOperand() {
    const auto gate = Get<kGate, float>();
    const auto rest = Get<kGateWork, float>();
    const auto nan = Get<kGateWork, float>()[kChunk];
    const auto pieces = Get<kGatePieces16, half>();
    // The clamp may drop a NaN on this chip; 0 * exp(-|g|) is 0 for every gate but NaN, and carries that over.
    AscendC::Abs(nan, gate, kChunk);
    VectorDone();
    AscendC::Muls(nan, nan, -1.0f, kChunk);
    VectorDone();
    AscendC::Exp(nan, nan, kChunk);
    VectorDone();
    AscendC::Muls(nan, nan, 0.0f, kChunk);
    AscendC::Maxs(rest, gate, kMinGate, kChunk);
    VectorDone();
    AscendC::Add(rest, rest, nan, kChunk);
    VectorDone();
    for (uint32_t p = 0; p < kGatePieces; ++p) {
      AscendC::Cast(pieces[p * kChunk], rest, AscendC::RoundMode::CAST_NONE, kChunk);
      if (p + 1 < kGatePieces) {
        VectorDone();
        AscendC::Axpy(rest, pieces[p * kChunk], static_cast<half>(-1.0f), kChunk);
        VectorDone();
        AscendC::Muls(rest, rest, p == 0 ? kSecondPieceScale : kThirdPieceScale, kChunk);
      }
      VectorDone();
    }
    constexpr uint32_t kPieceStrips = kChunk / kFractal;
    const auto operand = Get<kGateOperandUb, half>();  // [BT+16, 3 BT] NZ, odd pitch
    for (uint32_t p = 0; p < kGatePieces; ++p) {
      AscendC::Mul(operand[p * kPieceStrips * kSegPitch * kFractal], Get<kGateMask, half>(), pieces[p * kChunk],
                   static_cast<uint64_t>(kChunk), static_cast<uint8_t>(kSegRows), {kSegPitch, 1, 1, 1, kPieceStrips, 0});
    }
    Handoff<HardEvent::V_MTE3>(kGateSplit);
    AscendC::DataCopy(Get<kGateOperandL1, half>(), operand, AscendC::DataCopyParams(kSegInner / kFractal, kSegRows, kSegPitch - kSegRows, 0));
  }

  // Segment sums [BT+16, BT+16] and [K; Q] K^T [2 BT, BT].
  __aicore__ inline void ScoreProducts() {
    constexpr uint32_t kT = kChunk / kFractal;
    constexpr uint32_t kSeg = kSegRows / kFractal;
    constexpr uint32_t kInner = kSegInner / kFractal;
    const auto ones = Get<kSegConstL1, half>();
    const auto gates = Get<kGateOperandL1, half>();
    const auto keys = Get<kKeyQueryL1, half>();
    Handoff<HardEvent::MTE3_MTE1>(kScoresInL1);
    LoadA(Get<kSegA, half>(), 0, kInner, {ones, kSeg, 0, 0}, kSeg, kInner);
    LoadBTransposed(Get<kSegB, half>(), 0, {gates, kSeg, 0, 0}, kInner, kSeg);
    LoadA(Get<kKeyQueryA, half>(), 0, k_, {keys, 2 * kT, 0, 0}, 2 * kT, k_);
    LoadBTransposed(Get<kKeyB, half>(), 0, {keys, 2 * kT, 0, 0}, k_, kT);
    Handoff<HardEvent::MTE1_M>(kOperandsReady);
    const auto sums = Get<kSegC, float>();
    const auto scores = Get<kScoresC, float>();
    Multiply(sums, Get<kSegA, half>(), Get<kSegB, half>(), kSeg, kSeg, kInner, false);
    Multiply(scores, Get<kKeyQueryA, half>(), Get<kKeyB, half>(), 2 * kT, kT, k_, false);
    Handoff<HardEvent::M_V>(kProductReady);
    const auto m = Get<kScoresQ, float>();
    AscendC::Duplicate(m, 0.0f, kChunk * kChunk);
    CopyResult(Get<kSegments, float>(), sums, kT, kSeg, 0, 0);
    CopyResult(Get<kDecay, float>(), sums[kT * kSeg * kFractalElems], 1, kSeg, 0, 0);
    CopyResult(Get<kScoresK, float>(), scores, kT, kT, kT, 0);
    VectorDone();
    for (uint32_t s = 0; s < kT; ++s) {  // Q K^T on and below the diagonal
      CopyResult(m[(s * kT + s) * kFractalElems], scores[(s * 2 * kT + kT + s) * kFractalElems], 1, kT - s, 0, 0);
    }
  }

  // D = exp(E) on and below the diagonal, e^G, F, and the row factors made of them.
  __aicore__ inline void Decays() {
    constexpr uint32_t kT = kChunk / kFractal;
    constexpr uint32_t kStrip = kSegRows * kFractal;
    const auto sums = Get<kSegments, float>();
    const auto decay = Get<kDecay, float>();
    for (uint32_t s = 0; s < kT; ++s) {
      const auto diagonal = sums[s * kStrip + s * kFractalElems];
      AscendC::Add(diagonal, diagonal, Get<kCausalBias, float>(), kFractalElems);
    }
    BroadcastRows(Get<kBetaFactor, float>(), Get<kBeta, float>(), kChunk / kFloatsPerBlock);
    VectorDone();
    for (uint32_t s = 0; s < kT; ++s) {  // from the diagonal down to the chunk's sums
      const auto rows = sums[s * kStrip + s * kFractalElems];
      AscendC::Exp(rows, rows, kStrip - s * kFractalElems);
    }
    AscendC::Exp(decay, decay, kStrip);
    ScaleRows(Get<kBetaFactor, float>(), Get<kBetaFactor, float>(), Get<kKeyFactor, float>(), kChunk, 1);
    VectorDone();
    for (uint32_t s = 0; s < kT; ++s) {  // any row behind the chunk's: F of 16 tokens
      BroadcastRows(Get<kDecayToEnd, float>()[s * kFractalElems], sums[s * kStrip + kChunk * kFractal], kFractal / kFloatsPerBlock);
    }
    ScaleRows(Get<kKeyDecay, float>(), decay, Get<kKeyFactor, float>(), kChunk, 1);
    ScaleRows(Get<kAFactor, float>(), Get<kBetaFactor, float>(), Get<kKeyFactor, float>(), kChunk, 1);
    VectorDone();
    AscendC::Muls(Get<kAFactor, float>(), Get<kAFactor, float>(), -1.0f, kChunk * kFractal);
  }

  // --- setup, refusal ---

  __aicore__ inline void BuildConstants() {
    BuildCausalBias(Get<kCausalBias, float>());
    BuildGateMask(Get<kGateMask, half>());
    const auto ones = Get<kSegConstUb, half>();
    BuildSegmentOnes(ones.template ReinterpretCast<uint16_t>());
    Handoff<HardEvent::V_MTE3>(kConstantsReady);
    AscendC::DataCopy(Get<kSegConstL1, half>(), ones, kSegRows * kSegInner);
    Handoff<HardEvent::MTE3_V>(kConstantsCopied);
  }

  __aicore__ inline void ReportStatus(Status status) {
    const auto word = Get<kStatusWord, int32_t>();
    TRACE_START(kEnter);
    AscendC::Duplicate(word, static_cast<int32_t>(status), kStatusBlockBytes / sizeof(int32_t));
    Handoff<HardEvent::V_MTE3>(kStatusReady);
    AscendC::DataCopy(status_[StatusOffset(AscendC::GetBlockIdx()) / sizeof(int32_t)], word, kStatusBlockBytes / sizeof(int32_t));
    TRACE_STOP(kEnter);
  }

  // Lengths that do not fit T: no index may come from them, so every output becomes NaN, shared evenly by the cores.
  __aicore__ inline void RefuseWithNan() {
    TRACE_START(kStore);
    FillShareWithNan(out_, Get<kStateOut, half>(), tiling_.tokens * tiling_.v_heads * tiling_.v_dim);
    FillShareWithNan(final_state_, Get<kStateOut, StateT>(), tiling_.sequences * tiling_.v_heads * tiling_.v_dim * tiling_.k_dim);
    TRACE_STOP(kStore);
  }

  template <typename T>
  __aicore__ inline void FillShareWithNan(const GlobalTensor<T>& to, const LocalTensor<T>& tile, int64_t elems) {
    constexpr int64_t kTile = kChunk * kBucket;
    const int64_t cores = AscendC::GetBlockNum();
    const int64_t share = RoundUp<int64_t>(CeilDiv<int64_t>(elems, cores), kFractal);  // rows are multiples of 16 elements
    const int64_t begin = share * AscendC::GetBlockIdx();
    const int64_t end = begin + share < elems ? begin + share : elems;
    if constexpr (sizeof(T) == sizeof(float)) {
      AscendC::Duplicate(tile.template ReinterpretCast<uint32_t>(), kFloatNanBits, kTile);
    } else {
      AscendC::Duplicate(tile.template ReinterpretCast<uint16_t>(), kHalfNanBits, kTile);
    }
    Handoff<HardEvent::V_MTE3>(kStateOutReady);
    for (int64_t at = begin; at < end; at += kTile) {
      AscendC::DataCopy(to[at], tile, static_cast<uint32_t>(end - at < kTile ? end - at : kTile));
    }
    Handoff<HardEvent::MTE3_V>(kStateOutFree);
  }

  template <uint32_t kId, typename T>
  __aicore__ inline LocalTensor<T> Get() {
    return chip_.template Get<kId, T>();
  }

  __aicore__ inline uint32_t StateElems() const { return v_ * k_ * kFractalElems; }
  __aicore__ inline uint32_t ValueElems() const { return kChunk * v_ * kFractal; }
  // Odd, so that four rows of a strip lie in four bank groups.
  __aicore__ inline uint32_t ValuePitch() const { return v_ | 1; }
  __aicore__ inline int64_t StateOffset(int64_t row) const {
    return ((row * tiling_.v_heads + item_.v_head) * tiling_.v_dim + item_.v_begin) * tiling_.k_dim;
  }

  using Table = Buffers<kBucket>;

  const ChunkGatedDeltaRuleTiling& tiling_;
  AscendC::TPipe pipe_;
  OnChip<Table> chip_;
  GlobalTensor<half> query_, key_, value_, out_;
  GlobalTensor<float> beta_, gate_;
  GlobalTensor<StateT> initial_state_, chunk_state_, final_state_;
  GlobalTensor<int32_t> status_;
  SequenceLengths lengths_;
  WorkItem item_{};
  uint32_t k_ = 0;      // strips of Dk
  uint32_t v_ = 0;      // strips of the item's slice of Dv
  uint32_t live_ = 0;   // tokens in the chunk
  int64_t token_ = 0;   // first token of the chunk
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_KERNEL_H_
