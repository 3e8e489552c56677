// SPDX-License-Identifier: Apache-2.0
// Plays CANN to the registered operator, for Python: text in, text out.
//   define
//   infer {input}=dims[:dtype] ...                       shapes and dtypes of the outputs
//   tile cores system_workspace capacity [scale l2norm] {input}=dims[:dtype] ...
// dims: comma-separated, "-" for a scalar; dtype: its number.
#include <cstdio>
#include <cstring>
#include <sstream>

#include "op_host/chunk_gated_delta_rule/tiling.h"
#include "register/op_def_registry.h"

namespace {

struct Operand {
  size_t input;
  gert::Shape shape;
  ge::DataType type = ge::DT_UNDEFINED;
};

Operand Parse(const std::string& word) {
  Operand operand;
  std::istringstream text(word);
  char separator = 0;
  text >> operand.input >> separator;
  for (int64_t dim; text >> dim;) {
    operand.shape.AppendDim(dim);
    if (!(text >> separator) || separator == ':') break;
  }
  if (separator == ':') {
    int type = 0;
    text >> type;
    operand.type = static_cast<ge::DataType>(type);
  }
  return operand;
}

std::string Text(const gert::Shape& shape) {
  std::string text;
  for (size_t i = 0; i < shape.GetDimNum(); ++i) text += (i == 0 ? "" : ",") + std::to_string(shape.GetDim(i));
  return text;
}

std::string Describe(const ops::OpParamDef& param) {
  std::ostringstream text;
  text << param.name << " option=" << param.option << " types=";
  for (size_t i = 0; i < param.types.size(); ++i) text << (i == 0 ? "" : ",") << param.types[i];
  text << " formats=" << param.formats.size() << " contiguous=" << param.contiguous << "\n";
  return text.str();
}

std::string Define(const ops::OpDef& op) {
  std::string text = "op " + op.name + "\n";
  for (const auto& param : op.inputs) text += "input " + Describe(param);
  for (const auto& param : op.outputs) text += "output " + Describe(param);
  for (const auto& attr : op.attrs) text += "attr " + attr.name + "\n";
  for (const auto& chip : op.core.chips) text += "chip " + chip + "\n";
  return text;
}

std::string Infer(const ops::OpDef& op, std::istringstream& words) {
  gert::InferShapeContext shapes;
  gert::InferDataTypeContext types;
  for (std::string word; words >> word;) {
    const Operand operand = Parse(word);
    shapes.inputs[operand.input] = operand.shape;
    types.inputs[operand.input] = operand.type;
  }
  if (op.infer_shape(&shapes) != ge::GRAPH_SUCCESS || op.infer_type(&types) != ge::GRAPH_SUCCESS) return "failed";
  std::string text;
  for (const auto& [i, shape] : shapes.outputs) {
    text += std::to_string(i) + "=" + Text(shape) + ":" + std::to_string(types.outputs[i]) + "\n";
  }
  return text;
}

std::string Tile(const ops::OpDef& op, std::istringstream& words) {
  gert::TilingContext context;
  size_t capacity = 0;
  float scale = 0;
  bool l2norm = false;
  words >> context.platform.cores >> context.platform.system_workspace >> capacity >> scale >> l2norm;
  context.data.bytes.resize(capacity);
  context.attrs.values = {{0, scale}, {1, l2norm}};
  for (std::string word; words >> word;) {
    const Operand operand = Parse(word);
    context.shapes[operand.input] = {operand.shape};
    context.descs[operand.input] = {operand.type};
  }
  if (op.core.tiling(&context) != ge::GRAPH_SUCCESS) return "failed";
  std::ostringstream text;
  text << context.key << " " << context.blocks << " " << context.workspaces.at(0) << " ";
  for (size_t i = 0; i < context.data.size; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", context.data.bytes[i]);
    text << digits;
  }
  return text.str();
}

}  // namespace

extern "C" const char* play(const char* request) {
  static std::string answer;
  const ops::OpDef& op = ops::Registered().at(0);
  std::istringstream words(request);
  std::string what;
  words >> what;
  answer = what == "define" ? Define(op) : what == "infer" ? Infer(op, words) : Tile(op, words);
  return answer.c_str();
}
