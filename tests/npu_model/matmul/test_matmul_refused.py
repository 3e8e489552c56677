# SPDX-License-Identifier: Apache-2.0
"""What Matmul on this chip, or in the model, does not do is refused by name: by a report or by the compiler."""

import numpy as np
import pytest
from chunk_gdr import model

KINDS = {
    "plain": {},
    "tiles": {"config": "CFG_MDL"},
    "vector": {"config": "GetNormalConfig(false, false, true)"},
    "small_c": {"c": ("VECIN", "NZ", "half")},
    "a_in_nz": {"a": ("GM", "NZ", False)},
    "a_in_ub": {"a": ("VECOUT", "ND", False)},
    "c_in_ub": {"c": ("VECIN", "NZ", "float")},
    "bytes": {"operand": "int8_t", "c": ("GM", "ND", "int32_t")},
    "bytes_in_nz": {"operand": "int8_t", "c": ("GM", "ND", "int32_t"), "b": ("GM", "NZ", False)},
    "scaled": {"operand": "int8_t", "c": ("GM", "ND", "half")},
}

# (entry, case, text)
REPORTS = [
    ("plain", {"workspace": 0}, "no UB to work in: call SetLocalWorkspace with at least 4096 bytes"),
    ("plain", {"workspace": 4096 - 32}, "SetLocalWorkspace gave 4064 bytes, 4096 are needed"),
    (
        "small_c",
        {"workspace": 512, "k": 97, "tiling": {"baseN": 16}},
        "SetLocalWorkspace gave 512 bytes, 1024 are needed",
    ),
    ("bytes", {"workspace": 4096, "tiling": {"baseK": 128}}, "SetLocalWorkspace gave 4096 bytes, 6144 are needed"),
    ("scaled", {"workspace": 2048, "quant": 2}, "SetLocalWorkspace gave 2048 bytes, 2304 are needed"),
    ("vector", {}, "enVecND2NZ: transLength is 32 bytes, must be a multiple of 32 and at least 4096"),
    (
        "vector",
        {"workspace": 4096, "tiling": {"transLength": 4096}},
        "SetLocalWorkspace gave 4096 bytes, 8192 are needed",
    ),
    ("plain", {"n": 60}, "C in ND: N is 60, rows must be multiples of 32 bytes on this chip"),
    ("plain", {"tail": (-1, 20, -1)}, "rows of 64 elements, of which one core writes 20"),
    ("plain", {"tiling": {"baseM": 24}}, "base block [24, 32, 32] must be multiples of 16, 16, 16"),
    ("bytes", {"tiling": {"baseK": 48}}, "base block [32, 32, 48] must be multiples of 16, 16, 32"),
    ("plain", {"tiling": {"depthA1": 0}}, "depthA1 is 0, must be positive"),
    ("plain", {"tiling": {"stepKb": -1}}, "stepKb is -1, must be positive"),
    ("plain", {"tiling": {"iterateOrder": 2}}, "iterateOrder is 2, must be 0 or 1"),
    ("plain", {"tiling": {"dbL0C": 0}}, "dbL0A, dbL0B, dbL0C must be 1 or 2, got 0"),
    ("plain", {"tiling": {"baseM": 256, "baseK": 128}}, "must fit 32768 bytes of L0A and L0B"),
    ("plain", {"tiling": {"depthA1": 600}}, "A and B take 1232896 bytes of L1, of which 1048576 are left"),
    (
        "plain",
        {"tiling": {"baseM": 512, "baseN": 512, "baseK": 16}},
        "the result 1048576 bytes of L0C, of which 262144",
    ),
    ("tiles", {"tiling": {"stepM": 2, "depthA1": 4}}, "stepM and stepN must be 1 where L1 does not hold all of K"),
    ("tiles", {"k": 160, "tiling": {"stepKa": 2, "stepKb": 3, "depthB1": 6}}, "the loads of A and B along K multiples"),
    ("a_in_nz", {"m": 40}, "operand A is [40, 96] in NZ: rows must be a multiple of 16, columns of 16"),
    ("a_in_ub", {"k": 40}, "operand A is [48, 40] in UB, ND: rows must be multiples of 32 bytes"),
    (
        "bytes_in_nz",
        {"tiling": {"baseN": 48}},
        "of bytes, not transposed: baseN must be a multiple of 32 for NZ and for UB",
    ),
    ("plain", {"atomic": 2}, "enAtomic: only 1 (add) exists on this chip"),
    ("bytes", {"atomic": 1}, "enAtomic: this chip adds float and half results in GM only"),
    ("c_in_ub", {"atomic": 1}, "enAtomic: this chip adds float and half results in GM only"),
    ("scaled", {}, "SetQuantScalar or SetQuantVector first"),
]


