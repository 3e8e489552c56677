// SPDX-License-Identifier: Apache-2.0
// The stage that the instructions of a scope belong to, for profilers.
#ifndef CHUNK_GDR_COMMON_TILE_STAGE_H_
#define CHUNK_GDR_COMMON_TILE_STAGE_H_

#include "kernel_operator.h"

namespace chunk_gdr {

class StageScope {
 public:
  __aicore__ inline explicit StageScope(uint32_t stage) : stage_(stage) { TRACE_START(stage_); }
  __aicore__ inline ~StageScope() { TRACE_STOP(stage_); }
  StageScope(const StageScope&) = delete;
  StageScope& operator=(const StageScope&) = delete;

 private:
  [[maybe_unused]] uint32_t stage_;  // the marks are empty unless profiling is on
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_COMMON_TILE_STAGE_H_
