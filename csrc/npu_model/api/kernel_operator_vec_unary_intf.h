// SPDX-License-Identifier: Apache-2.0
// Element-wise vector instructions with one source, with and without a scalar; Duplicate; Cast.
#pragma once

#include "issue/vector.h"
#include "kernel_operator_vec_binary_intf.h"

namespace AscendC {
namespace detail {

inline npu_model::issue::Strides2 ToStrides(const UnaryRepeatParams& p) {
  return {p.dstBlkStride, p.srcBlkStride, p.dstRepStride, p.srcRepStride};
}
template <class T>
constexpr bool kReluTypes = SupportType<T, half, float, int32_t>();

}  // namespace detail

#define ASCENDC_MODEL_UNARY(Name, Op, Supported, Types)                                                             \
  template <typename T, bool isSetMask = true>                                                                      \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask[], const uint8_t repeatTime,        \
            const UnaryRepeatParams& repeatParams, Site site = Site::Here()) {                                      \
    static_assert(Supported<T>, #Name " supports only " Types " on Ascend 310P");                                   \
    npu_model::issue::IssueUnary(npu_model::isa::UnaryOp::Op, #Name, detail::TypeOf<T>(), dst.view(), src.view(),   \
                                 npu_model::issue::LaneForm::Bits(mask, repeatTime, isSetMask),                     \
                                 detail::ToStrides(repeatParams), site);                                            \
  }                                                                                                                 \
  template <typename T, bool isSetMask = true>                                                                      \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask, const uint8_t repeatTime,          \
            const UnaryRepeatParams& repeatParams, Site site = Site::Here()) {                                      \
    static_assert(Supported<T>, #Name " supports only " Types " on Ascend 310P");                                   \
    npu_model::issue::IssueUnary(npu_model::isa::UnaryOp::Op, #Name, detail::TypeOf<T>(), dst.view(), src.view(),   \
                                 npu_model::issue::LaneForm::Mask(mask, repeatTime, isSetMask),                     \
                                 detail::ToStrides(repeatParams), site);                                            \
  }                                                                                                                 \
  template <typename T>                                                                                             \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t& count, Site site = Site::Here()) { \
    static_assert(Supported<T>, #Name " supports only " Types " on Ascend 310P");                                   \
    npu_model::issue::IssueUnary(npu_model::isa::UnaryOp::Op, #Name, detail::TypeOf<T>(), dst.view(), src.view(),   \
                                 npu_model::issue::LaneForm::Count(count), {}, site);                               \
  }

ASCENDC_MODEL_UNARY(Exp, kExp, detail::kFloating, "half, float")
ASCENDC_MODEL_UNARY(Ln, kLn, detail::kFloating, "half, float")
ASCENDC_MODEL_UNARY(Abs, kAbs, detail::kFloating, "half, float")
ASCENDC_MODEL_UNARY(Sqrt, kSqrt, detail::kFloating, "half, float")
ASCENDC_MODEL_UNARY(Rsqrt, kRsqrt, detail::kFloating, "half, float")
ASCENDC_MODEL_UNARY(Reciprocal, kReciprocal, detail::kFloating, "half, float")
ASCENDC_MODEL_UNARY(Relu, kRelu, detail::kReluTypes, "half, float, int32_t")
ASCENDC_MODEL_UNARY(Not, kNot, detail::kBits16, "int16_t, uint16_t")
#undef ASCENDC_MODEL_UNARY

#define ASCENDC_MODEL_SCALAR(Name, Op, Supported, Types)                                                             \
  template <typename T, bool isSetMask = true>                                                                       \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue, uint64_t mask[],             \
            const uint8_t repeatTime, const UnaryRepeatParams& repeatParams, Site site = Site::Here()) {             \
    static_assert(Supported<T>, #Name " supports only " Types " on Ascend 310P");                                    \
    npu_model::issue::IssueScalar(                                                                                   \
        npu_model::isa::ScalarOp::Op, #Name, detail::TypeOf<T>(), dst.view(), src.view(), detail::Bits(scalarValue), \
        npu_model::issue::LaneForm::Bits(mask, repeatTime, isSetMask), detail::ToStrides(repeatParams), site);       \
  }                                                                                                                  \
  template <typename T, bool isSetMask = true>                                                                       \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue, uint64_t mask,               \
            const uint8_t repeatTime, const UnaryRepeatParams& repeatParams, Site site = Site::Here()) {             \
    static_assert(Supported<T>, #Name " supports only " Types " on Ascend 310P");                                    \
    npu_model::issue::IssueScalar(                                                                                   \
        npu_model::isa::ScalarOp::Op, #Name, detail::TypeOf<T>(), dst.view(), src.view(), detail::Bits(scalarValue), \
        npu_model::issue::LaneForm::Mask(mask, repeatTime, isSetMask), detail::ToStrides(repeatParams), site);       \
  }                                                                                                                  \
  template <typename T, bool isSetMask = true>                                                                       \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue, const int32_t& count,        \
            Site site = Site::Here()) {                                                                              \
    static_assert(Supported<T>, #Name " supports only " Types " on Ascend 310P");                                    \
    npu_model::issue::IssueScalar(                                                                                   \
        npu_model::isa::ScalarOp::Op, #Name, detail::TypeOf<T>(), dst.view(), src.view(), detail::Bits(scalarValue), \
        isSetMask ? npu_model::issue::LaneForm::Count(count) : npu_model::issue::LaneForm::Mask(1, 1, false), {},    \
        site);                                                                                                       \
  }

ASCENDC_MODEL_SCALAR(Adds, kAdds, detail::kBinaryArith, "half, float, int16_t, int32_t")
ASCENDC_MODEL_SCALAR(Muls, kMuls, detail::kBinaryArith, "half, float, int16_t, int32_t")
ASCENDC_MODEL_SCALAR(Maxs, kMaxs, detail::kBinaryArith, "half, float, int16_t, int32_t")
ASCENDC_MODEL_SCALAR(Mins, kMins, detail::kBinaryArith, "half, float, int16_t, int32_t")
ASCENDC_MODEL_SCALAR(LeakyRelu, kLeakyRelu, detail::kFloating, "half, float")
#undef ASCENDC_MODEL_SCALAR

template <typename T, typename U, bool isSetMask = true>
void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const U& scalarValue, uint64_t mask[],
          const uint8_t repeatTime, const UnaryRepeatParams& repeatParams, Site site = Site::Here()) {
  static_assert(detail::kMlaPair<T, U>, "Axpy supports only half+half, float+float, float+half on Ascend 310P");
  npu_model::issue::IssueAxpy(detail::TypeOf<T>(), detail::TypeOf<U>(), dst.view(), src.view(),
                              detail::Bits(scalarValue), npu_model::issue::LaneForm::Bits(mask, repeatTime, isSetMask),
                              detail::ToStrides(repeatParams), site);
}
template <typename T, typename U, bool isSetMask = true>
void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const U& scalarValue, uint64_t mask,
          const uint8_t repeatTime, const UnaryRepeatParams& repeatParams, Site site = Site::Here()) {
  static_assert(detail::kMlaPair<T, U>, "Axpy supports only half+half, float+float, float+half on Ascend 310P");
  npu_model::issue::IssueAxpy(detail::TypeOf<T>(), detail::TypeOf<U>(), dst.view(), src.view(),
                              detail::Bits(scalarValue), npu_model::issue::LaneForm::Mask(mask, repeatTime, isSetMask),
                              detail::ToStrides(repeatParams), site);
}
template <typename T, typename U>
void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const U& scalarValue, const int32_t& count,
          Site site = Site::Here()) {
  static_assert(detail::kMlaPair<T, U>, "Axpy supports only half+half, float+float, float+half on Ascend 310P");
  constexpr uint32_t kSrcRepeat = sizeof(T) > sizeof(U) ? HALF_DEFAULT_REPEAT_STRIDE : DEFAULT_REPEAT_STRIDE;
  npu_model::issue::IssueAxpy(detail::TypeOf<T>(), detail::TypeOf<U>(), dst.view(), src.view(),
                              detail::Bits(scalarValue), npu_model::issue::LaneForm::Count(count),
                              {1, 1, DEFAULT_REPEAT_STRIDE, kSrcRepeat}, site);
}

