// SPDX-License-Identifier: Apache-2.0
#include "isa/copy.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace npu_model::isa {
namespace {

constexpr uint32_t kChunk = 256;  // values converted at a time

void LoadAsFloat(DType type, const uint8_t* src, uint32_t count, float deq_scale, float* out) {
  switch (type) {
    case DType::kFloat:
      std::memcpy(out, src, count * sizeof(float));
      return;
    case DType::kHalf: {
      uint16_t raw[kChunk];
      std::memcpy(raw, src, count * sizeof(uint16_t));
      HalfToFloat(raw, out, count);
      return;
    }
    default: {
      int32_t raw[kChunk];
      std::memcpy(raw, src, count * sizeof(int32_t));
      for (uint32_t i = 0; i < count; ++i) out[i] = static_cast<float>(raw[i]) * deq_scale;
      return;
    }
  }
}

template <class T>
void StoreRounded(const float* values, uint32_t count, double low, double high, uint8_t* dst) {
  T raw[kChunk];
  for (uint32_t i = 0; i < count; ++i) {
    const double rounded = std::nearbyint(static_cast<double>(values[i]));
    raw[i] = rounded != rounded ? T{0} : static_cast<T>(std::clamp(rounded, low, high));
  }
  std::memcpy(dst, raw, count * sizeof(T));
}

void StoreFromFloat(DType type, const float* values, uint32_t count, Overflow overflow, uint8_t* dst) {
  switch (type) {
    case DType::kHalf: {
      uint16_t raw[kChunk];
      FloatToHalf(values, raw, count);
      if (overflow == Overflow::kSaturate) {
        for (uint32_t i = 0; i < count; ++i) raw[i] = SaturateHalf(raw[i]);
      }
      std::memcpy(dst, raw, count * sizeof(uint16_t));
      return;
    }
    case DType::kInt16:
      return StoreRounded<int16_t>(values, count, -32768.0, 32767.0, dst);
    case DType::kInt8:
      return StoreRounded<int8_t>(values, count, -128.0, 127.0, dst);
    case DType::kUint8:
      return StoreRounded<uint8_t>(values, count, 0.0, 255.0, dst);
    default:
      std::memcpy(dst, values, count * sizeof(float));
      return;
  }
}

}  // namespace

void Copy(const BlockCopy& shape, uint8_t* dst, const uint8_t* src) {
  if (shape.src_pitch == shape.bytes && shape.dst_pitch == shape.bytes) {
    std::memmove(dst, src, size_t{shape.blocks} * shape.bytes);
    return;
  }
  for (uint32_t b = 0; b < shape.blocks; ++b) {
    std::memmove(dst + b * shape.dst_pitch, src + b * shape.src_pitch, shape.bytes);
  }
}

void CopyAdd(const BlockCopy& shape, DType type, uint8_t* dst, const uint8_t* src, Overflow overflow) {
  const uint32_t size = SizeOf(type);
  for (uint32_t b = 0; b < shape.blocks; ++b) {
    uint8_t* to = dst + b * shape.dst_pitch;
    const uint8_t* from = src + b * shape.src_pitch;
    for (uint32_t done = 0; done < shape.bytes / size; done += kChunk) {
      const uint32_t count = std::min(kChunk, shape.bytes / size - done);
      if (type == DType::kInt16) {
        uint16_t x[kChunk], y[kChunk];
        std::memcpy(x, to + done * size, count * size);
        std::memcpy(y, from + done * size, count * size);
        for (uint32_t i = 0; i < count; ++i) x[i] = static_cast<uint16_t>(x[i] + y[i]);
        std::memcpy(to + done * size, x, count * size);
        continue;
      }
      float x[kChunk], y[kChunk];
      LoadAsFloat(type, to + done * size, count, 1.0f, x);
      LoadAsFloat(type, from + done * size, count, 1.0f, y);
      for (uint32_t i = 0; i < count; ++i) x[i] += y[i];
      StoreFromFloat(type, x, count, overflow, to + done * size);
    }
  }
}

void Copy(const ConvertCopy& shape, uint8_t* dst, const uint8_t* src, Overflow overflow) {
  const uint32_t src_size = SizeOf(shape.src_type);
  const uint32_t dst_size = SizeOf(shape.dst_type);
  for (uint32_t run = 0; run < shape.blocks * shape.units; ++run) {
    const uint32_t block = run / shape.units;
    const uint32_t unit = run % shape.units;
    for (uint32_t done = 0; done < shape.elements; done += kChunk) {
      const uint32_t count = std::min(kChunk, shape.elements - done);
      const uint8_t* from = src + block * shape.src_pitch + unit * shape.src_unit_pitch + done * src_size;
      uint8_t* to = dst + block * shape.dst_pitch + unit * shape.dst_unit_pitch + done * dst_size;
      if (shape.src_type == shape.dst_type && !shape.relu) {
        std::memmove(to, from, count * src_size);
        continue;
      }
      float values[kChunk];
      if (shape.src_type == DType::kInt32 && shape.dst_type == DType::kInt32) {
        int32_t raw[kChunk];
        std::memcpy(raw, from, count * sizeof(int32_t));
        for (uint32_t i = 0; i < count; ++i) raw[i] = std::max(raw[i], 0);
        std::memcpy(to, raw, count * sizeof(int32_t));
        continue;
      }
      LoadAsFloat(shape.src_type, from, count, shape.deq_scale, values);
      if (shape.relu) {
        for (uint32_t i = 0; i < count; ++i) values[i] = values[i] < 0.0f ? 0.0f : values[i];
      }
      StoreFromFloat(shape.dst_type, values, count, overflow, to);
    }
  }
}

void FillRuns(uint8_t* dst, uint32_t runs, uint32_t bytes, uint64_t pitch, uint32_t element_bytes,
              uint32_t value_bits) {
  const uint32_t word = element_bytes == 2 ? (value_bits & 0xffffu) * 0x10001u : value_bits;
  uint8_t block[kBlockBytes];
  for (uint32_t i = 0; i < kBlockBytes; i += 4) std::memcpy(block + i, &word, 4);
  for (uint32_t r = 0; r < runs; ++r) {
    for (uint32_t done = 0; done < bytes; done += kBlockBytes) std::memcpy(dst + r * pitch + done, block, kBlockBytes);
  }
}

}  // namespace npu_model::isa
