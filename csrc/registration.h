// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace chunk_gdr {

struct Registration {
  std::string name;    // with namespace, e.g. "npu::chunk_gated_delta_rule"
  bool active;         // this package's operator answers to the name
  std::string reason;  // why, or who else does
};

// One entry per operator and namespace. Decided once, at the first call, before this library defines anything: a name
// that exists already would kill the load.
const std::vector<Registration>& Registrations();

// Whether npu::<op> is ours to define and implement.
bool OwnsNpuName(const char* op);

}  // namespace chunk_gdr
