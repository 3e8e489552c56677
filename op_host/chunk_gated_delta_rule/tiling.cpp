// SPDX-License-Identifier: Apache-2.0
#include "tiling.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <utility>

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
  // The gap behind a slice of one strip, in blocks, is what a DataCopy has 16 bits for.
  for (const auto& [name, elems] :
       {std::pair("key_heads * key_dim", p.key_heads * p.key_dim), std::pair("value_heads * value_dim", p.value_heads * p.value_dim)}) {
    Require(elems <= (kMaxCopyGapBlocks + 1) * static_cast<int64_t>(kFractal), name, "at most 2^20 (a row gap of the copy engine)", elems);
  }
  if (p.has_g || p.has_beta) {
    Require(p.gate_stride_elems >= p.total_tokens + static_cast<int64_t>(kChunk), "gate_stride_elems", "at least total_tokens + 64",
            p.gate_stride_elems);
  }
  Require(p.core_count > 0 && p.core_count <= kAiCores, "core_count", "in 1..8", p.core_count);
  if (!std::isfinite(p.scale)) {
    throw std::invalid_argument("chunk_gated_delta_rule tiling: scale must be finite, got " + std::to_string(p.scale));
  }
}

// The mantissa enters P before P is split in fp16 pieces, whose absolute floor a small scale would come close to, and whose upper end
// a large one; so the power of two waits for the finished out.
void SplitScale(float scale, ChunkGatedDeltaRuleTiling& tiling) {
  int exponent = 0;
  std::frexp(scale, &exponent);
  const int power = scale == 0.0f ? 0 : exponent - 1;
  tiling.scale_power = std::ldexp(1.0f, power) / kScaleLift;
  tiling.scale_mantissa = std::ldexp(scale, -power) * kScaleLift;
}

// 64 tokens cover so few dims many times over: what they erase of a state cancels in the chunk's sums, and the error of all that stays.
// Shorter chunks leave it to the next ones, which erase it too.
constexpr int32_t kFewKeyDims = 16;
constexpr int32_t kFewKeyDimsChunk = 8;

constexpr const char* kAuto = "auto";
constexpr int32_t kChunkSizes[] = {1, 2, 4, 8, 16, 32, 64};
static_assert(kChunkSizes[std::size(kChunkSizes) - 1] == kChunk);

ChunkGatedDeltaRuleTiling DescribeShapes(const ProblemDesc& problem) {
  ChunkGatedDeltaRuleTiling t{};
  t.tokens = problem.total_tokens;
  t.sequences = problem.batch;
  t.gate_pitch = problem.gate_stride_elems;
  t.k_heads = static_cast<int32_t>(problem.key_heads);
  t.v_heads = static_cast<int32_t>(problem.value_heads);
  t.k_dim = static_cast<int32_t>(problem.key_dim);
  t.v_dim = static_cast<int32_t>(problem.value_dim);
  t.has_lengths = problem.has_lengths;
  t.has_beta = problem.has_beta;
  t.has_g = problem.has_g;
  t.has_state = problem.has_initial_state;
  t.has_chunk_state = problem.has_chunk_state;
  t.use_qk_l2norm = problem.use_qk_l2norm;
  t.state_layout = static_cast<int32_t>(problem.state_layout);
  t.chunk_size = static_cast<int32_t>(kChunk);
  if (problem.chunk_size != 0) {
    t.chunk_size = problem.chunk_size;
  } else if (t.k_dim <= kFewKeyDims) {
    t.chunk_size = kFewKeyDimsChunk;
  }
  SplitScale(problem.scale, t);
  return t;
}

// Calls `use` with the kernel's buffer table.
template <StateLayout kLayout, typename Use>
auto WithTable(uint32_t bucket, Use use) {
  switch (bucket) {
    case 64: return use(Buffers<64, kLayout>());
    case 80: return use(Buffers<80, kLayout>());
    case 96: return use(Buffers<96, kLayout>());
    default: return use(Buffers<128, kLayout>());
  }
}

template <typename Use>
auto WithTable(uint32_t bucket, StateLayout layout, Use use) {
  return layout == StateLayout::kNz ? WithTable<StateLayout::kNz>(bucket, use) : WithTable<StateLayout::kNd>(bucket, use);
}

