// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <vector>

#include "engine/block_sync.h"
#include "launch.h"
#include "memory/gm_space.h"
#include "memory/row_table.h"

namespace npu_model {

// What the cores of one launch share.
struct ChipState {
  ChipState(const LaunchOptions& launch_options, int threads)
      : options(launch_options),
        rows(launch_options.rows),
        sync(launch_options.block_num, launch_options.cores, threads) {}

  const LaunchOptions& options;
  std::vector<GmArgument> arguments;
  const RowTable rows;
  BlockSync sync;
  std::mutex atomic_mutex;  // stores under SetAtomicAdd
};

}  // namespace npu_model
