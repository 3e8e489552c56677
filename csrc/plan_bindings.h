// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

// Adds `plan(...)`, `items_of_core(...)` and `predicted_cycles(...)`: the host tiling of op_host, for chunk_gdr.tiling.
void BindPlan(pybind11::module_& m);
