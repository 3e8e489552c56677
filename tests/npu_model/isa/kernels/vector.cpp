// SPDX-License-Identifier: Apache-2.0
// Every element-wise call in its three forms; Call::op picks the call, Call::type the element type.
#include "image.h"

using namespace AscendC;

namespace {

enum Type { kHalf, kFloat, kInt16, kInt32, kUint16, kUint32 };

template <class F>
void WithFloat(uint32_t type, F f) {
  if (type == kHalf) return f(half());
  f(float());
}
template <class F>
void WithArith(uint32_t type, F f) {
  switch (type) {
    case kInt16:
      return f(int16_t());
    case kInt32:
      return f(int32_t());
    default:
      return WithFloat(type, f);
  }
}
template <class F>
void WithBits(uint32_t type, F f) {
  if (type == kInt16) return f(int16_t());
  f(uint16_t());
}

BinaryRepeatParams Binary(const Call& c) {
  return BinaryRepeatParams(c.stride[0], c.stride[1], c.stride[2], c.stride[3], c.stride[4], c.stride[5]);
}
UnaryRepeatParams Unary(const Call& c) { return UnaryRepeatParams(c.stride[0], c.stride[1], c.stride[3], c.stride[4]); }

#define BINARY(number, Name, With)                                                             \
  case number:                                                                                 \
    With(c.type, [&](auto zero) {                                                              \
      using T = decltype(zero);                                                                \
      auto d = At<T>(ub, c.offset[0]), a = At<T>(ub, c.offset[1]), b = At<T>(ub, c.offset[2]); \
      uint64_t mask[2] = {c.mask[0], c.mask[1]};                                               \
      if (c.form == kFormCount) {                                                              \
        Name(d, a, b, c.count);                                                                \
      } else if (c.form == kFormMask) {                                                        \
        Name(d, a, b, c.mask[0], c.repeat, Binary(c));                                         \
      } else if (c.set_mask) {                                                                 \
        Name(d, a, b, mask, c.repeat, Binary(c));                                              \
      } else {                                                                                 \
        SetVectorMask<T>(mask[1], mask[0]);                                                    \
        Name<T, false>(d, a, b, MASK_PLACEHOLDER, c.repeat, Binary(c));                        \
      }                                                                                        \
    });                                                                                        \
    break;
#define UNARY(number, Name, With)                                  \
  case number:                                                     \
    With(c.type, [&](auto zero) {                                  \
      using T = decltype(zero);                                    \
      auto d = At<T>(ub, c.offset[0]), a = At<T>(ub, c.offset[1]); \
      uint64_t mask[2] = {c.mask[0], c.mask[1]};                   \
      if (c.form == kFormCount) {                                  \
        Name(d, a, c.count);                                       \
      } else if (c.form == kFormMask) {                            \
        Name(d, a, c.mask[0], c.repeat, Unary(c));                 \
      } else {                                                     \
        Name(d, a, mask, c.repeat, Unary(c));                      \
      }                                                            \
    });                                                            \
    break;
#define SCALAR(number, Name, With)                                 \
  case number:                                                     \
    With(c.type, [&](auto zero) {                                  \
      using T = decltype(zero);                                    \
      auto d = At<T>(ub, c.offset[0]), a = At<T>(ub, c.offset[1]); \
      const T s = ScalarOf<T>(c.scalar);                           \
      uint64_t mask[2] = {c.mask[0], c.mask[1]};                   \
      if (c.form == kFormCount) {                                  \
        Name(d, a, s, c.count);                                    \
      } else if (c.form == kFormMask) {                            \
        Name(d, a, s, c.mask[0], c.repeat, Unary(c));              \
      } else {                                                     \
        Name(d, a, s, mask, c.repeat, Unary(c));                   \
      }                                                            \
    });                                                            \
    break;

// Call::mode: 0 half+half, 1 float+float, 2 float+half.
template <class F>
void WithPair(uint32_t mode, F f) {
  if (mode == 0) return f(half(), half());
  if (mode == 1) return f(float(), float());
  f(float(), half());
}

}  // namespace

extern "C" __global__ __aicore__ void binary(GM_ADDR image, GM_ADDR, GM_ADDR tiling) {
  OnImage(image, tiling, [](auto& ub, const Call& c) {
    switch (c.op) {
      BINARY(0, Add, WithArith)
      BINARY(1, Sub, WithArith)
      BINARY(2, Mul, WithArith)
      BINARY(3, Div, WithFloat)
      BINARY(4, Max, WithArith)
      BINARY(5, Min, WithArith)
      BINARY(6, And, WithBits)
      BINARY(7, Or, WithBits)
      BINARY(8, AddRelu, WithFloat)
      BINARY(9, SubRelu, WithFloat)
      BINARY(10, FusedMulAdd, WithFloat)
      BINARY(11, MulAddRelu, WithFloat)
      BINARY(12, FusedMulAddRelu, WithFloat)
    }
  });
}

