// SPDX-License-Identifier: Apache-2.0
#include "engine/entry_call.h"

#include <stdexcept>
#include <string>
#include <utility>

namespace npu_model {
namespace {

template <size_t>
using Pointer = void*;

template <size_t... I>
void Call(void* entry, const std::vector<void*>& pointers, std::index_sequence<I...>) {
  reinterpret_cast<void (*)(Pointer<I>...)>(entry)(pointers[I]...);
}

// The entry takes exactly N pointers; the matching instance is found by counting down.
template <size_t N>
void Dispatch(void* entry, const std::vector<void*>& pointers) {
  if (pointers.size() == N) {
    Call(entry, pointers, std::make_index_sequence<N>());
  } else if constexpr (N > 1) {
    Dispatch<N - 1>(entry, pointers);
  } else {
    throw std::invalid_argument("kernel entry with " + std::to_string(pointers.size()) + " arguments");
  }
}

}  // namespace

void CallEntry(void* entry, const std::vector<void*>& pointers) { Dispatch<kMaxEntryArgs>(entry, pointers); }

}  // namespace npu_model
