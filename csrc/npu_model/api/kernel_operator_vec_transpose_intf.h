// SPDX-License-Identifier: Apache-2.0
// Vector instructions that move elements: TransDataTo5HD, Transpose, Gather, GatherMask.
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

template <class T, GatherMaskMode mode>
npu_model::issue::GatherMaskForm ToForm(uint8_t pattern, bool count_mode, uint32_t mask, const GatherMaskParams& p) {
  static_assert(mode == GatherMaskMode::VERSION_V1, "GatherMask VERSION_V2 does not exist on Ascend 310P");
  return {sizeof(T),     pattern,           count_mode,         mask,
          p.repeatTimes, p.src0BlockStride, p.src0RepeatStride, p.src1RepeatStride};
}

npu_model::issue::TransposeImages ToImages(const TransposeParamsExt& p, uint32_t elem_bytes);

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

// A 16x16 matrix, or [N, C, H, W] <-> [N, H, W, C]; needs no temporary buffer on this chip.
template <typename T>
void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>&,
               const TransposeParamsExt& transposeParams, Site site = Site::Here()) {
  static_assert(sizeof(T) <= 4, "Transpose supports only 8-, 16- and 32-bit types on Ascend 310P");
  npu_model::issue::IssueTransposeImages(dst.view(), src.view(), detail::ToImages(transposeParams, sizeof(T)), site);
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
            const uint32_t srcBaseOffset, const uint64_t mask[], const uint8_t repeatTime, const uint16_t dstRepStride,
            Site site = Site::Here()) {
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

// The kept elements, one behind the other; rsvdCnt is how many.
template <typename T, typename U, GatherMaskMode mode = defaultGatherMaskMode>
void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<U>& src1Pattern,
                const bool reduceMode, const uint32_t mask, const GatherMaskParams& gatherMaskParams, uint64_t& rsvdCnt,
                Site site = Site::Here()) {
  static_assert((sizeof(T) == 2 && std::is_same_v<U, uint16_t>) || (sizeof(T) == 4 && std::is_same_v<U, uint32_t>),
                "GatherMask supports 16-bit types with a uint16_t and 32-bit types with a uint32_t pattern on Ascend "
                "310P");
  rsvdCnt = npu_model::issue::IssueGatherMask(detail::ToForm<T, mode>(0, reduceMode, mask, gatherMaskParams),
                                              dst.view(), src0.view(), src1Pattern.view(), site);
}
template <typename T, GatherMaskMode mode = defaultGatherMaskMode>
void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const uint8_t src1Pattern, const bool reduceMode,
                const uint32_t mask, const GatherMaskParams& gatherMaskParams, uint64_t& rsvdCnt,
                Site site = Site::Here()) {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4, "GatherMask supports only 16- and 32-bit types on Ascend 310P");
  const uint8_t pattern = src1Pattern == 0 ? 255 : src1Pattern;  // 0 is no built-in pattern
  rsvdCnt = npu_model::issue::IssueGatherMask(detail::ToForm<T, mode>(pattern, reduceMode, mask, gatherMaskParams),
                                              dst.view(), src0.view(), {}, site);
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
