// SPDX-License-Identifier: Apache-2.0
#include "memory/row_table.h"

#include <algorithm>

namespace npu_model {
namespace {

const std::vector<int> kNoRows;

}  // namespace

RowTable::RowTable(const std::vector<BufferRow>& rows) : rows_(rows) {
  std::stable_sort(rows_.begin(), rows_.end(), [](const BufferRow& a, const BufferRow& b) {
    return a.mem != b.mem ? a.mem < b.mem : a.offset_bytes < b.offset_bytes;
  });
  for (const BufferRow& row : rows_) stages_ = std::max({stages_, row.first_stage + 1, row.last_stage + 1});
  ++stages_;  // one stage beyond: only wrapping rows live there
  alive_.resize(static_cast<size_t>(stages_) * kMemCount);
  starting_.resize(stages_);
  for (int i = 0; i < static_cast<int>(rows_.size()); ++i) {
    if (rows_[i].first_stage >= 0) starting_[rows_[i].first_stage].push_back(i);
    for (int stage = 0; stage < stages_; ++stage) {
      if (rows_[i].AliveIn(stage)) alive_[stage * kMemCount + static_cast<int>(rows_[i].mem)].push_back(i);
    }
  }
}

const std::vector<int>& RowTable::Alive(Mem mem, int stage) const {
  return alive_[std::min(stage, stages_ - 1) * kMemCount + static_cast<int>(mem)];
}

int RowTable::FindAny(Mem mem, uint64_t address) const {
  for (int i = 0; i < static_cast<int>(rows_.size()); ++i) {
    if (rows_[i].mem == mem && rows_[i].offset_bytes <= address && address < rows_[i].end()) return i;
  }
  return -1;
}

int RowTable::FindAlive(Mem mem, int stage, uint64_t address) const {
  if (rows_.empty()) return -1;
  if (stage < 0) return FindAny(mem, address);
  const std::vector<int>& alive = Alive(mem, stage);
  const auto after = std::upper_bound(alive.begin(), alive.end(), address,
                                      [&](uint64_t a, int row) { return a < rows_[row].offset_bytes; });
  if (after == alive.begin()) return -1;
  const int row = *(after - 1);
  return address < rows_[row].end() ? row : -1;
}

int RowTable::FindDead(Mem mem, int stage, uint64_t lo, uint64_t hi) const {
  if (rows_.empty() || stage < 0) return -1;
  while (lo < hi) {
    const int alive = FindAlive(mem, stage, lo);
    if (alive >= 0) {
      lo = rows_[alive].end();
      continue;
    }
    // Not in a live row: dead if any row lies here, else free space up to the next row.
    uint64_t next = hi;
    for (int i = 0; i < static_cast<int>(rows_.size()); ++i) {
      const BufferRow& row = rows_[i];
      if (row.mem != mem || row.end() <= lo) continue;
      if (row.offset_bytes <= lo) return i;
      next = std::min(next, row.offset_bytes);
    }
    lo = next;
  }
  return -1;
}

const std::vector<int>& RowTable::StartingAt(int stage) const {
  return stage >= 0 && stage < stages_ ? starting_[stage] : kNoRows;
}

std::string RowTable::Conflict() const {
  for (size_t i = 0; i < rows_.size(); ++i) {
    for (size_t j = i + 1; j < rows_.size() && rows_[j].mem == rows_[i].mem && rows_[j].offset_bytes < rows_[i].end();
         ++j) {
      for (int stage = 0; stage < stages_; ++stage) {
        if (rows_[i].AliveIn(stage) && rows_[j].AliveIn(stage)) {
          return std::string(Name(rows_[i].mem)) + " rows '" + rows_[i].name + "' and '" + rows_[j].name +
                 "' share bytes and are both alive in stage " + std::to_string(stage);
        }
      }
    }
  }
  for (const BufferRow& row : rows_) {
    if (row.mem != Mem::kGm && row.end() > CapacityBytes(row.mem)) {
      return std::string(Name(row.mem)) + " row '" + row.name + "' ends beyond the memory";
    }
  }
  return "";
}

}  // namespace npu_model
