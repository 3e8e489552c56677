// SPDX-License-Identifier: Apache-2.0
// L0A and L0B as two slots each, so that the loads of one product run while the Cube works on the one before.
#ifndef CHUNK_GDR_COMMON_BLOCK_CUBE_SLOTS_H_
#define CHUNK_GDR_COMMON_BLOCK_CUBE_SLOTS_H_

#include "../tile/sync.h"
#include "matmul.h"

namespace chunk_gdr {

class CubeSlots {
 public:
  __aicore__ inline void Open(const LocalTensor<half>& l0a, const LocalTensor<half>& l0b, uint32_t slot_elems) {
    l0a_ = l0a;
    l0b_ = l0b;
    slot_elems_ = slot_elems;
    Signal<HardEvent::M_MTE1>(0);
    Signal<HardEvent::M_MTE1>(1);
  }
  __aicore__ inline void Close() {
    Await<HardEvent::M_MTE1>(0);
    Await<HardEvent::M_MTE1>(1);
  }

  // The next slot, free for loads; then products between Loaded and Done. Two slots may be open at a time.
  __aicore__ inline int32_t Begin() {
    slot_ = 1 - (held_ == kNone ? slot_ : held_);
    Await<HardEvent::M_MTE1>(slot_);
    return slot_;
  }
  // Between its parts a job in parts keeps its slot, and others take turns in the one that is left. Of two such jobs the later one counts as
  // held; the other has to be released before the next Begin, which waits for its slot.
  __aicore__ inline void Hold(int32_t slot) { held_ = slot; }
  __aicore__ inline void Release(int32_t slot) {
    held_ = held_ == slot ? kNone : held_;
    Done(slot);
  }
  __aicore__ inline void Loaded(int32_t slot) { Handoff<HardEvent::MTE1_M>(slot); }
  // A second part of the same slot's loads, under the products of the first, and a third.
  __aicore__ inline void LoadedRest(int32_t slot) { Handoff<HardEvent::MTE1_M>(kSlots + slot); }
  __aicore__ inline void LoadedLast(int32_t slot) { Handoff<HardEvent::MTE1_M>(2 * kSlots + slot); }
  __aicore__ inline void Done(int32_t slot) { Signal<HardEvent::M_MTE1>(slot); }

  __aicore__ inline LocalTensor<half> A(int32_t slot, uint32_t fractal = 0) { return l0a_[slot * slot_elems_ + fractal * kFractalElems]; }
  __aicore__ inline LocalTensor<half> B(int32_t slot, uint32_t fractal = 0) { return l0b_[slot * slot_elems_ + fractal * kFractalElems]; }

 private:
  static constexpr int32_t kSlots = 2;
  static constexpr int32_t kNone = -1;

  LocalTensor<half> l0a_;
  LocalTensor<half> l0b_;
  uint32_t slot_elems_ = 0;
  int32_t slot_ = 0;
  int32_t held_ = kNone;
};

// c += factor x, factor the identity [16, 16] times +1 or -1, on `fractals` fractals: whatever tile they are of, they are a column of
// 16 x 16 blocks here. Exact in fp32 when x is c's own rounding, and so is the way back. `arrival`: the id by which MTE3 promises x, or
// kArrived.
constexpr int32_t kArrived = -1;

__aicore__ inline void AddBlocks(CubeSlots& slots, const LocalTensor<float>& c, const LocalTensor<half>& x, const LocalTensor<half>& factor,
                                 uint32_t fractals, int32_t arrival) {
  const int32_t slot = slots.Begin();
  LoadB(slots.B(slot), 0, {factor, 1, 0, 0}, 1, 1);
  if (arrival != kArrived) {
    Await<HardEvent::MTE3_MTE1>(arrival);
  }
  LoadA(slots.A(slot), 0, fractals, {x, 1, 0, 0}, 1, fractals);
  slots.Loaded(slot);
  Multiply(c, slots.A(slot), slots.B(slot), fractals, 1, 1, Onto::kSettled);
  slots.Done(slot);
}

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_COMMON_BLOCK_CUBE_SLOTS_H_