// Columns of Dv that an item may have: what the chip has room for.
int32_t MaxItemColumns(uint32_t bucket, StateLayout layout) {
  return WithTable(bucket, layout, [](auto table) { return static_cast<int32_t>(table.kMaxVCols); });
}

std::vector<BufferRow> BufferRows(uint32_t bucket, StateLayout layout) {
  return WithTable(bucket, layout, [](auto table) {
    static constexpr const char* kMemoryNames[kMemories] = {"UB", "L1", "L0A", "L0B", "L0C"};
    std::vector<BufferRow> rows;
    for (uint32_t i = 0; i < kBufferCount; ++i) {
      const auto& row = table.kTable.rows[i];
      if (Bytes(row) == 0) continue;
      rows.push_back({row.name, kMemoryNames[static_cast<uint32_t>(row.memory)], row.dtype == Dtype::kHalf ? "float16" : "float32",
                      row.rows, row.cols, table.kPlace.offset[i], Bytes(row), static_cast<int>(row.first_stage),
                      static_cast<int>(row.last_stage)});
    }
    return rows;
  });
}

// Between two meetings of chunk-parallel; 0: another schedule.
constexpr int32_t kRoundsApart[] = {0, 2, 4, 6, 8, 16};

constexpr const char* kScheduleNames[] = {kAuto, "sequence-major", "v-tiles", "chunk-parallel"};
constexpr const char* kStateLayoutNames[] = {"kNz", "kNd"};

constexpr const char* NameOf(Schedule schedule) { return kScheduleNames[static_cast<int>(schedule)]; }
constexpr const char* NameOf(StateLayout layout) { return kStateLayoutNames[static_cast<int>(layout)]; }

Schedule ScheduleOf(const ChunkGatedDeltaRuleTiling& t) {
  return t.rounds_apart != 0 ? Schedule::kChunkParallel : t.v_tiles > 1 ? Schedule::kVTiles : Schedule::kSequenceMajor;
}

// A core runs one item, and the rows of two of its chunks are on their way to GM at a time.
bool CanRunChunkParallel(const ChunkGatedDeltaRuleTiling& t, const ProblemDesc& problem, uint32_t bucket) {
  return RunsChunkParallel(problem.state_layout) && t.v_tiles > 1 && problem.batch * t.v_heads * t.v_tiles <= problem.core_count &&
         !t.use_qk_l2norm && t.tokens > 0 && FitsTwoChunks(bucket, t.v_tile_dim) && problem.can_zero_workspace;
}

// And what it got.
std::string WhatItTakes(const ProblemDesc& problem, int32_t max_columns) {
  const bool shared = problem.schedule == Schedule::kChunkParallel;
  std::string text;
  if (problem.schedule == Schedule::kSequenceMajor) {
    text = "items of the whole Dv, and with the state in " + std::string(NameOf(problem.state_layout)) + " the chip has room for " +
           std::to_string(max_columns) + " columns";
  } else {
    text = std::string("slices of Dv, of 16 columns or more") +
           (shared ? ", no more than a core each and half of the bucket wide, tokens, no l2norm in the kernel, the state in kNz and a "
                     "workspace that the launch zeroes"
                   : "");
  }
  text += ", got batch " + std::to_string(problem.batch) + ", value_heads " + std::to_string(problem.value_heads) + ", value_dim " +
          std::to_string(problem.value_dim);
  if (shared) {
    text += ", key_dim " + std::to_string(problem.key_dim) + ", core_count " + std::to_string(problem.core_count) + ", total_tokens " +
            std::to_string(problem.total_tokens) + ", use_qk_l2norm " + std::to_string(problem.use_qk_l2norm) + ", state in " +
            NameOf(problem.state_layout) + ", workspace " + (problem.can_zero_workspace ? "zeroed" : "as it is");
  }
  return text;
}

// The first length below 0, else the sum.
std::string WhatTheyAre(const std::vector<int64_t>& lengths) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  int64_t sum = 0;
  for (const int64_t length : lengths) {
    if (length < 0) {
      return std::to_string(length);
    }
    sum = length > kMost - sum ? kMost : sum + length;
  }
  return "a sum of " + std::to_string(sum);
}

