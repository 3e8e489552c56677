// SPDX-License-Identifier: Apache-2.0
// Reductions inside repeats and over whole tensors.
#pragma once

#include "issue/reduce.h"
#include "kernel_operator_vec_unary_intf.h"

namespace AscendC {
namespace detail {

constexpr npu_model::isa::ReduceOp ToReduceOp(ReduceType type) {
  return type == ReduceType::SUM   ? npu_model::isa::ReduceOp::kSum
         : type == ReduceType::MAX ? npu_model::isa::ReduceOp::kMax
                                   : npu_model::isa::ReduceOp::kMin;
}

inline npu_model::issue::LaneForm ReduceForm(const uint64_t mask[], int32_t repeat, bool set_mask) {
  return npu_model::issue::LaneForm::Bits(mask, static_cast<uint32_t>(repeat), set_mask);
}
inline npu_model::issue::LaneForm ReduceForm(int32_t mask, int32_t repeat, bool set_mask) {
  return npu_model::issue::LaneForm::Mask(static_cast<uint64_t>(static_cast<int64_t>(mask)),
                                          static_cast<uint32_t>(repeat), set_mask);
}

// Only (value, index) and (index, value) exist on this chip.
bool CheckOrder(ReduceOrder order, const char* name, Site site);

}  // namespace detail

// The two mask forms of one reduction; `mask` is a lane count or two words of lane bits.
#define ASCENDC_MODEL_REDUCE(Name, Template, Call, ...)                                                      \
  Template void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t mask,               \
                     const int32_t repeatTime, const int32_t dstRepStride, const int32_t srcBlkStride,       \
                     const int32_t srcRepStride, Site site = Site::Here()) {                                 \
    static_assert(detail::kFloating<T>, #Name " supports only half, float on Ascend 310P");                  \
    Call(#Name, __VA_ARGS__ detail::TypeOf<T>(), dst.view(), src.view(),                                     \
         detail::ReduceForm(mask, repeatTime, isSetMask), {dstRepStride, srcBlkStride, srcRepStride}, site); \
  }                                                                                                          \
  Template void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[],            \
                     const int32_t repeatTime, const int32_t dstRepStride, const int32_t srcBlkStride,       \
                     const int32_t srcRepStride, Site site = Site::Here()) {                                 \
    static_assert(detail::kFloating<T>, #Name " supports only half, float on Ascend 310P");                  \
    Call(#Name, __VA_ARGS__ detail::TypeOf<T>(), dst.view(), src.view(),                                     \
         detail::ReduceForm(mask, repeatTime, isSetMask), {dstRepStride, srcBlkStride, srcRepStride}, site); \
  }
#define ASCENDC_MODEL_T template <typename T, bool isSetMask = true>
#define ASCENDC_MODEL_COMMA ,

ASCENDC_MODEL_REDUCE(BlockReduceSum, ASCENDC_MODEL_T, npu_model::issue::IssueReduceBlocks,
                     npu_model::isa::ReduceOp::kSum ASCENDC_MODEL_COMMA)
ASCENDC_MODEL_REDUCE(BlockReduceMax, ASCENDC_MODEL_T, npu_model::issue::IssueReduceBlocks,
                     npu_model::isa::ReduceOp::kMax ASCENDC_MODEL_COMMA)
ASCENDC_MODEL_REDUCE(BlockReduceMin, ASCENDC_MODEL_T, npu_model::issue::IssueReduceBlocks,
                     npu_model::isa::ReduceOp::kMin ASCENDC_MODEL_COMMA)
ASCENDC_MODEL_REDUCE(PairReduceSum, ASCENDC_MODEL_T, npu_model::issue::IssueReducePairs, )
#undef ASCENDC_MODEL_REDUCE
#undef ASCENDC_MODEL_T
#undef ASCENDC_MODEL_COMMA

namespace detail {
template <class T, class M>
void WholeReduce(const char* name, npu_model::isa::ReduceOp op, const LocalTensor<T>& dst, const LocalTensor<T>& src,
                 M mask, int32_t repeat, int32_t dst_stride, int32_t src_block, int32_t src_repeat, bool set_mask,
                 ReduceOrder order, Site site) {
  static_assert(kFloating<T>, "WholeReduce and ReduceRepeat support only half, float on Ascend 310P");
  if (op != npu_model::isa::ReduceOp::kSum && !CheckOrder(order, name, site)) return;
  npu_model::issue::IssueReduceRepeats(name, op, TypeOf<T>(), order == ReduceOrder::ORDER_INDEX_VALUE, dst.view(),
                                       src.view(), ReduceForm(mask, repeat, set_mask),
                                       {dst_stride, src_block, src_repeat}, site);
}
}  // namespace detail

template <typename T, bool isSetMask = true>
void WholeReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[],
                    const int32_t repeatTime, const int32_t dstRepStride, const int32_t srcBlkStride,
                    const int32_t srcRepStride, Site site = Site::Here()) {
  detail::WholeReduce("WholeReduceSum", npu_model::isa::ReduceOp::kSum, dst, src, mask, repeatTime, dstRepStride,
                      srcBlkStride, srcRepStride, isSetMask, ReduceOrder::ORDER_VALUE_INDEX, site);
}
template <typename T, bool isSetMask = true>
void WholeReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t mask, const int32_t repeatTime,
                    const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,
                    Site site = Site::Here()) {
  detail::WholeReduce("WholeReduceSum", npu_model::isa::ReduceOp::kSum, dst, src, mask, repeatTime, dstRepStride,
                      srcBlkStride, srcRepStride, isSetMask, ReduceOrder::ORDER_VALUE_INDEX, site);
}
template <typename T, bool isSetMask = true>
void WholeReduceMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[],
                    const int32_t repeatTime, const int32_t dstRepStride, const int32_t srcBlkStride,
                    const int32_t srcRepStride, ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX,
                    Site site = Site::Here()) {
  detail::WholeReduce("WholeReduceMax", npu_model::isa::ReduceOp::kMax, dst, src, mask, repeatTime, dstRepStride,
                      srcBlkStride, srcRepStride, isSetMask, order, site);
}
template <typename T, bool isSetMask = true>
void WholeReduceMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t mask, const int32_t repeatTime,
                    const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,
                    ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX, Site site = Site::Here()) {
  detail::WholeReduce("WholeReduceMax", npu_model::isa::ReduceOp::kMax, dst, src, mask, repeatTime, dstRepStride,
                      srcBlkStride, srcRepStride, isSetMask, order, site);
}
template <typename T, bool isSetMask = true>
void WholeReduceMin(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[],
                    const int32_t repeatTime, const int32_t dstRepStride, const int32_t srcBlkStride,
                    const int32_t srcRepStride, ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX,
                    Site site = Site::Here()) {
  detail::WholeReduce("WholeReduceMin", npu_model::isa::ReduceOp::kMin, dst, src, mask, repeatTime, dstRepStride,
                      srcBlkStride, srcRepStride, isSetMask, order, site);
}
template <typename T, bool isSetMask = true>
void WholeReduceMin(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t mask, const int32_t repeatTime,
                    const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,
                    ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX, Site site = Site::Here()) {
  detail::WholeReduce("WholeReduceMin", npu_model::isa::ReduceOp::kMin, dst, src, mask, repeatTime, dstRepStride,
                      srcBlkStride, srcRepStride, isSetMask, order, site);
}

