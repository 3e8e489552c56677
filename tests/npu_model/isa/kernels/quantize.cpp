// SPDX-License-Identifier: Apache-2.0
// CastDequant with its registers, AddReluCast, SubReluCast, AddDeqRelu on a UB image.
#include "image.h"

using namespace AscendC;

namespace {

// Call::mode: 1: words in UB at offset[2], scales behind Call::scalar, else one for all; 2: the high half of each
// block.
template <class T, bool isVecDeq, bool halfBlock>
void Dequant(const LocalTensor<uint8_t>& ub, const Call& c) {
  auto d = At<T>(ub, c.offset[0]);
  auto s = At<int16_t>(ub, c.offset[1]);
  const float scale = ScalarOf<float>(c.scalar);
  const int16_t offset = static_cast<int16_t>(c.extra[0]);
  constexpr bool kSigned = std::is_same_v<T, int8_t>;
  if (isVecDeq) {
    VdeqInfo info;
    for (int i = 0; i < 16; ++i) {
      info.vdeqScale[i] = scale * (1 + i);
      info.vdeqOffset[i] = offset - i;
      info.vdeqSignMode[i] = kSigned != (i == 3);  // one lane of the other kind
    }
    SetFlag<HardEvent::MTE2_S>(0);
    WaitFlag<HardEvent::MTE2_S>(0);
    SetDeqScale(At<uint64_t>(ub, c.offset[2]), info);
    SetFlag<HardEvent::S_V>(0);
    WaitFlag<HardEvent::S_V>(0);
  } else {
    SetDeqScale(scale, offset, kSigned);
  }
  const UnaryRepeatParams strides(c.stride[0], c.stride[1], c.stride[3], c.stride[4]);
  if (c.form == kFormCount && c.set_mask) {
    CastDequant<T, int16_t, isVecDeq, halfBlock>(d, s, static_cast<uint32_t>(c.count));
  } else if (c.form == kFormCount) {
    CastDeq<T, int16_t, isVecDeq, halfBlock>(d, s, static_cast<uint32_t>(c.count));
  } else if (c.form == kFormMask) {
    CastDequant<T, int16_t, true, isVecDeq, halfBlock>(d, s, static_cast<int32_t>(c.mask[0]), c.repeat, strides);
  } else {
    CastDeq<T, int16_t, true, isVecDeq, halfBlock>(d, s, c.mask, c.repeat, strides);
  }
}

template <class T>
void DequantMode(const LocalTensor<uint8_t>& ub, const Call& c) {
  switch (c.mode) {
    case 0: return Dequant<T, false, false>(ub, c);
    case 1: return Dequant<T, true, false>(ub, c);
    case 2: return Dequant<T, false, true>(ub, c);
    default: return Dequant<T, true, true>(ub, c);
  }
}

void Product(const LocalTensor<uint8_t>& ub, const Call& c) {
  auto a = At<half>(ub, c.offset[1]), b = At<half>(ub, c.offset[2]);
  uint64_t mask[2] = {c.mask[0], c.mask[1]};
  const BinaryRepeatParams strides(c.stride[0], c.stride[1], c.stride[2], c.stride[3], c.stride[4], c.stride[5]);
  const auto call = [&](auto d) {
    if (c.form == kFormCount) return MulCast(d, a, b, static_cast<uint32_t>(c.count));
    if (c.form == kFormMask) return MulCast(d, a, b, c.mask[0], c.repeat, strides);
    MulCast(d, a, b, mask, c.repeat, strides);
  };
  if (c.type == 3) return call(At<int8_t>(ub, c.offset[0]));
  call(At<uint8_t>(ub, c.offset[0]));
}

template <class T, class U>
void ReluCast(const LocalTensor<uint8_t>& ub, const Call& c) {
  auto d = At<T>(ub, c.offset[0]);
  auto a = At<U>(ub, c.offset[1]), b = At<U>(ub, c.offset[2]);
  uint64_t mask[2] = {c.mask[0], c.mask[1]};
  const BinaryRepeatParams strides(c.stride[0], c.stride[1], c.stride[2], c.stride[3], c.stride[4], c.stride[5]);
  const uint32_t count = static_cast<uint32_t>(c.count);
  if (c.op == 0 && c.form == kFormCount) return AddReluCast(d, a, b, count);
  if (c.op == 0 && c.form == kFormMask) return AddReluCast(d, a, b, c.mask[0], c.repeat, strides);
  if (c.op == 0) return AddReluCast(d, a, b, mask, c.repeat, strides);
  if (c.form == kFormCount) return SubReluCast(d, a, b, count);
  if (c.form == kFormMask) return SubReluCast(d, a, b, c.mask[0], c.repeat, strides);
  SubReluCast(d, a, b, mask, c.repeat, strides);
}

}  // namespace

extern "C" __global__ __aicore__ void cast_dequant(GM_ADDR image, GM_ADDR, GM_ADDR tiling) {
  OnImage(image, tiling,
          [](auto& ub, const Call& c) { c.type == 0 ? DequantMode<int8_t>(ub, c) : DequantMode<uint8_t>(ub, c); });
}

extern "C" __global__ __aicore__ void relu_cast(GM_ADDR image, GM_ADDR, GM_ADDR tiling) {
  OnImage(image, tiling, [](auto& ub, const Call& c) {
    if (c.type == 0) return ReluCast<half, float>(ub, c);
    if (c.type == 1) return ReluCast<int8_t, half>(ub, c);
    if (c.type >= 3) return Product(ub, c);
    ReluCast<int8_t, int16_t>(ub, c);
  });
}

extern "C" __global__ __aicore__ void add_deq_relu(GM_ADDR image, GM_ADDR, GM_ADDR tiling) {
  OnImage(image, tiling, [](auto& ub, const Call& c) {
    auto d = At<half>(ub, c.offset[0]);
    auto a = At<int32_t>(ub, c.offset[1]), b = At<int32_t>(ub, c.offset[2]);
    uint64_t mask[2] = {c.mask[0], c.mask[1]};
    const BinaryRepeatParams strides(c.stride[0], c.stride[1], c.stride[2], c.stride[3], c.stride[4], c.stride[5]);
    SetDeqScale(ScalarOf<half>(c.scalar));
    if (c.form == kFormCount) return AddDeqRelu(d, a, b, c.count);
    if (c.form == kFormMask) return AddDeqRelu(d, a, b, c.mask[0], c.repeat, strides);
    AddDeqRelu(d, a, b, mask, c.repeat, strides);
  });
}

// Registers that do not fit the call; Call::op says how.
extern "C" __global__ __aicore__ void wrong_register(GM_ADDR image, GM_ADDR, GM_ADDR tiling) {
  OnImage(image, tiling, [](auto& ub, const Call& c) {
    auto d = At<int8_t>(ub, c.offset[0]);
    auto s = At<int16_t>(ub, c.offset[1]);
    if (c.op == 0) {
      SetDeqScale(1.0f, 0, true);
      CastDequant<int8_t, int16_t, true, false>(d, s, 16);
    } else if (c.op == 1) {
      SetDeqScale(1.0f, 0, false);
      CastDequant<int8_t, int16_t, false, false>(d, s, 16);
    } else {
      SetFlag<HardEvent::MTE2_S>(0);
      WaitFlag<HardEvent::MTE2_S>(0);
      SetDeqScale(At<uint64_t>(ub, c.offset[2]), VdeqInfo());  // and V reads the words unordered
      CastDequant<int8_t, int16_t, true, false>(d, s, 16);
    }
  });
}
