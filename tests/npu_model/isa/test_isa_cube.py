# SPDX-License-Identifier: Apache-2.0
"""Cube path: layouts by the reference's tables, products bit for bit, L0C copies, fills, convolution windows."""

import struct

import numpy as np
import pytest
from chunk_gdr import model


def up(value, unit):
    return -(-value // unit) * unit


def padded(matrix, row_unit, column_unit, fill):
    rows, columns = matrix.shape
    out = np.full((up(rows, row_unit), up(columns, column_unit)), fill, matrix.dtype)
    out[:rows, :columns] = matrix
    return out


def nz(matrix, fill=0):
    """Column strips of 32 bytes outer, row-major inside: offset (c/16 R1 + r/16) 256 + (r%16) 16 + c%16."""
    depth = 32 // matrix.dtype.itemsize
    full = padded(matrix, 16, depth, fill)
    out = np.empty(full.size, matrix.dtype)
    rows1 = full.shape[0] // 16
    r, c = np.indices(full.shape)
    out[(c // depth * rows1 + r // 16) * 16 * depth + r % 16 * depth + c % depth] = full
    return out


def zz(matrix, fill=0):
    """L0A: row fractals outer, offset (m/16 K1 + k/16) 256 + (m%16) 16 + k%16."""
    depth = 32 // matrix.dtype.itemsize
    full = padded(matrix, 16, depth, fill)
    out = np.empty(full.size, matrix.dtype)
    r, c = np.indices(full.shape)
    out[(r // 16 * (full.shape[1] // depth) + c // depth) * 16 * depth + r % 16 * depth + c % depth] = full
    return out


def zn(matrix, fill=0):
    """L0B [K, N]: k-blocks outer, n-major inside: offset (k/16 N1 + n/16) 256 + (n%16) 16 + k%16."""
    depth = 32 // matrix.dtype.itemsize
    full = padded(matrix, depth, 16, fill)
    out = np.empty(full.size, matrix.dtype)
    k, n = np.indices(full.shape)
    out[(k // depth * (full.shape[1] // 16) + n // 16) * 16 * depth + n % 16 * depth + k % depth] = full
    return out


def un_nz(flat, rows, columns):
    """L0C order back to [rows, columns]: offset (n/16 M1 + m/16) 256 + (m%16) 16 + n%16."""
    m, n = np.indices((rows, columns))
    return flat[(n // 16 * (up(rows, 16) // 16) + m // 16) * 256 + m % 16 * 16 + n % 16]


def run(lib, entry, args, words, **options):
    report = model.run(lib, entry, args, tiling=struct.pack(f"<{len(words)}I", *words), **options)
    assert report.error == "" and report.errors == 0 and report.auto_sync == 0, report.error + report.text
    return report


TYPES = [
    (np.float16, np.float16, np.float32), (np.float16, np.float16, np.float16), (np.int8, np.int8, np.int32),
    (np.uint8, np.int8, np.int32), (np.uint8, np.uint8, np.int32),
]  # fmt: skip


def operands(types, m, n, k, seed=0):
    rng = np.random.default_rng(seed)
    a_type, b_type, _ = TYPES[types]
    if np.dtype(a_type).kind == "f":
        return rng.standard_normal((m, k)).astype(a_type), rng.standard_normal((k, n)).astype(b_type)
    return tuple(
        rng.integers(np.iinfo(t).min, np.iinfo(t).max, s, t, endpoint=True)
        for t, s in ((a_type, (m, k)), (b_type, (k, n)))
    )


def product(isa_lib, isa, types, m, n, k, a_form=0, b_form=0, c_in=None, from_gm=0, seed=0, **options):
    """C of the kernel, and A and B."""
    a, b = operands(types, m, n, k, seed)
    junk = np.nan if np.dtype(a.dtype).kind == "f" else 77  # in padding: must not contribute
    if from_gm:
        gm_a, gm_b = zz(a, junk), zn(b, junk)
    else:
        flat = np.full(up(k, 256), junk, a.dtype)
        flat[:k] = a[0]
        # The 3D load multiplies nothing by padding either, but needs whole fractals of its map.
        gm_a = flat if a_form == 4 else nz(a if a_form in (0, 2) else np.ascontiguousarray(a.T), junk)
        gm_b = nz(b if b_form in (0, 2) else np.ascontiguousarray(b.T), junk)
    c_type = TYPES[types][2]
    c = nz16(c_in) if c_in is not None else np.zeros(up(m, 16) * up(n, 16), c_type)
    args = {"a": gm_a, "b": gm_b, "c": c}
    run(isa_lib("cube"), "product", args, (m, n, k, a_form, b_form, types, int(c_in is not None), from_gm), **options)
    return un_nz(c, m, n), a, b


def nz16(matrix):
    """L0C order of [M, N] of any element size."""
    full = padded(matrix, 16, 16, 0)
    out = np.empty(full.size, matrix.dtype)
    m, n = np.indices(full.shape)
    out[(n // 16 * (full.shape[0] // 16) + m // 16) * 256 + m % 16 * 16 + n % 16] = full
    return out


def ascending(a, b, c=0.0):
    """fp32 accumulation, one k after the other."""
    total = np.broadcast_to(np.float32(c), (a.shape[0], b.shape[1])).copy() if np.isscalar(c) else c.astype(np.float32)
    for k in range(a.shape[1]):
        total = total + a[:, k : k + 1].astype(np.float32) * b[k].astype(np.float32)
    return total


SHAPES = [(16, 16, 16), (64, 64, 64), (128, 128, 128), (48, 80, 96), (33, 17, 50), (16, 128, 256), (5, 100, 3)]


@pytest.mark.parametrize(("m", "n", "k"), SHAPES)
def test_half_to_float(isa, isa_lib, m, n, k):
    got, a, b = product(isa_lib, isa, 0, m, n, k, b_form=1 if n % 16 else 0)
    np.testing.assert_array_equal(got, ascending(a, b))


@pytest.mark.parametrize("b_form", [0, 1, 2])
@pytest.mark.parametrize("a_form", [0, 1, 2, 3])
@pytest.mark.parametrize(("m", "n", "k"), [(32, 48, 64), (80, 16, 112)])
def test_load_recipes(isa, isa_lib, m, n, k, a_form, b_form):
    """Every way to bring A, A^T, B, B^T from NZ in L1 gives the same product."""
    got, a, b = product(isa_lib, isa, 0, m, n, k, a_form, b_form)
    np.testing.assert_array_equal(got, ascending(a, b))


def test_loads_from_gm(isa, isa_lib):
    got, a, b = product(isa_lib, isa, 0, 64, 96, 48, from_gm=1)
    np.testing.assert_array_equal(got, ascending(a, b))


def test_accumulate_on_preloaded_l0c(isa, isa_lib):
    c_in = np.random.default_rng(9).standard_normal((48, 64)).astype(np.float32)
    got, a, b = product(isa_lib, isa, 0, 48, 64, 32, c_in=c_in)
    np.testing.assert_array_equal(got, ascending(a, b, c_in))


def test_permuted_order_changes_only_rounding(isa, isa_lib):
    plain, a, b = product(isa_lib, isa, 0, 64, 64, 128)
    permuted, _, _ = product(isa_lib, isa, 0, 64, 64, 128, permute_cube=True)
    truth = a.astype(np.float64) @ b.astype(np.float64)
    assert (plain != permuted).mean() > 0.3
    for got in (plain, permuted):
        assert np.abs(got - truth).max() < 1e-4


@pytest.mark.parametrize(("m", "n", "k"), [(32, 32, 32), (17, 40, 20)])
def test_half_to_half(isa, isa_lib, m, n, k):
    """Half C is rounded once, after the last k."""
    got, a, b = product(isa_lib, isa, 1, m, n, k, b_form=1 if n % 16 else 0)
    np.testing.assert_array_equal(got, ascending(a, b).astype(np.float16))


@pytest.mark.parametrize("types", [2, 3, 4])
@pytest.mark.parametrize(("m", "n", "k"), [(32, 48, 64), (20, 16, 40)])
def test_int8(isa, isa_lib, types, m, n, k):
    got, a, b = product(isa_lib, isa, types, m, n, k, a_form=0, b_form=1)
    np.testing.assert_array_equal(got, a.astype(np.int32) @ b.astype(np.int32))


@pytest.mark.parametrize("k", [16, 256, 300])
def test_one_row_reads_a_plain_vector(isa, isa_lib, k):
    """m == 1 switches to GEMV: A is k consecutive values, C fills the first row of each fractal."""
    a, b = operands(0, 1, 32, k)
    flat = np.full(up(k, 256), np.nan, np.float16)
    flat[:k] = a[0]
    c = np.zeros(16 * 32, np.float32)
    words = (1, 32, k, 4, 1, 0, 0, 0)
    report = model.run(
        isa_lib("cube"),
        "product",
        {"a": flat, "b": nz(np.ascontiguousarray(b.T), np.nan), "c": c},
        tiling=struct.pack("<8I", *words),
    )
    # The copy out of L0C takes whole fractals, of which GEMV wrote one row: the model says so.
    assert {item["rule"] for item in report.hazards} <= {"Read2"}
    np.testing.assert_array_equal(c.reshape(2, 16, 16)[:, 0, :].reshape(-1), ascending(a, b)[0])


def test_infinities_and_nan_stay_in_their_rows(isa, isa_lib):
    a = np.ones((16, 16), np.float16)
    b = np.ones((16, 16), np.float16)
    a[3, 2], a[5, 1], b[7, 9] = np.inf, np.nan, -np.inf
    c = np.zeros(256, np.float32)
    run(isa_lib("cube"), "product", {"a": nz(a), "b": nz(b), "c": c}, (16, 16, 16, 0, 0, 0, 0, 0))
    got = un_nz(c, 16, 16)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(got, ascending(a, b))
    assert np.isnan(got[5]).all() and got[3, 0] == np.inf and np.isnan(got[3, 9]) and got[0, 9] == -np.inf


@pytest.mark.parametrize("types", [0, 1, 2, 4])
@pytest.mark.parametrize(("count", "length", "l0c_gap", "ub_gap"), [(1, 6, 0, 0), (3, 1, 1, 5), (2, 2, 1, 16)])
@pytest.mark.parametrize("relu", [0, 1])
def test_l0c_to_ub(isa, isa_lib, types, count, length, l0c_gap, ub_gap, relu):
    """MATRIX mode: fractals verbatim or converted; the gap is counted in fractals on L0C, in 32-byte blocks on UB."""
    in_type, out_type = [
        (np.float32, np.float32),
        (np.float16, np.float16),
        (np.float32, np.float16),
        None,
        (np.float16, np.float32),
    ][types]
    source = np.random.default_rng(3).standard_normal(6 * 256).astype(in_type)
    source[:4] = [70000.0, -70000.0, 1e-7, -0.0] if in_type == np.float32 else [65504.0, -65504.0, 6e-8, -0.0]
    block = length * 256
    pitch = block + ub_gap * 32 // np.dtype(out_type).itemsize
    out = np.full(up(count * pitch, 256), -1, out_type)
    expected = out.copy()
    for i in range(count):
        part = source[i * (length + l0c_gap) * 256 :][:block]
        with np.errstate(over="ignore"):
            value = isa.saturate(part.astype(np.float16)) if out_type == np.float16 else part.astype(out_type)
        expected[i * pitch : i * pitch + block] = np.where(value < 0, 0, value) if relu else value
    run(
        isa_lib("cube"),
        "l0c_copy",
        {"in": source, "out": out},
        (count, length, l0c_gap, ub_gap, types, relu, 0, source.nbytes, out.nbytes),
    )
    np.testing.assert_array_equal(out, expected)


def test_l0c_int32_to_half(isa, isa_lib):
    source = np.random.default_rng(4).integers(-(2**20), 2**20, 2 * 256, np.int32)
    out = np.zeros(2 * 256, np.float16)
    scale = np.float16(0.03125)
    run(
        isa_lib("cube"),
        "l0c_copy",
        {"in": source, "out": out},
        (1, 2, 0, 0, 3, 0, int(scale.view(np.uint16)), source.nbytes, out.nbytes),
    )
    np.testing.assert_array_equal(out, (source.astype(np.float32) * np.float32(scale)).astype(np.float16))


def test_fill(isa, isa_lib):
    out, l1 = np.zeros(256, np.float32), np.zeros(1024, np.float16)
    run(isa_lib("cube"), "fill", {"out": out, "l1": l1}, ())
    assert (out == 32).all() and (l1 == -3).all()


def test_row_broadcast(isa, isa_lib):
    row = np.arange(64, dtype=np.float32)
    out = np.zeros(4 * 256, np.float32)
    run(isa_lib("cube"), "row_broadcast", {"in": row, "out": out}, ())
    np.testing.assert_array_equal(out.reshape(4, 16, 16), np.repeat(row.reshape(4, 1, 16), 16, axis=1))


WINDOWS = [
    # height, width, channels, filter w, h, stride w, h, dilation w, h, pads (left, right, top, bottom)
    (6, 8, 32, 3, 3, 1, 1, 1, 1, (1, 1, 1, 1)),
    (7, 9, 16, 3, 2, 2, 1, 1, 2, (0, 2, 1, 0)),
    (4, 16, 48, 1, 1, 1, 1, 1, 1, (0, 0, 0, 0)),
]


@pytest.mark.parametrize("pro", [0, 1])
@pytest.mark.parametrize("window", WINDOWS, ids=["conv3x3", "strided", "pointwise"])
def test_convolution_window(isa, isa_lib, window, pro):
    """Rows: output positions; columns: (channel block, tap row, tap column, channel)."""
    height, width, channels, filter_w, filter_h, stride_w, stride_h, dilation_w, dilation_h, pad = window
    image = np.random.default_rng(8).standard_normal((channels, height, width)).astype(np.float16)
    framed = np.full((channels, height + pad[2] + pad[3], width + pad[0] + pad[1]), 0.5, np.float16)
    framed[:, pad[2] : pad[2] + height, pad[0] : pad[0] + width] = image
    out_h = (framed.shape[1] - dilation_h * (filter_h - 1) - 1) // stride_h + 1
    out_w = (framed.shape[2] - dilation_w * (filter_w - 1) - 1) // stride_w + 1
    columns = []
    for c1 in range(channels // 16):
        for kh in range(filter_h):
            for kw in range(filter_w):
                part = framed[c1 * 16 : c1 * 16 + 16, kh * dilation_h :, kw * dilation_w :]
                columns.append(
                    part[:, : (out_h - 1) * stride_h + 1 : stride_h, : (out_w - 1) * stride_w + 1 : stride_w]
                    .reshape(16, -1)
                    .T
                )
    matrix = np.concatenate(columns, axis=1)
    m_start, k_start = 5, 16 if matrix.shape[1] > 32 else 0
    m_extent = min((matrix.shape[0] - m_start) // 16 * 16, 32)
    k_extent = min(matrix.shape[1] - k_start, 64)
    m1, k1 = m_extent // 16, k_extent // 16
    c1hwc0 = np.ascontiguousarray(image.reshape(channels // 16, 16, height, width).transpose(0, 2, 3, 1)).reshape(-1)
    out = np.zeros(m_extent * k_extent, np.float32)
    args = {"map": c1hwc0, "identity": zn(np.eye(k_extent, dtype=np.float16)), "out": out}
    words = (
        height,
        width,
        channels,
        filter_w,
        filter_h,
        stride_w,
        stride_h,
        dilation_w,
        dilation_h,
        *pad,
        m_start,
        k_start,
        m_extent,
        k_extent,
        pro,
    )
    run(isa_lib("cube"), "window", args, words)
    want = matrix[m_start : m_start + m_extent, k_start : k_start + k_extent].astype(np.float32)
    np.testing.assert_array_equal(un_nz(out, m1 * 16, k1 * 16), want)
