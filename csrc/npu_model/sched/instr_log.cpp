// SPDX-License-Identifier: Apache-2.0
#include "sched/instr_log.h"

#include <cstring>

#include "engine/call_path.h"

namespace npu_model {

size_t SiteTable::Hash::operator()(const Key& key) const {
  uint64_t h = reinterpret_cast<uintptr_t>(key.name) * 0x9E3779B97F4A7C15ull;
  h ^=
      (reinterpret_cast<uintptr_t>(key.file) + key.line * 8 + static_cast<uint32_t>(key.queue)) * 0xC2B2AE3D27D4EB4Full;
  h ^= key.path;
  return h ^ (h >> 29);
}

uint32_t SiteTable::Intern(const char* name, Site site, Queue queue, uint64_t path) {
  const Key key{name, site.file, site.line, queue, path};
  const auto [it, fresh] = index_.try_emplace(key, static_cast<uint32_t>(records_.size()));
  if (fresh) {
    const uint64_t identity = path != 0 ? path : LineIdentity(name, site);
    records_.push_back({name, site.file, site.line, queue, path, identity, false, 0, 0, 0});
  }
  return it->second;
}

bool SiteRecord::IsSync() const {
  return std::strcmp(name, "SetFlag") == 0 || std::strcmp(name, "WaitFlag") == 0 ||
         std::strcmp(name, "PipeBarrier") == 0;
}

void SiteTable::Clear() {
  index_.clear();
  records_.clear();
}

InstrLog::InstrLog() { Clear(); }

void InstrLog::Clear() {
  for (int q = 0; q < kQueueCount; ++q) {
    chunks_[q].clear();
    chunks_[q].push_back(std::make_unique<LogEntry[]>(1u << kChunkBits));  // number 0 is "nobody"
    last_[q] = 0;
    recent_[q].assign(kRecentMask + 1, RecentOperands());
  }
}

LogEntry& InstrLog::Append(Queue queue) {
  const int q = static_cast<int>(queue);
  const uint32_t seq = ++last_[q];
  if ((seq >> kChunkBits) == chunks_[q].size()) chunks_[q].push_back(std::make_unique<LogEntry[]>(1u << kChunkBits));
  return At(queue, seq);
}

}  // namespace npu_model