@pytest.fixture(scope="module")
def lib(mm, tmp_path_factory):
    kinds = {name: mm.Kind(**keys) for name, keys in KINDS.items()}
    return mm.build_products(kinds, tmp_path_factory.mktemp("refused"))


@pytest.mark.parametrize("entry, keys, text", REPORTS, ids=lambda value: value if isinstance(value, str) else "")
def test_tiling_and_shapes(mm, lib, entry, keys, text):
    report, _, _ = mm.launch(lib, entry, mm.Case(kind=mm.Kind(**KINDS[entry]), **keys))
    assert text in report.error
    assert report.errors == 1 and "product.h" in report.text  # that alone, with the kernel's line


# (statements, what is said)
CALLS = [
    ("mm.SetTensorA(a); mm.Iterate();", "no tiling: REGIST_MATMUL_OBJ with a tiling or Init first"),
    ("mm.Init(&cube); mm.SetTensorA(a); mm.IterateAll(c);", "no operand B: call SetTensorB first"),
    ("mm.Init(&cube); mm.GetTensorC(c);", "there is no result, call Iterate first"),
    ("mm.Init(&cube); mm.SetBias(bias);", "SetBias: the tiling has isBias 0"),
    ("mm.Init(&biased); mm.SetTensorA(a); mm.SetTensorB(b); mm.IterateAll(c);", "call SetBias or DisableBias"),
    ("mm.Init(&cube); mm.SetTensorA(a, true);", "SetTensorA: transposed, but the operand's type has ISTRANS false"),
    ("mm.Init(&cube); mm.SetTensorA(local);", "SetTensorA: the tensor is in UB, the operand's type says otherwise"),
    ("mm.Init(&cube); mm.SetTensorA(a); mm.SetTensorB(b); mm.Iterate(true);", "enPartialSum, but there is no result"),
    (
        "mm.Init(&cube); mm.SetTensorA(a); mm.SetTensorB(b); mm.Iterate(); mm.Iterate();",
        "the result of the previous one was not fetched",
    ),
    (
        "mm.Init(&cube); mm.SetTensorA(a); mm.SetTensorB(b); mm.Iterate(); mm.Iterate(true);",
        "enPartialSum needs singleCoreM <= baseM and singleCoreN <= baseN",
    ),
    ("mm.Init(&cube); mm.SetTail(0); mm.SetTensorA(a); mm.SetTensorB(b); mm.Iterate();", "must not be 0"),
    ("mm.Init(&cube); mm.SetTensorA(a); mm.SetTensorB(b); mm.IterateAll(c, 0, true);", "enSequentialWrite"),
    ("mm.SetSubBlockIdx(1);", "this chip's cores have no sub-blocks, the index must be 0"),
    ("mm.Init(nullptr);", "Init needs a tiling and a TPipe that is alive"),
    ("half_bias.Init(&biased); half_bias.SetBias(a);", "on this chip a bias is float for half operands"),
    (
        "mm.Init(&cube); TBuf<TPosition::A1> behind; pipe.InitBuffer(behind, 32); mm.Init(&large);",
        "register all objects first",
    ),
]

