// SPDX-License-Identifier: Apache-2.0
// The high-level Matmul as the library does it: base blocks in the tiling's order, made of the chip's instructions.
#pragma once

#include <optional>

#include "matmul/drain.h"
#include "matmul/feed.h"

namespace npu_model::matmul {

class Engine {
 public:
  explicit Engine(const Spec& spec);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine() noexcept(false) { End(site_); }

  // Memories: where this object may take L1 and L0C from; returns where it ends.
  struct Place {
    uint32_t l1 = 0, l0c = 0;
  };
  Place Init(const TCubeTiling& tiling, Place start, Site site);
  void SetOrgShape(int m, int n, int ka, int kb, int kc);
  void SetSingleShape(int m, int n, int k);  // negative: as it is
  void SetSource(bool left, const View& source, bool transposed, Site site);
  void SetBias(const View& bias, Site site);
  void ClearBias() { has_bias_ = false; }
  void SetWorkspace(const View& ub, uint32_t bytes);
  void SetRequant(const Requant& requant) { requant_ = requant; }

  // The next base block into L0C; false when there is none left.
  bool Iterate(bool add_up, Site site);
  // Fetches it to GM, UB or both; `alone`: as a matrix of its own.
  void Store(const View* gm, const View* ub, uint8_t atomic, bool alone, Site site);
  void End(Site site);

 private:
  bool Ready(Site site) const;
  void CheckTiling(Site site) const;
  void CheckShape(Core& core, Site site) const;
  void PlanWorkspace(Site site);
  bool Advance();
  uint32_t Blocks(uint32_t single, int base) const { return CeilDiv(single, static_cast<uint32_t>(base)); }
  uint32_t Cached(bool left, uint32_t outer, uint32_t k) const;
  View L0c(uint32_t slot) const;
  void PreloadBias(Core& core, uint32_t rows, uint32_t columns, Site site);
  void Multiply(Core& core, uint32_t rows, uint32_t columns, bool add_up, Site site);
  void Stop(Rule rule, Site site, const std::string& text) const;

  Context context_;
  Feed left_, right_;
  Requant requant_;
  Site site_;
  bool ready_ = false;  // has a tiling
  bool used_ = false;   // since End
  std::optional<View> bias_;
  bool has_bias_ = false;
  bool has_workspace_ = false;

  View l0a_, l0b_, l0c_;
  Link l0_free_[2] = {{Queue::kM, Queue::kMte1}, {Queue::kM, Queue::kMte1}};
  uint32_t half_ = 0;  // of L0A and L0B, next
  Link l0c_free_[2] = {{Queue::kV, Queue::kM}, {Queue::kV, Queue::kM}};
  uint32_t accumulator_ = 0;  // part of L0C

  bool started_ = false;
  bool pending_ = false;  // a result nobody has fetched
  uint32_t m_ = 0, n_ = 0;
  uint32_t group_ = 0;  // where the group of blocks begins that is walked through before the other axis moves
};

}  // namespace npu_model::matmul
