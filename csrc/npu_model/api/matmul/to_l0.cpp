// SPDX-License-Identifier: Apache-2.0
#include "matmul/to_l0.h"

#include "issue/cube.h"

namespace npu_model::matmul {
namespace {

using issue::Offset;

// The tile as a picture of one line whose channels are its columns: any window of it in one instruction.
void LoadByImage(Core& core, const View& l0, const L0Load& load, Site site) {
  isa::Img2Col image;
  image.height = 1;
  image.width = static_cast<uint16_t>(load.rows);
  image.channels = static_cast<uint16_t>(load.columns);
  const uint32_t row = load.rows_along_k ? load.k : load.outer;
  const uint32_t column = load.rows_along_k ? load.outer : load.k;
  const uint32_t rows = load.rows_along_k ? load.k_extent : load.outer_extent;
  const uint32_t columns = load.rows_along_k ? load.outer_extent : load.k_extent;
  image.m_start = static_cast<uint16_t>(row);
  image.k_start = static_cast<uint16_t>(column);
  image.m_extent = static_cast<uint16_t>(AlignUp(rows, kSide));
  image.k_extent = static_cast<uint16_t>(AlignUp(columns, kSide));
  image.transpose = load.rows_along_k;
  image.element_bytes = isa::SizeOf(load.type);
  core.SprWrite(site);  // size of the picture
  issue::IssueLoadData3D(l0, load.l1, image, site);
}

// Fractals as they are, rows along the outer axis. `left`: K inner in L0, else outer.
void LoadFractals(const View& l0, const L0Load& load, bool left, Site site) {
  const uint32_t c0 = kBlockBytes / isa::SizeOf(load.type);
  const uint32_t outer_count = CeilDiv(load.outer_extent, kSide);
  const uint32_t k_count = CeilDiv(load.k_extent, c0);
  const uint32_t strip = load.rows / kSide;  // fractals
  const uint32_t outer_step = left ? k_count : 1;
  const uint32_t k_step = left ? 1 : outer_count;
  const View from = Offset(load.l1, (uint64_t{load.k / c0} * strip + load.outer / kSide) * isa::kFractalBytes);
  const bool along_k = k_count >= outer_count;
  const uint32_t instructions = along_k ? outer_count : k_count;
  for (uint32_t i = 0; i < instructions; ++i) {
    issue::FractalLoad fractals;
    fractals.repeat = along_k ? k_count : outer_count;
    fractals.src_stride = along_k ? strip : 1;
    fractals.dst_gap = (along_k ? k_step : outer_step) - 1;
    fractals.type = load.type;
    issue::IssueLoadData2D(Offset(l0, uint64_t{i} * (along_k ? outer_step : k_step) * isa::kFractalBytes),
                           Offset(from, uint64_t{i} * (along_k ? 1 : strip) * isa::kFractalBytes), fractals, site);
  }
}

}  // namespace

void LoadBlock(Core& core, const View& l0, const L0Load& load, Site site) {
  const bool left = l0.mem == Mem::kL0a;
  if (isa::SizeOf(load.type) == 2 && (left || load.rows_along_k)) return LoadByImage(core, l0, load, site);
  LoadFractals(l0, load, left, site);
}

}  // namespace npu_model::matmul
