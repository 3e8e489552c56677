// SPDX-License-Identifier: Apache-2.0
#include "issue/cube.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "isa/copy.h"
#include "issue/regions.h"

namespace npu_model::issue {
namespace {

using isa::kFractalBytes;
constexpr uint32_t kSide = 16;
constexpr uint32_t kL0Align = 512;

uint32_t CeilDiv(uint32_t a, uint32_t b) { return (a + b - 1) / b; }

uint32_t AlignOf(Mem mem) { return mem == Mem::kGm ? 1 : mem == Mem::kL1 ? kBlockBytes : kL0Align; }

Operand Start(Access access, const View& view, uint64_t offset, uint32_t align) {
  Operand operand;
  operand.mem = view.mem;
  operand.access = access;
  operand.align = align;
  operand.start = view.address + offset;
  operand.origin = view.origin;
  return operand;
}

Operand FractalOperand(Access access, const View& view, uint64_t offset, uint32_t count, uint64_t pitch) {
  Operand operand = Start(access, view, offset, AlignOf(view.mem));
  if (pitch == kFractalBytes && view.mem != Mem::kGm) {
    operand.Add({operand.start, count * kFractalBytes});
  } else {
    operand.Add({operand.start, kFractalBytes, count, static_cast<uint32_t>(pitch)});
  }
  return operand;
}

// Region list that moves to external storage beyond the inline capacity.
class Regions {
 public:
  Regions(int slot, Operand& operand) : operand_(operand), storage_(RegionStorage(slot, 8)) {}
  void Add(uint64_t offset, uint32_t len, uint32_t n1 = 1, uint32_t s1 = 0, uint32_t n2 = 1, uint32_t s2 = 0) {
    if (len == 0 || n1 == 0 || n2 == 0) return;
    storage_[operand_.count++] = {operand_.start + offset, len, n1, s1, n2, s2};
    operand_.external = storage_;
  }

