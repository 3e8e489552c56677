// SPDX-License-Identifier: Apache-2.0
// What op_host uses of CANN's registry and contexts, declared after its documentation and filled by the tests. Pages,
// in asc-devkit's docs/zh/api/Utils-API and the "Basic data structures and API" reference: OpDef, OpParamDef,
// OpAttrDef, OpAICoreDef, TilingContext, InferShapeContext, InferDataTypeContext, Shape, StorageShape,
// CompileTimeTensorDesc, RuntimeAttrs, TilingData.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace fe {
struct PlatFormInfos {
  uint32_t cores = 8;
  size_t system_workspace = 0;
};
}  // namespace fe

namespace ge {
using graphStatus = uint32_t;
constexpr graphStatus GRAPH_SUCCESS = 0, GRAPH_FAILED = 0xFFFFFFFF;
enum DataType { DT_FLOAT = 0, DT_FLOAT16 = 1, DT_INT32 = 3, DT_INT64 = 9, DT_UNDEFINED = 28 };
enum Format { FORMAT_ND = 2 };
}  // namespace ge

namespace gert {

class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}
  size_t GetDimNum() const { return dims_.size(); }
  void SetDimNum(size_t count) { dims_.resize(count); }
  int64_t GetDim(size_t i) const { return dims_.at(i); }
  void SetDim(size_t i, int64_t dim) { dims_.at(i) = dim; }
  void AppendDim(int64_t dim) { dims_.push_back(dim); }

 private:
  std::vector<int64_t> dims_;
};

struct StorageShape {
  Shape shape;
  const Shape& GetStorageShape() const { return shape; }
  const Shape& GetOriginShape() const { return shape; }
};

struct CompileTimeTensorDesc {
  ge::DataType type = ge::DT_UNDEFINED;
  ge::DataType GetDataType() const { return type; }
};

struct RuntimeAttrs {
  std::map<size_t, std::variant<float, bool>> values;
  template <typename T>
  const T* GetAttrPointer(size_t i) const {
    return values.count(i) == 0 ? nullptr : &std::get<T>(values.at(i));
  }
};

struct TilingData {
  std::vector<uint8_t> bytes;
  size_t size = 0;
  void* GetData() { return bytes.data(); }
  size_t GetCapacity() const { return bytes.size(); }
  void SetDataSize(size_t count) { size = count; }
};

template <typename T>
const T* Find(const std::map<size_t, T>& values, size_t i) {
  const auto found = values.find(i);
  return found == values.end() ? nullptr : &found->second;
}

struct TilingContext {
  std::map<size_t, StorageShape> shapes;
  std::map<size_t, CompileTimeTensorDesc> descs;
  RuntimeAttrs attrs;
  TilingData data;
  fe::PlatFormInfos platform;
  std::vector<size_t> workspaces;
  uint64_t key = 0;
  uint32_t blocks = 0;

  const StorageShape* GetInputShape(size_t i) const { return Find(shapes, i); }
  const StorageShape* GetOptionalInputShape(size_t i) const { return Find(shapes, i); }
  const CompileTimeTensorDesc* GetOptionalInputDesc(size_t i) const { return Find(descs, i); }
  const RuntimeAttrs* GetAttrs() const { return &attrs; }
  fe::PlatFormInfos* GetPlatformInfo() const { return const_cast<fe::PlatFormInfos*>(&platform); }
  TilingData* GetRawTilingData() { return &data; }
  size_t* GetWorkspaceSizes(size_t count) {
    workspaces.resize(count);
    return workspaces.data();
  }
  ge::graphStatus SetTilingKey(uint64_t value) {
    key = value;
    return ge::GRAPH_SUCCESS;
  }
  ge::graphStatus SetBlockDim(uint32_t value) {
    blocks = value;
    return ge::GRAPH_SUCCESS;
  }
};

struct InferShapeContext {
  std::map<size_t, Shape> inputs, outputs;
  const Shape* GetInputShape(size_t i) const { return Find(inputs, i); }
  const Shape* GetOptionalInputShape(size_t i) const { return Find(inputs, i); }
  Shape* GetOutputShape(size_t i) { return &outputs[i]; }
};

struct InferDataTypeContext {
  std::map<size_t, ge::DataType> inputs, outputs;
  ge::DataType GetInputDataType(size_t i) const { return inputs.count(i) == 0 ? ge::DT_UNDEFINED : inputs.at(i); }
  ge::DataType GetOptionalInputDataType(size_t i) const { return GetInputDataType(i); }
  ge::graphStatus SetOutputDataType(size_t i, ge::DataType type) {
    outputs[i] = type;
    return ge::GRAPH_SUCCESS;
  }
};

}  // namespace gert

namespace ops {

enum Option { IGNORE = 0, OPTIONAL = 1, REQUIRED = 2, DYNAMIC = 3 };

struct OpParamDef {
  std::string name;
  Option option = IGNORE;
  std::vector<ge::DataType> types;
  std::vector<ge::Format> formats;
  bool contiguous = false;
  OpParamDef& ParamType(Option value) { return option = value, *this; }
  OpParamDef& DataType(std::vector<ge::DataType> value) { return types = std::move(value), *this; }
  OpParamDef& Format(std::vector<ge::Format> value) { return formats = std::move(value), *this; }
  OpParamDef& AutoContiguous() { return contiguous = true, *this; }
};

struct OpAttrDef {
  std::string name;
  Option option = IGNORE;
  std::variant<float, bool> value;
  OpAttrDef& AttrType(Option wished) { return option = wished, *this; }
  OpAttrDef& Float(float wished) { return value = wished, *this; }
  OpAttrDef& Bool(bool wished) { return value = wished, *this; }
};

struct OpAICoreDef {
  std::vector<std::string> chips;
  ge::graphStatus (*tiling)(gert::TilingContext*) = nullptr;
  OpAICoreDef& SetTiling(ge::graphStatus (*function)(gert::TilingContext*)) { return tiling = function, *this; }
  void AddConfig(const char* chip) { chips.emplace_back(chip); }
};

class OpDef {
 public:
  explicit OpDef(const char* name) : name(name) {}
  OpParamDef& Input(const char* param) { return Added(inputs, param); }
  OpParamDef& Output(const char* param) { return Added(outputs, param); }
  OpAttrDef& Attr(const char* attr) { return Added(attrs, attr); }
  OpDef& SetInferShape(ge::graphStatus (*function)(gert::InferShapeContext*)) { return infer_shape = function, *this; }
  OpDef& SetInferDataType(ge::graphStatus (*function)(gert::InferDataTypeContext*)) {
    return infer_type = function, *this;
  }
  OpAICoreDef& AICore() { return core; }

  std::string name;
  std::vector<OpParamDef> inputs, outputs;
  std::vector<OpAttrDef> attrs;
  OpAICoreDef core;
  ge::graphStatus (*infer_shape)(gert::InferShapeContext*) = nullptr;
  ge::graphStatus (*infer_type)(gert::InferDataTypeContext*) = nullptr;

 private:
  template <typename T>
  static T& Added(std::vector<T>& list, const char* name) {
    list.emplace_back();
    list.back().name = name;
    return list.back();
  }
};

// Every operator that OP_ADD registers.
inline std::vector<OpDef>& Registered() {
  static std::vector<OpDef> all;
  return all;
}

}  // namespace ops

#define OP_ADD(Type) static const bool Type##_registered = (ops::Registered().push_back(Type(#Type)), true)
