// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cost/params.h"
#include "engine/core.h"

namespace npu_model {

// Cycles per unit of weight that the repeats of one vector instruction take together, bank conflicts included: the
// number of repeats when nothing conflicts. UB has 16 groups (addr[8:5]) of 4 banks (addr[17:16]); blocks of one side
// (all sources, or the destination) that share a group in one repeat queue up, and a repeat that reads and writes the
// same bank pays `rw_bank_conflict` more.
double ConflictedRepeats(const Instr& instr, const CostParams& params);

}  // namespace npu_model
