# SPDX-License-Identifier: Apache-2.0
"""Kernels around the high-level Matmul: several objects, several tilings, several cores, vector work between blocks."""

import struct

import numpy as np
import pytest
from chunk_gdr import model

SCHEDULES = [{}, {"execution": "adversarial", "seed": 1}, {"execution": "adversarial", "seed": 2}]


@pytest.fixture(scope="module")
def libs(mm):
    strict = ["-Wall", "-Wextra", "-Werror"]
    return {name: model.build(mm.KERNELS / f"{name}.cpp", flags=strict) for name in ("leaky", "pair", "partial")}


def random(seed, *shapes, dtype=np.float16):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


@pytest.mark.parametrize("options", SCHEDULES, ids=["program", "seed1", "seed2"])
@pytest.mark.parametrize("m, n, k, single_m, single_n, blocks", [(64, 96, 64, 64, 96, 1), (100, 112, 80, 64, 64, 4)])
def test_third_party_style(mm, libs, m, n, k, single_m, single_n, blocks, options):
    """matmul, bias and leaky relu on a TQue, split over cores along M and N with tails, as such kernels are written."""
    a, b = random(m, (m, k), (k, n))
    (bias,) = random(n, n, dtype=np.float32)
    c = np.full((m, n), np.nan, np.float32)
    tiling = mm.cube_tiling(m, n, k, singleCoreM=single_m, singleCoreN=single_n, isBias=1)
    arrays = {"a": a, "b": b, "bias": bias, "c": c}
    report = model.run(libs["leaky"], "matmul_leaky", arrays, tiling=tiling, block_num=blocks, **options)
    mm.assert_clean(report)
    expected = a.astype(np.float64) @ b.astype(np.float64) + bias
    np.testing.assert_allclose(c, np.where(expected < 0, expected / 8, expected), atol=1e-4)


def run_pair(mm, libs, end_first, **options):
    m, n, d = 48, 64, 32
    q, k, v = random(5, (m, d), (n, d), (n, d))
    o = np.full((m, d), np.nan, np.float32)
    tiling = mm.cube_tiling(m, n, d) + mm.cube_tiling(m, d, n) + struct.pack("<2i", 32 * 1024, end_first)
    report = model.run(libs["pair"], "pair", {"q": q, "k": k, "v": v, "o": o}, tiling=tiling, **options)
    scores = np.maximum(q.astype(np.float64) @ k.T.astype(np.float64), 0).astype(np.float16)
    return report, o, scores.astype(np.float64) @ v.astype(np.float64)


@pytest.mark.parametrize("options", SCHEDULES, ids=["program", "seed1", "seed2"])
def test_two_objects(mm, libs, options):
    report, o, expected = run_pair(mm, libs, end_first=True, **options)
    mm.assert_clean(report)
    np.testing.assert_allclose(o, expected, atol=1e-3)


def test_two_objects_share_l1_and_so_need_end_between_them(mm, libs):
    report, _, _ = run_pair(mm, libs, end_first=False)
    assert report.error == "" and report.errors > 0
    assert {item["access"]["memory"] for item in report.hazards} == {"L1"}


@pytest.mark.parametrize("options", SCHEDULES, ids=["program", "seed1", "seed2"])
def test_partial_sums_and_a_second_tiling(mm, libs, options):
    m, n, k, parts = 32, 32, 128, 4
    a, b = random(9, (m, k), (k, n))
    first, copy, second = (np.full((m, n), np.nan, np.float32) for _ in range(3))
    tiling = mm.cube_tiling(m, n, k // parts) + mm.cube_tiling(m, n, k, depthA1=4, depthB1=4, stepKa=2, stepKb=2)
    tiling += struct.pack("<2i", parts, 16 * 1024)
    arrays = {"a": a, "b": b, "first": first, "copy": copy, "second": second}
    report = model.run(libs["partial"], "partial", arrays, tiling=tiling, **options)
    mm.assert_clean(report)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(first, expected, atol=1e-4)
    np.testing.assert_array_equal(first, copy)
    np.testing.assert_array_equal(first, second)
