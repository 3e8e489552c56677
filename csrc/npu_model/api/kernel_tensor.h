// SPDX-License-Identifier: Apache-2.0
// LocalTensor and GlobalTensor.
#pragma once

#include <type_traits>

#include "issue/view.h"
#include "kernel_structs.h"

namespace AscendC {

using npu_model::Site;

struct ShapeInfo {
  ShapeInfo() {}
  ShapeInfo(const uint8_t dim, const uint32_t dims[], const uint8_t original_dim, const uint32_t original_dims[],
            const DataFormat format)
      : shapeDim(dim), originalShapeDim(original_dim), dataFormat(format) {
    for (int i = 0; i < dim && i < K_MAX_SHAPE_DIM; ++i) shape[i] = dims[i];
    for (int i = 0; i < original_dim && i < K_MAX_SHAPE_DIM; ++i) originalShape[i] = original_dims[i];
  }
  ShapeInfo(const uint8_t dim, const uint32_t dims[], const DataFormat format)
      : ShapeInfo(dim, dims, dim, dims, format) {}
  ShapeInfo(const uint8_t dim, const uint32_t dims[]) : ShapeInfo(dim, dims, dim, dims, DataFormat::ND) {}

  uint8_t shapeDim = 0;
  uint8_t originalShapeDim = 0;
  uint32_t shape[K_MAX_SHAPE_DIM] = {};
  uint32_t originalShape[K_MAX_SHAPE_DIM] = {};
  DataFormat dataFormat = DataFormat::ND;
};

struct TBufType {
  TBufState state = TBufState::FREE;
  HardEvent freeBufEvt = HardEvent::MAX;
  TEventID enQueEvtID = INVALID_TEVENTID;
  TEventID freeBufEvtID = INVALID_TEVENTID;
  uint32_t address = 0;
  uint32_t dataLen = 0;
  TTagType usertag = -1;
  uint32_t buffer = 0;  // the engine's id
};

struct TBuffAddr {
  uint32_t dataLen = 0;
  uint32_t bufferAddr = 0;
  TBufHandle bufferHandle = nullptr;
  uint8_t logicPos = static_cast<uint8_t>(TPosition::MAX);
};

namespace detail {

constexpr npu_model::Mem ToMem(Hardware hardware) {
  switch (hardware) {
    case Hardware::GM:
      return npu_model::Mem::kGm;
    case Hardware::L1:
      return npu_model::Mem::kL1;
    case Hardware::L0A:
      return npu_model::Mem::kL0a;
    case Hardware::L0B:
      return npu_model::Mem::kL0b;
    case Hardware::L0C:
      return npu_model::Mem::kL0c;
    default:
      return npu_model::Mem::kUb;
  }
}

template <class T>
constexpr npu_model::isa::DType TypeOf() {
  using npu_model::isa::DType;
  static_assert(sizeof(T) <= 4, "64-bit elements have no vector or Cube instruction on Ascend 310P");
  if constexpr (std::is_same_v<T, half>) return DType::kHalf;
  if constexpr (std::is_same_v<T, float>) return DType::kFloat;
  if constexpr (std::is_signed_v<T>) {
    return sizeof(T) == 1 ? DType::kInt8 : sizeof(T) == 2 ? DType::kInt16 : DType::kInt32;
  } else {
    return sizeof(T) == 1 ? DType::kUint8 : sizeof(T) == 2 ? DType::kUint16 : DType::kUint32;
  }
}

// Storage bits of a scalar operand.
template <class T>
uint32_t Bits(const T& value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

// Scalar-unit access to a tensor element, as a value or a target.
template <class T>
T ScalarGet(const npu_model::issue::View& view, uint64_t index, const char* name, Site site);
template <class T>
void ScalarSet(const npu_model::issue::View& view, uint64_t index, T value, const char* name, Site site);

template <class T>
class ElementRef {
 public:
  ElementRef(const npu_model::issue::View& view, uint64_t index, Site site) : view_(view), index_(index), site_(site) {}
  operator T() const { return ScalarGet<T>(view_, index_, "operator()", site_); }  // NOLINT: stands for a T&
  const ElementRef& operator=(const T& value) const {
    ScalarSet<T>(view_, index_, value, "operator()", site_);
    return *this;
  }
  const ElementRef& operator=(const ElementRef& other) const { return *this = static_cast<T>(other); }

 private:
  npu_model::issue::View view_;
  uint64_t index_;
  Site site_;
};

}  // namespace detail

template <typename T>
class LocalTensor;

namespace detail {
// `a + b` and the like: becomes an instruction over the whole destination when it is assigned.
enum class TensorOp : uint8_t { kAdd, kSub, kMul, kDiv, kOr, kAnd };
template <typename T>
struct TensorExpression {
  TensorOp op;
  const LocalTensor<T>& left;
  const LocalTensor<T>& right;
};
template <typename T>
struct TensorComparison {
  CMPMODE mode;
  const LocalTensor<T>& left;
  const LocalTensor<T>& right;
};
}  // namespace detail

template <typename T>
class LocalTensor {
 public:
  using PrimType = T;

