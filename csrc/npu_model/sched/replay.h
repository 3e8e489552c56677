// SPDX-License-Identifier: Apache-2.0
// A block's steps run again without some flags and barriers.
#pragma once

#include <vector>

#include "cost/params.h"
#include "sched/sync_log.h"

namespace npu_model {

// By number of the block's sites: true = left out. Of a flag, all SetFlags and the WaitFlags that consume them.
using DroppedSites = std::vector<bool>;

// Whether every order the checker found is there without them: all pairs of conflicting accesses that were ordered, and
// every SetFlag that was known not to hit a raised flag.
bool OrderSurvives(const SyncLog& log, const DroppedSites& dropped);

// The block's model cycles without them; other blocks arrive when they did.
double CyclesWithout(const SyncLog& log, const DroppedSites& dropped, const CostParams& params);

}  // namespace npu_model
