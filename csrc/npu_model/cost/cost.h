// SPDX-License-Identifier: Apache-2.0
// What an instruction tells the cost model about itself. Bytes, bursts and bank conflicts are derived from its
// operands' regions.
#pragma once

#include <cstdint>

namespace npu_model {

enum class CostClass : uint8_t {
  kVector,   // repeats x weight x bank-conflict factor; also UB->UB copies (repeats = ceil(bytes / 256))
  kL0cUb,    // L0C <-> UB on V: `bytes` counted on the fp32 side
  kMmad,     // m, n, k
  kLoadL0a,  // L1 -> L0A: `units` fractals of 512 B
  kLoadL0b,  // L1 -> L0B: `units` fractals
  kL1ToUb,   // MTE1 (bytes from the read operand)
  kUbToL1,   // MTE3 (bytes and bursts from the read operand; one run of a region is one burst)
  kGmLoad,   // MTE2 GM -> UB / L1 / L0 (bursts = runs of the GM operand)
  kGmStore,  // MTE3 UB -> GM
  kFill,     // Fill / InitConstValue of L1, L0A, L0B: `units` fractals, charged like a LoadData to that memory
  kFree,     // occupies nothing (NOP forms)
};

struct Cost {
  CostClass cls = CostClass::kFree;
  uint8_t weight = 1;  // kVector: 1 simple, 4 transcendental / integer / permutation, 2 reductions
  uint16_t m = 0;
  uint16_t n = 0;
  uint16_t k = 0;
  uint32_t units = 0;  // kVector: repeats; kLoadL0*, kFill: fractals
  uint32_t bytes = 0;  // kL0cUb
};

inline Cost VectorCost(uint32_t repeats, uint8_t weight) {
  Cost cost;
  cost.cls = CostClass::kVector;
  cost.weight = weight;
  cost.units = repeats;
  return cost;
}
inline Cost MmadCost(uint16_t m, uint16_t n, uint16_t k) {
  Cost cost;
  cost.cls = CostClass::kMmad;
  cost.m = m;
  cost.n = n;
  cost.k = k;
  return cost;
}
inline Cost FractalCost(CostClass cls, uint32_t fractals) {
  Cost cost;
  cost.cls = cls;
  cost.units = fractals;
  return cost;
}
inline Cost L0cUbCost(uint32_t fp32_bytes) {
  Cost cost;
  cost.cls = CostClass::kL0cUb;
  cost.bytes = fp32_bytes;
  return cost;
}
inline Cost CopyCost(CostClass cls) {
  Cost cost;
  cost.cls = cls;
  return cost;
}

}  // namespace npu_model
