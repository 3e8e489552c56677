// SPDX-License-Identifier: Apache-2.0
// Vector instructions that move elements: TransDataTo5HD, Transpose, Gather.
#pragma once

#include "issue/permute.h"
#include "kernel_operator_data_copy_intf.h"

namespace AscendC {
namespace detail {

template <class T>
npu_model::issue::TransDataShape ToShape(const TransDataTo5HDParams& p) {
  static_assert(sizeof(T) <= 4, "TransDataTo5HD supports only 8-, 16- and 32-bit types on Ascend 310P");
  return {sizeof(T), p.dstHighHalf, p.srcHighHalf, p.repeatTimes, p.dstRepStride, p.srcRepStride};
}

// Addresses of a list that lies in UB, read by the scalar unit's address loads.
void ReadAddressList(const npu_model::issue::View& list, npu_model::issue::View (&views)[NCHW_CONV_ADDR_LIST_SIZE],
                     Site site);

}  // namespace detail

template <typename T>
void TransDataTo5HD(const LocalTensor<T> (&dstList)[NCHW_CONV_ADDR_LIST_SIZE],
                    const LocalTensor<T> (&srcList)[NCHW_CONV_ADDR_LIST_SIZE],
                    const TransDataTo5HDParams& nchwconvParams, Site site = Site::Here()) {
  npu_model::issue::View dst[NCHW_CONV_ADDR_LIST_SIZE], src[NCHW_CONV_ADDR_LIST_SIZE];
  for (int i = 0; i < NCHW_CONV_ADDR_LIST_SIZE; ++i) {
    dst[i] = dstList[i].view();
    src[i] = srcList[i].view();
  }
  npu_model::issue::IssueTransData(dst, src, detail::ToShape<T>(nchwconvParams), site);
}
template <typename T>
void TransDataTo5HD(uint64_t dstList[NCHW_CONV_ADDR_LIST_SIZE], uint64_t srcList[NCHW_CONV_ADDR_LIST_SIZE],
                    const TransDataTo5HDParams& nchwconvParams, Site site = Site::Here()) {
  npu_model::issue::View dst[NCHW_CONV_ADDR_LIST_SIZE], src[NCHW_CONV_ADDR_LIST_SIZE];
  for (int i = 0; i < NCHW_CONV_ADDR_LIST_SIZE; ++i) {
    dst[i].address = dstList[i];
    src[i].address = srcList[i];
  }
  npu_model::issue::IssueTransData(dst, src, detail::ToShape<T>(nchwconvParams), site);
}
template <typename T>
void TransDataTo5HD(const LocalTensor<uint64_t>& dst, const LocalTensor<uint64_t>& src,
                    const TransDataTo5HDParams& nchwconvParams, Site site = Site::Here()) {
  npu_model::issue::View dst_views[NCHW_CONV_ADDR_LIST_SIZE], src_views[NCHW_CONV_ADDR_LIST_SIZE];
  detail::ReadAddressList(dst.view(), dst_views, site);
  detail::ReadAddressList(src.view(), src_views, site);
  npu_model::issue::IssueTransData(dst_views, src_views, detail::ToShape<T>(nchwconvParams), site);
}

// One 16x16 matrix.
template <typename T>
void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src, Site site = Site::Here()) {
  static_assert(sizeof(T) == 2, "Transpose of a 16x16 block supports only 16-bit types on Ascend 310P");
  npu_model::issue::IssueTranspose(dst.view(), src.view(), site);
}

template <typename T>
void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& srcOffset,
            const uint32_t srcBaseOffset, const uint64_t mask, const uint8_t repeatTime, const uint16_t dstRepStride,
            Site site = Site::Here()) {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4, "Gather supports only 16- and 32-bit types on Ascend 310P");
  npu_model::issue::IssueGather(sizeof(T), dst.view(), src.view(), srcOffset.view(), srcBaseOffset,
                                npu_model::issue::LaneForm::Mask(mask, repeatTime, true), dstRepStride, site);
}
template <typename T>
void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& srcOffset,
            const uint32_t srcBaseOffset, const uint64_t mask[], const uint8_t repeatTime,
            const uint16_t dstRepStride, Site site = Site::Here()) {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4, "Gather supports only 16- and 32-bit types on Ascend 310P");
  npu_model::issue::IssueGather(sizeof(T), dst.view(), src.view(), srcOffset.view(), srcBaseOffset,
                                npu_model::issue::LaneForm::Bits(mask, repeatTime, true), dstRepStride, site);
}
template <typename T>
void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& srcOffset,
            const uint32_t srcBaseOffset, const uint32_t count, Site site = Site::Here()) {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4, "Gather supports only 16- and 32-bit types on Ascend 310P");
  npu_model::issue::IssueGather(sizeof(T), dst.view(), src.view(), srcOffset.view(), srcBaseOffset,
                                npu_model::issue::LaneForm::Count(count), DEFAULT_REPEAT_STRIDE, site);
}
template <typename T = void, typename... Args>
void Gatherb(Args&&...) {
  static_assert(detail::kNever<T, Args...>, "Gatherb does not exist on Ascend 310P");
}
template <typename T = void, typename... Args>
void ShiftLeft(Args&&...) {
  static_assert(detail::kNever<T, Args...>, "ShiftLeft does not exist on Ascend 310P");
}
template <typename T = void, typename... Args>
void ShiftRight(Args&&...) {
  static_assert(detail::kNever<T, Args...>, "ShiftRight does not exist on Ascend 310P");
}
template <typename T = void, typename... Args>
void Ands(Args&&...) {
  static_assert(detail::kNever<T, Args...>, "Ands does not exist on Ascend 310P");
}
template <typename T = void, typename... Args>
void Ors(Args&&...) {
  static_assert(detail::kNever<T, Args...>, "Ors does not exist on Ascend 310P");
}

}  // namespace AscendC
