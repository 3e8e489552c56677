// SPDX-License-Identifier: Apache-2.0
// After the page PlatformAscendC of asc-devkit's docs/zh/api/Utils-API.
#pragma once

#include "register/op_def_registry.h"

namespace platform_ascendc {

class PlatformAscendC {
 public:
  explicit PlatformAscendC(fe::PlatFormInfos* infos) : infos_(infos) {}
  uint32_t GetCoreNumAic() const { return infos_->cores; }
  uint32_t GetLibApiWorkSpaceSize() const { return static_cast<uint32_t>(infos_->system_workspace); }

 private:
  fe::PlatFormInfos* infos_;
};

}  // namespace platform_ascendc
