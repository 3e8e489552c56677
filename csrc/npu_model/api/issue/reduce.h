// SPDX-License-Identifier: Apache-2.0
// Issues reductions.
#pragma once

#include "isa/reduce.h"
#include "issue/vector.h"

namespace npu_model::issue {

// dst_stride counts results of one repeat; source strides are 32-byte blocks.
struct ReduceStrides {
  int64_t dst = 1, src_block = 1, src_repeat = 8;
  // The library reduces partial results onto themselves: a result may lie inside its own repeat's source.
  bool in_place = false;
};

void IssueReduceBlocks(const char* name, isa::ReduceOp op, DType type, const View& dst, const View& src,
                       const LaneForm& form, const ReduceStrides& strides, Site site);
void IssueReducePairs(const char* name, DType type, const View& dst, const View& src, const LaneForm& form,
                      const ReduceStrides& strides, Site site);
void IssueReduceRepeats(const char* name, isa::ReduceOp op, DType type, bool index_first, const View& dst,
                        const View& src, const LaneForm& form, const ReduceStrides& strides, Site site);

// ReduceSum over `repeats` repeats of `mask` lanes: per-repeat trees into tmp, then trees over the partial sums, the
// last value copied by the scalar unit when one repeat was enough.
void ReduceSumAll(DType type, const View& dst, const View& src, const View& tmp, const LaneForm& form,
                  uint32_t src_repeat, Site site);
// ReduceMax / ReduceMin: (value, index) pairs into tmp, then again over the pairs; with_index follows the chain of
// indices on the scalar unit.
void ReduceExtremeAll(isa::ReduceOp op, DType type, const View& dst, const View& src, const View& tmp,
                      const LaneForm& form, uint32_t src_repeat, bool with_index, Site site);

}  // namespace npu_model::issue
