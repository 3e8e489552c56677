// SPDX-License-Identifier: Apache-2.0
// Calls that the library builds from several instructions on this chip: ReduceSum/Max/Min, Brcb, CreateVecIndex.
#pragma once

#include "issue/library.h"
#include "issue/reduce.h"
#include "kernel_operator_vec_reduce_intf.h"

namespace AscendC {

template <typename T>
void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer,
               const int32_t mask, const int32_t repeatTime, const int32_t srcRepStride, Site site = Site::Here()) {
  static_assert(detail::kFloating<T>, "ReduceSum supports only half, float on Ascend 310P");
  npu_model::issue::ReduceSumAll(detail::TypeOf<T>(), dst.view(), src.view(), sharedTmpBuffer.view(),
                                 detail::ReduceForm(mask, repeatTime, true), static_cast<uint32_t>(srcRepStride), site);
}
template <typename T>
void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer,
               const uint64_t mask[], const int32_t repeatTime, const int32_t srcRepStride, Site site = Site::Here()) {
  static_assert(detail::kFloating<T>, "ReduceSum supports only half, float on Ascend 310P");
  npu_model::issue::ReduceSumAll(detail::TypeOf<T>(), dst.view(), src.view(), sharedTmpBuffer.view(),
                                 detail::ReduceForm(mask, repeatTime, true), static_cast<uint32_t>(srcRepStride), site);
}
template <typename T, bool isSetMask = true>
void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer,
               const int32_t count, Site site = Site::Here()) {
  static_assert(detail::kFloating<T>, "ReduceSum supports only half, float on Ascend 310P");
  npu_model::issue::ReduceSumAll(detail::TypeOf<T>(), dst.view(), src.view(), sharedTmpBuffer.view(),
                                 npu_model::issue::LaneForm::Count(count), DEFAULT_REPEAT_STRIDE, site);
}

#define ASCENDC_MODEL_EXTREME(Name, Op)                                                                           \
  template <typename T>                                                                                           \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer,          \
            const int32_t mask, const int32_t repeatTime, const int32_t srcRepStride, bool calIndex = 0,          \
            Site site = Site::Here()) {                                                                           \
    static_assert(detail::kFloating<T>, #Name " supports only half, float on Ascend 310P");                       \
    npu_model::issue::ReduceExtremeAll(npu_model::isa::ReduceOp::Op, detail::TypeOf<T>(), dst.view(), src.view(), \
                                       sharedTmpBuffer.view(), detail::ReduceForm(mask, repeatTime, true),        \
                                       static_cast<uint32_t>(srcRepStride), calIndex, site);                      \
  }                                                                                                               \
  template <typename T>                                                                                           \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer,          \
            const uint64_t mask[], const int32_t repeatTime, const int32_t srcRepStride, bool calIndex = 0,       \
            Site site = Site::Here()) {                                                                           \
    static_assert(detail::kFloating<T>, #Name " supports only half, float on Ascend 310P");                       \
    npu_model::issue::ReduceExtremeAll(npu_model::isa::ReduceOp::Op, detail::TypeOf<T>(), dst.view(), src.view(), \
                                       sharedTmpBuffer.view(), detail::ReduceForm(mask, repeatTime, true),        \
                                       static_cast<uint32_t>(srcRepStride), calIndex, site);                      \
  }                                                                                                               \
  template <typename T>                                                                                           \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer,          \
            const int32_t count, bool calIndex = 0, Site site = Site::Here()) {                                   \
    static_assert(detail::kFloating<T>, #Name " supports only half, float on Ascend 310P");                       \
    npu_model::issue::ReduceExtremeAll(npu_model::isa::ReduceOp::Op, detail::TypeOf<T>(), dst.view(), src.view(), \
                                       sharedTmpBuffer.view(), npu_model::issue::LaneForm::Count(count),          \
                                       DEFAULT_REPEAT_STRIDE, calIndex, site);                                    \
  }
ASCENDC_MODEL_EXTREME(ReduceMax, kMax)
ASCENDC_MODEL_EXTREME(ReduceMin, kMin)
#undef ASCENDC_MODEL_EXTREME

// Each of the 8 elements of a repeat fills a 32-byte block of dst.
template <typename T>
void Brcb(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint8_t repeatTime,
          const BrcbRepeatParams& repeatParams, Site site = Site::Here()) {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4, "Brcb supports only 16- and 32-bit types on Ascend 310P");
  npu_model::issue::BroadcastBlocks(sizeof(T), dst.view(), src.view(), repeatTime, repeatParams.dstBlkStride,
                                    repeatParams.dstRepStride, site);
}

