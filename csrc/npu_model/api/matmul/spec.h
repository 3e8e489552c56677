// SPDX-License-Identifier: Apache-2.0
// What the parts of the high-level Matmul know of the object they belong to.
#pragma once

#include "issue/view.h"
#include "kernel_tiling/kernel_tiling.h"

namespace npu_model::matmul {

using isa::DType;
using issue::View;

constexpr uint32_t kSide = 16;             // of a fractal
constexpr uint32_t kAccumulatorBytes = 4;  // of an element in L0C
constexpr uint32_t kL0Bytes = kL0aBytes;   // of L0A as of L0B
static_assert(kL0aBytes == kL0bBytes);

constexpr uint32_t CeilDiv(uint32_t a, uint32_t b) { return (a + b - 1) / b; }
constexpr uint32_t AlignUp(uint32_t a, uint32_t b) { return CeilDiv(a, b) * b; }

enum class Format : uint8_t { kNd, kNz, kNdAligned };

// One matrix, as the object's type fixes it.
struct Side {
  bool in_gm = true;  // else in UB
  Format format = Format::kNd;
  DType type = DType::kHalf;
  bool may_transpose = false;

  uint32_t size() const { return isa::SizeOf(type); }
  uint32_t c0() const { return kBlockBytes / size(); }  // columns of a strip of an operand
  // Columns of a strip of the result: those of a fractal, but for 8-bit elements, two fractals of which share a strip.
  uint32_t strip() const { return size() == 1 ? 2 * kSide : kSide; }
};

struct Spec {
  Side a, b, c;
  bool bias_in_gm = true;
  bool multi_load = false;  // L1 holds tiles of step x step base blocks (MDL), else single base blocks
  bool vector_nz = false;   // layouts of ND matrices in GM are changed by vector instructions
  bool share_ub = false;    // vector_nz: the way in and the way out use the same UB

  bool integer() const { return a.type == DType::kInt8; }
  DType l0c_type() const { return integer() ? DType::kInt32 : DType::kFloat; }
  bool requantised() const { return integer() && c.type != DType::kInt32; }
  // Only 16-bit fractals can be transposed on the way to L0B: bytes are turned in UB.
  bool turned() const { return integer() && !b.may_transpose; }
};

struct Shape {
  uint32_t org_m = 0, org_n = 0, org_ka = 0, org_kb = 0, org_kc = 0;
  uint32_t single_m = 0, single_n = 0, single_k = 0;

  uint32_t c_columns() const { return org_kc != 0 ? org_kc : org_n; }
};

// The UB of SetLocalWorkspace: what lies where in it, in bytes.
struct Workspace {
  View base;
  uint32_t given = 0;
  uint32_t bias = 0;    // [baseN]
  uint32_t scales = 0;  // [baseN] 64-bit words
  uint32_t in = 0;      // of an operand on its way to L1, as it comes from GM
  uint32_t turned = 0;  // the same, in the layout of L1
  uint32_t out = 0;     // base block of the result, NZ
  uint32_t rows = 0;    // the same in rows

  View At(uint32_t offset) const { return issue::Offset(base, offset); }
};

struct Context {
  Spec spec;
  TCubeTiling tiling;
  Shape shape;
  Workspace workspace;
};

}  // namespace npu_model::matmul
