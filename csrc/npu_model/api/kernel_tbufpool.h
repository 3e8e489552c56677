// SPDX-License-Identifier: Apache-2.0
// TBufPool: a part of UB or L1 that phases of a kernel lay out differently, one after the other.
#pragma once

#include "kernel_tbuf.h"

namespace AscendC {

constexpr uint32_t defaultBufIDSize = 4;

template <TPosition pos, uint32_t bufIDSize = defaultBufIDSize>
class TBufPool {
 public:
  static constexpr TPosition poolPos = pos;
  static constexpr bool isTbufPool = true;
  static_assert(GetPhyType(pos) == Hardware::UB || GetPhyType(pos) == Hardware::L1,
                "a TBufPool lies in UB (VECIN, VECOUT, VECCALC) or L1 (A1, B1)");

  TBufPool() = default;
  ~TBufPool() noexcept(false) { Reset(); }
  TBufPool(const TBufPool&) = delete;
  TBufPool& operator=(const TBufPool&) = delete;

  template <class T>
  bool InitBuffer(T& que, uint8_t num, uint32_t len, Site site = Site::Here()) {
    static_assert(T::isTQue,
                  "InitBuffer(queue, number, length) is for queues; a TBuf takes InitBuffer(buffer, length)");
    static_assert(GetPhyType(GetPosition(T::srcPosition, T::dstPosition)) == GetPhyType(pos),
                  "the queue's position does not lie in the pool's memory");
    TBufType* first = Reserve(GetPosition(T::srcPosition, T::dstPosition), num, len, T::freeBufEvt, true, site);
    que.Bind(first, first == nullptr ? 0 : num);
    return first != nullptr;
  }
  template <TPosition bufPos>
  bool InitBuffer(TBuf<bufPos>& buf, uint32_t len, Site site = Site::Here()) {
    static_assert(GetPhyType(bufPos) == GetPhyType(pos), "the buffer's position does not lie in the pool's memory");
    TBufType* first = Reserve(bufPos, 1, len, HardEvent::MAX, false, site);
    buf.Bind(first);
    return first != nullptr;
  }
  // A part of this pool.
  template <class T>
  bool InitBufPool(T& bufPool, uint32_t len, Site site = Site::Here()) {
    static_assert(T::isTbufPool && GetPhyType(T::poolPos) == GetPhyType(pos), "the pools do not lie in one memory");
    const uint32_t bytes = AlignUp<uint32_t>(len, ONE_BLK_SIZE);
    if (!Fits(bytes, "InitBufPool", site)) return false;
    bufPool.Place(next_, bytes);
    next_ += bytes;
    return true;
  }
  // The place and length of another part.
  template <class T, class U>
  bool InitBufPool(T& bufPool, uint32_t len, U& shareBuf, Site site = Site::Here()) {
    return detail::SharePool(bufPool, len, shareBuf, site);
  }

  // Before another pool takes the memory over: waits for what FreeTensor announced. The pool's buffers stay, their
  // contents do not.
  void Reset(Site site = Site::Here()) { detail::WaitFreeEvents(buffers_, static_cast<int>(count_), site); }

  // Called by InitBufPool.
  void Place(uint32_t start, uint32_t length) {
    start_ = next_ = start;
    length_ = length;
  }
  uint32_t start() const { return start_; }
  uint32_t length() const { return length_; }

 private:
  bool Fits(uint32_t bytes, const char* name, Site site) const {
    if (length_ == 0)
      detail::QueueFault(npu_model::Rule::kBuffer4, name, site, "the TBufPool has no memory: InitBufPool first");
    if (bytes != 0 && bytes <= start_ + length_ - next_) return true;
    npu_model::Core::Current().Fault(npu_model::Rule::kBuffer3, name, site,
                                     std::to_string(bytes) + " bytes asked of a TBufPool that has " +
                                         std::to_string(start_ + length_ - next_) + " of " + std::to_string(length_) +
                                         " left");
    return false;
  }
  TBufType* Reserve(TPosition position, uint32_t num, uint32_t len, HardEvent free_event, bool queue, Site site) {
    const uint32_t bytes = AlignUp<uint32_t>(len, ONE_BLK_SIZE);
    if (!Fits(num * bytes, "InitBuffer", site)) return nullptr;
    if (count_ + num > bufIDSize) {
      npu_model::Core::Current().Fault(
          npu_model::Rule::kBuffer3, "InitBuffer", site,
          "more than " + std::to_string(bufIDSize) + " buffers in this TBufPool (bufIDSize)");
      return nullptr;
    }
    TBufType* first = buffers_ + count_;
    count_ += num;
    detail::PlaceBuffers(first, position, num, bytes, next_, free_event, queue, site);
    next_ += num * bytes;
    return first;
  }

  TBufType buffers_[bufIDSize];
  uint32_t count_ = 0;
  uint32_t start_ = 0;
  uint32_t next_ = 0;
  uint32_t length_ = 0;
};

}  // namespace AscendC
