// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "engine/core.h"

namespace npu_model {

// Why `source` and `target` of one instruction must not overlap the way they do; empty if they may. `source_index`
// counts operands, destination = 0.
std::string DescribeOverlap(OverlapRule rule, const Operand& target, const Operand& source, int source_index);

}  // namespace npu_model
