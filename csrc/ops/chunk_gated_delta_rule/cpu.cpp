// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <torch/library.h>

#include "backend.h"
#include "ops/chunk_gated_delta_rule/backends.h"
#include "ops/chunk_gated_delta_rule/check.h"
#include "registration.h"

namespace chunk_gdr::chunk_gated_delta_rule {
namespace {

using at::ScalarType;

struct BackendEntry {
  DtypeRules dtypes;
  Outputs (*run)(const Problem&);
};

DtypeRules Named(DtypeRules rules, Backend backend) {
  rules.who = std::string("backend '") + BackendName(backend) + "'";
  return rules;
}

const BackendEntry& Entry(Backend backend) {
  static const std::vector<ScalarType> up_to_float = {ScalarType::Half, ScalarType::BFloat16, ScalarType::Float};
  static const BackendEntry native = {
      Named({"", up_to_float, up_to_float, {ScalarType::Float}, up_to_float}, Backend::kNative), &RunNative};
  static const BackendEntry model = {Named(KernelDtypes(), Backend::kModel), &RunModel};
  static const BackendEntry reference = {Named(WidestDtypes(), Backend::kReference), &RunReference};
  switch (backend) {
    case Backend::kNative: break;
    case Backend::kModel: return model;
    case Backend::kReference: return reference;
  }
  return native;
}

Outputs Cpu(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const OptionalTensor& beta,
            const OptionalTensor& initial_state, const OptionalTensor& actual_seq_lengths, std::optional<double> scale,
            const OptionalTensor& g, const OptionalTensor& chunk_state, bool use_qk_l2norm_in_kernel) {
  const Arguments args{
      query, key, value, beta, initial_state, actual_seq_lengths, scale, g, chunk_state, use_qk_l2norm_in_kernel};
  const BackendEntry& backend = Entry(CurrentBackend());
  const Sizes sizes = CheckShapes(args, backend.dtypes);
  const std::vector<int64_t> lengths = CheckLengths(args, sizes);
  CheckChunkStateStorage(args);
  return backend.run({args, sizes, lengths});
}

}  // namespace

TORCH_LIBRARY_IMPL(chunk_gdr, CPU, m) { m.impl("chunk_gated_delta_rule", &Cpu); }

TORCH_LIBRARY_IMPL(npu, CPU, m) {
  if (OwnsNpuName("chunk_gated_delta_rule")) m.impl("chunk_gated_delta_rule", &Cpu);
}

}  // namespace chunk_gdr::chunk_gated_delta_rule
