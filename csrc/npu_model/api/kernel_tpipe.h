// SPDX-License-Identifier: Apache-2.0
// TPipe.
#pragma once

#include <string>

#include "kernel_operator_block_sync_intf.h"

namespace AscendC {

template <TPosition pos>
class TBuf;

namespace detail {

constexpr const char* PositionName(TPosition position) {
  constexpr const char* kNames[] = {"GM",  "A1",   "A2",        "B1",           "B2",     "C1",
                                    "C2",  "CO1",  "CO2",       "VECIN",        "VECOUT", "VECCALC",
                                    "SPM", "TSCM", "C2PIPE2GM", "C2PIPE2LOCAL", "MAX"};
  return kNames[static_cast<int>(position)];
}

inline void QueueFault(npu_model::Rule rule, const char* name, Site site, const char* text) {
  npu_model::Core::Current().Abort(rule, name, site, text);
}

// `num` buffers of `bytes` from `address` on.
void PlaceBuffers(TBufType* first, TPosition position, uint32_t num, uint32_t bytes, uint32_t address,
                  HardEvent free_event, bool queue, Site site);
// What FreeTensor announced and nobody has waited for.
void WaitFreeEvents(TBufType* first, int count, Site site);

template <class T, class U>
bool SharePool(T& pool, uint32_t len, const U& shared, Site site) {
  static_assert(T::isTbufPool && U::isTbufPool && GetPhyType(T::poolPos) == GetPhyType(U::poolPos),
                "the pools do not lie in one memory");
  if (len == 0 || len > shared.length()) {
    npu_model::Core::Current().Fault(
        npu_model::Rule::kBuffer3, "InitBufPool", site,
        std::to_string(len) + " bytes asked of a shared TBufPool of " + std::to_string(shared.length()));
    return false;
  }
  pool.Place(shared.start(), shared.length());
  return true;
}

}  // namespace detail

class TPipe {
 public:
  TPipe(Site site = Site::Here());  // NOLINT: default construction, the argument names the line
  ~TPipe() noexcept(false);
  TPipe(const TPipe&) = delete;
  TPipe& operator=(const TPipe&) = delete;

  void Init(Site site = Site::Here());
  template <class T>
  bool InitBuffer(T& que, uint8_t num, uint32_t len, Site site = Site::Here()) {
    static_assert(T::isTQue,
                  "InitBuffer(queue, number, length) is for queues; a TBuf takes InitBuffer(buffer, length)");
    constexpr TPosition kPosition = GetPosition(T::srcPosition, T::dstPosition);
    TBufType* first = Reserve(kPosition, num, len, T::freeBufEvt, true, site);
    que.Bind(first, first == nullptr ? 0 : num);
    return first != nullptr;
  }
  template <TPosition pos>
  bool InitBuffer(TBuf<pos>& buf, uint32_t len, Site site = Site::Here()) {
    TBufType* first = Reserve(pos, 1, len, HardEvent::MAX, false, site);
    buf.Bind(first);
    return first != nullptr;
  }

  template <class T>
  bool InitBufPool(T& bufPool, uint32_t len, Site site = Site::Here()) {
    static_assert(T::isTbufPool, "InitBufPool is for TBufPool");
    uint32_t start = 0;
    const uint32_t bytes = AlignUp<uint32_t>(len, ONE_BLK_SIZE);
    if (!ReservePool(T::poolPos, bytes, &start, site)) return false;
    bufPool.Place(start, bytes);
    return true;
  }
  template <class T, class U>
  bool InitBufPool(T& bufPool, uint32_t len, U& shareBuf, Site site = Site::Here()) {
    return detail::SharePool(bufPool, len, shareBuf, site);
  }

  template <HardEvent evt>
  TEventID AllocEventID(Site site = Site::Here()) {
    constexpr detail::QueuePair kPair = detail::QueuesOf(evt);
    return static_cast<TEventID>(npu_model::Core::Current().AllocEventId(kPair.src, kPair.dst, site));
  }
  template <HardEvent evt>
  void ReleaseEventID(TEventID id, Site site = Site::Here()) {
    constexpr detail::QueuePair kPair = detail::QueuesOf(evt);
    npu_model::Core::Current().ReleaseEventId(kPair.src, kPair.dst, id, site);
  }
  template <HardEvent evt>
  TEventID FetchEventID(Site site = Site::Here()) {
    return FetchEventID(evt, site);
  }
  TEventID FetchEventID(HardEvent evt, Site site = Site::Here()) {
    const detail::QueuePair pair = detail::QueuesOf(evt);
    return static_cast<TEventID>(npu_model::Core::Current().FetchEventId(pair.src, pair.dst, site));
  }

  // Where the buffers of a position's memory end.
  template <TPosition pos>
  uint64_t GetQueueEndAddress() const {
    return next_[static_cast<int>(detail::ToMem(GetPhyType(pos)))];
  }
  // Memory that high-level objects (Matmul) use in turns: it starts where the first of them found the position's memory
  // free, and no later buffer lies in it.
  template <TPosition pos>
  uint32_t SharedStart() {
    return SharedStartOf(detail::ToMem(GetPhyType(pos)));
  }
  template <TPosition pos>
  void ShareUpTo(uint32_t end, Site site = Site::Here()) {
    ShareUpTo(detail::ToMem(GetPhyType(pos)), end, site);
  }
  template <TPosition pos, typename T>
  LocalTensor<T> GetAbsAddr(int32_t offset, int32_t size) const {
    return LocalTensor<T>(pos, static_cast<uint32_t>(offset), static_cast<uint32_t>(size));
  }

  void Destroy(Site site = Site::Here());
  void DestroyWithoutPipeAll(Site site = Site::Here());
  void Reset(Site site = Site::Here());

 private:
  // Bump allocation of `num` buffers in the pool of a position; nullptr when it was refused (reported).
  TBufType* Reserve(TPosition position, uint32_t num, uint32_t len, HardEvent free_event, bool queue, Site site);
  bool ReservePool(TPosition position, uint32_t bytes, uint32_t* start, Site site);
  uint32_t SharedStartOf(npu_model::Mem mem);
  void ShareUpTo(npu_model::Mem mem, uint32_t end, Site site);
  void ForgetBuffers();

  struct Shared {
    bool taken = false;
    uint32_t start = 0, end = 0;
  };

  TBufType buffers_[npu_model::kMaxTpipeBuffers];
  int count_ = 0;
  uint32_t next_[npu_model::kMemCount] = {};
  Shared shared_[npu_model::kMemCount];
  bool open_ = false;
  Site site_;
};

// The pipe that is alive on this core.
TPipe* CurrentPipe();

}  // namespace AscendC

inline AscendC::TPipe* GetTPipePtr() { return AscendC::CurrentPipe(); }
