// SPDX-License-Identifier: Apache-2.0
// What the instruction issuers need to know of a tensor, without its type parameter.
#pragma once

#include "engine/core.h"
#include "isa/types.h"

namespace npu_model::issue {

struct View {
  Mem mem = Mem::kUb;
  uint64_t address = 0;  // byte offset in the memory; host address in GM
  Origin origin;
};

using isa::DType;

inline isa::Overflow OverflowMode(Core& core) {
  return core.spr().saturate ? isa::Overflow::kSaturate : isa::Overflow::kInf;
}

// Host address of a view. GM views are host addresses already.
inline uint8_t* Pointer(Core& core, const View& view) {
  return view.mem == Mem::kGm ? reinterpret_cast<uint8_t*>(view.address) : core.Bytes(view.mem, view.address);
}

// The same view, `bytes` further on.
inline View Offset(const View& view, uint64_t bytes) {
  View moved = view;
  moved.address += bytes;
  return moved;
}

}  // namespace npu_model::issue
