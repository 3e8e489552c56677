// SPDX-License-Identifier: Apache-2.0
// Launch context, mask registers, atomics, caches, debug output.
#pragma once

#include "isa/convert.h"
#include "kernel_tensor.h"

namespace AscendC {

inline int64_t GetBlockNum() { return npu_model::Core::Current().block_num(); }
inline int64_t GetBlockIdx() { return npu_model::Core::Current().block_idx(); }
inline int64_t GetSubBlockIdx() { return 0; }
inline int64_t GetSubBlockNum() { return 1; }
inline int64_t GetTaskRatio() { return 1; }
constexpr int16_t GetDataBlockSizeInBytes() { return ONE_BLK_SIZE; }
inline void GetArchVersion(uint32_t& coreVersion) { coreVersion = 0x200; }

// The first 2 MiB of the workspace belong to the system.
inline __gm__ uint8_t* GetUserWorkspace(GM_ADDR workspace) {
  return workspace == nullptr ? nullptr : workspace + RESERVED_WORKSPACE;
}
inline void SetSysWorkspace(GM_ADDR) {}

template <typename T, MaskMode mode = MaskMode::NORMAL>
void SetVectorMask(const uint64_t maskHigh, const uint64_t maskLow, Site site = Site::Here()) {
  npu_model::Core& core = npu_model::Core::Current();
  core.spr().mask_high = maskHigh;
  core.spr().mask_low = maskLow;
  core.SprWrite(site);
}
template <typename T, MaskMode mode = MaskMode::NORMAL>
void SetVectorMask(int32_t len, Site site = Site::Here()) {
  if constexpr (mode == MaskMode::COUNTER) {
    SetVectorMask<T, mode>(0, static_cast<uint64_t>(len), site);
  } else {
    const uint32_t lanes = len < 0 ? 0 : static_cast<uint32_t>(len);
    uint64_t bits[2];
    npu_model::isa::Lanes::SetPrefix(bits, lanes);
    SetVectorMask<T, mode>(bits[1], bits[0], site);
  }
}
inline void ResetMask(Site site = Site::Here()) {
  npu_model::Core& core = npu_model::Core::Current();
  core.spr().mask_high = core.spr().mask_low = FULL_MASK;
  core.SprWrite(site);
}
inline void SetMaskCount(Site site = Site::Here()) {
  npu_model::Core& core = npu_model::Core::Current();
  core.spr().mask_count_mode = true;
  core.SprWrite(site);
}
inline void SetMaskNorm(Site site = Site::Here()) {
  npu_model::Core& core = npu_model::Core::Current();
  core.spr().mask_count_mode = false;
  core.SprWrite(site);
}

// UB -> GM copies add to what GM holds until the mode is switched off.
template <typename T>
void SetAtomicAdd(Site site = Site::Here()) {
  static_assert(SupportType<T, float, half, int16_t>(),
                "SetAtomicAdd supports only float, half, int16_t on Ascend 310P");
  using npu_model::AtomicMode;
  npu_model::Core& core = npu_model::Core::Current();
  core.spr().atomic = std::is_same_v<T, float>  ? AtomicMode::kAddF32
                      : std::is_same_v<T, half> ? AtomicMode::kAddF16
                                                : AtomicMode::kAddS16;
  core.SprWrite(site);
}
inline void SetAtomicNone(Site site = Site::Here()) {
  npu_model::Core& core = npu_model::Core::Current();
  core.spr().atomic = npu_model::AtomicMode::kNone;
  core.SprWrite(site);
}
inline void DisableDmaAtomic(Site site = Site::Here()) { SetAtomicNone(site); }
template <typename T>
void SetAtomicMax() {
  static_assert(sizeof(T) == 0, "SetAtomicMax does not exist on Ascend 310P");
}
template <typename T>
void SetAtomicMin() {
  static_assert(sizeof(T) == 0, "SetAtomicMin does not exist on Ascend 310P");
}
template <typename T>
void SetAtomicType() {
  static_assert(sizeof(T) == 0, "SetAtomicType does not exist on Ascend 310P");
}
// On this chip only the DMA atomic mode is initialised.
inline void InitSocState(Site site = Site::Here()) { SetAtomicNone(site); }

template <typename T, CacheLine entireType, DcciDst dcciDst>
void DataCacheCleanAndInvalid(const GlobalTensor<T>& dst, Site site = Site::Here()) {
  constexpr uint64_t kLine = 64;
  npu_model::Core::Current().ScalarCacheCleanInvalidate(reinterpret_cast<uint64_t>(dst.GetPhyAddr()),
                                                        entireType == CacheLine::ENTIRE_DATA_CACHE ? 0 : kLine, site);
}
template <typename T, CacheLine entireType>
void DataCacheCleanAndInvalid(const GlobalTensor<T>& dst, Site site = Site::Here()) {
  DataCacheCleanAndInvalid<T, entireType, DcciDst::CACHELINE_ALL>(dst, site);
}
template <typename T>
void DataCachePreload(const GlobalTensor<uint64_t>&, const T) {}
inline void ICachePreLoad(const int64_t) {}

inline void MetricsProfStart() {}
inline void MetricsProfStop() {}

template <bool kUnsupported = true>
int64_t GetSystemCycle() {
  static_assert(!kUnsupported, "GetSystemCycle does not exist on Ascend 310P");
  return 0;
}

namespace detail {
// Formatted text of a kernel goes into the report, tagged with its block.
void Print(const char* format, ...);
template <class T>
decltype(auto) Printable(T&& value) {
  if constexpr (std::is_same_v<std::decay_t<T>, half>) {
    return static_cast<double>(static_cast<float>(value));
  } else {
    return std::forward<T>(value);
  }
}
}  // namespace detail

// Templates, so that they win over the C library's printf under `using namespace AscendC`.
template <class... Args>
void printf(const char* format, Args&&... args) {
  detail::Print(format, detail::Printable(std::forward<Args>(args))...);
}
template <class... Args>
void PRINTF(const char* format, Args&&... args) {
  detail::Print(format, detail::Printable(std::forward<Args>(args))...);
}
// The first dumpSize elements of a tensor, as values.
template <typename Tensor>
void DumpTensor(const Tensor& tensor, uint32_t desc, uint32_t dumpSize, Site site = Site::Here()) {
  detail::Print("DumpTensor desc %u:", desc);
  for (uint32_t i = 0; i < dumpSize; ++i) {
    detail::Print("  [%u] %g", i, static_cast<double>(static_cast<float>(tensor.GetValue(i, site))));
  }
}
template <typename Tensor>
void DumpTensor(const Tensor& tensor, uint32_t desc, uint32_t dumpSize, const ShapeInfo&, Site site = Site::Here()) {
  DumpTensor(tensor, desc, dumpSize, site);
}

// Bit queries of the scalar unit.
template <int countValue>
int64_t ScalarGetCountOfValue(uint64_t valueIn) {
  const int64_t ones = __builtin_popcountll(valueIn);
  return countValue == 1 ? ones : 64 - ones;
}
template <int countValue>
int64_t GetBitCount(uint64_t valueIn) {
  return ScalarGetCountOfValue<countValue>(valueIn);
}
inline int64_t ScalarCountLeadingZero(uint64_t valueIn) { return valueIn == 0 ? 64 : __builtin_clzll(valueIn); }
inline int64_t CountLeadingZero(uint64_t valueIn) { return ScalarCountLeadingZero(valueIn); }
inline int64_t CountBitsCntSameAsSignBit(int64_t valueIn) { return __builtin_clrsbll(valueIn); }
template <int countValue>
int64_t ScalarGetSFFValue(uint64_t valueIn) {
  const uint64_t bits = countValue == 1 ? valueIn : ~valueIn;
  return bits == 0 ? -1 : __builtin_ctzll(bits);
}
template <int countValue>
int64_t GetSFFValue(uint64_t valueIn) {
  return ScalarGetSFFValue<countValue>(valueIn);
}
// Scalar float -> int32 (RINT, FLOOR, CEIL, ROUND) or half (ODD).
template <typename T, typename U, RoundMode roundMode>
U ScalarCast(T valueIn) {
  static_assert(std::is_same_v<T, float> && SupportType<U, half, int32_t>(),
                "ScalarCast converts float to half or int32_t");
  if constexpr (std::is_same_v<U, half>) {
    static_assert(roundMode == RoundMode::CAST_ODD, "ScalarCast to half has only CAST_ODD on Ascend 310P");
    return half::FromBits(npu_model::isa::FloatToHalfOdd(valueIn));
  } else {
    static_assert(roundMode >= RoundMode::CAST_RINT && roundMode <= RoundMode::CAST_ROUND,
                  "ScalarCast to int32_t has CAST_RINT, CAST_FLOOR, CAST_CEIL, CAST_ROUND on Ascend 310P");
    return npu_model::isa::FloatToInt32(valueIn, static_cast<npu_model::isa::Round>(roundMode));
  }
}
template <typename T, typename U, RoundMode roundMode>
U Cast(T valueIn) {
  return ScalarCast<T, U, roundMode>(valueIn);
}

}  // namespace AscendC

inline int64_t get_block_idx() { return AscendC::GetBlockIdx(); }
inline int64_t get_block_num() { return AscendC::GetBlockNum(); }

// What lies there is the system's, and nothing on this chip uses it: an address that no argument has.
inline __gm__ uint8_t* GetSysWorkSpacePtr() {
  static uint8_t nothing[1];
  return nothing;
}