// firstValue, firstValue + 1, ...: the first block by the scalar unit, the rest by Adds.
template <typename T>
void CreateVecIndex(LocalTensor<T> dst, const T& firstValue, uint32_t count, Site site = Site::Here()) {
  static_assert(detail::kBinaryArith<T>, "CreateVecIndex supports only half, float, int16_t, int32_t on Ascend 310P");
  npu_model::Core& core = npu_model::Core::Current();
  npu_model::Core::LibraryScope scope(core);
  constexpr uint32_t kBlock = ONE_BLK_SIZE / sizeof(T);
  constexpr uint32_t kRepeat = ONE_REPEAT_BYTE_SIZE / sizeof(T);
  const uint32_t head = count < kBlock ? count : kBlock;
  for (uint32_t i = 0; i < head; ++i) {
    dst.SetValue(i, static_cast<T>(static_cast<float>(firstValue) + static_cast<float>(i)), site);
  }
  npu_model::issue::SetAndWait(core, npu_model::Queue::kS, npu_model::Queue::kV, site);
  // Blocks up to one repeat, then repeats: each is its predecessor plus a constant.
  for (uint32_t done = head; done < count;) {
    const uint32_t step = done < kRepeat ? kBlock : kRepeat;
    const uint32_t lanes = count - done < step ? count - done : step;
    Adds(dst[done], dst[done - step], static_cast<T>(static_cast<float>(step)), static_cast<uint64_t>(lanes), 1,
         UnaryRepeatParams(), site);
    detail::Barrier(PIPE_V, site);
    done += lanes;
  }
}
template <typename T>
void CreateVecIndex(LocalTensor<T>& dst, const T& firstValue, uint64_t mask, uint8_t repeatTime, uint16_t dstBlkStride,
                    uint8_t dstRepStride, Site site = Site::Here()) {
  uint64_t bits[2];
  npu_model::isa::Lanes::SetPrefix(bits, static_cast<uint32_t>(mask));
  CreateVecIndex(dst, firstValue, bits, repeatTime, dstBlkStride, dstRepStride, site);
}
template <typename T>
void CreateVecIndex(LocalTensor<T>& dst, const T& firstValue, uint64_t mask[], uint8_t repeatTime,
                    uint16_t dstBlkStride, uint8_t dstRepStride, Site site = Site::Here()) {
  static_assert(detail::kBinaryArith<T>, "CreateVecIndex supports only half, float, int16_t, int32_t on Ascend 310P");
  npu_model::Core& core = npu_model::Core::Current();
  npu_model::Core::LibraryScope scope(core);
  constexpr uint32_t kBlock = ONE_BLK_SIZE / sizeof(T);
  constexpr uint32_t kRepeat = ONE_REPEAT_BYTE_SIZE / sizeof(T);
  for (uint32_t lane = 0; lane < kRepeat; ++lane) {
    if (((mask[lane / 64] >> (lane % 64)) & 1) == 0) continue;
    dst.SetValue(lane / kBlock * kBlock * dstBlkStride + lane % kBlock,
                 static_cast<T>(static_cast<float>(firstValue) + static_cast<float>(lane)), site);
  }
  npu_model::issue::SetAndWait(core, npu_model::Queue::kS, npu_model::Queue::kV, site);
  const UnaryRepeatParams strides(dstBlkStride, dstBlkStride, DEFAULT_REPEAT_STRIDE, DEFAULT_REPEAT_STRIDE);
  for (uint32_t r = 0; r + 1 < repeatTime; ++r) {
    const uint32_t pitch = dstRepStride * kBlock;
    Adds(dst[(r + 1) * pitch], dst[r * pitch], static_cast<T>(static_cast<float>(kRepeat)), mask, 1, strides, site);
    detail::Barrier(PIPE_V, site);
  }
}

}  // namespace AscendC
