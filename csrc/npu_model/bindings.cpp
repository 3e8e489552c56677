// SPDX-License-Identifier: Apache-2.0
#include "bindings.h"

#include <dlfcn.h>
#include <pybind11/functional.h>
#include <pybind11/stl.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "trace/profile.h"

namespace py = pybind11;

namespace npu_model {
namespace {

using RowTuple = std::tuple<std::string, std::string, uint64_t, uint64_t, int, int>;

Mem MemNamed(const std::string& name) {
  for (int m = 0; m < kMemCount; ++m) {
    if (name == Name(static_cast<Mem>(m))) return static_cast<Mem>(m);
  }
  throw py::value_error("model: memory must be one of GM, UB, L1, L0A, L0B, L0C, got '" + name + "'");
}

bool Choice(const std::string& option, const std::string& value, const char* off, const char* on) {
  if (value == on) return true;
  if (value == off) return false;
  throw py::value_error("model: " + option + " must be '" + off + "' or '" + on + "', got '" + value + "'");
}

using Setter = void (*)(LaunchOptions&, const py::handle&);

void SetRows(LaunchOptions& options, const py::handle& value) {
  for (const auto& [name, mem, offset, bytes, first, last] : value.cast<std::vector<RowTuple>>()) {
    options.rows.push_back({name, MemNamed(mem), offset, bytes, first, last});
  }
}

// Identities as the report prints them.
void SetDroppedSync(LaunchOptions& options, const py::handle& value) {
  for (const std::string& identity : value.cast<std::vector<std::string>>()) {
    size_t used = 0;
    uint64_t number = 0;
    try {
      number = std::stoull(identity, &used, 16);
    } catch (const std::logic_error&) {
      used = 0;
    }
    if (used == 0 || used != identity.size()) {
      throw py::value_error("model: drop_sync takes identities of a report's sync.sites, got '" + identity + "'");
    }
    options.dropped_sync.insert(number);
  }
}

void SetProgress(LaunchOptions& options, const py::handle& value) {
  if (value.is_none()) return;
  // The launch runs without the GIL; the callback and its last reference are touched only with it.
  auto callback =
      std::shared_ptr<py::object>(new py::object(py::reinterpret_borrow<py::object>(value)), [](py::object* object) {
        py::gil_scoped_acquire gil;
        delete object;
      });
  options.progress = [callback](int done, int total) {
    py::gil_scoped_acquire gil;
    (*callback)(done, total);
  };
}

const std::map<std::string, Setter>& Setters() {
  static const std::map<std::string, Setter> setters = {
      {"execution",
       [](LaunchOptions& o, const py::handle& v) {
         o.adversarial = Choice("execution", v.cast<std::string>(), "program", "adversarial");
       }},
      {"params",
       [](LaunchOptions& o, const py::handle& v) {
         o.optimistic = Choice("params", v.cast<std::string>(), "pessimistic", "optimistic");
       }},
      {"overflow",
       [](LaunchOptions& o, const py::handle& v) {
         o.saturate = Choice("overflow", v.cast<std::string>(), "inf", "saturate");
       }},
      {"seed", [](LaunchOptions& o, const py::handle& v) { o.seed = v.cast<uint64_t>(); }},
      {"threads", [](LaunchOptions& o, const py::handle& v) { o.threads = v.cast<int>(); }},
      {"cores", [](LaunchOptions& o, const py::handle& v) { o.cores = v.cast<int>(); }},
      {"permute_cube", [](LaunchOptions& o, const py::handle& v) { o.permute_cube = v.cast<bool>(); }},
      {"permute_seed", [](LaunchOptions& o, const py::handle& v) { o.permute_seed = v.cast<uint32_t>(); }},
      {"checked", [](LaunchOptions& o, const py::handle& v) { o.checked = v.cast<bool>(); }},
      {"trace", [](LaunchOptions& o, const py::handle& v) { o.trace = v.cast<bool>(); }},
      {"redundant_sync", [](LaunchOptions& o, const py::handle& v) { o.redundant_sync = v.cast<bool>(); }},
      {"sync_sites", [](LaunchOptions& o, const py::handle& v) { o.sync_sites = v.cast<bool>(); }},
      {"drop_sync", SetDroppedSync},
      {"block_num", [](LaunchOptions& o, const py::handle& v) { o.block_num = v.cast<int>(); }},
      {"tiling_key", [](LaunchOptions& o, const py::handle& v) { o.tiling_key = v.cast<uint64_t>(); }},
      {"stages", [](LaunchOptions& o, const py::handle& v) { o.stage_names = v.cast<std::map<int, std::string>>(); }},
      {"stage_lanes", [](LaunchOptions& o, const py::handle& v) { o.stage_lanes = v.cast<std::map<int, int>>(); }},
      {"buffers", SetRows},
      {"progress", SetProgress},
  };
  return setters;
}

// dlopen takes a name it knows for the library it has loaded under it, even if the file has been replaced since. Every
// version gets a spelling of its own: dir/kernel.so, dir/./kernel.so, ...
std::string SpellingOf(const std::string& library) {
  using File = std::pair<dev_t, ino_t>;
  static std::map<std::string, std::vector<File>> versions;  // guarded by the GIL
  struct stat status;
  if (stat(library.c_str(), &status) != 0) return library;  // dlopen says why
  std::vector<File>& known = versions[library];
  const File file{status.st_dev, status.st_ino};
  const size_t version = static_cast<size_t>(std::find(known.begin(), known.end(), file) - known.begin());
  if (version == known.size()) known.push_back(file);
  std::string spelling = library;
  for (size_t i = 0; i < version; ++i) spelling.insert(spelling.rfind('/') + 1, "./");
  return spelling;
}

// (buffer or None, name, writable, initialised)
using ArgTuple = std::tuple<py::object, std::string, bool, bool>;

std::shared_ptr<const Report> LaunchLibrary(const std::string& library, const std::string& entry,
                                            const std::vector<ArgTuple>& args, const py::bytes& tiling,
                                            const py::kwargs& kwargs) {
  const LaunchOptions options = OptionsFromKwargs(kwargs);
  std::vector<py::buffer_info> views;  // keep the exporters locked while the kernel works on them
  std::vector<GmArg> gm;
  for (const auto& [object, name, writable, initialised] : args) {
    if (object.is_none()) {
      gm.push_back({nullptr, 0, name, false, true});
      continue;
    }
    views.push_back(object.cast<py::buffer>().request(writable));
    const py::buffer_info& view = views.back();
    gm.push_back({view.ptr, static_cast<uint64_t>(view.size * view.itemsize), name, writable, initialised});
  }
  void* handle = dlopen(SpellingOf(library).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw std::runtime_error(std::string("model: cannot load kernel library: ") + dlerror());
  void* symbol = dlsym(handle, entry.c_str());
  if (symbol == nullptr) {
    throw std::runtime_error("model: " + library + " has no kernel entry '" + entry +
                             "'; an entry is an extern \"C\" function of that name");
  }
  const std::string tiling_bytes = tiling;
  py::gil_scoped_release release;
  // The library stays loaded: reports refer to its string literals only through copies, but threads may still hold its
  // TLS.
  return std::make_shared<const Report>(Launch(entry, symbol, gm, tiling_bytes.data(), tiling_bytes.size(), options));
}

}  // namespace

LaunchOptions OptionsFromKwargs(const py::kwargs& kwargs) {
  LaunchOptions options;
  for (const auto& [key, value] : kwargs) {
    const std::string name = key.cast<std::string>();
    const auto it = Setters().find(name);
    if (it == Setters().end()) {
      std::string known;
      for (const auto& [option, setter] : Setters()) known += (known.empty() ? "" : ", ") + option;
      throw py::type_error("model: unknown option '" + name + "'; there are " + known);
    }
    try {
      it->second(options, value);
    } catch (const py::cast_error&) {
      throw py::type_error("model: option '" + name + "' cannot be " + py::repr(value).cast<std::string>());
    }
  }
  return options;
}

void BindModel(py::module_& module) {
  py::class_<Report, std::shared_ptr<Report>>(module, "ModelReport")
      .def_property_readonly("errors", &Report::errors)
      .def_property_readonly("auto_sync", &Report::auto_sync)
      .def_property_readonly("cycles", &Report::cycles)
      .def_property_readonly("error", &Report::error)
      .def_property_readonly("seconds", [](const Report& report) { return report.seconds; })
      .def_property_readonly(
          "redundant_sync_text",
          [](const Report& report) { return report.redundancy ? report.redundancy->ToString() : ""; })
      .def("hazard_text", &Report::HazardText, py::arg("max_items") = 20)
      .def("to_json", &Report::ToJson)
      .def("trace_json", &TraceJson)
      .def("write_profile", &WriteProfile, py::arg("directory"));
  module.def("model_launch", &LaunchLibrary, py::arg("library"), py::arg("entry"), py::arg("args"), py::arg("tiling"));
  module.def("model_last_report", &LastReport);
  module.def("model_set_default_options",
             [](const py::kwargs& kwargs) { SetDefaultOptions(OptionsFromKwargs(kwargs)); });
}

}  // namespace npu_model
