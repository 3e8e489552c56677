// SPDX-License-Identifier: Apache-2.0
#include "kernel_tpipe.h"

namespace AscendC {
namespace {
thread_local TPipe* current_pipe = nullptr;
}  // namespace

void detail::PlaceBuffers(TBufType* first, TPosition position, uint32_t num, uint32_t bytes, uint32_t address,
                          HardEvent free_event, bool queue, Site site) {
  npu_model::Core& core = npu_model::Core::Current();
  const npu_model::Mem mem = ToMem(GetPhyType(position));
  for (uint32_t i = 0; i < num; ++i, address += bytes) {
    TBufType& buffer = first[i];
    buffer = TBufType();
    buffer.freeBufEvt = free_event;
    buffer.address = address;
    buffer.dataLen = bytes;
    buffer.buffer = core.RegisterBuffer(mem, address, bytes, PositionName(position), static_cast<int>(i), site);
    if (queue) core.BufferIsQueue(buffer.buffer);
  }
}

void detail::WaitFreeEvents(TBufType* first, int count, Site site) {
  npu_model::Core& core = npu_model::Core::Current();
  const npu_model::Core::LibraryScope scope(core);
  for (int i = 0; i < count; ++i) {
    TBufType& buffer = first[i];
    if (buffer.freeBufEvtID == INVALID_TEVENTID) continue;
    const QueuePair pair = QueuesOf(buffer.freeBufEvt);
    core.WaitFlag(pair.src, pair.dst, buffer.freeBufEvtID, site);
    core.ReleaseEventId(pair.src, pair.dst, buffer.freeBufEvtID, site);
    buffer.freeBufEvtID = INVALID_TEVENTID;
  }
}

TPipe* CurrentPipe() { return current_pipe; }

TPipe::TPipe(Site site) : site_(site) { Init(site); }

TPipe::~TPipe() noexcept(false) {
  if (current_pipe == this) current_pipe = nullptr;
  Destroy(site_);
}

void TPipe::Init(Site site) {
  if (open_) return;
  open_ = true;
  current_pipe = this;
  npu_model::Core& core = npu_model::Core::Current();
  core.OpenPool("TPipe", site);
  // Construction clears the DMA atomic mode and nothing else on this chip.
  core.spr().atomic = npu_model::AtomicMode::kNone;
  core.SprWrite(site);
}

TBufType* TPipe::Reserve(TPosition position, uint32_t num, uint32_t len, HardEvent free_event, bool queue, Site site) {
  npu_model::Core& core = npu_model::Core::Current();
  const npu_model::Mem mem = detail::ToMem(GetPhyType(position));
  if (position == TPosition::GM || mem == npu_model::Mem::kGm) {
    core.Fault(npu_model::Rule::kBuffer2, "InitBuffer", site, "a buffer cannot live in GM");
    return nullptr;
  }
  if (num == 0 || len == 0) {
    core.Fault(npu_model::Rule::kBuffer3, "InitBuffer", site, "number and length of the buffers must not be 0");
    return nullptr;
  }
  if (count_ + static_cast<int>(num) > npu_model::kMaxTpipeBuffers) {
    core.Fault(npu_model::Rule::kBuffer3, "InitBuffer", site, "more than 64 buffers in one TPipe");
    return nullptr;
  }
  const uint32_t bytes = AlignUp<uint32_t>(len, ONE_BLK_SIZE);
  TBufType* first = buffers_ + count_;
  count_ += static_cast<int>(num);
  detail::PlaceBuffers(first, position, num, bytes, next_[static_cast<int>(mem)], free_event, queue, site);
  next_[static_cast<int>(mem)] += num * bytes;
  return first;
}

bool TPipe::ReservePool(TPosition position, uint32_t bytes, uint32_t* start, Site site) {
  const npu_model::Mem mem = detail::ToMem(GetPhyType(position));
  uint32_t& next = next_[static_cast<int>(mem)];
  if (bytes == 0 || bytes > npu_model::CapacityBytes(mem) - next) {
    npu_model::Core::Current().Fault(npu_model::Rule::kBuffer3, "InitBufPool", site,
                                     std::to_string(bytes) + " bytes asked of " + npu_model::Name(mem) +
                                         ", which has " + std::to_string(npu_model::CapacityBytes(mem) - next) +
                                         " left");
    return false;
  }
  *start = next;
  next += bytes;
  return true;
}

uint32_t TPipe::SharedStartOf(npu_model::Mem mem) {
  Shared& shared = shared_[static_cast<int>(mem)];
  const uint32_t next = next_[static_cast<int>(mem)];
  if (!shared.taken) shared = {true, next, next};
  return shared.start;
}

void TPipe::ShareUpTo(npu_model::Mem mem, uint32_t end, Site site) {
  Shared& shared = shared_[static_cast<int>(mem)];
  uint32_t& next = next_[static_cast<int>(mem)];
  if (end <= shared.end) return;
  if (next != shared.end) {
    npu_model::Core::Current().Fault(npu_model::Rule::kBuffer3, "Matmul", site,
                                     std::string(npu_model::Name(mem)) + ": this object needs " +
                                         std::to_string(end - shared.start) + " bytes, the objects before it took " +
                                         std::to_string(shared.end - shared.start) +
                                         ", and a buffer lies behind them: register all objects first");
    return;
  }
  shared.end = next = end;
}

void TPipe::ForgetBuffers() {
  count_ = 0;
  for (uint32_t& next : next_) next = 0;
  for (Shared& shared : shared_) shared = {};
}

void TPipe::Reset(Site site) {
  detail::WaitFreeEvents(buffers_, count_, site);
  ForgetBuffers();
  npu_model::Core::Current().ResetPool(site);
}

void TPipe::DestroyWithoutPipeAll(Site site) {
  if (!open_) return;
  open_ = false;
  detail::WaitFreeEvents(buffers_, count_, site);
  npu_model::Core::Current().ClosePool("TPipe", site);
  ForgetBuffers();
}

void TPipe::Destroy(Site site) {
  if (!open_) return;
  open_ = false;
  npu_model::Core& core = npu_model::Core::Current();
  detail::WaitFreeEvents(buffers_, count_, site);
  const npu_model::Core::LibraryScope scope(core);
  core.PipeBarrierAll(site);
  core.ScalarCacheCleanInvalidate(0, 0, site);
  core.ClosePool("TPipe", site);
  ForgetBuffers();
}

}  // namespace AscendC
