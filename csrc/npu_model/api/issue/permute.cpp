// SPDX-License-Identifier: Apache-2.0
#include "issue/permute.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "issue/library.h"

namespace npu_model::issue {
namespace {

constexpr uint8_t kPermuteWeight = 4;

// The 16 rows of one side, `bytes` long from `shift`, for every repeat.
Operand ListOperand(int slot, Access access, const View (&views)[16], uint32_t shift, uint32_t bytes,
                    const TransDataShape& shape, uint32_t stride) {
  Operand operand;
  operand.mem = Mem::kUb;
  operand.access = access;
  operand.elem_bytes = static_cast<uint8_t>(shape.elem_bytes);
  operand.align = kBlockBytes;
  operand.start = views[0].address;
  operand.origin = views[0].origin;
  bool even = true;
  const uint64_t step = views[1].address - views[0].address;
  for (int i = 1; i < 16; ++i) {
    even = even && views[i].address - views[i - 1].address == step;
    // Rows cut from several buffers: only the memory's own bounds remain.
    if (views[i].origin.begin != operand.origin.begin || views[i].origin.end != operand.origin.end) operand.origin = {};
    if (views[i].address % kBlockBytes != 0) operand.start = views[i].address;
  }
  if (even && step < (uint64_t{1} << 31)) {
    operand.Add({views[0].address + shift, bytes, 16, static_cast<uint32_t>(step), shape.repeats, stride});
    return operand;
  }
  Region* regions = RegionStorage(slot, 16);
  for (int i = 0; i < 16; ++i) regions[i] = {views[i].address + shift, bytes, 1, 0, shape.repeats, stride};
  operand.external = regions;
  operand.count = 16;
  return operand;
}

// The source bytes a Gather touches depend on data. The offsets in memory at issue are the right ones unless their
// producer is still queued; offsets that leave the view (poison, for one) name the whole view instead.
Operand GatherSource(Core& core, const View& src, uint64_t base, const View& offsets, uint32_t elem_bytes,
                     const isa::Lanes& lanes) {
  Operand operand;
  operand.mem = Mem::kUb;
  operand.elem_bytes = static_cast<uint8_t>(elem_bytes);
  operand.start = base;
  operand.align = elem_bytes;
  operand.origin = src.origin;
  const uint64_t end = src.origin.end > src.origin.begin ? src.origin.end : kUbBytes;
  const uint64_t begin = src.origin.end > src.origin.begin ? src.origin.begin : base;
  std::vector<uint64_t> touched;
  bool inside = offsets.address + uint64_t{lanes.repeats} * lanes.width * 4 <= kUbBytes;
  for (uint32_t r = 0; inside && r < lanes.repeats; ++r) {
    const uint64_t* mask = lanes.MaskOf(r);
    for (uint32_t lane = 0; lane < lanes.width; ++lane) {
      if (((mask[lane >> 6] >> (lane & 63)) & 1) == 0) continue;
      uint32_t offset = 0;
      std::memcpy(&offset, core.Bytes(Mem::kUb, offsets.address + (uint64_t{r} * lanes.width + lane) * 4), 4);
      const uint64_t at = base + offset;
      inside = inside && at >= begin && at + elem_bytes <= end;
      touched.push_back(at);
    }
  }
  if (!inside || touched.empty()) {
    operand.Add({base, static_cast<uint32_t>(end > base ? end - base : elem_bytes)});
    return operand;
  }
  std::sort(touched.begin(), touched.end());
  Region* regions = RegionStorage(1, static_cast<uint32_t>(touched.size()));
  uint32_t count = 0;
  for (const uint64_t at : touched) {
    if (count != 0 && at <= regions[count - 1].base + regions[count - 1].len) {
      const uint64_t reach = at + elem_bytes - regions[count - 1].base;
      regions[count - 1].len = std::max(regions[count - 1].len, static_cast<uint32_t>(reach));
    } else {
      regions[count++] = {at, elem_bytes};
    }
  }
  operand.external = regions;
  operand.count = count;
  return operand;
}

}  // namespace

void IssueTransData(const View (&dst)[16], const View (&src)[16], const TransDataShape& shape, Site site) {
  Core& core = Core::Current();
  constexpr const char* kName = "TransDataTo5HD";
  for (int i = 0; i < 16; ++i) {
    if (!CheckUb(core, dst[i], kName, site) || !CheckUb(core, src[i], kName, site)) return;
  }
  core.SprWrite(site, 4);  // four address registers of eight addresses
  if (shape.repeats == 0) return;
  if (shape.repeats == 1 && (shape.dst_stride != 0 || shape.src_stride != 0)) {
    core.Fault(Rule::kParam, kName, site,
               "repeatTimes is 1: dstRepStride and srcRepStride must be 0 (the hardware adds them even then)");
    return;
  }
  const bool bytes8 = shape.elem_bytes == 1;
  const uint32_t row = bytes8 ? 16 : kBlockBytes;
  isa::AddressLists lists;
  lists.repeats = shape.repeats;
  lists.dst_stride = shape.dst_stride * kBlockBytes;
  lists.src_stride = shape.src_stride * kBlockBytes;
  for (int i = 0; i < 16; ++i) {
    lists.dst[i] = Pointer(core, dst[i]);
    lists.src[i] = Pointer(core, src[i]);
  }
  Instr instr(Queue::kV, kName, site, VectorCost(shape.repeats, kPermuteWeight));
  instr.overlap = OverlapRule::kDisjoint;
  instr.Add(ListOperand(0, Access::kWrite, dst, bytes8 && shape.dst_high ? 16 : 0, row, shape, lists.dst_stride));
  instr.Add(ListOperand(1, Access::kRead, src, bytes8 && shape.src_high ? 16 : 0, row, shape, lists.src_stride));
  core.Issue(instr, [lists, elem_bytes = shape.elem_bytes, dst_high = shape.dst_high, src_high = shape.src_high] {
    if (elem_bytes == 1) {
      isa::Transpose8(lists, dst_high, src_high);
    } else if (elem_bytes == 2) {
      isa::Transpose16(lists);
    } else {
      isa::Transpose32(lists);
    }
  });
}

void IssueTranspose(const View& dst, const View& src, Site site) {
  Core& core = Core::Current();
  if (!CheckUb(core, dst, "Transpose", site) || !CheckUb(core, src, "Transpose", site)) return;
  Instr instr(Queue::kV, "Transpose", site, VectorCost(2, kPermuteWeight));
  instr.overlap = OverlapRule::kDisjoint;
  instr.Add(MakeOperand(Mem::kUb, Access::kWrite, dst.address, isa::kFractalBytes, kBlockBytes, dst.origin));
  instr.Add(MakeOperand(Mem::kUb, Access::kRead, src.address, isa::kFractalBytes, kBlockBytes, src.origin));
  core.Issue(instr, [to = Pointer(core, dst), from = Pointer(core, src)] { isa::TransposeBlock(to, from); });
}

void IssueTransposeImages(const View& dst, const View& src, const TransposeImages& shape, Site site) {
  Core& core = Core::Current();
  constexpr const char* kName = "Transpose";
  constexpr uint32_t kMaxSide = 4095;
  using Form = TransposeImages::Form;
  if (shape.form == Form::kNothing) return;
  if (shape.form == Form::kOther) {
    core.Fault(Rule::kUnsupported, kName, site,
               "only TRANSPOSE_ND2ND_B16, TRANSPOSE_NCHW2NHWC and TRANSPOSE_NHWC2NCHW exist on this chip");
    return;
  }
  if (shape.form == Form::kBlock) {
    if (shape.elem_bytes == 2) return IssueTranspose(dst, src, site);
    core.Fault(Rule::kUnsupported, kName, site, "TRANSPOSE_ND2ND_B16 takes 16-bit elements");
    return;
  }
  if (!CheckUb(core, dst, kName, site) || !CheckUb(core, src, kName, site)) return;
  const uint32_t plane = shape.rows * shape.columns / std::max(shape.channels, 1u);
  if (shape.channels > kMaxSide || plane > kMaxSide || plane * shape.elem_bytes % kBlockBytes != 0) {
    core.Fault(Rule::kParam, kName, site,
               "cSize and hSize * wSize must be at most 4095, and hSize * wSize a multiple of 32 bytes; got cSize " +
                   std::to_string(shape.channels) + ", hSize * wSize " + std::to_string(plane));
    return;
  }
  const uint32_t bytes = shape.rows * shape.columns * shape.elem_bytes;
  if (bytes == 0) return;
  for (uint32_t image = 0; image < shape.images; ++image) {
    const View to = {dst.mem, dst.address + uint64_t{image} * bytes, dst.origin};
    const View from = {src.mem, src.address + uint64_t{image} * bytes, src.origin};
    Instr instr(Queue::kV, kName, site,
                VectorCost((bytes + isa::kRepeatBytes - 1) / isa::kRepeatBytes, kPermuteWeight));
    instr.overlap = OverlapRule::kDisjoint;
    instr.Add(MakeOperand(Mem::kUb, Access::kWrite, to.address, bytes, kBlockBytes, to.origin));
    instr.Add(MakeOperand(Mem::kUb, Access::kRead, from.address, bytes, kBlockBytes, from.origin));
    core.Issue(instr, [shape, out = Pointer(core, to), in = Pointer(core, from)] {
      isa::TransposeMatrix(shape.rows, shape.columns, shape.elem_bytes, out, in);
    });
  }
}

void IssueGather(uint32_t elem_bytes, const View& dst, const View& src, const View& offsets, uint32_t base_offset,
                 const LaneForm& form, uint32_t dst_repeat, Site site) {
  Core& core = Core::Current();
  constexpr const char* kName = "Gather";
  isa::Lanes lanes;
  if (!CheckUb(core, dst, kName, site) || !CheckUb(core, src, kName, site) || !CheckUb(core, offsets, kName, site)) {
    return;
  }
  if (!ResolveLanes(core, form, isa::kRepeatBytes / elem_bytes, kName, site, &lanes)) return;
  Instr instr(Queue::kV, kName, site, VectorCost(lanes.repeats, kPermuteWeight));
  instr.overlap = OverlapRule::kDisjoint;
  const Stride d{kBlockBytes, dst_repeat * kBlockBytes};
  const Stride o{kBlockBytes, lanes.width * 4};  // one uint32 per lane, whatever the element width
  const uint64_t base = src.address + base_offset;
  instr.Add(VectorOperand(0, Access::kWrite, dst, elem_bytes, lanes, d));
  instr.Add(GatherSource(core, src, base, offsets, elem_bytes, lanes));
  instr.Add(VectorOperand(2, Access::kRead, offsets, 4, lanes, o));
  // What the view holds; without a known origin, what UB holds.
  const uint64_t end = src.origin.end > src.origin.begin ? src.origin.end : kUbBytes;
  const uint64_t readable = base < end ? end - base : 0;
  core.Issue(instr, [&core, site, elem_bytes, lanes, to = At(core, dst, d), from = core.Bytes(Mem::kUb, base), readable,
                     at = Pointer(core, offsets)] {
    const uint32_t outside = isa::Gather(elem_bytes, lanes, to, from, readable, at);
    if (outside != 0) {
      core.Fault(Rule::kRead3, kName, site,
                 std::to_string(outside) + " offsets leave the source tensor's " + std::to_string(readable) + " bytes");
    }
  });
}

uint64_t IssueGatherMask(const GatherMaskForm& form, const View& dst, const View& src, const View& bits, Site site) {
  Core& core = Core::Current();
  constexpr const char* kName = "GatherMask";
  if (!CheckUb(core, dst, kName, site) || !CheckUb(core, src, kName, site)) return 0;
  if (form.pattern == 0 && !CheckUb(core, bits, kName, site)) return 0;
  if (form.pattern > 6) {
    core.Fault(Rule::kParam, kName, site,
               "src1Pattern is " + std::to_string(form.pattern) + ", must be 1..6 on this chip");
    return 0;
  }
  const uint32_t width = isa::kRepeatBytes / form.elem_bytes;
  // The call leaves normal mode and a mask behind.
  SpecialRegisters& spr = core.spr();
  core.SprWrite(site, 3);
  spr.mask_low = form.mask;
  spr.mask_high = 0;
  spr.mask_count_mode = false;
  isa::GatherMaskShape shape;
  shape.element_bytes = form.elem_bytes;
  shape.elements = form.count_mode ? form.mask : form.repeats * width;
  shape.src_block_stride = form.src0_block * kBlockBytes;
  shape.src_repeat_stride = form.src0_repeat * kBlockBytes;
  shape.bits_repeat_stride = form.src1_repeat * kBlockBytes;
  shape.pattern = form.pattern;
  if (shape.elements == 0) return 0;
  const isa::Lanes lanes = isa::Lanes::Count(shape.elements, width);
  Instr instr(Queue::kV, kName, site, VectorCost(lanes.repeats, kPermuteWeight));
  // How much is kept depends on data; the bits in memory at issue are the right ones unless their producer is queued.
  const uint64_t bits_reach = uint64_t{lanes.repeats - 1} * shape.bits_repeat_stride + width / 8;
  const bool countable = form.pattern != 0 || bits.address + bits_reach <= kUbBytes;
  const uint32_t kept = countable ? isa::GatherMask(shape, nullptr, nullptr, Pointer(core, bits)) : shape.elements;
  // An empty write still has to start on a block.
  instr.Add(MakeOperand(Mem::kUb, Access::kWrite, dst.address, kept * form.elem_bytes, kBlockBytes, dst.origin));
  if (kept == 0) instr.operands[0].count = 0;
  const Stride s{shape.src_block_stride, shape.src_repeat_stride};
  instr.Add(VectorOperand(1, Access::kRead, src, form.elem_bytes, lanes, s));
  if (form.pattern == 0) {
    npu_model::Operand pattern;
    pattern.mem = Mem::kUb;
    pattern.elem_bytes = static_cast<uint8_t>(form.elem_bytes);
    pattern.start = bits.address;
    pattern.align = kBlockBytes;
    pattern.origin = bits.origin;
    pattern.Add({bits.address, width / 8, 1, 0, lanes.repeats, shape.bits_repeat_stride});
    instr.Add(pattern);
  }
  const auto count = std::make_shared<uint64_t>(0);
  core.Issue(instr, [count, shape, to = Pointer(core, dst), from = Pointer(core, src), at = Pointer(core, bits)] {
    *count = isa::GatherMask(shape, to, from, at);
  });
  const Core::LibraryScope scope(core);
  SetAndWait(core, Queue::kV, Queue::kS, site);
  return *count;
}

}  // namespace npu_model::issue
