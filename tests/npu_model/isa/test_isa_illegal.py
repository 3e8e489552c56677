# SPDX-License-Identifier: Apache-2.0
"""What the chip does not accept is rejected by name: by a report if values decide, by the compiler if types do."""

import struct

import numpy as np
import pytest
from chunk_gdr import model

# (rule, call, text)
REPORTS = [
    ("Param", "Add", "mask is 0, must be 1..64"),
    ("Param", "Add", "mask is 65, must be 1..64"),
    ("Param", "Add", "mask is 0: illegal in normal mode"),
    ("Param", "Add", "mask[1] must be 0 for 64 lanes"),
    ("Param", "Add", "count is -1, must not be negative"),
    ("Param", "Adds", "dstBlkStride is 0"),
    ("Param", "Add", "no lane of the mask register is active"),
    ("Unsupported", "Cast", "Cast from float to half does not support RoundMode::CAST_RINT"),
    ("Unsupported", "Cast", "Cast from half to float does not support RoundMode::CAST_ODD"),
    ("Unsupported", "Cast", "Cast from float to half does not support RoundMode::CAST_TRUNC"),
    ("Buffer2", "Add", "vector operands must be in UB (VECIN, VECOUT, VECCALC), got L0C"),
    ("Param", "DataCopy", "blockCount is 0, must be 1..4095"),
    ("Param", "DataCopy", "blockCount is 4096, must be 1..4095"),
    ("Param", "DataCopy", "blockLen is 0, must be 1..65535"),
    ("Param", "DataCopy", "the count is 36 bytes, must be a positive multiple of 32"),
    ("Param", "DataCopy", "the count is 0 bytes"),
    ("Unsupported", "DataCopy", "there is no copy from L1 to L0A on this chip"),
    ("Unsupported", "DataCopy", "L0C <-> UB needs BLOCK_MODE_MATRIX or BLOCK_MODE_VECTOR on this chip"),
    ("Unsupported", "DataCopy", "L0C <-> UB needs BLOCK_MODE_MATRIX or BLOCK_MODE_VECTOR on this chip"),
    ("Unsupported", "LoadData", "there is no LoadData from L1 to UB"),
    ("Param", "Mmad", "m, n, k are 4096, 16, 16, must be 0..4095"),
    ("Buffer2", "Mmad", "operands must be in L0C, L0A, L0B, got L0C, L1, L0B"),
    ("Unsupported", "Mmad", "cmatrixSource must be 0"),
    ("Buffer2", "Fill", "the destination must be in L1, L0A or L0B, got UB"),
    ("Param", "Fill", "repeatTimes is 256, must be 0..255"),
    ("Param", "Compare", "count is 100: count * sizeof(T) must be a positive multiple of 256"),
    ("Param", "Select", "two tensors need VSEL_CMPMASK_SPR or VSEL_TENSOR_TENSOR_MODE"),
    ("Unsupported", "WholeReduceMax", "only ORDER_VALUE_INDEX and ORDER_INDEX_VALUE exist"),
    ("Param", "WholeReduceSum", "repeatTime is 256, must be 0..255"),
    ("Param", "BlockReduceSum", "strides must be 0..65535"),
    ("Write4", "Add", "32"),
    ("Read4", "Add", "32"),
    ("Param", "SetFlag", "event id 8 of V_MTE3 is outside 0..7"),
    ("Buffer3", "TBuf::Get", "leaves the buffer"),
    ("Buffer3", "TBuf::GetWithOffset", "starts off a 32-byte address"),
    ("Unsupported", "DataCopy", "Nd2NzParams copies GM to L1 only, got UB"),
    ("Write4", "Mmad", "1024"),
    ("Param", "Duplicate", "mask is 129, must be 1..128"),
    ("Unsupported", "SetFmatrix", "FMATRIX_RIGHT does not exist"),
    ("Param", "LoadData", "leaves the matrix of 16 x 16"),
    ("Param", "Cast", "mask is 65, must be 1..64"),
    ("Param", "ASCENDC_ASSERT", "assertion failed: variant.number == 0"),
]


