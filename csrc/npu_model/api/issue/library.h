// SPDX-License-Identifier: Apache-2.0
// Library routines that the vendor's headers build from several instructions: same components, scratch and events.
#pragma once

#include "issue/view.h"

namespace npu_model::issue {

// GM [n, d] -> L1 NZ, tile by tile through the UB scratch. Strides: matrices and source rows in elements, column
// strips of the destination in 32-byte blocks.
void CopyNd2Nz(const View& dst, const View& src, uint32_t nd_num, uint32_t n_value, uint32_t d_value,
               uint32_t src_matrix_stride, uint32_t src_d_value, uint32_t dst_c0_stride, uint32_t dst_matrix_stride,
               DType type, Site site);

// UB NZ -> GM ND, one strided copy per 16-column strip.
void CopyNz2Nd(const View& dst, const View& src, uint32_t nd_num, uint32_t n_value, uint32_t d_value,
               uint32_t src_matrix_stride, uint32_t src_n_stride, uint32_t dst_d_stride, uint32_t dst_matrix_stride,
               uint32_t elem_bytes, Site site);

// Brcb: 8 elements per repeat, each over a 32-byte block. Strides in blocks. A 16-bit call moves the 256 bytes behind
// each repeat's blocks out of the way and back.
void BroadcastBlocks(uint32_t elem_bytes, const View& dst, const View& src, uint32_t repeats, uint32_t dst_block,
                     uint32_t dst_repeat, Site site);

// Flag pair on a freshly fetched id: `src` to `dst`, set and waited at once.
void SetAndWait(Core& core, Queue src, Queue dst, Site site);

// The library's UB scratch at `offset` bytes into its 8 KiB.
View Scratch(uint32_t offset);

}  // namespace npu_model::issue
