// SPDX-License-Identifier: Apache-2.0
// Cube path: LoadData, Mmad, Fill.
#pragma once

#include "issue/cube.h"
#include "kernel_operator_data_copy_intf.h"
#include "kernel_struct_mm.h"

namespace AscendC {
namespace detail {

template <class T>
constexpr bool kLoadTypes = SupportType<T, uint8_t, int8_t, uint16_t, int16_t, half>();

template <class T>
npu_model::issue::FractalLoad ToLoad(const LoadData2DParams& p) {
  static_assert(kLoadTypes<T>, "LoadData supports only 8- and 16-bit types on Ascend 310P");
  return {p.startIndex, p.repeatTimes, p.srcStride, p.dstGap, p.ifTranspose, p.addrMode != 0, TypeOf<T>()};
}

void Load3d(const npu_model::issue::View& dst, const npu_model::issue::View& src, npu_model::isa::Img2Col shape,
            Site site);
void Load3dFractals(const npu_model::issue::View& dst, const npu_model::issue::View& src,
                    npu_model::isa::Img2ColFractals walk, uint32_t narrow_channels, Site site);
void WriteFmatrix(uint16_t height, uint16_t width, const uint8_t* pad, Site site);
void WritePadding(uint32_t bits, Site site);

}  // namespace detail

template <typename T>
void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData2DParams& loadDataParams,
              Site site = Site::Here()) {
  npu_model::issue::IssueLoadData2D(dst.view(), src.view(), detail::ToLoad<T>(loadDataParams), site);
}
template <typename T>
void LoadData(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const LoadData2DParams& loadDataParams,
              Site site = Site::Here()) {
  npu_model::issue::IssueLoadData2D(dst.view(), src.view(), detail::ToLoad<T>(loadDataParams), site);
}

// One fractal per repeat: 16 windows at one point of the filter.
template <typename T, const IsResetLoad3dConfig& defaultConfig = IS_RESER_LOAD3D_DEFAULT_CONFIG>
void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData3DParamsV1<T>& p,
              Site site = Site::Here()) {
  static_assert(SupportType<T, half, int8_t, uint8_t>(),
                "LoadData with LoadData3DParamsV1 supports only half, int8_t, uint8_t on Ascend 310P");
  if (defaultConfig.isSetFMatrix) detail::WriteFmatrix(p.l1H, p.l1W, p.padList, site);
  if (defaultConfig.isSetPadding) detail::WritePadding(detail::Bits(p.padValue), site);
  npu_model::isa::Img2ColFractals walk;
  walk.map.stride_w = p.strideW;
  walk.map.stride_h = p.strideH;
  walk.map.filter_w = p.filterW;
  walk.map.filter_h = p.filterH;
  walk.map.dilation_w = p.dilationFilterW;
  walk.map.dilation_h = p.dilationFilterH;
  walk.map.element_bytes = sizeof(T);
  walk.c1 = p.c1Index;
  walk.tap_w = p.fetchFilterW;
  walk.tap_h = p.fetchFilterH;
  walk.left = p.leftTopW;
  walk.top = p.leftTopH;
  walk.along_windows = p.repeatMode != 0;
  walk.repeats = p.repeatTime;
  walk.dst_stride = p.jumpStride;
  detail::Load3dFractals(dst.view(), src.view(), walk, p.cSize, site);
}

