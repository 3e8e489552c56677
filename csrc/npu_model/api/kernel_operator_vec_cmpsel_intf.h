// SPDX-License-Identifier: Apache-2.0
// Compare and Select.
#pragma once

#include "issue/compare.h"
#include "kernel_operator_vec_unary_intf.h"

namespace AscendC {
namespace detail {

constexpr npu_model::isa::CompareOp ToCompareOp(CMPMODE mode) { return static_cast<npu_model::isa::CompareOp>(mode); }
constexpr npu_model::isa::SelectMode ToSelectMode(SELMODE mode) {
  return static_cast<npu_model::isa::SelectMode>(mode);
}
template <class T, class U>
constexpr void CheckCompare() {
  static_assert(kFloating<T> && SupportType<U, int8_t, uint8_t>(),
                "Compare supports only half, float with a mask of int8_t, uint8_t on Ascend 310P");
}
template <class T, class U>
constexpr void CheckSelect() {
  static_assert(kFloating<T> && SupportType<U, uint8_t, uint16_t, uint32_t, uint64_t>(),
                "Select supports only half, float with an unsigned mask on Ascend 310P");
}
// Mode 1 takes a scalar, modes 0 and 2 a tensor.
bool CheckSelectMode(SELMODE mode, bool scalar, Site site);

}  // namespace detail

// The mask argument of the repeat forms has no effect on this chip: every lane is compared.
template <typename T, typename U, bool isSetMask = true>
void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE cmpMode,
             const uint64_t[], uint8_t repeatTime, const BinaryRepeatParams& repeatParams, Site site = Site::Here()) {
  detail::CheckCompare<T, U>();
  npu_model::issue::IssueCompare(detail::ToCompareOp(cmpMode), detail::TypeOf<T>(), dst.view(), src0.view(),
                                 src1.view(), repeatTime, detail::ToStrides(repeatParams), site);
}
template <typename T, typename U, bool isSetMask = true>
void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE cmpMode,
             const uint64_t, uint8_t repeatTime, const BinaryRepeatParams& repeatParams, Site site = Site::Here()) {
  detail::CheckCompare<T, U>();
  npu_model::issue::IssueCompare(detail::ToCompareOp(cmpMode), detail::TypeOf<T>(), dst.view(), src0.view(),
                                 src1.view(), repeatTime, detail::ToStrides(repeatParams), site);
}
template <typename T, typename U>
void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE cmpMode,
             uint32_t count, Site site = Site::Here()) {
  detail::CheckCompare<T, U>();
  npu_model::issue::CompareCount(detail::ToCompareOp(cmpMode), detail::TypeOf<T>(), dst.view(), src0.view(),
                                 src1.view(), count, site);
}
// Into the compare-mask register.
template <typename T, bool isSetMask = true>
void Compare(const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE cmpMode, const uint64_t mask[],
             const BinaryRepeatParams& repeatParams, Site site = Site::Here()) {
  detail::CheckCompare<T, uint8_t>();
  npu_model::issue::IssueCompareToRegister(detail::ToCompareOp(cmpMode), detail::TypeOf<T>(), src0.view(), src1.view(),
                                           npu_model::issue::LaneForm::Bits(mask, 1, isSetMask),
                                           detail::ToStrides(repeatParams), site);
}
template <typename T, bool isSetMask = true>
void Compare(const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE cmpMode, const uint64_t mask,
             const BinaryRepeatParams& repeatParams, Site site = Site::Here()) {
  detail::CheckCompare<T, uint8_t>();
  npu_model::issue::IssueCompareToRegister(detail::ToCompareOp(cmpMode), detail::TypeOf<T>(), src0.view(), src1.view(),
                                           npu_model::issue::LaneForm::Mask(mask, 1, isSetMask),
                                           detail::ToStrides(repeatParams), site);
}
template <typename T>
void GetCmpMask(const LocalTensor<T>& dst, Site site = Site::Here()) {
  npu_model::issue::IssueGetCmpMask(dst.view(), site);
}
template <typename T>
void SetCmpMask(const LocalTensor<T>& src, Site site = Site::Here()) {
  npu_model::issue::IssueSetCmpMask(src.view(), site);
}

