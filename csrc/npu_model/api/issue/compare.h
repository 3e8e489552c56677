// SPDX-License-Identifier: Apache-2.0
// Issues comparisons and selections.
#pragma once

#include "isa/compare.h"
#include "issue/vector.h"

namespace npu_model::issue {

// `repeats` full repeats; the mask register plays no part.
void IssueCompare(isa::CompareOp op, DType type, const View& dst, const View& src0, const View& src1, uint32_t repeats,
                  const Strides3& strides, Site site);
void IssueCompareScalar(isa::CompareOp op, DType type, const View& dst, const View& src, uint32_t scalar_bits,
                        uint32_t repeats, const Strides2& strides, Site site);
// Counts of elements: whole 256-byte repeats, in instructions of at most 252.
void CompareCount(isa::CompareOp op, DType type, const View& dst, const View& src0, const View& src1, uint32_t count,
                  Site site);
void CompareScalarCount(isa::CompareOp op, DType type, const View& dst, const View& src, uint32_t scalar_bits,
                        uint32_t count, Site site);
// One repeat into the compare-mask register of the vector unit.
void IssueCompareToRegister(isa::CompareOp op, DType type, const View& src0, const View& src1, const LaneForm& form,
                            const Strides3& strides, Site site);
void IssueSetCmpMask(const View& src, Site site);
void IssueGetCmpMask(const View& dst, Site site);

// Selection by the register as it stands.
void IssueSelectByRegister(DType type, const View& dst, const View& src0, const View& src1, const LaneForm& form,
                           const Strides3& strides, Site site);
// Selection by a tensor of bits, with the register and scratch set up as the library does it. src1 is a tensor, or a
// scalar when `scalar_bits` is given.
void SelectByTensor(isa::SelectMode mode, DType type, const View& dst, const View& bits, const View& src0,
                    const View* src1, uint32_t scalar_bits, const LaneForm& form, const Strides3& strides, Site site);

}  // namespace npu_model::issue