extern "C" __global__ __aicore__ void unary(GM_ADDR image, GM_ADDR, GM_ADDR tiling) {
  OnImage(image, tiling, [](auto& ub, const Call& c) {
    switch (c.op) {
      UNARY(0, Exp, WithFloat)
      UNARY(1, Ln, WithFloat)
      UNARY(2, Abs, WithFloat)
      UNARY(3, Sqrt, WithFloat)
      UNARY(4, Rsqrt, WithFloat)
      UNARY(5, Reciprocal, WithFloat)
      case 6:
        if (c.type == kInt32) {
          Relu(At<int32_t>(ub, c.offset[0]), At<int32_t>(ub, c.offset[1]), c.count);
        } else {
          WithFloat(c.type, [&](auto zero) {
            using T = decltype(zero);
            Relu(At<T>(ub, c.offset[0]), At<T>(ub, c.offset[1]), c.count);
          });
        }
        break;
        UNARY(7, Not, WithBits)
    }
  });
}

extern "C" __global__ __aicore__ void scalar(GM_ADDR image, GM_ADDR, GM_ADDR tiling) {
  OnImage(image, tiling, [](auto& ub, const Call& c) {
    switch (c.op) {
      SCALAR(0, Adds, WithArith)
      SCALAR(1, Muls, WithArith)
      SCALAR(2, Maxs, WithArith)
      SCALAR(3, Mins, WithArith)
      SCALAR(4, LeakyRelu, WithFloat)
      case 5: {
        uint64_t mask[2] = {c.mask[0], c.mask[1]};
        const auto run = [&](auto zero) {
          using T = decltype(zero);
          auto d = At<T>(ub, c.offset[0]);
          const T s = ScalarOf<T>(c.scalar);
          if (c.form == kFormCount) {
            Duplicate(d, s, c.count);
          } else if (c.form == kFormMask) {
            Duplicate(d, s, c.mask[0], c.repeat, c.stride[0], c.stride[3]);
          } else {
            Duplicate(d, s, mask, c.repeat, c.stride[0], c.stride[3]);
          }
        };
        if (c.type == kUint16) {
          run(uint16_t());
        } else if (c.type == kUint32) {
          run(uint32_t());
        } else {
          WithArith(c.type, run);
        }
        break;
      }
    }
  });
}

extern "C" __global__ __aicore__ void multiply_add(GM_ADDR image, GM_ADDR, GM_ADDR tiling) {
  OnImage(image, tiling, [](auto& ub, const Call& c) {
    WithPair(c.mode, [&](auto to, auto from) {
      using D = decltype(to);
      using S = decltype(from);
      auto d = At<D>(ub, c.offset[0]);
      auto a = At<S>(ub, c.offset[1]), b = At<S>(ub, c.offset[2]);
      uint64_t mask[2] = {c.mask[0], c.mask[1]};
      if (c.op == 0) {
        if (c.form == kFormCount) {
          MulAddDst(d, a, b, c.count);
        } else if (c.form == kFormMask) {
          MulAddDst(d, a, b, c.mask[0], c.repeat, Binary(c));
        } else {
          MulAddDst(d, a, b, mask, c.repeat, Binary(c));
        }
      } else {
        const S s = ScalarOf<S>(c.scalar);
        if (c.form == kFormCount) {
          Axpy(d, a, s, c.count);
        } else if (c.form == kFormMask) {
          Axpy(d, a, s, c.mask[0], c.repeat, Unary(c));
        } else {
          Axpy(d, a, s, mask, c.repeat, Unary(c));
        }
      }
    });
  });
}

// The mask register after a count form, and count mode with strides.
extern "C" __global__ __aicore__ void mask_state(GM_ADDR image, GM_ADDR, GM_ADDR tiling) {
  OnImage(image, tiling, [](auto& ub, const Call& c) {
    auto d = At<float>(ub, c.offset[0]), a = At<float>(ub, c.offset[1]), b = At<float>(ub, c.offset[2]);
    if (c.op == 0) {
      // A hand-set mask does not survive the count form: the last call runs on all 64 lanes.
      SetVectorMask<float>(0, 0xff);
      Add(b, a, a, 8);
      PipeBarrier<PIPE_V>();
      Add<float, false>(d, a, a, MASK_PLACEHOLDER, 1, BinaryRepeatParams());
    } else if (c.op == 1) {
      // Count mode by hand: the repeat argument is ignored, strides are honoured.
      SetMaskCount();
      SetVectorMask<float, MaskMode::COUNTER>(0, c.count);
      Adds<float, false>(d, a, 1.0f, MASK_PLACEHOLDER, 1, Unary(c));
      SetMaskNorm();
      ResetMask();
    } else {
      // The mask of a mask form stays in the register.
      Adds(b, a, 0.0f, static_cast<uint64_t>(5), 1, UnaryRepeatParams());
      PipeBarrier<PIPE_V>();
      Adds<float, false>(d, a, 1.0f, MASK_PLACEHOLDER, 2, UnaryRepeatParams());
    }
  });
}
