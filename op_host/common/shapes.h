// SPDX-License-Identifier: Apache-2.0
// Shapes of CANN's contexts as plain numbers, and the checks that every operator makes on them.
#ifndef CHUNK_GDR_OP_HOST_COMMON_SHAPES_H_
#define CHUNK_GDR_OP_HOST_COMMON_SHAPES_H_

#include <cstdint>
#include <cstdio>
#include <exception>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

#include "register/op_def_registry.h"

namespace chunk_gdr::host {

using Dims = std::vector<int64_t>;

inline Dims DimsOf(const gert::Shape& shape) {
  Dims dims;
  for (size_t i = 0; i < shape.GetDimNum(); ++i) {
    dims.push_back(shape.GetDim(i));
  }
  return dims;
}

// CANN's mark for a shape of which not even the rank is known.
inline bool IsUnknownRank(const gert::Shape& shape) { return shape.GetDimNum() == 1 && shape.GetDim(0) == -2; }

inline std::string Text(const Dims& dims) {
  std::string text;
  for (const int64_t dim : dims) {
    text += (text.empty() ? "" : ", ") + std::to_string(dim);
  }
  return "[" + text + "]";
}

[[noreturn]] inline void Refuse(const char* operand, const std::string& expected, const std::string& got) {
  throw std::invalid_argument(std::string("operand '") + operand + "': expected " + expected + ", got " + got);
}

inline const Dims& RequireRank(const char* operand, const Dims& dims, size_t rank) {
  if (dims.size() != rank) {
    Refuse(operand, "rank " + std::to_string(rank), Text(dims));
  }
  return dims;
}

// The shape of an operand that has to be there; nullptr is one that is not.
inline const gert::Shape& Required(const char* operand, const gert::Shape* shape, size_t rank) {
  if (shape == nullptr) {
    Refuse(operand, "rank " + std::to_string(rank), "no tensor");
  }
  return *shape;
}

inline void RequireDims(const char* operand, const Dims& dims, const Dims& expected) {
  if (dims != expected) {
    Refuse(operand, "shape " + Text(expected), Text(dims));
  }
}

// What a function of the operator throws, as CANN wants it: a status, and one line.
template <typename Function>
ge::graphStatus Reported(const char* op, Function function) {
  try {
    function();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", op, error.what());
    return ge::GRAPH_FAILED;
  }
  return ge::GRAPH_SUCCESS;
}

}  // namespace chunk_gdr::host

#endif  // CHUNK_GDR_OP_HOST_COMMON_SHAPES_H_
