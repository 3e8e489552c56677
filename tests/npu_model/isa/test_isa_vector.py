# SPDX-License-Identifier: Apache-2.0
"""Element-wise vector calls against numpy: values, lanes, strides, and that no other byte of UB changes."""

import numpy as np
import pytest

ARITH = ("half", "float", "int16", "int32")
FLOATS = ("half", "float")


def relu(x):
    return np.where(x < 0, np.zeros_like(x), x)


BINARY = [
    ("Add", ARITH, lambda d, a, b: a + b),
    ("Sub", ARITH, lambda d, a, b: a - b),
    ("Mul", ARITH, lambda d, a, b: a * b),
    ("Div", FLOATS, lambda d, a, b: a / b),
    ("Max", ARITH, lambda d, a, b: np.maximum(a, b)),
    ("Min", ARITH, lambda d, a, b: np.minimum(a, b)),
    ("And", ("int16", "uint16"), lambda d, a, b: a & b),
    ("Or", ("int16", "uint16"), lambda d, a, b: a | b),
    ("AddRelu", FLOATS, lambda d, a, b: relu(a + b)),
    ("SubRelu", FLOATS, lambda d, a, b: relu(a - b)),
    ("FusedMulAdd", FLOATS, lambda d, a, b: a * d + b),
    ("MulAddRelu", FLOATS, lambda d, a, b: relu(a * b + d)),
    ("FusedMulAddRelu", FLOATS, lambda d, a, b: relu(a * d + b)),
]

# (form, count, mask, repeat, (dst blk, src0 blk, src1 blk, dst rep, src0 rep, src1 rep))
SHAPES = {
    "count": (0, 1000, (0, 0), 0, (1, 1, 1, 8, 8, 8)),
    "count_one": (0, 1, (0, 0), 0, (1, 1, 1, 8, 8, 8)),
    "full": (1, 0, ("width", 0), 7, (1, 1, 1, 8, 8, 8)),
    "mask_strided": (1, 0, (37, 0), 5, (2, 1, 3, 17, 9, 24)),
    "row_broadcast": (1, 0, ("width", 0), 4, (1, 1, 0, 8, 8, 1)),
    "bits": (2, 0, (0xF00D_5555_0000_8001, "high"), 3, (1, 2, 1, 9, 16, 8)),
}


def shape_of(name, width):
    form, count, mask, repeat, strides = SHAPES[name]
    low = width if mask[0] == "width" else mask[0]
    high = 0x8000_0000_00FF_0003 if mask[1] == "high" and width == 128 else 0
    return form, count, (low, high), repeat, strides


def image_of(isa, rng, dtype):
    return isa.float_image(rng, dtype) if np.dtype(dtype).kind == "f" else isa.integer_image(rng, dtype)


def post(isa, dtype):
    return isa.saturate if dtype == np.float16 else lambda values: values


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("op", "type_"), [(i, t) for i, row in enumerate(BINARY) for t in row[1]], ids=lambda v: str(v)
)
def test_binary(isa, isa_lib, op, type_, shape):
    fn = BINARY[op][2]
    dtype = isa.TYPES[type_]
    width = 256 // np.dtype(dtype).itemsize
    image = image_of(isa, np.random.default_rng(op * 131 + width), dtype)
    form, count, mask, repeat, strides = shape_of(shape, width)
    call = isa.pack_call(op, type_, form, repeat, count, True, mask, strides=strides)
    lanes = isa.lanes_of(form, width, count, mask, repeat)
    base = isa.OFFSETS
    expected = isa.apply(
        image,
        lambda *v: post(isa, dtype)(fn(*v)),
        (dtype, base[0]),
        [(dtype, base[1]), (dtype, base[2])],
        lanes,
        width,
        [(strides[0], strides[3]), (strides[1], strides[4]), (strides[2], strides[5])],
    )
    isa.same_bits(isa.run_image(isa_lib("vector"), "binary", image, call), expected)


