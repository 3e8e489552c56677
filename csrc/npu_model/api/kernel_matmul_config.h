// SPDX-License-Identifier: Apache-2.0
// What a Matmul object is made from: formats, operand types, the template's configuration.
#pragma once

#include "kernel_operator.h"
#include "kernel_tiling/kernel_tiling.h"

enum class CubeFormat {
  ND = 0,
  NZ,
  ZN,
  ZZ,
  NN,
  ND_ALIGN,
  SCALAR,
  VECTOR,
  ROW_MAJOR = ND,
  COLUMN_MAJOR = 8,
};
enum class LayoutMode { NONE = 0, BSNGD, SBNGD, BNGS1S2, NORMAL };
enum class BatchMode { NONE = 0, BATCH_LESS_THAN_L1, BATCH_LARGE_THAN_L1, SINGLE_LARGE_THAN_L1 };
enum BatchOutMode { SINGLE_BATCH = 0, MULTI_BATCH, DYNAMIC };
enum class IterateOrder { ORDER_M = 0, ORDER_N, UNDEF };
enum class ScheduleType { INNER_PRODUCT = 0, OUTER_PRODUCT };
enum IterateMode : uint8_t {
  ITERATE_MODE_NORMAL = 0b00000001,
  ITERATE_MODE_ALL = 0b00000010,
  ITERATE_MODE_BATCH = 0b00000100,
  ITERATE_MODE_N_BATCH = 0b00001000,
  ITERATE_MODE_DEFAULT = 0b11111111,
};

constexpr uint32_t SHARED_CO1_BUFFER_SIZE = 64 * 1024;

// Field order as sources that initialise it by position expect.
struct MatmulConfig {
  bool doNorm = false;
  bool doBasicBlock = false;
  bool doMultiDataLoad = false;
  uint32_t basicM = 0;
  uint32_t basicN = 0;
  uint32_t basicK = 0;
  bool intrinsicsCheck = false;
  bool isNBatch = false;
  bool enVecND2NZ = false;
  bool doSpecialBasicBlock = false;
  uint32_t doMTE2Preload = 0;
  uint32_t singleCoreM = 0;
  uint32_t singleCoreN = 0;
  uint32_t singleCoreK = 0;
  uint32_t stepM = 0;
  uint32_t stepN = 0;
  uint32_t baseMN = 0;
  uint32_t singleCoreMN = 0;
  bool enUnitFlag = true;
  bool isPerTensor = false;
  bool hasAntiQuantOffset = false;
  bool doIBShareNorm = false;
  bool doSpecialMDL = false;
  bool enableInit = true;
  BatchMode batchMode = BatchMode::NONE;
  bool enableEnd = true;
  bool enableGetTensorC = true;
  bool enableSetOrgShape = true;
  bool enableSetBias = true;
  bool enableSetTail = true;
  bool enableQuantVector = true;
  bool enableSetDefineData = true;
  uint8_t iterateMode = IterateMode::ITERATE_MODE_DEFAULT;
  bool enableReuse = true;
  bool enableUBReuse = false;
  bool enableL1CacheUB = false;
  bool intraBlockPartSum = false;
  IterateOrder iterateOrder = IterateOrder::UNDEF;
  ScheduleType scheduleType = ScheduleType::INNER_PRODUCT;
  bool enableDoubleCache = false;
  bool isBiasBatch = true;
  bool enableStaticPadZeros = false;
  bool isPartialOutput = false;
  bool enableMixDualMaster = false;
  bool isA2B2Shared = false;
  bool isEnableChannelSplit = false;
  bool enableKdimReorderLoad = false;
  bool isCO1Shared = false;
  uint32_t sharedCO1BufferSize = SHARED_CO1_BUFFER_SIZE;
  BatchOutMode bmmOutMode = BatchOutMode::SINGLE_BATCH;
  bool enableL1BankConflictOptimise = false;
  bool enableRelu = false;
};

enum class MatmulConfigMode { CONFIG_NORM, CONFIG_MDL, CONFIG_SPECIALMDL, CONFIG_IBSHARE };

