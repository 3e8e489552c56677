// SPDX-License-Identifier: Apache-2.0
#include "plan_bindings.h"

#include <pybind11/stl.h>

#include "op_host/chunk_gated_delta_rule/tiling.h"
#include "ops/chunk_gated_delta_rule/state_layout.h"

namespace py = pybind11;

namespace {

using chunk_gdr::WorkItem;
using chunk_gdr::host::BufferRow;
using chunk_gdr::host::LaunchPlan;
using chunk_gdr::host::ProblemDesc;

py::dict ToDict(const BufferRow& row) {
  using namespace py::literals;
  return py::dict("name"_a = row.name, "memory"_a = row.memory, "dtype"_a = row.dtype, "rows"_a = row.rows, "cols"_a = row.cols,
                  "offset_bytes"_a = row.offset_bytes, "bytes"_a = row.bytes, "first_stage"_a = row.first_stage,
                  "last_stage"_a = row.last_stage);
}

py::dict ToDict(const WorkItem& item) {
  using namespace py::literals;
  return py::dict("sequence"_a = item.sequence, "token_begin"_a = item.token_begin, "length"_a = item.length,
                  "chunks"_a = chunk_gdr::CeilDiv<int64_t>(item.length, item.chunk_size), "v_head"_a = item.v_head,
                  "v_begin"_a = item.v_begin, "v_cols"_a = item.v_cols);
}

template <typename Rows>
py::list ToList(const Rows& rows) {
  py::list list;
  for (const auto& row : rows) {
    list.append(ToDict(row));
  }
  return list;
}

ProblemDesc FromKwargs(const py::kwargs& kwargs) {
  ProblemDesc p;
  size_t taken = 0;
  const auto take = [&kwargs, &taken](const char* name, auto& field) {
    if (kwargs.contains(name)) {
      field = kwargs[name].cast<std::decay_t<decltype(field)>>();
      ++taken;
    }
  };
  take("total_tokens", p.total_tokens);
  take("batch", p.batch);
  take("key_heads", p.key_heads);
  take("value_heads", p.value_heads);
  take("key_dim", p.key_dim);
  take("value_dim", p.value_dim);
  take("has_beta", p.has_beta);
  take("has_initial_state", p.has_initial_state);
  take("has_lengths", p.has_lengths);
  take("has_g", p.has_g);
  take("has_chunk_state", p.has_chunk_state);
  take("state_is_half", p.state_is_half);
  take("use_qk_l2norm", p.use_qk_l2norm);
  take("scale", p.scale);
  take("gate_stride_elems", p.gate_stride_elems);
  take("core_count", p.core_count);
  p.state_layout = chunk_gdr::chunk_gated_delta_rule::ChosenStateLayout();
  std::string schedule = "auto";
  take("schedule", schedule);
  chunk_gdr::host::SetSchedule(p, schedule);
  std::string chunk_size = "auto";
  take("chunk_size", chunk_size);
  chunk_gdr::host::SetChunkSize(p, chunk_size);
  if (taken != kwargs.size()) {
    throw py::type_error("chunk_gated_delta_rule plan: expected fields of ProblemDesc, got " +
                         py::str(py::tuple(kwargs.attr("keys")())).cast<std::string>());
  }
  return p;
}

py::dict Plan(const py::kwargs& kwargs) {
  using namespace py::literals;
  const LaunchPlan plan = chunk_gdr::host::MakeLaunchPlan(FromKwargs(kwargs));
  py::list workspace;
  for (const auto& slot : plan.workspace) {
    workspace.append(py::dict("name"_a = slot.name, "offset_bytes"_a = slot.offset_bytes, "bytes"_a = slot.bytes, "zeroed"_a = slot.zeroed));
  }
  return py::dict("block_num"_a = plan.block_num, "tiling_key"_a = plan.tiling_key, "bucket"_a = plan.bucket,
                  "schedule"_a = plan.schedule, "state_layout"_a = plan.state_layout, "v_tiles"_a = plan.tiling.v_tiles,
                  "v_tile_dim"_a = plan.tiling.v_tile_dim, "rounds_apart"_a = plan.tiling.rounds_apart,
                  "chunk_size"_a = plan.tiling.chunk_size, "workspace_bytes"_a = plan.workspace_bytes,
                  "launch_cycles"_a = plan.costs.launch, "item_cycles"_a = plan.costs.item, "chunk_cycles"_a = plan.costs.chunk,
                  "workspace"_a = workspace, "buffers"_a = ToList(plan.buffers), "stages"_a = plan.stage_names,
                  "stage_lanes"_a = plan.stage_lanes,
                  "tiling"_a = py::bytes(reinterpret_cast<const char*>(&plan.tiling), sizeof plan.tiling));
}

// Throws for a name that is no schedule.
void CheckSchedule(const std::string& name) {
  ProblemDesc scratch;
  chunk_gdr::host::SetSchedule(scratch, name);
}

// Throws for what is none.
void CheckChunkSize(const std::string& name) {
  ProblemDesc scratch;
  chunk_gdr::host::SetChunkSize(scratch, name);
}

py::list ItemsOfCore(const std::vector<int64_t>& lengths, uint32_t core, const py::kwargs& kwargs) {
  const LaunchPlan plan = chunk_gdr::host::MakeLaunchPlan(FromKwargs(kwargs));
  return ToList(chunk_gdr::host::ItemsOfCore(plan.tiling, lengths, core, plan.block_num));
}

std::vector<int64_t> PredictedCycles(const std::vector<int64_t>& lengths, const py::kwargs& kwargs) {
  const ProblemDesc problem = FromKwargs(kwargs);
  const LaunchPlan plan = chunk_gdr::host::MakeLaunchPlan(problem);
  return chunk_gdr::host::PredictCycles(plan.tiling, problem.state_is_half, lengths, plan.block_num);
}

}  // namespace

void BindPlan(py::module_& m) {
  m.def("plan", &Plan);
  m.def("check_schedule", &CheckSchedule, py::arg("name"));
  m.def("schedule_names", &chunk_gdr::host::ScheduleNames);
  m.def("check_chunk_size", &CheckChunkSize, py::arg("name"));
  m.def("chunk_size_names", &chunk_gdr::host::ChunkSizeNames);
  m.def("gate_pitch", &chunk_gdr::host::GatePitch, py::arg("tokens"));
  m.def("items_of_core", &ItemsOfCore, py::arg("lengths"), py::arg("core"));
  m.def("predicted_cycles", &PredictedCycles, py::arg("lengths"));
}
