// SPDX-License-Identifier: Apache-2.0
// Parameter structs of the Cube path.
#pragma once

#include "kernel_enums.h"

namespace AscendC {

struct LoadData2DParams {
  LoadData2DParams() {}
  LoadData2DParams(const uint16_t start, const uint8_t repeat, const uint16_t src_stride, const uint8_t sid_in,
                   const uint16_t dst_gap, const bool transpose, const uint8_t addr_mode)
      : startIndex(start),
        dstGap(dst_gap),
        srcStride(src_stride),
        ifTranspose(transpose),
        repeatTimes(repeat),
        sid(sid_in),
        addrMode(addr_mode) {}

  uint16_t startIndex = 0;
  uint16_t dstGap = 0;
  uint16_t srcStride = 0;
  bool ifTranspose = 0;
  uint8_t repeatTimes = 0;
  uint8_t sid = 0;
  uint8_t addrMode = 0;
};
using LoadData2dParams = LoadData2DParams;

template <typename T>
struct LoadData3DParamsV1 {
  LoadData3DParamsV1() {}
  LoadData3DParamsV1(const uint8_t pad[PAD_SIZE], const uint16_t l1_h, const uint16_t l1_w, const uint16_t c1_index,
                     const uint8_t fetch_filter_w, const uint8_t fetch_filter_h, const int16_t left_top_w,
                     const int16_t left_top_h, const uint8_t stride_w, const uint8_t stride_h, const uint8_t filter_w,
                     const uint8_t filter_h, const uint8_t dilation_w, const uint8_t dilation_h,
                     const uint8_t jump_stride, const uint8_t repeat_mode, const uint8_t repeat_time,
                     const uint8_t c_size, const T pad_value)
      : strideW(stride_w),
        strideH(stride_h),
        filterW(filter_w),
        filterH(filter_h),
        dilationFilterW(dilation_w),
        dilationFilterH(dilation_h),
        jumpStride(jump_stride),
        repeatMode(repeat_mode),
        repeatTime(repeat_time),
        cSize(c_size),
        padValue(pad_value),
        fetchFilterW(fetch_filter_w),
        fetchFilterH(fetch_filter_h),
        l1H(l1_h),
        l1W(l1_w),
        c1Index(c1_index),
        leftTopW(left_top_w),
        leftTopH(left_top_h) {
    for (int i = 0; i < PAD_SIZE; ++i) padList[i] = pad[i];
  }

  uint8_t padList[PAD_SIZE] = {0};
  uint8_t strideW = 0;
  uint8_t strideH = 0;
  uint8_t filterW = 0;
  uint8_t filterH = 0;
  uint8_t dilationFilterW = 0;
  uint8_t dilationFilterH = 0;
  uint8_t jumpStride = 0;
  uint8_t repeatMode = 0;
  uint8_t repeatTime = 0;
  uint8_t cSize = 0;
  T padValue = 0;
  uint8_t fetchFilterW = 0;
  uint8_t fetchFilterH = 0;
  uint16_t l1H = 0;
  uint16_t l1W = 0;
  uint16_t c1Index = 0;
  int16_t leftTopW = 0;
  int16_t leftTopH = 0;
};

template <typename T>
struct LoadData3DParamsV2 {
  LoadData3DParamsV2() {}
  LoadData3DParamsV2(const uint8_t pad[PAD_SIZE], const uint16_t l1_h, const uint16_t l1_w, const uint16_t channels,
                     const uint16_t k_extension, const uint16_t m_extension, const uint16_t k_start,
                     const uint16_t m_start, const uint8_t stride_w, const uint8_t stride_h, const uint8_t filter_w,
                     const uint8_t filter_h, const uint8_t dilation_w, const uint8_t dilation_h, const bool transpose,
                     const bool small_k, const T pad_value)
      : l1H(l1_h),
        l1W(l1_w),
        channelSize(channels),
        kExtension(k_extension),
        mExtension(m_extension),
        kStartPt(k_start),
        mStartPt(m_start),
        strideW(stride_w),
        strideH(stride_h),
        filterW(filter_w),
        filterH(filter_h),
        dilationFilterW(dilation_w),
        dilationFilterH(dilation_h),
        enTranspose(transpose),
        enSmallK(small_k),
        padValue(pad_value) {
    for (int i = 0; i < PAD_SIZE; ++i) padList[i] = pad[i];
  }
  LoadData3DParamsV2(const uint8_t pad[PAD_SIZE], const uint16_t l1_h, const uint16_t l1_w, const uint16_t channels,
                     const uint16_t k_extension, const uint16_t m_extension, const uint16_t k_start,
                     const uint16_t m_start, const uint8_t stride_w, const uint8_t stride_h, const uint8_t filter_w,
                     const uint8_t filter_h, const uint8_t dilation_w, const uint8_t dilation_h, const bool transpose,
                     const bool small_k, const T pad_value, const bool filter_size_w, const bool filter_size_h,
                     const bool f_matrix_ctrl)
      : LoadData3DParamsV2(pad, l1_h, l1_w, channels, k_extension, m_extension, k_start, m_start, stride_w, stride_h,
                           filter_w, filter_h, dilation_w, dilation_h, transpose, small_k, pad_value) {
    filterSizeW = filter_size_w;
    filterSizeH = filter_size_h;
    fMatrixCtrl = f_matrix_ctrl;
  }

