// SPDX-License-Identifier: Apache-2.0
// The software synchronisation between cores, instruction by instruction as the library does it, but for polls in vain.
#pragma once

#include "issue/view.h"

namespace npu_model::issue {

// SyncAll over GM flags: 32 bytes per block, zero at the start; UB scratch of the same size.
void SyncAllSoftware(const View& gm, const View& ub, int32_t used_cores, Site site);

// IBSet (`set`) and IBWait on flag (block_idx, event_id) of a GM workspace; 32 bytes of UB scratch.
void BlockFlag(bool set, const View& gm, const View& ub, int32_t block_idx, int32_t event_id, Site site);

}  // namespace npu_model::issue
