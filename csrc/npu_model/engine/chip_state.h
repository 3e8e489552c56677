// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <vector>

#include "engine/block_sync.h"
#include "engine/call_path.h"
#include "launch.h"
#include "memory/gm_space.h"
#include "memory/row_table.h"

namespace npu_model {

// What the cores of one launch share.
struct ChipState {
  ChipState(const LaunchOptions& launch_options, const void* entry, int threads)
      : options(launch_options),
        rows(launch_options.rows),
        code(CodeRangeOf(entry)),
        sync(launch_options.block_num, launch_options.cores, threads) {}

  const LaunchOptions& options;
  std::vector<GmArgument> arguments;
  uint64_t tiling = 0;  // address and bytes of the tiling, the last argument
  size_t tiling_bytes = 0;
  const RowTable rows;
  const CodeRange code;  // the kernel library
  BlockSync sync;
  std::mutex atomic_mutex;  // stores under SetAtomicAdd, copies of polled flags
};

}  // namespace npu_model