struct MatmulShapeParams {
  uint32_t singleCoreM = 0;
  uint32_t singleCoreN = 0;
  uint32_t singleCoreK = 0;
  uint32_t basicM = 0;
  uint32_t basicN = 0;
  uint32_t basicK = 0;
};
struct MatmulQuantParams {
  bool isPerTensor = false;
  bool hasAntiQuantOffset = false;
};
struct MatmulBatchParams {
  bool isNBatch = false;
  BatchMode batchMode = BatchMode::NONE;
  bool isBiasBatch = true;
  BatchOutMode bmmOutMode = BatchOutMode::SINGLE_BATCH;
};
struct MatmulFuncParams {
  bool intrinsicsCheck = false;
  bool enVecND2NZ = false;
  bool enableDoubleCache = false;
  bool enableL1CacheUB = false;
  uint32_t doMTE2Preload = 0;
  IterateOrder iterateOrder = IterateOrder::UNDEF;
  ScheduleType scheduleType = ScheduleType::INNER_PRODUCT;
  bool enableReuse = true;
  bool enableUBReuse = false;
  bool isPartialOutput = false;
  bool isA2B2Shared = false;
  bool isEnableChannelSplit = false;
  bool enableKdimReorderLoad = false;
  bool enableL1BankConflictOptimise = false;
  bool enableRelu = false;
};
struct MatmulBiasParams {
  bool enableSetBias = true;
};