#define ASCENDC_MODEL_COMPARES(Name)                                                                                   \
  template <typename T, typename U, bool isSetMask = true>                                                             \
  void Name(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar, CMPMODE cmpMode,                \
            const uint64_t[], uint8_t repeatTime, const UnaryRepeatParams& repeatParams, Site site = Site::Here()) {   \
    detail::CheckCompare<T, U>();                                                                                      \
    npu_model::issue::IssueCompareScalar(detail::ToCompareOp(cmpMode), detail::TypeOf<T>(), dst.view(), src0.view(),   \
                                         detail::Bits(src1Scalar), repeatTime, detail::ToStrides(repeatParams), site); \
  }                                                                                                                    \
  template <typename T, typename U, bool isSetMask = true>                                                             \
  void Name(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar, CMPMODE cmpMode,                \
            const uint64_t, uint8_t repeatTime, const UnaryRepeatParams& repeatParams, Site site = Site::Here()) {     \
    detail::CheckCompare<T, U>();                                                                                      \
    npu_model::issue::IssueCompareScalar(detail::ToCompareOp(cmpMode), detail::TypeOf<T>(), dst.view(), src0.view(),   \
                                         detail::Bits(src1Scalar), repeatTime, detail::ToStrides(repeatParams), site); \
  }                                                                                                                    \
  template <typename T, typename U>                                                                                    \
  void Name(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar, CMPMODE cmpMode,                \
            uint32_t count, Site site = Site::Here()) {                                                                \
    detail::CheckCompare<T, U>();                                                                                      \
    npu_model::issue::CompareScalarCount(detail::ToCompareOp(cmpMode), detail::TypeOf<T>(), dst.view(), src0.view(),   \
                                         detail::Bits(src1Scalar), count, site);                                       \
  }
ASCENDC_MODEL_COMPARES(Compares)
ASCENDC_MODEL_COMPARES(CompareScalar)
#undef ASCENDC_MODEL_COMPARES

template <typename T, typename U, bool isSetMask = true>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
            const LocalTensor<T>& src1, SELMODE selMode, uint64_t mask[], uint8_t repeatTime,
            const BinaryRepeatParams& repeatParams, Site site = Site::Here()) {
  detail::CheckSelect<T, U>();
  if (!detail::CheckSelectMode(selMode, false, site)) return;
  const npu_model::issue::View other = src1.view();
  npu_model::issue::SelectByTensor(
      detail::ToSelectMode(selMode), detail::TypeOf<T>(), dst.view(), selMask.view(), src0.view(), &other, 0,
      npu_model::issue::LaneForm::Bits(mask, repeatTime, isSetMask), detail::ToStrides(repeatParams), site);
}
template <typename T, typename U, bool isSetMask = true>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
            const LocalTensor<T>& src1, SELMODE selMode, uint64_t mask, uint8_t repeatTime,
            const BinaryRepeatParams& repeatParams, Site site = Site::Here()) {
  detail::CheckSelect<T, U>();
  if (!detail::CheckSelectMode(selMode, false, site)) return;
  const npu_model::issue::View other = src1.view();
  npu_model::issue::SelectByTensor(
      detail::ToSelectMode(selMode), detail::TypeOf<T>(), dst.view(), selMask.view(), src0.view(), &other, 0,
      npu_model::issue::LaneForm::Mask(mask, repeatTime, isSetMask), detail::ToStrides(repeatParams), site);
}
template <typename T, typename U>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
            const LocalTensor<T>& src1, SELMODE selMode, uint32_t count, Site site = Site::Here()) {
  detail::CheckSelect<T, U>();
  if (!detail::CheckSelectMode(selMode, false, site)) return;
  const npu_model::issue::View other = src1.view();
  npu_model::issue::SelectByTensor(detail::ToSelectMode(selMode), detail::TypeOf<T>(), dst.view(), selMask.view(),
                                   src0.view(), &other, 0, npu_model::issue::LaneForm::Count(count), {}, site);
}
// With a scalar in place of src1.
template <typename T, typename U, bool isSetMask = true>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, T src1,
            SELMODE selMode, uint64_t mask[], uint8_t repeatTime, const BinaryRepeatParams& repeatParams,
            Site site = Site::Here()) {
  detail::CheckSelect<T, U>();
  if (!detail::CheckSelectMode(selMode, true, site)) return;
  npu_model::issue::SelectByTensor(detail::ToSelectMode(selMode), detail::TypeOf<T>(), dst.view(), selMask.view(),
                                   src0.view(), nullptr, detail::Bits(src1),
                                   npu_model::issue::LaneForm::Bits(mask, repeatTime, isSetMask),
                                   detail::ToStrides(repeatParams), site);
}
template <typename T, typename U, bool isSetMask = true>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, T src1,
            SELMODE selMode, uint64_t mask, uint8_t repeatTime, const BinaryRepeatParams& repeatParams,
            Site site = Site::Here()) {
  detail::CheckSelect<T, U>();
  if (!detail::CheckSelectMode(selMode, true, site)) return;
  npu_model::issue::SelectByTensor(detail::ToSelectMode(selMode), detail::TypeOf<T>(), dst.view(), selMask.view(),
                                   src0.view(), nullptr, detail::Bits(src1),
                                   npu_model::issue::LaneForm::Mask(mask, repeatTime, isSetMask),
                                   detail::ToStrides(repeatParams), site);
}
template <typename T, typename U>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, T src1,
            SELMODE selMode, uint32_t count, Site site = Site::Here()) {
  detail::CheckSelect<T, U>();
  if (!detail::CheckSelectMode(selMode, true, site)) return;
  npu_model::issue::SelectByTensor(detail::ToSelectMode(selMode), detail::TypeOf<T>(), dst.view(), selMask.view(),
                                   src0.view(), nullptr, detail::Bits(src1), npu_model::issue::LaneForm::Count(count),
                                   {}, site);
}
// By the compare-mask register as Compare, SetCmpMask or an earlier Select left it; the lane mask stays as it is.
template <typename T, SELMODE selMode>
void Select(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint8_t repeatTime,
            const BinaryRepeatParams& repeatParams, Site site = Site::Here()) {
  static_assert(detail::kFloating<T>, "Select supports only half, float on Ascend 310P");
  static_assert(selMode == SELMODE::VSEL_CMPMASK_SPR, "the model has only VSEL_CMPMASK_SPR for this form of Select");
  npu_model::issue::IssueSelectByRegister(detail::TypeOf<T>(), dst.view(), src0.view(), src1.view(),
                                          npu_model::issue::LaneForm::Mask(1, repeatTime, false),
                                          detail::ToStrides(repeatParams), site);
}

