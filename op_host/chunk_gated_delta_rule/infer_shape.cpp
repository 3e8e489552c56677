// SPDX-License-Identifier: Apache-2.0
#include "infer_shape.h"

#include "../common/shapes.h"
#include "operands.h"

namespace chunk_gdr::host {

ge::graphStatus InferShapes(gert::InferShapeContext* context) {
  const gert::Shape* query = context->GetInputShape(kQuery);
  const gert::Shape* value = context->GetInputShape(kValue);
  gert::Shape* out = context->GetOutputShape(kOut);
  gert::Shape* final_state = context->GetOutputShape(kFinalState);
  if (query == nullptr || value == nullptr || out == nullptr || final_state == nullptr) {
    return ge::GRAPH_FAILED;
  }
  *out = *value;
  if (IsUnknownRank(*query) || IsUnknownRank(*value)) {
    final_state->SetDimNum(1);
    final_state->SetDim(0, -2);
    return ge::GRAPH_SUCCESS;
  }
  if (query->GetDimNum() != 3 || value->GetDimNum() != 3) {
    return ge::GRAPH_FAILED;
  }
  const gert::Shape* lengths = context->GetOptionalInputShape(kLengths);
  final_state->SetDimNum(4);
  final_state->SetDim(0, lengths == nullptr ? 1 : IsUnknownRank(*lengths) ? -1 : lengths->GetDim(0));
  final_state->SetDim(1, value->GetDim(1));
  final_state->SetDim(2, value->GetDim(2));
  final_state->SetDim(3, query->GetDim(2));
  return ge::GRAPH_SUCCESS;
}

ge::graphStatus InferDataTypes(gert::InferDataTypeContext* context) {
  const ge::DataType state = context->GetOptionalInputDataType(kInitialState);
  context->SetOutputDataType(kOut, context->GetInputDataType(kQuery));
  context->SetOutputDataType(kFinalState, state == ge::DT_UNDEFINED ? ge::DT_FLOAT : state);
  return ge::GRAPH_SUCCESS;
}

}  // namespace chunk_gdr::host
