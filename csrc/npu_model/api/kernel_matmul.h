// SPDX-License-Identifier: Apache-2.0
// The high-level Matmul: C = A B + bias, one core's part of it.
#pragma once

#include "kernel_matmul_config.h"
#include "matmul/engine.h"

namespace AscendC {
namespace detail {

constexpr bool InUb(TPosition position) { return GetPhyType(position) == Hardware::UB; }

template <class Type>
constexpr npu_model::matmul::Side ToSide() {
  using npu_model::matmul::Format;
  npu_model::matmul::Side side;
  side.in_gm = Type::pos == TPosition::GM;
  side.format = Type::format == CubeFormat::NZ         ? Format::kNz
                : Type::format == CubeFormat::ND_ALIGN ? Format::kNdAligned
                                                       : Format::kNd;
  side.type = TypeOf<typename Type::T>();
  side.may_transpose = Type::isTrans;
  return side;
}

template <class A, class B, class C, class Bias>
constexpr npu_model::matmul::Spec ToSpec(const MatmulConfig& config) {
  npu_model::matmul::Spec spec;
  spec.a = ToSide<A>();
  spec.b = ToSide<B>();
  spec.c = ToSide<C>();
  spec.bias_in_gm = Bias::pos == TPosition::GM;
  spec.multi_load = config.doMultiDataLoad;
  spec.vector_nz = config.enVecND2NZ;
  spec.share_ub = config.enableUBReuse;
  return spec;
}

constexpr bool ConfigExists(const MatmulConfig& config) {
  return !config.doBasicBlock && !config.doSpecialBasicBlock && !config.doSpecialMDL && !config.doIBShareNorm &&
         config.doNorm != config.doMultiDataLoad;
}
// Switches of other chips; that of the unit flag changes nothing on this one.
constexpr bool SwitchesExist(const MatmulConfig& config) {
  return !config.intraBlockPartSum && config.iterateOrder == IterateOrder::UNDEF &&
         config.scheduleType == ScheduleType::INNER_PRODUCT && !config.enableDoubleCache && !config.isPartialOutput &&
         !config.enableMixDualMaster && !config.isA2B2Shared && !config.isEnableChannelSplit &&
         !config.enableKdimReorderLoad && !config.isCO1Shared && !config.enableL1BankConflictOptimise &&
         !config.enableRelu && !config.enableStaticPadZeros && config.isBiasBatch &&
         config.iterateMode == IterateMode::ITERATE_MODE_DEFAULT;
}

// A method that cannot be called on this chip or in the model, and why.
#define ASCENDC_MODEL_MATMUL_WITHOUT(Name, Why)                          \
  template <typename T = void, typename... Args>                         \
  void Name(Args&&...) {                                                 \
    static_assert(detail::kNever<T, Args...>, "Matmul: " #Name " " Why); \
  }

}  // namespace detail

template <class A_TYPE, class B_TYPE, class C_TYPE, class BIAS_TYPE = C_TYPE, const auto& MM_CFG = CFG_NORM,
          class MM_CB = MatmulCallBackFunc<>>
class MatmulImpl {
  using SrcAT = typename A_TYPE::T;
  using SrcBT = typename B_TYPE::T;
  using DstT = typename C_TYPE::T;
  using BiasT = typename BIAS_TYPE::T;
  static constexpr bool kInt8 = std::is_same_v<SrcAT, int8_t>;
  static constexpr bool kRequantised = kInt8 && !std::is_same_v<DstT, int32_t>;

  static constexpr bool InGmOrUb(TPosition position) { return position == TPosition::GM || detail::InUb(position); }
  static constexpr bool NdOrNz(CubeFormat format) { return format == CubeFormat::ND || format == CubeFormat::NZ; }

