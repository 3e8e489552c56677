// SPDX-License-Identifier: Apache-2.0
// The ways of a tile of an operand from GM or UB to L1, where it is NZ: strips of 32-byte rows.
#pragma once

#include "matmul/spec.h"

namespace npu_model::matmul {

struct TileCopy {
  View l1;
  View source;  // the matrix's first element
  Side side;
  uint32_t pitch = 0;              // ND: columns of a row. NZ: rows of a strip
  uint32_t row = 0, column = 0;    // where the tile starts
  uint32_t rows = 0, columns = 0;  // of the tile
};

// Rows of a strip in L1.
inline uint32_t StripRows(const TileCopy& copy) { return AlignUp(copy.rows, kSide); }

// Strip by strip, a 32-byte burst per row; columns that do not fill a strip go through UB, which pads them with zeros.
// Padding rows are zero.
void CopyNdTile(Core& core, const TileCopy& copy, const Workspace& workspace, Site site);
// Rows into UB, strips by vector instructions, L1.
void CopyNdTileByVector(Core& core, const TileCopy& copy, const Workspace& workspace, Site site);
// Strips as they are.
void CopyNzTile(const TileCopy& copy, Site site);
// Bytes [rows, columns] as [columns, rows], both rounded up to 32.
void CopyTurnedTile(Core& core, const TileCopy& copy, const Workspace& workspace, Site site);

}  // namespace npu_model::matmul
