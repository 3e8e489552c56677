# SPDX-License-Identifier: Apache-2.0
"""Products of the high-level Matmul by position, layout, type and tiling: values, and no hazard of any grade."""

import numpy as np
import pytest

UB = "VECOUT"
BYTES = {"operand": "int8_t", "c": ("GM", "ND", "int32_t")}
BY_VECTOR = "GetNormalConfig(false, false, true)"
BY_VECTOR_IN_TILES = "GetMDLConfig(false, false, 0, true)"
BY_VECTOR_APART = "GetMDLConfig(false, false, 0, true, false, false, false, true, false)"


def name_of(*parts):
    return "_".join(str(part).lower() for part in parts)


def kinds():
    """{entry: keywords of Kind}"""
    made = {"plain": {}, "tiles": {"config": "CFG_MDL"}, "bias_in_ub": {"bias": UB}}
    for position in ("GM", UB):
        for layout in ("ND", "NZ"):
            for transposed in (False, True):
                operand = (position, layout, transposed)
                made[name_of("a", *operand)] = {"a": operand}
                made[name_of("b", *operand)] = {"b": operand}
                if not transposed:
                    made[name_of("bytes_a", *operand)] = BYTES | {"a": operand}
                made[name_of("bytes_b", *operand)] = BYTES | {"b": operand}
    for position in ("GM", "VECIN"):
        for layout in ("ND", "NZ", "ND_ALIGN"):
            for dtype in ("float", "half"):
                made[name_of("c", position, layout, dtype)] = {"c": (position, layout, dtype)}
            made[name_of("bytes_c", position, layout)] = BYTES | {"c": (position, layout, "int32_t")}
            made[name_of("scaled", position, layout)] = BYTES | {"c": (position, layout, "half")}
        made[name_of("narrow", position, "NZ")] = BYTES | {"c": (position, "NZ", "int8_t")}
    for layout in ("ND", "ND_ALIGN"):
        made[name_of("narrow_gm", layout)] = BYTES | {"c": ("GM", layout, "int8_t"), "config": BY_VECTOR}
    made["bytes_bias_in_ub"] = BYTES | {"bias": UB}
    turned = {"a": ("GM", "ND", True), "b": ("GM", "ND", True)}
    made["transposed"] = turned | {"c": ("GM", "ND", "half")}
    for config_name, config in (
        ("vector", BY_VECTOR), ("vector_tiles", BY_VECTOR_IN_TILES), ("vector_apart", BY_VECTOR_APART),
    ):  # fmt: skip
        made[config_name] = {"config": config}
        made[config_name + "_transposed"] = turned | {"config": config, "c": ("GM", "ND_ALIGN", "half")}
        made[config_name + "_bytes"] = BYTES | {"config": config}
    return made


KINDS = kinds()
OFTEN = [name for name in KINDS if not name.startswith(("narrow", "scaled", "vector"))]


@pytest.fixture(scope="module")
def lib(mm, tmp_path_factory):
    kinds = {name: mm.Kind(**keys) for name, keys in KINDS.items()}
    return mm.build_products(kinds, tmp_path_factory.mktemp("products"))


@pytest.fixture(scope="module")
def run(mm, lib):
    def call(name, options=None, **keys):
        case = mm.Case(kind=mm.Kind(**KINDS[name]), **keys)
        return case, *mm.launch(lib, name, case, **(options or {}))

    return call


@pytest.fixture(scope="module")
def check(mm, run):
    """Clean and right; returns the report."""

    def call(name, options=None, **keys):
        case, report, got, expected = run(name, options, **keys)
        mm.assert_clean(report)
        mm.assert_right(case, got, expected)
        return report

    return call


@pytest.mark.parametrize("name", OFTEN)
def test_position_layout_type(check, name):
    check(name, bias=True)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "name",
    ["plain", "tiles", "a_vecout_nd_true", "b_vecout_nz_false", "bytes_b_gm_nd_false", "bytes_b_vecout_nz_false",
     "c_vecin_nd_half"],
)  # fmt: skip
def test_no_schedule_changes_values(check, name, seed):
    check(name, {"execution": "adversarial", "seed": seed}, bias=True, m=48, n=96, k=96)


