// SPDX-License-Identifier: Apache-2.0
#include "predict.h"

#include <algorithm>

#include "../../csrc/npu_model/cost/params.h"
#include "../../op_kernel/chunk_gated_delta_rule/buffers.h"
#include "../../op_kernel/chunk_gated_delta_rule/chunk.h"
#include "tiling.h"

namespace chunk_gdr::host {
namespace {

constexpr npu_model::CostParams kCost = npu_model::kPessimistic;

// Cycles as a polynomial in the strips of 16 columns of k (r) and of the slice of v (s).
struct Count {
  double one, r, s, rs;
  constexpr double At(double k_strips, double v_strips) const {
    return one + r * k_strips + s * v_strips + rs * k_strips * v_strips;
  }
};

// `python -m chunk_gdr.bench.counts` prints those named k..Cost.

// A chunk takes as long as the longer of two chains through the queues: that of its values and state, and, where keys are wider than
// values, that of the rows on their way from GM to L1.
constexpr Count kChunkCost = {4421, 1.0, 287.6, 11.8};
constexpr Count kWideChunkCost = {4286, 196.6, 43.1, 18.1};
constexpr Count kNormCost = {1856, 138.5, -30.1, 25.4};  // what an l2norm adds to it

// The constants in L1, the three rounds that fill the pipeline, the rows of the first chunk, and out of the last; and what an l2norm adds
// to that beside its kNormCost for each chunk: nothing waits for the norms of the first ones.
constexpr Count kLaunchCost = {8382, 312.0, 104.1, 38.3};
constexpr Count kLaunchNormCost = {-575, -105.8, 87.5, -48.3};

// The first products with a state, and its way from and to GM, overlap with nothing: beside the copies, the rows of a
// state become NZ, and NZ becomes rows.
constexpr Count kItemCost = {236, 76.9, 65.3, 0.4};
constexpr Count kEnterStateCost = {-90, 15.4, 39.7, -6.1};
constexpr Count kStoreStateCost = {148, -41.3, -17.6, 22.4};

// Chunk-parallel: a chunk; what one of one's own, on its way to a slot, adds before the first meeting, where nothing runs beside it (in
// the place of r: by slice of Dv, for where they are many, own chunks come one by one; later it is under what the state takes); a meeting
// of all cores; what comes once (in the place of r: with a state).
constexpr Count kSharedChunkCost = {1931, 190.0, 389.4, -32.0};
constexpr Count kEarlyChunkCost = {2560, 520.0, 0.0, 0.0};
constexpr Count kMeetingCost = {4031, 0.0, 0.0, 0.0};
constexpr Count kSharedItemCost = {4106, 276.7, 0.0, 0.0};

// With the state in rows a chunk takes more than in NZ, and what enters and leaves is as it is in GM.
constexpr Count kStateInRowsCost = {124, -21.3, -3.4, 33.9};
constexpr Count kEnterRows = {0, 0, 4, -4.4};
constexpr double kStoredAhead = 800;  // of the copy of an fp32 state for the next chunk, under other work

// A state is copied in pieces, two on their way at a time: with two to a slice of Dv, the second slice's wait for the first's.
double StateCopy(const ChunkGatedDeltaRuleTiling& t, int64_t k_strips, int64_t v_strips, bool state_is_half, bool rows) {
  const double strip_cycles = kFractalElems * (state_is_half ? 2 : 4) / kCost.gm_bytes_per_cycle;  // [16, 16]
  const uint32_t bucket = BucketOf(t.k_dim, t.v_dim);
  const int64_t second_piece = std::max<int64_t>(k_strips - PieceCols(bucket) / kFractal, 0) * (v_strips / kSlices);
  const bool waits = !rows && PieceCols(bucket) < bucket && v_strips > 1;
  return kCost.gm_latency + k_strips * v_strips * strip_cycles +
         (waits ? std::max(kCost.gm_latency - second_piece * strip_cycles, 0.0) : 0);
}

// Rows of strips * 16 columns; those that are not contiguous are rounded up to whole bursts.
double RowsCopy(int64_t rows, int64_t strips, bool contiguous) {
  const int64_t bytes = strips * kFractal * 2;
  return rows * (contiguous ? bytes : RoundUp<int64_t>(bytes, kCost.gm_burst_bytes)) / kCost.gm_bytes_per_cycle;
}

}  // namespace

int64_t CycleCosts::Item(int64_t length, int64_t longest, bool loads) const {
  const int64_t chunks = CeilDiv<int64_t>(length, chunk_size);
  if (rounds_apart == 0) {
    return length == 0 ? empty : item + chunks * (loads ? chunk : chunk - norm);
  }
  const int64_t meetings = CeilDiv<int64_t>(CeilDiv<int64_t>(longest, chunk_size), kTurns * rounds_apart);
  const int64_t own = std::max<int64_t>(CeilDiv<int64_t>(chunks, v_tiles), 1);
  const int64_t early = std::min<int64_t>(own, kTurns * rounds_apart / v_tiles + 1);
  return item + chunks * chunk + (early - 1) * early_chunk + meetings * meeting;
}

CycleCosts PredictCosts(const ChunkGatedDeltaRuleTiling& t, bool state_is_half) {
  const bool rows = static_cast<StateLayout>(t.state_layout) == StateLayout::kNd;
  const int64_t k_strips = CeilDiv<int64_t>(t.k_dim, kFractal);
  const int64_t v_strips = CeilDiv<int64_t>(t.v_tile_dim, kFractal);
  const auto r = static_cast<double>(k_strips);
  const auto s = static_cast<double>(v_strips);
  const double copy = StateCopy(t, k_strips, v_strips, state_is_half, rows);
  const double enter = t.has_state ? copy + (rows ? kEnterRows : kEnterStateCost).At(r, s) : 0;
  const double store = copy + (rows ? 0 : kStoreStateCost.At(r, s));
  const double ahead = rows && t.has_chunk_state && !state_is_half ? kStoredAhead : 0;
  const double item = kItemCost.At(r, s) + enter + store + ahead;  // the state of the first chunk is not stored ahead
  const double norm = t.use_qk_l2norm ? kNormCost.At(r, s) : 0;
  const double more = (rows ? kStateInRowsCost.At(r, s) : 0) + norm + (t.has_chunk_state ? (store - ahead) * t.chunk_size / kChunk : 0);
  // Of a first chunk of one head, whose rows are contiguous, and 64.
  const int64_t live = std::min<int64_t>(t.tokens, t.chunk_size);
  const double launch = kLaunchCost.At(r, s) + (t.use_qk_l2norm ? kLaunchNormCost.At(r, s) : 0) -
                        RowsCopy(kChunk, 2 * k_strips + v_strips, true) +
                        2 * RowsCopy(live, k_strips, t.k_heads == 1) + RowsCopy(live, v_strips, t.v_heads * t.v_tiles == 1);
  CycleCosts costs;
  costs.launch = static_cast<int64_t>(launch);
  costs.item = static_cast<int64_t>(item);
  costs.empty = static_cast<int64_t>(t.has_state ? 2 * copy : store);  // a state that is given leaves as it came
  costs.chunk = static_cast<int64_t>(std::max(kChunkCost.At(r, s), kWideChunkCost.At(r, s)) + more);
  costs.norm = static_cast<int64_t>(norm);
  costs.chunk_size = t.chunk_size;
  if (t.rounds_apart != 0) {
    costs.item = static_cast<int64_t>(item + kSharedItemCost.At(t.has_state ? 1 : 0, 0));
    costs.chunk = static_cast<int64_t>(kSharedChunkCost.At(r, s) + more);  // of 64 tokens; fewer are done sooner (up to a third)
    costs.early_chunk = static_cast<int64_t>(kEarlyChunkCost.At(t.v_tiles, 0));
    costs.meeting = static_cast<int64_t>(kMeetingCost.one);
    costs.rounds_apart = t.rounds_apart;
    costs.v_tiles = t.v_tiles;
  }
  return costs;
}

std::vector<int64_t> PredictCycles(const ChunkGatedDeltaRuleTiling& tiling, bool state_is_half,
                                   const std::vector<int64_t>& lengths, uint32_t cores) {
  const uint32_t states = StatesOnChip(static_cast<StateLayout>(tiling.state_layout));
  const int64_t longest = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
  std::vector<int64_t> cycles;
  for (uint32_t core = 0; core < cores; ++core) {
    cycles.push_back(PredictCosts(tiling, state_is_half).launch);
    WorkItem first{};  // of those that take turns
    uint32_t together = 0;
    for (const WorkItem& item : ItemsOfCore(tiling, lengths, core, cores)) {
      const bool loads = together == 0 || together == states || !ShareRows(tiling, first, item);
      if (loads) {
        first = item;
        together = 0;
      }
      ++together;
      ChunkGatedDeltaRuleTiling t = tiling;
      t.v_tile_dim = tiling.rounds_apart != 0 ? tiling.v_tile_dim : item.v_cols;  // the last slice may be narrower, but all cores meet
      cycles.back() += PredictCosts(t, state_is_half).Item(item.length, longest, loads);
    }
  }
  return cycles;
}

}  // namespace chunk_gdr::host
