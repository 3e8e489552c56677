// SPDX-License-Identifier: Apache-2.0
// Activations that the library builds from vector instructions.
#pragma once

#include "kernel_operator_block_sync_intf.h"
#include "kernel_operator_vec_unary_intf.h"

namespace AscendC {

// x / (1 + exp(-x)); dst must not be src.
template <typename T, bool isReuseSource = false>
void Silu(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t dataSize, Site site = Site::Here()) {
  static_assert(detail::kFloating<T>, "Silu supports only half, float on Ascend 310P");
  const npu_model::Core::LibraryScope scope(npu_model::Core::Current());
  const int32_t count = static_cast<int32_t>(dataSize);
  Muls(dst, src, static_cast<T>(-1.0f), count, site);
  detail::Barrier(PIPE_V, site);
  Exp(dst, dst, count, site);
  detail::Barrier(PIPE_V, site);
  Adds(dst, dst, static_cast<T>(1.0f), count, site);
  detail::Barrier(PIPE_V, site);
  Div(dst, src, dst, count, site);
  detail::Barrier(PIPE_V, site);
}
template <typename T, bool isReuseSource = false>
void Silu(const LocalTensor<T>& dst, const LocalTensor<T>& src, Site site = Site::Here()) {
  Silu<T, isReuseSource>(dst, src, src.GetSize(), site);
}

}  // namespace AscendC
