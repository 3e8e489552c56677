// SPDX-License-Identifier: Apache-2.0
// What a Matmul object refuses, and how it lays out its UB.
#include <algorithm>
#include <string>

#include "matmul/engine.h"

namespace npu_model::matmul {
namespace {

constexpr struct {
  const char* name;
  int32_t TCubeTiling::* member;
} kPositive[] = {{"M", &TCubeTiling::M},
                 {"N", &TCubeTiling::N},
                 {"Ka", &TCubeTiling::Ka},
                 {"Kb", &TCubeTiling::Kb},
                 {"singleCoreM", &TCubeTiling::singleCoreM},
                 {"singleCoreN", &TCubeTiling::singleCoreN},
                 {"singleCoreK", &TCubeTiling::singleCoreK},
                 {"baseM", &TCubeTiling::baseM},
                 {"baseN", &TCubeTiling::baseN},
                 {"baseK", &TCubeTiling::baseK},
                 {"depthA1", &TCubeTiling::depthA1},
                 {"depthB1", &TCubeTiling::depthB1},
                 {"stepM", &TCubeTiling::stepM},
                 {"stepN", &TCubeTiling::stepN},
                 {"stepKa", &TCubeTiling::stepKa},
                 {"stepKb", &TCubeTiling::stepKb}};

}  // namespace

void Engine::CheckTiling(Site site) const {
  const TCubeTiling& t = context_.tiling;
  const Spec& spec = context_.spec;
  for (const auto& [name, member] : kPositive) {
    if (t.*member > 0) continue;
    return Stop(Rule::kParam, site,
                std::string("tiling: ") + name + " is " + std::to_string(t.*member) + ", must be positive");
  }
  if (t.iterateOrder < 0 || t.iterateOrder > 1) {
    return Stop(Rule::kParam, site, "tiling: iterateOrder is " + std::to_string(t.iterateOrder) + ", must be 0 or 1");
  }
  for (const int db : {t.dbL0A, t.dbL0B, t.dbL0C}) {
    if (db < 1 || db > 2)
      return Stop(Rule::kParam, site, "tiling: dbL0A, dbL0B, dbL0C must be 1 or 2, got " + std::to_string(db));
  }
  const uint32_t k_unit = spec.a.c0();
  if (t.baseM % kSide != 0 || t.baseN % spec.c.strip() != 0 || t.baseK % k_unit != 0) {
    return Stop(Rule::kParam, site,
                "tiling: base block [" + std::to_string(t.baseM) + ", " + std::to_string(t.baseN) + ", " +
                    std::to_string(t.baseK) + "] must be multiples of 16, " + std::to_string(spec.c.strip()) + ", " +
                    std::to_string(k_unit));
  }
  const uint32_t l0 = kL0Bytes / (t.dbL0A == 2 && t.dbL0B == 2 ? 2 : 1);
  const auto bytes = [&](int rows, int columns, uint32_t size) { return uint64_t{size} * rows * columns; };
  if (bytes(t.baseM, t.baseK, spec.a.size()) > l0 || bytes(t.baseK, t.baseN, spec.b.size()) > l0) {
    return Stop(Rule::kBuffer3, site,
                "tiling: baseM * baseK and baseK * baseN must fit " + std::to_string(l0) + " bytes of L0A and L0B");
  }
  if (spec.c.format == Format::kNd && bytes(1, t.N, spec.c.size()) % kBlockBytes != 0) {
    return Stop(Rule::kParam, site,
                "C in ND: N is " + std::to_string(t.N) + ", rows must be multiples of 32 bytes on this chip");
  }
  if (!spec.multi_load) return;
  const auto tiles = [&](int step) { return CeilDiv(t.singleCoreK, t.baseK * step); };
  const uint32_t a = tiles(t.stepKa), b = tiles(t.stepKb);
  if ((a > 1 && t.stepM > 1) || (b > 1 && t.stepN > 1) || (a % b != 0 && b % a != 0)) {
    Stop(Rule::kParam, site,
         "tiling (MDL): stepM and stepN must be 1 where L1 does not hold all of K, and the loads of A and B along K "
         "multiples of each other");
  }
}

void Engine::CheckShape(Core& core, Site site) const {
  const Shape& shape = context_.shape;
  const Side& c = context_.spec.c;
  if (shape.single_m == 0 || shape.single_n == 0 || shape.single_k == 0)
    return Stop(Rule::kParam, site, "singleCoreM, singleCoreN and singleCoreK must not be 0");
  if (c.format == Format::kNd &&
      (shape.single_n * c.size() % kBlockBytes != 0 || shape.c_columns() * c.size() % kBlockBytes != 0)) {
    return Stop(Rule::kParam, site,
                "C in ND: rows of " + std::to_string(shape.c_columns()) + " elements, of which one core writes " +
                    std::to_string(shape.single_n) + ": both must be multiples of 32 bytes on this chip");
  }
  if (has_bias_ && !bias_) return Stop(Rule::kParam, site, "the tiling has isBias 1: call SetBias or DisableBias");
  if (context_.spec.requantised() && requant_.kind == Requant::Kind::kNone) {
    return Stop(Rule::kParam, site,
                "int8 operands and a result that is not int32: SetQuantScalar or SetQuantVector first");
  }
  left_.Check(core, site);
  right_.Check(core, site);
}

void Engine::PlanWorkspace(Site site) {
  const Spec& spec = context_.spec;
  const TCubeTiling& tiling = context_.tiling;
  Workspace& ws = context_.workspace;
  const uint32_t base_n = static_cast<uint32_t>(tiling.baseN);
  const uint32_t bias = has_bias_ && spec.bias_in_gm ? base_n * kAccumulatorBytes : 0;
  const bool vector = requant_.kind == Requant::Kind::kVector;
  const uint32_t scales = vector ? base_n * static_cast<uint32_t>(sizeof(uint64_t)) : 0;
  const uint32_t in = std::max(left_.InBytes(), right_.InBytes());
  const uint32_t turned = std::max(left_.TurnedBytes(), right_.TurnedBytes());
  const uint32_t out =
      spec.c.in_gm || spec.c.format != Format::kNz ? static_cast<uint32_t>(tiling.baseM) * base_n * spec.c.size() : 0;
  uint32_t needed = 0;
  if (spec.vector_nz) {
    const uint32_t part = static_cast<uint32_t>(std::max(0, tiling.transLength));
    const uint32_t most = std::max({bias, scales, in, turned, out});
    if (most > part || part % kBlockBytes != 0) {
      return Stop(Rule::kBuffer3, site,
                  "enVecND2NZ: transLength is " + std::to_string(part) +
                      " bytes, must be a multiple of 32 and at least " + std::to_string(most));
    }
    ws.bias = ws.in = 0;
    ws.scales = ws.turned = part;
    ws.out = spec.share_ub ? 0 : 2 * part;
    ws.rows = spec.share_ub ? part : 3 * part;
    needed = most == 0 ? 0 : (spec.share_ub ? 2 : 4) * part;
  } else {
    // Bias, operands and results follow each other; only the factors are in use together with a result.
    ws.bias = ws.in = ws.out = 0;
    ws.turned = in;
    ws.scales = out;
    needed = std::max({bias, in + turned, out + scales});
  }
  if (needed == 0) return;
  if (!has_workspace_) {
    return Stop(Rule::kBuffer0, site,
                "no UB to work in: call SetLocalWorkspace with at least " + std::to_string(needed) + " bytes");
  }
  if (needed > ws.given) {
    Stop(Rule::kBuffer3, site,
         "SetLocalWorkspace gave " + std::to_string(ws.given) + " bytes, " + std::to_string(needed) + " are needed");
  }
}

}  // namespace npu_model::matmul
