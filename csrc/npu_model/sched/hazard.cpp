// SPDX-License-Identifier: Apache-2.0
#include "sched/hazard.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

namespace npu_model {
namespace {

constexpr int kCallersInFix = 1;

std::string Hex(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

bool HasEvent(Queue src, Queue dst) {
  if (src == dst) return false;
  // M -> S exists, S -> M does not; M -> MTE3 and back do not; S -> MTE1 and back do not.
  const auto is = [&](Queue a, Queue b) { return src == a && dst == b; };
  return !(is(Queue::kS, Queue::kM) || is(Queue::kM, Queue::kMte3) || is(Queue::kMte3, Queue::kM) ||
           is(Queue::kS, Queue::kMte1) || is(Queue::kMte1, Queue::kS));
}

// Everything that tells two faults apart except addresses.
std::string KeyOf(const AccessReport& access) {
  std::string key = access.op + "|" + access.Place() + "|" + access.buffer;
  for (const CallFrame& caller : access.callers) key += "|" + caller.file + ":" + std::to_string(caller.line);
  return key;
}

}  // namespace

const char* Name(Rule rule) {
  switch (rule) {
    case Rule::kRead1: return "Read1";
    case Rule::kRead2: return "Read2";
    case Rule::kRead3: return "Read3";
    case Rule::kRead4: return "Read4";
    case Rule::kWrite1: return "Write1";
    case Rule::kWrite2: return "Write2";
    case Rule::kWrite3: return "Write3";
    case Rule::kWrite4: return "Write4";
    case Rule::kSync1: return "Sync1";
    case Rule::kSync2: return "Sync2";
    case Rule::kSync3: return "Sync3";
    case Rule::kSync4: return "Sync4";
    case Rule::kLeak: return "Leak";
    case Rule::kFree: return "Free";
    case Rule::kBuffer0: return "Buffer0";
    case Rule::kBuffer1: return "Buffer1";
    case Rule::kBuffer2: return "Buffer2";
    case Rule::kBuffer3: return "Buffer3";
    case Rule::kBuffer4: return "Buffer4";
    case Rule::kOverlap: return "Overlap";
    case Rule::kGmOverlap: return "GmOverlap";
    case Rule::kStaleCache: return "StaleCache";
    case Rule::kReservedEvent: return "ReservedEvent";
    case Rule::kDeadlock: return "Deadlock";
    case Rule::kParam: return "Param";
    case Rule::kUnsupported: return "Unsupported";
  }
  return "?";
}

const char* Name(Grade grade) {
  switch (grade) {
    case Grade::kError: return "error";
    case Grade::kAutoSync: return "relies_on_auto_sync";
    case Grade::kSuspicious: return "suspicious";
  }
  return "?";
}

std::string NormalPath(const std::string& path) { return std::filesystem::path(path).lexically_normal().string(); }

std::string CallersText(const std::vector<CallFrame>& callers, int shown) {
  std::string text;
  for (size_t i = 0; i < std::min(callers.size(), static_cast<size_t>(shown)); ++i) {
    const CallFrame& caller = callers[i];
    text += " <- " + std::filesystem::path(caller.file).filename().string() + ":" + std::to_string(caller.line) + " " +
            caller.function;
  }
  return text;
}

std::string AccessReport::Place(int callers_shown) const {
  std::string place = file + ":" + std::to_string(line);
  if (path != 0) {
    char mark[32];
    std::snprintf(mark, sizeof mark, "%c%x %llx%c", kCallMark, callers_shown, static_cast<unsigned long long>(path),
                  kCallMark);
    place += mark;
  }
  return place + CallersText(callers, callers_shown);
}

std::string AccessReport::ToString() const {
  std::string text = std::string(Name(queue)) + " " + op;
  if (has_range) {
    text += write ? " writes " : " reads ";
    text += Name(mem);
    if (!buffer.empty()) text += " '" + buffer + "'";
    text += " [" + Hex(lo) + ", " + Hex(hi) + ")";
  }
  text += " at " + Place();
  if (stage >= 0) text += " in stage " + std::to_string(stage);
  return text + ", block " + std::to_string(block);
}

std::string Hazard::ToString() const {
  std::string out = std::string(Name(rule)) + " [" + Name(grade) + "]";
  if (count > 1) out += " x" + std::to_string(count);
  out += ": " + text + "\n  access:  " + access.ToString();
  if (has_earlier) out += "\n  earlier: " + earlier.ToString();
  if (!missing.empty()) out += "\n  missing: " + missing;
  if (!fix.empty()) out += "\n  fix:     " + fix;
  return out;
}

std::string EdgeFix(const AccessReport& earlier, const AccessReport& later) {
  if (earlier.queue == later.queue) {
    return std::string("PipeBarrier<PIPE_") + Name(later.queue) + ">() between " + earlier.Place(kCallersInFix) +
           " and " + later.Place(kCallersInFix);
  }
  if (!HasEvent(earlier.queue, later.queue)) {
    return std::string("there is no event ") + Name(earlier.queue) + " -> " + Name(later.queue) +
           ": go through a queue both have events with, or PipeBarrier<PIPE_ALL>()";
  }
  const std::string event = std::string("HardEvent::") + Name(earlier.queue) + "_" + Name(later.queue);
  return "SetFlag<" + event + ">(id) after " + earlier.Place(kCallersInFix) + ", WaitFlag<" + event + ">(id) before " +
         later.Place(kCallersInFix);
}

bool AutoSyncRepairs(Queue earlier, Queue later) {
  if (earlier == Queue::kV && later == Queue::kV) return true;
  const auto partner = [](Queue q) { return q == Queue::kV || q == Queue::kMte2 || q == Queue::kMte3; };
  return (earlier == Queue::kS && partner(later)) || (later == Queue::kS && partner(earlier));
}

void HazardList::Add(Hazard hazard) {
  std::string key = std::to_string(static_cast<int>(hazard.rule)) + "|" + hazard.text + "|" + KeyOf(hazard.access);
  if (hazard.has_earlier) key += "|" + KeyOf(hazard.earlier);
  const auto [it, fresh] = index_.try_emplace(std::move(key), items_.size());
  if (fresh) {
    items_.push_back(std::move(hazard));
  } else {
    items_[it->second].count += hazard.count;
  }
}

void HazardList::Merge(const HazardList& other) {
  for (const Hazard& hazard : other.items_) Add(hazard);
}

uint64_t HazardList::Count(Grade grade) const {
  uint64_t total = 0;
  for (const Hazard& hazard : items_) total += hazard.grade == grade ? hazard.count : 0;
  return total;
}

void HazardList::Clear() {
  items_.clear();
  index_.clear();
}

}  // namespace npu_model
