// SPDX-License-Identifier: Apache-2.0
// Tensors to and from the token recurrence of csrc/cpu.
#include "cpu/recurrence.h"

#include <ATen/ATen.h>

#include "ops/chunk_gated_delta_rule/backends.h"

namespace chunk_gdr::chunk_gated_delta_rule {
namespace {

static_assert(cpu::kChunkRows == kChunkRows && cpu::kMaxHeadDim == kMaxHeadDim,
              "what is checked here is what csrc/cpu has room for");

cpu::Dtype ToDtype(at::ScalarType dtype) {
  switch (dtype) {
    case at::ScalarType::Half: return cpu::Dtype::kHalf;
    case at::ScalarType::BFloat16: return cpu::Dtype::kBFloat16;
    case at::ScalarType::Double: return cpu::Dtype::kDouble;
    default: return cpu::Dtype::kFloat;
  }
}

// Strides are honoured, except that a row's elements must be adjacent.
at::Tensor WithAdjacentRowElements(const at::Tensor& tensor) {
  return tensor.stride(-1) == 1 ? tensor : tensor.contiguous();
}

cpu::TokenRows Rows(const at::Tensor& tensor) {
  return {tensor.data_ptr(), ToDtype(tensor.scalar_type()), tensor.stride(0), tensor.stride(1)};
}

cpu::TokenRows Factors(const OptionalTensor& tensor) { return tensor ? Rows(*tensor) : cpu::TokenRows{}; }

cpu::States StatesOf(const at::Tensor& tensor) {
  return {tensor.data_ptr(), ToDtype(tensor.scalar_type()), tensor.stride(0), tensor.stride(1), tensor.stride(2)};
}

cpu::GatedDeltaRule Describe(const Problem& problem) {
  const Arguments& args = problem.args;
  cpu::GatedDeltaRule rule{};
  rule.key_heads = problem.sizes.key_heads.expect_int();
  rule.value_heads = problem.sizes.value_heads.expect_int();
  rule.key_dim = problem.sizes.key_dim.expect_int();
  rule.value_dim = problem.sizes.value_dim.expect_int();
  rule.lengths = problem.lengths;
  int64_t token = 0, chunk = 0;
  for (const int64_t length : problem.lengths) {
    rule.first_token.push_back(token);
    rule.first_chunk.push_back(chunk);
    token += length;
    chunk += ChunkCount(length);
  }
  rule.scale = args.scale.value_or(1.0);
  rule.use_qk_l2norm = args.use_qk_l2norm_in_kernel;
  return rule;
}

Outputs Run(const Problem& problem, void (*run)(const cpu::GatedDeltaRule&)) {
  const Arguments& args = problem.args;
  cpu::GatedDeltaRule rule = Describe(problem);
  const at::Tensor query = WithAdjacentRowElements(args.query);
  const at::Tensor key = WithAdjacentRowElements(args.key);
  const at::Tensor value = WithAdjacentRowElements(args.value);
  rule.query = Rows(query);
  rule.key = Rows(key);
  rule.value = Rows(value);
  rule.beta = Factors(args.beta);
  rule.g = Factors(args.g);

  at::Tensor initial_state;
  if (args.initial_state) {
    initial_state = WithAdjacentRowElements(*args.initial_state);
    rule.initial_state = StatesOf(initial_state);
  }
  at::Tensor chunk_state;
  if (args.chunk_state) {
    chunk_state = WithAdjacentRowElements(*args.chunk_state);
    rule.chunk_state = StatesOf(chunk_state);
  }
  at::Tensor out = at::empty({args.query.size(0), rule.value_heads, rule.value_dim}, args.query.options());
  at::Tensor final_state =
      at::empty({static_cast<int64_t>(problem.lengths.size()), rule.value_heads, rule.value_dim, rule.key_dim},
                args.query.options().dtype(problem.sizes.state_dtype));
  rule.out = Rows(out);
  rule.final_state = StatesOf(final_state);

  run(rule);
  if (args.chunk_state && !chunk_state.is_same(*args.chunk_state)) args.chunk_state->copy_(chunk_state);
  return {out, final_state};
}

}  // namespace

Outputs RunNative(const Problem& problem) { return Run(problem, &cpu::RunNative); }

Outputs RunReference(const Problem& problem) { return Run(problem, &cpu::RunReference); }

}  // namespace chunk_gdr::chunk_gated_delta_rule
