// SPDX-License-Identifier: Apache-2.0
#include "kernel_operator.h"

#include "kernel.h"

namespace {

template <uint32_t kBucket, typename StateT>
__aicore__ inline void RunInstance(const chunk_gdr::KernelArgs& args, const chunk_gdr::ChunkGatedDeltaRuleTiling& tiling) {
  chunk_gdr::ChunkGatedDeltaRule<kBucket, StateT> kernel(args, tiling);
  kernel.Run();
}

static_assert(chunk_gdr::TilingKey(64, false) == 640 && chunk_gdr::TilingKey(128, true) == 1281, "keys have to be literals below");

}  // namespace

extern "C" __global__ __aicore__ void chunk_gated_delta_rule(GM_ADDR query, GM_ADDR key, GM_ADDR value, GM_ADDR beta, GM_ADDR initial_state,
                                                             GM_ADDR lengths, GM_ADDR g, GM_ADDR chunk_state, GM_ADDR out,
                                                             GM_ADDR final_state, GM_ADDR workspace, GM_ADDR tiling) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AICORE);
  REGISTER_TILING_DEFAULT(chunk_gdr::ChunkGatedDeltaRuleTiling);
  GET_TILING_DATA_WITH_STRUCT(chunk_gdr::ChunkGatedDeltaRuleTiling, tiling_data, tiling);
  const chunk_gdr::KernelArgs args{query, key, value, beta, initial_state, lengths, g, chunk_state, out, final_state, workspace};
  if (TILING_KEY_IS(640)) {
    RunInstance<64, float>(args, tiling_data);
  } else if (TILING_KEY_IS(641)) {
    RunInstance<64, half>(args, tiling_data);
  } else if (TILING_KEY_IS(800)) {
    RunInstance<80, float>(args, tiling_data);
  } else if (TILING_KEY_IS(801)) {
    RunInstance<80, half>(args, tiling_data);
  } else if (TILING_KEY_IS(960)) {
    RunInstance<96, float>(args, tiling_data);
  } else if (TILING_KEY_IS(961)) {
    RunInstance<96, half>(args, tiling_data);
  } else if (TILING_KEY_IS(1280)) {
    RunInstance<128, float>(args, tiling_data);
  } else if (TILING_KEY_IS(1281)) {
    RunInstance<128, half>(args, tiling_data);
  }
}
