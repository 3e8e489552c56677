// SPDX-License-Identifier: Apache-2.0
// Cast, comparisons, selections and reductions on a UB image.
#include "image.h"

using namespace AscendC;

namespace {

template <class F>
void WithFloat(uint32_t type, F f) {
  if (type == 0) return f(half());
  f(float());
}

// Call::type: dst, src pairs.
template <class F>
void WithCast(uint32_t pair, F f) {
  switch (pair) {
    case 0:
      return f(float(), half());
    case 1:
      return f(half(), float());
    case 2:
      return f(int32_t(), float());
    case 3:
      return f(float(), int32_t());
    case 4:
      return f(int32_t(), half());
    case 5:
      return f(int16_t(), half());
    case 6:
      return f(half(), int16_t());
    case 7:
      return f(int8_t(), half());
    case 8:
      return f(uint8_t(), half());
    case 9:
      return f(half(), int8_t());
    case 10:
      return f(half(), uint8_t());
    default:
      return f(half(), int32_t());
  }
}

}  // namespace

extern "C" __global__ __aicore__ void cast(GM_ADDR image, GM_ADDR, GM_ADDR tiling) {
  OnImage(image, tiling, [](auto& ub, const Call& c) {
    WithCast(c.type, [&](auto to, auto from) {
      auto d = At<decltype(to)>(ub, c.offset[0]);
      auto s = At<decltype(from)>(ub, c.offset[1]);
      const auto mode = static_cast<RoundMode>(c.mode);
      const UnaryRepeatParams strides(c.stride[0], c.stride[1], c.stride[3], c.stride[4]);
      uint64_t mask[2] = {c.mask[0], c.mask[1]};
      if (c.type == 11) SetDeqScale(ScalarOf<half>(c.scalar));
      if (c.form == kFormCount) {
        Cast(d, s, mode, static_cast<uint32_t>(c.count));
      } else if (c.form == kFormMask) {
        Cast(d, s, mode, c.mask[0], c.repeat, strides);
      } else {
        Cast(d, s, mode, mask, c.repeat, strides);
      }
    });
  });
}

// Scalar conversions: float values in src, int32 and half results behind each other in dst.
extern "C" __global__ __aicore__ void scalar_cast(GM_ADDR image, GM_ADDR, GM_ADDR tiling) {
  OnImage(image, tiling, [](auto& ub, const Call& c) {
    auto s = At<float>(ub, c.offset[1]);
    auto i = At<int32_t>(ub, c.offset[0]);
    auto h = At<half>(ub, c.offset[2]);
    SetFlag<HardEvent::MTE2_S>(0);
    WaitFlag<HardEvent::MTE2_S>(0);
    for (int n = 0; n < c.count; ++n) {
      const float x = s.GetValue(n);
      i.SetValue(4 * n, ScalarCast<float, int32_t, RoundMode::CAST_RINT>(x));
      i.SetValue(4 * n + 1, ScalarCast<float, int32_t, RoundMode::CAST_FLOOR>(x));
      i.SetValue(4 * n + 2, ScalarCast<float, int32_t, RoundMode::CAST_CEIL>(x));
      i.SetValue(4 * n + 3, ScalarCast<float, int32_t, RoundMode::CAST_ROUND>(x));
      h.SetValue(n, ScalarCast<float, half, RoundMode::CAST_ODD>(x));
    }
  });
}

// op 0: Compare count, 1: Compare repeats, 2: Compares count, 3: Compares repeats, 4: register and back.
extern "C" __global__ __aicore__ void compare(GM_ADDR image, GM_ADDR, GM_ADDR tiling) {
  OnImage(image, tiling, [](auto& ub, const Call& c) {
    WithFloat(c.type, [&](auto zero) {
      using T = decltype(zero);
      auto d = At<uint8_t>(ub, c.offset[0]);
      auto a = At<T>(ub, c.offset[1]), b = At<T>(ub, c.offset[2]);
      const auto mode = static_cast<CMPMODE>(c.mode);
      const BinaryRepeatParams strides(1, c.stride[1], c.stride[2], 8, c.stride[4], c.stride[5]);
      uint64_t mask[2] = {c.mask[0], c.mask[1]};
      switch (c.op) {
        case 0:
          Compare(d, a, b, mode, static_cast<uint32_t>(c.count));
          break;
        case 1:
          Compare(d, a, b, mode, mask, c.repeat, strides);
          break;
        case 2:
          Compares(d, a, ScalarOf<T>(c.scalar), mode, static_cast<uint32_t>(c.count));
          break;
        case 3:
          CompareScalar(d, a, ScalarOf<T>(c.scalar), mode, c.mask[0], c.repeat,
                        UnaryRepeatParams(1, c.stride[1], 8, c.stride[4]));
          break;
        default:
          Compare(a, b, mode, mask, strides);
          PipeBarrier<PIPE_V>();
          GetCmpMask(d);
      }
    });
  });
}