namespace detail {
template <class T>
constexpr bool kDuplicateTypes = SupportType<T, half, int16_t, uint16_t, int32_t, uint32_t, float>();
}  // namespace detail

template <typename T, bool isSetMask = true>
void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, uint64_t mask, const uint8_t repeatTime,
               const uint16_t dstBlockStride, const uint8_t dstRepeatStride, Site site = Site::Here()) {
  static_assert(detail::kDuplicateTypes<T>, "Duplicate supports only 16- and 32-bit types on Ascend 310P");
  npu_model::issue::IssueDuplicate(sizeof(T), dst.view(), detail::Bits(scalarValue),
                                   npu_model::issue::LaneForm::Mask(mask, repeatTime, isSetMask),
                                   {dstBlockStride, 1, dstRepeatStride, 8}, site);
}
template <typename T, bool isSetMask = true>
void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, uint64_t mask[], const uint8_t repeatTime,
               const uint16_t dstBlockStride, const uint8_t dstRepeatStride, Site site = Site::Here()) {
  static_assert(detail::kDuplicateTypes<T>, "Duplicate supports only 16- and 32-bit types on Ascend 310P");
  npu_model::issue::IssueDuplicate(sizeof(T), dst.view(), detail::Bits(scalarValue),
                                   npu_model::issue::LaneForm::Bits(mask, repeatTime, isSetMask),
                                   {dstBlockStride, 1, dstRepeatStride, 8}, site);
}
template <typename T>
void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, const int32_t& count, Site site = Site::Here()) {
  static_assert(detail::kDuplicateTypes<T>, "Duplicate supports only 16- and 32-bit types on Ascend 310P");
  npu_model::issue::IssueDuplicate(sizeof(T), dst.view(), detail::Bits(scalarValue),
                                   npu_model::issue::LaneForm::Count(count), {}, site);
}

