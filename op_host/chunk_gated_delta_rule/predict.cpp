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

// A chunk takes as long as the longer of two chains through the queues: that of its values and state, and, with wide keys,
// that of the rows on their way from GM to L1. `python -m chunk_gdr.bench.counts` prints these constants.
constexpr Count kChunkChain = {4328, 68, 302, -1};
constexpr Count kWideChunkChain = {3204, 331, 363, -17.8};
constexpr Count kNormChain = {1839, 128, -17, 23.8};  // what an l2norm adds to it

// The constants in L1, the three rounds that fill the pipeline, and out of the last chunk.
constexpr Count kLaunch = {8248, 299, 144, 37.8};

// Chunk-parallel: a round of two chunks, which takes less where Dv is a single strip; what a chunk of one's own on its way to a
// slot adds; a round before the first; a meeting of all cores.
constexpr Count kRound = {4724, 369, 481, -17.7};
constexpr double kSingleStrip = -366;
constexpr Count kOwnChunk = {3732, -142, 0, 0};
constexpr Count kEarlyRound = {362, 103, 0, 0};
constexpr double kMeeting = 5386;

// The first products with a state, and its way from and to GM, overlap with nothing: beside the copies, the rows of a
// state become NZ, and NZ becomes rows.
constexpr Count kItem = {253, 56, 30, 2.7};
constexpr Count kEnterState = {-377, 62, 167, -22};
constexpr Count kStoreState = {-165, 7.5, 125, 2.2};

// With the state in rows a chunk takes more than in NZ, and what enters and leaves is as it is in GM.
constexpr Count kStateInRows = {146, 6, -27, 25};
constexpr Count kEnterRows = {-30, 0, 0, -4.3};
constexpr Count kStoreRows = {0, 0, 0, 0};
constexpr double kStoredAhead = 800;  // of the copy of an fp32 state for the next chunk, under other work

// A state is copied in pieces; each is under way while the one before becomes NZ, or rows.
double StateCopy(const ChunkGatedDeltaRuleTiling& t, int64_t v_strips, bool state_is_half) {
  const int64_t bytes = v_strips * kFractal * t.k_dim * (state_is_half ? 2 : 4);
  return kCost.gm_latency + static_cast<double>(bytes) / kCost.gm_bytes_per_cycle;
}

// A row of a [T, heads, strips * 16] tensor, rounded up to whole bursts.
double RowCopy(int64_t strips) {
  const int64_t bytes = RoundUp<int64_t>(strips * kFractal * 2, kCost.gm_burst_bytes);
  return static_cast<double>(bytes) / kCost.gm_bytes_per_cycle;
}

}  // namespace

int64_t CycleCosts::Item(int64_t length, int64_t longest) const {
  const int64_t chunks = ChunksOf(length);
  if (rounds_apart == 0) {
    return item + chunks * chunk;
  }
  const int64_t meetings = CeilDiv<int64_t>(CeilDiv<int64_t>(ChunksOf(longest), kTurns), rounds_apart);
  return item + CeilDiv<int64_t>(chunks, kTurns) * round + CeilDiv<int64_t>(chunks, v_tiles) * own_chunk +
         (rounds_apart + kRoundsToSlot) * early_round + meetings * meeting;
}

CycleCosts PredictCosts(const ChunkGatedDeltaRuleTiling& t, bool state_is_half, StateLayout layout) {
  const bool rows = layout == StateLayout::kNd;
  const int64_t k_strips = CeilDiv<int64_t>(t.k_dim, kFractal);
  const int64_t v_strips = CeilDiv<int64_t>(t.v_tile_dim, kFractal);
  const auto r = static_cast<double>(k_strips);
  const auto s = static_cast<double>(v_strips);
  const double copy = StateCopy(t, v_strips, state_is_half);
  const double enter = t.has_state ? copy + (rows ? kEnterRows : kEnterState).At(r, s) : 0;
  const double store = copy + (rows ? kStoreRows : kStoreState).At(r, s);
  const double item = kItem.At(r, s) + enter + store;
  const double norm = t.use_qk_l2norm ? kNormChain.At(r, s) : 0;
  const double chunk_store = store - (rows && !state_is_half ? kStoredAhead : 0);
  const double more = rows ? kStateInRows.At(r, s) : 0;
  const double chunk = std::max(kChunkChain.At(r, s), kWideChunkChain.At(r, s)) + more + norm + (t.has_chunk_state ? chunk_store : 0);
  // The rows of the first chunk are waited for, and a short one has fewer.
  const double missing = static_cast<double>(kChunk - std::min<int64_t>(t.tokens, kChunk));
  const double launch = kLaunch.At(r, s) - missing * (2 * RowCopy(k_strips) + RowCopy(v_strips));
  CycleCosts costs;
  costs.launch = static_cast<int64_t>(launch);
  costs.item = static_cast<int64_t>(item);
  costs.chunk = static_cast<int64_t>(chunk);
  if (t.chunk_parallel != 0) {
    const double states = t.has_chunk_state ? kTurns * store : 0;
    costs.round = static_cast<int64_t>(kRound.At(r, s) + (v_strips == 1 ? kSingleStrip : 0) + states);
    costs.own_chunk = static_cast<int64_t>(kOwnChunk.At(r, s));
    costs.early_round = static_cast<int64_t>(kEarlyRound.At(r, s));
    costs.meeting = static_cast<int64_t>(kMeeting);
    costs.rounds_apart = t.chunk_parallel;
    costs.v_tiles = t.v_tiles;
    costs.chunk = costs.round / kTurns + costs.own_chunk / t.v_tiles;
  }
  return costs;
}

std::vector<int64_t> PredictCycles(const ChunkGatedDeltaRuleTiling& tiling, const CycleCosts& costs,
                                   const std::vector<int64_t>& lengths, uint32_t cores) {
  std::vector<int64_t> cycles;
  for (uint32_t core = 0; core < cores; ++core) {
    cycles.push_back(costs.launch);
    for (const WorkItem& item : ItemsOfCore(tiling, lengths, core, cores)) {
      cycles.back() += costs.Item(item.length, *std::max_element(lengths.begin(), lengths.end()));
    }
  }
  return cycles;
}

}  // namespace chunk_gdr::host
