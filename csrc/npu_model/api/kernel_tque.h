// SPDX-License-Identifier: Apache-2.0
// TQueBind, TQue, TSCM.
#pragma once

#include "kernel_tpipe.h"

namespace AscendC {

// The `mask` of a queue is a number (bit 0: the producer converts ND to NZ) or the address of one of these.
struct TQueConfig {
  bool nd2nz = false;
  bool nz2nd = false;
  bool scmBlockGroup = false;
  uint32_t bufferLen = 0;
  uint32_t bufferNumber = 0;
  uint32_t consumerSize = 0;
  TPosition consumer[8] = {};
  bool enableStaticEvtId = false;
  bool enableLoopQueue = false;
};

namespace detail {

constexpr bool Nd2NzOf(int32_t mask) { return (mask & 0x1) != 0; }
constexpr bool Nd2NzOf(const TQueConfig* config) { return config->nd2nz; }

// Event between the producer of a queue's buffers and their consumer (forward), and back when a buffer is freed.
constexpr HardEvent QueueEvent(Hardware src, Hardware dst, bool forward, bool nd2nz) {
  if (src == Hardware::GM && dst == Hardware::UB) return forward ? HardEvent::MTE2_V : HardEvent::V_MTE2;
  if (src == Hardware::UB && dst == Hardware::GM) return forward ? HardEvent::V_MTE3 : HardEvent::MTE3_V;
  if (src == Hardware::GM && dst == Hardware::L1 && nd2nz) return forward ? HardEvent::MTE3_MTE1 : HardEvent::MTE1_MTE3;
  if (src == Hardware::GM && dst == Hardware::L1) return forward ? HardEvent::MTE2_MTE1 : HardEvent::MTE1_MTE2;
  if (src == Hardware::UB && dst == Hardware::L1) return forward ? HardEvent::MTE3_MTE1 : HardEvent::MTE1_MTE3;
  if (src == Hardware::L1 && (dst == Hardware::L0A || dst == Hardware::L0B)) {
    return forward ? HardEvent::MTE1_M : HardEvent::M_MTE1;
  }
  if (src == Hardware::L1 && dst == Hardware::UB) return forward ? HardEvent::MTE1_V : HardEvent::V_MTE1;
  if (src == Hardware::GM && (dst == Hardware::L0A || dst == Hardware::L0B)) {
    return forward ? HardEvent::MTE2_M : HardEvent::M_MTE2;
  }
  if (src == Hardware::L0C && dst == Hardware::UB) return forward ? HardEvent::M_V : HardEvent::V_M;
  if (src == Hardware::UB && dst == Hardware::L0C) return forward ? HardEvent::V_V : HardEvent::MAX;
  if (src == Hardware::UB && dst == Hardware::UB) return forward ? HardEvent::MTE2_MTE3 : HardEvent::MTE3_MTE2;
  return HardEvent::MAX;
}

}  // namespace detail

template <TPosition src, TPosition dst, int32_t depth, auto mask = 0>
class TQueBind {
 public:
  static constexpr bool isTQue = true;
  static constexpr TPosition srcPosition = src;
  static constexpr TPosition dstPosition = dst;
  static constexpr HardEvent enQueEvt =
      detail::QueueEvent(GetPhyType(src), GetPhyType(dst), true, detail::Nd2NzOf(mask));
  static constexpr HardEvent freeBufEvt =
      detail::QueueEvent(GetPhyType(src), GetPhyType(dst), false, detail::Nd2NzOf(mask));

  template <typename T>
  LocalTensor<T> AllocTensor(Site site = Site::Here()) {
    static_assert(depth != 0, "a queue of depth 0 takes AllocTensor(tensor)");
    return ToTensor<T>(Acquire(site));
  }
  template <typename T>
  void AllocTensor(LocalTensor<T>& tensor, Site site = Site::Here()) {
    static_assert(depth == 0, "AllocTensor(tensor) needs a queue of depth 0");
    tensor = ToTensor<T>(Acquire(site));
  }
  template <typename T>
  void FreeTensor(LocalTensor<T>& tensor, Site site = Site::Here()) {
    FreeBuffer(tensor.GetBufferHandle(), site);
  }
  template <typename T>
  bool EnQue(const LocalTensor<T>& tensor, Site site = Site::Here()) {
    return Push<enQueEvt>(tensor.GetBufferHandle(), site);
  }
  bool EnQue(TBufHandle buf, Site site = Site::Here()) { return Push<enQueEvt>(buf, site); }
  template <TPosition srcUserPos, TPosition dstUserPos, typename T>
  bool EnQue(const LocalTensor<T>& tensor, Site site = Site::Here()) {
    return Push<UserEvent<srcUserPos, dstUserPos>()>(tensor.GetBufferHandle(), site);
  }
  template <typename T>
  LocalTensor<T> DeQue(Site site = Site::Here()) {
    static_assert(depth != 0, "a queue of depth 0 takes DeQue(tensor)");
    return ToTensor<T>(Pop<enQueEvt>(site));
  }
  template <typename T>
  void DeQue(LocalTensor<T>& tensor, Site site = Site::Here()) {
    static_assert(depth == 0, "DeQue(tensor) needs a queue of depth 0");
    Take<enQueEvt>(ToBuffer(tensor.GetBufferHandle(), "DeQue", site), site);
  }
  template <TPosition srcUserPos, TPosition dstUserPos, typename T>
  LocalTensor<T> DeQue(Site site = Site::Here()) {
    return ToTensor<T>(Pop<UserEvent<srcUserPos, dstUserPos>()>(site));
  }