 private:
  Operand& operand_;
  Region* storage_;
};

// A [m, k] in row fractals: valid rows and columns only. m == 1 is a plain vector.
Operand OperandA(const View& view, const isa::MmadShape& s) {
  Operand operand = Start(Access::kRead, view, 0, kL0Align);
  operand.elem_bytes = static_cast<uint8_t>(isa::SizeOf(s.a));
  const uint32_t depth = kBlockBytes / isa::SizeOf(s.a);
  if (s.m == 1) {
    operand.Add({operand.start, s.k * isa::SizeOf(s.a)});
    return operand;
  }
  const uint32_t k_all = CeilDiv(s.k, depth);
  const uint32_t k_full = s.k / depth;
  const uint32_t k_tail = s.k % depth * isa::SizeOf(s.a);
  const uint32_t m_full = s.m / kSide;
  const uint32_t m_tail = s.m % kSide;
  const uint32_t row_pitch = k_all * kFractalBytes;
  Regions regions(1, operand);
  if (k_tail == 0) {
    regions.Add(0, m_full * row_pitch);
  } else {
    regions.Add(0, k_full * kFractalBytes, m_full, row_pitch);
    regions.Add(uint64_t{k_full} * kFractalBytes, k_tail, kSide, kBlockBytes, m_full, row_pitch);
  }
  const uint64_t last = uint64_t{m_full} * row_pitch;
  regions.Add(last, m_tail * kBlockBytes, k_full, kFractalBytes);
  if (k_tail != 0) regions.Add(last + uint64_t{k_full} * kFractalBytes, k_tail, m_tail, kBlockBytes);
  return operand;
}

// B [k, n] in fractals of n rows, k blocks outer.
Operand OperandB(const View& view, const isa::MmadShape& s) {
  Operand operand = Start(Access::kRead, view, 0, kL0Align);
  operand.elem_bytes = static_cast<uint8_t>(isa::SizeOf(s.b));
  const uint32_t depth = kBlockBytes / isa::SizeOf(s.b);
  const uint32_t k_full = s.k / depth;
  const uint32_t k_tail = s.k % depth * isa::SizeOf(s.b);
  const uint32_t block_pitch = CeilDiv(s.n, kSide) * kFractalBytes;
  Regions regions(2, operand);
  regions.Add(0, s.n * kBlockBytes, k_full, block_pitch);
  if (k_tail != 0) regions.Add(uint64_t{k_full} * block_pitch, k_tail, s.n, kBlockBytes);
  return operand;
}

Operand OperandC(const View& view, const isa::MmadShape& s) {
  const uint32_t size = isa::SizeOf(s.c);
  Operand operand =
      Start(s.init ? Access::kWrite : Access::kReadWrite, view, 0, s.c == DType::kHalf ? kL0Align : 2 * kL0Align);
  operand.elem_bytes = static_cast<uint8_t>(size);
  const uint32_t fractal = kSide * kSide * size;
  if (s.m == 1) {
    operand.Add({operand.start, kSide * size, CeilDiv(s.n, kSide), fractal});
  } else {
    operand.Add({operand.start, CeilDiv(s.m, kSide) * CeilDiv(s.n, kSide) * fractal});
  }
  return operand;
}

}  // namespace

void IssueLoadData2D(const View& dst, const View& src, const FractalLoad& load, Site site) {
  Core& core = Core::Current();
  const bool to_l0 = dst.mem == Mem::kL0a || dst.mem == Mem::kL0b;
  const bool from_l1 = src.mem == Mem::kL1 && to_l0;
  const bool from_gm = src.mem == Mem::kGm && (to_l0 || dst.mem == Mem::kL1);
  if (!from_l1 && !from_gm) {
    core.Fault(Rule::kUnsupported, "LoadData", site,
               std::string("there is no LoadData from ") + Name(src.mem) + " to " + Name(dst.mem) + " on this chip");
    return;
  }
  if (load.repeat == 0) return;
  // The transposing load exists for 16-bit elements out of L1; GM sources ignore the flag.
  const bool transpose = load.transpose && from_l1;
  if (transpose && isa::SizeOf(load.type) != 2) {
    core.Fault(Rule::kUnsupported, "LoadData", site, "ifTranspose exists for 16-bit elements only on this chip");
    return;
  }
  const Queue queue = from_l1 ? Queue::kMte1 : Queue::kMte2;
  const CostClass cost = from_gm                ? CostClass::kGmLoad
                         : dst.mem == Mem::kL0a ? CostClass::kLoadL0a
                                                : CostClass::kLoadL0b;
  Instr instr(queue, "LoadData", site, FractalCost(cost, load.repeat));
  const bool down = load.decrement && from_gm && dst.mem == Mem::kL1;
  const uint64_t step = uint64_t{load.src_stride} * kFractalBytes;
  const uint64_t first = uint64_t{load.start} * kFractalBytes;
  // A descending source is described from its lowest fractal up.
  const uint64_t lowest = down ? first - (load.repeat - 1) * step : first;
  const uint64_t dst_pitch = uint64_t{1 + load.dst_gap} * kFractalBytes;
  instr.Add(FractalOperand(Access::kWrite, dst, 0, load.repeat, dst_pitch));
  instr.Add(FractalOperand(Access::kRead, src, lowest, load.repeat, step));
  core.Issue(instr, [repeat = load.repeat, src_pitch = down ? -static_cast<int64_t>(step) : static_cast<int64_t>(step),
                     dst_pitch = static_cast<int64_t>(dst_pitch), transpose, to = Pointer(core, dst),
                     from = Pointer(core, src) + first] {
    isa::LoadFractals(repeat, src_pitch, dst_pitch, transpose, to, from);
  });
}

void IssueLoadData3D(const View& dst, const View& src, isa::Img2Col shape, Site site) {
  Core& core = Core::Current();
  if (src.mem != Mem::kL1 || (dst.mem != Mem::kL0a && dst.mem != Mem::kL0b)) {
    core.Fault(
        Rule::kUnsupported, "LoadData", site,
        std::string("there is no LoadData (3D) from ") + Name(src.mem) + " to " + Name(dst.mem) + " in the model");
    return;
  }
  const uint32_t c0 = kBlockBytes / shape.element_bytes;
  const uint32_t taps = uint32_t{shape.filter_w} * shape.filter_h;
  if (shape.height == 0 || shape.width == 0 || shape.channels == 0 || shape.k_extent == 0 || shape.m_extent == 0 ||
      taps == 0) {
    return;  // a NOP by definition
  }
  shape.to_l0b = dst.mem == Mem::kL0b;
  // L0B always gets the transposed form by itself.
  shape.transpose = shape.transpose && !shape.to_l0b;
  if ((shape.to_l0b || shape.transpose) && shape.element_bytes != 2) {
    core.Fault(Rule::kUnsupported, "LoadData", site, "LoadData (3D) transposes 16-bit elements only on this chip");
    return;
  }
  if (shape.channels % c0 != 0 || shape.k_start % c0 != 0 || shape.stride_w == 0 || shape.stride_h == 0) {
    core.Fault(Rule::kParam, "LoadData", site,
               "LoadData (3D): channelSize and kStartPt must be multiples of " + std::to_string(c0) +
                   " in the model, strides must not be 0");
    return;
  }
  const uint32_t rows = isa::Img2ColRows(shape);
  if (shape.m_start + shape.m_extent > CeilDiv(rows, kSide) * kSide ||
      shape.k_start + shape.k_extent > shape.channels * taps) {
    core.Fault(Rule::kParam, "LoadData", site,
               "LoadData (3D): the window [mStartPt, kStartPt] + extension leaves the matrix of " +
                   std::to_string(rows) + " x " + std::to_string(shape.channels * taps));
    return;
  }
  const uint32_t fractals = CeilDiv(shape.m_extent, kSide) * CeilDiv(shape.k_extent, c0);
  Instr instr(Queue::kMte1, "LoadData", site,
              FractalCost(shape.to_l0b ? CostClass::kLoadL0b : CostClass::kLoadL0a, fractals));
  Operand write = Start(Access::kWrite, dst, 0, kL0Align);
  write.Add({write.start, fractals * kFractalBytes});
  instr.Add(write);
  // The whole channel blocks of the window are named, although a strided filter may skip rows of them.
  Operand read = Start(Access::kRead, src, 0, kBlockBytes);
  const uint32_t plane = uint32_t{shape.height} * shape.width * kBlockBytes;
  const uint32_t first = shape.k_start / c0 / taps;
  const uint32_t last = (shape.k_start + shape.k_extent - 1) / c0 / taps;
  const bool pointwise = taps == 1 && shape.stride_w == 1 && shape.stride_h == 1 &&
                         (shape.pad_left | shape.pad_right | shape.pad_top | shape.pad_bottom) == 0;
  if (pointwise) {
    const uint32_t end = shape.m_start + shape.m_extent < rows ? shape.m_start + shape.m_extent : rows;
    read.Add({read.start + uint64_t{first} * plane + uint64_t{shape.m_start} * kBlockBytes,
              (end - shape.m_start) * kBlockBytes, last - first + 1, plane});
  } else {
    read.Add({read.start + uint64_t{first} * plane, (last - first + 1) * plane});
  }
  instr.Add(read);
  core.Issue(instr, [shape, to = Pointer(core, dst), from = Pointer(core, src)] { isa::LoadImg2Col(shape, to, from); });
}

void IssueLoadFractals3D(const View& dst, const View& src, isa::Img2ColFractals walk, Site site) {
  Core& core = Core::Current();
  if (src.mem != Mem::kL1 || (dst.mem != Mem::kL0a && dst.mem != Mem::kL0b)) {
    core.Fault(
        Rule::kUnsupported, "LoadData", site,
        std::string("there is no LoadData (3D) from ") + Name(src.mem) + " to " + Name(dst.mem) + " in the model");
    return;
  }
  isa::Img2Col& map = walk.map;
  map.to_l0b = dst.mem == Mem::kL0b;
  if (map.to_l0b && map.element_bytes != 2) {
    core.Fault(Rule::kUnsupported, "LoadData", site, "LoadData (3D) transposes 16-bit elements only on this chip");
    return;
  }
  if (map.height == 0 || map.width == 0 || map.stride_w == 0 || map.stride_h == 0 || map.filter_w == 0 ||
      map.filter_h == 0 || map.dilation_w == 0 || map.dilation_h == 0 || walk.repeats == 0 || walk.dst_stride == 0 ||
      walk.tap_w >= map.filter_w || walk.tap_h >= map.filter_h) {
    core.Fault(Rule::kParam, "LoadData", site,
               "LoadData3DParamsV1: l1H, l1W, strides, filter sizes, dilations, repeatTime and jumpStride must not be "
               "0, and fetchFilterW, fetchFilterH must lie in the filter");
    return;
  }
  std::vector<uint64_t> rows = isa::RowsOf(walk);
  std::vector<uint64_t> touched;
  for (const uint64_t row : rows) {
    if (row != isa::kPaddingRow) touched.push_back(src.address + row);
  }
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  Instr instr(Queue::kMte1, "LoadData", site,
              FractalCost(map.to_l0b ? CostClass::kLoadL0b : CostClass::kLoadL0a, walk.repeats));
  instr.Add(FractalOperand(Access::kWrite, dst, 0, walk.repeats, uint64_t{walk.dst_stride} * kFractalBytes));
  Operand read = Start(Access::kRead, src, 0, kBlockBytes);
  Region* regions = RegionStorage(1, static_cast<uint32_t>(touched.size()));
  for (const uint64_t at : touched) {
    if (read.count != 0 && regions[read.count - 1].base + regions[read.count - 1].len == at) {
      regions[read.count - 1].len += kBlockBytes;
    } else {
      regions[read.count++] = {at, kBlockBytes};
    }
  }
  read.external = regions;
  if (read.count != 0) instr.Add(read);
  core.Issue(instr, [walk, rows = std::move(rows), to = Pointer(core, dst), from = Pointer(core, src)] {
    isa::LoadImg2ColFractals(walk, rows, to, from);
  });
}

void IssueMmad(const View& c, const View& a, const View& b, isa::MmadShape shape, Site site) {
  Core& core = Core::Current();
  if (c.mem != Mem::kL0c || a.mem != Mem::kL0a || b.mem != Mem::kL0b) {
    core.Fault(
        Rule::kBuffer2, "Mmad", site,
        std::string("operands must be in L0C, L0A, L0B, got ") + Name(c.mem) + ", " + Name(a.mem) + ", " + Name(b.mem));
    return;
  }
  if (shape.m > 4095 || shape.n > 4095 || shape.k > 4095) {
    core.Fault(Rule::kParam, "Mmad", site,
               "m, n, k are " + std::to_string(shape.m) + ", " + std::to_string(shape.n) + ", " +
                   std::to_string(shape.k) + ", must be 0..4095");
    return;
  }
  if (shape.m == 0 || shape.n == 0 || shape.k == 0) return;
  shape.permute = core.permute_cube();
  shape.permute_seed = core.permute_seed();
  Instr instr(Queue::kM, "Mmad", site, MmadCost(shape.m, shape.n, shape.k));
  instr.accumulate = !shape.init;
  instr.c_fractals = static_cast<uint16_t>(CeilDiv(shape.m, kSide) * CeilDiv(shape.n, kSide));
  instr.Add(OperandC(c, shape));
  instr.Add(OperandA(a, shape));
  instr.Add(OperandB(b, shape));
  core.Issue(instr, [shape, to = Pointer(core, c), left = Pointer(core, a), right = Pointer(core, b),
                     overflow = OverflowMode(core)] { isa::Mmad(shape, to, left, right, overflow); });
}

void IssueFill(const char* name, const View& dst, uint32_t repeats, uint32_t value_bits, Site site) {
  Core& core = Core::Current();
  if (dst.mem != Mem::kL1 && dst.mem != Mem::kL0a && dst.mem != Mem::kL0b) {
    core.Fault(Rule::kBuffer2, name, site,
               std::string("the destination must be in L1, L0A or L0B, got ") + Name(dst.mem));
    return;
  }
  if (repeats > 255) {
    core.Fault(Rule::kParam, name, site, "repeatTimes is " + std::to_string(repeats) + ", must be 0..255");
    return;
  }
  if (repeats == 0) return;
  Instr instr(dst.mem == Mem::kL1 ? Queue::kMte2 : Queue::kMte1, name, site, FractalCost(CostClass::kFill, repeats));
  instr.Add(FractalOperand(Access::kWrite, dst, 0, repeats, kFractalBytes));
  core.Issue(instr, [repeats, value_bits, to = Pointer(core, dst)] {
    isa::FillRuns(to, 1, repeats * kFractalBytes, 0, 2, value_bits);
  });
}

void IssueRowBroadcast(const View& dst, const View& src, const RowBroadcast& shape, Site site) {
  Core& core = Core::Current();
  constexpr const char* kName = "BroadCastVecToMM";
  if (dst.mem != Mem::kL0c || src.mem != Mem::kUb) {
    core.Fault(Rule::kBuffer2, kName, site, "the destination must be in L0C and the source in UB");
    return;
  }
  if (shape.count < 1 || shape.count > 255 || shape.length < 1 || shape.length > 255) {
    core.Fault(Rule::kParam, kName, site, "blockCount and blockLen must be 1..255");
    return;
  }
  const uint32_t row = kSide * isa::SizeOf(shape.type);
  const uint32_t fractal = kSide * row;
  const uint64_t src_pitch = uint64_t{shape.length} * row + uint64_t{shape.src_gap} * kBlockBytes;
  const uint64_t dst_pitch = uint64_t{shape.length + shape.dst_gap} * fractal;
  Instr instr(Queue::kV, kName, site, L0cUbCost(shape.count * shape.length * kSide * kSide * 4));
  Operand write = Start(Access::kWrite, dst, 0, 64);
  write.Add({write.start, shape.length * fractal, shape.count, static_cast<uint32_t>(dst_pitch)});
  Operand read = Start(Access::kRead, src, 0, kBlockBytes);
  read.Add({read.start, shape.length * row, shape.count, static_cast<uint32_t>(src_pitch)});
  instr.Add(write);
  instr.Add(read);
  core.Issue(instr, [shape, row, fractal, src_pitch, dst_pitch, to = Pointer(core, dst), from = Pointer(core, src)] {
    for (uint32_t b = 0; b < shape.count; ++b) {
      for (uint32_t f = 0; f < shape.length; ++f) {
        const isa::BlockCopy copy{kSide, row, 0, row};
        isa::Copy(copy, to + b * dst_pitch + uint64_t{f} * fractal, from + b * src_pitch + uint64_t{f} * row);
      }
    }
  });
}

}  // namespace npu_model::issue
