// SPDX-License-Identifier: Apache-2.0
// One reported fault and the list of them.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/types.h"
#include "memory/arch.h"
#include "sched/rule.h"

namespace npu_model {

// A caller of the line that a report names: `line` of `file`, in `function`.
struct CallFrame {
  std::string file;
  uint32_t line = 0;
  std::string function;
};

// " <- kernel.h:217 Scores <- kernel.h:104 Process": the nearest callers, files without folders.
constexpr int kCallersShown = 3;
std::string CallersText(const std::vector<CallFrame>& callers, int shown = kCallersShown);

// While a kernel runs, texts name a call path by the number of callers to show and its identity, both in hex, between
// two of these; see trace/symbolize.h.
constexpr char kCallMark = '\x01';

// a/b/../c.h -> a/c.h
std::string NormalPath(const std::string& path);

struct AccessReport {
  std::string op;
  std::string file;
  uint32_t line = 0;
  Queue queue = Queue::kS;
  bool has_range = false;
  bool write = false;
  Mem mem = Mem::kUb;
  std::string buffer;  // row, InitBuffer or GM argument name; may be empty
  uint64_t lo = 0;     // bytes; GM: offset in the argument
  uint64_t hi = 0;
  int stage = -1;
  int block = 0;
  uint64_t path = 0;               // call path, while the kernel runs
  std::vector<CallFrame> callers;  // afterwards

  std::string Place(int callers_shown = kCallersShown) const;  // file:line <- callers
  // MTE2 DataCopy writes UB 'x' [0x0, 0x400) at kernel.cpp:31
  std::string ToString() const;
};

struct Hazard {
  Rule rule = Rule::kParam;
  Grade grade = Grade::kError;
  uint64_t count = 1;
  AccessReport access;
  bool has_earlier = false;
  AccessReport earlier;
  std::string missing;  // "MTE2 -> V"
  std::string fix;
  std::string text;  // what is wrong, in words

  std::string ToString() const;
};

// The one-line fix for a missing edge between two accesses of one core.
std::string EdgeFix(const AccessReport& earlier, const AccessReport& later);

// Whether --cce-auto-sync would insert the missing edge.
bool AutoSyncRepairs(Queue earlier, Queue later);

// Merges reports that differ only in addresses.
class HazardList {
 public:
  void Add(Hazard hazard);
  void Merge(const HazardList& other);
  const std::vector<Hazard>& items() const { return items_; }
  uint64_t Count(Grade grade) const;
  void Clear();

 private:
  std::vector<Hazard> items_;
  std::unordered_map<std::string, size_t> index_;
};

}  // namespace npu_model
