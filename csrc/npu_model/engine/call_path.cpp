// SPDX-License-Identifier: Apache-2.0
#include "engine/call_path.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include <algorithm>

namespace npu_model {
namespace {

constexpr uint64_t kFnvBasis = 0xCBF29CE484222325ull;
constexpr uint64_t kFnvPrime = 0x100000001B3ull;

uint64_t Fold(uint64_t hash, uint64_t value) { return (hash ^ value) * kFnvPrime; }

uint64_t Finish(uint64_t hash) {
  hash ^= hash >> 32;
  return hash == 0 ? 1 : hash;
}

struct Search {
  uintptr_t address;
  CodeRange* range;
};

int FindSegment(dl_phdr_info* info, size_t, void* data) {
  const Search& search = *static_cast<Search*>(data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || search.address < begin || search.address >= begin + segment.p_memsz) continue;
    search.range->base = info->dlpi_addr;
    search.range->begin = begin;
    search.range->end = begin + segment.p_memsz;
    return 1;
  }
  return 0;
}

}  // namespace

CodeRange CodeRangeOf(const void* address) {
  CodeRange range;
  Search search{reinterpret_cast<uintptr_t>(address), &range};
  if (dl_iterate_phdr(&FindSegment, &search) == 0) return range;
  Dl_info info;
  if (dladdr(address, &info) != 0 && info.dli_fname != nullptr) range.file = info.dli_fname;
  return range;
}

CallTracer::CallTracer(const CodeRange& code, bool enabled) : code_(code) {
  pthread_attr_t attributes;
  if (!enabled || pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void* lowest = nullptr;
  size_t bytes = 0;
  if (pthread_attr_getstack(&attributes, &lowest, &bytes) == 0)
    stack_end_ = reinterpret_cast<uintptr_t>(lowest) + bytes;
  pthread_attr_destroy(&attributes);
}

uint64_t CallTracer::Capture(CallPath& path) const {
  path.depth = 0;
  uint64_t hash = kFnvBasis;
  uintptr_t at = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  // Code compiled without frame pointers leaves anything in the chain; only what lies above on this stack is followed.
  while (at % alignof(uintptr_t) == 0 && at + 2 * sizeof(uintptr_t) <= stack_end_) {
    const uintptr_t* frame = reinterpret_cast<const uintptr_t*>(at);
    const uintptr_t caller = frame[1];
    if (code_.Holds(caller)) {
      const uint32_t offset = static_cast<uint32_t>(caller - 1 - code_.base);  // inside the call, not behind it
      path.at[path.depth++] = offset;
      hash = Fold(hash, offset);
      if (path.depth == CallPath::kMaxDepth) break;
    } else if (path.depth != 0) {
      break;  // back in the launch
    }
    if (frame[0] <= at) break;
    at = frame[0];
  }
  return path.depth == 0 ? 0 : Finish(hash);
}

uint64_t LineIdentity(const char* name, Site site) {
  uint64_t hash = Fold(kFnvBasis, site.line);
  for (const char* text : {name, site.file}) {
    for (; *text != 0; ++text) hash = Fold(hash, static_cast<unsigned char>(*text));
  }
  return Finish(hash);
}

}  // namespace npu_model
