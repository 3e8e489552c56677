// SPDX-License-Identifier: Apache-2.0
// How an instruction says which bytes it touches.
#pragma once

#include <cstdint>

#include "memory/arch.h"

namespace npu_model {

// n2 x n1 runs of `len` bytes: run (j, i) starts at base + j * s2 + i * s1 (s1, s2 in bytes). Addresses are byte
// offsets inside the core's memory; in GM they are host addresses.
//
// Vector instructions keep this convention, because the overlap rule and the bank-conflict rule read it: dimension 1
// walks the blocks of one repeat (len <= 32), dimension 2 walks the repeats, and the first row belongs to repeat
// `repeat0`. Full mask, blkStride 1, 10 repeats: {base, 32, n1 = 8, s1 = 32, n2 = 10, s2 = 256}. A tail repeat or a
// partly masked block is a Region of its own.
struct Region {
  uint64_t base = 0;
  uint32_t len = 0;
  uint32_t n1 = 1;
  uint32_t s1 = 0;
  uint32_t n2 = 1;
  uint32_t s2 = 0;
  uint32_t repeat0 = 0;
};

// Where a tensor view came from: the range TBuf::Get / GetWithOffset / TQue::AllocTensor / SetGlobalBuffer handed out,
// and the buffer it lies in (0: none known). A view made by operator[] or ReinterpretCast inherits it unchanged.
struct Origin {
  uint64_t begin = 0;
  uint64_t end = 0;  // end == begin: no range known, only the memory's own bounds are checked
                     // (GM: only `begin` counts, it says which argument the tensor belongs to)
  uint32_t buffer = 0;
};

// kAtomicAdd: UB -> GM under SetAtomicAdd; two of them on the same bytes commute.
enum class Access : uint8_t { kRead, kWrite, kReadWrite, kAtomicAdd };

struct Operand {
  static constexpr uint32_t kInline = 3;

  Mem mem = Mem::kUb;
  Access access = Access::kRead;
  uint8_t elem_bytes = 1;  // names in-place widening in reports
  uint32_t align = 1;      // the start address must be a multiple of this
  uint64_t start = 0;      // start address as the instruction gives it
  Origin origin;
  uint32_t count = 0;  // regions in use
  const Region* external =
      nullptr;  // set by the caller when more than kInline are needed; copied if the instruction has to wait
  Region inline_regions[kInline];

  const Region* Regions() const { return external ? external : inline_regions; }
  Operand& Add(const Region& region) {
    inline_regions[count++] = region;
    return *this;
  }
};

inline uint64_t BytesOf(const Operand& operand) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < operand.count; ++i) {
    const Region& region = operand.Regions()[i];
    bytes += static_cast<uint64_t>(region.len) * region.n1 * region.n2;
  }
  return bytes;
}

// One contiguous range, the common case of a copy.
inline Operand MakeOperand(Mem mem, Access access, uint64_t start, uint32_t bytes, uint32_t align,
                           const Origin& origin) {
  Operand operand;
  operand.mem = mem;
  operand.access = access;
  operand.start = start;
  operand.align = align;
  operand.origin = origin;
  operand.Add({start, bytes});
  return operand;
}

}  // namespace npu_model
