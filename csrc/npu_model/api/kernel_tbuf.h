// SPDX-License-Identifier: Apache-2.0
// TBuf, LocalMemAllocator.
#pragma once

#include "kernel_tpipe.h"

namespace AscendC {

template <TPosition pos = TPosition::LCM>
class TBuf {
 public:
  static constexpr bool isTQue = false;

  template <typename T>
  LocalTensor<T> Get(Site site = Site::Here()) {
    return View<T>(length_, 0, "TBuf::Get", site);
  }
  template <typename T>
  LocalTensor<T> Get(uint32_t len, Site site = Site::Here()) {
    return View<T>(len * static_cast<uint32_t>(sizeof(T)), 0, "TBuf::Get", site);
  }
  // The offset is in bytes.
  template <typename T>
  LocalTensor<T> GetWithOffset(uint32_t size, uint32_t bufOffset, Site site = Site::Here()) {
    return View<T>(size * static_cast<uint32_t>(sizeof(T)), bufOffset, "TBuf::GetWithOffset", site);
  }
  template <typename T>
  LocalTensor<T> AllocTensor(Site site = Site::Here()) {
    return Get<T>(site);
  }
  template <typename T>
  void FreeTensor(LocalTensor<T>&) {}
  template <typename T>
  void EnQue(const LocalTensor<T>&) {}
  template <typename T>
  LocalTensor<T> DeQue(Site site = Site::Here()) {
    return Get<T>(site);
  }
  template <typename T>
  TBufState GetState(const LocalTensor<T>&) const {
    return buffer_ == nullptr ? TBufState::FREE : buffer_->state;
  }
  uint32_t GetBufLen() const { return length_; }

  // Called by InitBuffer.
  void Bind(TBufType* buffer) {
    buffer_ = buffer;
    length_ = buffer == nullptr ? 0 : buffer->dataLen;
  }

 private:
  template <typename T>
  LocalTensor<T> View(uint32_t bytes, uint32_t offset, const char* name, Site site) {
    if (buffer_ == nullptr) {
      detail::QueueFault(npu_model::Rule::kBuffer0, name, site, "the TBuf has no memory: InitBuffer first");
    }
    if (bytes == 0 || uint64_t{bytes} + offset > length_ || offset % ONE_BLK_SIZE != 0) {
      detail::QueueFault(npu_model::Rule::kBuffer3, name, site,
                         "the range is empty, starts off a 32-byte address, or leaves the buffer");
    }
    TBuffAddr address;
    address.dataLen = bytes;
    address.bufferAddr = buffer_->address + offset;
    address.bufferHandle = reinterpret_cast<TBufHandle>(buffer_);
    address.logicPos = static_cast<uint8_t>(pos);
    return LocalTensor<T>(address);
  }

  TBufType* buffer_ = nullptr;
  uint32_t length_ = 0;
};

// Bump allocation without TPipe, for the static-tensor style.
template <Hardware hard = Hardware::UB>
class LocalMemAllocator {
 public:
  LocalMemAllocator(Site site = Site::Here()) : site_(site) {  // NOLINT: default construction
    npu_model::Core::Current().OpenPool("LocalMemAllocator", site);
  }
  ~LocalMemAllocator() noexcept(false) { npu_model::Core::Current().ClosePool("LocalMemAllocator", site_); }
  LocalMemAllocator(const LocalMemAllocator&) = delete;
  LocalMemAllocator& operator=(const LocalMemAllocator&) = delete;

  uint32_t GetCurAddr() const { return head_; }
  template <TPosition pos, typename T>
  LocalTensor<T> Alloc(uint32_t tileSize, Site site = Site::Here()) {
    static_assert(GetPhyType(pos) == hard, "the position does not lie in this allocator's memory");
    LocalTensor<T> tensor(pos, head_, tileSize);
    const uint32_t bytes = tileSize * static_cast<uint32_t>(sizeof(T));
    npu_model::Origin origin{head_, uint64_t{head_} + bytes, 0};
    origin.buffer = npu_model::Core::Current().RegisterBuffer(detail::ToMem(hard), head_, bytes,
                                                              detail::PositionName(pos), count_++, site);
    tensor.SetOrigin(origin);
    head_ += bytes;
    return tensor;
  }
  template <TPosition pos, typename T, uint32_t tileSize>
  LocalTensor<T> Alloc(Site site = Site::Here()) {
    return Alloc<pos, T>(tileSize, site);
  }

 private:
  Site site_;
  uint32_t head_ = 0;
  int count_ = 0;
};

}  // namespace AscendC
