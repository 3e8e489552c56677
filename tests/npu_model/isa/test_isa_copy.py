# SPDX-License-Identifier: Apache-2.0
"""DataCopy on every path, gaps keeping their bytes; Nd2Nz and Nz2Nd as the library builds them; atomics; scalars."""

import struct

import numpy as np
import pytest
from chunk_gdr import model

PATHS = ["GM->UB", "UB->GM", "UB->L1", "L1->UB", "GM->L1", "UB->UB"]


def pack(op=0, count=0, length=0, src_gap=0, dst_gap=0, src_bytes=0, dst_bytes=0, extra=()):
    return struct.pack(
        "<16I", op, count, length, src_gap, dst_gap, src_bytes, dst_bytes, *extra, *(0,) * (9 - len(extra))
    )


def run(lib, entry, args, tiling):
    report = model.run(lib, entry, args, tiling=tiling)
    assert report.error == "" and report.errors == 0 and report.auto_sync == 0, report.error + report.text
    return report


def copy_blocks(source, target, count, length, src_gap, dst_gap):
    """Bytes of block i: gaps run from the tail of one block to the head of the next."""
    for i in range(count):
        a, b = i * (length + src_gap) * 32, i * (length + dst_gap) * 32
        target[b : b + length * 32] = source[a : a + length * 32]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("count", "length", "src_gap", "dst_gap"),
    [(1, 40, 0, 0), (7, 3, 2, 5), (16, 1, 0, 1), (5, 2, 9, 0), (255, 1, 1, 2)],
)
def test_strided(isa, isa_lib, path, count, length, src_gap, dst_gap):
    rng = np.random.default_rng(1)
    src_bytes, dst_bytes = (count * (length + gap) * 32 for gap in (src_gap, dst_gap))
    source = rng.integers(0, 256, src_bytes, np.uint8)
    target = rng.integers(0, 256, dst_bytes, np.uint8)
    expected = target.copy()
    copy_blocks(source, expected, count, length, src_gap, dst_gap)
    run(
        isa_lib("copy"),
        "strided",
        {"in": source, "out": target},
        pack(PATHS.index(path), count, length, src_gap, dst_gap, src_bytes, dst_bytes),
    )
    isa.same_bits(target, expected)


@pytest.mark.parametrize("type_", [0, 1, 2], ids=["float", "half", "int16"])
def test_atomic_add(isa, isa_lib, type_):
    dtype = [np.float32, np.float16, np.int16][type_]
    count, length, dst_gap = 4, 3, 2
    elems = 32 // np.dtype(dtype).itemsize
    rng = np.random.default_rng(2)
    source = (rng.standard_normal(count * length * elems) * 100).astype(dtype)
    out = (rng.standard_normal(count * (length + dst_gap) * elems + source.size) * 100).astype(dtype)
    expected = out.copy()
    body = count * (length + dst_gap) * elems
    for _ in range(2):
        for i in range(count):
            at = i * (length + dst_gap) * elems
            expected[at : at + length * elems] += source[i * length * elems : (i + 1) * length * elems]
    expected[body:] = source  # after SetAtomicNone
    run(
        isa_lib("copy"),
        "atomic",
        {"in": source, "out": out},
        pack(0, count, length, 0, dst_gap, source.nbytes, body * dtype().itemsize, (type_,)),
    )
    np.testing.assert_array_equal(out, expected)


