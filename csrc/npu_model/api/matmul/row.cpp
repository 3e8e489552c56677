// SPDX-License-Identifier: Apache-2.0
#include "matmul/row.h"

#include "issue/copy.h"
#include "issue/library.h"
#include "issue/vector.h"

namespace npu_model::matmul {

void CopyRow(Core& core, const View& ub, const View& gm, uint32_t bytes, uint32_t padded, Site site) {
  const uint32_t blocks = CeilDiv(bytes, kBlockBytes);
  const uint32_t held = blocks * kBlockBytes;
  if (held < padded) {
    issue::IssueDuplicate(4, issue::Offset(ub, held), 0, issue::LaneForm::Count((padded - held) / 4), {}, site);
    core.PipeBarrier(Queue::kV, site);
  }
  issue::SetAndWait(core, Queue::kV, Queue::kMte2, site);
  issue::IssueCopy(ub, gm, {1, blocks, 0, 0}, site);
  issue::SetAndWait(core, Queue::kMte2, Queue::kV, site);
}

}  // namespace npu_model::matmul