// op 0: count, 1: repeats, 2: scalar count, 3: scalar repeats, 4: register set by SetCmpMask.
extern "C" __global__ __aicore__ void select_lanes(GM_ADDR image, GM_ADDR, GM_ADDR tiling) {
  OnImage(image, tiling, [](auto& ub, const Call& c) {
    WithFloat(c.type, [&](auto zero) {
      using T = decltype(zero);
      auto d = At<T>(ub, c.offset[0]), a = At<T>(ub, c.offset[1]), b = At<T>(ub, c.offset[2]);
      auto bits = At<uint8_t>(ub, c.offset[3]);
      const auto mode = static_cast<SELMODE>(c.mode);
      const BinaryRepeatParams strides(c.stride[0], c.stride[1], c.stride[2], c.stride[3], c.stride[4], c.stride[5]);
      uint64_t mask[2] = {c.mask[0], c.mask[1]};
      switch (c.op) {
        case 0:
          Select(d, bits, a, b, mode, static_cast<uint32_t>(c.count));
          break;
        case 1:
          Select(d, bits, a, b, mode, mask, c.repeat, strides);
          break;
        case 2:
          Select(d, bits, a, ScalarOf<T>(c.scalar), mode, static_cast<uint32_t>(c.count));
          break;
        case 3:
          Select(d, bits, a, ScalarOf<T>(c.scalar), mode, c.mask[0], c.repeat, strides);
          break;
        default:
          SetCmpMask(bits);
          PipeBarrier<PIPE_V>();
          SetVectorMask<T>(mask[1], mask[0]);
          Select<T, SELMODE::VSEL_CMPMASK_SPR>(d, a, b, c.repeat, strides);
      }
    });
  });
}

// op: 0..2 block sum/max/min, 3 pair sum, 4..6 whole sum/max/min, 7 ReduceDataBlock, 8 ReducePairElem, 9 ReduceRepeat.
extern "C" __global__ __aicore__ void reduce(GM_ADDR image, GM_ADDR, GM_ADDR tiling) {
  OnImage(image, tiling, [](auto& ub, const Call& c) {
    WithFloat(c.type, [&](auto zero) {
      using T = decltype(zero);
      auto d = At<T>(ub, c.offset[0]), s = At<T>(ub, c.offset[1]);
      uint64_t mask[2] = {c.mask[0], c.mask[1]};
      const auto order = static_cast<ReduceOrder>(c.mode);
      const int32_t repeat = c.repeat, dst = c.stride[3], blk = c.stride[1], rep = c.stride[4];
      const auto both = [&](auto lanes) {
        switch (c.op) {
          case 0:
            return BlockReduceSum(d, s, lanes, repeat, dst, blk, rep);
          case 1:
            return BlockReduceMax(d, s, lanes, repeat, dst, blk, rep);
          case 2:
            return BlockReduceMin(d, s, lanes, repeat, dst, blk, rep);
          case 3:
            return PairReduceSum(d, s, lanes, repeat, dst, blk, rep);
          case 4:
            return WholeReduceSum(d, s, lanes, repeat, dst, blk, rep);
          case 5:
            return WholeReduceMax(d, s, lanes, repeat, dst, blk, rep, order);
          case 6:
            return WholeReduceMin(d, s, lanes, repeat, dst, blk, rep, order);
          case 7:
            return ReduceDataBlock<ReduceType::SUM>(d, s, lanes, repeat, dst, blk, rep);
          case 8:
            return ReducePairElem<ReduceType::SUM>(d, s, lanes, repeat, dst, blk, rep);
          default:
            return ReduceRepeat<ReduceType::MAX>(d, s, lanes, repeat, dst, blk, rep, order);
        }
      };
      if (c.form == kFormMask) {
        both(static_cast<int32_t>(c.mask[0]));
      } else {
        both(static_cast<const uint64_t*>(mask));
      }
    });
  });
}

// Whole-tensor reductions. op 0 sum, 1 max, 2 min; Call::mode: calculate the index; offset[2] is the work buffer.
extern "C" __global__ __aicore__ void reduce_all(GM_ADDR image, GM_ADDR, GM_ADDR tiling) {
  OnImage(image, tiling, [](auto& ub, const Call& c) {
    WithFloat(c.type, [&](auto zero) {
      using T = decltype(zero);
      auto d = At<T>(ub, c.offset[0]), s = At<T>(ub, c.offset[1]), work = At<T>(ub, c.offset[2]);
      uint64_t mask[2] = {c.mask[0], c.mask[1]};
      const int32_t repeat = c.repeat, rep = c.stride[4];
      if (c.op == 0) {
        if (c.form == kFormCount) {
          ReduceSum(d, s, work, c.count);
        } else {
          ReduceSum(d, s, work, mask, repeat, rep);
        }
      } else if (c.op == 1) {
        if (c.form == kFormCount) {
          ReduceMax(d, s, work, c.count, c.mode != 0);
        } else {
          ReduceMax(d, s, work, mask, repeat, rep, c.mode != 0);
        }
      } else {
        if (c.form == kFormCount) {
          ReduceMin(d, s, work, c.count, c.mode != 0);
        } else {
          ReduceMin(d, s, work, mask, repeat, rep, c.mode != 0);
        }
      }
    });
  });
}
