// SPDX-License-Identifier: Apache-2.0
// A kernel that loads a whole UB image, runs one call on it, and stores it back: the test compares every byte.
// With Call::probe the image is followed by a flag per byte: S stores the bytes flagged 1, and after the call loads
// those flagged 2. What the call reads unwritten, or leaves unwritten for S, is for the checker to say.
#pragma once

#include "kernel_operator.h"

struct Call {
  uint32_t op, type, form, repeat;
  int32_t count;
  uint32_t set_mask;
  uint64_t mask[2];
  uint32_t offset[4];  // bytes: dst, src0, src1, extra
  uint32_t stride[6];  // as in the parameter structs
  uint32_t scalar;
  uint32_t mode;
  uint32_t image_bytes;
  uint32_t extra[5];
  uint32_t probe;
};

constexpr uint32_t kFormCount = 0;
constexpr uint32_t kFormMask = 1;
constexpr uint32_t kFormBits = 2;

template <class Body>
void OnFlaggedBytes(AscendC::LocalTensor<uint8_t>& ub, GM_ADDR image, const Call& call, Body body) {
  AscendC::GlobalTensor<uint8_t> bytes, flags;
  bytes.SetGlobalBuffer(image, call.image_bytes);
  flags.SetGlobalBuffer(image + call.image_bytes, call.image_bytes);
  for (uint32_t i = 0; i < call.image_bytes; ++i) {
    if (flags.GetValue(i) & 1) ub.SetValue(i, bytes.GetValue(i));
  }
  AscendC::SetFlag<AscendC::HardEvent::S_V>(0);
  AscendC::WaitFlag<AscendC::HardEvent::S_V>(0);
  body(ub, call);
  AscendC::PipeBarrier<PIPE_ALL>();
  for (uint32_t i = 0; i < call.image_bytes; ++i) {
    if (flags.GetValue(i) & 2) ub.GetValue(i);
  }
}

template <class Body>
void OnImage(GM_ADDR image, GM_ADDR tiling, Body body) {
  GET_TILING_DATA_WITH_STRUCT(Call, call, tiling);
  AscendC::TPipe pipe;
  AscendC::TBuf<AscendC::TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, call.image_bytes);
  AscendC::LocalTensor<uint8_t> ub = buffer.Get<uint8_t>();
  if (call.probe) return OnFlaggedBytes(ub, image, call, body);
  AscendC::GlobalTensor<uint8_t> gm;
  gm.SetGlobalBuffer(image, call.image_bytes);
  AscendC::DataCopy(ub, gm, call.image_bytes);
  AscendC::SetFlag<AscendC::HardEvent::MTE2_V>(0);
  AscendC::WaitFlag<AscendC::HardEvent::MTE2_V>(0);
  body(ub, call);
  AscendC::PipeBarrier<PIPE_ALL>();
  AscendC::DataCopy(gm, ub, call.image_bytes);
}

template <class T>
AscendC::LocalTensor<T> At(const AscendC::LocalTensor<uint8_t>& ub, uint32_t offset) {
  return ub[offset].ReinterpretCast<T>();
}

template <class T>
T ScalarOf(uint32_t bits) {
  T value;
  std::memcpy(static_cast<void*>(&value), &bits, sizeof(T));
  return value;
}
