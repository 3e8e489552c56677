// SPDX-License-Identifier: Apache-2.0
// Every operator schema of the package, and who owns its names.
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <cstdlib>
#include <cstring>

#include "autograd.h"
#include "registration.h"

namespace chunk_gdr {
namespace {

struct Schema {
  const char* op;
  const char* signature;
};

constexpr Schema kSchemas[] = {
    {"chunk_gated_delta_rule",
     "(Tensor query, Tensor key, Tensor value, *, Tensor? beta=None, Tensor? initial_state=None, "
     "Tensor? actual_seq_lengths=None, float? scale=None, Tensor? g=None, Tensor(a!)? chunk_state=None, "
     "bool use_qk_l2norm_in_kernel=False) -> (Tensor out, Tensor final_state)"},
};

Registration DecideNpuName(const char* op) {
  const std::string name = std::string("npu::") + op;
  const char* wish = std::getenv("CHUNK_GDR_REGISTER_NPU");
  if (wish != nullptr && std::strcmp(wish, "0") == 0) {
    return {name, false, "switched off by CHUNK_GDR_REGISTER_NPU=0"};
  }
  if (const auto owner = c10::Dispatcher::singleton().findSchema({name, ""})) {
    return {name, false, "another library defined it first (" + owner->debug() + ")"};
  }
  return {name, true, "the name was free"};
}

std::vector<Registration> DecideAll() {
  std::vector<Registration> all;
  for (const Schema& schema : kSchemas) {
    all.push_back({std::string("chunk_gdr::") + schema.op, true, "always registered by this package"});
    all.push_back(DecideNpuName(schema.op));
  }
  return all;
}

void Define(torch::Library& library, const Schema& schema) {
  const std::string text = std::string(schema.op) + schema.signature;
  static const std::vector<at::Tag> tags = {at::Tag::pt2_compliant_tag};
  library.def(text.c_str(), tags);
}

}  // namespace

const std::vector<Registration>& Registrations() {
  static const std::vector<Registration> all = DecideAll();
  return all;
}

bool OwnsNpuName(const char* op) {
  const std::string name = std::string("npu::") + op;
  for (const Registration& entry : Registrations()) {
    if (entry.name == name) return entry.active;
  }
  return false;
}

TORCH_LIBRARY_FRAGMENT(chunk_gdr, m) {
  for (const Schema& schema : kSchemas) Define(m, schema);
}

TORCH_LIBRARY_FRAGMENT(npu, m) {
  for (const Schema& schema : kSchemas) {
    if (OwnsNpuName(schema.op)) Define(m, schema);
  }
}

TORCH_LIBRARY_IMPL(chunk_gdr, Autograd, m) {
  for (const Schema& schema : kSchemas) m.impl(schema.op, RefuseBackward());
}

TORCH_LIBRARY_IMPL(npu, Autograd, m) {
  for (const Schema& schema : kSchemas) {
    if (OwnsNpuName(schema.op)) m.impl(schema.op, RefuseBackward());
  }
}

TORCH_LIBRARY_IMPL(chunk_gdr, ADInplaceOrView, m) {
  for (const Schema& schema : kSchemas) m.impl(schema.op, CountWrites());
}

TORCH_LIBRARY_IMPL(npu, ADInplaceOrView, m) {
  for (const Schema& schema : kSchemas) {
    if (OwnsNpuName(schema.op)) m.impl(schema.op, CountWrites());
  }
}

}  // namespace chunk_gdr
