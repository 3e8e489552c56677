// SPDX-License-Identifier: Apache-2.0
#include "backend.h"

#include <atomic>
#include <cstdlib>
#include <stdexcept>

namespace chunk_gdr {
namespace {

constexpr Backend kAll[] = {Backend::kNative, Backend::kModel, Backend::kReference};
constexpr int kUnset = -1;

std::atomic<int> current{kUnset};

Backend DefaultBackend() {
  const char* name = std::getenv("CHUNK_GDR_BACKEND");
  if (name == nullptr || *name == '\0') return Backend::kNative;
  try {
    return BackendFromName(name);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(std::string("environment variable CHUNK_GDR_BACKEND: ") + error.what());
  }
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
