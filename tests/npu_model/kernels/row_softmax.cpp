// SPDX-License-Identifier: Apache-2.0
// Softmax of the rows of a half matrix, written as kernels for CANN 8.1 are: queues of the QuePosition spelling, scalar
// results through a fetched V_S event, pipe_barrier, ASSERT, tiling key and tiling struct.
#include "kernel_operator.h"

using namespace AscendC;

constexpr int32_t BUFFER_NUM = 2;

struct RowSoftmaxTilingData {
  uint32_t rows;
  uint32_t cols;
};

class KernelRowSoftmax {
 public:
  __aicore__ inline KernelRowSoftmax() {}
  __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, uint32_t rows, uint32_t cols) {
    ASSERT(GetBlockNum() != 0 && "block dim can not be zero!");
    this->cols = cols;
    const uint32_t rowsPerCore = Ceil(rows, static_cast<uint32_t>(GetBlockNum()));
    const uint32_t first = rowsPerCore * GetBlockIdx();
    this->rows = first >= rows ? 0 : Std::min(rows - first, rowsPerCore);
    xGm.SetGlobalBuffer((__gm__ half*)x + first * cols, this->rows * cols);
    yGm.SetGlobalBuffer((__gm__ half*)y + first * cols, this->rows * cols);
    pipe.InitBuffer(inQueueX, BUFFER_NUM, cols * sizeof(half));
    pipe.InitBuffer(outQueueY, BUFFER_NUM, cols * sizeof(half));
    pipe.InitBuffer(calcBuf, cols * sizeof(float));
    pipe.InitBuffer(workBuf, cols * sizeof(float));
    pipe.InitBuffer(reduceBuf, ONE_BLK_SIZE);
  }
  __aicore__ inline void Process() {
    for (uint32_t i = 0; i < this->rows; i++) {
      CopyIn(i);
      Compute();
      CopyOut(i);
    }
  }

 private:
  __aicore__ inline void CopyIn(uint32_t progress) {
    LocalTensor<half> xLocal = inQueueX.AllocTensor<half>();
    DataCopy(xLocal, xGm[progress * this->cols], this->cols);
    inQueueX.EnQue(xLocal);
  }
  __aicore__ inline float FirstOf(const LocalTensor<float>& values) {
    event_t eventIdVToS = static_cast<event_t>(GetTPipePtr()->FetchEventID(HardEvent::V_S));
    SetFlag<HardEvent::V_S>(eventIdVToS);
    WaitFlag<HardEvent::V_S>(eventIdVToS);
    return values.GetValue(0);
  }
  __aicore__ inline void Compute() {
    LocalTensor<half> xLocal = inQueueX.DeQue<half>();
    LocalTensor<half> yLocal = outQueueY.AllocTensor<half>();
    LocalTensor<float> values = calcBuf.Get<float>();
    LocalTensor<float> work = workBuf.Get<float>();
    LocalTensor<float> reduced = reduceBuf.Get<float>();
    pipe_barrier(PIPE_V);
    Cast(values, xLocal, RoundMode::CAST_NONE, this->cols);
    pipe_barrier(PIPE_V);
    ReduceMax<float>(reduced, values, work, this->cols, false);
    const float largest = FirstOf(reduced);
    Adds(values, values, -largest, this->cols);
    pipe_barrier(PIPE_V);
    Exp(values, values, this->cols);
    pipe_barrier(PIPE_V);
    ReduceSum<float>(reduced, values, work, this->cols);
    const float sum = FirstOf(reduced);
    Duplicate(work, sum, this->cols);
    pipe_barrier(PIPE_V);
    Div(values, values, work, this->cols);
    pipe_barrier(PIPE_V);
    Cast(yLocal, values, RoundMode::CAST_NONE, this->cols);
    outQueueY.EnQue<half>(yLocal);
    inQueueX.FreeTensor(xLocal);
  }
  __aicore__ inline void CopyOut(uint32_t progress) {
    LocalTensor<half> yLocal = outQueueY.DeQue<half>();
    DataCopy(yGm[progress * this->cols], yLocal, this->cols);
    outQueueY.FreeTensor(yLocal);
  }

  TPipe pipe;
  TQue<QuePosition::VECIN, BUFFER_NUM> inQueueX;
  TQue<QuePosition::VECOUT, BUFFER_NUM> outQueueY;
  TBuf<QuePosition::VECCALC> calcBuf, workBuf, reduceBuf;
  GlobalTensor<half> xGm, yGm;
  uint32_t rows = 0;
  uint32_t cols = 0;
};

extern "C" __global__ __aicore__ void row_softmax(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  REGISTER_TILING_DEFAULT(RowSoftmaxTilingData);
  GET_TILING_DATA(tilingData, tiling);
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  KernelRowSoftmax op;
  op.Init(x, y, tilingData.rows, tilingData.cols);
  if (TILING_KEY_IS(1)) {
    op.Process();
  }
}
