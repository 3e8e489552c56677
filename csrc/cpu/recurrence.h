// SPDX-License-Identifier: Apache-2.0
// The gated delta rule, token by token:  S <- exp(g) S;  d = beta (v - S k);  S <- S + d k^T;  o = scale S q.
// The rows of S [Dv, Dk] never meet each other, so a work item is a band of rows of one (sequence, v-head); results do
// not depend on how the items are spread over threads. Chunks of 64 tokens only say when the state is looked at.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "cpu/rows.h"

namespace chunk_gdr::cpu {

constexpr int64_t kChunkRows = 64;
constexpr int64_t kMaxHeadDim = 128;
constexpr int64_t kBandRows = 32;  // 32 rows of 128 floats are 16 KiB: a band's state stays in L1
constexpr double kNormEps = 1e-6;

// Per token and head: a row of elements, or one factor. Elements of a row are contiguous; strides are in elements.
struct TokenRows {
  void* data = nullptr;
  Dtype dtype = Dtype::kFloat;
  int64_t token_stride = 0, head_stride = 0;

  int64_t At(int64_t token, int64_t head) const { return token * token_stride + head * head_stride; }
};

// [index, Nv, Dv, Dk], index a sequence or a chunk.
struct States {
  void* data = nullptr;
  Dtype dtype = Dtype::kFloat;
  int64_t index_stride = 0, head_stride = 0, row_stride = 0;

  int64_t At(int64_t index, int64_t head, int64_t row) const {
    return index * index_stride + head * head_stride + row * row_stride;
  }
};

// data == nullptr: the optional argument is absent.
struct GatedDeltaRule {
  int64_t key_heads, value_heads, key_dim, value_dim;
  TokenRows query, key, value, beta, g, out;
  States initial_state, chunk_state, final_state;
  std::vector<int64_t> lengths;
  std::vector<int64_t> first_token, first_chunk;  // per sequence
  double scale;
  bool use_qk_l2norm;
};

inline int64_t BandCount(const GatedDeltaRule& p) {
  const int64_t bands_per_head = (p.value_dim + kBandRows - 1) / kBandRows;
  return static_cast<int64_t>(p.lengths.size()) * p.value_heads * bands_per_head;
}

template <typename Acc>
class Band {
 public:
  // Items are numbered with the sequence running fastest, so that a contiguous share of them holds long and short
  // sequences alike.
  Band(const GatedDeltaRule& problem, int64_t item)
      : p_(problem),
        sequence_(item % static_cast<int64_t>(problem.lengths.size())),
        head_(item / static_cast<int64_t>(problem.lengths.size()) % problem.value_heads),
        key_head_(head_ / (problem.value_heads / problem.key_heads)),
        first_row_(item / static_cast<int64_t>(problem.lengths.size()) / problem.value_heads * kBandRows),
        rows_(std::min(kBandRows, problem.value_dim - first_row_)) {}

  int64_t Chunks() const { return (p_.lengths[sequence_] + kChunkRows - 1) / kChunkRows; }

  void LoadState() {
    const States& from = p_.initial_state;
    for (int64_t row = 0; row < rows_; ++row) {
      if (from.data) {
        LoadRow(from.data, from.dtype, from.At(sequence_, head_, first_row_ + row), p_.key_dim, StateRow(row));
      } else {
        std::fill_n(StateRow(row), p_.key_dim, Acc(0));
      }
    }
  }

  template <typename Other>
  void TakeState(const Band<Other>& from) {
    for (int64_t row = 0; row < rows_; ++row) std::copy_n(from.StateRow(row), p_.key_dim, StateRow(row));
  }

  bool StateIsFinite() const {
    for (int64_t row = 0; row < rows_; ++row) {
      const Acc* state = StateRow(row);
      if (!std::all_of(state, state + p_.key_dim, [](Acc s) { return std::isfinite(s); })) return false;
    }
    return true;
  }

  // Stores the state that enters the chunk, and its outputs.
  void RunChunk(int64_t chunk) {
    if (p_.chunk_state.data) {
      const int64_t index = p_.first_chunk[sequence_] + chunk;
      chunk == 0 ? StoreEnteringState(p_.chunk_state, index) : StoreState(p_.chunk_state, index);
    }
    const int64_t begin = chunk * kChunkRows;
    const int64_t end = std::min(begin + kChunkRows, p_.lengths[sequence_]);
    for (int64_t t = begin; t < end; ++t) Step(p_.first_token[sequence_] + t);
    ApplyPendingDecay();
  }

  void StoreFinalState() {
    Chunks() == 0 ? StoreEnteringState(p_.final_state, sequence_) : StoreState(p_.final_state, sequence_);
  }

 private:
  template <typename Other>
  friend class Band;

  static constexpr bool kIsFloat = sizeof(Acc) == sizeof(float);
  // In float, decays slower than this wait and act from outside, until they add up to it or the chunk ends: a state
  // that is rounded at every token drifts, by 4e-5 over 2,048 of them.
  static constexpr Acc kMaxPending = kIsFloat ? Acc(1) / 64 : Acc(0);
  static constexpr int64_t kLanes = 64 / sizeof(Acc);
  typedef Acc Lanes __attribute__((vector_size(64)));

  Acc* StateRow(int64_t row) { return state_ + row * kMaxHeadDim; }
  const Acc* StateRow(int64_t row) const { return state_ + row * kMaxHeadDim; }

  void StoreState(const States& to, int64_t index) {
    for (int64_t row = 0; row < rows_; ++row) {
      StoreRow(StateRow(row), p_.key_dim, to.data, to.dtype, to.At(index, head_, first_row_ + row));
    }
  }