def test_existing_mask_register_is_used(isa, isa_lib):
    image = isa.float_image(np.random.default_rng(3), np.float32)
    mask = (0x0F0F, 0)
    call = isa.pack_call(0, "float", isa.BITS, 3, mask=mask, set_mask=False)
    base = isa.OFFSETS
    expected = isa.apply(
        image, lambda d, a, b: a + b, (np.float32, base[0]), [(np.float32, base[1]), (np.float32, base[2])],
        isa.lanes_of(isa.BITS, 64, mask=mask, repeat=3), 64, [(1, 8)] * 3,
    )  # fmt: skip
    isa.same_bits(isa.run_image(isa_lib("vector"), "binary", image, call), expected)


@pytest.mark.parametrize("type_", ["half", "float", "int32"])
def test_running_accumulation(isa, isa_lib, type_):
    """dst == src1 with repeat stride 0: each repeat adds to what the one before it left."""
    dtype = isa.TYPES[type_]
    width = 256 // np.dtype(dtype).itemsize
    image = image_of(isa, np.random.default_rng(5), dtype)
    offsets = (isa.OFFSETS[0], isa.OFFSETS[1], isa.OFFSETS[0], 0)
    call = isa.pack_call(0, type_, isa.MASK, 9, mask=(width, 0), offsets=offsets, strides=(1, 1, 1, 0, 8, 0))
    total = isa.view(image, dtype, offsets[0])[:width].copy()
    with np.errstate(all="ignore"):
        for r in range(9):
            total = isa.view(image, dtype, offsets[1])[r * width : (r + 1) * width] + total
    expected = image.copy()
    isa.view(expected, dtype, offsets[0])[:width] = total
    isa.same_bits(isa.run_image(isa_lib("vector"), "binary", image, call), expected)


@pytest.mark.parametrize("type_", FLOATS)
def test_special_values(isa, isa_lib, type_):
    """NaN, infinities, subnormals and overflow through + - * / max min, both overflow modes."""
    dtype = isa.TYPES[type_]
    info = np.finfo(dtype)
    values = np.array(
        [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, info.max, -info.max, info.tiny, info.smallest_subnormal,
         -info.smallest_subnormal, 3 * info.smallest_subnormal, info.max * 0.75, 0.1, 3.0], dtype,
    )  # fmt: skip
    a, b = (v.reshape(-1) for v in np.meshgrid(values, values))
    image = np.zeros(isa.IMAGE_BYTES, np.uint8)
    isa.view(image, dtype, isa.OFFSETS[1])[: a.size] = a
    isa.view(image, dtype, isa.OFFSETS[2])[: b.size] = b
    functions = {0: np.add, 1: np.subtract, 2: np.multiply, 3: np.divide, 4: np.maximum, 5: np.minimum}
    for overflow in ("saturate", "inf"):
        for op, fn in functions.items():
            call = isa.pack_call(op, type_, isa.COUNT, count=a.size)
            got = isa.view(
                isa.run_image(isa_lib("vector"), "binary", image, call, overflow=overflow), dtype, isa.OFFSETS[0]
            )[: a.size]
            with np.errstate(all="ignore"):
                want = fn(a, b).astype(dtype)
            if overflow == "saturate" and dtype == np.float16:
                want = isa.saturate(want)
            np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
            finite = ~np.isnan(want)
            # max(0, -0) may return either zero.
            np.testing.assert_array_equal(got[finite], want[finite])


UNARY = [
    ("Exp", FLOATS, lambda x: np.exp(x.astype(np.float64)), 1),
    ("Ln", FLOATS, lambda x: np.log(np.abs(x.astype(np.float64))), 1),
    ("Abs", FLOATS, lambda x: np.abs(x), 0),
    ("Sqrt", FLOATS, lambda x: np.sqrt(x.astype(np.float64)), 0),
    ("Relu", (*FLOATS, "int32"), lambda x: np.maximum(x, 0), 0),
    ("Not", ("int16", "uint16"), lambda x: ~x, 0),
]
UNARY_CODES = {"Exp": 0, "Ln": 1, "Abs": 2, "Sqrt": 3, "Rsqrt": 4, "Reciprocal": 5, "Relu": 6, "Not": 7}


