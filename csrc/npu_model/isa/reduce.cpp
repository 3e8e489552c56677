// SPDX-License-Identifier: Apache-2.0
#include "isa/reduce.h"

#include "isa/lanes.h"

namespace npu_model::isa {
namespace {

bool Active(const uint64_t* mask, uint32_t lane) { return ((mask[lane >> 6] >> (lane & 63)) & 1) != 0; }

template <DType type>
float RoundSum(float sum, Overflow overflow) {
  return type == DType::kHalf ? HalfToFloat(FloatToHalf(sum, overflow)) : sum;
}

// Reduces lanes [first, first + count), count a power of two. False if none is active.
template <DType type>
bool TreeSum(const float* values, const uint64_t* mask, uint32_t first, uint32_t count, Overflow overflow,
             float* result) {
  float level[kMaxLanes];
  bool valid[kMaxLanes];
  for (uint32_t i = 0; i < count; ++i) {
    level[i] = values[first + i];
    valid[i] = Active(mask, first + i);
  }
  for (uint32_t width = count / 2; width >= 1; width /= 2) {
    for (uint32_t i = 0; i < width; ++i) {
      const bool left = valid[2 * i];
      const bool right = valid[2 * i + 1];
      level[i] =
          left && right ? RoundSum<type>(level[2 * i] + level[2 * i + 1], overflow) : level[left ? 2 * i : 2 * i + 1];
      valid[i] = left || right;
    }
  }
  *result = level[0];
  return valid[0];
}

// First extreme active lane; a NaN beats everything.
bool Extreme(ReduceOp op, const float* values, const uint64_t* mask, uint32_t first, uint32_t count, uint32_t* lane) {
  bool found = false;
  for (uint32_t i = first; i < first + count; ++i) {
    if (!Active(mask, i)) continue;
    if (!found) {
      *lane = i;
      found = true;
      continue;
    }
    const float best = values[*lane];
    if (best != best) break;
    const bool better = op == ReduceOp::kMax ? values[i] > best : values[i] < best;
    if (better || values[i] != values[i]) *lane = i;
  }
  return found;
}

template <DType type>
void StoreOne(uint8_t* base, float value, Overflow overflow) {
  if constexpr (type == DType::kHalf) {
    const uint16_t raw = FloatToHalf(value, overflow);
    std::memcpy(base, &raw, sizeof(raw));
  } else {
    (void)overflow;
    std::memcpy(base, &value, sizeof(value));
  }
}

template <DType type>
bool ReduceGroup(ReduceOp op, const float* values, const uint64_t* mask, uint32_t first, uint32_t count,
                 Overflow overflow, float* result) {
  if (op == ReduceOp::kSum) return TreeSum<type>(values, mask, first, count, overflow, result);
  uint32_t lane = 0;
  if (!Extreme(op, values, mask, first, count, &lane)) return false;
  *result = values[lane];
  return true;
}

// Results of all groups of a repeat are computed before the first is stored.
template <DType type>
void RunGroups(ReduceOp op, uint32_t group, const Lanes& lanes, Operand dst, Operand src, Overflow overflow) {
  constexpr uint32_t kSize = type == DType::kHalf ? 2 : 4;
  constexpr uint32_t kWidth = kRepeatBytes / kSize;
  alignas(64) float values[kWidth];
  float results[kWidth];
  bool written[kWidth];
  for (uint32_t r = 0; r < lanes.repeats; ++r) {
    const uint64_t* mask = lanes.MaskOf(r);
    LoadValues<type>(src.base, src.block_stride, kWidth, mask, values);
    for (uint32_t g = 0; g < kWidth / group; ++g) {
      written[g] = ReduceGroup<type>(op, values, mask, g * group, group, overflow, &results[g]);
    }
    for (uint32_t g = 0; g < kWidth / group; ++g) {
      if (written[g]) StoreOne<type>(dst.base + size_t{g} * kSize, results[g], overflow);
    }
    dst.base += dst.repeat_stride;
    src.base += src.repeat_stride;
  }
}

template <DType type>
void RunExtremes(ReduceOp op, bool index_first, const Lanes& lanes, Operand dst, Operand src, Overflow overflow) {
  constexpr uint32_t kSize = type == DType::kHalf ? 2 : 4;
  constexpr uint32_t kWidth = kRepeatBytes / kSize;
  alignas(64) float values[kWidth];
  for (uint32_t r = 0; r < lanes.repeats; ++r) {
    const uint64_t* mask = lanes.MaskOf(r);
    LoadValues<type>(src.base, src.block_stride, kWidth, mask, values);
    uint32_t lane = 0;
    if (Extreme(op, values, mask, 0, kWidth, &lane)) {
      StoreOne<type>(dst.base + (index_first ? kSize : 0), values[lane], overflow);
      std::memcpy(dst.base + (index_first ? 0 : kSize), &lane, kSize);  // little-endian: the low bytes
    }
    dst.base += dst.repeat_stride;
    src.base += src.repeat_stride;
  }
}

}  // namespace

void ReduceBlocks(ReduceOp op, DType type, const Lanes& lanes, const Operand& dst, const Operand& src,
                  Overflow overflow) {
  if (type == DType::kHalf) return RunGroups<DType::kHalf>(op, 16, lanes, dst, src, overflow);
  RunGroups<DType::kFloat>(op, 8, lanes, dst, src, overflow);
}

void ReducePairs(DType type, const Lanes& lanes, const Operand& dst, const Operand& src, Overflow overflow) {
  if (type == DType::kHalf) return RunGroups<DType::kHalf>(ReduceOp::kSum, 2, lanes, dst, src, overflow);
  RunGroups<DType::kFloat>(ReduceOp::kSum, 2, lanes, dst, src, overflow);
}

void ReduceRepeats(ReduceOp op, DType type, bool index_first, const Lanes& lanes, const Operand& dst,
                   const Operand& src, Overflow overflow) {
  if (op == ReduceOp::kSum) {
    if (type == DType::kHalf) return RunGroups<DType::kHalf>(op, 128, lanes, dst, src, overflow);
    return RunGroups<DType::kFloat>(op, 64, lanes, dst, src, overflow);
  }
  if (type == DType::kHalf) return RunExtremes<DType::kHalf>(op, index_first, lanes, dst, src, overflow);
  RunExtremes<DType::kFloat>(op, index_first, lanes, dst, src, overflow);
}

}  // namespace npu_model::isa
