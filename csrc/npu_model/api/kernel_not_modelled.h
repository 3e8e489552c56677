// SPDX-License-Identifier: Apache-2.0
// Calls of the chip's basic API that the model does not have: a kernel that makes one does not compile, and is told so.
#pragma once

#include "kernel_operator_data_copy_intf.h"

namespace AscendC {

#define ASCENDC_MODEL_LEFT_OUT(Name)                                                                      \
  template <typename T = void, typename... Args>                                                          \
  void Name(Args&&...) {                                                                                  \
    static_assert(detail::kNever<T, Args...>, #Name " exists on Ascend 310P, but not in the host model"); \
  }
ASCENDC_MODEL_LEFT_OUT(BilinearInterpolation)
ASCENDC_MODEL_LEFT_OUT(Conv2D)
ASCENDC_MODEL_LEFT_OUT(Gemm)
ASCENDC_MODEL_LEFT_OUT(LoadImageToLocal)
ASCENDC_MODEL_LEFT_OUT(MrgSort)
ASCENDC_MODEL_LEFT_OUT(MrgSort4)
ASCENDC_MODEL_LEFT_OUT(ProposalConcat)
ASCENDC_MODEL_LEFT_OUT(ProposalExtract)
ASCENDC_MODEL_LEFT_OUT(RpSort16)
ASCENDC_MODEL_LEFT_OUT(Scatter)
ASCENDC_MODEL_LEFT_OUT(VectorPadding)
#undef ASCENDC_MODEL_LEFT_OUT

}  // namespace AscendC
