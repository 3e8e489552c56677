// SPDX-License-Identifier: Apache-2.0
// What the fake device and the fake runtime saw, in order: one line "name key=value ..." per event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>

namespace fake {

void Record(const std::string& event);

template <typename... Parts>
void Event(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  Record(text.str());
}

// Bytes from `pointer` to the end of the device allocation it points into; 0 for a pointer that is no device memory.
size_t BytesBehind(const void* pointer);

int64_t CurrentStream();

// While one lives, the host may touch device memory.
struct DeviceAccess {
  DeviceAccess();
  ~DeviceAccess();
};

}  // namespace fake
