// SPDX-License-Identifier: Apache-2.0
// The kernel for aclrtLaunchKernelWithConfig, outside of an operator project: the macros with which CANN's operator framework hands over
// the tiling read it from a DirectTiling here, and every instance is in one binary. One kernel per source file is all that
// ascendc_fatbin_library takes.
#include "kernel_operator.h"

#include "../common/direct.h"

namespace {

// Copies plain data out of GM. By bytes, because only those may alias any type.
template <typename T>
__aicore__ inline void CopyFromGm(T& destination, const __gm__ uint8_t* source) {
  auto* bytes = reinterpret_cast<uint8_t*>(&destination);
  for (uint32_t i = 0; i < sizeof(T); ++i) {
    bytes[i] = source[i];
  }
}

}  // namespace

#undef REGISTER_TILING_DEFAULT
#define REGISTER_TILING_DEFAULT(Tiling) using RegisteredTiling [[maybe_unused]] = Tiling

#undef GET_TILING_DATA_WITH_STRUCT
#define GET_TILING_DATA_WITH_STRUCT(Tiling, name, address) \
  chunk_gdr::DirectTiling<Tiling> direct_tiling;           \
  CopyFromGm(direct_tiling, address);                      \
  const Tiling& name = direct_tiling.tiling

#undef TILING_KEY_VAR
#define TILING_KEY_VAR direct_tiling.key

#include "entry.cpp"
