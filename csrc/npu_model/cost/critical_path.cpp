// SPDX-License-Identifier: Apache-2.0
#include "cost/critical_path.h"

namespace npu_model {

void CriticalPath::Add(const CriticalPath& other) {
  if (stages.size() < other.stages.size()) stages.resize(other.stages.size());
  for (size_t stage = 0; stage < other.stages.size(); ++stage) {
    for (int q = 0; q < kQueueCount; ++q) {
      for (int kind = 0; kind < kLinkKinds; ++kind) {
        stages[stage].cycles[q][kind] += other.stages[stage].cycles[q][kind];
      }
    }
  }
}

CriticalPath CriticalLinks::Trace(uint32_t last) const {
  CriticalPath path;
  for (uint32_t at = last; at != 0; at = links_[at - 1].before) {
    const Link& link = links_[at - 1];
    const size_t stage = static_cast<size_t>(link.stage + 1);
    if (stage >= path.stages.size()) path.stages.resize(stage + 1);
    path.stages[stage].cycles[static_cast<int>(link.queue)][static_cast<int>(link.kind)] += link.cycles;
    if (link.site == kNoSite) continue;
    if (link.site >= path.sites.size()) path.sites.resize(link.site + 1);
    path.sites[link.site] += link.cycles;
  }
  return path;
}

}  // namespace npu_model
