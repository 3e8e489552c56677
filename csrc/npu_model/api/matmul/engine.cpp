// SPDX-License-Identifier: Apache-2.0
#include "matmul/engine.h"

#include <algorithm>
#include <string>

#include "issue/cube.h"
#include "issue/library.h"
#include "matmul/row.h"

namespace npu_model::matmul {
namespace {

using issue::Offset;
using issue::SetAndWait;

// Products on a C smaller than this many fractals need a barrier between them.
constexpr uint32_t kLongProduct = 10;

View Memory(Mem mem, uint32_t start, uint32_t bytes, const char* name, Site site) {
  View view;
  view.mem = mem;
  view.address = start;
  view.origin = {start, uint64_t{start} + bytes, Core::Current().RegisterBuffer(mem, start, bytes, name, 0, site)};
  return view;
}

}  // namespace

Engine::Engine(const Spec& spec) : context_{spec, {}, {}, {}}, left_(context_, true), right_(context_, false) {}

void Engine::Stop(Rule rule, Site site, const std::string& text) const {
  Core::Current().Abort(rule, "Matmul", site, text);
}

Engine::Place Engine::Init(const TCubeTiling& tiling, Place start, Site site) {
  End(site);
  context_.tiling = tiling;
  site_ = site;
  CheckTiling(site);
  const auto positive = [](int value) { return static_cast<uint32_t>(value); };
  context_.shape = {
      positive(tiling.M),           positive(tiling.N),           positive(tiling.Ka),         positive(tiling.Kb), 0,
      positive(tiling.singleCoreM), positive(tiling.singleCoreN), positive(tiling.singleCoreK)};
  const uint64_t l1 = left_.Bytes() + right_.Bytes();
  const uint32_t l0c = positive(tiling.baseM) * positive(tiling.baseN) * kAccumulatorBytes * positive(tiling.dbL0C);
  if (l1 > kL1Bytes - start.l1 || l0c > kL0cBytes - start.l0c) {
    Stop(Rule::kBuffer3, site,
         "tiling: A and B take " + std::to_string(l1) + " bytes of L1, of which " +
             std::to_string(kL1Bytes - start.l1) + " are left, the result " + std::to_string(l0c) +
             " bytes of L0C, of which " + std::to_string(kL0cBytes - start.l0c) + " are left");
    return start;
  }
  left_.Place(start.l1, site);
  right_.Place(start.l1 + static_cast<uint32_t>(left_.Bytes()), site);
  l0c_ = Memory(Mem::kL0c, start.l0c, l0c, "Matmul CO1", site);
  Place end{start.l1 + static_cast<uint32_t>(l1), start.l0c + l0c};
  // All objects share the whole of L0A and L0B.
  l0a_ = Memory(Mem::kL0a, 0, kL0Bytes, "Matmul A2", site);
  l0b_ = Memory(Mem::kL0b, 0, kL0Bytes, "Matmul B2", site);
  end.l1 = std::max(end.l1, start.l1 + positive(tiling.shareL1Size));
  end.l0c = std::max(end.l0c, start.l0c + positive(tiling.shareL0CSize));
  has_bias_ = tiling.isBias != 0;
  bias_.reset();
  ready_ = true;
  return end;
}

void Engine::SetOrgShape(int m, int n, int ka, int kb, int kc) {
  Shape& shape = context_.shape;
  shape.org_m = static_cast<uint32_t>(m);
  shape.org_n = static_cast<uint32_t>(n);
  shape.org_ka = static_cast<uint32_t>(ka);
  shape.org_kb = static_cast<uint32_t>(kb);
  shape.org_kc = static_cast<uint32_t>(kc);
}

void Engine::SetSingleShape(int m, int n, int k) {
  Shape& shape = context_.shape;
  if (m >= 0) shape.single_m = static_cast<uint32_t>(m);
  if (n >= 0) shape.single_n = static_cast<uint32_t>(n);
  if (k >= 0) shape.single_k = static_cast<uint32_t>(k);
  left_.Forget();
  right_.Forget();
  started_ = false;
}

void Engine::SetSource(bool left, const View& source, bool transposed, Site site) {
  const Side& side = left ? context_.spec.a : context_.spec.b;
  const char* name = left ? "SetTensorA" : "SetTensorB";
  if (!Ready(site)) return;
  if (transposed && !side.may_transpose) {
    return Stop(Rule::kParam, site, std::string(name) + ": transposed, but the operand's type has ISTRANS false");
  }
  if (!transposed && side.may_transpose && side.size() == 1) {
    return Stop(Rule::kParam, site, std::string(name) + ": an int8 operand with ISTRANS must be given transposed");
  }
  if ((source.mem == Mem::kGm) != side.in_gm) {
    return Stop(Rule::kParam, site,
                std::string(name) + ": the tensor is in " + Name(source.mem) + ", the operand's type says otherwise");
  }
  (left ? left_ : right_).SetSource(source, transposed);
  started_ = false;
}

void Engine::SetBias(const View& bias, Site site) {
  if (!Ready(site)) return;
  if (context_.tiling.isBias == 0) return Stop(Rule::kParam, site, "SetBias: the tiling has isBias 0");
  if ((bias.mem == Mem::kGm) != context_.spec.bias_in_gm) {
    return Stop(Rule::kParam, site,
                std::string("SetBias: the tensor is in ") + Name(bias.mem) + ", its type says otherwise");
  }
  bias_ = bias;
  has_bias_ = true;
}

void Engine::SetWorkspace(const View& ub, uint32_t bytes) {
  context_.workspace.base = ub;
  context_.workspace.given = bytes;
  has_workspace_ = true;
}

bool Engine::Ready(Site site) const {
  if (!ready_) Stop(Rule::kBuffer0, site, "no tiling: REGIST_MATMUL_OBJ with a tiling or Init first");
  return ready_;
}

bool Engine::Advance() {
  const TCubeTiling& tiling = context_.tiling;
  if (!started_) {
    started_ = true;
    m_ = n_ = group_ = 0;
    return true;
  }
  const bool m_first = tiling.iterateOrder == 0;
  const uint32_t m_blocks = Blocks(context_.shape.single_m, tiling.baseM);
  const uint32_t n_blocks = Blocks(context_.shape.single_n, tiling.baseN);
  // Along M first: a group of stepN blocks along N at each step. Along N first: of stepM along M.
  uint32_t& inner = m_first ? n_ : m_;
  uint32_t& outer = m_first ? m_ : n_;
  const uint32_t inner_blocks = m_first ? n_blocks : m_blocks;
  const uint32_t outer_blocks = m_first ? m_blocks : n_blocks;
  const uint32_t step = static_cast<uint32_t>(m_first ? tiling.stepN : tiling.stepM);
  if (++inner < std::min(group_ + step, inner_blocks)) return true;
  inner = group_;
  if (++outer < outer_blocks) return true;
  outer = 0;
  group_ += step;
  inner = group_;
  started_ = group_ < inner_blocks;
  return started_;
}

uint32_t Engine::Cached(bool left, uint32_t outer, uint32_t k) const {
  const TCubeTiling& tiling = context_.tiling;
  // The operand whose blocks stay the same while the other axis moves is kept for a whole group.
  const bool grouped = left == (tiling.iterateOrder == 1);
  if (!grouped) return k;
  const uint32_t step = static_cast<uint32_t>(left ? tiling.stepM : tiling.stepN);
  return outer % step * Blocks(context_.shape.single_k, tiling.baseK) + k;
}

View Engine::L0c(uint32_t slot) const {
  const TCubeTiling& tiling = context_.tiling;
  return Offset(l0c_, uint64_t{slot} * kAccumulatorBytes * tiling.baseM * tiling.baseN);
}

bool Engine::Iterate(bool add_up, Site site) {
  if (!Ready(site)) return false;
  Core& core = Core::Current();
  const Core::LibraryScope scope(core);
  const TCubeTiling& tiling = context_.tiling;
  if (!started_) CheckShape(core, site);
  PlanWorkspace(site);
  if (pending_ && !add_up)
    Stop(Rule::kParam, site, "Iterate: the result of the previous one was not fetched (GetTensorC)");
  if (add_up && !pending_) Stop(Rule::kParam, site, "Iterate: enPartialSum, but there is no result to add to");
  const bool several =
      Blocks(context_.shape.single_m, tiling.baseM) > 1 || Blocks(context_.shape.single_n, tiling.baseN) > 1;
  if (add_up && several)
    Stop(Rule::kParam, site, "Iterate: enPartialSum needs singleCoreM <= baseM and singleCoreN <= baseN");
  if (!Advance()) return false;
  used_ = true;
  const uint32_t rows = std::min<uint32_t>(tiling.baseM, context_.shape.single_m - m_ * tiling.baseM);
  const uint32_t columns = std::min<uint32_t>(tiling.baseN, context_.shape.single_n - n_ * tiling.baseN);
  if (!add_up) {
    accumulator_ = tiling.dbL0C == 2 ? 1 - accumulator_ : 0;
    l0c_free_[accumulator_].Wait(core, site);
    if (has_bias_) PreloadBias(core, rows, columns, site);
  }
  Multiply(core, rows, columns, add_up, site);
  pending_ = true;
  return true;
}

void Engine::PreloadBias(Core& core, uint32_t rows, uint32_t columns, Site site) {
  const uint32_t n = n_ * static_cast<uint32_t>(context_.tiling.baseN);
  const uint32_t fractal_columns = CeilDiv(columns, kSide);
  const uint32_t fractal_rows = CeilDiv(rows, kSide);
  View source = Offset(*bias_, uint64_t{n} * kAccumulatorBytes);
  core.PipeBarrier(Queue::kV, site);
  if (context_.spec.bias_in_gm) {
    const View ub = context_.workspace.At(context_.workspace.bias);
    CopyRow(core, ub, source, columns * kAccumulatorBytes, fractal_columns * kSide * kAccumulatorBytes, site);
    source = ub;
  }
  constexpr uint32_t kMostColumns = 255;
  for (uint32_t row = 0; row < fractal_rows; ++row) {
    for (uint32_t column = 0; column < fractal_columns; column += kMostColumns) {
      issue::RowBroadcast copy;
      copy.count = std::min(kMostColumns, fractal_columns - column);
      copy.dst_gap = fractal_rows - 1;
      copy.type = context_.spec.l0c_type();
      const uint64_t fractal = uint64_t{column} * fractal_rows + row;
      issue::IssueRowBroadcast(Offset(L0c(accumulator_), fractal * kSide * kSide * kAccumulatorBytes),
                               Offset(source, uint64_t{column} * kSide * kAccumulatorBytes), copy, site);
    }
  }
  SetAndWait(core, Queue::kV, Queue::kM, site);
}

void Engine::Multiply(Core& core, uint32_t rows, uint32_t columns, bool add_up, Site site) {
  const TCubeTiling& tiling = context_.tiling;
  const bool ping_pong = tiling.dbL0A == 2 && tiling.dbL0B == 2;
  const uint32_t k_blocks = Blocks(context_.shape.single_k, tiling.baseK);
  isa::MmadShape product;
  // One row would be a vector to the Cube, laid out otherwise.
  product.m = static_cast<uint16_t>(rows == 1 ? kSide : rows);
  product.n = static_cast<uint16_t>(columns);
  product.a = context_.spec.a.type;
  product.b = context_.spec.b.type;
  product.c = context_.spec.l0c_type();
  for (uint32_t k = 0; k < k_blocks; ++k) {
    const uint32_t extent = std::min<uint32_t>(tiling.baseK, context_.shape.single_k - k * tiling.baseK);
    const uint64_t half = uint64_t{half_} * (kL0Bytes / 2);
    Link& free = l0_free_[half_];
    free.Wait(core, site);
    left_.Load(core, Offset(l0a_, half), {m_, k, rows, extent}, Cached(true, m_, k), site);
    right_.Load(core, Offset(l0b_, half), {n_, k, columns, extent}, Cached(false, n_, k), site);
    SetAndWait(core, Queue::kMte1, Queue::kM, site);
    product.k = static_cast<uint16_t>(extent);
    product.init = k == 0 && !add_up && !has_bias_;
    const uint32_t fractals = CeilDiv(rows, kSide) * CeilDiv(columns, kSide);
    if (!product.init && fractals < kLongProduct) core.PipeBarrier(Queue::kM, site);
    issue::IssueMmad(L0c(accumulator_), Offset(l0a_, half), Offset(l0b_, half), product, site);
    free.Set(core, site);
    if (ping_pong) half_ = 1 - half_;
  }
}

void Engine::Store(const View* gm, const View* ub, uint8_t atomic, bool alone, Site site) {
  if (!Ready(site)) return;
  if (!pending_) return Stop(Rule::kParam, site, "GetTensorC: there is no result, call Iterate first");
  Core& core = Core::Current();
  const Core::LibraryScope scope(core);
  const Spec& spec = context_.spec;
  if (atomic > 1) return Stop(Rule::kUnsupported, site, "enAtomic: only 1 (add) exists on this chip");
  if (atomic == 1 && (gm == nullptr || (spec.c.type != DType::kFloat && spec.c.type != DType::kHalf))) {
    return Stop(Rule::kUnsupported, site, "enAtomic: this chip adds float and half results in GM only");
  }
  const TCubeTiling& tiling = context_.tiling;
  Result result;
  result.l0c = L0c(accumulator_);
  result.m = m_ * static_cast<uint32_t>(tiling.baseM);
  result.n = n_ * static_cast<uint32_t>(tiling.baseN);
  result.rows = std::min<uint32_t>(tiling.baseM, context_.shape.single_m - result.m);
  result.columns = std::min<uint32_t>(tiling.baseN, context_.shape.single_n - result.n);
  result.alone = alone;
  SetAndWait(core, Queue::kM, Queue::kV, site);
  if (ub != nullptr) StoreToUb(core, context_, requant_, result, *ub, site);
  if (gm != nullptr) StoreToGm(core, context_, requant_, result, *gm, atomic == 1, site);
  l0c_free_[accumulator_].Set(core, site);
  pending_ = false;
}

void Engine::End(Site site) {
  if (!used_) return;
  used_ = false;
  Core& core = Core::Current();
  const Core::LibraryScope scope(core);
  left_.Close(core, site);
  right_.Close(core, site);
  for (Link& link : l0_free_) link.Wait(core, site);
  for (Link& link : l0c_free_) link.Wait(core, site);
  // Another object may fill the same L1, from GM or from UB.
  SetAndWait(core, Queue::kMte1, Queue::kMte2, site);
  SetAndWait(core, Queue::kMte1, Queue::kMte3, site);
  started_ = pending_ = false;
}

}  // namespace npu_model::matmul
