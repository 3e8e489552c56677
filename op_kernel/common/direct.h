// SPDX-License-Identifier: Apache-2.0
// What a kernel's `tiling` argument points to where it is launched without CANN's operator framework, which otherwise picks the
// instance by the tiling key.
#ifndef CHUNK_GDR_COMMON_DIRECT_H_
#define CHUNK_GDR_COMMON_DIRECT_H_

#include <cstdint>

namespace chunk_gdr {

template <typename Tiling>
struct DirectTiling {
  uint64_t key;  // the tiling key
  Tiling tiling;
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_COMMON_DIRECT_H_