ND2NZ = [
    # nd, n, d, source matrix stride, source row pitch, strips' stride in blocks, destination matrix stride
    (1, 64, 64, 0, 64, 64, 0),
    (1, 40, 80, 0, 96, 48, 0),
    (1, 33, 50, 0, 50, 33, 0),
    (2, 16, 24, 20 * 40, 40, 20, 2048),
    (1, 1, 7, 0, 7, 1, 0),
]


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("shape", ND2NZ, ids=lambda s: "x".join(map(str, s[:3])))
def test_nd2nz(isa, isa_lib, shape, size):
    """Rows of D values become strips of 32-byte columns; the last strip's missing columns are zero."""
    nd, n, d, src_matrix, src_d, c0_stride, dst_matrix = shape
    dtype = np.float16 if size == 2 else np.float32
    c0 = 32 // size
    strips = -(-d // c0)
    rng = np.random.default_rng(3)
    # The library reads whole 32-byte blocks: the last row may run on a little.
    source = rng.standard_normal((nd - 1) * src_matrix + n * src_d + c0).astype(dtype)
    out = np.full(-(-((nd - 1) * dst_matrix + ((strips - 1) * c0_stride + n) * c0) // c0) * c0, 9, dtype)
    expected = out.copy()
    for i in range(nd):
        for row in range(n):
            line = np.zeros(strips * c0, dtype)
            line[:d] = source[i * src_matrix + row * src_d :][:d]
            for strip in range(strips):
                at = i * dst_matrix + (strip * c0_stride + row) * c0
                expected[at : at + c0] = line[strip * c0 : (strip + 1) * c0]
    run(
        isa_lib("copy"),
        "nd2nz",
        {"in": source, "out": out},
        pack(size, src_bytes=source.nbytes, dst_bytes=out.nbytes, extra=(*shape[:6], dst_matrix)),
    )
    np.testing.assert_array_equal(out, expected)


def test_nd2nz_components(isa, isa_lib):
    """A 128 x 128 half tile costs 16 loads, 32 Adds, 32 copies into L1, each tile waiting for the one before it."""
    source = np.zeros(128 * 128 + 16, np.float16)
    out = np.zeros(128 * 128, np.float16)
    report = run(
        isa_lib("copy"),
        "nd2nz",
        {"in": source, "out": out},
        pack(2, dst_bytes=out.nbytes, extra=(1, 128, 128, 0, 128, 128, 0)),
    )
    queues = report.to_dict()["blocks"][0]["queues"]
    counts = {name: queue["instructions"] for name, queue in queues.items()}
    assert counts["V"] == 32 and counts["MTE2"] == 16 + 1 and counts["MTE3"] == 32 + 1
    # Sixteen serialised GM round trips.
    assert report.cycles > 16 * 700


def test_nz2nd(isa, isa_lib):
    nd, n, d, src_n, dst_d = 2, 20, 48, 32, 64
    src_matrix, dst_matrix = src_n * d // 256, n * dst_d
    source = np.random.default_rng(4).standard_normal(nd * src_n * d).astype(np.float16)
    out = np.full(nd * dst_matrix, -1, np.float16)
    expected = out.copy()
    for i in range(nd):
        for strip in range(d // 16):
            for row in range(n):
                value = source[i * src_matrix * 256 + (strip * src_n + row) * 16 :][:16]
                at = i * dst_matrix + row * dst_d + strip * 16
                expected[at : at + 16] = value
    run(
        isa_lib("copy"),
        "nz2nd",
        {"in": source, "out": out},
        pack(src_bytes=source.nbytes, extra=(nd, n, d, src_matrix, src_n, dst_d, dst_matrix)),
    )
    np.testing.assert_array_equal(out, expected)


def test_slices(isa, isa_lib):
    columns, first_row, last_row, first_column, blocks, row_stride, dst_columns = 100, 1, 7, 20, 3, 1, 40
    source = np.arange(9 * columns, dtype=np.float32)
    rows = source.reshape(9, columns)[
        first_row : last_row + 1 : 1 + row_stride, first_column : first_column + blocks * 8
    ]
    out = np.full(rows.shape[0] * dst_columns, -1, np.float32)
    expected = out.copy().reshape(-1, dst_columns)
    expected[:, 8 : 8 + blocks * 8] = rows
    run(
        isa_lib("copy"),
        "slices",
        {"in": source, "out": out},
        pack(extra=(columns, first_row, last_row, first_column, blocks, row_stride, dst_columns)),
    )
    np.testing.assert_array_equal(out.reshape(-1, dst_columns), expected)


def test_scalars(isa, isa_lib):
    source = np.random.default_rng(5).standard_normal(64).astype(np.float32)
    out = np.zeros(80, np.float32)
    run(isa_lib("copy"), "scalars", {"in": source, "out": out}, b"")
    expected = source.copy()
    expected[0], expected[1], expected[16], expected[4] = source[3] + source[9], source[2], source[40], -source[5]
    np.testing.assert_array_equal(out[:64], expected)
    assert out[64] == source[7] * 2