template <typename T, const IsResetLoad3dConfig& defaultConfig = IS_RESER_LOAD3D_DEFAULT_CONFIG>
void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData3DParamsV2<T>& p,
              Site site = Site::Here()) {
  static_assert(detail::kLoadTypes<T>, "LoadData supports only 8- and 16-bit types on Ascend 310P");
  if (defaultConfig.isSetFMatrix) detail::WriteFmatrix(p.l1H, p.l1W, p.padList, site);
  if (defaultConfig.isSetPadding) detail::WritePadding(detail::Bits(p.padValue), site);
  npu_model::isa::Img2Col shape;
  shape.channels = p.channelSize;
  shape.k_extent = p.kExtension;
  shape.m_extent = p.mExtension;
  shape.k_start = p.kStartPt;
  shape.m_start = p.mStartPt;
  shape.stride_w = p.strideW;
  shape.stride_h = p.strideH;
  shape.filter_w = static_cast<uint16_t>(p.filterW + (p.filterSizeW ? 256 : 0));
  shape.filter_h = static_cast<uint16_t>(p.filterH + (p.filterSizeH ? 256 : 0));
  shape.dilation_w = p.dilationFilterW;
  shape.dilation_h = p.dilationFilterH;
  shape.transpose = p.enTranspose;
  shape.element_bytes = sizeof(T);
  detail::Load3d(dst.view(), src.view(), shape, site);
}
template <typename T>
void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData3DParamsV2Pro& p,
              Site site = Site::Here()) {
  static_assert(detail::kLoadTypes<T>, "LoadData supports only 8- and 16-bit types on Ascend 310P");
  npu_model::isa::Img2Col shape;
  shape.channels = p.channelSize;
  shape.k_extent = static_cast<uint16_t>(p.extConfig);
  shape.m_extent = static_cast<uint16_t>(p.extConfig >> 16);
  shape.k_start = static_cast<uint16_t>(p.extConfig >> 32);
  shape.m_start = static_cast<uint16_t>(p.extConfig >> 48);
  shape.stride_w = static_cast<uint8_t>(p.filterConfig);
  shape.stride_h = static_cast<uint8_t>(p.filterConfig >> 8);
  shape.filter_w = static_cast<uint16_t>(static_cast<uint8_t>(p.filterConfig >> 16) + (p.filterSizeW ? 256 : 0));
  shape.filter_h = static_cast<uint16_t>(static_cast<uint8_t>(p.filterConfig >> 24) + (p.filterSizeH ? 256 : 0));
  shape.dilation_w = static_cast<uint8_t>(p.filterConfig >> 32);
  shape.dilation_h = static_cast<uint8_t>(p.filterConfig >> 40);
  shape.transpose = p.enTranspose;
  shape.element_bytes = sizeof(T);
  detail::Load3d(dst.view(), src.view(), shape, site);
}

// Feature map size and padding of the 3D loads that follow.
inline void SetFmatrix(uint16_t l1H, uint16_t l1W, const uint8_t padList[4], const FmatrixMode& fmatrixMode,
                       Site site = Site::Here()) {
  if (fmatrixMode != FmatrixMode::FMATRIX_LEFT) {
    npu_model::Core::Current().Fault(npu_model::Rule::kUnsupported, "SetFmatrix", site,
                                     "FMATRIX_RIGHT does not exist on this chip");
    return;
  }
  detail::WriteFmatrix(l1H, l1W, padList, site);
}
template <typename T>
void SetLoadDataPaddingValue(const T padValue, Site site = Site::Here()) {
  static_assert(sizeof(T) <= 2, "SetLoadDataPaddingValue supports only 8- and 16-bit types on Ascend 310P");
  detail::WritePadding(detail::Bits(padValue), site);
}
inline void SetLoadDataBoundary(uint32_t boundaryValue, Site site = Site::Here()) {
  npu_model::Core& core = npu_model::Core::Current();
  if (boundaryValue != 0) {
    core.Fault(npu_model::Rule::kUnsupported, "SetLoadDataBoundary", site,
               "the model has only the boundary 0 (no wrap of L1 reads)");
    return;
  }
  core.SprWrite(site);
}

