// SPDX-License-Identifier: Apache-2.0
// Host tiling: from the shapes of a call to the bytes, key, block count and workspace of its launch. Shapes only; lengths stay on the
// device.
#ifndef CHUNK_GDR_OP_HOST_CHUNK_GATED_DELTA_RULE_TILING_H_
#define CHUNK_GDR_OP_HOST_CHUNK_GATED_DELTA_RULE_TILING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "../../op_kernel/chunk_gated_delta_rule/problem.h"
#include "../../op_kernel/chunk_gated_delta_rule/state_layout.h"
#include "predict.h"

namespace chunk_gdr::host {

// How the work is laid out; kAuto takes the one that is predicted to be fastest.
enum class Schedule {
  kAuto,
  kSequenceMajor,  // a core runs all chunks of a v-head, the state on chip
  kVTiles,         // likewise, of a slice of Dv
  kChunkParallel   // and what does not depend on the state is shared out chunk by chunk, through the workspace
};

// "kNz" or "kNd"; throws std::invalid_argument for any other.
StateLayout StateLayoutFromName(const std::string& name);

// Head dims are already multiples of 16; g and beta are fp32 rows [Nv, gate_stride_elems].
struct ProblemDesc {
  int64_t total_tokens = 0;
  int64_t batch = 1;
  int64_t key_heads = 0;
  int64_t value_heads = 0;
  int64_t key_dim = 0;
  int64_t value_dim = 0;
  bool has_beta = false;
  bool has_initial_state = false;
  bool has_lengths = false;
  bool has_g = false;
  bool has_chunk_state = false;
  bool state_is_half = false;
  bool use_qk_l2norm = false;
  float scale = 1.0f;
  int64_t gate_stride_elems = 0;
  uint32_t core_count = kAiCores;
  StateLayout state_layout = kStateLayout;  // that of the kernel that is to run
  int32_t chunk_size = 0;  // tokens per chunk; 0: 64, and fewer with keys of few dims
  Schedule schedule = Schedule::kAuto;
  int32_t rounds_apart = 0;  // chunk-parallel: rounds between two meetings of all cores; 0: what is predicted to be fastest
  bool can_zero_workspace = true;  // the launch can hand over a workspace with zeros where the plan wants them
};

// Fixes the schedule: "auto", "sequence-major", "v-tiles" or "chunk-parallel", the last one also as "chunk-parallel:4" with the rounds between
// two meetings. Throws std::invalid_argument for any other name.
void SetSchedule(ProblemDesc& problem, const std::string& name);

// All of those names, as that error lists them.
std::string ScheduleNames();

// Fixes the tokens per chunk: "auto", "1", "2", "4" .. "64". Throws std::invalid_argument for anything else.
void SetChunkSize(ProblemDesc& problem, const std::string& name);

// All of those, as that error lists them.
std::string ChunkSizeNames();

// Elements from one head's row of g and beta to the next where the host lays them out: steps of 32 bytes, and room for a whole chunk that
// starts at the last token.
int64_t GatePitch(int64_t tokens);

struct BufferRow {
  std::string name;
  std::string memory;  // "UB", "L1", "L0A", "L0B", "L0C"
  std::string dtype;   // "float16", "float32"
  uint32_t rows = 0;
  uint32_t cols = 0;
  uint32_t offset_bytes = 0;
  uint32_t bytes = 0;
  int first_stage = 0;  // inclusive, indices into LaunchPlan::stage_names
  int last_stage = 0;
};

struct WorkspaceSlot {
  std::string name;
  uint64_t offset_bytes = 0;  // from the start of the user part
  uint64_t bytes = 0;
  bool zeroed = false;  // zero at the launch
};

struct LaunchPlan {
  uint32_t block_num = 0;
  uint64_t tiling_key = 0;
  uint32_t bucket = 0;
  std::string schedule;
  std::string state_layout;  // of the state on chip between two chunks
  ChunkGatedDeltaRuleTiling tiling{};
  CycleCosts costs;
  uint64_t workspace_bytes = 0;  // with the system part
  std::vector<WorkspaceSlot> workspace;
  std::vector<BufferRow> buffers;
  std::vector<std::string> stage_names;
  std::vector<int> stage_lanes;  // stages of one lane follow one another, those of different lanes interleave
};

// Smallest bucket that holds both head dims.
uint32_t BucketOf(int64_t key_dim, int64_t value_dim);

// Throws std::invalid_argument that names the quantity, the limit and the value.
LaunchPlan MakeLaunchPlan(const ProblemDesc& problem);

// The items of one core, in the order it runs them; `lengths` has tiling.sequences entries. Throws if the lengths are invalid.
std::vector<WorkItem> ItemsOfCore(const ChunkGatedDeltaRuleTiling& tiling, const std::vector<int64_t>& lengths, uint32_t core,
                                  uint32_t cores);

}  // namespace chunk_gdr::host

#endif  // CHUNK_GDR_OP_HOST_CHUNK_GATED_DELTA_RULE_TILING_H_
