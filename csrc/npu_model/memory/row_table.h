// SPDX-License-Identifier: Apache-2.0
// The kernel's own buffer map: which named rows of a memory are alive in which stage.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memory/arch.h"

namespace npu_model {

// first_stage > last_stage: the life wraps around the loop (written in a late stage, read in early stages of the next
// round).
struct BufferRow {
  std::string name;
  Mem mem = Mem::kUb;
  uint64_t offset_bytes = 0;
  uint64_t bytes = 0;
  int first_stage = 0;
  int last_stage = 0;

  bool AliveIn(int stage) const {
    if (stage < 0) return true;  // outside any stage nothing is known to be dead
    return first_stage <= last_stage ? first_stage <= stage && stage <= last_stage
                                     : stage >= first_stage || stage <= last_stage;
  }
  uint64_t end() const { return offset_bytes + bytes; }
};

class RowTable {
 public:
  explicit RowTable(const std::vector<BufferRow>& rows);

  bool empty() const { return rows_.empty(); }
  const std::vector<BufferRow>& rows() const { return rows_; }
  // Index of the row that is alive in `stage` and holds `address`; -1 if none. `FindAny` ignores lives.
  int FindAlive(Mem mem, int stage, uint64_t address) const;
  int FindAny(Mem mem, uint64_t address) const;
  // Index of a dead row that [lo, hi) touches; -1 if every byte lies in a live row or in none.
  int FindDead(Mem mem, int stage, uint64_t lo, uint64_t hi) const;
  const std::vector<int>& StartingAt(int stage) const;
  // Two rows that share bytes and a stage; empty when the table is consistent.
  std::string Conflict() const;

 private:
  const std::vector<int>& Alive(Mem mem, int stage) const;

  std::vector<BufferRow> rows_;             // sorted by memory and offset
  int stages_ = 0;                          // stages 0 .. stages_ - 1 are mentioned by a row
  std::vector<std::vector<int>> alive_;     // [stage][mem], rows sorted by offset
  std::vector<std::vector<int>> starting_;  // [stage]
};

}  // namespace npu_model
