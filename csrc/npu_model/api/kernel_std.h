// SPDX-License-Identifier: Apache-2.0
// Scalar helpers of the public headers.
#pragma once

#include <type_traits>

#include "kernel_macros.h"

namespace AscendC {
namespace Std {

using std::conditional_t;
using std::enable_if;
using std::enable_if_t;
using std::false_type;
using std::integral_constant;
using std::is_same;
using std::is_same_v;
using std::true_type;

template <typename T, typename U>
constexpr T min(const T a, const U b) {
  return static_cast<T>(b) < a ? static_cast<T>(b) : a;
}
template <typename T, typename U>
constexpr T max(const T a, const U b) {
  return a < static_cast<T>(b) ? static_cast<T>(b) : a;
}
template <typename T>
constexpr T abs(const T value) {
  return value < 0 ? -value : value;
}
template <typename T, typename U>
constexpr T ceil_division(const T a, const U b) {
  return (a + b - 1) / b;
}
template <typename T, typename U>
constexpr T ceil_align(const T a, const U b) {
  return ceil_division(a, b) * b;
}

}  // namespace Std

template <typename T, typename U>
constexpr auto Ceil(T a, U b) -> decltype(a / b) {
  return b == 0 ? 0 : (a + b - 1) / b;
}

}  // namespace AscendC
