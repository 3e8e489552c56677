// SPDX-License-Identifier: Apache-2.0
// The way of a base block of the result out of L0C.
#pragma once

#include "matmul/spec.h"

namespace npu_model::matmul {

// Factors of an integer result: one 64-bit word for all columns or a vector of them in GM. Bits 0-31 are a float, of
// which 19 bits count; for 8-bit results bits 37-45 are an offset and bit 46 says that they are signed.
struct Requant {
  enum class Kind : uint8_t { kNone, kScalar, kVector } kind = Kind::kNone;
  uint64_t word = 0;
  View vector;
};

// A base block in L0C and where it belongs in C.
struct Result {
  View l0c;
  uint32_t m = 0, n = 0;  // of its first element
  uint32_t rows = 0, columns = 0;
  bool alone = false;  // written as a matrix of its own instead
};

void StoreToGm(Core& core, const Context& context, const Requant& requant, const Result& result, const View& gm,
               bool add, Site site);
// C in UB: [single_n / strip][single_m up to 16][strip] in NZ.
void StoreToUb(Core& core, const Context& context, const Requant& requant, const Result& result, const View& ub,
               Site site);

}  // namespace npu_model::matmul
