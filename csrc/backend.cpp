// SPDX-License-Identifier: Apache-2.0
#include "backend.h"

#include <atomic>
#include <stdexcept>

#include "environment.h"

namespace chunk_gdr {
namespace {

constexpr Backend kAll[] = {Backend::kNative, Backend::kModel, Backend::kReference};
constexpr int kUnset = -1;

std::atomic<int> current{kUnset};

Backend DefaultBackend() {
  Backend backend = Backend::kNative;
  TakeFromEnvironment("CHUNK_GDR_BACKEND", [&](const std::string& name) { backend = BackendFromName(name); });
  return backend;
}

}  // namespace

Backend CurrentBackend() {
  const int set = current.load();
  return set == kUnset ? DefaultBackend() : static_cast<Backend>(set);
}

const char* BackendName(Backend backend) {
  switch (backend) {
    case Backend::kNative: return "native";
    case Backend::kModel: return "model";
    case Backend::kReference: return "reference";
  }
  return "";
}

Backend BackendFromName(const std::string& name) {
  for (const Backend backend : kAll) {
    if (name == BackendName(backend)) return backend;
  }
  throw std::invalid_argument("expected 'native', 'model' or 'reference', got '" + name + "'");
}

void SetBackend(Backend backend) { current.store(static_cast<int>(backend)); }

}  // namespace chunk_gdr