  bool VacantInQue() const { return used_ < depth; }
  bool HasTensorInQue() const { return used_ != 0; }
  int32_t GetTensorCountInQue() const { return used_; }
  bool HasIdleBuffer() const {
    for (int i = 0; i < number_; ++i) {
      if (first_[i].state == TBufState::FREE) return true;
    }
    return false;
  }
  template <typename T>
  TBufState GetState(const LocalTensor<T>& tensor) const {
    const auto* buffer = reinterpret_cast<const TBufType*>(tensor.GetBufferHandle());
    return buffer == nullptr ? TBufState::FREE : buffer->state;
  }
  // Waits for the free events that are still pending.
  void FreeAllEvent(Site site = Site::Here()) {
    for (int i = 0; i < number_; ++i) WaitFree(first_[i], site);
  }
  void FreeBuffer(TBufHandle handle, Site site = Site::Here()) {
    TBufType* buffer = ToBuffer(handle, "FreeTensor", site);
    npu_model::Core& core = npu_model::Core::Current();
    core.FreeBuffer(buffer->buffer, site);
    if (buffer->state == TBufState::FREE) return;  // freed twice: reported by the engine
    if constexpr (freeBufEvt != HardEvent::MAX) {
      constexpr detail::QueuePair kPair = detail::QueuesOf(freeBufEvt);
      npu_model::Core::LibraryScope scope(core);
      buffer->freeBufEvtID = static_cast<TEventID>(core.AllocEventId(kPair.src, kPair.dst, site));
      if (buffer->freeBufEvtID >= 0) core.SetFlag(kPair.src, kPair.dst, buffer->freeBufEvtID, site);
    }
    buffer->state = TBufState::FREE;
  }

  // Called by InitBuffer.
  void Bind(TBufType* first, int number) {
    first_ = first;
    number_ = number;
    cursor_ = 0;
    head_ = used_ = 0;
  }

 private:
  template <TPosition srcUserPos, TPosition dstUserPos>
  static constexpr HardEvent UserEvent() {
    constexpr Hardware kSrc = GetPhyType(srcUserPos);
    constexpr Hardware kDst = GetPhyType(dstUserPos);
    static_assert((kSrc == Hardware::GM || kSrc == Hardware::UB) && (kDst == Hardware::GM || kDst == Hardware::UB) &&
                      !(kSrc == Hardware::GM && kDst == Hardware::GM),
                  "EnQue/DeQue with positions take GM and UB positions, not both GM");
    return detail::QueueEvent(kSrc, kDst, true, false);
  }

