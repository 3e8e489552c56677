// SPDX-License-Identifier: Apache-2.0
// Element-wise vector instructions with two sources.
#pragma once

#include "issue/vector.h"
#include "kernel_tensor.h"

namespace AscendC {
namespace detail {

inline npu_model::issue::Strides3 ToStrides(const BinaryRepeatParams& p) {
  return {p.dstBlkStride, p.src0BlkStride, p.src1BlkStride, p.dstRepStride, p.src0RepStride, p.src1RepStride};
}

template <class T>
constexpr bool kBinaryArith = SupportType<T, half, float, int16_t, int32_t>();
template <class T>
constexpr bool kFloating = SupportType<T, half, float>();
template <class T>
constexpr bool kBits16 = SupportType<T, int16_t, uint16_t>();
template <class T>
constexpr bool kReluArith = SupportType<T, half, float, int16_t>();

// dst, src type pairs of the multiply-add family.
template <class D, class S>
constexpr bool kMlaPair =
    (std::is_same_v<D, S> && kFloating<D>) || (std::is_same_v<D, float> && std::is_same_v<S, half>);

}  // namespace detail

#define ASCENDC_MODEL_BINARY(Name, Op, Supported, Types)                                                             \
  template <typename T, bool isSetMask = true>                                                                       \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask[],      \
            const uint8_t repeatTime, const BinaryRepeatParams& repeatParams, Site site = Site::Here()) {            \
    static_assert(Supported<T>, #Name " supports only " Types " on Ascend 310P");                                    \
    npu_model::issue::IssueBinary(npu_model::isa::BinaryOp::Op, #Name, detail::TypeOf<T>(), dst.view(), src0.view(), \
                                  src1.view(), npu_model::issue::LaneForm::Bits(mask, repeatTime, isSetMask),        \
                                  detail::ToStrides(repeatParams), site);                                            \
  }                                                                                                                  \
  template <typename T, bool isSetMask = true>                                                                       \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask,        \
            const uint8_t repeatTime, const BinaryRepeatParams& repeatParams, Site site = Site::Here()) {            \
    static_assert(Supported<T>, #Name " supports only " Types " on Ascend 310P");                                    \
    npu_model::issue::IssueBinary(npu_model::isa::BinaryOp::Op, #Name, detail::TypeOf<T>(), dst.view(), src0.view(), \
                                  src1.view(), npu_model::issue::LaneForm::Mask(mask, repeatTime, isSetMask),        \
                                  detail::ToStrides(repeatParams), site);                                            \
  }                                                                                                                  \
  template <typename T>                                                                                              \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const int32_t& count, \
            Site site = Site::Here()) {                                                                              \
    static_assert(Supported<T>, #Name " supports only " Types " on Ascend 310P");                                    \
    npu_model::issue::IssueBinary(npu_model::isa::BinaryOp::Op, #Name, detail::TypeOf<T>(), dst.view(), src0.view(), \
                                  src1.view(), npu_model::issue::LaneForm::Count(count), {}, site);                  \
  }

ASCENDC_MODEL_BINARY(Add, kAdd, detail::kBinaryArith, "half, float, int16_t, int32_t")
ASCENDC_MODEL_BINARY(Sub, kSub, detail::kBinaryArith, "half, float, int16_t, int32_t")
ASCENDC_MODEL_BINARY(Mul, kMul, detail::kBinaryArith, "half, float, int16_t, int32_t")
ASCENDC_MODEL_BINARY(Max, kMax, detail::kBinaryArith, "half, float, int16_t, int32_t")
ASCENDC_MODEL_BINARY(Min, kMin, detail::kBinaryArith, "half, float, int16_t, int32_t")
ASCENDC_MODEL_BINARY(Div, kDiv, detail::kFloating, "half, float")
ASCENDC_MODEL_BINARY(And, kAnd, detail::kBits16, "int16_t, uint16_t")
ASCENDC_MODEL_BINARY(Or, kOr, detail::kBits16, "int16_t, uint16_t")
ASCENDC_MODEL_BINARY(AddRelu, kAddRelu, detail::kReluArith, "half, float, int16_t")
ASCENDC_MODEL_BINARY(SubRelu, kSubRelu, detail::kReluArith, "half, float, int16_t")
#undef ASCENDC_MODEL_BINARY

// Half sources with a float destination: 64 lanes per repeat, the sources' repeat stride is 4 by default.
template <typename T, typename U, bool isSetMask = true>
void MulAddDst(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, const uint64_t mask[],
               const uint8_t repeatTime, const BinaryRepeatParams& repeatParams, Site site = Site::Here()) {
  static_assert(detail::kMlaPair<T, U>, "MulAddDst supports only half+half, float+float, float+half on Ascend 310P");
  npu_model::issue::IssueTernary(npu_model::isa::TernaryOp::kMulAddDst, "MulAddDst", detail::TypeOf<T>(),
                                 detail::TypeOf<U>(), dst.view(), src0.view(), src1.view(),
                                 npu_model::issue::LaneForm::Bits(mask, repeatTime, isSetMask),
                                 detail::ToStrides(repeatParams), site);
}
template <typename T, typename U, bool isSetMask = true>
void MulAddDst(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, uint64_t mask,
               const uint8_t repeatTime, const BinaryRepeatParams& repeatParams, Site site = Site::Here()) {
  static_assert(detail::kMlaPair<T, U>, "MulAddDst supports only half+half, float+float, float+half on Ascend 310P");
  npu_model::issue::IssueTernary(npu_model::isa::TernaryOp::kMulAddDst, "MulAddDst", detail::TypeOf<T>(),
                                 detail::TypeOf<U>(), dst.view(), src0.view(), src1.view(),
                                 npu_model::issue::LaneForm::Mask(mask, repeatTime, isSetMask),
                                 detail::ToStrides(repeatParams), site);
}
template <typename T, typename U>
void MulAddDst(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, const int32_t& count,
               Site site = Site::Here()) {
  static_assert(detail::kMlaPair<T, U>, "MulAddDst supports only half+half, float+float, float+half on Ascend 310P");
  constexpr uint32_t kSrcRepeat = sizeof(T) > sizeof(U) ? HALF_DEFAULT_REPEAT_STRIDE : DEFAULT_REPEAT_STRIDE;
  npu_model::issue::IssueTernary(npu_model::isa::TernaryOp::kMulAddDst, "MulAddDst", detail::TypeOf<T>(),
                                 detail::TypeOf<U>(), dst.view(), src0.view(), src1.view(),
                                 npu_model::issue::LaneForm::Count(count),
                                 {1, 1, 1, DEFAULT_REPEAT_STRIDE, kSrcRepeat, kSrcRepeat}, site);
}

// The remaining multiply-adds take one type.
#define ASCENDC_MODEL_FUSED(Name, Op)                                                                                  \
  template <typename T, bool isSetMask = true>                                                                         \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask[],        \
            const uint8_t repeatTime, const BinaryRepeatParams& repeatParams, Site site = Site::Here()) {              \
    static_assert(detail::kFloating<T>, #Name " supports only half, float on Ascend 310P");                            \
    npu_model::issue::IssueTernary(npu_model::isa::TernaryOp::Op, #Name, detail::TypeOf<T>(), detail::TypeOf<T>(),     \
                                   dst.view(), src0.view(), src1.view(),                                               \
                                   npu_model::issue::LaneForm::Bits(mask, repeatTime, isSetMask),                      \
                                   detail::ToStrides(repeatParams), site);                                             \
  }                                                                                                                    \
  template <typename T, bool isSetMask = true>                                                                         \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask,          \
            const uint8_t repeatTime, const BinaryRepeatParams& repeatParams, Site site = Site::Here()) {              \
    static_assert(detail::kFloating<T>, #Name " supports only half, float on Ascend 310P");                            \
    npu_model::issue::IssueTernary(npu_model::isa::TernaryOp::Op, #Name, detail::TypeOf<T>(), detail::TypeOf<T>(),     \
                                   dst.view(), src0.view(), src1.view(),                                               \
                                   npu_model::issue::LaneForm::Mask(mask, repeatTime, isSetMask),                      \
                                   detail::ToStrides(repeatParams), site);                                             \
  }                                                                                                                    \
  template <typename T>                                                                                                \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const int32_t& count,   \
            Site site = Site::Here()) {                                                                                \
    static_assert(detail::kFloating<T>, #Name " supports only half, float on Ascend 310P");                            \
    npu_model::issue::IssueTernary(npu_model::isa::TernaryOp::Op, #Name, detail::TypeOf<T>(), detail::TypeOf<T>(),     \
                                   dst.view(), src0.view(), src1.view(), npu_model::issue::LaneForm::Count(count), {}, \
                                   site);                                                                              \
  }
ASCENDC_MODEL_FUSED(FusedMulAdd, kFusedMulAdd)
ASCENDC_MODEL_FUSED(MulAddRelu, kMulAddRelu)
ASCENDC_MODEL_FUSED(FusedMulAddRelu, kFusedMulAddRelu)
#undef ASCENDC_MODEL_FUSED

}  // namespace AscendC
