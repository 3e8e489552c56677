// SPDX-License-Identifier: Apache-2.0
// Contiguous rows of any of the four float types, read to and written from the type that is computed in.
#pragma once

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace chunk_gdr::cpu {

enum class Dtype { kHalf, kBFloat16, kFloat, kDouble };

inline int64_t ElemBytes(Dtype dtype) {
  switch (dtype) {
    case Dtype::kHalf:
    case Dtype::kBFloat16: return 2;
    case Dtype::kFloat: return 4;
    case Dtype::kDouble: return 8;
  }
  return 0;
}

// Double to float such that a second rounding, to half or bfloat16, gives the correctly rounded result of the double:
// an inexact value becomes the neighbour with an odd mantissa.
inline float RoundToOdd(double x) {
  const float nearest = static_cast<float>(x);
  if (std::isinf(nearest) || std::isnan(nearest) || static_cast<double>(nearest) == x) return nearest;
  uint32_t bits;
  std::memcpy(&bits, &nearest, sizeof(bits));
  if (bits & 1u) return nearest;
  const bool rounded_away = std::fabs(static_cast<double>(nearest)) > std::fabs(x);
  bits = rounded_away ? bits - 1 : bits | 1u;
  float odd;
  std::memcpy(&odd, &bits, sizeof(odd));
  return odd;
}

template <typename To, typename From>
To Round(From x) {
  if constexpr (sizeof(To) == 2 && std::is_same_v<From, double>) {
    return static_cast<To>(RoundToOdd(x));
  } else {
    return static_cast<To>(x);
  }
}

// Calls f with a null pointer of the element type behind `dtype`.
template <typename F>
void WithType(Dtype dtype, const F& f) {
  switch (dtype) {
    case Dtype::kHalf: return f(static_cast<c10::Half*>(nullptr));
    case Dtype::kBFloat16: return f(static_cast<c10::BFloat16*>(nullptr));
    case Dtype::kFloat: return f(static_cast<float*>(nullptr));
    case Dtype::kDouble: return f(static_cast<double*>(nullptr));
  }
}

template <typename Acc>
void LoadRow(const void* base, Dtype dtype, int64_t offset_elems, int64_t count, Acc* to) {
  WithType(dtype, [&](auto* tag) {
    const auto* from = static_cast<std::add_const_t<std::remove_pointer_t<decltype(tag)>>*>(base) + offset_elems;
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<Acc>(from[i]);
  });
}

template <typename Acc>
void StoreRow(const Acc* from, int64_t count, void* base, Dtype dtype, int64_t offset_elems) {
  WithType(dtype, [&](auto* tag) {
    using Elem = std::remove_pointer_t<decltype(tag)>;
    Elem* to = static_cast<Elem*>(base) + offset_elems;
    for (int64_t i = 0; i < count; ++i) to[i] = Round<Elem>(from[i]);
  });
}

}  // namespace chunk_gdr::cpu
