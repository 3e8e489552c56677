// SPDX-License-Identifier: Apache-2.0
// ReduceSum, ReduceMax, ReduceMin over whole tensors: several passes of the per-repeat instructions, the rest done by
// the scalar unit behind fetched V_S and S_V events.
#include <algorithm>
#include <cstring>
#include <vector>

#include "issue/library.h"
#include "issue/reduce.h"

namespace npu_model::issue {
namespace {

constexpr uint32_t kMaxRepeats = 255;

class Passes {
 public:
  Passes(isa::ReduceOp op, DType type, Site site)
      : core_(Core::Current()),
        op_(op),
        type_(type),
        size_(isa::SizeOf(type)),
        width_(isa::kRepeatBytes / size_),
        results_(op == isa::ReduceOp::kSum ? 1 : 2),
        site_(site) {}

  uint32_t size() const { return size_; }
  uint32_t width() const { return width_; }
  uint32_t results() const { return results_; }

  View At(const View& view, uint64_t elements) const {
    View moved = view;
    moved.address += elements * size_;
    return moved;
  }

  // One result (or value-index pair) per repeat, side by side at dst.
  void Run(const View& dst, const View& src, const uint64_t* mask, uint32_t repeats, uint32_t src_repeat) {
    for (uint32_t done = 0; done < repeats; done += kMaxRepeats) {
      const uint32_t now = std::min(kMaxRepeats, repeats - done);
      IssueReduceRepeats(Name(), op_, type_, false, At(dst, uint64_t{done} * results_),
                         At(src, uint64_t{done} * src_repeat * kBlockBytes / size_), LaneForm::Bits(mask, now, true),
                         {1, 1, src_repeat, true}, site_);
    }
  }
  // `count` neighbouring partial results at `at`, again reduced in place: value-index pairs take every second lane.
  void RunPartials(const View& dst, const View& at, uint32_t elements) {
    uint64_t mask[2];
    isa::Lanes::SetPrefix(mask, width_);
    if (results_ == 2) {
      for (uint64_t& word : mask) word &= 0x5555555555555555ULL;
    }
    const uint32_t whole = elements / width_;
    if (whole != 0) Run(dst, at, mask, whole, 8);
    const uint32_t tail = elements % width_;
    if (tail == 0) return;
    if (whole != 0) Barrier();  // the tail's result may land on what the whole repeats read
    uint64_t prefix[2];
    isa::Lanes::SetPrefix(prefix, tail);
    prefix[0] &= mask[0];
    prefix[1] &= mask[1];
    Run(At(dst, uint64_t{whole} * results_), At(at, uint64_t{whole} * width_), prefix, 1, 8);
  }
  void Barrier() { core_.PipeBarrier(Queue::kV, site_); }
  void VectorToScalar() { SetAndWait(core_, Queue::kV, Queue::kS, site_); }
  void ScalarToOthers() {
    SetAndWait(core_, Queue::kS, Queue::kV, site_);
    SetAndWait(core_, Queue::kS, Queue::kMte3, site_);
  }
  uint32_t Read(const View& view, uint64_t element) {
    const View at = At(view, element);
    const Operand operand = MakeOperand(Mem::kUb, Access::kRead, at.address, size_, size_, at.origin);
    uint32_t bits = ~uint32_t{0};
    if (const uint8_t* from = core_.ScalarLoad(operand, Name(), site_)) {
      bits = 0;
      std::memcpy(&bits, from, size_);
    }
    return bits;
  }
  void Write(const View& view, uint64_t element, uint32_t bits) {
    const View at = At(view, element);
    const Operand operand = MakeOperand(Mem::kUb, Access::kWrite, at.address, size_, size_, at.origin);
    if (uint8_t* to = core_.ScalarStore(operand, Name(), site_)) std::memcpy(to, &bits, size_);
  }

 private:
  const char* Name() const {
    return op_ == isa::ReduceOp::kSum ? "ReduceSum" : op_ == isa::ReduceOp::kMax ? "ReduceMax" : "ReduceMin";
  }