BODY = """
extern "C" __global__ __aicore__ void call{number}(GM_ADDR x, GM_ADDR, GM_ADDR tiling) {{
  GET_TILING_DATA_WITH_STRUCT(Tilings, tilings, tiling);
  [[maybe_unused]] const TCubeTiling &cube = tilings.cube, &biased = tilings.biased, &large = tilings.large;
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 32768);
  const LocalTensor<half> local = buffer.Get<half>();
  GlobalTensor<half> a, b;
  GlobalTensor<float> c, bias;
  a.SetGlobalBuffer(reinterpret_cast<half*>(x));
  b.SetGlobalBuffer(reinterpret_cast<half*>(x));
  c.SetGlobalBuffer(reinterpret_cast<float*>(x));
  bias.SetGlobalBuffer(reinterpret_cast<float*>(x));
  Matmul<Rows, Rows, Result> mm;
  Matmul<Rows, Rows, Result, Rows> half_bias;
  mm.SetLocalWorkspace(buffer.Get<uint8_t>());
  {statements}
}}
"""

HEAD = """
#include "kernel_operator.h"
#include "lib/matmul_intf.h"
using namespace AscendC;
template <TPosition position, class T = half, CubeFormat format = CubeFormat::ND, bool transposed = false>
using Type = MatmulType<position, format, T, transposed>;
using Rows = Type<TPosition::GM>;
using Result = Type<TPosition::GM, float>;
using Bytes = Type<TPosition::GM, int8_t>;
struct Tilings { TCubeTiling cube, biased, large; };
"""


def test_calls(mm, tmp_path):
    source = tmp_path / "calls.cpp"
    source.write_text(HEAD + "".join(BODY.format(number=i, statements=call) for i, (call, _) in enumerate(CALLS)))
    lib = model.build(source)
    tiling = mm.cube_tiling(64, 64, 64) + mm.cube_tiling(64, 64, 64, isBias=1) + mm.cube_tiling(64, 64, 64, depthA1=4)
    for number, (call, text) in enumerate(CALLS):
        report = model.run(lib, f"call{number}", {"x": np.zeros(1 << 16, np.float32)}, tiling=tiling)
        assert any(text in item["report"] for item in report.hazards), (call, report.text)


