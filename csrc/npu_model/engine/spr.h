// SPDX-License-Identifier: Apache-2.0
// Special registers of a core as the kernel's program order sees them. The API layer reads and writes them when it
// issues; the values an instruction needs are captured in its semantic closure.
#pragma once

#include <cstdint>

namespace npu_model {

enum class AtomicMode : uint8_t { kNone, kAddF32, kAddF16, kAddS16 };

struct SpecialRegisters {
  uint64_t mask_low = ~uint64_t{0};   // lanes 0..63
  uint64_t mask_high = ~uint64_t{0};  // lanes 64..127
  bool mask_count_mode = false;       // SetMaskCount / SetMaskNorm; in count mode mask_low holds the element count
  AtomicMode atomic = AtomicMode::kNone;
  uint64_t deq_scale = 0x3C00;  // SetDeqScale: bits of a half, or a word of isa::Dequant, or
  bool deq_in_ub = false;       // the UB address of 16 such words
  bool saturate = true;         // CTRL[53]: float -> half overflow gives +-65504 (set from LaunchOptions)
  uint64_t fmatrix = 0;         // SetFMatrix and friends
  uint64_t load3d_repeat = 0;
  uint64_t padding = 0;
  uint64_t cmp_mask_low = 0;  // Compare without destination
  uint64_t cmp_mask_high = 0;
};

}  // namespace npu_model
