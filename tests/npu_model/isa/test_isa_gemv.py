# SPDX-License-Identifier: Apache-2.0
"""L0C <-> UB with BLOCK_MODE_VECTOR: the first rows of fractals, where a product with m == 1 leaves its result."""

import struct

import numpy as np
import pytest
from chunk_gdr import model

K, N = 32, 96
MATRIX, VECTOR = 1, 2


def gemv(isa_lib, count, length, l0c_gap, ub_gap, preload=0, mode=VECTOR):
    rng = np.random.default_rng(13)
    x, b = rng.integers(-4, 5, K).astype(np.float16), rng.integers(-4, 5, (K, N)).astype(np.float16)
    c = rng.integers(-9, 10, N).astype(np.float32)
    in_l0b = b.reshape(K // 16, 16, N // 16, 16).transpose(0, 2, 3, 1)  # k blocks outer; in a fractal n-major
    z = np.full(256, np.nan, np.float32)
    a = np.zeros(256, np.float16)
    a[:K] = x
    args = {"x": a, "b": np.ascontiguousarray(in_l0b).reshape(-1), "c": c, "z": z}
    words = struct.pack("<7I", count, length, l0c_gap, ub_gap, 256, preload, mode)
    report = model.run(isa_lib("gemv"), "gemv", args, tiling=words)
    return report, z, x.astype(np.float32) @ b.astype(np.float32) + (c if preload else 0)


@pytest.mark.parametrize("preload", [0, 1])
def test_a_product_with_one_row(isa_lib, preload):
    report, z, expected = gemv(isa_lib, 1, N // 16, 0, 0, preload)
    assert report.error == "" and report.errors == report.auto_sync == 0, report.text
    np.testing.assert_array_equal(z[:N], expected)
    assert (z[N:] == -1).all()


@pytest.mark.parametrize("count, length, l0c_gap, ub_gap", [(2, 2, 1, 3), (3, 1, 1, 2), (6, 1, 0, 0)])
def test_blocks_and_gaps(isa_lib, count, length, l0c_gap, ub_gap):
    """The gap counts fractals on L0C, 32-byte blocks in UB."""
    report, z, result = gemv(isa_lib, count, length, l0c_gap, ub_gap)
    assert report.errors == report.auto_sync == 0, report.text
    expected = np.full(256, -1, np.float32)
    for i in range(count):
        row = i * (length + l0c_gap)
        at = i * (length * 16 + ub_gap * 8)
        expected[at : at + length * 16] = result[row * 16 : (row + length) * 16]
    np.testing.assert_array_equal(z, expected)


def test_conversion(isa_lib):
    report, z, expected = gemv(isa_lib, 2, 3, 0, 1, preload=2)
    assert report.errors == report.auto_sync == 0, report.text
    half = z.view(np.float16)
    np.testing.assert_array_equal(half[:48], expected[:48].astype(np.float16))
    np.testing.assert_array_equal(half[64:112], expected[48:].astype(np.float16))
    assert (z[24:32] == -1).all() and (z[56:] == -1).all()


def test_whole_fractals_of_one_row_are_reported(isa_lib):
    """MATRIX mode moves 16 rows, of which the product wrote one."""
    report, _, _ = gemv(isa_lib, 1, 1, 0, 0, mode=MATRIX)
    assert "Read2" in {item["rule"] for item in report.hazards}