  TBufType* ToBuffer(TBufHandle handle, const char* name, Site site) const {
    auto* buffer = reinterpret_cast<TBufType*>(handle);
    if (first_ == nullptr)
      detail::QueueFault(npu_model::Rule::kBuffer0, name, site, "the queue has no buffers: InitBuffer first");
    if (buffer < first_ || buffer >= first_ + number_) {
      detail::QueueFault(npu_model::Rule::kBuffer1, name, site, "the tensor does not belong to this queue");
    }
    return buffer;
  }
  template <typename T>
  LocalTensor<T> ToTensor(TBufType* buffer) const {
    TBuffAddr address;
    address.dataLen = buffer->dataLen;
    address.bufferAddr = buffer->address;
    address.bufferHandle = reinterpret_cast<TBufHandle>(buffer);
    address.logicPos = static_cast<uint8_t>(GetPosition(src, dst));
    return LocalTensor<T>(address);
  }
  void WaitFree(TBufType& buffer, Site site) {
    if (buffer.freeBufEvtID == INVALID_TEVENTID) return;
    constexpr detail::QueuePair kPair = detail::QueuesOf(freeBufEvt);
    npu_model::Core& core = npu_model::Core::Current();
    npu_model::Core::LibraryScope scope(core);
    core.WaitFlag(kPair.src, kPair.dst, buffer.freeBufEvtID, site);
    core.ReleaseEventId(kPair.src, kPair.dst, buffer.freeBufEvtID, site);
    buffer.freeBufEvtID = INVALID_TEVENTID;
  }
  TBufType* Acquire(Site site) {
    if (first_ == nullptr) {
      detail::QueueFault(npu_model::Rule::kBuffer0, "AllocTensor", site, "the queue has no buffers: InitBuffer first");
    }
    for (int tried = 0; tried < number_; ++tried) {
      TBufType& buffer = first_[cursor_];
      cursor_ = cursor_ + 1 == number_ ? 0 : cursor_ + 1;
      if (buffer.state != TBufState::FREE) continue;
      buffer.state = TBufState::OCCUPIED;
      npu_model::Core::Current().OccupyBuffer(buffer.buffer, site);
      WaitFree(buffer, site);
      return &buffer;
    }
    detail::QueueFault(
        npu_model::Rule::kDeadlock, "AllocTensor", site,
        "every buffer of the queue is in use and nothing frees one: the hardware would spin here for ever");
    return nullptr;
  }
  template <HardEvent event>
  bool Push(TBufHandle handle, Site site) {
    static_assert(event != HardEvent::MAX, "no queue exists between these positions on Ascend 310P");
    TBufType* buffer = ToBuffer(handle, "EnQue", site);
    if (buffer->state != TBufState::OCCUPIED && buffer->state != TBufState::DEQUE) {
      detail::QueueFault(npu_model::Rule::kBuffer1, "EnQue", site,
                         "the tensor is not allocated or was enqueued already");
    }
    if constexpr (depth != 0) {
      if (used_ >= depth)
        detail::QueueFault(npu_model::Rule::kBuffer1, "EnQue", site, "the queue is full: more tensors than its depth");
      queue_[(head_ + used_) % kSlots] = buffer;
      ++used_;
    }
    buffer->state = TBufState::ENQUE;
    if constexpr (event == HardEvent::V_V) {
      detail::Barrier(PIPE_V, site);
    } else {
      constexpr detail::QueuePair kPair = detail::QueuesOf(event);
      npu_model::Core& core = npu_model::Core::Current();
      npu_model::Core::LibraryScope scope(core);
      buffer->enQueEvtID = static_cast<TEventID>(core.AllocEventId(kPair.src, kPair.dst, site));
      if (buffer->enQueEvtID >= 0) core.SetFlag(kPair.src, kPair.dst, buffer->enQueEvtID, site);
    }
    return true;
  }
  template <HardEvent event>
  void Take(TBufType* buffer, Site site) {
    if (buffer->state != TBufState::ENQUE) {
      detail::QueueFault(npu_model::Rule::kBuffer1, "DeQue", site, "the tensor was not enqueued");
    }
    buffer->state = TBufState::DEQUE;
    if constexpr (event != HardEvent::V_V) {
      if (buffer->enQueEvtID == INVALID_TEVENTID) return;
      constexpr detail::QueuePair kPair = detail::QueuesOf(event);
      npu_model::Core& core = npu_model::Core::Current();
      npu_model::Core::LibraryScope scope(core);
      core.WaitFlag(kPair.src, kPair.dst, buffer->enQueEvtID, site);
      core.ReleaseEventId(kPair.src, kPair.dst, buffer->enQueEvtID, site);
    }
    buffer->enQueEvtID = INVALID_TEVENTID;
  }
  template <HardEvent event>
  TBufType* Pop(Site site) {
    static_assert(event != HardEvent::MAX, "no queue exists between these positions on Ascend 310P");
    if (used_ == 0) detail::QueueFault(npu_model::Rule::kBuffer1, "DeQue", site, "the queue is empty");
    TBufType* buffer = queue_[head_];
    head_ = (head_ + 1) % kSlots;
    --used_;
    Take<event>(buffer, site);
    return buffer;
  }

  static constexpr int kSlots = depth > 0 ? depth : 1;
  TBufType* first_ = nullptr;
  int number_ = 0;
  int cursor_ = 0;
  TBufType* queue_[kSlots] = {};
  int head_ = 0;
  int used_ = 0;
};

namespace detail {
// The two ends a single position stands for.
constexpr TPosition LogicPosition(TPosition position, bool is_src) {
  switch (position) {
    case TPosition::A1:
    case TPosition::B1:
      return is_src ? TPosition::GM : position;
    case TPosition::C1:
      return is_src ? TPosition::GM : TPosition::C1;
    case TPosition::A2:
      return is_src ? TPosition::A1 : TPosition::A2;
    case TPosition::B2:
      return is_src ? TPosition::B1 : TPosition::B2;
    case TPosition::C2:
      return is_src ? TPosition::C1 : TPosition::C2;
    case TPosition::CO1:
      return is_src ? TPosition::CO1 : TPosition::CO2;
    case TPosition::CO2:
      return is_src ? TPosition::CO2 : TPosition::GM;
    case TPosition::VECIN:
      return is_src ? TPosition::GM : TPosition::VECIN;
    case TPosition::VECOUT:
      return is_src ? TPosition::VECOUT : TPosition::GM;
    default:
      return position;
  }
}
}  // namespace detail

template <TPosition pos, int32_t depth, auto mask = 0>
class TQue : public TQueBind<detail::LogicPosition(pos, true), detail::LogicPosition(pos, false), depth, mask> {};

template <TPosition pos, int32_t depth = 1, auto mask = 0>
using TSCM = TQueBind<pos, TPosition::TSCM, depth, mask>;

}  // namespace AscendC