// The newer names.
template <ReduceType reduceType, typename T, typename U, bool isSetMask = true>
void ReduceRepeat(const LocalTensor<T>& dst, const LocalTensor<U>& src, const int32_t mask, const int32_t repeatTime,
                  const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,
                  ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX, Site site = Site::Here()) {
  static_assert(std::is_same_v<T, U>, "ReduceRepeat needs equal types on Ascend 310P");
  detail::WholeReduce("ReduceRepeat", detail::ToReduceOp(reduceType), dst, src, mask, repeatTime, dstRepStride,
                      srcBlkStride, srcRepStride, isSetMask, order, site);
}
template <ReduceType reduceType, typename T, typename U, bool isSetMask = true>
void ReduceRepeat(const LocalTensor<T>& dst, const LocalTensor<U>& src, const uint64_t mask[], const int32_t repeatTime,
                  const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,
                  ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX, Site site = Site::Here()) {
  static_assert(std::is_same_v<T, U>, "ReduceRepeat needs equal types on Ascend 310P");
  detail::WholeReduce("ReduceRepeat", detail::ToReduceOp(reduceType), dst, src, mask, repeatTime, dstRepStride,
                      srcBlkStride, srcRepStride, isSetMask, order, site);
}

namespace detail {
template <class T, class M>
void DataBlockReduce(ReduceType type, const LocalTensor<T>& dst, const LocalTensor<T>& src, M mask, int32_t repeat,
                     int32_t dst_stride, int32_t src_block, int32_t src_repeat, bool set_mask, Site site) {
  static_assert(kFloating<T>, "ReduceDataBlock supports only half, float on Ascend 310P");
  npu_model::issue::IssueReduceBlocks("ReduceDataBlock", ToReduceOp(type), TypeOf<T>(), dst.view(), src.view(),
                                      ReduceForm(mask, repeat, set_mask), {dst_stride, src_block, src_repeat}, site);
}
template <class T, class M>
void PairElemReduce(const LocalTensor<T>& dst, const LocalTensor<T>& src, M mask, int32_t repeat, int32_t dst_stride,
                    int32_t src_block, int32_t src_repeat, bool set_mask, Site site) {
  static_assert(kFloating<T>, "ReducePairElem supports only half, float on Ascend 310P");
  npu_model::issue::IssueReducePairs("ReducePairElem", TypeOf<T>(), dst.view(), src.view(),
                                     ReduceForm(mask, repeat, set_mask), {dst_stride, src_block, src_repeat}, site);
}
}  // namespace detail

