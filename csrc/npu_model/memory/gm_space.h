// SPDX-License-Identifier: Apache-2.0
// The GM arguments of a launch, and what one core remembers about its accesses to them.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cost/l2.h"
#include "memory/operand.h"
#include "memory/shadow.h"

namespace npu_model {

struct GmArgument {
  uint64_t base = 0;
  uint64_t bytes = 0;
  std::string name;
  bool writable = false;
  bool initialised = true;
  // Bit per byte, written by any core; only for arguments that start uninitialised.
  std::unique_ptr<std::atomic<uint32_t>[]> written;

  uint64_t end() const { return base + bytes; }
  bool Holds(uint64_t lo, uint64_t hi) const { return base <= lo && hi <= end(); }
  void MarkWritten(uint64_t lo, uint64_t hi);  // offsets
  bool IsWritten(uint64_t lo, uint64_t hi) const;
};

// An access to GM that other cores may conflict with; decided when the launch is over.
struct GmAccess {
  Region region;
  Access access = Access::kRead;
  Tag tag = 0;
  uint32_t tick = 0;     // releases this block had made before it
  uint32_t version = 0;  // index into the block's list of joined clocks
  bool polled = false;   // a flag that other cores poll
};

struct ScalarLine {
  uint32_t version = 0;    // what the block knew when the line was loaded
  Tag overwritten_by = 0;  // a later store of this core's MTE3 made the line stale
  Tag dirty_by = 0;        // scalar store not yet cleaned
};

struct GmCoreArgument {
  GmCoreArgument(const GmArgument& argument, bool shadowed);

  std::unique_ptr<ShadowSpace> shadow;  // nullptr: never written
  L2Tracker l2;
  std::vector<GmAccess> accesses;
  std::vector<GmAccess> dirty;           // scalar stores waiting for a clean
  std::map<uint64_t, ScalarLine> lines;  // data-cache lines by offset / 64
};

// Index of the argument that holds `address`, or -1.
int FindArgument(const std::vector<GmArgument>& arguments, uint64_t address);
// "GM argument 'k' ends 32 bytes before this": what a stray address is closest to.
std::string DescribeStray(const std::vector<GmArgument>& arguments, uint64_t address);

}  // namespace npu_model
