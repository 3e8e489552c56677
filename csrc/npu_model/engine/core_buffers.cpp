// SPDX-License-Identifier: Apache-2.0
// Memory management as the checker sees it.
#include <cstring>

#include "engine/core.h"
#include "engine/core_state.h"

namespace npu_model {

uint32_t Core::RegisterBuffer(Mem mem, uint64_t offset, uint64_t bytes, const char* name, int index, Site site) {
  CoreState& s = *state_;
  std::vector<BufferRecord>& buffers = s.checker.buffers();
  BufferRecord record;
  record.mem = mem;
  record.offset = offset;
  record.bytes = bytes;
  record.name = std::string(name) + "#" + std::to_string(buffers.size()) + "[" + std::to_string(index) + "]";
  record.site = site;
  if (bytes == 0) Fault(Rule::kBuffer3, "InitBuffer", site, "buffer of length zero");
  if (offset + bytes > CapacityBytes(mem)) {
    Fault(Rule::kBuffer3, "InitBuffer", site,
          std::string(Name(mem)) + " overflows: this buffer ends at byte " + std::to_string(offset + bytes) + " of " +
              std::to_string(CapacityBytes(mem)));
  }
  buffers.push_back(std::move(record));
  return static_cast<uint32_t>(buffers.size() - 1);
}

void Core::BufferIsQueue(uint32_t buffer) { state_->checker.buffers()[buffer].is_queue = true; }

void Core::OccupyBuffer(uint32_t buffer, Site site) {
  BufferRecord& record = state_->checker.buffers()[buffer];
  record.occupied = true;
  record.site = site;
}

void Core::FreeBuffer(uint32_t buffer, Site site) {
  BufferRecord& record = state_->checker.buffers()[buffer];
  if (!record.occupied) {
    const std::string first = record.freed_at.line == 0 ? "was never allocated"
                                                        : std::string("was freed before at ") + record.freed_at.file +
                                                              ":" + std::to_string(record.freed_at.line);
    Fault(Rule::kFree, "FreeTensor", site, "tensor of queue buffer '" + record.name + "' " + first);
  }
  record.occupied = false;
  record.freed_at = site;
}

void Core::OpenPool(const char* kind, Site site) {
  CoreState& s = *state_;
  if (s.open_pool != nullptr) {
    Fault(Rule::kBuffer4, kind, site,
          std::string(kind) + " is opened while " + s.open_pool + " is alive; both allocate from offset 0");
    return;
  }
  s.open_pool = kind;
}

void Core::ResetPool(Site) {
  CoreState& s = *state_;
  for (BufferRecord& buffer : s.checker.buffers()) buffer.forgotten = true;
}

void Core::ClosePool(const char* kind, Site site) {
  CoreState& s = *state_;
  // Leaks are judged while the buffers still exist.
  if (s.checked && !s.Unwinding()) s.CheckLeaks();
  ResetPool(site);
  if (s.open_pool != nullptr && std::strcmp(s.open_pool, kind) == 0) s.open_pool = nullptr;
}

}  // namespace npu_model
