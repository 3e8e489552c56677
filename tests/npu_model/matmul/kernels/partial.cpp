// SPDX-License-Identifier: Apache-2.0
// A long K in parts, each handed over by itself, added up in L0C and fetched to GM and UB at once; then the object is
// used again with another tiling.
#include "kernel_operator.h"
#include "lib/matrix/matmul/matmul.h"

using AscendC::TPosition;
using Operand = AscendC::MatmulType<TPosition::GM, CubeFormat::ND, half>;
using Result = AscendC::MatmulType<TPosition::GM, CubeFormat::ND, float>;

struct Tiling {
  TCubeTiling part;
  TCubeTiling whole;
  int32_t parts;
  int32_t workspace_bytes;
};

extern "C" __global__ __aicore__ void partial(GM_ADDR a, GM_ADDR b, GM_ADDR first, GM_ADDR copy, GM_ADDR second,
                                              GM_ADDR, GM_ADDR tiling_gm) {
  GET_TILING_DATA_WITH_STRUCT(Tiling, tiling, tiling_gm);
  AscendC::TPipe pipe;
  AscendC::Matmul<Operand, Operand, Result, Result, AscendC::CFG_MDL> mm;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm);
  mm.Init(&tiling.part);
  AscendC::TBuf<> work, result;
  const int32_t elems = tiling.part.M * tiling.part.N;
  pipe.InitBuffer(work, tiling.workspace_bytes);
  pipe.InitBuffer(result, elems * sizeof(float));
  mm.SetLocalWorkspace(work.Get<uint8_t>());
  AscendC::GlobalTensor<half> a_gm, b_gm;
  AscendC::GlobalTensor<float> first_gm, copy_gm, second_gm;
  a_gm.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(a));
  b_gm.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(b));
  first_gm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(first));
  copy_gm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(copy));
  second_gm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(second));

  const int k = tiling.part.singleCoreK;
  mm.SetOrgShape(tiling.part.M, tiling.part.N, k * tiling.parts);
  for (int part = 0; part < tiling.parts; ++part) {
    mm.SetTensorA(a_gm[part * k]);
    mm.SetTensorB(b_gm[part * k * tiling.part.N]);
    mm.Iterate(part != 0);
  }
  mm.GetTensorC(first_gm, result.Get<float>());
  AscendC::SetFlag<AscendC::HardEvent::V_MTE3>(0);
  AscendC::WaitFlag<AscendC::HardEvent::V_MTE3>(0);
  DataCopy(copy_gm, result.Get<float>(), elems);

  mm.Init(&tiling.whole);
  mm.SetTensorA(a_gm);
  mm.SetTensorB(b_gm);
  mm.IterateAll(second_gm);
  mm.End();
}
