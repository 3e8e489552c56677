// SPDX-License-Identifier: Apache-2.0
#include "matmul/to_nz.h"

#include <algorithm>

#include "issue/copy.h"
#include "issue/cube.h"
#include "issue/library.h"
#include "issue/permute.h"
#include "issue/vector.h"

namespace npu_model::matmul {
namespace {

using issue::Offset;
using issue::SetAndWait;

constexpr uint32_t kMostRepeats = 255;
constexpr uint32_t kRepeatBlocks = 8;
constexpr uint64_t kBlockLanes = 0xffff;  // 16-bit lanes of a block

// The same 16-bit lanes of the first `blocks` blocks of a repeat.
struct BlockMask {
  uint64_t bits[2] = {0, 0};
  BlockMask(uint64_t lanes, uint32_t blocks) {
    for (uint32_t block = 0; block < blocks; ++block) bits[block / 4] |= lanes << (block % 4 * 16);
  }
};

const View NdSource(const TileCopy& copy) {
  return Offset(copy.source, (uint64_t{copy.row} * copy.pitch + copy.column) * copy.side.size());
}

// 16-bit lanes of a block behind `bytes` of it.
uint64_t PaddingLanes(uint32_t bytes) { return kBlockLanes & ~((uint64_t{1} << ((bytes + 1) / 2)) - 1); }

void ZeroTile(Core& core, const TileCopy& copy, uint32_t strips, Site site) {
  const bool from_ub = copy.source.mem == Mem::kUb;
  if (from_ub) SetAndWait(core, Queue::kMte3, Queue::kMte2, site);
  const uint32_t fractals = strips * StripRows(copy) / kSide;
  for (uint32_t done = 0; done < fractals; done += kMostRepeats) {
    issue::IssueFill("InitConstValue", Offset(copy.l1, uint64_t{done} * isa::kFractalBytes),
                     std::min(kMostRepeats, fractals - done), 0, site);
  }
  if (from_ub) {
    SetAndWait(core, Queue::kMte2, Queue::kMte3, site);
  } else {
    core.PipeBarrier(Queue::kMte2, site);
  }
}

// The last strip, `bytes` of each row of which are there.
void CopyTail(Core& core, const TileCopy& copy, const View& to, const View& from, uint32_t bytes,
              const Workspace& workspace, Site site) {
  const View ub = workspace.At(workspace.in);
  SetAndWait(core, Queue::kV, Queue::kMte2, site);
  for (uint32_t row = 0; row < copy.rows; ++row) {
    issue::IssueCopy(Offset(ub, uint64_t{row} * kBlockBytes),
                     Offset(from, uint64_t{row} * copy.pitch * copy.side.size()), {1, 1, 0, 0}, site);
  }
  SetAndWait(core, Queue::kMte2, Queue::kV, site);
  const BlockMask mask(PaddingLanes(bytes), kRepeatBlocks);
  const uint32_t repeats = mask.bits[0] == 0 ? 0 : CeilDiv(copy.rows, kRepeatBlocks);
  for (uint32_t done = 0; done < repeats; done += kMostRepeats) {
    issue::IssueDuplicate(2, Offset(ub, uint64_t{done} * isa::kRepeatBytes), 0,
                          issue::LaneForm::Bits(mask.bits, std::min(kMostRepeats, repeats - done), true), {}, site);
  }
  SetAndWait(core, Queue::kV, Queue::kMte3, site);
  issue::IssueCopy(to, ub, {1, copy.rows, 0, 0}, site);
  // What follows on MTE2 is behind this copy, and so is whoever waits for MTE2.
  SetAndWait(core, Queue::kMte3, Queue::kMte2, site);
}

// Rows of `blocks` whole blocks to UB, one behind the other.
void CopyRows(const TileCopy& copy, const View& ub, uint32_t blocks, Site site) {
  const uint32_t size = copy.side.size();
  const View from = NdSource(copy);
  if (copy.columns * size % kBlockBytes == 0 && copy.pitch * size % kBlockBytes == 0) {
    issue::IssueCopy(ub, from, {copy.rows, blocks, copy.pitch * size / kBlockBytes - blocks, 0}, site);
    return;
  }
  for (uint32_t row = 0; row < copy.rows; ++row) {
    issue::IssueCopy(Offset(ub, uint64_t{row} * blocks * kBlockBytes), Offset(from, uint64_t{row} * copy.pitch * size),
                     {1, blocks, 0, 0}, site);
  }
}

// One strip out of rows of `blocks` blocks, eight rows a repeat.
void GatherStrip(const View& to, const View& from, uint32_t rows, uint32_t blocks, DType type, Site site) {
  const uint32_t one = type == DType::kHalf ? 0x3c00 : 1;
  const auto move = [&](uint32_t row, uint32_t height, uint32_t repeats) {
    const BlockMask mask(kBlockLanes, height);
    issue::IssueScalar(isa::ScalarOp::kMuls, "Muls", type, Offset(to, uint64_t{row} * kBlockBytes),
                       Offset(from, uint64_t{row} * blocks * kBlockBytes), one,
                       issue::LaneForm::Bits(mask.bits, repeats, true), {1, blocks, height, height * blocks}, site);
  };
  const bool wide = blocks * kRepeatBlocks > 255;  // repeat strides are bytes
  const uint32_t height = wide ? 1 : kRepeatBlocks;
  const uint32_t whole = rows / height;
  for (uint32_t done = 0; done < whole; done += kMostRepeats)
    move(done * height, height, std::min(kMostRepeats, whole - done));
  if (rows % height != 0) move(whole * height, rows % height, 1);
}

void ZeroBlocks(const View& ub, uint32_t blocks, Site site) {
  issue::IssueDuplicate(2, ub, 0, issue::LaneForm::Count(int64_t{blocks} * kSide), {}, site);
}

}  // namespace

void CopyNdTile(Core& core, const TileCopy& copy, const Workspace& workspace, Site site) {
  const uint32_t size = copy.side.size();
  const uint32_t c0 = copy.side.c0();
  const uint32_t strips = CeilDiv(copy.columns, c0);
  const uint32_t whole = copy.columns / c0;
  const uint64_t strip_bytes = uint64_t{StripRows(copy)} * kBlockBytes;
  if (copy.rows % kSide != 0) ZeroTile(core, copy, strips, site);
  const View from = NdSource(copy);
  const bool strided = copy.pitch % c0 == 0 && copy.pitch / c0 - 1 <= 65535;
  for (uint32_t strip = 0; strip < whole; ++strip) {
    const View to = Offset(copy.l1, strip * strip_bytes);
    const View column = Offset(from, uint64_t{strip} * kBlockBytes);
    if (strided) {
      issue::IssueCopy(to, column, {copy.rows, 1, copy.pitch / c0 - 1, 0}, site);
      continue;
    }
    for (uint32_t row = 0; row < copy.rows; ++row) {
      issue::IssueCopy(Offset(to, uint64_t{row} * kBlockBytes), Offset(column, uint64_t{row} * copy.pitch * size),
                       {1, 1, 0, 0}, site);
    }
  }
  if (strips != whole) {
    CopyTail(core, copy, Offset(copy.l1, whole * strip_bytes), Offset(from, uint64_t{whole} * kBlockBytes),
             copy.columns % c0 * size, workspace, site);
  }
}

void CopyNdTileByVector(Core& core, const TileCopy& copy, const Workspace& workspace, Site site) {
  const uint32_t size = copy.side.size();
  const uint32_t strips = CeilDiv(copy.columns, copy.side.c0());
  const uint32_t height = StripRows(copy);
  const View nd = workspace.At(workspace.in);
  const View nz = workspace.At(workspace.turned);
  SetAndWait(core, Queue::kV, Queue::kMte2, site);
  CopyRows(copy, nd, strips, site);
  SetAndWait(core, Queue::kMte2, Queue::kV, site);
  const uint64_t padding = PaddingLanes(copy.columns * size % kBlockBytes);
  if (copy.columns % copy.side.c0() != 0 && padding != 0) {
    const BlockMask mask(padding, 1);
    for (uint32_t done = 0; done < copy.rows; done += kMostRepeats) {
      issue::IssueDuplicate(2, Offset(nd, (uint64_t{done} * strips + strips - 1) * kBlockBytes), 0,
                            issue::LaneForm::Bits(mask.bits, std::min(kMostRepeats, copy.rows - done), true),
                            {1, 1, strips, 8}, site);
    }
  }
  core.PipeBarrier(Queue::kV, site);
  for (uint32_t strip = 0; strip < strips; ++strip) {
    const View to = Offset(nz, uint64_t{strip} * height * kBlockBytes);
    GatherStrip(to, Offset(nd, uint64_t{strip} * kBlockBytes), copy.rows, strips,
                size == 1 ? DType::kInt16 : copy.side.type, site);
    if (height != copy.rows) ZeroBlocks(Offset(to, uint64_t{copy.rows} * kBlockBytes), height - copy.rows, site);
  }
  SetAndWait(core, Queue::kV, Queue::kMte3, site);
  issue::IssueCopy(copy.l1, nz, {1, strips * height, 0, 0}, site);
  SetAndWait(core, Queue::kMte3, Queue::kV, site);
}

void CopyNzTile(const TileCopy& copy, Site site) {
  const uint32_t c0 = copy.side.c0();
  const View from = Offset(copy.source, (uint64_t{copy.column / c0} * copy.pitch + copy.row) * kBlockBytes);
  const uint32_t strips = CeilDiv(copy.columns, c0);
  const uint32_t gap = copy.pitch - copy.rows;
  if (gap <= 65535) {
    issue::IssueCopy(copy.l1, from, {strips, copy.rows, gap, 0}, site);
    return;
  }
  for (uint32_t strip = 0; strip < strips; ++strip) {
    issue::IssueCopy(Offset(copy.l1, uint64_t{strip} * copy.rows * kBlockBytes),
                     Offset(from, uint64_t{strip} * copy.pitch * kBlockBytes), {1, copy.rows, 0, 0}, site);
  }
}

void CopyTurnedTile(Core& core, const TileCopy& copy, const Workspace& workspace, Site site) {
  const uint32_t height = AlignUp(copy.rows, kBlockBytes);
  const uint32_t blocks = CeilDiv(copy.columns, kBlockBytes);
  const bool nz = copy.side.format == Format::kNz;
  const View in = workspace.At(workspace.in);
  const View turned = workspace.At(workspace.turned);
  const bool from_gm = copy.source.mem == Mem::kGm;
  if (from_gm) {
    SetAndWait(core, Queue::kV, Queue::kMte2, site);
  } else {
    SetAndWait(core, Queue::kMte3, Queue::kV, site);
    core.PipeBarrier(Queue::kV, site);
  }
  if (nz) {
    const uint64_t start = uint64_t{copy.column / kBlockBytes} * copy.pitch + copy.row;
    issue::IssueCopy(in, Offset(copy.source, start * kBlockBytes),
                     {blocks, copy.rows, copy.pitch - copy.rows, height - copy.rows}, site);
  } else {
    CopyRows(copy, in, blocks, site);
  }
  if (from_gm) SetAndWait(core, Queue::kMte2, Queue::kV, site);
  // In blocks: from a row to the next, from a block of 32 columns to the next.
  const uint32_t row_step = nz ? 1 : blocks;
  const uint32_t block_step = nz ? height : 1;
  if (height != copy.rows) {
    const uint32_t runs = nz ? blocks : 1;
    for (uint32_t run = 0; run < runs; ++run) {
      ZeroBlocks(Offset(in, (uint64_t{run} * height + uint64_t{copy.rows} * row_step) * kBlockBytes),
                 (height - copy.rows) * row_step, site);
    }
  }
  core.PipeBarrier(Queue::kV, site);
  for (uint32_t quarter = 0; quarter < height / kSide * 2; ++quarter) {
    // 16 rows times one half of each block become half of the bytes of 16 rows.
    const uint32_t row = quarter / 2 * kSide;
    const bool right = quarter % 2 != 0;
    const uint64_t target = uint64_t{row / kBlockBytes} * blocks * kBlockBytes + (right ? kSide : 0);
    View from[kSide], to[kSide];
    for (uint32_t i = 0; i < kSide; ++i) {
      from[i] = Offset(in, uint64_t{row + i} * row_step * kBlockBytes);
      to[i] = Offset(turned, (target + i) * kBlockBytes);
    }
    issue::TransDataShape shape;
    shape.elem_bytes = 1;
    shape.dst_high = row % kBlockBytes != 0;
    shape.src_high = right;
    shape.repeats = blocks;
    shape.dst_stride = blocks == 1 ? 0 : kBlockBytes;
    shape.src_stride = blocks == 1 ? 0 : block_step;
    issue::IssueTransData(to, from, shape, site);
  }
  SetAndWait(core, Queue::kV, Queue::kMte3, site);
  issue::IssueCopy(copy.l1, turned, {1, height / kBlockBytes * blocks * kBlockBytes, 0, 0}, site);
  SetAndWait(core, Queue::kMte3, Queue::kV, site);
}

}  // namespace npu_model::matmul
