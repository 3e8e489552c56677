// SPDX-License-Identifier: Apache-2.0
// One operand of a Matmul: its tiles in L1, and the loads from there to L0A or L0B.
#pragma once

#include <optional>
#include <vector>

#include "matmul/link.h"
#include "matmul/to_nz.h"

namespace npu_model::matmul {

// Where a base block stands: numbers along the outer axis (M or N) and along K, elements, elements it has.
struct BlockPlace {
  uint32_t outer = 0, k = 0;
  uint32_t outer_extent = 0, k_extent = 0;
};

class Feed {
 public:
  // `left`: operand A, else B.
  Feed(const Context& context, bool left);

  // Bytes of L1 that its slots take, and where they begin.
  uint64_t Bytes() const { return uint64_t{SlotCount()} * SlotBytes(); }
  void Place(uint32_t start, Site site);
  void SetSource(const View& source, bool transposed);
  // Checks what the source's shape must be; called before the first block of a product.
  void Check(Core& core, Site site) const;
  // Puts a base block into L0, through L1 unless a tile with it is there. `cached` is its number among those that the
  // slots of L1 are to keep.
  void Load(Core& core, const View& l0, const BlockPlace& block, uint32_t cached, Site site);
  // Bytes of the workspace that tiles need on their way: as they come, and turned.
  uint32_t InBytes() const;
  uint32_t TurnedBytes() const;
  void Forget();  // what L1 holds
  void Close(Core& core, Site site);

 private:
  struct Slot {
    bool full = false;
    bool read = false;          // since MTE1 was last waited for
    uint32_t outer = 0, k = 0;  // tile numbers
    Link free;
    explicit Slot(Queue fill) : free(Queue::kMte1, fill) {}
  };

  uint32_t base_outer() const;
  uint32_t single_outer() const;
  uint32_t step_outer() const;
  uint32_t step_k() const;
  bool turned() const { return !left_ && context_.spec.turned(); }
  // Stored rows run along K.
  bool rows_along_k() const { return left_ == transposed_; }
  uint32_t org_rows() const;
  uint32_t org_columns() const;
  Queue FillQueue() const;
  uint32_t k_step() const;      // elements
  uint32_t outer_step() const;  // elements
  uint32_t SlotCount() const;
  uint32_t SlotBytes() const;
  View SlotView(uint32_t slot) const;
  TileCopy CopyOf(uint32_t outer_tile, uint32_t k_tile) const;
  uint32_t Tile(Core& core, uint32_t outer_tile, uint32_t k_tile, uint32_t cached, Site site);
  uint32_t ChooseSlot(Core& core, uint32_t outer_tile, uint32_t k_tile, uint32_t cached, bool* hit, Site site);
  void Fill(Core& core, const TileCopy& copy, Site site) const;

  const Context& context_;
  const bool left_;
  const Side side_;
  std::optional<View> source_;
  bool transposed_ = false;
  View l1_;
  std::vector<Slot> slots_;
  uint32_t kept_ = 0;  // the first slots keep their tiles; the others take turns
  uint32_t turn_ = 0;
  uint32_t last_ = 0;
};

}  // namespace npu_model::matmul
