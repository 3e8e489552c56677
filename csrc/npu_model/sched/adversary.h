// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/types.h"

namespace npu_model {

// Decides which waiting queue runs next when execution is adversarial. Everything is a function of the seed and the
// block, never of the host.
class Adversary {
 public:
  Adversary(uint64_t seed, int block);

  // After each issue: the queue whose head runs now (bit q of `runnable`), or -1 to let S issue on.
  int Next(uint32_t runnable, size_t pending);
  // S is blocked: some head has to run.
  int Forced(uint32_t runnable);

 private:
  // kRandom: half the time S goes on. kStarve: one queue runs only when nothing else can. kBursts: S issues a random
  // number of instructions, then a random number of heads run. kLazy: nothing runs until S is blocked or too much is
  // waiting.
  enum class Style { kRandom, kStarve, kBursts, kLazy };

  uint32_t Random(uint32_t bound);
  int Pick(uint32_t runnable);

  uint64_t state_;
  Style style_;
  uint32_t starved_ = 0;  // mask
  uint32_t quiet_ = 0;    // kBursts: issues before the next burst
  uint32_t burst_ = 0;
  bool relieving_ = false;
};

}  // namespace npu_model