  static_assert(InGmOrUb(A_TYPE::pos) && InGmOrUb(B_TYPE::pos),
                "Matmul on Ascend 310P takes A and B from GM or UB (VECOUT, VECIN, VECCALC), not from TSCM");
  static_assert(InGmOrUb(C_TYPE::pos), "Matmul on Ascend 310P writes C to GM or UB (VECIN, VECCALC), not to CO1");
  static_assert(SupportType<SrcAT, half, int8_t>() && SupportType<SrcBT, half, int8_t>(),
                "Matmul on Ascend 310P supports only half, int8_t for A and B");
  static_assert(!(std::is_same_v<SrcAT, half> && std::is_same_v<SrcBT, int8_t>),
                "Matmul of half A and int8_t B exists on Ascend 310P, but not in the host model");
  static_assert(std::is_same_v<SrcAT, SrcBT>, "Matmul on Ascend 310P has no product of int8_t A and half B");
  static_assert(kInt8 ? SupportType<DstT, int32_t, half, int8_t>() : SupportType<DstT, float, half>(),
                "Matmul on Ascend 310P supports only half x half -> float, half and int8_t x int8_t -> int32_t, half, "
                "int8_t");
  static_assert(NdOrNz(A_TYPE::format) && NdOrNz(B_TYPE::format),
                "Matmul on Ascend 310P supports only CubeFormat ND and NZ for A and B");
  static_assert(NdOrNz(C_TYPE::format) || C_TYPE::format == CubeFormat::ND_ALIGN,
                "Matmul on Ascend 310P supports only CubeFormat ND, NZ and ND_ALIGN for C");
  static_assert(!(kInt8 && A_TYPE::isTrans), "Matmul on Ascend 310P cannot transpose an int8_t A");
  static_assert(!A_TYPE::ibShare && !B_TYPE::ibShare, "IBShare of Matmul does not exist on Ascend 310P");
  static_assert(A_TYPE::layout == LayoutMode::NONE && B_TYPE::layout == LayoutMode::NONE &&
                    C_TYPE::layout == LayoutMode::NONE,
                "batches of Matmul exist on Ascend 310P, but not in the host model");
  static_assert(!MM_CB::kAny, "callbacks of Matmul do not exist on Ascend 310P");
  static_assert(detail::ConfigExists(MM_CFG), "Matmul on Ascend 310P has only the Norm and the MDL template");
  static_assert(detail::SwitchesExist(MM_CFG), "this MatmulConfig switches on what Ascend 310P does not have");
  static_assert(!MM_CFG.enableL1CacheUB, "enableL1CacheUB of Matmul exists on Ascend 310P, but not in the host model");
  static_assert(MM_CFG.doMTE2Preload == 0, "doMTE2Preload of Matmul is not in the host model");
  static_assert(!MM_CFG.isNBatch, "batches of Matmul exist on Ascend 310P, but not in the host model");
  static_assert(!(MM_CFG.enVecND2NZ && ((detail::InUb(A_TYPE::pos) && A_TYPE::format == CubeFormat::ND) ||
                                        (detail::InUb(B_TYPE::pos) && B_TYPE::format == CubeFormat::ND))),
                "enVecND2NZ of Matmul does not exist for ND operands in UB on Ascend 310P");
  static_assert(!(sizeof(DstT) == 1 && C_TYPE::format != CubeFormat::NZ && C_TYPE::pos == TPosition::GM &&
                  !MM_CFG.enVecND2NZ),
                "an int8_t C of Matmul in rows needs enVecND2NZ on Ascend 310P");
  static_assert(!(sizeof(DstT) == 1 && C_TYPE::format != CubeFormat::NZ && detail::InUb(C_TYPE::pos)),
                "an int8_t C of Matmul in UB must be NZ on Ascend 310P");

 public:
  using AType = A_TYPE;
  using BType = B_TYPE;
  using CType = C_TYPE;
  using BiasType = BIAS_TYPE;
  using CallBack = MM_CB;

  MatmulImpl() : engine_(detail::ToSpec<A_TYPE, B_TYPE, C_TYPE, BIAS_TYPE>(MM_CFG)) {}