namespace AscendC {

using ::BatchMode;
using ::CubeFormat;
using ::IterateOrder;
using ::LayoutMode;
using ::MatmulConfig;
using ::MatmulConfigMode;
using ::ScheduleType;

constexpr MatmulConfig GetNormalConfig(const bool intrinsicsLimit = false, const bool batchLoop = false,
                                       const bool isVecND2NZ = false,
                                       const BatchMode bmmMode = BatchMode::BATCH_LESS_THAN_L1,
                                       const bool isMsgReuse = true,
                                       const IterateOrder iterateOrder = IterateOrder::UNDEF,
                                       const ScheduleType scheduleType = ScheduleType::INNER_PRODUCT,
                                       const bool enUnitFlag = true, const bool enableMixDualMaster = false,
                                       const BatchOutMode bmmOutMode = BatchOutMode::SINGLE_BATCH) {
  MatmulConfig config;
  config.doNorm = true;
  config.intrinsicsCheck = intrinsicsLimit;
  config.isNBatch = batchLoop;
  config.enVecND2NZ = isVecND2NZ;
  config.batchMode = bmmMode;
  config.enableReuse = isMsgReuse;
  config.enableUBReuse = true;
  config.iterateOrder = iterateOrder;
  config.scheduleType = scheduleType;
  config.enUnitFlag = enUnitFlag;
  config.enableMixDualMaster = enableMixDualMaster;
  config.bmmOutMode = bmmOutMode;
  return config;
}

constexpr MatmulConfig GetMDLConfig(const bool intrinsicsLimit = false, const bool batchLoop = false,
                                    const uint32_t doMTE2Preload = 0, const bool isVecND2NZ = false,
                                    bool isPerTensor = false, bool hasAntiQuantOffset = false,
                                    const bool enUnitFlag = false, const bool isMsgReuse = true,
                                    const bool enableUBReuse = true, const bool enableL1CacheUB = false,
                                    const bool enableMixDualMaster = false, const bool enableKdimReorderLoad = false,
                                    const bool enableL1BankConflictOptimise = false) {
  MatmulConfig config;
  config.doMultiDataLoad = true;
  config.intrinsicsCheck = intrinsicsLimit;
  config.isNBatch = batchLoop;
  config.doMTE2Preload = doMTE2Preload;
  config.enVecND2NZ = isVecND2NZ;
  config.isPerTensor = isPerTensor;
  config.hasAntiQuantOffset = hasAntiQuantOffset;
  config.enUnitFlag = enUnitFlag;
  config.enableReuse = isMsgReuse;
  config.enableUBReuse = enableUBReuse;
  config.enableL1CacheUB = enableL1CacheUB;
  config.enableMixDualMaster = enableMixDualMaster;
  config.enableKdimReorderLoad = enableKdimReorderLoad;
  config.enableL1BankConflictOptimise = enableL1BankConflictOptimise;
  return config;
}

constexpr MatmulConfig CFG_NORM = GetNormalConfig();
constexpr MatmulConfig CFG_MDL = GetMDLConfig();

namespace detail {
constexpr MatmulConfig Template(bool MatmulConfig::* which) {
  MatmulConfig config;
  config.*which = true;
  return config;
}
}  // namespace detail
// Of other chips: Matmul refuses them.
constexpr MatmulConfig MM_CFG_BB = detail::Template(&MatmulConfig::doBasicBlock);
constexpr MatmulConfig CFG_IBSHARE_NORM = detail::Template(&MatmulConfig::doIBShareNorm);

namespace detail {

constexpr void Configure(MatmulConfig& config, const MatmulShapeParams& shape) {
  config.singleCoreM = shape.singleCoreM;
  config.singleCoreN = shape.singleCoreN;
  config.singleCoreK = shape.singleCoreK;
  config.basicM = shape.basicM;
  config.basicN = shape.basicN;
  config.basicK = shape.basicK;
}
constexpr void Configure(MatmulConfig& config, const MatmulQuantParams& quant) {
  config.isPerTensor = quant.isPerTensor;
  config.hasAntiQuantOffset = quant.hasAntiQuantOffset;
}
constexpr void Configure(MatmulConfig& config, const MatmulBatchParams& batch) {
  config.isNBatch = batch.isNBatch;
  config.batchMode = batch.batchMode;
  config.isBiasBatch = batch.isBiasBatch;
  config.bmmOutMode = batch.bmmOutMode;
}
constexpr void Configure(MatmulConfig& config, const MatmulFuncParams& function) {
  config.intrinsicsCheck = function.intrinsicsCheck;
  config.enVecND2NZ = function.enVecND2NZ;
  config.enableDoubleCache = function.enableDoubleCache;
  config.enableL1CacheUB = function.enableL1CacheUB;
  config.doMTE2Preload = function.doMTE2Preload;
  config.iterateOrder = function.iterateOrder;
  config.scheduleType = function.scheduleType;
  config.enableReuse = function.enableReuse;
  config.enableUBReuse = function.enableUBReuse;
  config.isPartialOutput = function.isPartialOutput;
  config.isA2B2Shared = function.isA2B2Shared;
  config.isEnableChannelSplit = function.isEnableChannelSplit;
  config.enableKdimReorderLoad = function.enableKdimReorderLoad;
  config.enableL1BankConflictOptimise = function.enableL1BankConflictOptimise;
  config.enableRelu = function.enableRelu;
}
constexpr void Configure(MatmulConfig& config, const MatmulBiasParams& bias) {
  config.enableSetBias = bias.enableSetBias;
}

}  // namespace detail

template <MatmulConfigMode configMode, typename... ArgTypes>
constexpr MatmulConfig GetMMConfig(ArgTypes&&... args) {
  static_assert(configMode == MatmulConfigMode::CONFIG_NORM || configMode == MatmulConfigMode::CONFIG_MDL,
                "the SpecialMDL and IBShare templates of Matmul do not exist on Ascend 310P");
  MatmulConfig config = configMode == MatmulConfigMode::CONFIG_MDL ? CFG_MDL : CFG_NORM;
  (detail::Configure(config, args), ...);
  return config;
}

template <typename T = void, typename... Args>
constexpr MatmulConfig GetBasicConfig(Args&&...) {
  static_assert(detail::kNever<T, Args...>, "the BasicBlock template of Matmul does not exist on Ascend 310P");
  return {};
}
template <typename T = void, typename... Args>
constexpr MatmulConfig GetSpecialMDLConfig(Args&&...) {
  static_assert(detail::kNever<T, Args...>, "the SpecialMDL template of Matmul does not exist on Ascend 310P");
  return {};
}
template <typename T = void, typename... Args>
constexpr MatmulConfig GetIBShareNormConfig(Args&&...) {
  static_assert(detail::kNever<T, Args...>, "the IBShare template of Matmul does not exist on Ascend 310P");
  return {};
}
template <typename... Types, typename... Args>
constexpr MatmulConfig GetMatmulApiTiling(Args&&...) {
  static_assert(detail::kNever<Types...>, "constant tiling of Matmul does not exist on Ascend 310P");
  return {};
}

template <TPosition POSITION, CubeFormat FORMAT, typename TYPE, bool ISTRANS = false,
          LayoutMode LAYOUT = LayoutMode::NONE, bool IBSHARE = false, TPosition SRCPOS = TPosition::GM>
struct MatmulType {
  static constexpr TPosition pos = POSITION;
  static constexpr CubeFormat format = FORMAT;
  using T = TYPE;
  static constexpr bool isTrans = ISTRANS;
  static constexpr LayoutMode layout = LAYOUT;
  static constexpr bool ibShare = IBSHARE;
  static constexpr TPosition srcPos = SRCPOS;
};

template <auto DataCopyOut = nullptr, auto CopyA1 = nullptr, auto CopyB1 = nullptr>
struct MatmulCallBackFunc {
  static constexpr bool kAny = !(std::is_null_pointer_v<decltype(DataCopyOut)> &&
                                 std::is_null_pointer_v<decltype(CopyA1)> && std::is_null_pointer_v<decltype(CopyB1)>);
};

}  // namespace AscendC
