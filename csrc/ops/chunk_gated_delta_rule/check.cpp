// SPDX-License-Identifier: Apache-2.0
#include "ops/chunk_gated_delta_rule/check.h"

#include <ATen/MemoryOverlap.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

#include "ops/overlap.h"

namespace chunk_gdr::chunk_gated_delta_rule {
namespace {

using at::ScalarType;
using c10::SymInt;

std::string Message(const char* argument, const std::string& expected, const std::string& got) {
  return std::string("chunk_gated_delta_rule: argument '") + argument + "': expected " + expected + ", got " + got;
}

// The texts are built only when the rule is broken.
#define CHECK_ARGUMENT(condition, argument, expected, got) \
  TORCH_CHECK((condition), Message((argument), (expected), (got)))

bool Holds(const c10::SymBool& condition) { return condition.expect_true(__FILE__, __LINE__); }

template <typename T>
std::string Text(const T& value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

std::string DtypeName(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Half: return "float16";
    case ScalarType::BFloat16: return "bfloat16";
    case ScalarType::Float: return "float32";
    case ScalarType::Double: return "float64";
    case ScalarType::Int: return "int32";
    case ScalarType::Long: return "int64";
    default: return c10::toString(dtype);
  }
}

std::string DtypeNames(const std::vector<ScalarType>& dtypes) {
  std::string names;
  for (size_t i = 0; i < dtypes.size(); ++i) {
    if (i > 0) names += i + 1 == dtypes.size() ? " or " : ", ";
    names += DtypeName(dtypes[i]);
  }
  return names;
}

void CheckDevices(const Arguments& args) {
  const at::Device device = args.query.device();
  for (const auto& [name, tensor] : PresentTensors(args)) {
    CHECK_ARGUMENT(tensor->layout() == at::kStrided, name, "a dense tensor", Text(tensor->layout()));
    const bool is_lengths = args.actual_seq_lengths && tensor == &*args.actual_seq_lengths;
    const bool lengths_on_cpu = is_lengths && tensor->device().is_cpu();
    CHECK_ARGUMENT(tensor->device() == device || lengths_on_cpu, name, "device " + device.str() + " (that of 'query')",
                   tensor->device().str());
  }
}

void CheckDtype(const char* name, const at::Tensor& tensor, const std::vector<ScalarType>& allowed,
                const std::string& who) {
  const ScalarType dtype = tensor.scalar_type();
  CHECK_ARGUMENT(std::find(allowed.begin(), allowed.end(), dtype) != allowed.end(), name,
                 "dtype " + DtypeNames(allowed) + " (" + who + ")", DtypeName(dtype));
}

void CheckSameDtype(const char* name, const at::Tensor& tensor, ScalarType dtype, const char* of_what) {
  CHECK_ARGUMENT(tensor.scalar_type() == dtype, name, "dtype " + DtypeName(dtype) + " (that of " + of_what + ")",
                 DtypeName(tensor.scalar_type()));
}

void CheckRank(const char* name, const at::Tensor& tensor, int64_t rank, const char* shape) {
  CHECK_ARGUMENT(tensor.dim() == rank, name, "rank " + std::to_string(rank) + ", shape " + shape,
                 "rank " + std::to_string(tensor.dim()) + ", shape " + Text(tensor.sym_sizes()));
}

struct Extent {
  const char* name;
  const SymInt& size;
};

void CheckShape(const char* name, const at::Tensor& tensor, std::initializer_list<Extent> want) {
  bool agree = tensor.dim() == static_cast<int64_t>(want.size());
  int64_t dim = 0;
  for (const Extent& extent : want) agree = agree && Holds(tensor.sym_size(dim++).sym_eq(extent.size));
  if (agree) return;
  std::string text;
  for (const Extent& extent : want) {
    text += std::string(text.empty() ? "[" : ", ") + extent.name + "=" + Text(extent.size);
  }
  CHECK_ARGUMENT(false, name, "shape " + text + "]", Text(tensor.sym_sizes()));
}

void CheckHeadDim(const char* name, const char* what, const SymInt& dim) {
  CHECK_ARGUMENT(Holds(dim.sym_ge(1)) && Holds(dim.sym_le(kMaxHeadDim)), name,
                 std::string("head dim ") + what + " from 1 to " + std::to_string(kMaxHeadDim), Text(dim));
}

Sizes CheckQueryKeyValue(const Arguments& args, const DtypeRules& dtypes) {
  CheckDtype("query", args.query, dtypes.qkv, dtypes.who);
  CheckSameDtype("key", args.key, args.query.scalar_type(), "'query'");
  CheckSameDtype("value", args.value, args.query.scalar_type(), "'query'");

  CheckRank("query", args.query, 3, "[T, Nk, Dk]");
  CheckRank("value", args.value, 3, "[T, Nv, Dv]");
  Sizes sizes{args.query.sym_size(0), 1,
              args.query.sym_size(1), args.value.sym_size(1),
              args.query.sym_size(2), args.value.sym_size(2),
              ScalarType::Float};
  CHECK_ARGUMENT(Holds(sizes.key_heads.sym_ge(1)), "query", "at least one head", Text(sizes.key_heads));
  CHECK_ARGUMENT(Holds(sizes.value_heads.sym_ge(1)), "value", "at least one head", Text(sizes.value_heads));
  CheckHeadDim("query", "Dk", sizes.key_dim);
  CheckHeadDim("value", "Dv", sizes.value_dim);
  CheckShape("key", args.key, {{"T", sizes.tokens}, {"Nk", sizes.key_heads}, {"Dk", sizes.key_dim}});
  CheckShape("value", args.value, {{"T", sizes.tokens}, {"Nv", sizes.value_heads}, {"Dv", sizes.value_dim}});
  CHECK_ARGUMENT(Holds((sizes.value_heads % sizes.key_heads).sym_eq(0)), "value",
                 "Nv a multiple of Nk=" + Text(sizes.key_heads), "Nv=" + Text(sizes.value_heads));
  return sizes;
}

void CheckPerTokenFactors(const Arguments& args, const DtypeRules& dtypes, const Sizes& sizes) {
  if (args.beta) {
    CheckDtype("beta", *args.beta, dtypes.beta, dtypes.who);
    CheckShape("beta", *args.beta, {{"T", sizes.tokens}, {"Nv", sizes.value_heads}});
  }
  if (args.g) {
    CheckDtype("g", *args.g, dtypes.g, dtypes.who);
    CheckShape("g", *args.g, {{"T", sizes.tokens}, {"Nv", sizes.value_heads}});
  }
}

void CheckLengthsTensor(const Arguments& args, Sizes& sizes) {
  if (!args.actual_seq_lengths) return;
  const at::Tensor& lengths = *args.actual_seq_lengths;
  CHECK_ARGUMENT(lengths.scalar_type() == ScalarType::Int || lengths.scalar_type() == ScalarType::Long,
                 "actual_seq_lengths", "dtype int32 or int64", DtypeName(lengths.scalar_type()));
  CheckRank("actual_seq_lengths", lengths, 1, "[B]");
  sizes.batch = lengths.sym_size(0);
}

void CheckStates(const Arguments& args, const DtypeRules& dtypes, Sizes& sizes) {
  if (args.initial_state) {
    CheckDtype("initial_state", *args.initial_state, dtypes.state, dtypes.who);
    CheckShape("initial_state", *args.initial_state,
               {{"B", sizes.batch}, {"Nv", sizes.value_heads}, {"Dv", sizes.value_dim}, {"Dk", sizes.key_dim}});
    sizes.state_dtype = args.initial_state->scalar_type();
  }
  if (args.chunk_state) {
    CheckSameDtype("chunk_state", *args.chunk_state, sizes.state_dtype,
                   args.initial_state ? "'initial_state'" : "the state, without 'initial_state'");
    CheckRank("chunk_state", *args.chunk_state, 4, "[rows, Nv, Dv, Dk]");
    CheckShape("chunk_state", *args.chunk_state,
               {{"rows", args.chunk_state->sym_size(0)},
                {"Nv", sizes.value_heads},
                {"Dv", sizes.value_dim},
                {"Dk", sizes.key_dim}});
  }
}

// The kernel computes in float32; one rule for all, so that a backend does not decide what is valid.
void CheckScale(const Arguments& args) {
  const double scale = args.scale.value_or(1.0);
  CHECK_ARGUMENT(std::isfinite(static_cast<float>(scale)), "scale", "a finite float32", Text(scale));
}

void CheckChunkStateRows(const Arguments& args, const SymInt& least, const std::string& why) {
  const SymInt rows = args.chunk_state->sym_size(0);
  CHECK_ARGUMENT(Holds(rows.sym_ge(least)), "chunk_state", "at least " + Text(least) + " rows (" + why + ")",
                 Text(rows) + " rows");
}

}  // namespace

const DtypeRules& WidestDtypes() {
  static const std::vector<ScalarType> all = {ScalarType::Half, ScalarType::BFloat16, ScalarType::Float,
                                              ScalarType::Double};
  static const DtypeRules rules = {"any backend", all, all, {ScalarType::Float, ScalarType::Double}, all};
  return rules;
}

const DtypeRules& KernelDtypes() {
  static const std::vector<ScalarType> half_or_float = {ScalarType::Half, ScalarType::Float};
  static const DtypeRules rules = {
      "Ascend 310P", {ScalarType::Half}, half_or_float, {ScalarType::Float}, half_or_float};
  return rules;
}

std::vector<std::pair<const char*, const at::Tensor*>> PresentTensors(const Arguments& args) {
  std::vector<std::pair<const char*, const at::Tensor*>> present = {
      {"query", &args.query}, {"key", &args.key}, {"value", &args.value}};
  const std::pair<const char*, const OptionalTensor*> optionals[] = {{"beta", &args.beta},
                                                                     {"initial_state", &args.initial_state},
                                                                     {"actual_seq_lengths", &args.actual_seq_lengths},
                                                                     {"g", &args.g},
                                                                     {"chunk_state", &args.chunk_state}};
  for (const auto& [name, tensor] : optionals) {
    if (tensor->has_value()) present.emplace_back(name, &tensor->value());
  }
  return present;
}

Sizes CheckShapes(const Arguments& args, const DtypeRules& dtypes) {
  CheckDevices(args);
  Sizes sizes = CheckQueryKeyValue(args, dtypes);
  CheckPerTokenFactors(args, dtypes, sizes);
  CheckLengthsTensor(args, sizes);
  CheckStates(args, dtypes, sizes);
  CheckScale(args);
  return sizes;
}

std::vector<int64_t> CheckLengths(const Arguments& args, const Sizes& sizes) {
  const int64_t tokens = sizes.tokens.expect_int();
  std::vector<int64_t> lengths = {tokens};
  if (args.actual_seq_lengths) {
    const at::Tensor values = args.actual_seq_lengths->to(at::kLong).contiguous();
    lengths.assign(values.const_data_ptr<int64_t>(), values.const_data_ptr<int64_t>() + values.numel());
  }
  int64_t sum = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    CHECK_ARGUMENT(lengths[i] >= 0, "actual_seq_lengths", "lengths >= 0",
                   std::to_string(lengths[i]) + " at index " + std::to_string(i));
    // Compared as a remainder, because the sum of arbitrary int64 values may overflow.
    CHECK_ARGUMENT(lengths[i] <= tokens - sum, "actual_seq_lengths", "lengths with sum T=" + std::to_string(tokens),
                   "more than T after index " + std::to_string(i));
    sum += lengths[i];
  }
  CHECK_ARGUMENT(sum == tokens, "actual_seq_lengths", "lengths with sum T=" + std::to_string(tokens),
                 "sum " + std::to_string(sum));
  if (args.chunk_state) {
    int64_t rows = 0;
    for (const int64_t length : lengths) rows += ChunkCount(length);
    CheckChunkStateRows(args, rows, "the sum of ceil(length / 64)");
  }
  return lengths;
}