// Of `items` items of a core, one after the other; the others take turns with one that does.
int64_t ItemsThatLoad(const ChunkGatedDeltaRuleTiling& t, int64_t items) {
  const int64_t states = StatesOnChip(static_cast<StateLayout>(t.state_layout));
  const int64_t alike = static_cast<int64_t>(t.v_heads / t.k_heads) * t.v_tiles;  // have the same q and k
  return items / alike * CeilDiv(alike, states) + CeilDiv(items % alike, states);
}

// Narrow slices of Dv reach more cores or share them out more evenly, but every slice does the work that depends on k alone again, unless
// the cores that share a v-head share that out too, which costs the way through GM. The choice is the one whose slowest core is predicted
// to end first, were all sequences equally long.
void ChooseSchedule(LaunchPlan& plan, const ProblemDesc& problem) {
  const int64_t length = CeilDiv(problem.total_tokens, std::max<int64_t>(problem.batch, 1));
  const int32_t max_columns = MaxItemColumns(plan.bucket, problem.state_layout);
  int64_t least_cycles = std::numeric_limits<int64_t>::max();
  ChunkGatedDeltaRuleTiling t = plan.tiling;
  for (t.v_tile_dim = std::min(t.v_dim, max_columns); t.v_tile_dim > 0; t.v_tile_dim -= kFractal) {
    t.v_tiles = CeilDiv(t.v_dim, t.v_tile_dim);
    for (const int32_t rounds_apart : kRoundsApart) {
      t.rounds_apart = rounds_apart;
      if ((rounds_apart != 0 && (!CanRunChunkParallel(t, problem, plan.bucket) ||
                                 (problem.rounds_apart != 0 && problem.rounds_apart != rounds_apart))) ||
          (problem.schedule != Schedule::kAuto && problem.schedule != ScheduleOf(t))) {
        continue;
      }
      const int64_t items = problem.batch * t.v_heads * t.v_tiles;
      const int64_t cores = std::clamp<int64_t>(items, 1, problem.core_count);
      const CycleCosts costs = PredictCosts(t, problem.state_is_half);
      const int64_t each = CeilDiv(items, cores);
      const int64_t loads = ItemsThatLoad(t, each);
      const int64_t cycles = costs.launch + loads * costs.Item(length, length, true) + (each - loads) * costs.Item(length, length, false);
      if (cycles < least_cycles) {
        least_cycles = cycles;
        plan.costs = costs;
        plan.block_num = static_cast<uint32_t>(cores);
        plan.tiling = t;
        plan.tiling.item_cycles = static_cast<int32_t>(costs.item);
        plan.tiling.chunk_cycles = static_cast<int32_t>(costs.chunk);
      }
    }
  }
  if (least_cycles == std::numeric_limits<int64_t>::max()) {
    throw std::invalid_argument(std::string("chunk_gated_delta_rule tiling: schedule ") + NameOf(problem.schedule) +
                                " does not fit this launch: it takes " + WhatItTakes(problem, max_columns));
  }
}

std::vector<WorkspaceSlot> Workspace(const LaunchPlan& plan) {
  const uint64_t cores = plan.block_num;
  std::vector<WorkspaceSlot> slots = {{"core_status", 0, StatusBytes(cores)}};
  if (plan.tiling.rounds_apart != 0) {
    slots.push_back({"sync_flags", SyncOffset(cores), SyncBytes(cores), true});
    slots.push_back({"zero_rows", ZerosOffset(cores), kZerosBytes, true});
    slots.push_back({"handover", SlotsOffset(cores), SlotsBytes(plan.tiling)});
  }
  return slots;
}

}  // namespace

