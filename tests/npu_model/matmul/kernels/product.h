// SPDX-License-Identifier: Apache-2.0
// One product by the high-level Matmul: types by template, everything else by the tiling bytes.
#pragma once

#include "kernel_operator.h"
#include "lib/matmul_intf.h"

using namespace matmul;

struct ProductTiling {
  TCubeTiling cube;
  int32_t workspace_bytes;
  int32_t iterate;  // one GetTensorC per base block instead of IterateAll
  int32_t sequential;
  int32_t atomic;
  int32_t quant;  // 1: scalar, 2: vector
  int32_t tail_m, tail_n, tail_k;
  int32_t a_elems, b_elems, c_elems, bias_elems;
  int32_t synchronised;  // operands in UB are ordered before the product
  int32_t ended;
  uint64_t quant_word;
};

template <class T, class Pipe, class Buffer>
__aicore__ inline AscendC::LocalTensor<T> ToUb(Pipe& pipe, Buffer& buffer, GM_ADDR gm, int32_t elems) {
  AscendC::GlobalTensor<T> source;
  source.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(gm));
  pipe.InitBuffer(buffer, elems * sizeof(T));
  const AscendC::LocalTensor<T> local = buffer.template Get<T>();
  DataCopy(local, source, elems);
  return local;
}

template <class T>
__aicore__ inline AscendC::GlobalTensor<T> InGm(GM_ADDR gm) {
  AscendC::GlobalTensor<T> tensor;
  tensor.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(gm));
  return tensor;
}

template <class A, class B, class C, class Bias, const auto& kConfig>
__aicore__ inline void Product(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR scales, GM_ADDR c, GM_ADDR tiling_gm) {
  using AT = typename A::T;
  using BT = typename B::T;
  using CT = typename C::T;
  using BiasT = typename Bias::T;
  GET_TILING_DATA_WITH_STRUCT(ProductTiling, tiling, tiling_gm);
  AscendC::TPipe pipe;
  Matmul<A, B, C, Bias, kConfig> mm;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &tiling.cube);

  AscendC::TBuf<AscendC::TPosition::VECCALC> a_buffer, b_buffer, c_buffer, bias_buffer, work_buffer;
  if (tiling.workspace_bytes != 0) {
    pipe.InitBuffer(work_buffer, tiling.workspace_bytes);
    mm.SetLocalWorkspace(work_buffer.Get<uint8_t>());
  }
  mm.SetTail(tiling.tail_m, tiling.tail_n, tiling.tail_k);
  if constexpr (A::pos == AscendC::TPosition::GM) {
    mm.SetTensorA(InGm<AT>(a), A::isTrans);
  } else {
    mm.SetTensorA(ToUb<AT>(pipe, a_buffer, a, tiling.a_elems), A::isTrans);
  }
  if constexpr (B::pos == AscendC::TPosition::GM) {
    mm.SetTensorB(InGm<BT>(b), B::isTrans);
  } else {
    mm.SetTensorB(ToUb<BT>(pipe, b_buffer, b, tiling.b_elems), B::isTrans);
  }
  if (tiling.cube.isBias != 0) {
    if constexpr (Bias::pos == AscendC::TPosition::GM) {
      mm.SetBias(InGm<BiasT>(bias));
    } else {
      mm.SetBias(ToUb<BiasT>(pipe, bias_buffer, bias, tiling.bias_elems));
    }
  }
  if (tiling.synchronised != 0) {
    // To L1 on MTE3; bytes that have to be turned, and the bias, are read by V.
    AscendC::SetFlag<AscendC::HardEvent::MTE2_MTE3>(0);
    AscendC::WaitFlag<AscendC::HardEvent::MTE2_MTE3>(0);
    AscendC::SetFlag<AscendC::HardEvent::MTE2_V>(0);
    AscendC::WaitFlag<AscendC::HardEvent::MTE2_V>(0);
  }
  if constexpr (std::is_same_v<AT, int8_t> && !std::is_same_v<CT, int32_t>) {
    if (tiling.quant == 1) mm.SetQuantScalar(tiling.quant_word);
    if (tiling.quant == 2) mm.SetQuantVector(InGm<uint64_t>(scales));
  }
  const AscendC::GlobalTensor<CT> c_gm = InGm<CT>(c);
  const uint8_t atomic = static_cast<uint8_t>(tiling.atomic);
  if constexpr (C::pos != AscendC::TPosition::GM) {
    pipe.InitBuffer(c_buffer, tiling.c_elems * sizeof(CT));
    const AscendC::LocalTensor<CT> c_local = c_buffer.Get<CT>();
    if (tiling.iterate != 0) {
      while (mm.template Iterate<true>()) mm.template GetTensorC<true>(c_local, atomic);
    } else {
      mm.IterateAll(c_local, atomic);
    }
    AscendC::SetFlag<AscendC::HardEvent::V_MTE3>(0);
    AscendC::WaitFlag<AscendC::HardEvent::V_MTE3>(0);
    DataCopy(c_gm, c_local, tiling.c_elems);
  } else if (tiling.iterate != 0) {
    const int32_t block = tiling.cube.baseM * tiling.cube.baseN;
    for (int32_t i = 0; mm.Iterate(); ++i) {
      mm.GetTensorC(tiling.sequential != 0 ? c_gm[i * block] : c_gm, atomic, tiling.sequential != 0);
    }
  } else {
    mm.IterateAll(c_gm, atomic);
  }
  if (tiling.ended != 0) mm.End();
}

#define PRODUCT(name, A, B, C, Bias, config)                                                                      \
  constexpr MatmulConfig name##_config = config;                                                                  \
  extern "C" __global__ __aicore__ void name(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR scales, GM_ADDR c, GM_ADDR, \
                                             GM_ADDR tiling) {                                                    \
    Product<A, B, C, Bias, name##_config>(a, b, bias, scales, c, tiling);                                         \
  }