void CheckChunkStateRowBound(const Arguments& args, const Sizes& sizes) {
  if (!args.chunk_state) return;
  if (args.actual_seq_lengths) {
    CheckChunkStateRows(args, sizes.tokens / kChunkRows + sizes.batch, "T / 64 + B");
  } else {
    CheckChunkStateRows(args, (sizes.tokens + (kChunkRows - 1)) / kChunkRows, "ceil(T / 64)");
  }
}

void CheckChunkStateStorage(const Arguments& args) {
  if (!args.chunk_state) return;
  const at::Tensor& written = *args.chunk_state;
  CHECK_ARGUMENT(at::has_internal_overlap(written) != at::MemOverlap::Yes, "chunk_state",
                 "elements that do not share memory", "an expanded tensor");
  CHECK_ARGUMENT(!ElementsOverlap(written), "chunk_state", "elements that do not share memory",
                 "overlapping strides " + Text(written.strides()));
  for (const auto& [name, tensor] : PresentTensors(args)) {
    if (tensor == &written) continue;
    CHECK_ARGUMENT(!MemoryOverlaps(written, *tensor), "chunk_state", "memory that no input uses",
                   std::string("an overlap with '") + name + "'");
  }
}

}  // namespace chunk_gdr::chunk_gated_delta_rule