# (type of an object or a statement with `mm`, what the compiler must say)
TYPES = [
    (
        "Matmul<Type<TPosition::TSCM>, Rows, Result>",
        "takes A and B from GM or UB (VECOUT, VECIN, VECCALC), not from TSCM",
    ),
    (
        "Matmul<Rows, Rows, Type<TPosition::CO1, float, CubeFormat::NZ>>",
        "writes C to GM or UB (VECIN, VECCALC), not to CO1",
    ),
    (
        "Matmul<Type<TPosition::GM, float>, Type<TPosition::GM, float>, Result>",
        "supports only half, int8_t for A and B",
    ),
    ("Matmul<Rows, Bytes, Result>", "half A and int8_t B exists on Ascend 310P, but not in the host model"),
    ("Matmul<Bytes, Rows, Result>", "no product of int8_t A and half B"),
    (
        "Matmul<Rows, Rows, Bytes>",
        "supports only half x half -> float, half and int8_t x int8_t -> int32_t, half, int8_t",
    ),
    (
        "Matmul<Type<TPosition::GM, half, CubeFormat::VECTOR>, Rows, Result>",
        "supports only CubeFormat ND and NZ for A and B",
    ),
    (
        "Matmul<Rows, Rows, Type<TPosition::GM, float, CubeFormat::COLUMN_MAJOR>>",
        "only CubeFormat ND, NZ and ND_ALIGN for C",
    ),
    (
        "Matmul<Type<TPosition::GM, int8_t, CubeFormat::ND, true>, Bytes, Type<TPosition::GM, int32_t>>",
        "cannot transpose an int8_t A",
    ),
    (
        "Matmul<MatmulType<TPosition::GM, CubeFormat::ND, half, false, LayoutMode::NONE, true>, Rows, Result>",
        "IBShare of Matmul does not exist",
    ),
    (
        "Matmul<MatmulType<TPosition::GM, CubeFormat::ND, half, false, LayoutMode::NORMAL>, Rows, Result>",
        "batches of Matmul exist on Ascend 310P, but not in the host model",
    ),
    ("Matmul<Rows, Rows, Result, Result, CFG_NORM, MatmulCallBackFunc<Callback>>", "callbacks of Matmul do not exist"),
    ("Matmul<Rows, Rows, Result, Result, CFG_IBSHARE_NORM>", "has only the Norm and the MDL template"),
    ("Matmul<Rows, Rows, Result, Result, MM_CFG_BB>", "has only the Norm and the MDL template"),
    ("Matmul<Rows, Rows, Result, Result, kOuter>", "this MatmulConfig switches on what Ascend 310P does not have"),
    (
        "Matmul<Rows, Rows, Result, Result, kCached>",
        "enableL1CacheUB of Matmul exists on Ascend 310P, but not in the host model",
    ),
    ("Matmul<Rows, Rows, Result, Result, kPreload>", "doMTE2Preload of Matmul is not in the host model"),
    (
        "Matmul<Type<TPosition::VECOUT>, Rows, Result, Result, kVector>",
        "enVecND2NZ of Matmul does not exist for ND operands in UB",
    ),
    ("Matmul<Bytes, Bytes, Bytes>", "an int8_t C of Matmul in rows needs enVecND2NZ"),
    ("Matmul<Bytes, Bytes, Type<TPosition::VECIN, int8_t>>", "an int8_t C of Matmul in UB must be NZ"),
]
STATEMENTS = [
    ("mm.Iterate<false>();", "asynchronous Iterate<false> does not exist on Ascend 310P"),
    ("mm.IterateAll<false>(c);", "asynchronous IterateAll<false> does not exist on Ascend 310P"),
    ("mm.GetTensorC<false>(c);", "asynchronous GetTensorC<false> does not exist on Ascend 310P"),
    ("mm.Iterate(false, c_local);", "Iterate into a CO1 tensor of the kernel does not exist on Ascend 310P"),
    ("mm.SetTensorA(static_cast<half>(1.0f));", "SetTensorA of a scalar does not exist on Ascend 310P"),
    ("mm.SetTensorB(1.0f);", "SetTensorB of a scalar does not exist on Ascend 310P"),
    ("mm.SetQuantScalar(1);", "SetQuantScalar is for int8_t A, B and half, int8_t C"),
    ("mm.SetQuantVector(words);", "SetQuantVector of a local tensor does not exist on Ascend 310P"),
    ("GetBasicConfig(128, 128, 64);", "the BasicBlock template of Matmul does not exist"),
    ("GetIBShareNormConfig();", "the IBShare template of Matmul does not exist"),
    ("GetSpecialMDLConfig();", "the SpecialMDL template of Matmul does not exist"),
    ("GetMMConfig<MatmulConfigMode::CONFIG_IBSHARE>();", "the SpecialMDL and IBShare templates of Matmul do not exist"),
    ("GetMatmulApiTiling<Rows, Rows, Result>(CFG_NORM);", "constant tiling of Matmul does not exist"),
    *((f"mm.{name}();", f"{name} does not exist on Ascend 310P") for name in (
        "WaitIterateAll", "WaitIterateBatch", "WaitGetTensorC", "AsyncGetTensorC", "SetHF32", "SetWorkspace",
        "SetUserDefInfo", "SetSelfDefineData", "SetSparseIndex")),
    *((f"mm.{name}();", f"{name} exists on Ascend 310P, but not in the host model") for name in (
        "IterateBatch", "IterateNBatch", "SetBatchNum", "SetAntiQuantScalar", "SetAntiQuantVector")),
]  # fmt: skip

PARAMETERS = (
    "[[maybe_unused]] Matmul<Rows, Rows, Result>& mm, [[maybe_unused]] GlobalTensor<float>& c, "
    "[[maybe_unused]] LocalTensor<float>& c_local, [[maybe_unused]] LocalTensor<uint64_t>& words"
)
TYPES_HEAD = """
void Callback(const void*) {}
constexpr MatmulConfig kOuter = GetNormalConfig(false, false, false, BatchMode::NONE, true, IterateOrder::ORDER_M);
constexpr MatmulConfig kCached = GetMDLConfig(false, false, 0, true, false, false, false, true, true, true);
constexpr MatmulConfig kPreload = GetMDLConfig(false, false, 1);
constexpr MatmulConfig kVector = GetNormalConfig(false, false, true);
"""