  Core& core_;
  isa::ReduceOp op_;
  DType type_;
  uint32_t size_, width_, results_;
  Site site_;
};

// Body of all three: reduces `repeats` repeats of `mask` lanes to dst[0].
void ReduceValue(Passes& passes, const View& dst, const View& src, const View& tmp, const uint64_t* mask,
                 uint32_t repeats, uint32_t src_repeat) {
  passes.Run(tmp, src, mask, repeats, src_repeat);
  for (uint32_t left = repeats; left > 1;) {
    passes.Barrier();
    passes.RunPartials(tmp, tmp, left * passes.results());
    left = (left * passes.results() + passes.width() - 1) / passes.width();
  }
  passes.VectorToScalar();
  passes.Write(dst, 0, passes.Read(tmp, 0));
  passes.ScalarToOthers();
}

// The same, and the element's number in dst[1]: every level keeps its pairs, and the indices are chained backwards.
void ReduceValueAndIndex(Passes& passes, const View& dst, const View& src, const View& tmp, const uint64_t* mask,
                         uint32_t repeats, uint32_t src_repeat) {
  if (repeats == 1) return passes.Run(dst, src, mask, 1, src_repeat);
  const uint32_t per_block = kBlockBytes / passes.size();
  std::vector<uint32_t> levels = {0};
  uint32_t elements = repeats * 2;
  passes.Run(tmp, src, mask, repeats, src_repeat);
  while (elements > 2) {
    const uint32_t next = (levels.back() + elements + per_block - 1) / per_block * per_block;
    passes.Barrier();
    passes.RunPartials(passes.At(tmp, next), passes.At(tmp, levels.back()), elements);
    levels.push_back(next);
    elements = (elements + passes.width() - 1) / passes.width() * 2;
  }
  passes.VectorToScalar();
  passes.Write(dst, 0, passes.Read(tmp, levels.back()));
  // At each level: the pair chosen in the level below it.
  uint32_t position = 0;
  for (size_t level = levels.size(); level-- > 1;) {
    const uint32_t lane = passes.Read(tmp, levels[level] + position + 1);
    position = position / 2 * passes.width() + lane;
  }
  const uint32_t lane = passes.Read(tmp, levels[0] + position + 1);
  passes.Write(dst, 1, position / 2 * (src_repeat * per_block) + lane);
  passes.ScalarToOthers();
}

struct Form {
  uint64_t mask[2];
  uint32_t repeats;
};

// Mask forms give lanes and repeats; a count form is split into whole repeats and a tail by the callers.
Form Resolve(const LaneForm& form) {
  Form resolved{{form.bits[0], form.bits[1]}, form.repeats};
  if (form.kind == LaneForm::Kind::kMask) isa::Lanes::SetPrefix(resolved.mask, static_cast<uint32_t>(form.count));
  return resolved;
}

}  // namespace

void ReduceSumAll(DType type, const View& dst, const View& src, const View& tmp, const LaneForm& form,
                  uint32_t src_repeat, Site site) {
  Core& core = Core::Current();
  Core::LibraryScope scope(core);
  Passes passes(isa::ReduceOp::kSum, type, site);
  if (form.kind != LaneForm::Kind::kCount) {
    const Form lanes = Resolve(form);
    if (lanes.repeats != 0) ReduceValue(passes, dst, src, tmp, lanes.mask, lanes.repeats, src_repeat);
    return;
  }
  const auto count = static_cast<uint32_t>(form.count);
  if (count == 0) return;
  const uint32_t repeats = count / passes.width();
  const uint32_t tail = repeats == 0 ? 0 : count % passes.width();
  uint64_t mask[2];
  isa::Lanes::SetPrefix(mask, repeats == 0 ? count : passes.width());
  ReduceValue(passes, dst, src, tmp, mask, repeats == 0 ? 1 : repeats, 8);
  if (tail == 0) return;
  const uint32_t body = passes.Read(dst, 0);
  isa::Lanes::SetPrefix(mask, tail);
  ReduceValue(passes, dst, passes.At(src, uint64_t{repeats} * passes.width()), tmp, mask, 1, 8);
  const uint32_t rest = passes.Read(dst, 0);
  passes.Write(tmp, 0, body);
  passes.Write(tmp, 1, rest);
  SetAndWait(core, Queue::kS, Queue::kV, site);
  isa::Lanes::SetPrefix(mask, 2);
  ReduceValue(passes, dst, tmp, tmp, mask, 1, 8);
}

void ReduceExtremeAll(isa::ReduceOp op, DType type, const View& dst, const View& src, const View& tmp,
                      const LaneForm& form, uint32_t src_repeat, bool with_index, Site site) {
  Core& core = Core::Current();
  Core::LibraryScope scope(core);
  Passes passes(op, type, site);
  const auto reduce = [&](const View& from, const uint64_t* mask, uint32_t repeats, uint32_t stride) {
    if (with_index) {
      ReduceValueAndIndex(passes, dst, from, tmp, mask, repeats, stride);
    } else {
      ReduceValue(passes, dst, from, tmp, mask, repeats, stride);
    }
  };
  if (form.kind != LaneForm::Kind::kCount) {
    const Form lanes = Resolve(form);
    if (lanes.repeats != 0) reduce(src, lanes.mask, lanes.repeats, src_repeat);
    return;
  }
  const auto count = static_cast<uint32_t>(form.count);
  if (count == 0) return;
  const uint32_t repeats = count / passes.width();
  const uint32_t tail = repeats == 0 ? 0 : count % passes.width();
  uint64_t mask[2];
  isa::Lanes::SetPrefix(mask, repeats == 0 ? count : passes.width());
  reduce(src, mask, repeats == 0 ? 1 : repeats, 8);
  if (tail == 0) return;
  passes.VectorToScalar();
  const uint32_t body = passes.Read(dst, 0);
  const uint32_t body_index = with_index ? passes.Read(dst, 1) : 0;
  isa::Lanes::SetPrefix(mask, tail);
  SetAndWait(core, Queue::kS, Queue::kV, site);
  reduce(passes.At(src, uint64_t{repeats} * passes.width()), mask, 1, 8);
  passes.VectorToScalar();
  const uint32_t rest = passes.Read(dst, 0);
  const uint32_t rest_index = with_index ? passes.Read(dst, 1) : 0;
  passes.Write(tmp, 0, body);
  passes.Write(tmp, 1, rest);
  SetAndWait(core, Queue::kS, Queue::kV, site);
  isa::Lanes::SetPrefix(mask, 2);
  reduce(tmp, mask, 1, 8);
  if (!with_index) return;
  passes.VectorToScalar();
  const bool in_tail = passes.Read(dst, 1) == 1;
  passes.Write(dst, 1, in_tail ? repeats * passes.width() + rest_index : body_index);
  passes.ScalarToOthers();
}

}  // namespace npu_model::issue
