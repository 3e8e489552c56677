// SPDX-License-Identifier: Apache-2.0
#include "matmul/feed.h"

#include <algorithm>
#include <string>

#include "issue/library.h"
#include "matmul/to_l0.h"

namespace npu_model::matmul {

using issue::SetAndWait;

Feed::Feed(const Context& context, bool left)
    : context_(context), left_(left), side_(left ? context.spec.a : context.spec.b) {}

uint32_t Feed::base_outer() const {
  return static_cast<uint32_t>(left_ ? context_.tiling.baseM : context_.tiling.baseN);
}
uint32_t Feed::single_outer() const { return left_ ? context_.shape.single_m : context_.shape.single_n; }
uint32_t Feed::step_outer() const {
  return context_.spec.multi_load ? static_cast<uint32_t>(left_ ? context_.tiling.stepM : context_.tiling.stepN) : 1;
}
uint32_t Feed::step_k() const {
  return context_.spec.multi_load ? static_cast<uint32_t>(left_ ? context_.tiling.stepKa : context_.tiling.stepKb) : 1;
}

// A matrix in UB is the core's own part and no more.
uint32_t Feed::org_rows() const {
  const Shape& shape = context_.shape;
  if (!side_.in_gm) return rows_along_k() ? shape.single_k : single_outer();
  if (rows_along_k()) return left_ ? shape.org_ka : shape.org_kb;
  return left_ ? shape.org_m : shape.org_n;
}
uint32_t Feed::org_columns() const {
  const Shape& shape = context_.shape;
  if (!side_.in_gm) return rows_along_k() ? single_outer() : shape.single_k;
  if (!rows_along_k()) return left_ ? shape.org_ka : shape.org_kb;
  return left_ ? shape.org_m : shape.org_n;
}

Queue Feed::FillQueue() const {
  const bool by_vector = context_.spec.vector_nz && side_.format == Format::kNd;
  return side_.in_gm && !by_vector && !turned() ? Queue::kMte2 : Queue::kMte3;
}

uint32_t Feed::outer_step() const { return base_outer() * step_outer(); }
uint32_t Feed::k_step() const { return static_cast<uint32_t>(context_.tiling.baseK) * step_k(); }

uint32_t Feed::SlotBytes() const {
  return AlignUp(outer_step(), turned() ? kBlockBytes : kSide) * AlignUp(k_step(), side_.c0()) * side_.size();
}

uint32_t Feed::SlotCount() const {
  const int depth = left_ ? context_.tiling.depthA1 : context_.tiling.depthB1;
  return std::max<uint32_t>(1, static_cast<uint32_t>(depth) / (step_outer() * step_k()));
}

void Feed::Place(uint32_t start, Site site) {
  const uint32_t slots = SlotCount();
  const uint32_t k_tiles = CeilDiv(context_.shape.single_k, k_step());
  const int step = left_ ? context_.tiling.stepM : context_.tiling.stepN;
  const uint32_t outer_kept = static_cast<uint32_t>(step) / step_outer();
  // Two slots take turns unless everything fits; where a single tile does, two may still hide one load behind another.
  const bool turns = slots < k_tiles * outer_kept || (slots == 2 && k_tiles == 1);
  kept_ = !turns ? slots : slots > 2 ? slots - 2 : 0;
  slots_.assign(slots, Slot(FillQueue()));
  turn_ = 0;
  last_ = 0;
  const uint32_t bytes = static_cast<uint32_t>(Bytes());
  l1_.mem = Mem::kL1;
  l1_.address = start;
  l1_.origin = {start, uint64_t{start} + bytes,
                Core::Current().RegisterBuffer(Mem::kL1, start, bytes, left_ ? "Matmul A1" : "Matmul B1", 0, site)};
}

View Feed::SlotView(uint32_t slot) const { return issue::Offset(l1_, uint64_t{slot} * SlotBytes()); }

void Feed::SetSource(const View& source, bool transposed) {
  source_ = source;
  transposed_ = transposed;
  Forget();
}

void Feed::Forget() {
  for (Slot& slot : slots_) slot.full = false;
}

void Feed::Close(Core& core, Site site) {
  for (Slot& slot : slots_) slot.free.Wait(core, site);
  Forget();
}

void Feed::Check(Core& core, Site site) const {
  const char* name = left_ ? "A" : "B";
  if (!source_) {
    core.Abort(Rule::kParam, "Matmul", site, std::string("no operand ") + name + ": call SetTensor" + name + " first");
    return;
  }
  const std::string shape = std::string("operand ") + name + " is [" + std::to_string(org_rows()) + ", " +
                            std::to_string(org_columns()) + "]";
  const bool whole_single = single_outer() % kSide == 0 && context_.shape.single_k % side_.c0() == 0;
  if (side_.format == Format::kNz && (org_rows() % kSide != 0 || org_columns() % side_.c0() != 0 || !whole_single)) {
    core.Abort(Rule::kParam, "Matmul", site,
               shape + " in NZ: rows must be a multiple of 16, columns of " + std::to_string(side_.c0()) +
                   ", also those of one core");
  }
  if (turned() && (side_.format == Format::kNz || !side_.in_gm) && outer_step() % side_.c0() != 0 &&
      single_outer() > outer_step()) {
    core.Abort(Rule::kParam, "Matmul", site,
               shape + " of bytes, not transposed: baseN must be a multiple of " + std::to_string(side_.c0()) +
                   " for NZ and for UB");
  }
  if (side_.format == Format::kNd && !side_.in_gm && org_columns() % side_.c0() != 0) {
    core.Abort(Rule::kParam, "Matmul", site, shape + " in UB, ND: rows must be multiples of 32 bytes");
  }
}

uint32_t Feed::InBytes() const {
  const uint32_t outer = std::min(single_outer(), outer_step());
  const uint32_t k = std::min(context_.shape.single_k, k_step());
  const uint32_t rows = rows_along_k() ? k : outer;
  const uint32_t columns = rows_along_k() ? outer : k;
  if (turned()) return AlignUp(rows, kBlockBytes) * AlignUp(columns, kBlockBytes);
  if (side_.format != Format::kNd) return 0;
  if (context_.spec.vector_nz) return AlignUp(rows, kSide) * AlignUp(columns, side_.c0()) * side_.size();
  const uint32_t all_columns = rows_along_k() ? single_outer() : context_.shape.single_k;
  return all_columns % side_.c0() == 0 ? 0 : AlignUp(rows, 8) * kBlockBytes;
}

uint32_t Feed::TurnedBytes() const {
  const bool by_vector = context_.spec.vector_nz && side_.format == Format::kNd;
  return turned() || by_vector ? InBytes() : 0;
}

TileCopy Feed::CopyOf(uint32_t outer_tile, uint32_t k_tile) const {
  const uint32_t outer = outer_tile * outer_step();
  const uint32_t k = k_tile * k_step();
  const uint32_t outer_extent = std::min(outer_step(), single_outer() - outer);
  const uint32_t k_extent = std::min(k_step(), context_.shape.single_k - k);
  TileCopy copy;
  copy.source = *source_;
  copy.side = side_;
  copy.pitch = side_.format == Format::kNz ? org_rows() : org_columns();
  copy.row = rows_along_k() ? k : outer;
  copy.column = rows_along_k() ? outer : k;
  copy.rows = rows_along_k() ? k_extent : outer_extent;
  copy.columns = rows_along_k() ? outer_extent : k_extent;
  return copy;
}

void Feed::Fill(Core& core, const TileCopy& copy, Site site) const {
  if (turned()) return CopyTurnedTile(core, copy, context_.workspace, site);
  if (side_.format == Format::kNz) return CopyNzTile(copy, site);
  if (context_.spec.vector_nz) return CopyNdTileByVector(core, copy, context_.workspace, site);
  CopyNdTile(core, copy, context_.workspace, site);
}

uint32_t Feed::ChooseSlot(Core& core, uint32_t outer_tile, uint32_t k_tile, uint32_t cached, bool* hit, Site site) {
  *hit = false;
  // Single base blocks that take turns are not looked for again, as in the library; tiles of several blocks are.
  const uint32_t searched = context_.spec.multi_load ? static_cast<uint32_t>(slots_.size()) : kept_;
  for (uint32_t i = 0; i < searched; ++i) {
    if (!slots_[i].full || slots_[i].outer != outer_tile || slots_[i].k != k_tile) continue;
    *hit = true;
    slots_[i].free.Wait(core, site);
    return i;
  }
  const uint32_t taking_turns = static_cast<uint32_t>(slots_.size()) - kept_;
  if (cached < kept_ || taking_turns == 0) return cached % kept_;
  return kept_ + turn_++ % taking_turns;
}

uint32_t Feed::Tile(Core& core, uint32_t outer_tile, uint32_t k_tile, uint32_t cached, Site site) {
  bool hit = false;
  const uint32_t chosen = ChooseSlot(core, outer_tile, k_tile, cached, &hit, site);
  // A slot that takes turns is announced as read when the next one comes, so that its refill need not wait longer.
  Slot& last = slots_[last_];
  if (chosen != last_ && last_ >= kept_ && last.read && !last.free.pending()) last.free.Set(core, site);
  last_ = chosen;
  Slot& slot = slots_[chosen];
  if (hit) return chosen;
  if (slot.free.pending()) {
    slot.free.Wait(core, site);
  } else if (slot.read) {
    SetAndWait(core, Queue::kMte1, FillQueue(), site);
    for (Slot& other : slots_) other.read = false;
  }
  slot.read = false;
  TileCopy copy = CopyOf(outer_tile, k_tile);
  copy.l1 = SlotView(chosen);
  Fill(core, copy, site);
  SetAndWait(core, FillQueue(), Queue::kMte1, site);
  slot.full = true;
  slot.outer = outer_tile;
  slot.k = k_tile;
  return chosen;
}

void Feed::Load(Core& core, const View& l0, const BlockPlace& block, uint32_t cached, Site site) {
  const uint32_t outer_tile = block.outer / step_outer();
  const uint32_t k_tile = block.k / step_k();
  if (context_.spec.multi_load) cached = k_tile;
  const uint32_t slot = Tile(core, outer_tile, k_tile, cached, site);
  slots_[slot].read = true;
  const TileCopy copy = CopyOf(outer_tile, k_tile);
  L0Load load;
  load.l1 = SlotView(slot);
  load.type = side_.type;
  load.rows_along_k = rows_along_k() && !turned();
  load.rows = turned() ? AlignUp(copy.columns, kBlockBytes) : StripRows(copy);
  load.columns = AlignUp(turned() ? copy.rows : copy.columns, side_.c0());
  load.outer = block.outer % step_outer() * base_outer();
  load.k = block.k % step_k() * static_cast<uint32_t>(context_.tiling.baseK);
  load.outer_extent = block.outer_extent;
  load.k_extent = block.k_extent;
  LoadBlock(core, l0, load, site);
}

}  // namespace npu_model::matmul
