// SPDX-License-Identifier: Apache-2.0
// Placement of a kernel's buffers at compile time: a table of rows (memory, size, life in stages) becomes a table of offsets.
#ifndef CHUNK_GDR_COMMON_PLAN_H_
#define CHUNK_GDR_COMMON_PLAN_H_

#include "arch.h"

namespace chunk_gdr {

enum class Memory : uint32_t { kUB, kL1, kL0A, kL0B, kL0C };
constexpr uint32_t kMemories = 5;

enum class Dtype : uint32_t { kHalf, kFloat };

constexpr __aicore__ uint32_t ElemBytes(Dtype dtype) { return dtype == Dtype::kHalf ? 2 : 4; }

constexpr __aicore__ uint32_t Capacity(Memory memory) {
  return memory == Memory::kUB    ? kUbBytes
         : memory == Memory::kL1  ? kL1Bytes
         : memory == Memory::kL0A ? kL0ABytes
         : memory == Memory::kL0B ? kL0BBytes
                                  : kL0CBytes;
}

// Start alignment: blocks in UB, whole fractals where the Cube reads (L1 is kept at fractals too, LoadData counts in them).
constexpr __aicore__ uint32_t Alignment(Memory memory) {
  return memory == Memory::kUB ? kBlockBytes : memory == Memory::kL0C ? 1024 : 512;
}

// UB has 16 bank groups of 32 bytes: a repeat of 256 bytes meets eight of them, those of its phase. Two sources of one instruction conflict
// in every repeat when their phases are equal, never when they differ.
enum class Phase : uint32_t { kAny, kEven, kOdd };
constexpr uint32_t kPhasePeriodBytes = 2 * kRepeatBytes;

// A bank is a group within a quarter of UB. An instruction that reads and writes one bank in a repeat pays for it, so sources and
// destination of wide instructions lie in different quarters.
constexpr uint32_t kQuarterBytes = 64 * 1024;
constexpr uint32_t kAnyQuarter = 4;

struct BufferRow {
  const char* name = nullptr;
  Memory memory = Memory::kUB;
  Dtype dtype = Dtype::kFloat;
  uint32_t rows = 0;
  uint32_t cols = 0;
  uint32_t first_stage = 0;  // inclusive
  uint32_t last_stage = 0;   // inclusive
  uint32_t lane = 0;         // stages of different lanes interleave: rows of different lanes never share bytes
  Phase phase = Phase::kAny;
  uint32_t quarter = kAnyQuarter;
};

constexpr __aicore__ uint32_t Elems(const BufferRow& row) { return row.rows * row.cols; }
constexpr __aicore__ uint32_t Bytes(const BufferRow& row) { return RoundUp(Elems(row) * ElemBytes(row.dtype), kBlockBytes); }

template <uint32_t kCount>
struct BufferTable {
  BufferRow rows[kCount];
};

template <uint32_t kCount>
struct Placement {
  uint32_t offset[kCount] = {};
  uint32_t used[kMemories] = {};  // high-water mark per memory, bytes
  bool in_quarters = true;        // every row ends in the quarter it asked for
};

constexpr __aicore__ bool LivesMeet(const BufferRow& a, const BufferRow& b) {
  return a.memory == b.memory && (a.lane != b.lane || (a.first_stage <= b.last_stage && b.first_stage <= a.last_stage));
}

// The lowest offset from `offset` on at which the row may start.
constexpr __aicore__ uint32_t AlignFor(const BufferRow& row, uint32_t offset) {
  if (row.phase == Phase::kAny) {
    return RoundUp(offset, Alignment(row.memory));
  }
  const uint32_t at = row.phase == Phase::kOdd ? kRepeatBytes : 0;
  return offset <= at ? at : RoundUp(offset - at, kPhasePeriodBytes) + at;
}

constexpr __aicore__ uint32_t QuarterBegin(const BufferRow& row) {
  return row.quarter == kAnyQuarter ? 0 : row.quarter * kQuarterBytes;
}

constexpr __aicore__ bool ComesBefore(const BufferRow& a, const BufferRow& b) {
  const bool a_bound = a.quarter != kAnyQuarter;
  const bool b_bound = b.quarter != kAnyQuarter;
  return a_bound != b_bound ? a_bound : Bytes(a) > Bytes(b);
}

// First the rows that ask for a quarter, then the others; the largest first, each at the lowest aligned offset that no placed row of
// overlapping life covers.
template <uint32_t kCount>
constexpr __aicore__ Placement<kCount> Place(const BufferTable<kCount>& table) {
  Placement<kCount> placement;
  bool placed[kCount] = {};
  for (uint32_t step = 0; step < kCount; ++step) {
    uint32_t next = kCount;
    for (uint32_t i = 0; i < kCount; ++i) {
      if (!placed[i] && (next == kCount || ComesBefore(table.rows[i], table.rows[next]))) {
        next = i;
      }
    }
    const BufferRow& row = table.rows[next];
    uint32_t offset = AlignFor(row, QuarterBegin(row));
    for (bool moved = true; moved;) {
      moved = false;
      for (uint32_t i = 0; i < kCount; ++i) {
        if (!placed[i] || !LivesMeet(row, table.rows[i])) {
          continue;
        }
        const uint32_t end = placement.offset[i] + Bytes(table.rows[i]);
        if (offset < end && placement.offset[i] < offset + Bytes(row)) {
          offset = AlignFor(row, end);
          moved = true;
        }
      }
    }
    placement.offset[next] = offset;
    if (row.quarter != kAnyQuarter && offset + Bytes(row) > QuarterBegin(row) + kQuarterBytes) {
      placement.in_quarters = false;
    }
    placed[next] = true;
    uint32_t& used = placement.used[static_cast<uint32_t>(row.memory)];
    used = offset + Bytes(row) > used ? offset + Bytes(row) : used;
  }
  return placement;
}

template <uint32_t kCount>
constexpr __aicore__ bool Fits(const Placement<kCount>& placement) {
  if (!placement.in_quarters) {
    return false;
  }
  for (uint32_t m = 0; m < kMemories; ++m) {
    if (placement.used[m] > Capacity(static_cast<Memory>(m))) {
      return false;
    }
  }
  return true;
}

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_COMMON_PLAN_H_
