// SPDX-License-Identifier: Apache-2.0
#include "npu/library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>

namespace chunk_gdr::npu {

std::string DeviceBinary(const std::string& op) {
  namespace fs = std::filesystem;
  fs::path folder;
  if (const char* named = std::getenv("CHUNK_GDR_DEVICE_DIR"); named != nullptr && *named != '\0') {
    folder = named;
  } else {
    Dl_info info{};
    dladdr(reinterpret_cast<void*>(&DeviceBinary), &info);
    folder = fs::path(info.dli_fname).parent_path() / "device";
  }
  return fs::absolute(folder / (op + ".o")).string();  // the runtime wants an absolute path
}

}  // namespace chunk_gdr::npu
