// SPDX-License-Identifier: Apache-2.0
// A row of the bias or of factors on its way to UB.
#pragma once

#include "matmul/spec.h"

namespace npu_model::matmul {

// `bytes` from GM, rounded up to blocks; zeros behind them up to `padded` bytes. V may read it afterwards.
void CopyRow(Core& core, const View& ub, const View& gm, uint32_t bytes, uint32_t padded, Site site);

}  // namespace npu_model::matmul
