// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <torch/library.h>

#include "ops/chunk_gated_delta_rule/check.h"
#include "registration.h"

namespace chunk_gdr::chunk_gated_delta_rule {
namespace {

Outputs Meta(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const OptionalTensor& beta,
             const OptionalTensor& initial_state, const OptionalTensor& actual_seq_lengths, std::optional<double> scale,
             const OptionalTensor& g, const OptionalTensor& chunk_state, bool use_qk_l2norm_in_kernel) {
  const Arguments args{
      query, key, value, beta, initial_state, actual_seq_lengths, scale, g, chunk_state, use_qk_l2norm_in_kernel};
  // Which backend will run is known only later, and so are lengths that are not on the CPU: the rules that depend on
  // them are checked then.
  const Sizes sizes = CheckShapes(args, WidestDtypes());
  if (!actual_seq_lengths) {
    CheckChunkStateRowBound(args, sizes);
  } else if (actual_seq_lengths->device().is_cpu()) {
    CheckLengths(args, sizes);
  }
  at::Tensor out = at::empty_symint({sizes.tokens, sizes.value_heads, sizes.value_dim}, query.options());
  at::Tensor final_state = at::empty_symint({sizes.batch, sizes.value_heads, sizes.value_dim, sizes.key_dim},
                                            query.options().dtype(sizes.state_dtype));
  return {out, final_state};
}

}  // namespace

TORCH_LIBRARY_IMPL(chunk_gdr, Meta, m) { m.impl("chunk_gated_delta_rule", &Meta); }

TORCH_LIBRARY_IMPL(npu, Meta, m) {
  if (OwnsNpuName("chunk_gated_delta_rule")) m.impl("chunk_gated_delta_rule", &Meta);
}

}  // namespace chunk_gdr::chunk_gated_delta_rule
