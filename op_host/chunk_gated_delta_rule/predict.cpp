// SPDX-License-Identifier: Apache-2.0
#include "predict.h"

#include <algorithm>

#include "../../csrc/npu_model/cost/params.h"
#include "../../op_kernel/chunk_gated_delta_rule/buffers.h"
#include "../../op_kernel/chunk_gated_delta_rule/problem.h"
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

// A chunk takes the pipeline as long as its chain of barriers on the Vector queue; the copies between GM and UB hide
// behind it, at D 128 with 3,900 cycles. `python -m chunk_gdr.bench.counts` prints these constants.
constexpr Count kChunkChain = {5693, 54, 326, 9.9};
constexpr Count kNormChain = {1668, 294, 22, -2.6};  // what an l2norm adds to it

// The constants in L1, the two steps that fill the pipeline, and out of the last chunk.
constexpr Count kLaunch = {7611, 217, 479, 6.2};

// The first products with a state, and its way from and to GM, overlap with nothing: beside the copies, the rows of a
// state become NZ, and NZ becomes rows.
constexpr Count kItem = {178, 69, 58, 1.6};
constexpr Count kEnterState = {-3, 11, -6, 8.5};
constexpr Count kStoreState = {181, -33, -30, 26.1};

// A state is copied in pieces, one after the other.
double StateCopies(const ChunkGatedDeltaRuleTiling& t, int64_t v_strips, bool state_is_half) {
  const int64_t per_tile = CeilDiv<int64_t>(t.k_dim, PieceCols(BucketOf(t.k_dim, t.v_dim)));
  const int64_t pieces = per_tile * std::min<int64_t>(v_strips, kTiles);
  const int64_t bytes = v_strips * kFractal * t.k_dim * (state_is_half ? 2 : 4);
  return static_cast<double>(pieces) * kCost.gm_latency + static_cast<double>(bytes) / kCost.gm_bytes_per_cycle;
}

}  // namespace

CycleCosts PredictCosts(const ChunkGatedDeltaRuleTiling& t, bool state_is_half) {
  const int64_t k_strips = CeilDiv<int64_t>(t.k_dim, kFractal);
  const int64_t v_strips = CeilDiv<int64_t>(t.v_tile_dim, kFractal);
  const auto r = static_cast<double>(k_strips);
  const auto s = static_cast<double>(v_strips);
  const double copies = StateCopies(t, v_strips, state_is_half);
  const double enter = t.has_state ? copies + kEnterState.At(r, s) : 0;
  const double store = copies + kStoreState.At(r, s);
  const double item = kItem.At(r, s) + enter + store;
  const double norm = t.use_qk_l2norm ? kNormChain.At(r, s) : 0;
  const double chunk = kChunkChain.At(r, s) + norm + (t.has_chunk_state ? store : 0);
  return {static_cast<int64_t>(kLaunch.At(r, s)), static_cast<int64_t>(item), static_cast<int64_t>(chunk)};
}

std::vector<int64_t> PredictCycles(const ChunkGatedDeltaRuleTiling& tiling, const CycleCosts& costs,
                                   const std::vector<int64_t>& lengths, uint32_t cores) {
  std::vector<int64_t> cycles;
  for (uint32_t core = 0; core < cores; ++core) {
    cycles.push_back(costs.launch);
    for (const WorkItem& item : ItemsOfCore(tiling, lengths, core, cores)) {
      cycles.back() += ItemCycles(tiling, item.length);
    }
  }
  return cycles;
}

}  // namespace chunk_gdr::host
