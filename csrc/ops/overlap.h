// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace chunk_gdr {

// Whether two dense tensors with data share a byte. Exact, also for interleaved views of one pool.
bool MemoryOverlaps(const at::Tensor& a, const at::Tensor& b);

// Whether two elements of a dense tensor with data share a byte. Exact.
bool ElementsOverlap(const at::Tensor& tensor);

}  // namespace chunk_gdr