  LocalTensor() {}
  explicit LocalTensor(const TBuffAddr& address) : address_(address) { ResetOrigin(); }
  LocalTensor(TPosition position, uint32_t address, uint32_t tile_size) {
    address_.logicPos = static_cast<uint8_t>(position);
    address_.bufferAddr = address;
    address_.dataLen = tile_size * sizeof(T);
    ResetOrigin();
  }

  uint64_t GetPhyAddr() const { return address_.bufferAddr; }
  uint64_t GetPhyAddr(const uint32_t offset) const { return address_.bufferAddr + uint64_t{offset} * sizeof(T); }

  PrimType GetValue(const uint32_t index, Site site = Site::Here()) const {
    return detail::ScalarGet<T>(view(), index, "GetValue", site);
  }
  template <typename S>
  void SetValue(const uint32_t index, const S value, Site site = Site::Here()) const {
    detail::ScalarSet<T>(view(), index, static_cast<T>(value), "SetValue", site);
  }
  detail::ElementRef<T> operator()(const uint32_t offset, Site site = Site::Here()) const {
    return detail::ElementRef<T>(view(), offset, site);
  }

  template <typename U>
  LocalTensor<U> ReinterpretCast() const {
    LocalTensor<U> output;
    output.address_ = address_;
    output.origin_ = origin_;
    return output;
  }
  LocalTensor operator[](const uint32_t offset) const {
    LocalTensor output = *this;
    const uint32_t bytes = offset * static_cast<uint32_t>(sizeof(T));
    output.address_.bufferAddr += bytes;
    output.address_.dataLen = bytes < address_.dataLen ? address_.dataLen - bytes : 0;
    return output;
  }
  template <typename S>
  void SetAddrWithOffset(LocalTensor<S>& src, uint32_t offset) {
    address_ = src.address_;
    origin_ = src.origin_;
    address_.bufferAddr += offset * static_cast<uint32_t>(sizeof(T));
  }
  void SetAddr(const TBuffAddr& address) {
    address_ = address;
    ResetOrigin();
  }

  // dst = a + b over dst's whole size. Operators cannot carry the kernel's line: reports name the operator instead.
  void operator=(const detail::TensorExpression<T>& expression);
  void operator=(const detail::TensorComparison<float>& comparison);
  void operator=(const detail::TensorComparison<half>& comparison);
  detail::TensorExpression<T> operator+(const LocalTensor& other) const {
    return {detail::TensorOp::kAdd, *this, other};
  }
  detail::TensorExpression<T> operator-(const LocalTensor& other) const {
    return {detail::TensorOp::kSub, *this, other};
  }
  detail::TensorExpression<T> operator*(const LocalTensor& other) const {
    return {detail::TensorOp::kMul, *this, other};
  }
  detail::TensorExpression<T> operator/(const LocalTensor& other) const {
    return {detail::TensorOp::kDiv, *this, other};
  }
  detail::TensorExpression<T> operator|(const LocalTensor& other) const {
    return {detail::TensorOp::kOr, *this, other};
  }
  detail::TensorExpression<T> operator&(const LocalTensor& other) const {
    return {detail::TensorOp::kAnd, *this, other};
  }
  detail::TensorComparison<T> operator<(const LocalTensor& other) const { return {CMPMODE::LT, *this, other}; }
  detail::TensorComparison<T> operator>(const LocalTensor& other) const { return {CMPMODE::GT, *this, other}; }
  detail::TensorComparison<T> operator==(const LocalTensor& other) const { return {CMPMODE::EQ, *this, other}; }
  detail::TensorComparison<T> operator!=(const LocalTensor& other) const { return {CMPMODE::NE, *this, other}; }
  detail::TensorComparison<T> operator<=(const LocalTensor& other) const { return {CMPMODE::LE, *this, other}; }
  detail::TensorComparison<T> operator>=(const LocalTensor& other) const { return {CMPMODE::GE, *this, other}; }