namespace detail {
constexpr Site kOperatorSite{"(tensor operator)", 0};
}  // namespace detail

template <typename T>
void LocalTensor<T>::operator=(const detail::TensorExpression<T>& expression) {
  const auto count = static_cast<int32_t>(GetSize());
  if constexpr (detail::kBits16<T>) {
    if (expression.op == detail::TensorOp::kOr)
      return Or(*this, expression.left, expression.right, count, detail::kOperatorSite);
    if (expression.op == detail::TensorOp::kAnd)
      return And(*this, expression.left, expression.right, count, detail::kOperatorSite);
  }
  if constexpr (detail::kFloating<T>) {
    if (expression.op == detail::TensorOp::kDiv)
      return Div(*this, expression.left, expression.right, count, detail::kOperatorSite);
  }
  if constexpr (detail::kBinaryArith<T>) {
    if (expression.op == detail::TensorOp::kAdd)
      return Add(*this, expression.left, expression.right, count, detail::kOperatorSite);
    if (expression.op == detail::TensorOp::kSub)
      return Sub(*this, expression.left, expression.right, count, detail::kOperatorSite);
    if (expression.op == detail::TensorOp::kMul)
      return Mul(*this, expression.left, expression.right, count, detail::kOperatorSite);
  }
  npu_model::Core::Current().Fault(npu_model::Rule::kUnsupported, "operator", detail::kOperatorSite,
                                   "this tensor operator does not exist for the element type on this chip");
}
// Comparisons run over the sources' whole size.
template <typename T>
void LocalTensor<T>::operator=(const detail::TensorComparison<float>& comparison) {
  Compare(*this, comparison.left, comparison.right, comparison.mode, comparison.left.GetSize(), detail::kOperatorSite);
}
template <typename T>
void LocalTensor<T>::operator=(const detail::TensorComparison<half>& comparison) {
  Compare(*this, comparison.left, comparison.right, comparison.mode, comparison.left.GetSize(), detail::kOperatorSite);
}

}  // namespace AscendC
