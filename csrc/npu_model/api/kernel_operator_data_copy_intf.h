// SPDX-License-Identifier: Apache-2.0
// DataCopy in every direction and form of the chip.
#pragma once

#include "issue/copy.h"
#include "issue/library.h"
#include "kernel_tensor.h"

namespace AscendC {
namespace detail {

// Makes a static_assert depend on a template parameter.
template <class...>
constexpr bool kNever = false;

inline npu_model::issue::CopyShape ToShape(const DataCopyParams& p) {
  return {p.blockCount, p.blockLen, p.srcStride, p.dstStride};
}

// Value of DeqScale::DEQ: half bits in the low 16 bits of deqValue.
inline float DeqScaleOf(const DataCopyEnhancedParams& p) {
  return p.deqScale == DeqScale::DEQ_NONE ? 1.0f
                                          : npu_model::isa::HalfToFloat(static_cast<uint16_t>(p.deqValue & 0xffff));
}

void CopyL0c(const npu_model::issue::View& dst, const npu_model::issue::View& src, const DataCopyParams& params,
             const DataCopyEnhancedParams& enhanced, npu_model::isa::DType dst_type, npu_model::isa::DType src_type,
             Site site);
void CopySlices(const npu_model::issue::View& dst, const npu_model::issue::View& src, const ShapeInfo& dst_shape,
                const ShapeInfo& src_shape, const SliceInfo* dst_slices, const SliceInfo* src_slices, uint32_t dims,
                uint32_t elem_bytes, Site site);

}  // namespace detail

template <typename T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& repeatParams,
              Site site = Site::Here()) {
  npu_model::issue::IssueCopy(dst.view(), src.view(), detail::ToShape(repeatParams), site);
}
template <typename T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& repeatParams,
              Site site = Site::Here()) {
  npu_model::issue::IssueCopy(dst.view(), src.view(), detail::ToShape(repeatParams), site);
}
template <typename T>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& repeatParams,
              Site site = Site::Here()) {
  npu_model::issue::IssueCopy(dst.view(), src.view(), detail::ToShape(repeatParams), site);
}
template <typename T, typename U>
void DataCopy(const LocalTensor<T>&, const LocalTensor<U>&, const DataCopyParams&) {
  static_assert(detail::kNever<T, U>, "DataCopy between element types needs DataCopyEnhancedParams on Ascend 310P");
}

template <typename T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const uint32_t count, Site site = Site::Here()) {
  npu_model::issue::IssueCopyBytes(dst.view(), src.view(), uint64_t{count} * sizeof(T), site);
}
template <typename T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count, Site site = Site::Here()) {
  npu_model::issue::IssueCopyBytes(dst.view(), src.view(), uint64_t{count} * sizeof(T), site);
}
template <typename T>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count, Site site = Site::Here()) {
  npu_model::issue::IssueCopyBytes(dst.view(), src.view(), uint64_t{count} * sizeof(T), site);
}

// ND -> NZ on the way to L1: no instruction of this chip, the library builds it from others.
template <typename T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const Nd2NzParams& params,
              Site site = Site::Here()) {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4, "Nd2Nz supports only 16- and 32-bit types on Ascend 310P");
  npu_model::issue::CopyNd2Nz(dst.view(), src.view(), params.ndNum, params.nValue, params.dValue,
                              params.srcNdMatrixStride, params.srcDValue, params.dstNzC0Stride,
                              params.dstNzMatrixStride, detail::TypeOf<T>(), site);
}
template <typename T>
void DataCopy(const LocalTensor<T>&, const LocalTensor<T>&, const Nd2NzParams&) {
  static_assert(detail::kNever<T>, "DataCopy UB -> L1 with Nd2NzParams does not exist on Ascend 310P");
}
// NZ -> ND on the way to GM: one strided copy per column strip.
template <typename T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const Nz2NdParamsFull& params,
              Site site = Site::Here()) {
  npu_model::issue::CopyNz2Nd(dst.view(), src.view(), params.ndNum, params.nValue, params.dValue,
                              params.srcNdMatrixStride, params.srcNStride, params.dstDStride, params.dstNdMatrixStride,
                              sizeof(T), site);
}

// With enhanced parameters. GM <-> local: they change nothing on this chip unless they pad, which it cannot.
template <typename T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& params,
              const DataCopyEnhancedParams&, Site site = Site::Here()) {
  npu_model::issue::IssueCopy(dst.view(), src.view(), detail::ToShape(params), site);
}
template <typename T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& params,
              const DataCopyEnhancedParams&, Site site = Site::Here()) {
  npu_model::issue::IssueCopy(dst.view(), src.view(), detail::ToShape(params), site);
}
template <typename T>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& params,
              const DataCopyEnhancedParams& enhanced, Site site = Site::Here()) {
  detail::CopyL0c(dst.view(), src.view(), params, enhanced, detail::TypeOf<T>(), detail::TypeOf<T>(), site);
}
// L0C -> UB with conversion (float or int32 source), UB -> L0C from half to float.
template <typename T, typename U, std::enable_if_t<!std::is_same_v<T, U>, bool> = true>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const DataCopyParams& params,
              const DataCopyEnhancedParams& enhanced, Site site = Site::Here()) {
  static_assert((std::is_same_v<T, half> && SupportType<U, float, int32_t>()) ||
                    (std::is_same_v<U, int32_t> && SupportType<T, int16_t, int8_t, uint8_t>()) ||
                    (std::is_same_v<T, float> && std::is_same_v<U, half>),
                "this conversion between L0C and UB does not exist on Ascend 310P");
  detail::CopyL0c(dst.view(), src.view(), params, enhanced, detail::TypeOf<T>(), detail::TypeOf<U>(), site);
}

// Slices: runs of burstLen blocks, `stride` elements apart, cut out of an up to 8-dimensional tensor.
template <typename T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const SliceInfo dstSliceInfo[],
              const SliceInfo srcSliceInfo[], const uint32_t dimValue = 1, Site site = Site::Here()) {
  detail::CopySlices(dst.view(), src.view(), dst.GetShapeInfo(), src.GetShapeInfo(), dstSliceInfo, srcSliceInfo,
                     dimValue, sizeof(T), site);
}
template <typename T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const SliceInfo dstSliceInfo[],
              const SliceInfo srcSliceInfo[], const uint32_t dimValue = 1, Site site = Site::Here()) {
  detail::CopySlices(dst.view(), src.view(), dst.GetShapeInfo(), src.GetShapeInfo(), dstSliceInfo, srcSliceInfo,
                     dimValue, sizeof(T), site);
}

template <typename T = void, typename... Args>
void DataCopyPad(Args&&...) {
  static_assert(detail::kNever<T, Args...>, "DataCopyPad does not exist on Ascend 310P");
}
template <typename T = void, typename... Args>
void Copy(Args&&...) {
  static_assert(detail::kNever<T, Args...>, "Copy does not exist on Ascend 310P: use DataCopy UB -> UB or Adds");
}
template <typename T = void, typename... Args>
void SetPadValue(Args&&...) {
  static_assert(detail::kNever<T, Args...>, "SetPadValue does not exist on Ascend 310P");
}

}  // namespace AscendC