  void Init(const TCubeTiling* cubeTiling, TPipe* tpipe = nullptr, Site site = Site::Here()) {
    TPipe* pipe = tpipe != nullptr ? tpipe : GetTPipePtr();
    if (cubeTiling == nullptr || pipe == nullptr) {
      return npu_model::Core::Current().Abort(npu_model::Rule::kBuffer0, "Matmul", site,
                                              "Init needs a tiling and a TPipe that is alive");
    }
    const npu_model::matmul::Engine::Place end =
        engine_.Init(*cubeTiling, {pipe->SharedStart<TPosition::A1>(), pipe->SharedStart<TPosition::CO1>()}, site);
    pipe->ShareUpTo<TPosition::A1>(end.l1, site);
    pipe->ShareUpTo<TPosition::CO1>(end.l0c, site);
  }

  void SetOrgShape(int orgM, int orgN, int orgK) { engine_.SetOrgShape(orgM, orgN, orgK, orgK, 0); }
  void SetOrgShape(int orgM, int orgN, int orgKa, int orgKb, int orgKc = 0) {
    engine_.SetOrgShape(orgM, orgN, orgKa, orgKb, orgKc);
  }
  void SetSingleShape(int singleM, int singleN, int singleK) { engine_.SetSingleShape(singleM, singleN, singleK); }
  void SetTail(int tailM = -1, int tailN = -1, int tailK = -1) { engine_.SetSingleShape(tailM, tailN, tailK); }

  void SetTensorA(const GlobalTensor<SrcAT>& gm, bool isTransposeA = false, Site site = Site::Here()) {
    engine_.SetSource(true, gm.view(), isTransposeA, site);
  }
  void SetTensorA(const LocalTensor<SrcAT>& leftMatrix, bool isTransposeA = false, Site site = Site::Here()) {
    engine_.SetSource(true, leftMatrix.view(), isTransposeA, site);
  }
  void SetTensorB(const GlobalTensor<SrcBT>& gm, bool isTransposeB = false, Site site = Site::Here()) {
    engine_.SetSource(false, gm.view(), isTransposeB, site);
  }
  void SetTensorB(const LocalTensor<SrcBT>& rightMatrix, bool isTransposeB = false, Site site = Site::Here()) {
    engine_.SetSource(false, rightMatrix.view(), isTransposeB, site);
  }
  template <typename T, std::enable_if_t<std::is_arithmetic_v<T> || std::is_same_v<T, half>, bool> = true>
  void SetTensorA(T) {
    static_assert(detail::kNever<T>, "Matmul: SetTensorA of a scalar does not exist on Ascend 310P");
  }
  template <typename T, std::enable_if_t<std::is_arithmetic_v<T> || std::is_same_v<T, half>, bool> = true>
  void SetTensorB(T) {
    static_assert(detail::kNever<T>, "Matmul: SetTensorB of a scalar does not exist on Ascend 310P");
  }

  void SetBias(const GlobalTensor<BiasT>& biasGlobal, Site site = Site::Here()) { BiasFrom(biasGlobal.view(), site); }
  void SetBias(const LocalTensor<BiasT>& inputBias, Site site = Site::Here()) { BiasFrom(inputBias.view(), site); }
  void DisableBias() { engine_.ClearBias(); }
  void ClearBias() { engine_.ClearBias(); }

  void SetQuantScalar(const uint64_t quantScalar) {
    static_assert(kRequantised, "Matmul: SetQuantScalar is for int8_t A, B and half, int8_t C on Ascend 310P");
    npu_model::matmul::Requant requant;
    requant.kind = npu_model::matmul::Requant::Kind::kScalar;
    requant.word = quantScalar;
    engine_.SetRequant(requant);
  }
  void SetQuantVector(const GlobalTensor<uint64_t>& quantTensor) {
    static_assert(kRequantised, "Matmul: SetQuantVector is for int8_t A, B and half, int8_t C on Ascend 310P");
    npu_model::matmul::Requant requant;
    requant.kind = npu_model::matmul::Requant::Kind::kVector;
    requant.vector = quantTensor.view();
    engine_.SetRequant(requant);
  }
  template <typename T>
  void SetQuantVector(const LocalTensor<T>&) {
    static_assert(detail::kNever<T>, "Matmul: SetQuantVector of a local tensor does not exist on Ascend 310P");
  }

