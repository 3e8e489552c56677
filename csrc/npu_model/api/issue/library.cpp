// SPDX-License-Identifier: Apache-2.0
#include "issue/library.h"

#include <algorithm>
#include <string>

#include "issue/copy.h"
#include "issue/vector.h"

namespace npu_model::issue {
namespace {

struct Nd2NzTile {
  uint32_t nd_num, rows, columns;  // columns in elements
  uint32_t src_matrix_stride, src_row_stride, dst_c0_stride, dst_matrix_stride;
  DType type;
};

// One 64 B x 64 B tile of every matrix: GM -> scratch, one Adds(+0) per 32-byte column strip, scratch -> L1.
void CopyTile(Core& core, const View& dst, const View& src, const Nd2NzTile& tile, Site site) {
  const uint32_t size = isa::SizeOf(tile.type);
  const uint32_t c0 = kBlockBytes / size;
  const uint32_t strips = (tile.columns + c0 - 1) / c0;
  const uint32_t padded = strips * c0;
  const View nd = Scratch(0);
  const View nz = Scratch(4 * 1024);
  const int done = core.AllocEventId(Queue::kMte3, Queue::kMte2, site);
  core.SetFlag(Queue::kMte3, Queue::kMte2, done, site);
  for (uint32_t i = 0; i < tile.nd_num; ++i) {
    core.WaitFlag(Queue::kMte3, Queue::kMte2, done, site);
    const View from = Offset(src, uint64_t{i} * tile.src_matrix_stride * size);
    if (tile.columns * size % kBlockBytes == 0 && tile.src_row_stride * size % kBlockBytes == 0) {
      IssueCopy(
          nd, from,
          {tile.rows, tile.columns * size / kBlockBytes, (tile.src_row_stride - tile.columns) * size / kBlockBytes, 0},
          site);
      SetAndWait(core, Queue::kMte2, Queue::kV, site);
    } else {
      for (uint32_t row = 0; row < tile.rows; ++row) {
        IssueCopy(Offset(nd, uint64_t{row} * padded * size), Offset(from, uint64_t{row} * tile.src_row_stride * size),
                  {1, strips, 0, 0}, site);
      }
      SetAndWait(core, Queue::kMte2, Queue::kV, site);
      if (padded != tile.columns) {
        const uint32_t whole = tile.columns / c0 * c0;
        const uint64_t mask[2] = {((uint64_t{1} << (padded - tile.columns)) - 1) << (tile.columns - whole), 0};
        IssueDuplicate(size, Offset(nd, uint64_t{whole} * size), 0, LaneForm::Bits(mask, tile.rows, true),
                       {1, 1, strips, 1}, site);
        core.PipeBarrier(Queue::kV, site);
      }
    }
    const uint64_t one_block[2] = {(uint64_t{1} << c0) - 1, 0};
    for (uint32_t strip = 0; strip < strips; ++strip) {
      IssueScalar(isa::ScalarOp::kAdds, "Adds", tile.type, Offset(nz, uint64_t{strip} * kBlockBytes * tile.rows),
                  Offset(nd, uint64_t{strip} * kBlockBytes), 0, LaneForm::Bits(one_block, tile.rows, true),
                  {1, 1, 1, strips}, site);
    }
    SetAndWait(core, Queue::kV, Queue::kMte3, site);
    for (uint32_t strip = 0; strip < strips; ++strip) {
      IssueCopy(
          Offset(dst, uint64_t{i} * tile.dst_matrix_stride * size + uint64_t{strip} * kBlockBytes * tile.dst_c0_stride),
          Offset(nz, uint64_t{strip} * kBlockBytes * tile.rows), {tile.rows, 1, 0, 0}, site);
    }
    core.SetFlag(Queue::kMte3, Queue::kMte2, done, site);
  }
  core.WaitFlag(Queue::kMte3, Queue::kMte2, done, site);
  core.ReleaseEventId(Queue::kMte3, Queue::kMte2, done, site);
}

// Integer data travels through Adds(+0) of its own width.
DType AddsType(DType type) {
  if (type == DType::kUint16) return DType::kInt16;
  return type == DType::kUint32 ? DType::kInt32 : type;
}

}  // namespace

View Scratch(uint32_t offset) {
  View view;
  view.mem = Mem::kUb;
  view.address = kUbScratchOffset + offset;
  return view;
}

void SetAndWait(Core& core, Queue src, Queue dst, Site site) {
  // The library fetches the lowest free id without reserving it. Taking it for the moment names the same id, and tells
  // the engine that the pair is the library's.
  const int id = core.AllocEventId(src, dst, site);
  if (id < 0) return;
  core.SetFlag(src, dst, id, site);
  core.WaitFlag(src, dst, id, site);
  core.ReleaseEventId(src, dst, id, site);
}

void CopyNd2Nz(const View& dst, const View& src, uint32_t nd_num, uint32_t n_value, uint32_t d_value,
               uint32_t src_matrix_stride, uint32_t src_d_value, uint32_t dst_c0_stride, uint32_t dst_matrix_stride,
               DType type, Site site) {
  Core& core = Core::Current();
  if (dst.mem != Mem::kL1) {
    core.Fault(Rule::kUnsupported, "DataCopy", site,
               std::string("Nd2NzParams copies GM to L1 only, got ") + Name(dst.mem));
    return;
  }
  Core::LibraryScope scope(core);
  const uint32_t size = isa::SizeOf(type);
  constexpr uint32_t kTileBytes = 64;
  const uint32_t tile = kTileBytes / size;
  for (uint32_t row = 0; row < n_value; row += tile) {
    for (uint32_t column = 0; column < d_value; column += tile) {
      const Nd2NzTile part{nd_num,
                           std::min(tile, n_value - row),
                           std::min(tile, d_value - column),
                           src_matrix_stride,
                           src_d_value,
                           dst_c0_stride,
                           dst_matrix_stride,
                           AddsType(type)};
      CopyTile(core, Offset(dst, uint64_t{row} * kBlockBytes + uint64_t{column} * dst_c0_stride * size),
               Offset(src, (uint64_t{row} * src_d_value + column) * size), part, site);
    }
  }
}

void CopyNz2Nd(const View& dst, const View& src, uint32_t nd_num, uint32_t n_value, uint32_t d_value,
               uint32_t src_matrix_stride, uint32_t src_n_stride, uint32_t dst_d_stride, uint32_t dst_matrix_stride,
               uint32_t elem_bytes, Site site) {
  Core& core = Core::Current();
  constexpr uint32_t kStrip = 16;
  if (d_value % kStrip != 0 || dst_d_stride < kStrip || dst_d_stride * elem_bytes % kBlockBytes != 0) {
    core.Fault(Rule::kParam, "DataCopy", site,
               "Nz2NdParamsFull: dValue must be a multiple of 16 and dstDStride of 32 bytes, at least 16 elements");
    return;
  }
  Core::LibraryScope scope(core);
  const uint32_t length = kStrip * elem_bytes / kBlockBytes;
  for (uint32_t i = 0; i < nd_num; ++i) {
    for (uint32_t strip = 0; strip < d_value / kStrip; ++strip) {
      for (uint32_t row = 0; row < n_value; row += 4095) {
        const uint64_t from = (uint64_t{i} * src_matrix_stride * kStrip * kStrip +
                               uint64_t{strip} * src_n_stride * kStrip + uint64_t{row} * kStrip) *
                              elem_bytes;
        const uint64_t to =
            (uint64_t{i} * dst_matrix_stride + uint64_t{strip} * kStrip + uint64_t{row} * dst_d_stride) * elem_bytes;
        IssueCopy(Offset(dst, to), Offset(src, from),
                  {std::min(n_value - row, 4095u), length, 0, (dst_d_stride - kStrip) * elem_bytes / kBlockBytes},
                  site);
      }
    }
  }
}

}  // namespace npu_model::issue
