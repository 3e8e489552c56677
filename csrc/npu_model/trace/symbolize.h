// SPDX-License-Identifier: Apache-2.0
// Call paths in words. Needs the kernel's debug information (-g1) and addr2line; where one is missing there are no
// callers to show, and reports name the line of the API call only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/call_path.h"
#include "sched/hazard.h"

namespace npu_model {

// The callers of every path, in the order of `paths`: the function that holds the API call first is left out, because
// its line is known; then who called it, and so on up to the entry.
class Symbolizer {
 public:
  explicit Symbolizer(const CodeRange& code) : library_(code.file), base_(code.base) {}

  // Asks for all at once; starting the tool costs more than its answers.
  void Resolve(const CallPaths& paths);
  const std::vector<CallFrame>& Callers(uint64_t path) const;

 private:
  std::string library_;
  uintptr_t base_;
  std::unordered_map<uint64_t, std::vector<CallFrame>> callers_;
};

// Replaces call-path marks in reports by their callers; reports that then read the same are merged.
HazardList WithCallers(const HazardList& hazards, const Symbolizer& symbolizer);
std::string WithCallers(const std::string& text, const Symbolizer& symbolizer);

}  // namespace npu_model