def test_types_and_statements_fail_to_compile(tmp_path):
    """All in one file, each on a line of its own, and g++ goes on."""
    functions = [f'#line 1 "type{i}"\nvoid Type{i}() {{ {text} object; }}\n' for i, (text, _) in enumerate(TYPES)]
    functions += [
        f'#line 1 "statement{i}"\nvoid Statement{i}({PARAMETERS}) {{ {text} }}\n'
        for i, (text, _) in enumerate(STATEMENTS)
    ]
    source = tmp_path / "snippets.cpp"
    source.write_text(HEAD + TYPES_HEAD + "".join(functions))
    with pytest.raises(model.BuildError) as error:
        model.build(source, flags=["-fmax-errors=0"])
    text = str(error.value)
    wanted = [(f"type{i}:", said) for i, (_, said) in enumerate(TYPES)]
    wanted += [(f"statement{i}:", said) for i, (_, said) in enumerate(STATEMENTS)]
    assert [said for place, said in wanted if said not in text] == []
    assert [place for place, _ in wanted if place not in text] == []


PATHS = [
    "lib/matmul_intf.h",
    "lib/matmul/matmul_intf.h",
    "lib/matmul/matmul.h",
    "lib/matrix/matmul/matmul.h",
    "lib/matrix/matmul/matmul_intf.h",
]


def test_spellings_compile(tmp_path):
    """Every include path, both namespaces, every way to a configuration; object of every legal kind of call."""
    source = tmp_path / "spellings.cpp"
    source.write_text(
        "".join(f'#include "{path}"\n' for path in PATHS)
        + """
using namespace matmul;
namespace {
using Rows = AscendC::MatmulType<AscendC::TPosition::GM, CubeFormat::ROW_MAJOR, half, true>;
using Result = matmul::MatmulType<AscendC::TPosition::VECIN, AscendC::CubeFormat::NZ, float>;
constexpr AscendC::MatmulConfig kByHand{true, false, false, 0, 0, 0, false, false, false};
constexpr MatmulConfig kMade =
    GetMMConfig<MatmulConfigMode::CONFIG_MDL>(MatmulFuncParams{true, true}, MatmulShapeParams{});
static_assert(kMade.doMultiDataLoad && kMade.enVecND2NZ && kMade.intrinsicsCheck && !kMade.enableUBReuse);
using NoCallback = MatmulCallBackFunc<nullptr, nullptr, nullptr>;
}  // namespace
extern "C" __global__ __aicore__ void k(GM_ADDR x, GM_ADDR, GM_ADDR) {
  AscendC::TPipe pipe;
  TCubeTiling tiling;
  AscendC::GlobalTensor<half> gm;
  AscendC::GlobalTensor<float> to;
  AscendC::LocalTensor<float> ub;
  gm.SetGlobalBuffer(reinterpret_cast<half*>(x));
  matmul::Matmul<Rows, Rows, Result> mm1;
  AscendC::Matmul<Rows, Rows, Result, Result, CFG_MDL, NoCallback> mm2;
  matmul::MatmulImpl<Rows, Rows, Result, Result, kByHand> mm3;
  Matmul<Rows, Rows, Result, Result, kMade> mm4;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm1, &tiling, mm2, &tiling, mm3, &tiling, mm4, &tiling);
  mm1.SetOrgShape(1, 2, 3);
  mm1.SetOrgShape(1, 2, 3, 4, 5);
  mm1.SetSingleShape(1, 2, 3);
  mm1.SetTail(1);
  mm1.SetTensorA(gm, true);
  mm1.SetTensorB(gm, false);
  mm1.DisableBias();
  mm1.ClearBias();
  mm1.SetSubBlockIdx(0);
  while (mm1.template Iterate<true>()) {
    mm1.template GetTensorC<true>(ub, false, true);
    mm1.GetTensorC(to, ub);
  }
  mm1.IterateAll(ub);
  mm1.End();
}
"""
    )
    assert model.build(source, flags=["-Wall", "-Wextra", "-Werror"]).is_file()
