// SPDX-License-Identifier: Apache-2.0
// Which flags and barriers of a launch could be left out.
#pragma once

#include <memory>
#include <vector>

#include "engine/core_state.h"
#include "trace/report.h"

namespace npu_model {

// Judges every flag and barrier of the kernel by what its blocks recorded; `params` are the launch's.
std::shared_ptr<const RedundancyReport> FindRedundantSync(const std::vector<std::unique_ptr<CoreState>>& blocks,
                                                          const Symbolizer& symbolizer, const CostParams& params,
                                                          int cores);

}  // namespace npu_model
