// SPDX-License-Identifier: Apache-2.0
// A kernel that loads a whole UB image, runs one call on it, and stores it back: the test compares every byte.
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
};

constexpr uint32_t kFormCount = 0;
constexpr uint32_t kFormMask = 1;
constexpr uint32_t kFormBits = 2;

template <class Body>
void OnImage(GM_ADDR image, GM_ADDR tiling, Body body) {
  GET_TILING_DATA_WITH_STRUCT(Call, call, tiling);
  AscendC::TPipe pipe;
  AscendC::TBuf<AscendC::TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, call.image_bytes);
  AscendC::LocalTensor<uint8_t> ub = buffer.Get<uint8_t>();
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
