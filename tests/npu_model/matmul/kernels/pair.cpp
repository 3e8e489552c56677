// SPDX-License-Identifier: Apache-2.0
// O = relu(Q K^T) V by two Matmul objects: the scores stay in UB, in the layout in which both objects have them.
#include "kernel_operator.h"
#include "lib/matmul/matmul_intf.h"

using AscendC::HardEvent;
using AscendC::TPosition;

namespace {

using Rows = AscendC::MatmulType<TPosition::GM, CubeFormat::ND, half>;
using Keys = AscendC::MatmulType<TPosition::GM, CubeFormat::ND, half, true>;
using ScoresOut = AscendC::MatmulType<TPosition::VECCALC, CubeFormat::NZ, half>;
using ScoresIn = AscendC::MatmulType<TPosition::VECOUT, CubeFormat::NZ, half>;
using Output = AscendC::MatmulType<TPosition::GM, CubeFormat::ND, float>;

struct Tiling {
  TCubeTiling scores;
  TCubeTiling output;
  int32_t workspace_bytes;
  int32_t end_first;
};

}  // namespace

extern "C" __global__ __aicore__ void pair(GM_ADDR q, GM_ADDR k, GM_ADDR v, GM_ADDR o, GM_ADDR, GM_ADDR tiling_gm) {
  GET_TILING_DATA_WITH_STRUCT(Tiling, tiling, tiling_gm);
  AscendC::Matmul<Rows, Keys, ScoresOut> scores;
  AscendC::Matmul<ScoresIn, Rows, Output> output;
  AscendC::TPipe pipe;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), scores, &tiling.scores, output, &tiling.output);
  AscendC::TBuf<TPosition::VECCALC> score_buffer, work_buffer;
  const uint32_t elems = tiling.scores.M * tiling.scores.N;
  pipe.InitBuffer(score_buffer, elems * sizeof(half));
  pipe.InitBuffer(work_buffer, tiling.workspace_bytes);
  scores.SetLocalWorkspace(work_buffer.Get<uint8_t>());
  output.SetLocalWorkspace(work_buffer.Get<uint8_t>());
  AscendC::GlobalTensor<half> q_gm, k_gm, v_gm;
  AscendC::GlobalTensor<float> o_gm;
  q_gm.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(q));
  k_gm.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(k));
  v_gm.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(v));
  o_gm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(o));

  const AscendC::LocalTensor<half> held = score_buffer.Get<half>();
  scores.SetTensorA(q_gm);
  scores.SetTensorB(k_gm, true);
  scores.IterateAll(held);
  if (tiling.end_first != 0) scores.End();
  Relu(held, held, static_cast<int32_t>(elems));
  AscendC::SetFlag<HardEvent::V_MTE3>(0);
  AscendC::WaitFlag<HardEvent::V_MTE3>(0);
  output.SetTensorA(held);
  output.SetTensorB(v_gm);
  output.IterateAll(o_gm);
  output.End();
}
