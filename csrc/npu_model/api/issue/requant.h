// SPDX-License-Identifier: Apache-2.0
// L0C -> UB of integer results with a factor per column, or to bytes.
#pragma once

#include "issue/view.h"

namespace npu_model::issue {

// 16 columns, `rows` of them high, one fractal below the other in L0C. In UB rows of 16 halves, or of 32 bytes half of
// which are written.
struct RequantCopy {
  uint32_t rows = 0;
  DType dst_type = DType::kHalf;
  bool upper_half = false;
  bool per_column = false;  // 16 factors from UB, else `word`
  uint64_t word = 0;
};
void IssueRequantCopy(const View& dst, const View& src, const View& scales, const RequantCopy& shape, Site site);

}  // namespace npu_model::issue
