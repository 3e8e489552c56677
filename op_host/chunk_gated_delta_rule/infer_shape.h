// SPDX-License-Identifier: Apache-2.0
#ifndef CHUNK_GDR_OP_HOST_CHUNK_GATED_DELTA_RULE_INFER_SHAPE_H_
#define CHUNK_GDR_OP_HOST_CHUNK_GATED_DELTA_RULE_INFER_SHAPE_H_

#include "register/op_def_registry.h"

namespace chunk_gdr::host {

// Shapes and dtypes of the results. Unknown extents (-1) and ranks (-2) stay unknown. Failure prints one line.
ge::graphStatus InferShapes(gert::InferShapeContext* context);
ge::graphStatus InferDataTypes(gert::InferDataTypeContext* context);

}  // namespace chunk_gdr::host

#endif  // CHUNK_GDR_OP_HOST_CHUNK_GATED_DELTA_RULE_INFER_SHAPE_H_