@pytest.mark.parametrize("number", range(len(REPORTS)), ids=lambda i: f"{i}-{REPORTS[i][1]}")
def test_rejected(isa_lib, number):
    rule, call, text = REPORTS[number]
    report = model.run(
        isa_lib("illegal"), "illegal", {"in": np.zeros(4096, np.float32)}, tiling=struct.pack("<I", number)
    )
    assert report.errors >= 1
    found = [
        item
        for item in report.hazards
        if item["rule"] == rule and item["access"]["op"] == call and text in item["report"]
    ]
    assert found, report.text
    assert "illegal.cpp" in found[0]["report"]


def test_assert_prints_and_stops(isa_lib):
    report = model.run(isa_lib("illegal"), "illegal", {"in": np.zeros(4096, np.float32)}, tiling=struct.pack("<I", 41))
    assert "assertion failed" in report.error
    assert any("variant 41" in text for text in report.to_dict()["blocks"][0]["prints"])


BODY = """
#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void k(GM_ADDR x, GM_ADDR, GM_ADDR) {{
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 4096);
  auto f = buffer.Get<float>();
  auto h = buffer.Get<half>();
  auto i32 = buffer.Get<int32_t>();
  auto i16 = buffer.Get<int16_t>();
  auto u8 = buffer.Get<uint8_t>();
  GlobalTensor<float> g;
  g.SetGlobalBuffer(reinterpret_cast<float*>(x));
  {}
}}
"""

