// SPDX-License-Identifier: Apache-2.0
// The kernel's tensors in GM.
#ifndef CHUNK_GDR_CHUNK_GATED_DELTA_RULE_INPUTS_H_
#define CHUNK_GDR_CHUNK_GATED_DELTA_RULE_INPUTS_H_

#include "kernel_operator.h"
#include "tiling.h"
#include "workspace.h"

namespace chunk_gdr {

using AscendC::GlobalTensor;

// One declaration each: GM_ADDR is a macro that ends in '*'.
struct KernelArgs {
  GM_ADDR query;
  GM_ADDR key;
  GM_ADDR value;
  GM_ADDR beta;
  GM_ADDR initial_state;
  GM_ADDR lengths;
  GM_ADDR g;
  GM_ADDR chunk_state;
  GM_ADDR out;
  GM_ADDR final_state;
  GM_ADDR workspace;
};

template <typename StateT>
struct GmTensors {
  GlobalTensor<half> query;            // [T, Nk, Dk]
  GlobalTensor<half> key;              // [T, Nk, Dk]
  GlobalTensor<half> value;            // [T, Nv, Dv]
  GlobalTensor<half> out;              // [T, Nv, Dv]
  GlobalTensor<float> beta;            // [Nv, gate_pitch]
  GlobalTensor<float> gate;            // [Nv, gate_pitch]
  GlobalTensor<StateT> initial_state;  // [B, Nv, Dv, Dk]
  GlobalTensor<StateT> chunk_state;    // [chunks of all sequences, Nv, Dv, Dk]
  GlobalTensor<StateT> final_state;    // [B, Nv, Dv, Dk]
  // the workspace, see workspace.h
  GlobalTensor<int32_t> status;  // a block for each core
  GlobalTensor<int32_t> sync;    // a block for each core
  GlobalTensor<half> zeros;      // [BT, 128]
  GlobalTensor<half> slots;      // [Nv, SlotsPerHead, kSlotElems]

  __aicore__ inline explicit GmTensors(const KernelArgs& args) {
    query.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(args.query));
    key.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(args.key));
    value.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(args.value));
    out.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(args.out));
    beta.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(args.beta));
    gate.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(args.g));
    initial_state.SetGlobalBuffer(reinterpret_cast<__gm__ StateT*>(args.initial_state));
    chunk_state.SetGlobalBuffer(reinterpret_cast<__gm__ StateT*>(args.chunk_state));
    final_state.SetGlobalBuffer(reinterpret_cast<__gm__ StateT*>(args.final_state));
    GM_ADDR workspace = AscendC::GetUserWorkspace(args.workspace);
    const uint64_t cores = AscendC::GetBlockNum();
    status.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(workspace));
    sync.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(workspace + SyncOffset(cores)));
    zeros.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(workspace + ZerosOffset(cores)));
    slots.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(workspace + SlotsOffset(cores)));
  }
};

// Lengths in GM, or the one length T.
struct SequenceLengths {
  GlobalTensor<int64_t> in_gm;
  bool given = false;
  int64_t tokens = 0;
  __aicore__ inline int64_t operator()(int64_t b) const { return given ? in_gm.GetValue(b) : tokens; }
};

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CHUNK_GATED_DELTA_RULE_INPUTS_H_
