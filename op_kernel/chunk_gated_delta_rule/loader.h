// SPDX-License-Identifier: Apache-2.0
// The loader lane: rows and gates from GM, before the other lanes need them.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_LOADER_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_LOADER_H_

#include "../common/block/l2norm.h"
#include "../common/tile/memory.h"
#include "../common/tile/nz.h"
#include "../common/tile/stage.h"
#include "../common/tile/sync.h"
#include "buffers.h"
#include "chunk.h"
#include "constants.h"
#include "events.h"
#include "inputs.h"
#include "places.h"

namespace chunk_gdr {

constexpr float kMinGate = -30000.0f;  // exp of it is 0 and its sum over a chunk stays finite; an fp16 piece holds it

template <typename Table, typename StateT>
class ChunkLoader {
 public:
  using Tensors = GmTensors<StateT>;

  __aicore__ inline ChunkLoader(OnChip<Table>& chip, const Tensors& gm, const ChunkGatedDeltaRuleTiling& tiling)
      : chip_(chip), gm_(gm), tiling_(tiling), k_(static_cast<uint32_t>(tiling.k_dim) / kFractal) {}

  // Rows on their way to UB, once those before them have left: q, then k with g and beta, then v in the place of k.
  __aicore__ inline void FetchQueries(const Chunk& chunk) {
    if (!chunk.LoadsRows()) {
      return;
    }
    const StageScope stage(kLoad);
    Handoff<HardEvent::MTE3_MTE2>(kRows1Left);
    LoadRows(Row<kRows1, half>(chip_), gm_.query, chunk, KeyHead(tiling_, chunk.item), tiling_.k_heads, tiling_.k_dim, 0, k_);
    Signal<HardEvent::MTE2_V>(kQueriesArrived);
  }

  __aicore__ inline void FetchKeys(const Chunk& chunk) {
    if (!chunk.HasTokens()) {
      return;
    }
    const StageScope stage(kLoad);
    const int64_t tokens = chunk.item.v_head * tiling_.gate_pitch + chunk.token;
    if (IsChunkParallel<Table>(tiling_)) {
      Handoff<HardEvent::V_MTE2>(kGatesRead);  // sequence-major, values are handed over in between
      StripsFromGm(chunk, gm_.key, KeysQueriesOf(chip_, chunk));
      StripsFromGm(chunk, gm_.query, KeysQueriesOf(chip_, chunk)[kChunk * kFractal]);
    } else {
      Handoff<HardEvent::MTE3_MTE2>(kRows0Left);
      if (chunk.LoadsRows()) {
        LoadRows(Row<kRows0, half>(chip_), gm_.key, chunk, KeyHead(tiling_, chunk.item), tiling_.k_heads, tiling_.k_dim, 0, k_);
      }
    }
    if (tiling_.has_g) {
      AscendC::DataCopy(Row<kGate, float>(chip_), gm_.gate[tokens], kChunk);
    }
    if (tiling_.has_beta) {
      AscendC::DataCopy(Row<kBeta, float>(chip_), gm_.beta[tokens], kChunk);
    }
    Signal<HardEvent::MTE2_V>(kKeysArrived);
  }

  __aicore__ inline void FetchValues(const Chunk& chunk) {
    if (!chunk.HasTokens()) {
      return;
    }
    const StageScope stage(kLoad);
    Handoff<HardEvent::MTE3_MTE2>(kRows0Left);
    LoadRows(Row<kRows0, half>(chip_), gm_.value, chunk, chunk.item.v_head, tiling_.v_heads, tiling_.v_dim, chunk.item.v_begin,
             chunk.VStrips());
    Signal<HardEvent::MTE2_V>(kValuesArrived);
  }

  // Fetched rows made ready for L1: dead rows of a ragged chunk are zero, with beta 0 and gate 0.
  __aicore__ inline void ReceiveQueries(const Chunk& chunk) {
    if (!chunk.LoadsRows()) {
      return;
    }
    const StageScope stage(kLoad);
    Await<HardEvent::MTE2_V>(kQueriesArrived);
    ClearDead(chunk, Row<kRows1, half>(chip_), k_);
    if (tiling_.use_qk_l2norm) {
      NormRows(Row<kRows1, half>(chip_), Vector(chunk, kQueryVector), PowerOf::kOwnNorm);
    }
  }

  __aicore__ inline void ReceiveValues(const Chunk& values) {
    if (!values.HasTokens()) {
      return;
    }
    const StageScope stage(kLoad);
    Await<HardEvent::MTE2_V>(kValuesArrived);
    ClearDead(values, Row<kRows0, half>(chip_), values.VStrips());
    Handoff<HardEvent::V_MTE3>(kRowsReady);
  }