namespace detail {
template <class D, class S>
constexpr bool kCastPair = (std::is_same_v<S, half> && SupportType<D, float, int32_t, int16_t, int8_t, uint8_t>()) ||
                           (std::is_same_v<D, half> && SupportType<S, float, int32_t, int16_t, int8_t, uint8_t>()) ||
                           (std::is_same_v<D, int32_t> && std::is_same_v<S, float>) ||
                           (std::is_same_v<D, float> && std::is_same_v<S, int32_t>);
}  // namespace detail

template <typename T, typename U, bool isSetMask = true>
void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& roundMode, const uint64_t mask[],
          const uint8_t repeatTime, const UnaryRepeatParams& repeatParams, Site site = Site::Here()) {
  static_assert(detail::kCastPair<T, U>, "this Cast does not exist on Ascend 310P");
  npu_model::issue::IssueCast(detail::TypeOf<T>(), detail::TypeOf<U>(), static_cast<npu_model::isa::Round>(roundMode),
                              dst.view(), src.view(), npu_model::issue::LaneForm::Bits(mask, repeatTime, isSetMask),
                              detail::ToStrides(repeatParams), site);
}
template <typename T, typename U, bool isSetMask = true>
void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& roundMode, const uint64_t mask,
          const uint8_t repeatTime, const UnaryRepeatParams& repeatParams, Site site = Site::Here()) {
  static_assert(detail::kCastPair<T, U>, "this Cast does not exist on Ascend 310P");
  npu_model::issue::IssueCast(detail::TypeOf<T>(), detail::TypeOf<U>(), static_cast<npu_model::isa::Round>(roundMode),
                              dst.view(), src.view(), npu_model::issue::LaneForm::Mask(mask, repeatTime, isSetMask),
                              detail::ToStrides(repeatParams), site);
}
template <typename T, typename U>
void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& roundMode, const uint32_t count,
          Site site = Site::Here()) {
  static_assert(detail::kCastPair<T, U>, "this Cast does not exist on Ascend 310P");
  constexpr uint32_t kWide = sizeof(T) > sizeof(U) ? sizeof(T) : sizeof(U);
  npu_model::issue::IssueCast(
      detail::TypeOf<T>(), detail::TypeOf<U>(), static_cast<npu_model::isa::Round>(roundMode), dst.view(), src.view(),
      npu_model::issue::LaneForm::Count(count),
      {1, 1, static_cast<uint32_t>(8 * sizeof(T) / kWide), static_cast<uint32_t>(8 * sizeof(U) / kWide)}, site);
}

}  // namespace AscendC
