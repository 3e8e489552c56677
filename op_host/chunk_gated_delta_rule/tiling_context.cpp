// SPDX-License-Identifier: Apache-2.0
#include "tiling_context.h"

#include <algorithm>
#include <cstring>

#include "../common/shapes.h"
#include "operands.h"
#include "tiling.h"
#include "tiling/platform/platform_ascendc.h"

namespace chunk_gdr::host {
namespace {

Dims RequiredDims(const gert::TilingContext& context, size_t input, const char* name, size_t rank) {
  const gert::StorageShape* shape = context.GetInputShape(input);
  return RequireRank(name, DimsOf(Required(name, shape == nullptr ? nullptr : &shape->GetStorageShape(), rank)), rank);
}

// Empty if the optional input is absent.
Dims OptionalDims(const gert::TilingContext& context, size_t input, const char* name, size_t rank) {
  const gert::StorageShape* shape = context.GetOptionalInputShape(input);
  return shape == nullptr ? Dims() : RequireRank(name, DimsOf(shape->GetStorageShape()), rank);
}

bool IsHalf(const gert::TilingContext& context, size_t input) {
  const gert::CompileTimeTensorDesc* desc = context.GetOptionalInputDesc(input);
  return desc != nullptr && desc->GetDataType() == ge::DT_FLOAT16;
}

const char* StateDtype(bool is_half) { return is_half ? "float16" : "float32"; }

template <typename T>
T Attr(const gert::TilingContext& context, size_t index, T absent) {
  const gert::RuntimeAttrs* attrs = context.GetAttrs();
  const T* value = attrs == nullptr ? nullptr : attrs->GetAttrPointer<T>(index);
  return value == nullptr ? absent : *value;
}

// The shapes, checked against each other; limits are the plan's to check.
ProblemDesc Describe(const gert::TilingContext& context) {
  ProblemDesc p;
  const Dims query = RequiredDims(context, kQuery, "query", 3);
  const Dims value = RequiredDims(context, kValue, "value", 3);
  RequireDims("key", RequiredDims(context, kKey, "key", 3), query);
  p.total_tokens = query[0];
  p.key_heads = query[1];
  p.key_dim = query[2];
  p.value_heads = value[1];
  p.value_dim = value[2];
  RequireDims("value", value, {p.total_tokens, p.value_heads, p.value_dim});

  const Dims lengths = OptionalDims(context, kLengths, "actual_seq_lengths", 1);
  p.has_lengths = !lengths.empty();
  p.batch = p.has_lengths ? lengths[0] : 1;

  const Dims g = OptionalDims(context, kG, "g", 2), beta = OptionalDims(context, kBeta, "beta", 2);
  p.has_g = !g.empty();
  p.has_beta = !beta.empty();
  if (p.has_g || p.has_beta) {
    p.gate_stride_elems = p.has_g ? g[1] : beta[1];
    const Dims rows = {p.value_heads, p.gate_stride_elems};
    if (p.has_g) {
      RequireDims("g", g, rows);
    }
    if (p.has_beta) {
      RequireDims("beta", beta, rows);
    }
  }

  const Dims state = OptionalDims(context, kInitialState, "initial_state", 4);
  p.has_initial_state = !state.empty();
  p.state_is_half = IsHalf(context, kInitialState);
  if (p.has_initial_state) {
    RequireDims("initial_state", state, {p.batch, p.value_heads, p.value_dim, p.key_dim});
  }
  const Dims chunk_state = OptionalDims(context, kChunkState, "chunk_state", 4);
  p.has_chunk_state = !chunk_state.empty();
  if (p.has_chunk_state) {
    const int64_t least = p.has_lengths ? p.total_tokens / kChunk + p.batch : StateRowsOf(p.total_tokens);
    RequireDims("chunk_state", chunk_state, {std::max(chunk_state[0], least), p.value_heads, p.value_dim, p.key_dim});
    const bool is_half = IsHalf(context, kChunkState);
    if (is_half != p.state_is_half) {
      Refuse("chunk_state", std::string("dtype ") + StateDtype(p.state_is_half) + " (that of initial_state, without one float32)",
             StateDtype(is_half));
    }
  }
  p.scale = Attr<float>(context, kScale, 1.0f);
  p.use_qk_l2norm = Attr<bool>(context, kUseQkL2norm, false);
  return p;
}

void Fill(gert::TilingContext& context) {
  const platform_ascendc::PlatformAscendC platform(context.GetPlatformInfo());
  ProblemDesc problem = Describe(context);
  problem.core_count = std::min<uint32_t>(platform.GetCoreNumAic(), kAiCores);
  problem.can_zero_workspace = false;  // the framework hands it over as it is
  const LaunchPlan plan = MakeLaunchPlan(problem);

  gert::TilingData* bytes = context.GetRawTilingData();
  size_t* workspace = context.GetWorkspaceSizes(1);
  const size_t room = bytes == nullptr ? 0 : bytes->GetCapacity();
  if (room < sizeof(plan.tiling)) {
    throw std::runtime_error("tiling data: expected room for " + std::to_string(sizeof(plan.tiling)) + " bytes, got " + std::to_string(room));
  }
  if (workspace == nullptr) {
    throw std::runtime_error("workspace sizes: expected room for one, got none");
  }
  std::memcpy(bytes->GetData(), &plan.tiling, sizeof(plan.tiling));
  bytes->SetDataSize(sizeof(plan.tiling));
  // The platform's own size of the system part, in place of the one that the plan assumes.
  workspace[0] = platform.GetLibApiWorkSpaceSize() + plan.workspace_bytes - kSystemWorkspaceBytes;
  context.SetTilingKey(plan.tiling_key);
  context.SetBlockDim(plan.block_num);
}

}  // namespace

ge::graphStatus FillTilingContext(gert::TilingContext* context) {
  return Reported(kOpName, [context] { Fill(*context); });
}

}  // namespace chunk_gdr::host
