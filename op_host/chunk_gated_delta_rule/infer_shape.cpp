// SPDX-License-Identifier: Apache-2.0
#include "infer_shape.h"

#include "../common/shapes.h"
#include "operands.h"

namespace chunk_gdr::host {

namespace {

void Set(const char* name, gert::Shape* output, const Dims& dims) {
  if (output == nullptr) {
    Refuse(name, "room for a shape", "none");
  }
  output->SetDimNum(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    output->SetDim(i, dims[i]);
  }
}

// The dims of an operand, whose rank may not be known yet.
Dims KnownDims(const char* name, const gert::Shape& shape, size_t rank) {
  const Dims dims = DimsOf(shape);
  return IsUnknownRank(shape) ? dims : RequireRank(name, dims, rank);
}

void Infer(gert::InferShapeContext& context) {
  const gert::Shape& query_shape = Required("query", context.GetInputShape(kQuery), 3);
  const gert::Shape& value_shape = Required("value", context.GetInputShape(kValue), 3);
  const gert::Shape* lengths_shape = context.GetOptionalInputShape(kLengths);
  const Dims query = KnownDims("query", query_shape, 3), value = KnownDims("value", value_shape, 3);
  const Dims lengths = lengths_shape == nullptr ? Dims{1} : KnownDims("actual_seq_lengths", *lengths_shape, 1);
  Set("out", context.GetOutputShape(kOut), value);
  const bool unknown = IsUnknownRank(query_shape) || IsUnknownRank(value_shape);
  const int64_t batch = lengths_shape != nullptr && IsUnknownRank(*lengths_shape) ? -1 : lengths[0];
  Set("final_state", context.GetOutputShape(kFinalState), unknown ? Dims{-2} : Dims{batch, value[1], value[2], query[2]});
}

}  // namespace

ge::graphStatus InferShapes(gert::InferShapeContext* context) {
  return Reported(kOpName, [context] { Infer(*context); });
}

ge::graphStatus InferDataTypes(gert::InferDataTypeContext* context) {
  const ge::DataType state = context->GetOptionalInputDataType(kInitialState);
  context->SetOutputDataType(kOut, context->GetInputDataType(kQuery));
  context->SetOutputDataType(kFinalState, state == ge::DT_UNDEFINED ? ge::DT_FLOAT : state);
  return ge::GRAPH_SUCCESS;
}

}  // namespace chunk_gdr::host