template <ReduceType reduceType, typename T, typename U, bool isSetMask = true>
void ReduceDataBlock(const LocalTensor<T>& dst, const LocalTensor<U>& src, const int32_t mask, const int32_t repeatTime,
                     const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,
                     Site site = Site::Here()) {
  static_assert(std::is_same_v<T, U>, "ReduceDataBlock needs equal types on Ascend 310P");
  detail::DataBlockReduce(reduceType, dst, src, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride, isSetMask,
                          site);
}
template <ReduceType reduceType, typename T, typename U, bool isSetMask = true>
void ReduceDataBlock(const LocalTensor<T>& dst, const LocalTensor<U>& src, const uint64_t mask[],
                     const int32_t repeatTime, const int32_t dstRepStride, const int32_t srcBlkStride,
                     const int32_t srcRepStride, Site site = Site::Here()) {
  static_assert(std::is_same_v<T, U>, "ReduceDataBlock needs equal types on Ascend 310P");
  detail::DataBlockReduce(reduceType, dst, src, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride, isSetMask,
                          site);
}
template <ReduceType reduceType, typename T, typename U, bool isSetMask = true>
void ReducePairElem(const LocalTensor<T>& dst, const LocalTensor<U>& src, const int32_t mask, const int32_t repeatTime,
                    const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,
                    Site site = Site::Here()) {
  static_assert(std::is_same_v<T, U> && reduceType == ReduceType::SUM,
                "ReducePairElem only sums, with equal types, on Ascend 310P");
  detail::PairElemReduce(dst, src, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride, isSetMask, site);
}
template <ReduceType reduceType, typename T, typename U, bool isSetMask = true>
void ReducePairElem(const LocalTensor<T>& dst, const LocalTensor<U>& src, const uint64_t mask[],
                    const int32_t repeatTime, const int32_t dstRepStride, const int32_t srcBlkStride,
                    const int32_t srcRepStride, Site site = Site::Here()) {
  static_assert(std::is_same_v<T, U> && reduceType == ReduceType::SUM,
                "ReducePairElem only sums, with equal types, on Ascend 310P");
  detail::PairElemReduce(dst, src, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride, isSetMask, site);
}

}  // namespace AscendC
