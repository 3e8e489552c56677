// SPDX-License-Identifier: Apache-2.0
// LeakyRelu(A B + bias) on several cores, in the style of kernels for CANN 8.1: a class that owns a Matmul and a queue,
// takes its tiling word by word from GM, and works on base blocks between Iterate and CopyOut.
#include "kernel_operator.h"
#include "lib/matmul_intf.h"

using namespace matmul;

namespace {

template <typename aType, typename bType, typename cType, typename biasType>
class MatmulLeakyKernel {
 public:
  __aicore__ inline MatmulLeakyKernel() {}

  __aicore__ inline void Init(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, const TCubeTiling& cube,
                              AscendC::TPipe* pipe) {
    tiling = cube;
    const int mBlocks = (tiling.M + tiling.singleCoreM - 1) / tiling.singleCoreM;
    const int mIndex = AscendC::GetBlockIdx() % mBlocks;
    const int nIndex = AscendC::GetBlockIdx() / mBlocks;
    tailM = tiling.M - mIndex * tiling.singleCoreM;
    tailN = tiling.N - nIndex * tiling.singleCoreN;
    tailM = tailM < tiling.singleCoreM ? tailM : tiling.singleCoreM;
    tailN = tailN < tiling.singleCoreN ? tailN : tiling.singleCoreN;
    aGlobal.SetGlobalBuffer(reinterpret_cast<__gm__ aType*>(a), tiling.M * tiling.Ka);
    bGlobal.SetGlobalBuffer(reinterpret_cast<__gm__ bType*>(b), tiling.Kb * tiling.N);
    cGlobal.SetGlobalBuffer(reinterpret_cast<__gm__ cType*>(c), tiling.M * tiling.N);
    biasGlobal.SetGlobalBuffer(reinterpret_cast<__gm__ biasType*>(bias), tiling.N);
    aGlobal = aGlobal[mIndex * tiling.singleCoreM * tiling.Ka];
    bGlobal = bGlobal[nIndex * tiling.singleCoreN];
    cGlobal = cGlobal[mIndex * tiling.singleCoreM * tiling.N + nIndex * tiling.singleCoreN];
    biasGlobal = biasGlobal[nIndex * tiling.singleCoreN];
    pipe->InitBuffer(reluQueue, 1, tiling.baseM * tiling.baseN * sizeof(cType));
    pipe->InitBuffer(formatBuffer, tiling.baseM * tiling.baseN * sizeof(cType) + tiling.baseN * sizeof(biasType) +
                                       tiling.baseM * 32);
  }

  __aicore__ inline void Process() {
    mm.SetLocalWorkspace(formatBuffer.Get<uint8_t>());
    mm.SetTensorA(aGlobal);
    mm.SetTensorB(bGlobal);
    mm.SetBias(biasGlobal);
    if (tailM < tiling.singleCoreM || tailN < tiling.singleCoreN) mm.SetTail(tailM, tailN);
    uint32_t round = 0;
    while (mm.template Iterate<true>()) {
      const AscendC::LocalTensor<cType> local = reluQueue.AllocTensor<cType>();
      mm.template GetTensorC<true>(local, false, true);
      LeakyRelu(local, local, static_cast<cType>(0.125), tiling.baseM * tiling.baseN);
      reluQueue.EnQue(local);
      CopyOut(round++);
    }
    mm.End();
  }

  Matmul<MatmulType<AscendC::TPosition::GM, CubeFormat::ND, aType>,
         MatmulType<AscendC::TPosition::GM, CubeFormat::ND, bType>,
         MatmulType<AscendC::TPosition::VECIN, CubeFormat::ND, cType>,
         MatmulType<AscendC::TPosition::GM, CubeFormat::ND, biasType>>
      mm;

 private:
  __aicore__ inline void CopyOut(uint32_t round) {
    AscendC::LocalTensor<cType> local = reluQueue.DeQue<cType>();
    const uint32_t mRounds = (tailM + tiling.baseM - 1) / tiling.baseM;
    const uint32_t m = round % mRounds * tiling.baseM;
    const uint32_t n = round / mRounds * tiling.baseN;
    const uint32_t rows = tailM - m < static_cast<uint32_t>(tiling.baseM) ? tailM - m : tiling.baseM;
    const uint32_t columns = tailN - n < static_cast<uint32_t>(tiling.baseN) ? tailN - n : tiling.baseN;
    constexpr uint32_t kBlock = 32 / sizeof(cType);
    const AscendC::DataCopyParams params(rows, columns / kBlock, (tiling.baseN - columns) / kBlock,
                                         (tiling.N - columns) / kBlock);
    DataCopy(cGlobal[m * tiling.N + n], local, params);
    reluQueue.FreeTensor(local);
  }

  AscendC::GlobalTensor<aType> aGlobal;
  AscendC::GlobalTensor<bType> bGlobal;
  AscendC::GlobalTensor<cType> cGlobal;
  AscendC::GlobalTensor<biasType> biasGlobal;
  AscendC::TQue<AscendC::QuePosition::VECOUT, 1> reluQueue;
  AscendC::TBuf<> formatBuffer;
  TCubeTiling tiling;
  int tailM;
  int tailN;
};

__aicore__ inline void CopyTiling(TCubeTiling* tiling, GM_ADDR tilingGm) {
  uint32_t* words = reinterpret_cast<uint32_t*>(tiling);
  const auto* source = reinterpret_cast<__gm__ uint32_t*>(tilingGm);
  for (uint32_t i = 0; i < sizeof(TCubeTiling) / sizeof(uint32_t); ++i) words[i] = source[i];
}

}  // namespace

extern "C" __global__ __aicore__ void matmul_leaky(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, GM_ADDR workspace,
                                                   GM_ADDR tilingGm) {
  if (GetSysWorkSpacePtr() == nullptr || workspace == nullptr) return;
  AscendC::TPipe pipe;
  TCubeTiling tiling;
  CopyTiling(&tiling, tilingGm);
  MatmulLeakyKernel<half, half, float, float> op;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), op.mm, &tiling);
  op.Init(a, b, bias, c, tiling, &pipe);
  op.Process();
}
