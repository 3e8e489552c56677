# SPDX-License-Identifier: Apache-2.0
"""op_host without CANN: compiled against declarations made after its documentation, and played to as CANN would."""

import ctypes
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from chunk_gdr import _C, model

ROOT = Path(__file__).resolve().parents[2]
DECLARATIONS = ROOT / "tests/op_host/cann"
SOURCES = sorted(ROOT.glob("op_host/*/*.cpp"))
FLOAT, HALF, INT64 = 0, 1, 9
SYSTEM = 2 * 1024 * 1024
(QUERY, KEY, VALUE, BETA, STATE, LENGTHS, G, CHUNK_STATE) = range(8)

WARNINGS = ["-std=c++17", "-Wall", "-Wextra", "-Werror"]
HOST_FLAGS = [*WARNINGS, f"-I{DECLARATIONS}", f"-I{ROOT}"]


@pytest.fixture(scope="session")
def cann(tmp_path_factory):
    """A request as text -> the answer of the operator, as text."""
    library = tmp_path_factory.mktemp("op_host") / "op_host.so"
    command = [os.environ.get("CXX", "g++"), *HOST_FLAGS, "-O0", "-shared", "-fPIC", "-o", str(library)]
    sources = [*SOURCES, ROOT / "tests/op_host/driver.cpp"]
    done = subprocess.run([*command, *map(str, sources)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    play = ctypes.CDLL(str(library)).play
    play.restype = ctypes.c_char_p
    return lambda request: play(request.encode()).decode().strip()


def operands(shapes):
    """{input: (dims, dtype)} as text."""
    return " ".join(f"{i}={','.join(map(str, dims))}:{dtype}" for i, (dims, dtype) in shapes.items())


def shapes(tokens=200, batch=3, nk=2, nv=4, dk=48, dv=32, state=FLOAT, rows=7):
    pitch = _C.gate_pitch(tokens)
    return {
        QUERY: ((tokens, nk, dk), HALF),
        KEY: ((tokens, nk, dk), HALF),
        VALUE: ((tokens, nv, dv), HALF),
        BETA: ((nv, pitch), FLOAT),
        STATE: ((batch, nv, dv, dk), state),
        LENGTHS: ((batch,), INT64),
        G: ((nv, pitch), FLOAT),
        CHUNK_STATE: ((rows, nv, dv, dk), state),
    }


def without(inputs, *absent):
    return {i: x for i, x in inputs.items() if i not in absent}


# --- definition


def test_definition(cann):
    lines = cann("define").splitlines()
    assert lines[0] == "op ChunkGatedDeltaRule" and lines[-1] == "chip ascend310p"
    names = [line.split()[1] for line in lines if line.startswith(("input", "output"))]
    columns = {line.split()[1]: re.search(r"types=(\S+)", line)[1] for line in lines if line.startswith(("in", "out"))}
    assert columns == {
        "query": "1,1", "key": "1,1", "value": "1,1", "beta": "0,0", "initial_state": "0,1",
        "actual_seq_lengths": "9,9", "g": "0,0", "chunk_state": "0,1", "out": "1,1", "final_state": "0,1",
    }  # fmt: skip
    assert all("formats=2 contiguous=1" in line for line in lines if line.startswith(("input", "output")))
    required = [line.split()[1] for line in lines if " option=2 " in line]
    assert required == ["query", "key", "value", "out", "final_state"]
    assert [line.split()[1] for line in lines if line.startswith("attr")] == ["scale", "use_qk_l2norm_in_kernel"]

    # CANN passes the tensors in the order of the definition: that of the kernel's entry.
    entry = (ROOT / "op_kernel/chunk_gated_delta_rule/entry.cpp").read_text()
    parameters = re.findall(r"GM_ADDR (\w+)", entry.partition("extern")[2].partition(")")[0])
    renamed = ["lengths" if name == "actual_seq_lengths" else name for name in names]
    assert parameters == [*renamed, "workspace", "tiling"]


# --- inference


@pytest.mark.parametrize("state, expected", [(FLOAT, FLOAT), (HALF, HALF), (None, FLOAT)])
def test_inference(cann, state, expected):
    inputs = shapes(state=state) if state is not None else without(shapes(), STATE)
    answer = cann("infer " + operands(inputs))
    assert answer.splitlines() == [f"0=200,4,32:{HALF}", f"1=3,4,32,48:{expected}"]


def test_inference_without_lengths(cann):
    answer = cann("infer " + operands(without(shapes(batch=1), LENGTHS)))
    assert answer.splitlines()[1] == f"1=1,4,32,48:{FLOAT}"


def test_inference_of_what_is_not_known_yet(cann):
    inputs = shapes() | {VALUE: ((-1, 4, 32), HALF), LENGTHS: ((-1,), INT64)}
    assert cann("infer " + operands(inputs)).splitlines() == [f"0=-1,4,32:{HALF}", f"1=-1,4,32,48:{FLOAT}"]
    inputs = shapes() | {LENGTHS: ((-2,), INT64)}
    assert cann("infer " + operands(inputs)).splitlines()[1] == f"1=-1,4,32,48:{FLOAT}"
    inputs = shapes() | {QUERY: ((-2,), HALF)}
    assert cann("infer " + operands(inputs)).splitlines() == [f"0=200,4,32:{HALF}", f"1=-2:{FLOAT}"]


@pytest.mark.parametrize(
    "inputs, message",
    [
        (without(shapes(), QUERY), "operand 'query': expected rank 3, got no tensor"),
        (without(shapes(), VALUE), "operand 'value': expected rank 3, got no tensor"),
        (shapes() | {QUERY: ((200, 48), HALF)}, "operand 'query': expected rank 3, got [200, 48]"),
        (shapes() | {VALUE: ((200, 4, 32, 1), HALF)}, "operand 'value': expected rank 3, got [200, 4, 32, 1]"),
        (shapes() | {LENGTHS: ((), INT64)}, "operand 'actual_seq_lengths': expected rank 1, got []"),
        (shapes() | {LENGTHS: ((3, 1), INT64)}, "operand 'actual_seq_lengths': expected rank 1, got [3, 1]"),
    ],
    ids=["no query", "no value", "query", "value", "scalar lengths", "lengths"],
)
def test_inference_of_wrong_shapes_is_one_line(cann, capfd, inputs, message):
    assert cann("infer " + operands(inputs)) == "failed"
    assert capfd.readouterr().err == f"ChunkGatedDeltaRule: {message}\n"


# --- tiling


def tile(cann, inputs, cores=8, system=SYSTEM, capacity=4096, scale=0.25, l2norm=True):
    answer = cann(f"tile {cores} {system} {capacity} {scale} {int(l2norm)} {operands(inputs)}")
    if answer == "failed":
        return None
    key, blocks, workspace, tiling = answer.split()
    return int(key), int(blocks), int(workspace), bytes.fromhex(tiling)


def plan(inputs, batch, cores=8, scale=0.25, l2norm=True):
    tokens, nk, dk = inputs[QUERY][0]
    _, nv, dv = inputs[VALUE][0]
    gates = inputs.get(G) or inputs.get(BETA)
    return _C.plan(
        total_tokens=tokens, batch=batch, key_heads=nk, value_heads=nv, key_dim=dk, value_dim=dv,
        has_beta=BETA in inputs, has_g=G in inputs, has_initial_state=STATE in inputs, has_lengths=LENGTHS in inputs,
        has_chunk_state=CHUNK_STATE in inputs, state_is_half=inputs.get(STATE, ((), FLOAT))[1] == HALF,
        use_qk_l2norm=l2norm, scale=scale, gate_stride_elems=gates[0][1] if gates else 0,
        core_count=cores,
    )  # fmt: skip


@pytest.mark.parametrize("dim", [64, 80, 96, 128])
@pytest.mark.parametrize("state", [FLOAT, HALF])
def test_tiling_is_the_plan_of_torch(cann, dim, state):
    inputs = shapes(dk=dim, dv=dim, state=state)
    key, blocks, workspace, tiling = tile(cann, inputs)
    expected = plan(inputs, 3)
    assert key == expected["tiling_key"] == dim * 10 + (state == HALF)
    assert blocks == expected["block_num"] and workspace == expected["workspace_bytes"]
    assert tiling == expected["tiling"]


ABSENT = [(BETA,), (G,), (BETA, G), (STATE, CHUNK_STATE), (CHUNK_STATE,), (LENGTHS,)]


@pytest.mark.parametrize("absent", ABSENT, ids=str)
def test_tiling_with_absent_inputs(cann, absent):
    batch = 1 if LENGTHS in absent else 3
    inputs = without(shapes(batch=batch), *absent)
    assert tile(cann, inputs)[3] == plan(inputs, batch)["tiling"]


def test_tiling_follows_the_platform(cann):
    inputs = shapes()
    _, blocks, workspace, tiling = tile(cann, inputs, cores=2, system=16 * 1024 * 1024)
    expected = plan(inputs, 3, cores=2)
    assert blocks == expected["block_num"] <= 2 and tiling == expected["tiling"]
    assert workspace == expected["workspace_bytes"] - SYSTEM + 16 * 1024 * 1024
    assert tile(cann, inputs, cores=10)[1] == plan(inputs, 3)["block_num"]


@pytest.mark.parametrize(
    "changes, message",
    [
        ({KEY: ((200, 2, 32), HALF)}, "operand 'key': expected shape [200, 2, 48], got [200, 2, 32]"),
        ({QUERY: ((200, 96), HALF)}, "operand 'query': expected rank 3, got [200, 96]"),
        ({VALUE: ((199, 4, 32), HALF)}, "operand 'value': expected shape [200, 4, 32], got [199, 4, 32]"),
        ({VALUE: ((200, 3, 32), HALF)}, "operand 'g': expected shape [3, 264], got [4, 264]"),
        ({G: ((4, 272), FLOAT)}, "operand 'beta': expected shape [4, 272], got [4, 264]"),
        ({STATE: ((2, 4, 32, 48), FLOAT)}, "operand 'initial_state': expected shape [3, 4, 32, 48]"),
        ({CHUNK_STATE: ((5, 4, 32, 48), FLOAT)}, "operand 'chunk_state': expected shape [6, 4, 32, 48], got [5, "),
        (
            {CHUNK_STATE: ((6, 4, 32, 48), HALF)},
            "operand 'chunk_state': expected dtype float32 (that of initial_state, without one float32), got float16",
        ),
        ({G: ((4, 200), FLOAT), BETA: ((4, 200), FLOAT)}, "gate_stride_elems must be at least total_tokens + 64"),
    ],
    ids=["key", "rank", "tokens", "heads", "beta", "state", "chunk_state", "chunk_state_dtype", "pitch"],
)
def test_wrong_shapes_are_one_line(cann, capfd, changes, message):
    assert tile(cann, shapes() | changes) is None
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 1 and lines[0].startswith("ChunkGatedDeltaRule: ") and message in lines[0]


def test_head_dims_and_room(cann, capfd):
    assert tile(cann, shapes(dk=40)) is None
    assert "key_dim must be a multiple of 16" in capfd.readouterr().err
    assert tile(cann, shapes(), capacity=16) is None
    size = len(plan(shapes(), 3)["tiling"])
    assert f"tiling data: expected room for {size} bytes, got 16\n" in capfd.readouterr().err


def test_a_missing_operand_is_one_line(cann, capfd):
    assert tile(cann, without(shapes(), KEY)) is None
    assert capfd.readouterr().err == "ChunkGatedDeltaRule: operand 'key': expected rank 3, got no tensor\n"


# --- both compilers


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_sources_without_warnings(compiler):
    """The kernel, with both of its entries, and op_host (which g++ has built for the tests above)."""
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not here")
    kernel_flags = [*WARNINGS, *(f"-I{folder}" for folder in model.include_dirs())]
    kernels = [ROOT / "op_kernel/chunk_gated_delta_rule" / name for name in ("entry.cpp", "direct.cpp")]
    for flags, sources in ((HOST_FLAGS, SOURCES if compiler != "g++" else []), (kernel_flags, kernels)):
        for source in sources:
            done = subprocess.run([compiler, *flags, "-fsyntax-only", str(source)], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
