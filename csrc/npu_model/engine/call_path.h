// SPDX-License-Identifier: Apache-2.0
// Where in the kernel a call comes from: not only the line that calls the API, which in a helper says little, but the
// calls that led there. Frame pointers are followed, so kernels are compiled with -fno-omit-frame-pointer; without it
// a path ends early, and identity falls back on the line.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/types.h"

namespace npu_model {

// The loaded code of one library.
struct CodeRange {
  std::string file;
  uintptr_t base = 0;  // what the library's own addresses are relative to
  uintptr_t begin = 0;
  uintptr_t end = 0;

  bool Holds(uintptr_t address) const { return begin <= address && address < end; }
};

CodeRange CodeRangeOf(const void* address);

// Addresses of the calls, innermost first, relative to the library's base.
struct CallPath {
  static constexpr int kMaxDepth = 24;
  uint32_t depth = 0;
  uint32_t at[kMaxDepth];  // the first `depth`; captured with every instruction, hence not cleared
};

// By identity; 0 is no identity.
using CallPaths = std::unordered_map<uint64_t, CallPath>;

class CallTracer {
 public:
  // Follows the stack of the constructing thread.
  CallTracer(const CodeRange& code, bool enabled);

  // Identity of the call path to here; depends on the library alone, not on where it is loaded. 0: unknown.
  uint64_t Capture(CallPath& path) const;

 private:
  const CodeRange& code_;
  uintptr_t stack_end_ = 0;
};

// Identity of a line of source, for calls without a path.
uint64_t LineIdentity(const char* name, Site site);

}  // namespace npu_model