  // k, and MTE3 may take it and q.
  __aicore__ inline void ReceiveKeys(const Chunk& chunk) {
    if (!chunk.HasTokens()) {
      return;
    }
    const StageScope stage(kLoad);
    Await<HardEvent::MTE2_V>(kKeysArrived);
    const auto gate = Row<kGate, float>(chip_);
    const auto beta = Row<kBeta, float>(chip_);
    if (!tiling_.has_g) {
      AscendC::Duplicate(gate, 0.0f, kChunk);
    }
    if (!tiling_.has_beta) {
      AscendC::Duplicate(beta, 1.0f, kChunk);
    }
    if (chunk.live < kChunk) {
      if (!tiling_.has_g || !tiling_.has_beta) {
        VectorDone();
      }
      FillLanes(gate, 0.0f, ~0ull << chunk.live);
      FillLanes(beta, 0.0f, ~0ull << chunk.live);
    }
    if (chunk.LoadsRows() && !IsChunkParallel<Table>(tiling_)) {
      ClearDead(chunk, Row<kRows0, half>(chip_), k_);
    }
    if (tiling_.use_qk_l2norm) {
      if (chunk.LoadsRows()) {
        NormRows(Row<kRows0, half>(chip_), Vector(chunk, kKeyVector), PowerOf::kScaled);  // the factor enters V'
      } else {  // those of k and q are the same as of the chunk before
        AscendC::Muls(Vector(chunk, kKeyVector), VectorOf(chip_, chunk.Parity() ^ 1, kKeyVector), 1.0f, 2 * kChunk);
      }
    }
    Handoff<HardEvent::V_MTE3>(kRowsReady);
  }

  // One of kParts parts of the strips to L1. Short copies, so that MTE3 is soon free again for what the Cube waits for; after the last part
  // the rows' place may be filled again.
  static constexpr uint32_t kParts = 8;

  __aicore__ inline void QueriesToL1(const Chunk& chunk, uint32_t part) {
    if (!chunk.HasTokens()) {
      return;
    }
    const StageScope stage(kLoad);
    if (chunk.LoadsRows()) {
      KeyRowsToL1(chunk, Row<kRows1, half>(chip_), kChunk / kFractal, part);
    }
    if (part + 1 == kParts) {  // without rows too: it also says that the scores of the chunk before have left UB
      Signal<HardEvent::MTE3_MTE1>(kRowsInL1);
    }
  }

  // Chunk-parallel: MTE2 has brought k and q, V knows it, and so does MTE3.
  __aicore__ inline void PromiseRows(const Chunk& chunk) {
    if (chunk.HasTokens()) {
      Signal<HardEvent::MTE3_MTE1>(kRowsInL1);
    }
  }

  __aicore__ inline void KeysToL1(const Chunk& chunk, uint32_t part) {
    if (!chunk.LoadsRows()) {
      return;
    }
    const StageScope stage(kLoad);
    KeyRowsToL1(chunk, Row<kRows0, half>(chip_), 0, part);
  }

  __aicore__ inline void ValuesToL1(const Chunk& chunk, uint32_t part) {
    if (!chunk.HasTokens()) {
      return;
    }
    const StageScope stage(kLoad);
    StripsToL1(ValuesOf(chip_, chunk), kChunk, Row<kRows0, half>(chip_), chunk.VStrips(), part);
  }

  // The gates in fp16 pieces, in steps between which the Vector queue must be done.
  // The clamp may drop a NaN on this chip; 0 * exp(-|g|) is 0 for every gate but NaN, and carries that over.
  __aicore__ inline void GateStep(const Chunk& chunk, uint32_t step) {
    if (!chunk.HasTokens()) {
      return;
    }
    const StageScope stage(kLoad);
    const auto gate = Row<kGate, float>(chip_);
    const auto rest = Row<kGateWork, float>(chip_);
    const auto nan = Row<kGateWork, float>(chip_)[kChunk];
    const auto pieces = Row<kGateHalves, half>(chip_);
    switch (step) {
      case 0:
        AscendC::Abs(nan, gate, kChunk);
        AscendC::Maxs(rest, gate, kMinGate, kChunk);
        break;
      case 1:
        AscendC::Muls(nan, nan, -1.0f, kChunk);
        break;
      case 2:
        AscendC::Exp(nan, nan, kChunk);
        break;
      case 3:
        AscendC::Muls(nan, nan, 0.0f, kChunk);
        break;
      case 4:
        AscendC::Add(rest, rest, nan, kChunk);
        break;
      case 5:
        AscendC::Cast(pieces, rest, AscendC::RoundMode::CAST_NONE, kChunk);
        break;
      case 6:
        AscendC::Axpy(rest, pieces, static_cast<half>(-1.0f), kChunk);
        break;
      case 7:
        AscendC::Muls(rest, rest, kSecondPieceScale, kChunk);
        break;
      default:
        AscendC::Cast(pieces[kChunk], rest, AscendC::RoundMode::CAST_NONE, kChunk);
        break;
    }
  }

