// SPDX-License-Identifier: Apache-2.0
// Runs a compiled kernel on the host model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "memory/row_table.h"
#include "trace/report.h"

namespace npu_model {

// One GM argument of the kernel, in the kernel's order. The memory stays the caller's and is worked on in place.
struct GmArg {
  void* data = nullptr;  // nullptr: absent optional; any access through it is an error
  uint64_t bytes = 0;
  std::string name;
  bool writable = false;
  bool initialised = true;  // false: reading a byte nobody wrote is an error (workspace)
  std::vector<std::pair<uint64_t, uint64_t>> written = {};  // but these, (offset, bytes), were written before the launch
};

struct LaunchOptions {
  int block_num = 1;
  uint64_t tiling_key = 0;
  int threads = 0;           // 0: as many as the machine has; results, hazards and cycles do not depend on it
  bool checked = true;       // false: no shadow state, no hazards
  bool adversarial = false;  // delay queues at random, honouring only flags, barriers and queue order
  uint64_t seed = 0;
  bool optimistic = false;  // cost parameters
  bool saturate = true;     // float -> half overflow: +-65504, or inf
  bool permute_cube = false;
  uint32_t permute_seed = 0;
  bool trace = false;  // record every instruction's span
  // Report the flags and barriers the kernel used, by identity, and the closure of ordered conflicting accesses.
  bool sync_sites = false;
  // Judge which flags and barriers could be left out; checked launches only.
  bool redundant_sync = false;
  std::unordered_set<uint64_t> dropped_sync;  // identities of flags and barriers to leave out
  int cores = 8;
  std::string work_unit;    // what the caller counts work in ("chunk_head"): cycles are then reported per unit too
  uint64_t work_units = 0;
  std::vector<BufferRow> rows;
  std::map<int, std::string> stage_names;
  // Stages of one lane follow one another; those of different lanes interleave, and no row belongs to two. Absent: lane
  // 0.
  std::map<int, int> stage_lanes;
  std::function<void(int done, int total)> progress;  // after each block, from a worker thread
};

// `entry` is `extern "C" void kernel(GM_ADDR args..., GM_ADDR workspace, GM_ADDR tiling)`; the workspace is the last of
// `args`. Throws std::invalid_argument when the call itself makes no sense; what the kernel does wrong is in the
// report.
Report Launch(const std::string& kernel_name, void* entry, const std::vector<GmArg>& args, const void* tiling,
              size_t tiling_bytes, const LaunchOptions& options);

// The report of the process's latest launch; nullptr before the first.
std::shared_ptr<const Report> LastReport();

// Options of launches that cannot be given any, such as those of a torch operator; process-wide.
LaunchOptions DefaultOptions();
void SetDefaultOptions(const LaunchOptions& options);

}  // namespace npu_model
