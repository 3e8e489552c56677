// SPDX-License-Identifier: Apache-2.0
// Vector instructions that scale or add and narrow in one go, and the register they take their scale from.
#pragma once

#include "isa/quantize.h"
#include "issue/quantize.h"
#include "kernel_operator_vec_unary_intf.h"

namespace AscendC {
namespace detail {

inline void WriteDeqScale(uint64_t word, bool in_ub, Site site) {
  npu_model::Core& core = npu_model::Core::Current();
  core.spr().deq_scale = word;
  core.spr().deq_in_ub = in_ub;
  core.SprWrite(site);
}

template <class D, class S>
constexpr bool kDequantPair = std::is_same_v<S, int16_t> && SupportType<D, int8_t, uint8_t>();
template <class D, class S>
constexpr bool kReluCastPair = (std::is_same_v<S, float> && std::is_same_v<D, half>) ||
                               (SupportType<S, half, int16_t>() && std::is_same_v<D, int8_t>);

template <class D, class S>
constexpr bool kMulCastPair = std::is_same_v<S, half> && SupportType<D, int8_t, uint8_t>();

template <class T>
npu_model::issue::DequantForm ToForm(bool per_lane, bool high) {
  return {per_lane, high, std::is_same_v<T, int8_t>};
}

// Of count-form calls: what a repeat advances, in 32-byte blocks.
template <class D, class S>
constexpr npu_model::issue::Strides3 kNarrowing = {
    1, 1, 1, DEFAULT_REPEAT_STRIDE * sizeof(D) / sizeof(S), DEFAULT_REPEAT_STRIDE, DEFAULT_REPEAT_STRIDE};

}  // namespace detail

// For int32 -> half (Cast, AddDeqRelu).
inline void SetDeqScale(half scale, Site site = Site::Here()) { detail::WriteDeqScale(scale.bits, false, site); }
// For int16 -> 8 bits, all lanes alike.
inline void SetDeqScale(float scale, int16_t offset, bool signMode, Site site = Site::Here()) {
  detail::WriteDeqScale(npu_model::isa::Dequant::Pack(scale, offset, signMode), false, site);
}
// For int16 -> 8 bits, by position in a block: S stores 16 words to `vdeq` (128 bytes), which CastDequant reads.
template <typename T>
void SetDeqScale(const LocalTensor<T>& vdeq, const VdeqInfo& vdeqInfo, Site site = Site::Here()) {
  static_assert(std::is_same_v<T, uint64_t>, "SetDeqScale takes a tensor of uint64_t");
  for (uint32_t i = 0; i < VDEQ_TENSOR_SIZE; ++i) {
    vdeq.SetValue(
        i, npu_model::isa::Dequant::Pack(vdeqInfo.vdeqScale[i], vdeqInfo.vdeqOffset[i], vdeqInfo.vdeqSignMode[i]),
        site);
  }
  detail::WriteDeqScale(vdeq.view().address, true, site);
}

template <typename T, typename U, bool isSetMask = true, bool isVecDeq = true, bool halfBlock = true>
void CastDequant(const LocalTensor<T>& dst, const LocalTensor<U>& src, const uint64_t mask[], uint8_t repeatTime,
                 const UnaryRepeatParams& repeatParams, Site site = Site::Here()) {
  static_assert(detail::kDequantPair<T, U>, "CastDequant supports only int16_t to int8_t, uint8_t on Ascend 310P");
  npu_model::issue::IssueCastDequant(dst.view(), src.view(), detail::ToForm<T>(isVecDeq, halfBlock),
                                     npu_model::issue::LaneForm::Bits(mask, repeatTime, isSetMask),
                                     detail::ToStrides(repeatParams), site);
}
template <typename T, typename U, bool isSetMask = true, bool isVecDeq = true, bool halfBlock = true>
void CastDequant(const LocalTensor<T>& dst, const LocalTensor<U>& src, const int32_t mask, uint8_t repeatTime,
                 const UnaryRepeatParams& repeatParams, Site site = Site::Here()) {
  static_assert(detail::kDequantPair<T, U>, "CastDequant supports only int16_t to int8_t, uint8_t on Ascend 310P");
  npu_model::issue::IssueCastDequant(
      dst.view(), src.view(), detail::ToForm<T>(isVecDeq, halfBlock),
      npu_model::issue::LaneForm::Mask(static_cast<uint64_t>(mask), repeatTime, isSetMask),
      detail::ToStrides(repeatParams), site);
}
template <typename T, typename U, bool isVecDeq = true, bool halfBlock = true>
void CastDequant(const LocalTensor<T>& dst, const LocalTensor<U>& src, const uint32_t count, Site site = Site::Here()) {
  static_assert(detail::kDequantPair<T, U>, "CastDequant supports only int16_t to int8_t, uint8_t on Ascend 310P");
  npu_model::issue::IssueCastDequant(dst.view(), src.view(), detail::ToForm<T>(isVecDeq, halfBlock),
                                     npu_model::issue::LaneForm::Count(count), {}, site);
}
// The name before CANN 8.2.
template <typename T, typename U, bool isSetMask = true, bool isVecDeq = true, bool halfBlock = true>
void CastDeq(const LocalTensor<T>& dst, const LocalTensor<U>& src, const uint64_t mask[], uint8_t repeatTime,
             const UnaryRepeatParams& repeatParams, Site site = Site::Here()) {
  CastDequant<T, U, isSetMask, isVecDeq, halfBlock>(dst, src, mask, repeatTime, repeatParams, site);
}
template <typename T, typename U, bool isSetMask = true, bool isVecDeq = true, bool halfBlock = true>
void CastDeq(const LocalTensor<T>& dst, const LocalTensor<U>& src, const int32_t mask, uint8_t repeatTime,
             const UnaryRepeatParams& repeatParams, Site site = Site::Here()) {
  CastDequant<T, U, isSetMask, isVecDeq, halfBlock>(dst, src, mask, repeatTime, repeatParams, site);
}
template <typename T, typename U, bool isVecDeq = true, bool halfBlock = true>
void CastDeq(const LocalTensor<T>& dst, const LocalTensor<U>& src, const uint32_t count, Site site = Site::Here()) {
  CastDequant<T, U, isVecDeq, halfBlock>(dst, src, count, site);
}

#define ASCENDC_MODEL_BINARY_CAST(Name, Op, Pairs, Types)                                                             \
  template <typename T, typename U, bool isSetMask = true>                                                            \
  void Name(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, uint64_t mask[],       \
            const uint8_t repeatTime, const BinaryRepeatParams& repeatParams, Site site = Site::Here()) {             \
    static_assert(detail::Pairs<T, U>, #Name " supports only " Types " on Ascend 310P");                              \
    npu_model::issue::IssueBinaryCast(npu_model::isa::BinaryOp::Op, #Name, detail::TypeOf<T>(), detail::TypeOf<U>(),  \
                                      dst.view(), src0.view(), src1.view(),                                           \
                                      npu_model::issue::LaneForm::Bits(mask, repeatTime, isSetMask),                  \
                                      detail::ToStrides(repeatParams), site);                                         \
  }                                                                                                                   \
  template <typename T, typename U, bool isSetMask = true>                                                            \
  void Name(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, uint64_t mask,         \
            const uint8_t repeatTime, const BinaryRepeatParams& repeatParams, Site site = Site::Here()) {             \
    static_assert(detail::Pairs<T, U>, #Name " supports only " Types " on Ascend 310P");                              \
    npu_model::issue::IssueBinaryCast(npu_model::isa::BinaryOp::Op, #Name, detail::TypeOf<T>(), detail::TypeOf<U>(),  \
                                      dst.view(), src0.view(), src1.view(),                                           \
                                      npu_model::issue::LaneForm::Mask(mask, repeatTime, isSetMask),                  \
                                      detail::ToStrides(repeatParams), site);                                         \
  }                                                                                                                   \
  template <typename T, typename U>                                                                                   \
  void Name(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, const uint32_t count,  \
            Site site = Site::Here()) {                                                                               \
    static_assert(detail::Pairs<T, U>, #Name " supports only " Types " on Ascend 310P");                              \
    npu_model::issue::IssueBinaryCast(npu_model::isa::BinaryOp::Op, #Name, detail::TypeOf<T>(), detail::TypeOf<U>(),  \
                                      dst.view(), src0.view(), src1.view(), npu_model::issue::LaneForm::Count(count), \
                                      detail::kNarrowing<T, U>, site);                                                \
  }

ASCENDC_MODEL_BINARY_CAST(AddReluCast, kAddRelu, kReluCastPair, "float to half, half to int8_t, int16_t to int8_t")
ASCENDC_MODEL_BINARY_CAST(SubReluCast, kSubRelu, kReluCastPair, "float to half, half to int8_t, int16_t to int8_t")
ASCENDC_MODEL_BINARY_CAST(MulCast, kMul, kMulCastPair, "half to int8_t, uint8_t")
#undef ASCENDC_MODEL_BINARY_CAST

// half(max(src0 + src1, 0) * scale), the scale from SetDeqScale(half).
template <bool isSetMask = true>
void AddDeqRelu(const LocalTensor<half>& dst, const LocalTensor<int32_t>& src0, const LocalTensor<int32_t>& src1,
                uint64_t mask[], const uint8_t repeatTime, const BinaryRepeatParams& repeatParams,
                Site site = Site::Here()) {
  npu_model::issue::IssueAddDeqRelu(dst.view(), src0.view(), src1.view(),
                                    npu_model::issue::LaneForm::Bits(mask, repeatTime, isSetMask),
                                    detail::ToStrides(repeatParams), site);
}
template <bool isSetMask = true>
void AddDeqRelu(const LocalTensor<half>& dst, const LocalTensor<int32_t>& src0, const LocalTensor<int32_t>& src1,
                const uint64_t mask, const uint8_t repeatTime, const BinaryRepeatParams& repeatParams,
                Site site = Site::Here()) {
  npu_model::issue::IssueAddDeqRelu(dst.view(), src0.view(), src1.view(),
                                    npu_model::issue::LaneForm::Mask(mask, repeatTime, isSetMask),
                                    detail::ToStrides(repeatParams), site);
}
inline void AddDeqRelu(const LocalTensor<half>& dst, const LocalTensor<int32_t>& src0, const LocalTensor<int32_t>& src1,
                       const int32_t& count, Site site = Site::Here()) {
  npu_model::issue::IssueAddDeqRelu(dst.view(), src0.view(), src1.view(), npu_model::issue::LaneForm::Count(count),
                                    detail::kNarrowing<half, int32_t>, site);
}

}  // namespace AscendC
