// SPDX-License-Identifier: Apache-2.0
// A flag that stays up from one step of a library routine to a later one.
#pragma once

#include "engine/core.h"

namespace npu_model::matmul {

// From `from` to `to`, on an id that is taken while the flag is pending.
class Link {
 public:
  Link(Queue from, Queue to) : from_(from), to_(to) {}

  bool pending() const { return id_ >= 0; }
  void Set(Core& core, Site site) {
    id_ = core.AllocEventId(from_, to_, site);
    if (id_ >= 0) core.SetFlag(from_, to_, id_, site);
  }
  void Wait(Core& core, Site site) {
    if (id_ < 0) return;
    core.WaitFlag(from_, to_, id_, site);
    core.ReleaseEventId(from_, to_, id_, site);
    id_ = -1;
  }

 private:
  Queue from_, to_;
  int id_ = -1;
};

}  // namespace npu_model::matmul
