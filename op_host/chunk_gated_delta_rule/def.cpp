// SPDX-License-Identifier: Apache-2.0
// The operator as CANN knows it. csrc/ops/chunk_gated_delta_rule/prepare.cpp makes its shapes of those that torch has.
#include "infer_shape.h"
#include "register/op_def_registry.h"
#include "tiling_context.h"

namespace ops {

class ChunkGatedDeltaRule : public OpDef {
 public:
  explicit ChunkGatedDeltaRule(const char* name) : OpDef(name) {
    // One column per binary: states in fp32, and in fp16.
    const auto tensor = [](OpParamDef& param, Option presence, ge::DataType first, ge::DataType second) {
      param.ParamType(presence).DataType({first, second}).Format({ge::FORMAT_ND, ge::FORMAT_ND}).AutoContiguous();
    };
    tensor(this->Input("query"), REQUIRED, ge::DT_FLOAT16, ge::DT_FLOAT16);
    tensor(this->Input("key"), REQUIRED, ge::DT_FLOAT16, ge::DT_FLOAT16);
    tensor(this->Input("value"), REQUIRED, ge::DT_FLOAT16, ge::DT_FLOAT16);
    tensor(this->Input("beta"), OPTIONAL, ge::DT_FLOAT, ge::DT_FLOAT);
    tensor(this->Input("initial_state"), OPTIONAL, ge::DT_FLOAT, ge::DT_FLOAT16);
    tensor(this->Input("actual_seq_lengths"), OPTIONAL, ge::DT_INT64, ge::DT_INT64);
    tensor(this->Input("g"), OPTIONAL, ge::DT_FLOAT, ge::DT_FLOAT);
    tensor(this->Input("chunk_state"), OPTIONAL, ge::DT_FLOAT, ge::DT_FLOAT16);
    tensor(this->Output("out"), REQUIRED, ge::DT_FLOAT16, ge::DT_FLOAT16);
    tensor(this->Output("final_state"), REQUIRED, ge::DT_FLOAT, ge::DT_FLOAT16);
    this->Attr("scale").AttrType(OPTIONAL).Float(1.0f);
    this->Attr("use_qk_l2norm_in_kernel").AttrType(OPTIONAL).Bool(false);

    this->SetInferShape(chunk_gdr::host::InferShapes).SetInferDataType(chunk_gdr::host::InferDataTypes);
    this->AICore().SetTiling(chunk_gdr::host::FillTilingContext).AddConfig("ascend310p");
  }
};

OP_ADD(ChunkGatedDeltaRule);

}  // namespace ops