  void SetLocalWorkspace(const LocalTensor<uint8_t>& tmpBuffer) {
    engine_.SetWorkspace(tmpBuffer.view(), tmpBuffer.GetSize());
  }

  template <bool sync = true>
  bool Iterate(bool enPartialSum = false, Site site = Site::Here()) {
    static_assert(sync, "Matmul: asynchronous Iterate<false> does not exist on Ascend 310P");
    return engine_.Iterate(enPartialSum, site);
  }
  template <bool sync = true, typename T>
  bool Iterate(bool, const LocalTensor<T>&) {
    static_assert(detail::kNever<T>, "Matmul: Iterate into a CO1 tensor of the kernel does not exist on Ascend 310P");
    return false;
  }

  template <bool sync = true, bool doPad = false>
  void GetTensorC(const LocalTensor<DstT>& co2Local, uint8_t enAtomic = 0, bool enSequentialWrite = false,
                  Site site = Site::Here()) {
    static_assert(sync, "Matmul: asynchronous GetTensorC<false> does not exist on Ascend 310P");
    const npu_model::issue::View ub = co2Local.view();
    engine_.Store(nullptr, &ub, enAtomic, enSequentialWrite, site);
  }
  template <bool sync = true>
  void GetTensorC(const GlobalTensor<DstT>& gm, uint8_t enAtomic = 0, bool enSequentialWrite = false,
                  Site site = Site::Here()) {
    static_assert(sync, "Matmul: asynchronous GetTensorC<false> does not exist on Ascend 310P");
    const npu_model::issue::View to = gm.view();
    engine_.Store(&to, nullptr, enAtomic, enSequentialWrite, site);
  }
  template <bool sync = true>
  void GetTensorC(const GlobalTensor<DstT>& gm, const LocalTensor<DstT>& co2Local, uint8_t enAtomic = 0,
                  bool enSequentialWrite = false, Site site = Site::Here()) {
    static_assert(sync, "Matmul: asynchronous GetTensorC<false> does not exist on Ascend 310P");
    const npu_model::issue::View to = gm.view();
    const npu_model::issue::View ub = co2Local.view();
    engine_.Store(&to, &ub, enAtomic, enSequentialWrite, site);
  }

  // The scalar unit's view of GM ends here, as in the library.
  template <bool sync = true>
  void IterateAll(const GlobalTensor<DstT>& gm, uint8_t enAtomic = 0, bool enSequentialWrite = false,
                  bool waitIterateAll = false, bool fakeMsg = false, Site site = Site::Here()) {
    static_assert(sync, "Matmul: asynchronous IterateAll<false> does not exist on Ascend 310P");
    if (enSequentialWrite || waitIterateAll || fakeMsg) {
      return npu_model::Core::Current().Abort(
          npu_model::Rule::kUnsupported, "Matmul", site,
          "IterateAll: enSequentialWrite, waitIterateAll and fakeMsg do not exist on this chip");
    }
    npu_model::Core::Current().ScalarCacheCleanInvalidate(0, 0, site);
    while (Iterate<sync>(false, site)) GetTensorC<sync>(gm, enAtomic, false, site);
  }
  template <bool sync = true>
  void IterateAll(const LocalTensor<DstT>& ubCmatrix, uint8_t enAtomic = 0, Site site = Site::Here()) {
    static_assert(sync, "Matmul: asynchronous IterateAll<false> does not exist on Ascend 310P");
    npu_model::Core::Current().ScalarCacheCleanInvalidate(0, 0, site);
    while (Iterate<sync>(false, site)) GetTensorC<sync>(ubCmatrix, enAtomic, false, site);
  }

  void End(Site site = Site::Here()) { engine_.End(site); }

  void SetSubBlockIdx(uint8_t subBlockIdx, Site site = Site::Here()) {
    if (subBlockIdx == 0) return;
    npu_model::Core::Current().Fault(npu_model::Rule::kParam, "Matmul", site,
                                     "SetSubBlockIdx: this chip's cores have no sub-blocks, the index must be 0");
  }
  uint8_t GetSubBlockIdx() const { return 0; }

