// SPDX-License-Identifier: Apache-2.0
// Qualifiers, predefined macros and kernel-entry macros of the AscendC dialect, as a plain C++ compiler sees them.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "engine/core.h"

#define __NPU_ARCH__ 2002
#define __CCE_AICORE__ 200
#define __DAV_M200__ 1
// The vendor's own host build defines these two; sources use them to leave out `kernel<<<...>>>` launches.
#ifndef ASCENDC_CPU_DEBUG
#define ASCENDC_CPU_DEBUG 1
#endif
#ifndef __CCE_KT_TEST__
#define __CCE_KT_TEST__ 1
#endif

#define __aicore__
#define __global__
#define __gm__
#define __ubuf__
#define __cbuf__
#define __ca__
#define __cb__
#define __cc__
#define __sync_alias__
#define __sync_noalias__
#define __inout_pipe__(pipe)
#define __in_pipe__(pipe)
#define __out_pipe__(pipe)
#define __BLOCK_LOCAL__ thread_local
#ifndef __forceinline__
#define __forceinline__ inline __attribute__((always_inline))
#endif
#define __force_inline__ inline __attribute__((always_inline))

#define GM_ADDR __gm__ uint8_t*
#define UB_ADDR __ubuf__ uint8_t*

#ifndef likely
#define likely(x) __builtin_expect(!!(x), 1)
#endif
#ifndef unlikely
#define unlikely(x) __builtin_expect(!!(x), 0)
#endif

// One kind of core on this chip.
#define ASCEND_IS_AIV constexpr(true)
#define ASCEND_IS_AIC constexpr(true)
#define ASCEND_IS_NOT_AIV constexpr(false)
#define ASCEND_IS_NOT_AIC constexpr(false)
#define ASCEND_IS_AICORE constexpr(true)

#define TILING_KEY_VAR (::npu_model::Core::Current().tiling_key())
#define TILING_KEY_IS(key) (TILING_KEY_VAR == static_cast<uint64_t>(key))

// The struct registered last in scope is what GET_TILING_DATA copies.
#define REGISTER_TILING_DEFAULT(tiling_struct) using AscendCDefaultTilingStruct [[maybe_unused]] = tiling_struct
#define REGISTER_TILING_FOR_TILINGKEY(expression, tiling_struct) \
  static_assert(sizeof(tiling_struct) > 0, "incomplete tiling struct")
#define REGISTER_NONE_TILING static_assert(true, "")
#define GET_TILING_DATA_WITH_STRUCT(tiling_struct, name, tiling_address) \
  tiling_struct name;                                                    \
  ::npu_model::Core::Current().ReadTiling(&name, tiling_address, sizeof(tiling_struct), alignof(tiling_struct), \
                                          ::npu_model::Site::Here())
#define GET_TILING_DATA(name, tiling_address) \
  GET_TILING_DATA_WITH_STRUCT(AscendCDefaultTilingStruct, name, tiling_address)
#define GET_TILING_DATA_MEMBER(tiling_struct, member, name, tiling_address)                                    \
  decltype(tiling_struct::member) name;                                                                        \
  ::std::memcpy(                                                                                               \
      static_cast<void*>(&name),                                                                               \
      static_cast<const uint8_t*>(static_cast<const void*>(tiling_address)) + offsetof(tiling_struct, member), \
      sizeof(name))
#define COPY_TILING_WITH_STRUCT(tiling_struct, source, name)                                                \
  tiling_struct name##_copy;                                                                                \
  ::std::memcpy(static_cast<void*>(&name##_copy), static_cast<const void*>(source), sizeof(tiling_struct)); \
  const tiling_struct* name = &name##_copy

enum KernelMetaType : uint8_t {
  KERNEL_TYPE_AIV_ONLY,
  KERNEL_TYPE_AIC_ONLY,
  KERNEL_TYPE_MIX_AIV_1_0,
  KERNEL_TYPE_MIX_AIC_1_0,
  KERNEL_TYPE_MIX_AIC_1_1,
  KERNEL_TYPE_MIX_AIC_1_2,
  KERNEL_TYPE_AICORE,
  KERNEL_TYPE_VECTORCORE,
  KERNEL_TYPE_MIX_AICORE,
  KERNEL_TYPE_MIX_VECTOR_CORE,
  KERNEL_TYPE_MAX,
};
// KERNEL_TYPE_AIV_ONLY is none of this chip either, but kernels that ship for it say so, and run on its AI cores.
#define ASCENDC_MODEL_CHECK_TASK_TYPE(type)                                                                    \
  static_assert(                                                                                               \
      (type) == KERNEL_TYPE_AICORE || (type) == KERNEL_TYPE_MIX_VECTOR_CORE || (type) == KERNEL_TYPE_AIV_ONLY, \
      "this kernel type does not exist on Ascend 310P: use KERNEL_TYPE_AICORE or "                             \
      "KERNEL_TYPE_MIX_VECTOR_CORE")
#define KERNEL_TASK_TYPE_DEFAULT(type) ASCENDC_MODEL_CHECK_TASK_TYPE(type)
#define KERNEL_TASK_TYPE(key, type) ASCENDC_MODEL_CHECK_TASK_TYPE(type)
#define ENABLE_DETERMINISTIC() static_assert(true, "")

// Stage marks: the model assigns instructions, cycles and buffer lives to them.
#define TRACE_START(id) (::npu_model::Core::Current().StageStart(static_cast<int>(id)))
#define TRACE_STOP(id) (::npu_model::Core::Current().StageStop(static_cast<int>(id)))

#define ASCENDC_ASSERT(condition, behavior)                                                                      \
  do {                                                                                                           \
    if (!(condition)) {                                                                                          \
      behavior;                                                                                                  \
      ::npu_model::Core::Current().Abort(::npu_model::Rule::kParam, "ASCENDC_ASSERT", ::npu_model::Site::Here(), \
                                         "assertion failed: " #condition);                                       \
    }                                                                                                            \
  } while (0)
#define ascendc_assert(condition, ...) ASCENDC_ASSERT(condition, {})
// Kernels give it a message as well.
#undef assert
#define assert(condition, ...) ASCENDC_ASSERT(condition, {})
#ifndef ASSERT
#define ASSERT(condition) ASCENDC_ASSERT(condition, {})
#endif
#define KERNEL_LOG(level, ...) ::AscendC::printf(__VA_ARGS__)
