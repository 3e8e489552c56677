// SPDX-License-Identifier: Apache-2.0
// The process-wide switch that says what runs on CPU tensors. Operators read it when they run.
#pragma once

#include <string>

namespace chunk_gdr {

enum class Backend { kNative, kModel, kReference };

// CHUNK_GDR_BACKEND until somebody sets one. Throws std::invalid_argument when that variable holds no backend's name.
Backend CurrentBackend();

const char* BackendName(Backend backend);
Backend BackendFromName(const std::string& name);  // throws std::invalid_argument
void SetBackend(Backend backend);

}  // namespace chunk_gdr
