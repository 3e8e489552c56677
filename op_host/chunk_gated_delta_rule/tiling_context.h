// SPDX-License-Identifier: Apache-2.0
#ifndef CHUNK_GDR_OP_HOST_CHUNK_GATED_DELTA_RULE_TILING_CONTEXT_H_
#define CHUNK_GDR_OP_HOST_CHUNK_GATED_DELTA_RULE_TILING_CONTEXT_H_

#include "register/op_def_registry.h"

namespace chunk_gdr::host {

// The launch plan, from CANN's tiling context into it: tiling bytes, key, blocks, workspace. Failure prints one line.
ge::graphStatus FillTilingContext(gert::TilingContext* context);

}  // namespace chunk_gdr::host

#endif  // CHUNK_GDR_OP_HOST_CHUNK_GATED_DELTA_RULE_TILING_CONTEXT_H_
