// SPDX-License-Identifier: Apache-2.0
// Python access to the host model. Included by the one module file that knows pybind11.
#pragma once

#include <pybind11/pybind11.h>

#include "launch.h"

namespace npu_model {

// Defines launch(), last_report() and the Report class in `module`.
void BindModel(pybind11::module_& module);

// execution="program"|"adversarial", seed, threads, cores, params="pessimistic"|"optimistic",
// overflow="saturate"|"inf", permute_cube, permute_seed, checked, trace, progress (callable(done, total) or None),
// block_num, tiling_key, buffers (list of (name, memory, offset_bytes, bytes, first_stage, last_stage)), stages (dict
// id -> name), stage_lanes (dict id -> lane; stages of different lanes interleave). Throws TypeError for an unknown
// name, ValueError for an unknown value.
LaunchOptions OptionsFromKwargs(const pybind11::kwargs& kwargs);

}  // namespace npu_model
