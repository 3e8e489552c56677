// SPDX-License-Identifier: Apache-2.0
// Positions of the operator's inputs, outputs and attributes: the order of its definition, and that of the kernel's
// entry. Shapes are those of the kernel: head dims that are multiples of 16, g and beta as rows per head.
#ifndef CHUNK_GDR_OP_HOST_CHUNK_GATED_DELTA_RULE_OPERANDS_H_
#define CHUNK_GDR_OP_HOST_CHUNK_GATED_DELTA_RULE_OPERANDS_H_

#include <cstddef>

namespace chunk_gdr::host {

constexpr const char* kOpName = "ChunkGatedDeltaRule";

enum InputIdx : size_t {
  kQuery,         // [T, Nk, Dk]
  kKey,           // [T, Nk, Dk]
  kValue,         // [T, Nv, Dv]
  kBeta,          // [Nv, Tp], optional
  kInitialState,  // [B, Nv, Dv, Dk], optional
  kLengths,       // [B], optional
  kG,             // [Nv, Tp], optional
  kChunkState,    // [rows, Nv, Dv, Dk], optional; written in place
};

enum OutputIdx : size_t {
  kOut,         // [T, Nv, Dv]
  kFinalState,  // [B, Nv, Dv, Dk]
};

enum AttrIdx : size_t { kScale, kUseQkL2norm };

}  // namespace chunk_gdr::host

#endif  // CHUNK_GDR_OP_HOST_CHUNK_GATED_DELTA_RULE_OPERANDS_H_
