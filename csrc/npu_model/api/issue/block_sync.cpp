// SPDX-License-Identifier: Apache-2.0
#include "issue/block_sync.h"

#include <algorithm>
#include <string>

#include "issue/copy.h"
#include "issue/library.h"
#include "issue/vector.h"

namespace npu_model::issue {
namespace {

// First word of a flag in UB.
Operand Word(const View& flag, Access access) { return MakeOperand(Mem::kUb, access, flag.address, 4, 4, flag.origin); }

int32_t Load(Core& core, const View& flag, const char* name, Site site) {
  int32_t value = 0;
  if (const uint8_t* from = core.ScalarLoad(Word(flag, Access::kRead), name, site))
    std::copy_n(from, sizeof(value), reinterpret_cast<uint8_t*>(&value));
  return value;
}

void Store(Core& core, const View& flag, int32_t value, const char* name, Site site) {
  if (uint8_t* to = core.ScalarStore(Word(flag, Access::kWrite), name, site))
    std::copy_n(reinterpret_cast<const uint8_t*>(&value), sizeof(value), to);
}

// `count` flags between GM and UB.
void CopyFlags(const View& dst, const View& src, uint32_t count, Site site) {
  IssueCopy(dst, src, {1, count, 0, 0, true}, site);
}

// GM -> UB, and S has it.
void Poll(Core& core, const View& ub, const View& gm, uint32_t count, Site site) {
  CopyFlags(ub, gm, count, site);
  SetAndWait(core, Queue::kMte2, Queue::kS, site);
}

// `value` -> UB -> GM, in flight when the call returns.
void Write(Core& core, const View& gm, const View& ub, int32_t value, const char* name, Site site) {
  Store(core, ub, value, name, site);
  SetAndWait(core, Queue::kS, Queue::kMte3, site);
  CopyFlags(gm, ub, 1, site);
}

}  // namespace

void SyncAllSoftware(const View& gm, const View& ub, int32_t used_cores, Site site) {
  constexpr const char* kName = "SyncAll";
  Core& core = Core::Current();
  const int blocks = used_cores != 0 ? used_cores : core.block_num();
  if (blocks != core.block_num()) {
    core.Abort(Rule::kUnsupported, kName, site,
               "the model synchronises all " + std::to_string(core.block_num()) + " blocks, usedCores is " +
                   std::to_string(used_cores));
    return;
  }
  if (!CheckUb(core, ub, kName, site)) return;
  Core::LibraryScope scope(core);
  core.PipeBarrierAll(site);
  const uint64_t own = uint64_t{static_cast<uint32_t>(core.block_idx())} * kBlockBytes;
  const View own_gm = Offset(gm, own);
  const View own_ub = Offset(ub, own);
  Poll(core, own_ub, own_gm, 1, site);
  const int32_t before = Load(core, own_ub, kName, site);
  uint32_t& rounds = core.SyncAlls(gm.address);
  if (before != static_cast<int32_t>(rounds)) {
    core.Abort(Rule::kParam, kName, site,
               "the GM workspace must hold zeros before the first SyncAll, and after it what SyncAll leaves there: the "
               "flag of block " +
                   std::to_string(core.block_idx()) + " holds " + std::to_string(before) + " instead of " +
                   std::to_string(rounds));
    return;
  }
  const int32_t round = static_cast<int32_t>(++rounds);
  Write(core, own_gm, own_ub, round, kName, site);
  SetAndWait(core, Queue::kMte3, Queue::kMte2, site);
  core.SyncAll(site);

  Poll(core, ub, gm, static_cast<uint32_t>(blocks), site);
  // The first time the library stores its flag with every poll.
  if (round == 1) {
    Write(core, own_gm, own_ub, round, kName, site);
    SetAndWait(core, Queue::kMte3, Queue::kMte2, site);
  }
  for (int b = 0; b < blocks; ++b) {
    if (round == 1 && b == core.block_idx()) continue;
    const View flag = Offset(ub, uint64_t{static_cast<uint32_t>(b)} * kBlockBytes);
    const int32_t value = Load(core, flag, kName, site);
    if (value >= round) {
      // Whether a block is at its next SyncAll by now depends on the host; the earliest poll that succeeds sees this.
      std::copy_n(reinterpret_cast<const uint8_t*>(&round), sizeof(round), Pointer(core, flag));
      continue;
    }
    core.Abort(Rule::kParam, kName, site,
               "the flag of block " + std::to_string(b) + " holds " + std::to_string(value) +
                   " in GM after its SyncAll " + std::to_string(round) +
                   ": something else writes it, or the blocks use different workspaces");
    return;
  }
  SetAndWait(core, Queue::kS, Queue::kMte2, site);
}

void BlockFlag(bool set, const View& gm, const View& ub, int32_t block_idx, int32_t event_id, Site site) {
  Core& core = Core::Current();
  GmFlag flag;
  flag.workspace = gm.address;
  flag.block_idx = block_idx;
  flag.event_id = event_id;
  flag.set = set;
  if (!CheckUb(core, ub, flag.Call(), site)) return;
  if (block_idx < 0 || block_idx >= core.block_num() || event_id < 0) {
    core.Abort(Rule::kParam, flag.Call(), site,
               flag.ToString() + ": blockIdx must lie in 0.." + std::to_string(core.block_num() - 1) +
                   " and eventID must not be negative");
    return;
  }
  const uint64_t offset =
      (uint64_t{static_cast<uint32_t>(event_id)} * static_cast<uint32_t>(core.block_num()) + block_idx) * kBlockBytes;
  const View slot = Offset(gm, offset);
  flag.address = slot.address;
  Core::LibraryScope scope(core);
  core.PipeBarrierAll(site);
  core.AwaitFlag(flag, site);
  Poll(core, ub, slot, 1, site);
  Load(core, ub, flag.Call(), site);  // what it is has been awaited
  Write(core, slot, ub, set ? 1 : 0, flag.Call(), site);
  core.PipeBarrierAll(site);
  core.TurnFlag(flag, site);
}

}  // namespace npu_model::issue