  // Before the first token the state is the initial one, bit for bit: a conversion would make signalling NaNs quiet.
  void StoreEnteringState(const States& to, int64_t index) {
    const States& from = p_.initial_state;
    if (!from.data || from.dtype != to.dtype) return StoreState(to, index);
    const int64_t elem_bytes = ElemBytes(to.dtype);
    for (int64_t row = first_row_; row < first_row_ + rows_; ++row) {
      std::memcpy(static_cast<char*>(to.data) + to.At(index, head_, row) * elem_bytes,
                  static_cast<const char*>(from.data) + from.At(sequence_, head_, row) * elem_bytes,
                  p_.key_dim * elem_bytes);
    }
  }

  void LoadKeyRow(const TokenRows& from, int64_t token, Acc* to) {
    LoadRow(from.data, from.dtype, from.At(token, key_head_), p_.key_dim, to);
    if (!p_.use_qk_l2norm) return;
    double sum = 0;
    for (int64_t d = 0; d < p_.key_dim; ++d) sum += static_cast<double>(to[d]) * static_cast<double>(to[d]);
    const double norm = std::sqrt(sum + kNormEps);
    for (int64_t d = 0; d < p_.key_dim; ++d) to[d] = static_cast<Acc>(to[d] / norm);
  }

  Acc LoadFactor(const TokenRows& from, int64_t token, Acc absent) {
    if (from.data) LoadRow(from.data, from.dtype, from.At(token, head_), 1, &absent);
    return absent;
  }

  void Step(int64_t token) {
    LoadKeyRow(p_.query, token, query_);
    LoadKeyRow(p_.key, token, key_);
    LoadRow(p_.value.data, p_.value.dtype, p_.value.At(token, head_) + first_row_, rows_, value_);
    const Acc beta = LoadFactor(p_.beta, token, Acc(1));
    pending_ += LoadFactor(p_.g, token, Acc(0));
    const bool apply = !(std::fabs(pending_) <= kMaxPending);  // also for NaN
    const Decay decay = DecayOf(pending_);
    if (apply) pending_ = 0;
    const Acc grown = std::exp(pending_), shrunk = std::exp(-pending_);
    for (int64_t row = 0; row < rows_; ++row) {
      Acc* state = StateRow(row);
      const Acc predicted = grown * (apply ? Apply(decay, state) : Dot(state));
      const Acc delta = beta * (value_[row] - predicted);
      out_[row] = static_cast<Acc>(p_.scale) * (grown * Update(state, shrunk * delta));
    }
    StoreRow(out_, rows_, p_.out.data, p_.out.dtype, p_.out.At(token, head_) + first_row_);
  }

  void ApplyPendingDecay() {
    if (pending_ == 0) return;
    const Decay decay = DecayOf(pending_);
    for (int64_t row = 0; row < rows_; ++row) Apply(decay, StateRow(row));
    pending_ = 0;
  }

  // e^g as a factor, or as the change that it makes.
  struct Decay {
    Acc factor;
    bool is_change;
  };

  // A slow decay rounded to float is off in the same direction at every token; e^g - 1 is not.
  static Decay DecayOf(Acc g) {
    const bool is_change = kIsFloat && std::fabs(g) < Acc(0.5);
    return {is_change ? std::expm1(g) : std::exp(g), is_change};
  }

  // s <- decay s; returns s . k
  Acc Apply(Decay decay, Acc* state) {
    const Acc factor = decay.factor;
    if (decay.is_change) return Sweep(state, key_, [factor](auto s, auto) { return s + s * factor; });
    return Sweep(state, key_, [factor](auto s, auto) { return s * factor; });
  }

  // s . k
  Acc Dot(Acc* state) {
    return Sweep(state, key_, [](auto s, auto) { return s; });
  }

  // s <- s + delta k; returns s . q
  Acc Update(Acc* state, Acc delta) {
    return Sweep(state, query_, [delta](auto s, auto k) { return s + delta * k; });
  }

  // s <- f(s, k); returns s . factor. Lanes first, then the tail, in an order fixed by Dk alone.
  template <typename F>
  Acc Sweep(Acc* state, const Acc* factor, const F& f) {
    Lanes sums = {};
    int64_t d = 0;
    for (; d + kLanes <= p_.key_dim; d += kLanes) {
      Lanes& s = *reinterpret_cast<Lanes*>(state + d);
      s = f(s, *reinterpret_cast<const Lanes*>(key_ + d));
      sums += s * *reinterpret_cast<const Lanes*>(factor + d);
    }
    Acc sum = 0;
    for (; d < p_.key_dim; ++d) {
      state[d] = f(state[d], key_[d]);
      sum += state[d] * factor[d];
    }
    for (int64_t width = kLanes / 2; width > 0; width /= 2) {
      for (int64_t lane = 0; lane < width; ++lane) sums[lane] += sums[lane + width];
    }
    return sum + sums[0];
  }

  const GatedDeltaRule& p_;
  const int64_t sequence_, head_, key_head_, first_row_, rows_;
  Acc pending_ = 0;  // log of a decay that state_ has not seen yet
  alignas(64) Acc state_[kBandRows * kMaxHeadDim];
  alignas(64) Acc query_[kMaxHeadDim];
  alignas(64) Acc key_[kMaxHeadDim];
  Acc value_[kBandRows], out_[kBandRows];
};

void RunNative(const GatedDeltaRule& problem);     // in float
void RunReference(const GatedDeltaRule& problem);  // in double

}  // namespace chunk_gdr::cpu
