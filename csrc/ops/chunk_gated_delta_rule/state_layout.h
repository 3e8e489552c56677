// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "op_kernel/chunk_gated_delta_rule/state_layout.h"

namespace chunk_gdr::chunk_gated_delta_rule {

// That of the kernel to run: the package's own, or the one that CHUNK_GDR_STATE_LAYOUT names for another build of it. Throws
// std::invalid_argument for a name that is none.
StateLayout ChosenStateLayout();

}  // namespace chunk_gdr::chunk_gated_delta_rule
