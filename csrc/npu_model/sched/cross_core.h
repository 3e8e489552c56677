// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "engine/core_state.h"
#include "sched/hazard.h"

namespace npu_model {

// Conflicts between blocks over GM: two of them touch the same bytes, one writes, and no SyncAll or IBSet/IBWait edge
// orders them. Decided after the launch from the recorded accesses, so the verdict does not depend on how the host
// scheduled the cores.
void FindCrossCoreConflicts(const ChipState& chip, const std::vector<std::unique_ptr<CoreState>>& blocks,
                            HazardList& hazards);

}  // namespace npu_model