def ulps(actual, expected):
    """Distance in units of the last place, for values of one sign or zero."""
    bits = np.int32 if actual.dtype == np.float32 else np.int16
    return np.abs(actual.view(bits).astype(np.int64) - expected.view(bits).astype(np.int64))


@pytest.mark.parametrize(
    ("row", "type_"), [(row, t) for row in UNARY for t in row[1]], ids=lambda v: v[0] if isinstance(v, tuple) else v
)
def test_unary(isa, isa_lib, row, type_):
    name, _, fn, tolerance = row
    dtype = isa.TYPES[type_]
    n = 5000
    rng = np.random.default_rng(11)
    image = image_of(isa, rng, dtype)
    source = isa.view(image, dtype, isa.OFFSETS[1])[:n]
    if name in ("Ln", "Sqrt"):
        source[:] = np.abs(source)
    call = isa.pack_call(UNARY_CODES[name], type_, isa.COUNT, count=n)
    got = isa.run_image(isa_lib("vector"), "unary", image, call)
    expected = image.copy()
    with np.errstate(all="ignore"):
        want = fn(source).astype(dtype)
    if dtype == np.float16:
        want = isa.saturate(want)
    target = isa.view(got, dtype, isa.OFFSETS[0])[:n]
    if tolerance:
        distance = ulps(target, want)
        assert distance.max() <= tolerance and np.mean(distance != 0) < 1e-3
        want = target
    isa.view(expected, dtype, isa.OFFSETS[0])[:n] = want
    isa.same_bits(got, expected)


def test_exp_range(isa, isa_lib):
    """fp32 exp over its whole range: correctly rounded but for a few ties, 0 and inf at the ends, NaN kept."""
    x = np.concatenate(
        [np.linspace(-110, 95, 5000), [-np.inf, np.inf, np.nan, -30000.0, 0.0, -0.0, 88.72284, -103.97]]
    ).astype(np.float32)
    image = np.zeros(isa.IMAGE_BYTES, np.uint8)
    isa.view(image, np.float32, isa.OFFSETS[1])[: x.size] = x
    got = isa.view(
        isa.run_image(isa_lib("vector"), "unary", image, isa.pack_call(0, count=x.size)), np.float32, isa.OFFSETS[0]
    )[: x.size]
    with np.errstate(all="ignore"):
        want = np.exp(x.astype(np.float64)).astype(np.float32)
    assert np.isnan(got[np.isnan(x)]).all()
    ok = ~np.isnan(x)
    assert ulps(got[ok], want[ok]).max() <= 1 and np.mean(got[ok] != want[ok]) < 1e-3


def test_ln_special(isa, isa_lib):
    x = np.array([0.0, -0.0, -1.0, np.inf, np.nan, 1.0, np.finfo(np.float32).smallest_subnormal], np.float32)
    image = np.zeros(isa.IMAGE_BYTES, np.uint8)
    isa.view(image, np.float32, isa.OFFSETS[1])[: x.size] = x
    got = isa.view(
        isa.run_image(isa_lib("vector"), "unary", image, isa.pack_call(1, count=x.size)), np.float32, isa.OFFSETS[0]
    )[: x.size]
    np.testing.assert_array_equal(got[:2], [-np.inf, -np.inf])
    assert np.isnan(got[2]) and got[3] == np.inf and np.isnan(got[4]) and got[5] == 0
    np.testing.assert_allclose(got[6], np.log(np.float64(x[6])), rtol=1e-7)