  // The per-token factors of the row scalings: beta r and -beta r^2; r and r^q are what NormRows leaves.
  __aicore__ inline void FactorStep(const Chunk& chunk, uint32_t step) {
    if (!chunk.HasTokens()) {
      return;
    }
    const StageScope stage(kLoad);
    const auto beta = Vector(chunk, kBetaVector);
    const auto a = Vector(chunk, kAVector);
    if (!tiling_.use_qk_l2norm) {
      if (step == 0) {
        AscendC::Muls(beta, Row<kBeta, float>(chip_), 1.0f, kChunk);
        AscendC::Muls(a, Row<kBeta, float>(chip_), -1.0f, kChunk);
      }
    } else if (step == 0) {
      AscendC::Mul(beta, Row<kBeta, float>(chip_), Vector(chunk, kKeyVector), kChunk);
    } else if (step == 1) {
      AscendC::Mul(a, beta, Vector(chunk, kKeyVector), kChunk);
    } else {
      AscendC::Muls(a, a, -1.0f, kChunk);
    }
  }

 private:
  __aicore__ inline void LoadRows(const LocalTensor<half>& dst, const GlobalTensor<half>& src, const Chunk& chunk, int64_t head,
                                  int32_t heads, int32_t dim, int32_t column, uint32_t strips) {
    const int64_t offset = (chunk.token * heads + head) * dim + column;
    AscendC::DataCopy(dst, src[offset],
                      AscendC::DataCopyParams(static_cast<uint16_t>(chunk.live), static_cast<uint16_t>(strips),
                                              static_cast<uint16_t>(heads * dim / kFractal - strips), 0));
  }

  __aicore__ inline void ClearDead(const Chunk& chunk, const LocalTensor<half>& rows, uint32_t strips) {
    if (chunk.live < kChunk) {
      const uint32_t row = strips * kFractal;
      AscendC::Duplicate(rows[chunk.live * row], static_cast<half>(0.0f), (kChunk - chunk.live) * row);
    }
  }

  // Rows scaled to norm <= 2, the rest of the norm in `factor`; they end up in their own place, in NZ.
  __aicore__ inline void NormRows(const LocalTensor<half>& rows, const LocalTensor<float>& factor, PowerOf power_of) {
    const StageScope stage(kState);
    VectorDone();
    L2NormRows(rows, factor, rows, k_, k_, power_of,
               {Row<kNormTile, float>(chip_), Row<kNormSum, float>(chip_), Row<kNormVectors, float>(chip_)});
    VectorDone();
  }

  // Rows of k or q to the [2 BT, k] operand.
  __aicore__ inline void KeyRowsToL1(const Chunk& chunk, const LocalTensor<half>& rows, uint32_t first_fractal_row, uint32_t part) {
    const LocalTensor<half> l1 = KeysQueriesOf(chip_, chunk)[first_fractal_row * kFractalElems];
    if (!tiling_.use_qk_l2norm) {
      StripsToL1(l1, 2 * kChunk, rows, k_, part);
    } else if (part == 0) {  // already NZ
      AscendC::DataCopy(l1, rows, AscendC::DataCopyParams(static_cast<uint16_t>(k_), kChunk, 0, kChunk));
    }
  }

  // Chunk-parallel: k or q, strip by strip; all but the first touch of a line are hits in L2. Those that read what lay here before are
  // through: V has fetched their product.
  __aicore__ inline void StripsFromGm(const Chunk& chunk, const GlobalTensor<half>& rows, const LocalTensor<half>& l1) {
    const int64_t pitch = static_cast<int64_t>(tiling_.k_heads) * k_;
    const int64_t offset = (chunk.token * tiling_.k_heads + KeyHead(tiling_, chunk.item)) * tiling_.k_dim;
    for (uint32_t s = 0; s < k_; ++s) {
      const auto strip = l1[s * 2 * kChunk * kFractal];
      AscendC::DataCopy(strip, rows[offset + s * kFractal],
                        AscendC::DataCopyParams(static_cast<uint16_t>(chunk.live), 1, static_cast<uint16_t>(pitch - 1), 0));
      if (chunk.live < kChunk) {
        AscendC::DataCopy(strip[chunk.live * kFractal], gm_.zeros, (kChunk - chunk.live) * kFractal);
      }
    }
  }

  __aicore__ inline void StripsToL1(const LocalTensor<half>& l1, uint32_t l1_rows, const LocalTensor<half>& rows, uint32_t strips,
                                    uint32_t part) {
    for (uint32_t s = strips * part / kParts; s < strips * (part + 1) / kParts; ++s) {
      AscendC::DataCopy(l1[s * l1_rows * kFractal], rows[s * kFractal],
                        AscendC::DataCopyParams(kChunk, 1, static_cast<uint16_t>(strips - 1), 0));
    }
  }

  __aicore__ inline LocalTensor<float> Vector(const Chunk& chunk, TokenVector which) {
    return VectorOf(chip_, chunk.Parity(), which);
  }

  OnChip<Table>& chip_;
  const Tensors& gm_;
  const ChunkGatedDeltaRuleTiling& tiling_;
  uint32_t k_;  // strips of Dk
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_LOADER_H_
