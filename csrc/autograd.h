// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/library.h>

namespace chunk_gdr {

// Autograd kernel for operators without a backward: runs the forward, and gives what depends on an input that requires
// grad, results and arguments written in place, a node that raises "derivative for <operator> is not implemented".
// An input that has a forward-mode tangent is refused at once.
torch::CppFunction RefuseBackward();

// ADInplaceOrView kernel: counts the writes of arguments that are mutated but not returned.
torch::CppFunction CountWrites();

}  // namespace chunk_gdr
