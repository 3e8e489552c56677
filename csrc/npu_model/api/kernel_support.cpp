// SPDX-License-Identifier: Apache-2.0
// Parts of the API that need no type parameter.
#include <cstdarg>
#include <cstdio>
#include <string>
#include <vector>

#include "kernel_operator.h"

namespace AscendC {
namespace detail {

void Barrier(pipe_t pipe, Site site) {
  npu_model::Core& core = npu_model::Core::Current();
  if (pipe == PIPE_ALL) {
    core.PipeBarrierAll(site);
  } else {
    core.PipeBarrier(QueueOf(pipe), site);
  }
}

void SetFlagOf(HardEvent event, int32_t id, Site site) {
  npu_model::Core& core = npu_model::Core::Current();
  if (event == HardEvent::V_V) {
    core.PipeBarrier(npu_model::Queue::kV, site);
    return;
  }
  const QueuePair pair = QueuesOf(event);
  core.SetFlag(pair.src, pair.dst, id, site);
}

void WaitFlagOf(HardEvent event, int32_t id, Site site) {
  if (event == HardEvent::V_V) return;
  const QueuePair pair = QueuesOf(event);
  npu_model::Core::Current().WaitFlag(pair.src, pair.dst, id, site);
}

void CopyL0c(const npu_model::issue::View& dst, const npu_model::issue::View& src, const DataCopyParams& params,
             const DataCopyEnhancedParams& enhanced, npu_model::isa::DType dst_type, npu_model::isa::DType src_type,
             Site site) {
  using npu_model::Mem;
  npu_model::Core& core = npu_model::Core::Current();
  if (dst.mem != Mem::kL0c && src.mem != Mem::kL0c) {
    if (dst_type != src_type) {
      core.Fault(npu_model::Rule::kUnsupported, "DataCopy", site,
                 "a converting copy needs L0C on one side on this chip");
      return;
    }
    npu_model::issue::IssueCopy(dst, src, ToShape(params), site);
    return;
  }
  if (enhanced.blockMode != BlockMode::BLOCK_MODE_MATRIX && enhanced.blockMode != BlockMode::BLOCK_MODE_VECTOR) {
    core.Fault(npu_model::Rule::kUnsupported, "DataCopy", site,
               "L0C <-> UB needs BLOCK_MODE_MATRIX or BLOCK_MODE_VECTOR on this chip");
    return;
  }
  const bool dequantised = src_type == npu_model::isa::DType::kInt32 && dst_type != src_type;
  if (dequantised && enhanced.deqScale != DeqScale::DEQ) {
    core.Fault(npu_model::Rule::kUnsupported, "DataCopy", site,
               "int32 out of L0C with a conversion is modelled for DeqScale::DEQ only");
    return;
  }
  npu_model::issue::FractalCopy copy;
  copy.first_rows = enhanced.blockMode == BlockMode::BLOCK_MODE_VECTOR;
  copy.count = params.blockCount;
  copy.length = params.blockLen;
  copy.src_gap = params.srcStride;
  copy.dst_gap = params.dstStride;
  copy.dst_type = dst_type;
  copy.src_type = src_type;
  copy.relu = enhanced.isRelu;
  if (dequantised) {
    // The scale goes through a register that the scalar unit writes behind an S_V flag.
    npu_model::Core::LibraryScope scope(core);
    copy.deq_scale = DeqScaleOf(enhanced);
    core.SprWrite(site);
    npu_model::issue::SetAndWait(core, npu_model::Queue::kS, npu_model::Queue::kV, site);
  }
  npu_model::issue::IssueFractalCopy(dst, src, copy, site);
}

namespace {

// Element offset of the first run, and of every further run relative to it (inner dimensions first).
std::vector<uint64_t> SliceOffsets(const SliceInfo* slices, const uint32_t* shape, uint32_t dims) {
  std::vector<uint64_t> offsets = {slices[0].startIndex};
  uint64_t size = 1;
  for (uint32_t d = 1; d < dims; ++d) {
    size *= shape[d - 1];
    const uint32_t step = 1 + slices[d].stride;
    const uint32_t count = (slices[d].endIndex - slices[d].startIndex + step) / step;
    std::vector<uint64_t> grown;
    for (uint32_t i = 0; i < count; ++i) {
      for (const uint64_t offset : offsets)
        grown.push_back(offset + (slices[d].startIndex + uint64_t{i} * step) * size);
    }
    offsets = std::move(grown);
  }
  return offsets;
}

}  // namespace

void CopySlices(const npu_model::issue::View& dst, const npu_model::issue::View& src, const ShapeInfo& dst_shape,
                const ShapeInfo& src_shape, const SliceInfo* dst_slices, const SliceInfo* src_slices, uint32_t dims,
                uint32_t elem_bytes, Site site) {
  npu_model::Core& core = npu_model::Core::Current();
  const SliceInfo& run = src_slices[0];
  const uint32_t run_elems = run.burstLen * (ONE_BLK_SIZE / elem_bytes) + run.stride;
  if (dims == 0 || dims > K_MAX_SHAPE_DIM || run_elems == 0) {
    core.Fault(npu_model::Rule::kParam, "DataCopy", site, "SliceInfo: dimValue must be 1..8 and burstLen not 0");
    return;
  }
  uint32_t dst_dims[K_MAX_SHAPE_DIM], src_dims[K_MAX_SHAPE_DIM];
  for (uint32_t d = 0; d < dims; ++d) {
    const bool given = src_slices[0].shapeValue != 0;
    dst_dims[d] = given ? dst_slices[d].shapeValue : dst_shape.shape[d];
    src_dims[d] = given ? src_slices[d].shapeValue : src_shape.shape[d];
  }
  const std::vector<uint64_t> from = SliceOffsets(src_slices, src_dims, dims);
  const std::vector<uint64_t> to = SliceOffsets(dst_slices, dst_dims, dims);
  const uint32_t runs = (run.endIndex - run.startIndex + 1 + run.stride) / run_elems;
  const bool whole_blocks = (run.stride * elem_bytes) % ONE_BLK_SIZE == 0;
  for (size_t i = 0; i < from.size() && i < to.size(); ++i) {
    npu_model::issue::View d = dst, s = src;
    d.address += to[i] * elem_bytes;
    s.address += from[i] * elem_bytes;
    const uint32_t dst_gap = dst_slices[0].stride * elem_bytes / ONE_BLK_SIZE;
    if (whole_blocks) {
      npu_model::issue::IssueCopy(d, s, {runs, run.burstLen, run.stride * elem_bytes / ONE_BLK_SIZE, dst_gap}, site);
      continue;
    }
    // Gaps that are no multiple of 32 bytes: one copy per run.
    for (uint32_t r = 0; r < runs; ++r) {
      npu_model::issue::IssueCopy(d, s, {1, run.burstLen, 0, 0}, site);
      d.address += uint64_t{run.burstLen + dst_gap} * ONE_BLK_SIZE;
      s.address += uint64_t{run_elems} * elem_bytes;
    }
  }
}

void WriteFmatrix(uint16_t height, uint16_t width, const uint8_t* pad, Site site) {
  npu_model::Core& core = npu_model::Core::Current();
  uint64_t bits = width | uint64_t{height} << 16;
  for (int i = 0; i < PAD_SIZE; ++i) bits |= uint64_t{pad[i]} << (32 + 8 * i);
  core.spr().fmatrix = bits;
  core.SprWrite(site);
}

void WritePadding(uint32_t bits, Site site) {
  npu_model::Core& core = npu_model::Core::Current();
  core.spr().padding = bits;
  core.SprWrite(site);
}

namespace {

// The feature map as SetFmatrix and SetLoadDataPaddingValue describe it.
void ReadFmatrix(npu_model::isa::Img2Col& shape) {
  const npu_model::SpecialRegisters& spr = npu_model::Core::Current().spr();
  shape.width = static_cast<uint16_t>(spr.fmatrix);
  shape.height = static_cast<uint16_t>(spr.fmatrix >> 16);
  shape.pad_left = static_cast<uint8_t>(spr.fmatrix >> 32);
  shape.pad_right = static_cast<uint8_t>(spr.fmatrix >> 40);
  shape.pad_top = static_cast<uint8_t>(spr.fmatrix >> 48);
  shape.pad_bottom = static_cast<uint8_t>(spr.fmatrix >> 56);
  shape.pad_bits = static_cast<uint32_t>(spr.padding);
}

}  // namespace

void Load3d(const npu_model::issue::View& dst, const npu_model::issue::View& src, npu_model::isa::Img2Col shape,
            Site site) {
  ReadFmatrix(shape);
  npu_model::issue::IssueLoadData3D(dst, src, shape, site);
}

void Load3dFractals(const npu_model::issue::View& dst, const npu_model::issue::View& src,
                    npu_model::isa::Img2ColFractals walk, uint32_t narrow_channels, Site site) {
  if (narrow_channels != 0) {
    npu_model::Core::Current().Fault(
        npu_model::Rule::kUnsupported, "LoadData", site,
        "LoadData3DParamsV1 with cSize 1 is not modelled: how narrow channels lie in L1 is "
        "not documented");
    return;
  }
  ReadFmatrix(walk.map);
  npu_model::issue::IssueLoadFractals3D(dst, src, walk, site);
}

bool CheckOrder(ReduceOrder order, const char* name, Site site) {
  if (order == ReduceOrder::ORDER_VALUE_INDEX || order == ReduceOrder::ORDER_INDEX_VALUE) return true;
  npu_model::Core::Current().Fault(npu_model::Rule::kUnsupported, name, site,
                                   "only ORDER_VALUE_INDEX and ORDER_INDEX_VALUE exist on this chip");
  return false;
}

bool CheckSelectMode(SELMODE mode, bool scalar, Site site) {
  if ((mode == SELMODE::VSEL_TENSOR_SCALAR_MODE) == scalar) return true;
  npu_model::Core::Current().Fault(npu_model::Rule::kParam, "Select", site,
                                   scalar ? "a scalar needs VSEL_TENSOR_SCALAR_MODE"
                                          : "two tensors need VSEL_CMPMASK_SPR or VSEL_TENSOR_TENSOR_MODE");
  return false;
}

npu_model::issue::TransposeImages ToImages(const TransposeParamsExt& p, uint32_t elem_bytes) {
  using Form = npu_model::issue::TransposeImages::Form;
  const uint32_t plane = uint32_t{p.hSize} * p.wSize;
  switch (p.transposeType) {
    case TransposeType::TRANSPOSE_TYPE_NONE: return {Form::kNothing, 0, 0, 0, 0, elem_bytes};
    case TransposeType::TRANSPOSE_ND2ND_B16: return {Form::kBlock, 1, 16, 16, 16, elem_bytes};
    case TransposeType::TRANSPOSE_NCHW2NHWC: return {Form::kImages, p.nSize, p.cSize, plane, p.cSize, elem_bytes};
    case TransposeType::TRANSPOSE_NHWC2NCHW: return {Form::kImages, p.nSize, plane, p.cSize, p.cSize, elem_bytes};
    default: return {Form::kOther, 0, 0, 0, 0, elem_bytes};
  }
}

void ReadAddressList(const npu_model::issue::View& list, npu_model::issue::View (&views)[NCHW_CONV_ADDR_LIST_SIZE],
                     Site site) {
  npu_model::Core& core = npu_model::Core::Current();
  const npu_model::Operand operand =
      npu_model::MakeOperand(list.mem, npu_model::Access::kRead, list.address,
                             NCHW_CONV_ADDR_LIST_SIZE * sizeof(uint64_t), ONE_BLK_SIZE, list.origin);
  const uint8_t* from = core.ScalarLoad(operand, "TransDataTo5HD", site);
  for (int i = 0; i < NCHW_CONV_ADDR_LIST_SIZE; ++i) {
    views[i] = {};
    if (from != nullptr) std::memcpy(&views[i].address, from + i * sizeof(uint64_t), sizeof(uint64_t));
  }
}

}  // namespace detail

void detail::Print(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  va_list again;
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, format, again);
  va_end(again);
  if (length >= 0) {
    std::vector<char> text(static_cast<size_t>(length) + 1);
    std::vsnprintf(text.data(), text.size(), format, arguments);
    npu_model::Core::Current().Print(std::string(text.data()));
  }
  va_end(arguments);
}

}  // namespace AscendC