@pytest.mark.parametrize("type_", FLOATS)
@pytest.mark.parametrize(("name", "fn"), [("Rsqrt", lambda x: 1 / np.sqrt(x)), ("Reciprocal", lambda x: 1 / x)])
def test_approximations_are_coarse(isa, isa_lib, type_, name, fn):
    """The chip's reciprocals are worse than 1e-4 (1e-3 in half): the model's are too, but not much worse."""
    dtype = isa.TYPES[type_]
    image = isa.float_image(np.random.default_rng(2), dtype)
    n = 4096
    source = isa.view(image, dtype, isa.OFFSETS[1])[:n]
    source[:] = np.abs(source) + dtype(0.5)
    got = isa.view(
        isa.run_image(isa_lib("vector"), "unary", image, isa.pack_call(UNARY_CODES[name], type_, count=n)),
        dtype,
        isa.OFFSETS[0],
    )[:n]
    error = np.abs(got / fn(source.astype(np.float64)) - 1).max()
    low, high = (1e-3, 4e-3) if type_ == "half" else (1e-4, 4e-4)
    assert low < error < high


SCALAR = [
    ("Adds", ARITH, lambda x, s: x + s),
    ("Muls", ARITH, lambda x, s: x * s),
    ("Maxs", ARITH, lambda x, s: np.maximum(x, s)),
    ("Mins", ARITH, lambda x, s: np.minimum(x, s)),
    ("LeakyRelu", FLOATS, lambda x, s: np.where(x >= 0, x, x * s)),
]


@pytest.mark.parametrize("shape", ["count", "full", "mask_strided", "bits"])
@pytest.mark.parametrize(("op", "type_"), [(i, t) for i, row in enumerate(SCALAR) for t in row[1]])
def test_scalar(isa, isa_lib, op, type_, shape):
    fn = SCALAR[op][2]
    dtype = isa.TYPES[type_]
    width = 256 // np.dtype(dtype).itemsize
    image = image_of(isa, np.random.default_rng(17 + op), dtype)
    value = dtype(-7) if np.dtype(dtype).kind == "i" else dtype(0.3)
    form, count, mask, repeat, strides = shape_of(shape, width)
    call = isa.pack_call(
        op, type_, form, repeat, count, True, mask, strides=strides, scalar=isa.scalar_bits(value, dtype)
    )
    expected = isa.apply(
        image,
        lambda d, x: post(isa, dtype)(fn(x, value)),
        (dtype, isa.OFFSETS[0]),
        [(dtype, isa.OFFSETS[1])],
        isa.lanes_of(form, width, count, mask, repeat),
        width,
        [(strides[0], strides[3]), (strides[1], strides[4])],
    )
    isa.same_bits(isa.run_image(isa_lib("vector"), "scalar", image, call), expected)


@pytest.mark.parametrize("shape", ["count", "count_one", "full", "mask_strided", "bits"])
@pytest.mark.parametrize("type_", ["half", "float", "int16", "int32", "uint16", "uint32"])
def test_duplicate(isa, isa_lib, type_, shape):
    dtype = isa.TYPES[type_]
    width = 256 // np.dtype(dtype).itemsize
    image = isa.integer_image(np.random.default_rng(23), np.uint8)
    value = dtype(3)
    form, count, mask, repeat, strides = shape_of(shape, width)
    call = isa.pack_call(
        5, type_, form, repeat, count, True, mask, strides=strides, scalar=isa.scalar_bits(value, dtype)
    )
    expected = isa.apply(
        image, lambda d: np.full(width, value), (dtype, isa.OFFSETS[0]), [],
        isa.lanes_of(form, width, count, mask, repeat), width, [(strides[0], strides[3])],
    )  # fmt: skip
    isa.same_bits(isa.run_image(isa_lib("vector"), "scalar", image, call), expected)


# Call::mode -> dst type, src type. Half sources of a float destination: 64 lanes, packed in four blocks.
PAIRS = {
    "half": (0, np.float16, np.float16),
    "float": (1, np.float32, np.float32),
    "float_half": (2, np.float32, np.float16),
}


def round_to(dtype):
    return lambda x: np.asarray(x, dtype)


