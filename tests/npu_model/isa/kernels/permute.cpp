// SPDX-License-Identifier: Apache-2.0
// TransDataTo5HD, Transpose, Gather, GatherMask, Brcb, CreateVecIndex on a UB image.
#include "image.h"

using namespace AscendC;

namespace {

// Rows i at offset + i * pitch; Call::extra: dst pitch, src pitch. Call::mode: 0 tensors, 1 addresses, 2 addresses in
// UB.
template <class T>
void TransData(const LocalTensor<uint8_t>& ub, const Call& c) {
  const TransDataTo5HDParams params(c.set_mask & 2, c.set_mask & 4, c.repeat, c.stride[3], c.stride[4]);
  LocalTensor<T> dst[16], src[16];
  uint64_t to[16], from[16];
  for (int i = 0; i < 16; ++i) {
    dst[i] = At<T>(ub, c.offset[0] + i * c.extra[0]);
    src[i] = At<T>(ub, c.offset[1] + i * c.extra[1]);
    to[i] = dst[i].GetPhyAddr();
    from[i] = src[i].GetPhyAddr();
  }
  if (c.mode == 0) {
    TransDataTo5HD<T>(dst, src, params);
  } else if (c.mode == 1) {
    TransDataTo5HD<T>(to, from, params);
  } else {
    auto lists = At<uint64_t>(ub, c.offset[2]);
    SetFlag<HardEvent::MTE2_S>(0);
    WaitFlag<HardEvent::MTE2_S>(0);
    for (int i = 0; i < 16; ++i) {
      lists.SetValue(i, to[i]);
      lists.SetValue(16 + i, from[i]);
    }
    TransDataTo5HD<T>(lists, lists[16], params);
  }
}

template <class T>
void GatherOf(const LocalTensor<uint8_t>& ub, const Call& c) {
  auto d = At<T>(ub, c.offset[0]), s = At<T>(ub, c.offset[1]);
  auto offsets = At<uint32_t>(ub, c.offset[2]);
  uint64_t mask[2] = {c.mask[0], c.mask[1]};
  if (c.form == kFormCount) {
    Gather(d, s, offsets, c.extra[0], static_cast<uint32_t>(c.count));
  } else if (c.form == kFormMask) {
    Gather(d, s, offsets, c.extra[0], c.mask[0], c.repeat, c.stride[3]);
  } else {
    Gather(d, s, offsets, c.extra[0], mask, c.repeat, c.stride[3]);
  }
}

// Call::mode: the built-in pattern, 0: bits at offset[2]. Call::set_mask: count mode, Call::count its mask.
// The count of kept elements goes to offset[3].
template <class T, class U>
void GatherMaskOf(const LocalTensor<uint8_t>& ub, const Call& c) {
  auto d = At<T>(ub, c.offset[0]), s = At<T>(ub, c.offset[1]);
  const GatherMaskParams params(c.stride[1], c.repeat, c.stride[4], c.stride[5]);
  uint64_t kept = 77;
  if (c.mode != 0) {
    GatherMask(d, s, static_cast<uint8_t>(c.mode), c.set_mask != 0, c.count, params, kept);
  } else {
    GatherMask(d, s, At<U>(ub, c.offset[2]), c.set_mask != 0, c.count, params, kept);
  }
  At<uint64_t>(ub, c.offset[3]).SetValue(0, kept);
}

template <class T>
void IndexOf(const LocalTensor<uint8_t>& ub, const Call& c) {
  auto d = At<T>(ub, c.offset[0]);
  const T first = ScalarOf<T>(c.scalar);
  uint64_t mask[2] = {c.mask[0], c.mask[1]};
  SetFlag<HardEvent::MTE2_S>(0);
  WaitFlag<HardEvent::MTE2_S>(0);
  if (c.form == kFormCount) {
    CreateVecIndex(d, first, static_cast<uint32_t>(c.count));
  } else if (c.form == kFormMask) {
    CreateVecIndex(d, first, c.mask[0], c.repeat, c.stride[0], c.stride[3]);
  } else {
    CreateVecIndex(d, first, mask, c.repeat, c.stride[0], c.stride[3]);
  }
}

}  // namespace

extern "C" __global__ __aicore__ void trans_data(GM_ADDR image, GM_ADDR, GM_ADDR tiling) {
  OnImage(image, tiling, [](auto& ub, const Call& c) {
    if (c.type == 0) TransData<half>(ub, c);
    if (c.type == 1) TransData<float>(ub, c);
    if (c.type == 2) TransData<int8_t>(ub, c);
  });
}

extern "C" __global__ __aicore__ void transpose(GM_ADDR image, GM_ADDR, GM_ADDR tiling) {
  OnImage(image, tiling,
          [](auto& ub, const Call& c) { Transpose(At<half>(ub, c.offset[0]), At<half>(ub, c.offset[1])); });
}

extern "C" __global__ __aicore__ void gather(GM_ADDR image, GM_ADDR, GM_ADDR tiling) {
  OnImage(image, tiling, [](auto& ub, const Call& c) {
    if (c.type == 0) return GatherOf<half>(ub, c);
    GatherOf<float>(ub, c);
  });
}

extern "C" __global__ __aicore__ void gather_mask(GM_ADDR image, GM_ADDR, GM_ADDR tiling) {
  OnImage(image, tiling, [](auto& ub, const Call& c) {
    if (c.type == 0) return GatherMaskOf<half, uint16_t>(ub, c);
    GatherMaskOf<float, uint32_t>(ub, c);
  });
}

extern "C" __global__ __aicore__ void brcb(GM_ADDR image, GM_ADDR, GM_ADDR tiling) {
  OnImage(image, tiling, [](auto& ub, const Call& c) {
    const BrcbRepeatParams params(c.stride[0], c.stride[3]);
    if (c.type == 0) return Brcb(At<half>(ub, c.offset[0]), At<half>(ub, c.offset[1]), c.repeat, params);
    Brcb(At<float>(ub, c.offset[0]), At<float>(ub, c.offset[1]), c.repeat, params);
  });
}

extern "C" __global__ __aicore__ void vec_index(GM_ADDR image, GM_ADDR, GM_ADDR tiling) {
  OnImage(image, tiling, [](auto& ub, const Call& c) {
    if (c.type == 0) return IndexOf<half>(ub, c);
    if (c.type == 1) return IndexOf<float>(ub, c);
    if (c.type == 2) return IndexOf<int16_t>(ub, c);
    IndexOf<int32_t>(ub, c);
  });
}

// Call::extra: n, c, h, w; Call::mode: the TransposeType; Call::type: bytes of an element.
extern "C" __global__ __aicore__ void transpose_images(GM_ADDR image, GM_ADDR, GM_ADDR tiling) {
  OnImage(image, tiling, [](auto& ub, const Call& c) {
    const TransposeParamsExt params(c.extra[0], c.extra[1], c.extra[2], c.extra[3], static_cast<TransposeType>(c.mode));
    const auto call = [&](auto element) {
      using T = decltype(element);
      Transpose(At<T>(ub, c.offset[0]), At<T>(ub, c.offset[1]), At<uint8_t>(ub, c.offset[2]), params);
    };
    if (c.type == 1) return call(uint8_t());
    if (c.type == 2) return call(half());
    call(float());
  });
}