template <typename T, typename U, typename S>
void Mmad(const LocalTensor<T>& dst, const LocalTensor<U>& fm, const LocalTensor<S>& filter,
          const MmadParams& mmadParams, Site site = Site::Here()) {
  static_assert((SupportType<T, half, float>() && std::is_same_v<U, half> && std::is_same_v<S, half>) ||
                    (std::is_same_v<T, int32_t> && std::is_same_v<U, int8_t> && std::is_same_v<S, int8_t>) ||
                    (std::is_same_v<T, int32_t> && std::is_same_v<U, uint8_t> && SupportType<S, int8_t, uint8_t>()),
                "Mmad supports only half x half -> float or half, int8 x int8, uint8 x int8, uint8 x uint8 -> int32 "
                "on Ascend 310P");
  if (mmadParams.cmatrixSource) {
    npu_model::Core::Current().Fault(npu_model::Rule::kUnsupported, "Mmad", site,
                                     "cmatrixSource must be 0: the chip has no bias table buffer");
    return;
  }
  npu_model::isa::MmadShape shape;
  shape.m = mmadParams.m;
  shape.n = mmadParams.n;
  shape.k = mmadParams.k;
  shape.init = mmadParams.cmatrixInitVal && !mmadParams.isBias;
  shape.a = detail::TypeOf<U>();
  shape.b = detail::TypeOf<S>();
  shape.c = detail::TypeOf<T>();
  npu_model::issue::IssueMmad(dst.view(), fm.view(), filter.view(), shape, site);
}
template <typename T, typename U, typename S, typename V>
void Mmad(const LocalTensor<T>&, const LocalTensor<U>&, const LocalTensor<S>&, const LocalTensor<V>&,
          const MmadParams&) {
  static_assert(detail::kNever<T>, "Mmad with a bias tensor does not exist on Ascend 310P");
}

template <typename T, typename U = T>
void Fill(const LocalTensor<T>& dst, const InitConstValueParams<U>& params, Site site = Site::Here()) {
  static_assert(SupportType<T, half, int16_t, uint16_t>() && std::is_same_v<T, U>,
                "Fill supports only half, int16_t, uint16_t on Ascend 310P");
  npu_model::issue::IssueFill("Fill", dst.view(), params.repeatTimes, detail::Bits(params.initValue), site);
}
template <typename T, typename U = T>
void InitConstValue(const LocalTensor<T>& dst, const InitConstValueParams<U>& params, Site site = Site::Here()) {
  static_assert(SupportType<T, half, int16_t, uint16_t>() && std::is_same_v<T, U>,
                "InitConstValue supports only half, int16_t, uint16_t on Ascend 310P");
  npu_model::issue::IssueFill("InitConstValue", dst.view(), params.repeatTimes, detail::Bits(params.initValue), site);
}

template <typename T, typename U>
void BroadCastVecToMM(const LocalTensor<T>& dst, const LocalTensor<U>& src, const int32_t blockCount,
                      const uint8_t blockLen, const uint8_t srcGap, const uint8_t dstGap, Site site = Site::Here()) {
  static_assert(std::is_same_v<T, U> && SupportType<T, half, float, int32_t>(),
                "BroadCastVecToMM supports only half, float, int32_t on Ascend 310P");
  npu_model::issue::IssueRowBroadcast(
      dst.view(), src.view(), {static_cast<uint32_t>(blockCount), blockLen, srcGap, dstGap, detail::TypeOf<T>()}, site);
}

template <typename T = void, typename... Args>
void LoadDataWithTranspose(Args&&...) {
  static_assert(detail::kNever<T, Args...>,
                "LoadDataWithTranspose does not exist on Ascend 310P: use LoadData with ifTranspose");
}
template <typename T = void, typename... Args>
void MmadWithSparse(Args&&...) {
  static_assert(detail::kNever<T, Args...>, "MmadWithSparse does not exist on Ascend 310P");
}
template <typename T = void, typename... Args>
void LoadDataWithSparse(Args&&...) {
  static_assert(detail::kNever<T, Args...>, "LoadDataWithSparse does not exist on Ascend 310P");
}
template <typename T = void, typename... Args>
void Fixpipe(Args&&...) {
  static_assert(detail::kNever<T, Args...>, "Fixpipe does not exist on Ascend 310P: copy L0C -> UB with DataCopy");
}

}  // namespace AscendC