@pytest.mark.parametrize("shape", ["count", "full", "strided", "bits"])
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("op", ["MulAddDst", "Axpy"])
def test_multiply_add(isa, isa_lib, op, pair, shape):
    mode, dst_type, src_type = PAIRS[pair]
    width = 256 // np.dtype(dst_type).itemsize
    narrow = 8 * np.dtype(src_type).itemsize // np.dtype(dst_type).itemsize
    rng = np.random.default_rng(31)
    image = isa.float_image(rng, src_type)
    isa.view(image, dst_type, 0)[: 6000 * 4 // np.dtype(dst_type).itemsize] = rng.standard_normal(
        6000 * 4 // np.dtype(dst_type).itemsize
    ).astype(dst_type)
    form, count, mask, repeat, strides = {
        "count": (isa.COUNT, 999, (0, 0), 0, (1, 1, 1, 8, narrow, narrow)),
        "full": (isa.MASK, 0, (width, 0), 6, (1, 1, 1, 8, narrow, narrow)),
        "strided": (isa.MASK, 0, (41, 0), 6, (2, 3, 1, 17, 25, 9)),
        "bits": (isa.BITS, 0, (0xAAAA_5555_0F0F_0001, 0x3 if width == 128 else 0), 4, (1, 1, 2, 8, narrow, 16)),
    }[shape]
    scalar = src_type(0.37)
    call = isa.pack_call(
        0 if op == "MulAddDst" else 1, 0, form, repeat, count, True, mask, strides=strides, mode=mode,
        scalar=isa.scalar_bits(scalar, src_type),
    )  # fmt: skip
    rounded = round_to(dst_type)

    def fn(d, *sources):
        a = sources[0].astype(dst_type)
        b = sources[1].astype(dst_type) if op == "MulAddDst" else dst_type(scalar)
        return isa.saturate(rounded(a * b) + d) if dst_type == np.float16 else rounded(a * b) + d

    sources = [(src_type, isa.OFFSETS[1]), (src_type, isa.OFFSETS[2])][: 2 if op == "MulAddDst" else 1]
    source_strides = [(strides[1], strides[4]), (strides[2], strides[5])][: len(sources)]
    expected = isa.apply(
        image, fn, (dst_type, isa.OFFSETS[0]), sources, isa.lanes_of(form, width, count, mask, repeat), width,
        [(strides[0], strides[3]), *source_strides],
    )  # fmt: skip
    isa.same_bits(isa.run_image(isa_lib("vector"), "multiply_add", image, call), expected)


def test_count_form_leaves_a_full_mask(isa, isa_lib):
    image = isa.float_image(np.random.default_rng(41), np.float32)
    got = isa.run_image(isa_lib("vector"), "mask_state", image, isa.pack_call(0))
    source = isa.view(image, np.float32, isa.OFFSETS[1])
    expected = image.copy()
    isa.view(expected, np.float32, isa.OFFSETS[2])[:8] = source[:8] * 2
    isa.view(expected, np.float32, isa.OFFSETS[0])[:64] = source[:64] * 2
    isa.same_bits(got, expected)


def test_count_mode_by_hand(isa, isa_lib):
    image = isa.float_image(np.random.default_rng(43), np.float32)
    strides = (2, 1, 1, 17, 8, 8)
    got = isa.run_image(isa_lib("vector"), "mask_state", image, isa.pack_call(1, count=150, strides=strides))
    lanes = isa.lanes_of(isa.COUNT, 64, 150)
    expected = isa.apply(
        image,
        lambda d, x: x + np.float32(1),
        (np.float32, isa.OFFSETS[0]),
        [(np.float32, isa.OFFSETS[1])],
        lanes,
        64,
        [(2, 17), (1, 8)],
    )
    isa.same_bits(got, expected)


def test_mask_form_leaves_its_mask(isa, isa_lib):
    image = isa.float_image(np.random.default_rng(47), np.float32)
    got = isa.run_image(isa_lib("vector"), "mask_state", image, isa.pack_call(2))
    source = isa.view(image, np.float32, isa.OFFSETS[1])
    expected = image.copy()
    isa.view(expected, np.float32, isa.OFFSETS[2])[:5] = source[:5]
    for repeat in (0, 64):
        isa.view(expected, np.float32, isa.OFFSETS[0])[repeat : repeat + 5] = source[repeat : repeat + 5] + np.float32(
            1
        )
    isa.same_bits(got, expected)
