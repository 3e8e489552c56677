// SPDX-License-Identifier: Apache-2.0
#include "matmul/drain.h"

#include "isa/quantize.h"
#include "issue/copy.h"
#include "issue/library.h"
#include "issue/requant.h"
#include "issue/vector.h"
#include "matmul/row.h"

namespace npu_model::matmul {
namespace {

using issue::Offset;
using issue::SetAndWait;

// The block's extent in fractals and, in UB, in strips.
struct Extent {
  uint32_t fractal_rows, fractal_columns, strips, height;
  Extent(const Side& c, const Result& result)
      : fractal_rows(CeilDiv(result.rows, kSide)),
        fractal_columns(CeilDiv(result.columns, kSide)),
        strips(CeilDiv(result.columns, c.strip())),
        height(fractal_rows * kSide) {}
};

// Factors of the block's columns into UB.
View LoadScales(Core& core, const Context& context, const Requant& requant, const Result& result, Site site) {
  const View ub = context.workspace.At(context.workspace.scales);
  constexpr uint32_t kWord = sizeof(uint64_t);
  CopyRow(core, ub, Offset(requant.vector, uint64_t{result.n} * kWord), result.columns * kWord,
          AlignUp(result.columns, kSide) * kWord, site);
  return ub;
}

// L0C -> UB in NZ, strips `height` rows of 32 bytes or more high.
void ToUb(Core& core, const Context& context, const Requant& requant, const Result& result, const View& ub,
          uint32_t height, Site site) {
  const Side& c = context.spec.c;
  const Extent extent(c, result);
  const uint32_t row_bytes = c.strip() * c.size();
  const bool by_strip = context.spec.requantised() && (requant.kind == Requant::Kind::kVector || c.size() == 1);
  if (!by_strip) {
    issue::FractalCopy copy;
    copy.count = extent.fractal_columns;
    copy.length = extent.fractal_rows;
    copy.dst_gap = (height - extent.height) * row_bytes / kBlockBytes;
    copy.dst_type = c.type;
    copy.src_type = context.spec.l0c_type();
    if (context.spec.requantised()) {
      copy.deq_scale = isa::Dequant::Unpack(requant.word).scale;
      core.SprWrite(site);
      SetAndWait(core, Queue::kS, Queue::kV, site);
    }
    return issue::IssueFractalCopy(ub, result.l0c, copy, site);
  }
  issue::RequantCopy copy;
  copy.rows = extent.height;
  copy.dst_type = c.type;
  copy.word = requant.word;
  View scales;
  if (requant.kind == Requant::Kind::kVector) {
    scales = LoadScales(core, context, requant, result, site);
    copy.per_column = true;
  } else {
    core.SprWrite(site);
    SetAndWait(core, Queue::kS, Queue::kV, site);
  }
  for (uint32_t column = 0; column < extent.fractal_columns; ++column) {
    copy.upper_half = c.size() == 1 && column % 2 != 0;
    const uint32_t strip = column * kSide / c.strip();
    issue::IssueRequantCopy(Offset(ub, uint64_t{strip} * height * row_bytes),
                            Offset(result.l0c, uint64_t{column} * extent.height * kSide * sizeof(int32_t)),
                            Offset(scales, uint64_t{column} * kSide * sizeof(uint64_t)), copy, site);
  }
}

// NZ in UB -> rows in UB, whole strips.
void RowsByVector(const Side& c, const Extent& extent, uint32_t rows, const View& to, const View& from, Site site) {
  const DType type = c.size() == 1 ? DType::kInt16 : c.type;
  const uint32_t lanes = c.strip() * c.size() / isa::SizeOf(type);
  const uint32_t blocks = c.strip() * c.size() / kBlockBytes;
  const uint32_t pitch = extent.strips * blocks;
  uint32_t one = 1;
  if (type == DType::kHalf) one = 0x3c00;
  if (type == DType::kFloat) one = 0x3f800000;
  constexpr uint32_t kMostRepeats = 255;
  // Repeat strides are bytes: rows too wide for them go one by one.
  const uint32_t at_once = pitch > 255 ? 1 : kMostRepeats;
  for (uint32_t strip = 0; strip < extent.strips; ++strip) {
    for (uint32_t row = 0; row < rows; row += at_once) {
      const uint32_t repeats = rows - row < at_once ? rows - row : at_once;
      issue::IssueScalar(isa::ScalarOp::kMuls, "Muls", type,
                         Offset(to, (uint64_t{row} * pitch + uint64_t{strip} * blocks) * kBlockBytes),
                         Offset(from, (uint64_t{strip} * extent.height + row) * blocks * kBlockBytes), one,
                         issue::LaneForm::Mask(lanes, repeats, true), {1, 1, at_once == 1 ? 8 : pitch, blocks}, site);
    }
  }
}

// NZ in UB -> rows in GM or UB, a row at a time: bursts of a strip.
void RowsByCopy(const Side& c, const Extent& extent, uint32_t rows, uint32_t row_bytes, const View& to, uint64_t pitch,
                const View& from, Site site) {
  const uint32_t burst = c.strip() * c.size();
  const uint32_t whole = row_bytes / burst;
  const uint32_t rest = row_bytes % burst / kBlockBytes;
  const uint32_t blocks = burst / kBlockBytes;
  for (uint32_t row = 0; row < rows; ++row) {
    const View target = Offset(to, row * pitch);
    const View source = Offset(from, uint64_t{row} * burst);
    if (whole != 0) issue::IssueCopy(target, source, {whole, blocks, (extent.height - 1) * blocks, 0}, site);
    if (rest != 0) {
      issue::IssueCopy(Offset(target, uint64_t{whole} * burst), Offset(source, uint64_t{whole} * extent.height * burst),
                       {1, rest, 0, 0}, site);
    }
  }
}

void SetAtomic(Core& core, const Side& c, bool add, Site site) {
  core.spr().atomic = !add ? AtomicMode::kNone : c.type == DType::kFloat ? AtomicMode::kAddF32 : AtomicMode::kAddF16;
  core.SprWrite(site);
}

uint32_t RowColumns(const Context& context) {
  const Side& c = context.spec.c;
  const uint32_t columns = context.shape.c_columns();
  return c.format == Format::kNdAligned ? AlignUp(columns, c.strip()) : columns;
}

// Bytes of a row that are written.
uint32_t RowBytes(const Side& c, const Result& result) {
  return (c.format == Format::kNdAligned ? AlignUp(result.columns, c.strip()) : result.columns) * c.size();
}

void NzToGm(const Context& context, const Extent& extent, const Result& result, const View& gm, const View& ub,
            Site site) {
  const Side& c = context.spec.c;
  const uint32_t blocks = c.strip() * c.size() / kBlockBytes;
  const uint32_t height = result.alone ? extent.height : AlignUp(context.shape.org_m, kSide);
  const uint64_t start = result.alone ? 0 : (uint64_t{result.n / c.strip()} * height + result.m) * blocks * kBlockBytes;
  const uint32_t gap = (height - extent.height) * blocks;
  const uint32_t length = extent.height * blocks;
  if (gap <= 65535) return issue::IssueCopy(Offset(gm, start), ub, {extent.strips, length, 0, gap}, site);
  for (uint32_t strip = 0; strip < extent.strips; ++strip) {
    issue::IssueCopy(Offset(gm, start + uint64_t{strip} * height * blocks * kBlockBytes),
                     Offset(ub, uint64_t{strip} * length * kBlockBytes), {1, length, 0, 0}, site);
  }
}

}  // namespace

void StoreToGm(Core& core, const Context& context, const Requant& requant, const Result& result, const View& gm,
               bool add, Site site) {
  const Side& c = context.spec.c;
  const Extent extent(c, result);
  const View ub = context.workspace.At(context.workspace.out);
  core.PipeBarrier(Queue::kV, site);
  ToUb(core, context, requant, result, ub, extent.height, site);
  const bool rows_by_vector = c.format != Format::kNz && context.spec.vector_nz;
  const View rows = context.workspace.At(context.workspace.rows);
  if (rows_by_vector) {
    core.PipeBarrier(Queue::kV, site);
    RowsByVector(c, extent, result.rows, rows, ub, site);
  }
  SetAndWait(core, Queue::kV, Queue::kMte3, site);
  if (add) SetAtomic(core, c, true, site);
  const uint32_t bytes = RowBytes(c, result);
  const uint64_t pitch = result.alone ? bytes : uint64_t{RowColumns(context)} * c.size();
  const uint64_t start = result.alone ? 0 : result.m * pitch + uint64_t{result.n} * c.size();
  if (c.format == Format::kNz) {
    NzToGm(context, extent, result, gm, ub, site);
  } else if (rows_by_vector && (pitch - bytes) % kBlockBytes == 0 && (pitch - bytes) / kBlockBytes <= 65535) {
    const uint32_t held = extent.strips * c.strip() * c.size();
    issue::IssueCopy(Offset(gm, start), rows,
                     {result.rows, bytes / kBlockBytes, (held - bytes) / kBlockBytes,
                      static_cast<uint32_t>(pitch - bytes) / kBlockBytes},
                     site);
  } else {
    RowsByCopy(c, extent, result.rows, bytes, Offset(gm, start), pitch, ub, site);
  }
  if (add) SetAtomic(core, c, false, site);
  SetAndWait(core, Queue::kMte3, Queue::kV, site);
}

void StoreToUb(Core& core, const Context& context, const Requant& requant, const Result& result, const View& ub,
               Site site) {
  const Side& c = context.spec.c;
  const Extent extent(c, result);
  core.PipeBarrier(Queue::kV, site);
  if (c.format == Format::kNz) {
    const uint32_t height = result.alone ? extent.height : AlignUp(context.shape.single_m, kSide);
    const uint64_t start = result.alone ? 0 : uint64_t{result.n / c.strip()} * height + result.m;
    ToUb(core, context, requant, result, Offset(ub, start * c.strip() * c.size()), height, site);
  } else {
    const View strips = context.workspace.At(context.workspace.out);
    ToUb(core, context, requant, result, strips, extent.height, site);
    core.PipeBarrier(Queue::kV, site);
    const uint32_t bytes = RowBytes(c, result);
    const uint64_t pitch = result.alone ? uint64_t{static_cast<uint32_t>(context.tiling.baseN)} * c.size()
                                        : uint64_t{RowColumns(context)} * c.size();
    const uint64_t start = result.alone ? 0 : result.m * pitch + uint64_t{result.n} * c.size();
    RowsByCopy(c, extent, result.rows, bytes, Offset(ub, start), pitch, strips, site);
  }
  core.PipeBarrier(Queue::kV, site);
}

}  // namespace npu_model::matmul
