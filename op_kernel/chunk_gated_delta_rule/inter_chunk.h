// SPDX-License-Identifier: Apache-2.0
// The inter-chunk lane: a chunk meets the state. Two slices of Dv take turns, so that one is on the Vector queue while the other is on its
// way through L1, L0 and the Cube. S stays in L0C, in fp32, from the first chunk of its item to the last.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_INTER_CHUNK_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_INTER_CHUNK_H_

#include "../common/block/cube_slots.h"
#include "../common/block/matmul.h"
#include "../common/tile/memory.h"
#include "../common/tile/nz.h"
#include "../common/tile/stage.h"
#include "chunk.h"
#include "events.h"
#include "inputs.h"

namespace chunk_gdr {

template <typename Table, typename StateT>
class InterChunk {
 public:
  using Tensors = GmTensors<StateT>;

  __aicore__ inline InterChunk(OnChip<Table>& chip, CubeSlots& slots, const Tensors& gm, const ChunkGatedDeltaRuleTiling& tiling)
      : chip_(chip), slots_(slots), gm_(gm), tiling_(tiling), k_(static_cast<uint32_t>(tiling.k_dim) / kFractal) {}

  __aicore__ inline void Start(const Chunk& chunk) {
    chunk_ = chunk;
    if (!chunk_.exists) {
      return;
    }
    strips_[0] = (chunk_.VStrips() + 1) / kTiles;
    strips_[1] = chunk_.VStrips() / kTiles;
    for (uint32_t t = 0; t < kTiles; ++t) {
      state_ready_[t] = false;
    }
    if (chunk_.first) {
      Enter();
      SplitFresh();
    }
    if (tiling_.has_chunk_state && chunk_.HasTokens()) {
      Store(gm_.chunk_state, chunk_.state_row);
    }
  }

  __aicore__ inline void Finish() {
    if (chunk_.exists && chunk_.last) {
      Store(gm_.final_state, chunk_.item.sequence);
    }
  }

  // --- K S^T and Q S^T: -e^G K S^T as hi + lo, e^G Q S^T where out is accumulated ---