  ASCENDC_MODEL_MATMUL_WITHOUT(WaitIterateAll, "does not exist on Ascend 310P")
  ASCENDC_MODEL_MATMUL_WITHOUT(WaitIterateBatch, "does not exist on Ascend 310P")
  ASCENDC_MODEL_MATMUL_WITHOUT(WaitGetTensorC, "does not exist on Ascend 310P")
  ASCENDC_MODEL_MATMUL_WITHOUT(AsyncGetTensorC, "does not exist on Ascend 310P")
  ASCENDC_MODEL_MATMUL_WITHOUT(SetHF32, "does not exist on Ascend 310P")
  ASCENDC_MODEL_MATMUL_WITHOUT(SetWorkspace, "does not exist on Ascend 310P")
  ASCENDC_MODEL_MATMUL_WITHOUT(SetUserDefInfo, "does not exist on Ascend 310P")
  ASCENDC_MODEL_MATMUL_WITHOUT(SetSelfDefineData, "does not exist on Ascend 310P")
  ASCENDC_MODEL_MATMUL_WITHOUT(SetSparseIndex, "does not exist on Ascend 310P")
  ASCENDC_MODEL_MATMUL_WITHOUT(IterateBatch, "exists on Ascend 310P, but not in the host model")
  ASCENDC_MODEL_MATMUL_WITHOUT(IterateNBatch, "exists on Ascend 310P, but not in the host model")
  ASCENDC_MODEL_MATMUL_WITHOUT(SetBatchNum, "exists on Ascend 310P, but not in the host model")
  ASCENDC_MODEL_MATMUL_WITHOUT(SetAntiQuantScalar, "exists on Ascend 310P, but not in the host model")
  ASCENDC_MODEL_MATMUL_WITHOUT(SetAntiQuantVector, "exists on Ascend 310P, but not in the host model")

 private:
  void BiasFrom(const npu_model::issue::View& bias, Site site) {
    static_assert(MM_CFG.enableSetBias, "Matmul: SetBias, but the MatmulConfig has enableSetBias false");
    if constexpr (std::is_same_v<BiasT, std::conditional_t<kInt8, int32_t, float>>) {
      engine_.SetBias(bias, site);
    } else {
      npu_model::Core::Current().Abort(
          npu_model::Rule::kUnsupported, "Matmul", site,
          "SetBias: on this chip a bias is float for half operands, int32_t for int8_t operands");
    }
  }

  npu_model::matmul::Engine engine_;
};
#undef ASCENDC_MODEL_MATMUL_WITHOUT

template <class A_TYPE, class B_TYPE, class C_TYPE, class BIAS_TYPE = C_TYPE, const auto& MM_CFG = CFG_NORM,
          class MM_CB = MatmulCallBackFunc<>>
using Matmul = MatmulImpl<A_TYPE, B_TYPE, C_TYPE, BIAS_TYPE, MM_CFG, MM_CB>;

// Which kernels have from Matmul's headers too.
template <typename T>
constexpr T Ceil(T num1, T num2) {
  return (num1 + num2 - 1) / num2;
}
template <typename T>
constexpr T CeilAlign(T num1, T num2) {
  return Ceil(num1, num2) * num2;
}

namespace detail {

// Object, tiling, object, tiling, ...; a single object may come without.
template <class Object>
void RegisterMatmul(TPipe*, Site, Object&) {}
template <class Object, class... Rest>
void RegisterMatmul(TPipe* pipe, Site site, Object& object, const TCubeTiling* tiling, Rest&&... rest) {
  object.Init(tiling, pipe, site);
  if constexpr (sizeof...(Rest) != 0) RegisterMatmul(pipe, site, rest...);
}

}  // namespace detail
}  // namespace AscendC

namespace matmul = AscendC;

#define REGIST_CUBE_OBJ(tpipe, workspace, ...) \
  (static_cast<void>(workspace), AscendC::detail::RegisterMatmul(tpipe, npu_model::Site::Here(), __VA_ARGS__))
#define REGIST_MATMUL_OBJ REGIST_CUBE_OBJ
#define REGIST_MATMUL_OBJ_STATIC REGIST_CUBE_OBJ
