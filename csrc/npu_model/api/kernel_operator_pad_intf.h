// SPDX-License-Identifier: Apache-2.0
// Broadcast of a row or a column, which the library builds from Or with zeros and, along the last axis, a transpose.
#pragma once

#include "kernel_operator_vec_transpose_intf.h"
#include "kernel_operator_vec_unary_intf.h"
#include "kernel_tpipe.h"

namespace AscendC {
namespace detail {

inline void BroadcastFault(Site site, const char* text) {
  npu_model::Core::Current().Fault(npu_model::Rule::kParam, "Broadcast", site, text);
}

// `rows` copies of a row of 32-byte blocks: eight rows at a time, a block per repeat.
template <typename T>
void ReplicateRows(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint16_t>& zeros,
                   uint32_t rows, uint32_t row_elems, Site site) {
  constexpr uint32_t kRowsAtOnce = 8;
  constexpr uint32_t kBlockLanes = ONE_BLK_SIZE / sizeof(uint16_t);
  const uint32_t blocks = row_elems * sizeof(T) / ONE_BLK_SIZE;
  const BinaryRepeatParams strides(static_cast<uint8_t>(blocks), 0, 0, 1, 1, 0);
  for (uint32_t row = 0; row < rows; row += kRowsAtOnce) {
    const uint32_t count = rows - row < kRowsAtOnce ? rows - row : kRowsAtOnce;
    Or(dst[row * row_elems].template ReinterpretCast<uint16_t>(), src.template ReinterpretCast<uint16_t>(), zeros,
       uint64_t{count} * kBlockLanes, static_cast<uint8_t>(blocks), strides, site);
  }
  Barrier(PIPE_V, site);
}

// [rows, 1] -> [rows, columns]: the column as a row, `columns` times, transposed; in parts that `tmp` holds.
template <typename T>
void BroadcastColumn(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& tmp,
                     const LocalTensor<uint16_t>& zeros, uint32_t rows, uint32_t columns, Site site) {
  constexpr uint32_t kBlockElems = ONE_BLK_SIZE / sizeof(T);
  constexpr uint32_t kMostBlocks = 255;
  uint32_t part = tmp.GetSize() / columns / kBlockElems;
  part = (part < kMostBlocks ? part : kMostBlocks) * kBlockElems;
  if (part == 0)
    return BroadcastFault(site, "the temporary buffer is too small: it must hold a 32-byte block per column");
  for (uint32_t row = 0; row < rows; row += part) {
    const uint32_t count = rows - row < part ? rows - row : part;
    ReplicateRows(tmp, src[row], zeros, columns, count, site);
    const TransposeParamsExt images(1, static_cast<uint16_t>(columns), 1, static_cast<uint16_t>(count),
                                    TransposeType::TRANSPOSE_NCHW2NHWC);
    Transpose(dst[row * columns], tmp, LocalTensor<uint8_t>(), images, site);
    Barrier(PIPE_V, site);
  }
}

}  // namespace detail

// dst [dstShape] from src [srcShape], which is 1 long along `axis`.
template <typename T, int32_t dim, int32_t axis, bool isReuseSource = false>
void Broadcast(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t (&dstShape)[dim],
               const uint32_t (&srcShape)[dim], LocalTensor<uint8_t>& sharedTmpBuffer, Site site = Site::Here()) {
  static_assert(dim == 2 && (axis == 0 || axis == 1), "the model has Broadcast of two dimensions, along either");
  static_assert(SupportType<T, half, float>(), "Broadcast supports only half, float in the model");
  npu_model::Core::LibraryScope scope(npu_model::Core::Current());
  const uint32_t rows = dstShape[0];
  const uint32_t columns = dstShape[1];
  if (srcShape[axis] == dstShape[axis]) {
    DataCopy(dst, src, rows * columns, site);
    return detail::Barrier(PIPE_V, site);
  }
  const uint32_t source_elems = axis == 0 ? columns : rows;
  if (srcShape[axis] != 1 || srcShape[1 - axis] != source_elems || source_elems * sizeof(T) % ONE_BLK_SIZE != 0) {
    return detail::BroadcastFault(
        site, "srcShape must be dstShape but for a 1 along axis, and its other side a multiple of 32 bytes");
  }
  if (sharedTmpBuffer.GetSize() < 2 * ONE_BLK_SIZE) {
    return detail::BroadcastFault(site, "the temporary buffer is too small: it must hold a 32-byte block per column");
  }
  const LocalTensor<uint16_t> zeros = sharedTmpBuffer.template ReinterpretCast<uint16_t>();
  Duplicate(zeros, uint16_t{0}, static_cast<int32_t>(ONE_BLK_SIZE / sizeof(uint16_t)), site);
  detail::Barrier(PIPE_V, site);
  if (axis == 1) {
    LocalTensor<uint8_t> rest = sharedTmpBuffer[ONE_BLK_SIZE];
    detail::BroadcastColumn(dst, src, rest.template ReinterpretCast<T>(), zeros, rows, columns, site);
  } else if (columns * sizeof(T) / ONE_BLK_SIZE > 255) {
    detail::BroadcastFault(site, "a row of more than 255 blocks is not modelled");
  } else {
    detail::ReplicateRows(dst, src, zeros, rows, columns, site);
  }
}
// With what UB has left behind the buffers of the pipe.
template <typename T, int32_t dim, int32_t axis, bool isReuseSource = false>
void Broadcast(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t (&dstShape)[dim],
               const uint32_t (&srcShape)[dim], Site site = Site::Here()) {
  const uint32_t end = static_cast<uint32_t>(GetTPipePtr()->GetQueueEndAddress<TPosition::VECCALC>());
  LocalTensor<uint8_t> rest(TPosition::VECCALC, end, npu_model::kUbBytes - end);
  Broadcast<T, dim, axis, isReuseSource>(dst, src, dstShape, srcShape, rest, site);
}

}  // namespace AscendC
