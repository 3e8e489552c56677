// SPDX-License-Identifier: Apache-2.0
// Every rule about the arguments of chunk_gated_delta_rule, shared by the CPU, Meta and NPU kernels. All of it runs
// before anything is allocated or written.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace chunk_gdr::chunk_gated_delta_rule {

using OptionalTensor = std::optional<at::Tensor>;
using Outputs = std::tuple<at::Tensor, at::Tensor>;

constexpr int64_t kChunkRows = 64;
constexpr int64_t kMaxHeadDim = 128;

struct Arguments {
  const at::Tensor& query;                   // [T, Nk, Dk]
  const at::Tensor& key;                     // [T, Nk, Dk]
  const at::Tensor& value;                   // [T, Nv, Dv]
  const OptionalTensor& beta;                // [T, Nv]
  const OptionalTensor& initial_state;       // [B, Nv, Dv, Dk]
  const OptionalTensor& actual_seq_lengths;  // [B]
  std::optional<double> scale;
  const OptionalTensor& g;            // [T, Nv]
  const OptionalTensor& chunk_state;  // [rows, Nv, Dv, Dk]
  bool use_qk_l2norm_in_kernel;
};

// The dtypes one implementation accepts. beta may also have the dtype of the query where that is in `qkv`.
struct DtypeRules {
  std::string who;  // as it appears in messages, e.g. "backend 'model'"
  std::vector<at::ScalarType> qkv;
  std::vector<at::ScalarType> beta;
  std::vector<at::ScalarType> g;
  std::vector<at::ScalarType> state;
};

// What the reference takes, which is everything any implementation takes.
const DtypeRules& WidestDtypes();

// What the device kernel takes, on the chip and on its host model.
const DtypeRules& KernelDtypes();

// Every tensor argument that is present, by name, in the order of the schema.
std::vector<std::pair<const char*, const at::Tensor*>> PresentTensors(const Arguments& args);

struct Sizes {
  c10::SymInt tokens, batch, key_heads, value_heads, key_dim, value_dim;
  at::ScalarType state_dtype;  // of initial_state; float32 without one
};

// Devices, dtypes, ranks, shapes and the scale: all that needs no value of a tensor. Also works on symbolic sizes.
Sizes CheckShapes(const Arguments& args, const DtypeRules& dtypes);

// The sequence lengths as numbers, checked; they must be readable here (CPU). Also checks the rows of chunk_state
// exactly.
std::vector<int64_t> CheckLengths(const Arguments& args, const Sizes& sizes);

// Rows of chunk_state where lengths cannot be read: against the bound that holds for any lengths, or exactly for the
// one sequence that their absence means.
void CheckChunkStateRowBound(const Arguments& args, const Sizes& sizes);

// chunk_state is written while the inputs are still being read: they may not share memory, nor may its own elements.
void CheckChunkStateStorage(const Arguments& args);

inline int64_t ChunkCount(int64_t length) { return (length + kChunkRows - 1) / kChunkRows; }

}  // namespace chunk_gdr::chunk_gated_delta_rule
