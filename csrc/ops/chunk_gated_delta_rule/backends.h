// SPDX-License-Identifier: Apache-2.0
// What runs chunk_gated_delta_rule on CPU tensors. All arguments are checked by then.
#pragma once

#include <vector>

#include "ops/chunk_gated_delta_rule/check.h"

namespace chunk_gdr::chunk_gated_delta_rule {

struct Problem {
  const Arguments& args;
  const Sizes& sizes;
  const std::vector<int64_t>& lengths;  // one per sequence, also without actual_seq_lengths
};

Outputs RunNative(const Problem& problem);     // fp32 token recurrence
Outputs RunReference(const Problem& problem);  // fp64 token recurrence
Outputs RunModel(const Problem& problem);      // the device kernel on the host model of the chip

}  // namespace chunk_gdr::chunk_gated_delta_rule
