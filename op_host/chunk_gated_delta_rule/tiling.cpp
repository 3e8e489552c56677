// SPDX-License-Identifier: Apache-2.0
#include "tiling.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <stdexcept>

#include "../../op_kernel/chunk_gated_delta_rule/buffers.h"
#include "../../op_kernel/chunk_gated_delta_rule/workspace.h"

namespace chunk_gdr::host {
namespace {

constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();
constexpr int64_t kMaxCopyGapBlocks = 65535;  // DataCopyParams::srcStride, dstStride

void Require(bool ok, const char* quantity, const std::string& limit, int64_t value) {
  if (!ok) {
    throw std::invalid_argument(std::string("chunk_gated_delta_rule tiling: ") + quantity + " must be " + limit + ", got " +
                                std::to_string(value));
  }
}

void Check(const ProblemDesc& p) {
  Require(p.total_tokens >= 0 && p.total_tokens <= kMaxInt32, "total_tokens", "in 0..2^31-1", p.total_tokens);
  Require(p.batch >= 0 && p.batch <= kMaxInt32, "batch", "in 0..2^31-1", p.batch);
  Require(p.key_heads > 0 && p.key_heads <= kMaxInt32, "key_heads", "positive", p.key_heads);
  Require(p.value_heads > 0 && p.value_heads % p.key_heads == 0, "value_heads",
          "a positive multiple of key_heads " + std::to_string(p.key_heads), p.value_heads);
  for (const auto& [name, dim] : {std::pair("key_dim", p.key_dim), std::pair("value_dim", p.value_dim)}) {
    Require(dim > 0 && dim <= kMaxHeadDim && dim % kFractal == 0, name, "a multiple of 16 in 16..128", dim);
  }
  const auto gap_blocks = [](int64_t heads, int64_t dim) { return (heads - 1) * dim / kFractal; };
  Require(gap_blocks(p.key_heads, p.key_dim) <= kMaxCopyGapBlocks, "key_heads * key_dim",
          "at most 2^20 (a row gap of the copy engine)", p.key_heads * p.key_dim);
  Require(gap_blocks(p.value_heads, p.value_dim) <= kMaxCopyGapBlocks, "value_heads * value_dim",
          "at most 2^20 (a row gap of the copy engine)", p.value_heads * p.value_dim);
  if (p.has_g || p.has_beta) {
    Require(p.gate_stride_elems >= p.total_tokens + static_cast<int64_t>(kChunk), "gate_stride_elems", "at least total_tokens + 64",
            p.gate_stride_elems);
  }
  Require(p.core_count > 0 && p.core_count <= kAiCores, "core_count", "in 1..8", p.core_count);
}

// Slices of Dv so that every core finds an item: the fewest that give cores items, at most one per 16 columns.
int64_t ValueTiles(const ProblemDesc& p) {
  const int64_t items = std::max<int64_t>(1, p.batch * p.value_heads);
  return std::min<int64_t>(p.value_dim / kFractal, CeilDiv<int64_t>(p.core_count, items));
}

template <uint32_t kBucket>
std::vector<BufferRow> BufferRows() {
  static constexpr const char* kMemoryNames[kMemories] = {"UB", "L1", "L0A", "L0B", "L0C"};
  using Table = Buffers<kBucket>;
  std::vector<BufferRow> rows;
  for (uint32_t i = 0; i < kBufferCount; ++i) {
    const auto& row = Table::kTable.rows[i];
    rows.push_back({row.name, kMemoryNames[static_cast<uint32_t>(row.memory)], row.dtype == Dtype::kHalf ? "float16" : "float32",
                    row.rows, row.cols, Table::kPlace.offset[i], Bytes(row), static_cast<int>(row.first_stage),
                    static_cast<int>(row.last_stage)});
  }
  return rows;
}

std::vector<BufferRow> BufferRows(uint32_t bucket) {
  switch (bucket) {
    case 64: return BufferRows<64>();
    case 80: return BufferRows<80>();
    case 96: return BufferRows<96>();
    default: return BufferRows<128>();
  }
}

}  // namespace

uint32_t BucketOf(int64_t key_dim, int64_t value_dim) {
  const int64_t dim = std::max(key_dim, value_dim);
  const auto* bucket = std::find_if(std::begin(kBuckets), std::end(kBuckets), [dim](uint32_t b) { return dim <= b; });
  Require(bucket != std::end(kBuckets), "head dim", "at most 128", dim);
  return *bucket;
}

LaunchPlan MakeLaunchPlan(const ProblemDesc& problem) {
  Check(problem);
  LaunchPlan plan;
  plan.bucket = BucketOf(problem.key_dim, problem.value_dim);
  plan.tiling_key = TilingKey(plan.bucket, problem.state_is_half);
  const int64_t tiles = ValueTiles(problem);
  const int64_t tile_dim = RoundUp<int64_t>(CeilDiv(problem.value_dim, tiles), kFractal);

  ChunkGatedDeltaRuleTiling& t = plan.tiling;
  t.tokens = problem.total_tokens;
  t.sequences = problem.batch;
  t.gate_pitch = problem.gate_stride_elems;
  t.k_heads = static_cast<int32_t>(problem.key_heads);
  t.v_heads = static_cast<int32_t>(problem.value_heads);
  t.k_dim = static_cast<int32_t>(problem.key_dim);
  t.v_dim = static_cast<int32_t>(problem.value_dim);
  t.v_tiles = static_cast<int32_t>(CeilDiv(problem.value_dim, tile_dim));
  t.v_tile_dim = static_cast<int32_t>(tile_dim);
  t.has_lengths = problem.has_lengths;
  t.has_beta = problem.has_beta;
  t.has_g = problem.has_g;
  t.has_state = problem.has_initial_state;
  t.has_chunk_state = problem.has_chunk_state;
  t.use_qk_l2norm = problem.use_qk_l2norm;
  t.scale = problem.scale;

  const int64_t items = problem.batch * problem.value_heads * t.v_tiles;
  plan.block_num = static_cast<uint32_t>(std::clamp<int64_t>(items, 1, problem.core_count));
  plan.schedule = "sequence-major";
  plan.workspace.push_back({"core_status", 0, WorkspaceBytes(plan.block_num)});
  plan.workspace_bytes = kSystemWorkspaceBytes + WorkspaceBytes(plan.block_num);
  plan.buffers = BufferRows(plan.bucket);
  plan.stage_names.assign(std::begin(kStageNames), std::end(kStageNames));
  return plan;
}

std::vector<WorkItem> ItemsOfCore(const ChunkGatedDeltaRuleTiling& tiling, const std::vector<int64_t>& lengths, uint32_t core,
                                  uint32_t cores) {
  Require(static_cast<int64_t>(lengths.size()) == tiling.sequences, "number of lengths", "the number of sequences",
          static_cast<int64_t>(lengths.size()));
  const auto length_of = [&lengths](int64_t b) { return lengths[b]; };
  const Partition<decltype(length_of)> partition(tiling, length_of, cores);
  if (!partition.valid()) {
    throw std::invalid_argument("chunk_gated_delta_rule tiling: lengths must be non-negative and add up to " +
                                std::to_string(tiling.tokens));
  }
  std::vector<WorkItem> items;
  partition.ForEach(core, [&items](const WorkItem& item) { items.push_back(item); });
  return items;
}

}  // namespace chunk_gdr::host
