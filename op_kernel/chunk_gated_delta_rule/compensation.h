// SPDX-License-Identifier: Apache-2.0
// Which operands of the Cube's products are hi + lo. The others are hi alone: one rounding to fp16, and what lo costs is left out of every
// queue. Operands that are exact in fp16 are no choice, and -e^G K S^T always has both.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_COMPENSATION_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_COMPENSATION_H_

#include "../common/arch.h"

namespace chunk_gdr {

template <uint32_t kMask>
struct Compensation {
  static constexpr bool kScores = (kMask & 0x01) != 0;     // K K^T and Q K^T, left sides of T and P
  static constexpr bool kInverse = (kMask & 0x02) != 0;    // T, and the steps to it
  static constexpr bool kOutWeight = (kMask & 0x04) != 0;  // P
  static constexpr bool kShifted = (kMask & 0x08) != 0;    // Y
  static constexpr bool kVNew = (kMask & 0x10) != 0;       // F V'
  static constexpr bool kState = (kMask & 0x20) != 0;      // S, in [K; Q] S^T
};

// A build of the kernel may choose otherwise. All of them is the most accurate, and what the bars need.
#ifndef CHUNK_GDR_COMPENSATION
#define CHUNK_GDR_COMPENSATION 0x3F
#endif
static_assert((CHUNK_GDR_COMPENSATION & ~0x3F) == 0, "CHUNK_GDR_COMPENSATION has six bits");
using Compensated = Compensation<CHUNK_GDR_COMPENSATION>;

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_COMPENSATION_H_