  uint8_t padList[PAD_SIZE] = {0};
  uint16_t l1H = 0;
  uint16_t l1W = 0;
  uint16_t channelSize = 0;
  uint16_t kExtension = 0;
  uint16_t mExtension = 0;
  uint16_t kStartPt = 0;
  uint16_t mStartPt = 0;
  uint8_t strideW = 1;
  uint8_t strideH = 1;
  uint8_t filterW = 1;
  uint8_t filterH = 1;
  uint8_t dilationFilterW = 1;
  uint8_t dilationFilterH = 1;
  bool enTranspose = false;
  bool enSmallK = false;
  T padValue = 0;
  bool filterSizeW = false;
  bool filterSizeH = false;
  bool fMatrixCtrl = false;
};

struct LoadData3DParamsV2Pro {
  LoadData3DParamsV2Pro() {}
  LoadData3DParamsV2Pro(const uint16_t channels, const bool transpose, const bool small_k, const bool filter_size_w,
                        const bool filter_size_h, const bool f_matrix_ctrl, const uint64_t ext_config,
                        const uint64_t filter_config)
      : channelSize(channels),
        enTranspose(transpose),
        enSmallK(small_k),
        filterSizeW(filter_size_w),
        filterSizeH(filter_size_h),
        fMatrixCtrl(f_matrix_ctrl),
        extConfig(ext_config),
        filterConfig(filter_config) {}

  uint16_t channelSize = 0;
  bool enTranspose = false;
  bool enSmallK = false;
  bool filterSizeW = false;
  bool filterSizeH = false;
  bool fMatrixCtrl = false;
  uint64_t extConfig = 0;
  uint64_t filterConfig = 0X10101010101;
};

struct IsResetLoad3dConfig {
  constexpr IsResetLoad3dConfig(const bool set_f_matrix, const bool set_padding)
      : isSetFMatrix(set_f_matrix), isSetPadding(set_padding) {}

  bool isSetFMatrix = true;
  bool isSetPadding = true;
};
constexpr IsResetLoad3dConfig IS_RESER_LOAD3D_DEFAULT_CONFIG = {true, true};

struct MmadParams {
  MmadParams() {}
  MmadParams(const uint16_t m_in, const uint16_t n_in, const uint16_t k_in, const bool is_bias, const int32_t fm_offset,
             const bool en_ssparse, const bool en_winograd_a, const bool en_winograd_b)
      : m(m_in),
        n(n_in),
        k(k_in),
        isBias(is_bias),
        fmOffset(fm_offset),
        enSsparse(en_ssparse),
        enWinogradA(en_winograd_a),
        enWinogradB(en_winograd_b) {}
  MmadParams(const uint16_t m_in, const uint16_t n_in, const uint16_t k_in, const uint8_t unit_flag,
             const bool cmatrix_source, const bool cmatrix_init)
      : m(m_in), n(n_in), k(k_in), unitFlag(unit_flag), cmatrixSource(cmatrix_source), cmatrixInitVal(cmatrix_init) {}

  uint16_t m = 0;
  uint16_t n = 0;
  uint16_t k = 0;
  bool isBias = false;
  int32_t fmOffset = 0;
  bool enSsparse = false;
  bool enWinogradA = false;
  bool enWinogradB = false;
  uint8_t unitFlag = 0;
  bool kDirectionAlign = false;
  bool cmatrixSource = false;
  bool cmatrixInitVal = true;
};

template <typename T>
struct InitConstValueParams {
  InitConstValueParams() {}
  InitConstValueParams(const uint16_t repeat, const uint16_t block_num, const uint16_t dst_gap, const T value)
      : repeatTimes(repeat), blockNum(block_num), dstGap(dst_gap), initValue(value) {}
  InitConstValueParams(const uint16_t repeat, const T value) : repeatTimes(repeat), initValue(value) {}

  uint16_t repeatTimes = 0;
  uint16_t blockNum = 0;
  uint16_t dstGap = 0;
  T initValue = 0;
};

}  // namespace AscendC