# (statement, what the compiler must say)
SNIPPETS = [
    ("DataCopyPad(f, g, DataCopyParams(), DataCopyPadParams());", "DataCopyPad does not exist on Ascend 310P"),
    ("Copy(f, f, 64, 1, CopyRepeatParams());", "Copy does not exist on Ascend 310P"),
    ("ShiftLeft(i32, i32, 2, 64);", "ShiftLeft does not exist on Ascend 310P"),
    ("ShiftRight(i16, i16, static_cast<int16_t>(2), 64);", "ShiftRight does not exist on Ascend 310P"),
    ("Ands(i16, i16, i16, 64);", "Ands does not exist on Ascend 310P"),
    ("Gatherb(f, f, f, 1, GatherRepeatParams());", "Gatherb does not exist on Ascend 310P"),
    ("Fixpipe(g, f, 1);", "Fixpipe does not exist on Ascend 310P"),
    ("LoadDataWithTranspose(h, h, 1);", "LoadDataWithTranspose does not exist on Ascend 310P"),
    ("Add(u8, u8, u8, 64);", "Add supports only half, float, int16_t, int32_t on Ascend 310P"),
    ("Div(i32, i32, i32, 64);", "Div supports only half, float on Ascend 310P"),
    ("And(i32, i32, i32, 64);", "And supports only int16_t, uint16_t on Ascend 310P"),
    ("Exp(i32, i32, 64);", "Exp supports only half, float on Ascend 310P"),
    ("MulAddDst(h, f, f, 64);", "MulAddDst supports only half+half, float+float, float+half"),
    ("Axpy(i32, i32, 1, 64);", "Axpy supports only half+half, float+float, float+half"),
    ("Duplicate(u8, static_cast<uint8_t>(1), 64);", "Duplicate supports only 16- and 32-bit types"),
    ("Cast(i16, f, RoundMode::CAST_RINT, 64);", "this Cast does not exist on Ascend 310P"),
    ("Compare(u8, i32, i32, CMPMODE::LT, 64);", "Compare supports only half, float"),
    ("SetAtomicAdd<int32_t>();", "SetAtomicAdd supports only float, half, int16_t"),
    ("SetAtomicMax<float>();", "SetAtomicMax does not exist on Ascend 310P"),
    ("SyncAll();", "hardware SyncAll does not exist on Ascend 310P"),
    ("PipeBarrier<PIPE_S>();", "PipeBarrier<PIPE_S> is illegal"),
    ("SetFlag<HardEvent::M_FIX>(0);", "M_FIX"),
    ("PipeBarrier<PIPE_FIX>();", "PIPE_FIX"),
    ("Mmad(f, f, f, MmadParams());", "Mmad supports only half x half"),
    ("Mmad(f, h, h, f, MmadParams());", "Mmad with a bias tensor does not exist"),
    ("Fill(f, InitConstValueParams<float>(1, 0.0f));", "Fill supports only half, int16_t, uint16_t"),
    ("LoadData(f, f, LoadData2DParams());", "LoadData supports only 8- and 16-bit types"),
    ("DataCopy(f, h, DataCopyParams());", "DataCopy between element types needs DataCopyEnhancedParams"),
    (
        "DataCopy(i16, h, DataCopyParams(), DataCopyEnhancedParams());",
        "this conversion between L0C and UB does not exist",
    ),
    ("DataCopy(h, h, Nd2NzParams());", "UB -> L1 with Nd2NzParams does not exist"),
    ("KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);", "this kernel type does not exist on Ascend 310P"),
    ("GetSystemCycle();", "GetSystemCycle does not exist on Ascend 310P"),
    ("CrossCoreSetFlag<0, PIPE_MTE3>(0);", "CrossCoreSetFlag does not exist on Ascend 310P"),
    ("bfloat16_t b;", "bfloat16_t"),
    (
        "LocalMemAllocator<Hardware::UB> pool; pool.Alloc<TPosition::A1, half>(16);",
        "does not lie in this allocator's memory",
    ),
    ("CastDequant(h, i32, 64);", "CastDequant supports only int16_t to int8_t, uint8_t"),
    ("AddReluCast(i16, f, f, 64);", "AddReluCast supports only float to half, half to int8_t, int16_t to int8_t"),
    ("MulCast(i16, h, h, 64);", "MulCast supports only half to int8_t, uint8_t"),
    ("Scatter(f, f, i32, 0, 64);", "Scatter exists on Ascend 310P, but not in the host model"),
    ("LoadData(i16, i16, LoadData3DParamsV1<int16_t>());", "LoadData3DParamsV1 supports only half, int8_t, uint8_t"),
    ("SetDeqScale(f, VdeqInfo());", "SetDeqScale takes a tensor of uint64_t"),
    ("TBufPool<TPosition::A2> pool;", "a TBufPool lies in UB (VECIN, VECOUT, VECCALC) or L1 (A1, B1)"),
    (
        "TBufPool<TPosition::A1> pool; TBuf<TPosition::VECCALC> other; pool.InitBuffer(other, 64);",
        "does not lie in the pool's memory",
    ),
    ("ReduceMax(i32, i32, i32, 64);", "ReduceMax supports only half, float"),
    ("ScalarCast<float, half, RoundMode::CAST_NONE>(1.0f);", "ScalarCast to half has only CAST_ODD"),
    ("const uint64_t mask[2] = {1, 0}; Add(f, f, f, mask, 1, BinaryRepeatParams());", "no matching function"),
]


def test_snippets_fail_to_compile(tmp_path):
    """A compilation per wrong statement would be slow: each is a function of one file, and g++ goes on."""
    functions = []
    for number, (statement, _) in enumerate(SNIPPETS):
        body = BODY.format(statement).split("extern", 1)[1].replace(" k(", f" snippet{number}(")
        functions.append(f'#line 1 "snippet{number}"\nextern{body}')
    source = tmp_path / "snippets.cpp"
    source.write_text('#include "kernel_operator.h"\nusing namespace AscendC;\n' + "\n".join(functions))
    with pytest.raises(model.BuildError) as error:
        model.build(source, flags=["-fmax-errors=0"])
    text = str(error.value)
    missing = [(statement, wanted) for statement, wanted in SNIPPETS if wanted not in text]
    assert not missing
    # Each function is complained about by itself.
    silent = [statement for number, (statement, _) in enumerate(SNIPPETS) if f"snippet{number}:" not in text]
    assert not silent


def test_body_without_a_wrong_statement_compiles(tmp_path):
    source = tmp_path / "fine.cpp"
    source.write_text(BODY.format("Add(f, f, f, 64);"))
    assert model.build(source).is_file()