@pytest.mark.parametrize("m, n, k", [(1, 8, 1), (1, 16, 16), (5, 24, 40), (17, 40, 50), (47, 56, 33), (100, 64, 96)])
@pytest.mark.parametrize(
    "name", ["plain", "a_gm_nd_true", "b_gm_nd_true", "bytes_b_gm_nd_false", "bytes_b_gm_nd_true", "transposed"]
)
def test_tails(check, name, m, n, k):
    if name == "transposed":
        n = -(-n // 16) * 16
    check(name, bias=True, m=m, n=n, k=k)


@pytest.mark.parametrize("m, n, k", [(1, 3, 5), (19, 45, 70)])
@pytest.mark.parametrize("name", ["c_gm_nd_align_half", "c_gm_nz_float", "c_vecin_nz_half", "c_vecin_nd_align_float"])
def test_result_with_padding(check, name, m, n, k):
    check(name, bias=True, m=m, n=n, k=k)


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize(
    "tiling",
    [
        {"depthA1": 1, "depthB1": 1},
        {"dbL0A": 1, "dbL0B": 1, "dbL0C": 2},
        {"depthA1": 3, "depthB1": 5},
        {"depthA1": 8, "depthB1": 8},
        {"depthA1": 8, "depthB1": 8, "stepM": 2, "stepN": 2, "dbL0C": 2},
        {"baseM": 64, "baseN": 16, "baseK": 48},
        {"baseM": 112, "baseN": 112, "baseK": 112},
    ],
    ids=str,
)
def test_base_blocks(check, tiling, order):
    check("plain", bias=True, m=100, n=112, k=100, tiling=tiling | {"iterateOrder": order})


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize(
    "tiling",
    [
        {"depthA1": 4, "depthB1": 8, "stepKa": 4, "stepKb": 4},
        {"depthA1": 4, "depthB1": 4, "stepKa": 2, "stepKb": 2},
        {"depthA1": 4, "depthB1": 1, "stepKa": 4, "stepKb": 1},
        {"depthA1": 16, "depthB1": 8, "stepKa": 4, "stepKb": 4, "stepM": 2, "stepN": 2},
    ],
    ids=str,
)
def test_tiles_of_several_base_blocks(check, tiling, order):
    check("tiles", bias=True, m=100, n=112, k=100, tiling=tiling | {"iterateOrder": order})


@pytest.mark.parametrize("name", [name for name in KINDS if name.startswith("vector")])
def test_layouts_by_vector(check, name):
    check(name, bias=True, m=100, n=112, k=100, tiling={"transLength": 4096})
    check(name, {"execution": "adversarial", "seed": 4}, bias=True, m=50, n=48, k=40, tiling={"transLength": 4096})


@pytest.mark.parametrize("seed", range(60))
def test_random_shapes_and_tilings(check, seed):
    """Whatever fits: every edge of the grid of base blocks, any number of slots, program order or a schedule."""
    rng = np.random.default_rng(seed)
    name = str(rng.choice(OFTEN))
    kind = KINDS[name]
    m, n, k = (int(value) for value in rng.integers(1, 130, 3))
    unit = 32 if "operand" in kind else 16  # the columns of a strip
    if any(kind.get(side, ("GM", "ND"))[:2] != ("GM", "ND") for side in "ab"):
        m, n, k = (-(-value // unit) * unit for value in (m, n, k))
    n = -(-n // 16) * 16
    base = {f"base{axis}": int(rng.choice([32, 64, 96])) for axis in "MNK"}
    steps = {key: int(rng.integers(1, 4)) for key in ("stepM", "stepN")} if name != "tiles" else {}
    slots = {key: int(rng.integers(1, 9)) for key in ("depthA1", "depthB1")}
    buffers = {key: int(rng.integers(1, 3)) for key in ("dbL0A", "dbL0B", "dbL0C")}
    options = {} if rng.random() < 0.5 else {"execution": "adversarial", "seed": seed}
    tiling = base | steps | slots | buffers | {"iterateOrder": int(rng.integers(2))}
    check(name, options | {"data_seed": seed}, m=m, n=n, k=k, bias=rng.random() < 0.5, tiling=tiling)


def factor(scale, offset):
    """The 64-bit word: a float, a 9-bit offset, and that the result is signed."""
    bits = np.asarray(scale, np.float32).view(np.uint32).astype(np.uint64)
    low9 = np.asarray(offset, np.int64).astype(np.uint64) & np.uint64(0x1FF)
    return bits | low9 << np.uint64(37) | np.uint64(1 << 46)


@pytest.mark.parametrize("vector", [False, True], ids=["scalar", "vector"])
@pytest.mark.parametrize("name", [name for name in KINDS if name.startswith(("scaled", "narrow"))])
def test_requantised(mm, run, name, vector):
    n = 64
    rng = np.random.default_rng(7)
    scale = (2.0**-12 * (1 + rng.random(n))).astype(np.float32)
    scale = (scale.view(np.uint32) & 0xFFFFE000).view(np.float32)  # the 10 bits of mantissa that count
    offset = rng.integers(-200, 200, n)
    words = factor(scale, offset)
    options = {"scales": words, "quant_word": int(words[0])}
    _, report, got, expected = run(name, options, n=n, bias=True, quant=1 + vector, tiling={"transLength": 4096})
    mm.assert_clean(report)
    scale, offset = (scale, offset) if vector else (scale[0], offset[0])
    if name.startswith("scaled"):
        np.testing.assert_array_equal(got, (expected.astype(np.float32) * scale).astype(np.float16))
    else:
        wanted = np.clip(np.rint(expected * scale.astype(np.float64) + offset), -128, 127)
        np.testing.assert_array_equal(got, wanted.astype(np.int8))
        assert len(np.unique(got)) > 50  # not all of them saturated


@pytest.mark.parametrize("name", ["plain", "c_vecin_nz_half"])
def test_block_by_block_is_all_at_once(check, name):
    check(name, iterate=True, bias=True, m=100, n=96)


@pytest.mark.parametrize("order", [0, 1])
def test_sequential_write(mm, run, order):
    m, n = 64, 96
    c = np.zeros((m, n), np.float32)
    _, report, _, expected = run(
        "plain", {"c": c}, m=m, n=n, iterate=True, sequential=True, tiling={"iterateOrder": order}
    )  # fmt: skip
    mm.assert_clean(report)
    blocks = expected.reshape(m // 32, 32, n // 32, 32).transpose((2, 0, 1, 3) if order == 0 else (0, 2, 1, 3))
    np.testing.assert_allclose(c.ravel(), blocks.ravel(), atol=1e-4)


@pytest.mark.parametrize("name, atol", [("plain", 1e-4), ("c_gm_nd_half", 0.05)])
def test_atomic_add(mm, run, name, atol):
    c = np.full((48, 64), 2, np.float32 if name == "plain" else np.float16)
    _, report, got, expected = run(name, {"c": c}, atomic=1)
    mm.assert_clean(report)
    np.testing.assert_allclose(got, expected + 2, atol=atol)


def test_set_tail_leaves_the_rest_alone(mm, run):
    _, report, got, _ = run("plain", tail=(33, 40, 48))
    mm.assert_clean(report)
    assert np.isfinite(got[:33, :40]).all() and np.isnan(got[33:]).all() and np.isnan(got[:, 40:]).all()
    a, b, _ = mm.operands(mm.Case())
    expected = a[:33, :48].astype(np.float64) @ b[:48, :40].astype(np.float64)
    np.testing.assert_allclose(got[:33, :40], expected, atol=1e-4)


def test_object_that_is_not_ended_leaves_no_flag(check):
    check("plain", ended=False)
    check("tiles", ended=False, tiling={"depthA1": 4, "depthB1": 4, "stepKa": 2, "stepKb": 2})


@pytest.mark.parametrize(
    "name, queue", [("a_vecout_nd_false", "MTE3"), ("bytes_b_vecout_nd_false", "V"), ("bias_in_ub", "V")]
)
def test_operands_in_ub_are_the_callers_to_order(run, name, queue):
    """MTE2 brings them, MTE3 or V takes them: the library has no flag for what the kernel did before."""
    _, report, _, _ = run(name, bias=name == "bias_in_ub", synchronised=False)
    assert {item["missing"] for item in report.hazards} == {f"MTE2 -> {queue}"}, report.text


SIZE = {"m": 64, "n": 96, "k": 96}


@pytest.mark.parametrize(
    "name, tiling, a_loads, b_loads",
    [
        # 3 blocks along K. Two slots: nothing is found again.
        ("plain", {}, 3, 2),
        ("plain", {"iterateOrder": 1}, 3, 2),
        # Three slots of B hold all of K: one load while M moves.
        ("plain", {"depthB1": 3}, 3, 1),
        ("plain", {"depthA1": 3, "iterateOrder": 1}, 1, 2),
        # Two of the six blocks of B in a pair of columns stay while M moves, the others take turns: 14 loads of 9.
        ("plain", {"depthB1": 4, "stepN": 2}, 3, 14 / 9),
        # All of B stays while M moves; A is read once.
        ("plain", {"depthA1": 3, "depthB1": 9, "stepN": 3}, 1, 1),
        ("tiles", {"depthA1": 3, "depthB1": 3, "stepKa": 3, "stepKb": 3}, 3, 1),
        ("tiles", {"depthA1": 6, "depthB1": 9, "stepM": 2, "stepN": 3, "stepKa": 3, "stepKb": 3}, 1, 1),
    ],
)
def test_traffic_follows_the_tiling(check, name, tiling, a_loads, b_loads):
    report = check(name, **SIZE, tiling=tiling)
    m, n, k = SIZE.values()
    assert report["traffic"]["gm_read_bytes"] == pytest.approx(2 * k * (m * a_loads + n * b_loads))
    assert report["traffic"]["gm_write_bytes"] == 4 * m * n


def test_double_buffering_hides_loads(check):
    single = check("plain", **SIZE, tiling={"depthA1": 1, "depthB1": 1, "dbL0A": 1, "dbL0B": 1})
    double = check("plain", **SIZE)
    assert double.cycles < 0.8 * single.cycles