std::string ScheduleNames() {
  std::string names, rounds;
  for (const char* name : kScheduleNames) {
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  for (const int32_t n : kRoundsApart) {
    rounds += n == 0 ? "" : (rounds.empty() ? "" : ", ") + std::to_string(n);
  }
  return names + " or, with the rounds between two meetings, " + NameOf(Schedule::kChunkParallel) + ":N, N one of " + rounds;
}

void SetSchedule(ProblemDesc& problem, const std::string& name) {
  const size_t colon = name.find(':');
  const auto* found = std::find(std::begin(kScheduleNames), std::end(kScheduleNames), name.substr(0, colon));
  const auto* rounds = std::begin(kRoundsApart);
  if (colon != std::string::npos) {
    rounds = std::find_if(rounds + 1, std::end(kRoundsApart), [&](int32_t n) { return std::to_string(n) == name.substr(colon + 1); });
  }
  const Schedule schedule = static_cast<Schedule>(found - std::begin(kScheduleNames));
  if (found == std::end(kScheduleNames) || rounds == std::end(kRoundsApart) || (*rounds != 0 && schedule != Schedule::kChunkParallel)) {
    throw std::invalid_argument("chunk_gated_delta_rule tiling: schedule must be " + ScheduleNames() + ", got '" + name + "'");
  }
  problem.schedule = schedule;
  problem.rounds_apart = *rounds;
}

std::string ChunkSizeNames() {
  std::string names = kAuto;
  for (const int32_t size : kChunkSizes) {
    names += ", " + std::to_string(size);
  }
  return names;
}

void SetChunkSize(ProblemDesc& problem, const std::string& name) {
  const auto* size = std::find_if(std::begin(kChunkSizes), std::end(kChunkSizes), [&](int32_t n) { return std::to_string(n) == name; });
  if (size == std::end(kChunkSizes) && name != kAuto) {
    throw std::invalid_argument("chunk_gated_delta_rule tiling: chunk size must be one of " + ChunkSizeNames() + ", got '" + name + "'");
  }
  problem.chunk_size = name == kAuto ? 0 : *size;
}

StateLayout StateLayoutFromName(const std::string& name) {
  const auto* found = std::find(std::begin(kStateLayoutNames), std::end(kStateLayoutNames), name);
  if (found == std::end(kStateLayoutNames)) {
    throw std::invalid_argument("chunk_gated_delta_rule tiling: the state layout must be kNz or kNd, got '" + name + "'");
  }
  return static_cast<StateLayout>(found - std::begin(kStateLayoutNames));
}

int64_t GatePitch(int64_t tokens) {
  return RoundUp<int64_t>(tokens, kBlockBytes / sizeof(float)) + static_cast<int64_t>(kChunk);
}

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
  plan.tiling = DescribeShapes(problem);
  ChooseSchedule(plan, problem);
  plan.schedule = NameOf(ScheduleOf(plan.tiling));
  plan.state_layout = NameOf(problem.state_layout);
  plan.workspace = Workspace(plan);
  plan.workspace_bytes = kSystemWorkspaceBytes + plan.workspace.back().offset_bytes + plan.workspace.back().bytes;
  plan.buffers = BufferRows(plan.bucket, problem.state_layout);
  plan.stage_names.assign(std::begin(kStageNames), std::end(kStageNames));
  for (uint32_t stage = 0; stage < kStageCount; ++stage) {
    plan.stage_lanes.push_back(static_cast<int>(LaneOf(stage)));
  }
  return plan;
}

std::vector<WorkItem> ItemsOfCore(const ChunkGatedDeltaRuleTiling& tiling, const std::vector<int64_t>& lengths, uint32_t core,
                                  uint32_t cores) {
  Require(static_cast<int64_t>(lengths.size()) == tiling.sequences, "number of lengths", "the number of sequences",
          static_cast<int64_t>(lengths.size()));
  Require(cores > 0 && cores <= kAiCores, "cores", "in 1..8", cores);
  Require(core < cores, "core", "below the number of cores " + std::to_string(cores), core);
  const auto length_of = [&lengths](int64_t b) { return lengths[b]; };
  const Partition<decltype(length_of)> partition(tiling, length_of, cores);
  if (!partition.valid()) {
    throw std::invalid_argument("chunk_gated_delta_rule tiling: lengths must be non-negative and add up to " +
                                std::to_string(tiling.tokens) + ", got " + WhatTheyAre(lengths));
  }
  std::vector<WorkItem> items;
  CoreItems<decltype(length_of)> cursor(partition, core);
  for (WorkItem item; cursor.Next(item);) {
    items.push_back(item);
  }
  return items;
}

}  // namespace chunk_gdr::host
