// SPDX-License-Identifier: Apache-2.0
#include "ops/overlap.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace chunk_gdr {
namespace {

using Range = std::pair<uintptr_t, uintptr_t>;  // [begin, end) in bytes

uintptr_t Address(const at::Tensor& tensor) { return reinterpret_cast<uintptr_t>(tensor.const_data_ptr()); }

// From the first to past the last byte; torch has no negative strides.
Range Span(const at::Tensor& tensor) {
  int64_t last = 0;
  for (int64_t dim = 0; dim < tensor.dim(); ++dim) last += (tensor.size(dim) - 1) * tensor.stride(dim);
  return {Address(tensor), Address(tensor) + (last + 1) * tensor.element_size()};
}

bool Intersect(const Range& a, const Range& b) { return a.first < b.second && b.first < a.second; }

// The contiguous runs of a tensor, sorted by address.
std::vector<Range> Runs(const at::Tensor& tensor) {
  int64_t outer_dims = tensor.dim();
  int64_t run_elems = 1;
  while (outer_dims > 0 && (tensor.size(outer_dims - 1) == 1 || tensor.stride(outer_dims - 1) == run_elems)) {
    run_elems *= tensor.size(--outer_dims);
  }
  std::vector<int64_t> offsets = {0};
  for (int64_t dim = 0; dim < outer_dims; ++dim) {
    std::vector<int64_t> next;
    next.reserve(offsets.size() * tensor.size(dim));
    for (const int64_t offset : offsets) {
      for (int64_t i = 0; i < tensor.size(dim); ++i) next.push_back(offset + i * tensor.stride(dim));
    }
    offsets = std::move(next);
  }
  std::sort(offsets.begin(), offsets.end());
  std::vector<Range> runs;
  runs.reserve(offsets.size());
  const int64_t elem_bytes = tensor.element_size();
  for (const int64_t offset : offsets) {
    const uintptr_t begin = Address(tensor) + offset * elem_bytes;
    runs.emplace_back(begin, begin + run_elems * elem_bytes);
  }
  return runs;
}

// Whether every stride steps over all that the smaller strides span: the usual views, which cannot overlap.
bool StridesNest(const at::Tensor& tensor) {
  std::vector<std::pair<int64_t, int64_t>> dims;  // (stride, size)
  for (int64_t dim = 0; dim < tensor.dim(); ++dim) {
    if (tensor.size(dim) > 1) dims.emplace_back(tensor.stride(dim), tensor.size(dim));
  }
  std::sort(dims.begin(), dims.end());
  int64_t last = 0;
  for (const auto& [stride, size] : dims) {
    if (stride <= last) return false;
    last += (size - 1) * stride;
  }
  return true;
}

}  // namespace

bool ElementsOverlap(const at::Tensor& tensor) {
  if (tensor.numel() == 0 || StridesNest(tensor)) return false;
  const std::vector<Range> runs = Runs(tensor);
  for (size_t i = 1; i < runs.size(); ++i) {
    if (Intersect(runs[i - 1], runs[i])) return true;
  }
  return false;
}

bool MemoryOverlaps(const at::Tensor& a, const at::Tensor& b) {
  if (a.numel() == 0 || b.numel() == 0 || !Intersect(Span(a), Span(b))) return false;
  const std::vector<Range> a_runs = Runs(a), b_runs = Runs(b);
  for (size_t i = 0, j = 0; i < a_runs.size() && j < b_runs.size();) {
    if (Intersect(a_runs[i], b_runs[j])) return true;
    a_runs[i].second <= b_runs[j].first ? ++i : ++j;
  }
  return false;
}

}  // namespace chunk_gdr
