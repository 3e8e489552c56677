// SPDX-License-Identifier: Apache-2.0
#include "sched/adversary.h"

namespace npu_model {
namespace {

// Bounds the memory that waiting instructions take; far more than any hardware queue holds.
constexpr size_t kMaxPending = 2048;
constexpr size_t kRelievedPending = kMaxPending * 3 / 4;
constexpr int kStyles = 4;

}  // namespace

Adversary::Adversary(uint64_t seed, int block)
    : state_((seed + 1) * 0x9E3779B97F4A7C15ull + static_cast<uint64_t>(block) * 0xD1B54A32D192ED03ull),
      style_(static_cast<Style>(seed % kStyles)) {
  // Each of the five queues starves under some seed below 20.
  starved_ = 1u << (1 + seed / kStyles % (kQueueCount - 1));
}

uint32_t Adversary::Random(uint32_t bound) {
  state_ += 0x9E3779B97F4A7C15ull;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return static_cast<uint32_t>((z ^ (z >> 31)) % bound);
}

int Adversary::Pick(uint32_t runnable) {
  uint32_t skip = Random(static_cast<uint32_t>(__builtin_popcount(runnable)));
  while (skip-- > 0) runnable &= runnable - 1;
  return __builtin_ctz(runnable);
}

int Adversary::Next(uint32_t runnable, size_t pending) {
  if (runnable == 0) return -1;
  if (pending > kMaxPending) relieving_ = true;
  if (relieving_) {
    if (pending > kRelievedPending) return Forced(runnable);
    relieving_ = false;
  }
  switch (style_) {
    case Style::kRandom: return Random(2) == 0 ? -1 : Pick(runnable);
    case Style::kStarve: {
      const uint32_t eager = runnable & ~starved_;
      return eager == 0 ? -1 : Pick(eager);
    }
    case Style::kBursts:
      if (burst_ == 0) {
        if (quiet_ > 0) {
          --quiet_;
          return -1;
        }
        quiet_ = 1 + Random(64);
        burst_ = 1 + Random(48);
      }
      --burst_;
      return Pick(runnable);
    case Style::kLazy: return -1;
  }
  return -1;
}

int Adversary::Forced(uint32_t runnable) {
  if (runnable == 0) return -1;
  if (style_ == Style::kStarve && (runnable & ~starved_) != 0) runnable &= ~starved_;
  return Pick(runnable);
}

}  // namespace npu_model