  int32_t GetPosition() const { return address_.logicPos; }
  void SetSize(const uint32_t size) { address_.dataLen = size * sizeof(T); }
  uint32_t GetSize() const { return address_.dataLen / sizeof(T); }
  uint32_t GetLength() const { return address_.dataLen; }
  void SetBufferLen(uint32_t size) { address_.dataLen = size * sizeof(T); }
  TBufHandle GetBufferHandle() const { return address_.bufferHandle; }
  void SetUserTag(const TTagType tag) { tag_ = tag; }
  TTagType GetUserTag() const { return tag_; }
  void SetShapeInfo(const ShapeInfo& info) { shapeInfo_ = info; }
  ShapeInfo GetShapeInfo() const { return shapeInfo_; }

  npu_model::issue::View view() const {
    return {detail::ToMem(GetPhyType(static_cast<TPosition>(address_.logicPos))), address_.bufferAddr, origin_};
  }
  void SetOrigin(const npu_model::Origin& origin) { origin_ = origin; }

  TBuffAddr address_;
  ShapeInfo shapeInfo_;

 private:
  template <typename U>
  friend class LocalTensor;

  void ResetOrigin() {
    const auto* buffer = reinterpret_cast<const TBufType*>(address_.bufferHandle);
    origin_.begin = address_.bufferAddr;
    origin_.end = origin_.begin + address_.dataLen;
    origin_.buffer = buffer ? buffer->buffer : 0;
  }

  npu_model::Origin origin_;
  TTagType tag_ = -1;
};

template <typename T>
class GlobalTensor {
 public:
  using PrimType = T;

  GlobalTensor() {}
  void SetGlobalBuffer(__gm__ PrimType* buffer, uint64_t size) {
    address_ = buffer;
    bufferSize_ = size;
    origin_.begin = reinterpret_cast<uint64_t>(buffer);
    origin_.end = origin_.begin + size * sizeof(T);
  }
  void SetGlobalBuffer(__gm__ PrimType* buffer) {
    address_ = buffer;
    bufferSize_ = 0;
    origin_.begin = origin_.end = reinterpret_cast<uint64_t>(buffer);
  }
  const __gm__ PrimType* GetPhyAddr() const { return address_; }
  __gm__ PrimType* GetPhyAddr(const uint64_t offset) const { return address_ + offset; }
  PrimType GetValue(const uint64_t offset, Site site = Site::Here()) const {
    return detail::ScalarGet<T>(view(), offset, "GetValue", site);
  }
  void SetValue(const uint64_t offset, PrimType value, Site site = Site::Here()) {
    detail::ScalarSet<T>(view(), offset, value, "SetValue", site);
  }
  uint64_t GetSize() const { return bufferSize_; }
  GlobalTensor operator[](const uint64_t offset) const {
    GlobalTensor output = *this;
    output.address_ += offset;
    output.bufferSize_ = offset < bufferSize_ ? bufferSize_ - offset : 0;
    return output;
  }
  void SetShapeInfo(const ShapeInfo& info) { shapeInfo_ = info; }
  ShapeInfo GetShapeInfo() const { return shapeInfo_; }
  template <CacheRwMode rwMode = CacheRwMode::RW>
  void SetL2CacheHint(CacheMode mode) {
    cacheMode_ = mode;
  }

  npu_model::issue::View view() const { return {npu_model::Mem::kGm, reinterpret_cast<uint64_t>(address_), origin_}; }

  uint64_t bufferSize_ = 0;
  ShapeInfo shapeInfo_;
  CacheMode cacheMode_ = CacheMode::CACHE_MODE_NORMAL;
  __gm__ PrimType* address_ = nullptr;

 private:
  npu_model::Origin origin_;
};

namespace detail {

template <class T>
T ScalarGet(const npu_model::issue::View& view, uint64_t index, const char* name, Site site) {
  using npu_model::Access;
  const npu_model::Operand operand = npu_model::MakeOperand(view.mem, Access::kRead, view.address + index * sizeof(T),
                                                            sizeof(T), sizeof(T), view.origin);
  T value;
  std::memset(static_cast<void*>(&value), 0xff, sizeof(T));
  if (const uint8_t* from = npu_model::Core::Current().ScalarLoad(operand, name, site)) {
    std::memcpy(static_cast<void*>(&value), from, sizeof(T));
  }
  return value;
}

template <class T>
void ScalarSet(const npu_model::issue::View& view, uint64_t index, T value, const char* name, Site site) {
  using npu_model::Access;
  const npu_model::Operand operand = npu_model::MakeOperand(view.mem, Access::kWrite, view.address + index * sizeof(T),
                                                            sizeof(T), sizeof(T), view.origin);
  if (uint8_t* to = npu_model::Core::Current().ScalarStore(operand, name, site)) {
    std::memcpy(to, static_cast<const void*>(&value), sizeof(T));
  }
}

}  // namespace detail
}  // namespace AscendC
