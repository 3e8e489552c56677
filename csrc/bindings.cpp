// SPDX-License-Identifier: Apache-2.0
#include "npu_model/bindings.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "backend.h"
#include "plan_bindings.h"
#include "registration.h"

namespace py = pybind11;

PYBIND11_MODULE(_C, m) {
  m.def("backend", [] { return chunk_gdr::BackendName(chunk_gdr::CurrentBackend()); });
  m.def("set_backend", [](const std::string& name) { chunk_gdr::SetBackend(chunk_gdr::BackendFromName(name)); });
  m.def("registrations", [] {
    py::list rows;
    for (const chunk_gdr::Registration& entry : chunk_gdr::Registrations()) {
      rows.append(py::make_tuple(entry.name, entry.active, entry.reason));
    }
    return rows;
  });
  BindPlan(m);
  npu_model::BindModel(m);
}