  __aicore__ inline void FetchKeyState(uint32_t t) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kResidual);
    Await<HardEvent::M_V>(t);
    CopyResult(Of<kKeyState, float>(t), Of<kKeyStateC, float>(t), 1, kSide * strips_[t], 0, 0);
  }

  __aicore__ inline void DecayKeyState(uint32_t t) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kResidual);
    ScaleRows(Of<kKeyStateScaled, float>(t), Of<kKeyState, float>(t), Get<kKeyDecay, float>(), kChunk, strips_[t]);
  }

  __aicore__ inline void RoundResidual(uint32_t t) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kResidual);
    const uint32_t n = strips_[t];
    Round(Of<kResidualHi, half>(t), Of<kKeyStateScaled, float>(t), ValueElems(t));
    PreloadResult(Of<kResidualC, float>(t), Of<kKeyStateScaled, float>(t), kSide * n);
    Handoff<HardEvent::V_MTE3>(t);
    AscendC::DataCopy(Of<kResidualHiL1, half>(t), Of<kResidualHi, half>(t), ValueElems(t));
    Signal<HardEvent::MTE3_MTE1>(t);
    SubtractHi(Of<kResidualC, float>(t), Of<kResidualHiL1, half>(t), t);
    Signal<HardEvent::M_V>(t);
  }

  __aicore__ inline void SendResidual(uint32_t t) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kCarry);
    Await<HardEvent::M_V>(t);
    CopyResult(Of<kResidualLo, half>(t), Of<kResidualC, float>(t), 1, kSide * strips_[t], 0, 0);
    Handoff<HardEvent::V_MTE3>(t);
    AscendC::DataCopy(Of<kResidualLoL1, half>(t), Of<kResidualLo, half>(t), ValueElems(t));
  }

  __aicore__ inline void FetchQueryState(uint32_t t) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kCarry);
    AwaitState(t);
    CopyResult(Get<kQueryState, float>(), Of<kOutC, float>(t), 1, kSide * strips_[t], 0, 0);
  }

  __aicore__ inline void DecayQueryState(uint32_t t) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kCarry);
    ScaleRows(Get<kQueryStateScaled, float>(), Get<kQueryState, float>(), Get<kQueryDecay, float>(), kChunk, strips_[t]);
  }

  __aicore__ inline void PreloadOut(uint32_t t) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kCarry);
    PreloadResult(Of<kOutC, float>(t), Get<kQueryStateScaled, float>(), kSide * strips_[t]);
  }

  // --- e^{G_n} S, in pieces of columns: what the update is accumulated onto ---

  __aicore__ inline void FetchState(uint32_t t, uint32_t piece) {
    if (!Active(t) || PieceStrips(piece) == 0) {
      return;
    }
    const StageScope stage(kCarry);
    CopyResult(Get<kStatePiece, float>(), StatePiece(t, piece), 1, strips_[t] * PieceStrips(piece), 0, 0);
  }

  __aicore__ inline void DecayState(uint32_t t, uint32_t piece) {
    if (!Active(t) || PieceStrips(piece) == 0) {
      return;
    }
    const StageScope stage(kCarry);
    ScaleAll(Get<kStatePieceScaled, float>(), Get<kStatePiece, float>(), Get<kChunkDecay, float>(), PieceElems(t, piece));
  }

  __aicore__ inline void PreloadState(uint32_t t, uint32_t piece) {
    if (!Active(t) || PieceStrips(piece) == 0) {
      return;
    }
    const StageScope stage(kCarry);
    PreloadResult(StatePiece(t, piece), Get<kStatePieceScaled, float>(), strips_[t] * PieceStrips(piece));
  }

  // --- V' as hi, then lo; F V' as hi + lo ---

  // V' = U V + U (-e^G K S^T): two terms and three. What does not wait for U is loaded before it; the intra-chunk lane has handed operands
  // from MTE3 to MTE1 since these went to L1.
  __aicore__ inline void VNewOperands(uint32_t t) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kCarry);
    const uint32_t n = strips_[t];
    const uint32_t piece = kSide * n;
    const auto values = Get<kValueL1, half>()[chunk_.InL1() * kChunk * Table::kBucketDim];
    const int32_t slot = slots_.Begin();
    slot_of_[t] = slot;
    LoadB(slots_.B(slot), 0, {values, kSide, 0, t == 0 ? 0 : strips_[0]}, kSide, n);
    LoadB(slots_.B(slot, piece), 0, {Of<kResidualHiL1, half>(t), kSide, 0, 0}, kSide, n);
    LoadB(slots_.B(slot, 2 * piece), 0, {Of<kResidualLoL1, half>(t), kSide, 0, 0}, kSide, n);
  }

  __aicore__ inline void VNewProduct(uint32_t t) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kCarry);
    const uint32_t n = strips_[t];
    const uint32_t matrix = kSide * kSide;
    const uint32_t piece = kSide * n;
    const int32_t slot = slot_of_[t];
    const auto u_hi = Get<kUL1, half>()[chunk_.Handover() * 2 * kChunk * kChunk];
    const auto u_lo = u_hi[kChunk * kChunk];
    const auto c = Of<kVNewC, float>(t);
    if (t == 0) {
      Await<HardEvent::MTE3_MTE1>(kIntraInL1);
    }
    LoadA(slots_.A(slot), 0, kSide, {u_hi, kSide, 0, 0}, kSide, kSide);
    LoadA(slots_.A(slot, matrix), 0, kSide, {u_lo, kSide, 0, 0}, kSide, kSide);
    slots_.Loaded(slot);
    Multiply(c, slots_.A(slot), slots_.B(slot), kSide, n, kSide, Onto::kNothing);
    Multiply(c, slots_.A(slot, matrix), slots_.B(slot), kSide, n, kSide, Onto::kLast);
    Multiply(c, slots_.A(slot), slots_.B(slot, piece), kSide, n, kSide, Onto::kLast);
    Multiply(c, slots_.A(slot, matrix), slots_.B(slot, piece), kSide, n, kSide, Onto::kLast);
    Multiply(c, slots_.A(slot), slots_.B(slot, 2 * piece), kSide, n, kSide, Onto::kLast);
    Signal<HardEvent::M_V>(t);
    slots_.Done(slot);
  }

  __aicore__ inline void FetchVNew(uint32_t t) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kVNew);
    Await<HardEvent::M_V>(t);
    CopyResult(Of<kVNew32, float>(t), Of<kVNewC, float>(t), 1, kSide * strips_[t], 0, 0);
    CopyResult(Of<kVNewHi, half>(t), Of<kVNewC, float>(t), 1, kSide * strips_[t], 0, 0);
  }

  __aicore__ inline void DecayVNew(uint32_t t) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kVNew);
    ScaleRows(Of<kVNewScaled, float>(t), Of<kVNew32, float>(t), Get<kDecayToEnd, float>(), kChunk, strips_[t]);
  }

  __aicore__ inline void RoundVNew(uint32_t t) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kVNew);
    Round(Of<kVScaledHi, half>(t), Of<kVNewScaled, float>(t), ValueElems(t));
  }

  __aicore__ inline void RestOfVNew(uint32_t t) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kVNew);
    chunk_gdr::SubtractHi(Of<kVNewScaled, float>(t), Of<kVScaledHi, half>(t), ValueElems(t));
  }

  __aicore__ inline void SendVNew(uint32_t t) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kVNew);
    Round(Of<kVScaledLo, half>(t), Of<kVNewScaled, float>(t), ValueElems(t));
    Handoff<HardEvent::V_MTE3>(t);
    AscendC::DataCopy(Of<kVScaledHiL1, half>(t), Of<kVScaledHi, half>(t), ValueElems(t));
    AscendC::DataCopy(Of<kVScaledLoL1, half>(t), Of<kVScaledLo, half>(t), ValueElems(t));
    AscendC::DataCopy(Of<kVNewHiL1, half>(t), Of<kVNewHi, half>(t), ValueElems(t));
    Signal<HardEvent::MTE3_MTE1>(t);
    StateProduct(t);
  }

  // --- S as hi, then lo for the next chunk ---

  __aicore__ inline void RoundState(uint32_t t) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kState);
    Await<HardEvent::M_V>(t);
    CopyResult(Of<kVNewLo, half>(t), Of<kVNewC, float>(t), 1, kSide * strips_[t], 0, 0);
    if (!chunk_.last) {
      CopyResult(Of<kStateHalf, half>(t), Of<kStateC, float>(t), 1, StateFractals(t), 0, 0);
    }
    Handoff<HardEvent::V_MTE3>(t);
    if (!chunk_.last) {
      AscendC::DataCopy(Of<kStateHiL1, half>(t), Of<kStateHalf, half>(t), StateFractals(t) * kFractalElems);
    }
    AscendC::DataCopy(Of<kVNewLoL1, half>(t), Of<kVNewLo, half>(t), ValueElems(t));
    Handoff<HardEvent::MTE3_MTE1>(t);
    if (!chunk_.last) {
      AddStateHi(t, Get<kMinusOneL1, half>());
    }
    OutProduct(t);
  }

  // S - hi and the finished out leave L0C; the next chunk's products with S are issued.
  __aicore__ inline void SendState(uint32_t t, const Chunk& next) {
    if (!Active(t)) {
      return;
    }
    const StageScope stage(kState);
    Await<HardEvent::M_V>(t);
    if (!chunk_.last) {
      CopyResult(Of<kStateHalf, half>(t), Of<kStateC, float>(t), 1, StateFractals(t), 0, 0);
    }
    out_[t].offset = (chunk_.token * tiling_.v_heads + chunk_.item.v_head) * tiling_.v_dim + chunk_.item.v_begin +
                     (t == 0 ? 0 : strips_[0] * kFractal);
    out_[t].live = chunk_.live;
    out_[t].strips = strips_[t];
    // A small scale's power of two comes last, and in fp32, so that out is rounded once.
    if (tiling_.scale_power == 1.0f) {
      CopyResult(Get<kOutHalf, half>(), Of<kOutC, float>(t), 1, kSide * strips_[t], 0, 0);
    } else {
      const auto out = Get<kOut32, float>();
      CopyResult(out, Of<kOutC, float>(t), 1, kSide * strips_[t], 0, 0);
      VectorDone();
      AscendC::Muls(out, out, tiling_.scale_power, ValueElems(t));
      VectorDone();
      Round(Get<kOutHalf, half>(), out, ValueElems(t));
    }
    if (!chunk_.last) {
      StateLoToL1(t);
      KeyProduct(t, next);
      if (t + 1 == kTiles || strips_[t + 1] == 0) {
        QueryProducts();
      }
    }
  }

  // out from NZ to rows.
  __aicore__ inline void ArrangeOut(uint32_t t) {
    if (out_[t].strips == 0) {
      return;
    }
    const StageScope stage(kLoad);
    const auto rows = Get<kOutRows, half>();  // [BT, tile], odd pitch
    const uint32_t pitch = out_[t].strips | 1;
    for (uint32_t s = 0; s < out_[t].strips; ++s) {
      AscendC::Muls(rows[s * kHalvesPerBlock], Get<kOutHalf, half>()[s * kChunk * kFractal], static_cast<half>(1.0f),
                    static_cast<uint64_t>(2 * kRepeatFloats), kChunk / kBlocksPerRepeat,
                    {static_cast<uint16_t>(pitch), 1, static_cast<uint8_t>(kBlocksPerRepeat * pitch), 8});
    }
    Signal<HardEvent::V_MTE3>(kOutRowsReady);
  }

  // A part of the arranged rows to GM. Short copies, so that MTE3 is soon free again for what the Cube waits for.
  __aicore__ inline void StoreOut(uint32_t t, uint32_t part) {
    if (out_[t].strips == 0) {
      return;
    }
    const StageScope stage(kLoad);
    if (part == 0) {
      Await<HardEvent::V_MTE3>(kOutRowsReady);
    }
    const uint32_t pitch = out_[t].strips | 1;
    const int64_t row = static_cast<int64_t>(tiling_.v_heads) * tiling_.v_dim;
    const uint32_t begin = part * kChunk / kOutParts;
    const uint32_t end = out_[t].live < begin + kChunk / kOutParts ? out_[t].live : begin + kChunk / kOutParts;
    if (begin < end) {
      AscendC::DataCopy(gm_.out[out_[t].offset + begin * row], Get<kOutRows, half>()[begin * pitch * kFractal],
                        AscendC::DataCopyParams(static_cast<uint16_t>(end - begin), static_cast<uint16_t>(out_[t].strips),
                                                static_cast<uint16_t>(pitch - out_[t].strips),
                                                static_cast<uint16_t>(row / kFractal - out_[t].strips)));
    }
    if (part + 1 == kOutParts) {
      out_[t].strips = 0;
    }
  }

  // What the last chunk left.
  __aicore__ inline void Drain() {
    ArrangeOut(1);
    for (uint32_t part = 0; part < kOutParts; ++part) {
      StoreOut(1, part);
    }
  }

 private:
  static constexpr uint32_t kSide = kBlocksPerSide;
  static constexpr uint32_t kOutParts = 4;
  static constexpr uint32_t kPieceStrips = PieceCols(Table::kBucketDim) / kFractal;
  static constexpr uint32_t kPieces = CeilDiv(Table::kBucketDim / kFractal, kPieceStrips);

  // --- Cube jobs ---

  // K S^T; the operands stay for QueryProducts.
  __aicore__ inline void KeyProduct(uint32_t t, const Chunk& next) {
    const auto keys = Get<kKeyQueryL1, half>()[next.InL1() * 2 * kChunk * Table::kBucketDim];
    const uint32_t n = strips_[t];
    const uint32_t lo = StateFractals(t);
    const int32_t slot = slots_.Begin();
    slot_of_[t] = slot;
    LoadA(slots_.A(slot), 0, k_, {keys, 2 * kSide, 0, 0}, kSide, k_);
    LoadA(slots_.A(slot, kSide * k_), 0, k_, {keys, 2 * kSide, kSide, 0}, kSide, k_);
    LoadBWholeTransposed(slots_.B(slot), Of<kStateHiL1, half>(t), lo);
    Await<HardEvent::MTE3_MTE1>(t);
    LoadBWholeTransposed(slots_.B(slot, lo), Of<kStateLoL1, half>(t), lo);
    slots_.Loaded(slot);
    Multiply(Of<kKeyStateC, float>(t), slots_.A(slot), slots_.B(slot), kSide, n, k_, Onto::kNothing);
    Multiply(Of<kKeyStateC, float>(t), slots_.A(slot), slots_.B(slot, lo), kSide, n, k_, Onto::kLast);
    Signal<HardEvent::M_V>(t);
  }

  // Q S^T of both slices, and S put together again.
  __aicore__ inline void QueryProducts() {
    for (uint32_t t = 0; t < kTiles && strips_[t] != 0; ++t) {
      const int32_t slot = slot_of_[t];
      const uint32_t queries = kSide * k_;
      Multiply(Of<kOutC, float>(t), slots_.A(slot, queries), slots_.B(slot), kSide, strips_[t], k_, Onto::kNothing);
      Multiply(Of<kOutC, float>(t), slots_.A(slot, queries), slots_.B(slot, StateFractals(t)), kSide, strips_[t], k_, Onto::kLast);
      slots_.Done(slot);
    }
    for (uint32_t t = 0; t < kTiles && strips_[t] != 0; ++t) {
      AddStateHi(t, Get<kOneL1, half>());
      Signal<HardEvent::M_V>(kQueryStateReady + t);
    }
  }

  // c -= hi, a [BT, slice] tile whose rounding hi is: exact in fp32.
  __aicore__ inline void SubtractHi(const LocalTensor<float>& c, const LocalTensor<half>& hi, uint32_t t) {
    const int32_t slot = slots_.Begin();
    LoadA(slots_.A(slot), 0, kSide, {Get<kMinusOneL1, half>(), kSide, 0, 0}, kSide, kSide);
    Await<HardEvent::MTE3_MTE1>(t);
    LoadB(slots_.B(slot), 0, {hi, kSide, 0, 0}, kSide, strips_[t]);
    slots_.Loaded(slot);
    Multiply(c, slots_.A(slot), slots_.B(slot), kSide, strips_[t], kSide, Onto::kSettled);
    slots_.Done(slot);
  }

  // S += factor hi, factor +1 or -1: S - hi is exact in fp32, and so is the way back.
  __aicore__ inline void AddStateHi(uint32_t t, const LocalTensor<half>& factor) {
    const uint32_t n = strips_[t];
    const int32_t slot = slots_.Begin();
    LoadA(slots_.A(slot), 0, n, {factor, kSide, 0, 0}, n, n);
    LoadB(slots_.B(slot), 0, {Of<kStateHiL1, half>(t), n, 0, 0}, n, k_);
    slots_.Loaded(slot);
    Multiply(Of<kStateC, float>(t), slots_.A(slot), slots_.B(slot), n, k_, n, Onto::kSettled);
    slots_.Done(slot);
  }

  // S += (F V')^T K; V' -= hi; out += M hi.
  __aicore__ inline void StateProduct(uint32_t t) {
    const uint32_t n = strips_[t];
    const uint32_t piece = kSide * n;
    const uint32_t matrix = kSide * kSide;
    const auto keys = Get<kKeyQueryL1, half>()[chunk_.InL1() * 2 * kChunk * Table::kBucketDim];
    int32_t slot = slots_.Begin();
    LoadB(slots_.B(slot), 0, {keys, 2 * kSide, 0, 0}, kSide, k_);
    Await<HardEvent::MTE3_MTE1>(t);
    LoadAWholeTransposed(slots_.A(slot), Of<kVScaledHiL1, half>(t), piece);
    LoadAWholeTransposed(slots_.A(slot, piece), Of<kVScaledLoL1, half>(t), piece);
    slots_.Loaded(slot);
    Multiply(Of<kStateC, float>(t), slots_.A(slot), slots_.B(slot), n, k_, kSide, Onto::kSettled);
    Multiply(Of<kStateC, float>(t), slots_.A(slot, piece), slots_.B(slot), n, k_, kSide, Onto::kLast);
    slots_.Done(slot);

    const auto m_hi = Get<kScoresL1, half>()[chunk_.Handover() * 2 * kChunk * kChunk];
    const auto m_lo = m_hi[kChunk * kChunk];
    slot = slots_.Begin();
    LoadA(slots_.A(slot), 0, kSide, {Get<kMinusOneL1, half>(), kSide, 0, 0}, kSide, kSide);
    LoadB(slots_.B(slot), 0, {Of<kVNewHiL1, half>(t), kSide, 0, 0}, kSide, n);
    LoadA(slots_.A(slot, matrix), 0, kSide, {m_hi, kSide, 0, 0}, kSide, kSide);
    LoadA(slots_.A(slot, 2 * matrix), 0, kSide, {m_lo, kSide, 0, 0}, kSide, kSide);
    slots_.Loaded(slot);
    Multiply(Of<kVNewC, float>(t), slots_.A(slot), slots_.B(slot), kSide, n, kSide, Onto::kSettled);
    Signal<HardEvent::M_V>(t);
    Multiply(Of<kOutC, float>(t), slots_.A(slot, matrix), slots_.B(slot), kSide, n, kSide, Onto::kSettled);
    Multiply(Of<kOutC, float>(t), slots_.A(slot, 2 * matrix), slots_.B(slot), kSide, n, kSide, Onto::kLast);
    slots_.Done(slot);
  }

  // out += M_hi V'_lo, the last term.
  __aicore__ inline void OutProduct(uint32_t t) {
    const uint32_t n = strips_[t];
    const auto m_hi = Get<kScoresL1, half>()[chunk_.Handover() * 2 * kChunk * kChunk];
    const int32_t slot = slots_.Begin();
    LoadA(slots_.A(slot), 0, kSide, {m_hi, kSide, 0, 0}, kSide, kSide);
    LoadB(slots_.B(slot), 0, {Of<kVNewLoL1, half>(t), kSide, 0, 0}, kSide, n);
    slots_.Loaded(slot);
    Multiply(Of<kOutC, float>(t), slots_.A(slot), slots_.B(slot), kSide, n, kSide, Onto::kLast);
    Signal<HardEvent::M_V>(t);
    slots_.Done(slot);
  }

  // --- state from and to GM, piece by piece ---

  // S <- initial_state, or zeros. While a piece becomes NZ, the next is on its way.
  __aicore__ inline void Enter() {
    const StageScope stage(kCarry);
    const auto nz = Get<kStatePiece, float>();
    if (!tiling_.has_state) {
      AscendC::Duplicate(nz, 0.0f, PieceElems(0, 0));
      VectorDone();
    } else {
      LoadPiece(0);
    }
    for (uint32_t i = 0; i < kTiles * kPieces; ++i) {
      if (tiling_.has_state && i + 1 < kTiles * kPieces) {
        LoadPiece(i + 1);
      }
      const uint32_t t = i / kPieces;
      const uint32_t piece = i % kPieces;
      if (PieceElems(t, piece) == 0) {
        continue;
      }
      if (tiling_.has_state) {
        Await<HardEvent::MTE2_V>(kStateRowsArrived + i % 2);
        if constexpr (sizeof(StateT) == sizeof(float)) {
          RowsToNz(nz, PieceInRows(i), strips_[t] * kFractal, PieceStrips(piece));
        } else {
          RowsToNz(nz, PieceInRows(i), strips_[t] * kFractal, PieceStrips(piece), PieceStrips(piece));
        }
        VectorDone();
      }
      PreloadResult(StatePiece(t, piece), nz, strips_[t] * PieceStrips(piece));
      VectorDone();
    }
  }

  __aicore__ inline void LoadPiece(uint32_t i) {
    const uint32_t t = i / kPieces;
    const uint32_t piece = i % kPieces;
    if (PieceElems(t, piece) == 0) {
      return;
    }
    Handoff<HardEvent::V_MTE2>(kStateRowsRead + i % 2);
    AscendC::DataCopy(PieceInRows(i), gm_.initial_state[StateOffset(chunk_.item.sequence, t, piece)], PieceRows(t, piece, true));
    Signal<HardEvent::MTE2_V>(kStateRowsArrived + i % 2);
  }

  // The halves of a fresh S and its products with the first chunk's rows.
  __aicore__ inline void SplitFresh() {
    if (!chunk_.HasTokens()) {
      return;
    }
    const StageScope stage(kState);
    for (uint32_t t = 0; t < kTiles && strips_[t] != 0; ++t) {
      CopyResult(Of<kStateHalf, half>(t), Of<kStateC, float>(t), 1, StateFractals(t), 0, 0);
      Handoff<HardEvent::V_MTE3>(t);
      AscendC::DataCopy(Of<kStateHiL1, half>(t), Of<kStateHalf, half>(t), StateFractals(t) * kFractalElems);
      Handoff<HardEvent::MTE3_MTE1>(t);
      AddStateHi(t, Get<kMinusOneL1, half>());
      Signal<HardEvent::M_V>(t);
    }
    for (uint32_t t = 0; t < kTiles && strips_[t] != 0; ++t) {
      Await<HardEvent::M_V>(t);
      CopyResult(Of<kStateHalf, half>(t), Of<kStateC, float>(t), 1, StateFractals(t), 0, 0);
      StateLoToL1(t);
      KeyProduct(t, chunk_);
    }
    QueryProducts();
  }

  __aicore__ inline void StateLoToL1(uint32_t t) {
    Handoff<HardEvent::V_MTE3>(t);
    AscendC::DataCopy(Of<kStateLoL1, half>(t), Of<kStateHalf, half>(t), StateFractals(t) * kFractalElems);
    Signal<HardEvent::MTE3_MTE1>(t);
  }

  // S to row `row` of a state tensor. While a piece leaves, the next becomes rows.
  __aicore__ inline void Store(const GlobalTensor<StateT>& to, int64_t row) {
    const StageScope stage(kCarry);
    const auto nz = Get<kStatePiece, float>();
    for (uint32_t t = 0; t < kTiles; ++t) {
      if (Active(t)) {
        AwaitState(t);
      }
    }
    bool leaving[2] = {false, false};
    for (uint32_t i = 0; i < kTiles * kPieces; ++i) {
      const uint32_t t = i / kPieces;
      const uint32_t piece = i % kPieces;
      if (PieceElems(t, piece) == 0) {
        continue;
      }
      CopyResult(nz, StatePiece(t, piece), 1, strips_[t] * PieceStrips(piece), 0, 0);
      if (leaving[i % 2]) {
        Await<HardEvent::MTE3_V>(kStateRowsLeft + i % 2);
      }
      VectorDone();
      if constexpr (sizeof(StateT) == sizeof(float)) {
        NzToRows(PieceInRows(i), nz, strips_[t] * kFractal, PieceStrips(piece));
      } else {
        NzToRows(PieceInRows(i), nz, strips_[t] * kFractal, PieceStrips(piece), PieceStrips(piece));
      }
      Handoff<HardEvent::V_MTE3>(i % 2);  // the slices' ids are at rest between two chunks
      AscendC::DataCopy(to[StateOffset(row, t, piece)], PieceInRows(i), PieceRows(t, piece, false));
      Signal<HardEvent::MTE3_V>(kStateRowsLeft + i % 2);
      leaving[i % 2] = true;
      VectorDone();
    }
    for (uint32_t i = 0; i < 2; ++i) {
      if (leaving[i]) {
        Await<HardEvent::MTE3_V>(kStateRowsLeft + i);
      }
    }
  }

  // Rows of every other piece; between two chunks nothing else is in these buffers.
  __aicore__ inline LocalTensor<StateT> PieceInRows(uint32_t i) {
    return i % 2 == 0 ? Get<kStatePieceScaled, StateT>() : Get<kQueryStateScaled, StateT>();
  }

  __aicore__ inline int64_t StateOffset(int64_t row, uint32_t t, uint32_t piece) const {
    const int64_t v_row = (row * tiling_.v_heads + chunk_.item.v_head) * tiling_.v_dim + chunk_.item.v_begin +
                          (t == 0 ? 0 : strips_[0] * kFractal);
    return v_row * tiling_.k_dim + piece * kPieceStrips * kFractal;
  }

  // Rows of a piece, contiguous in UB, among the rows of a state tensor.
  __aicore__ inline AscendC::DataCopyParams PieceRows(uint32_t t, uint32_t piece, bool from_gm) const {
    constexpr uint32_t kStripBlocks = kFractal * sizeof(StateT) / kBlockBytes;
    const uint16_t gap = static_cast<uint16_t>((k_ - PieceStrips(piece)) * kStripBlocks);
    return AscendC::DataCopyParams(static_cast<uint16_t>(strips_[t] * kFractal), static_cast<uint16_t>(PieceStrips(piece) * kStripBlocks),
                                   from_gm ? gap : static_cast<uint16_t>(0), from_gm ? static_cast<uint16_t>(0) : gap);
  }

  // S is whole in L0C, and Q S^T beside it.
  __aicore__ inline void AwaitState(uint32_t t) {
    if (!state_ready_[t]) {
      Await<HardEvent::M_V>(kQueryStateReady + t);
      state_ready_[t] = true;
    }
  }

  __aicore__ inline bool Active(uint32_t t) const { return chunk_.HasTokens() && strips_[t] != 0; }
  __aicore__ inline uint32_t ValueElems(uint32_t t) const { return kChunk * strips_[t] * kFractal; }
  __aicore__ inline uint32_t StateFractals(uint32_t t) const { return strips_[t] * k_; }
  __aicore__ inline uint32_t PieceStrips(uint32_t piece) const {
    const uint32_t begin = piece * kPieceStrips;
    return k_ <= begin ? 0 : k_ - begin < kPieceStrips ? k_ - begin : kPieceStrips;
  }
  __aicore__ inline uint32_t PieceElems(uint32_t t, uint32_t piece) const { return strips_[t] * PieceStrips(piece) * kFractalElems; }
  __aicore__ inline LocalTensor<float> StatePiece(uint32_t t, uint32_t piece) {
    return Of<kStateC, float>(t)[piece * kPieceStrips * strips_[t] * kFractalElems];
  }

  template <uint32_t kId, typename T>
  __aicore__ inline LocalTensor<T> Get() {
    return chip_.template Get<kId, T>();
  }
  // The row of slice 1 follows that of slice 0.
  template <uint32_t kId, typename T>
  __aicore__ inline LocalTensor<T> Of(uint32_t t) {
    return t == 0 ? chip_.template Get<kId, T>() : chip_.template Get<kId + 1, T>();
  }

  OnChip<Table>& chip_;
  CubeSlots& slots_;
  const Tensors& gm_;
  const ChunkGatedDeltaRuleTiling& tiling_;
  // The slice of out that is on its way to GM; the second one goes in the next chunk's time.
  struct OutRows {
    int64_t offset = 0;
    uint32_t live = 0;
    uint32_t strips = 0;  // 0: none
  };

  Chunk chunk_;
  OutRows out_[kTiles];
  uint32_t k_;                     // strips of Dk
  uint32_t strips_[kTiles] = {};   // of the slices
  bool state_ready_[kTiles] = {};
  int32_t slot_of_[kTiles] = {};
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_INTER_CHUNK_H_
