# SPDX-License-Identifier: Apache-2.0
"""Cast, Compare, Select against numpy."""

import numpy as np
import pytest

NONE, RINT, FLOOR, CEIL, ROUND, TRUNC, ODD = range(7)
PAIRS = [
    (np.float32, np.float16), (np.float16, np.float32), (np.int32, np.float32), (np.float32, np.int32),
    (np.int32, np.float16), (np.int16, np.float16), (np.float16, np.int16), (np.int8, np.float16),
    (np.uint8, np.float16), (np.float16, np.int8), (np.float16, np.uint8), (np.float16, np.int32),
]  # fmt: skip
LEGAL = [
    *[(0, NONE), (1, NONE), (1, ODD), (3, NONE), (5, RINT), (6, NONE), (9, NONE), (10, NONE), (11, NONE)],
    *[(2, m) for m in (RINT, FLOOR, CEIL, ROUND, TRUNC)],
    *[(4, m) for m in (RINT, FLOOR, CEIL, ROUND, TRUNC)],
    *[(p, m) for p in (7, 8) for m in (NONE, FLOOR, CEIL, ROUND, TRUNC)],
]


def to_integer(x, mode, dtype):
    """Rounded as the mode says, saturated; NaN is 0."""
    x = x.astype(np.float64)
    with np.errstate(invalid="ignore"):
        rounded = {
            NONE: np.rint, RINT: np.rint, FLOOR: np.floor, CEIL: np.ceil, TRUNC: np.trunc,
            ROUND: lambda v: np.copysign(np.floor(np.abs(v) + 0.5), v),
        }[mode](x)  # fmt: skip
    info = np.iinfo(dtype)
    return np.clip(np.where(np.isnan(rounded), 0, rounded), info.min, info.max).astype(dtype)


def half_odd(x):
    """Round to odd: of the two halves around an inexact value, the one whose last bit is set."""
    with np.errstate(over="ignore"):
        nearest = x.astype(np.float16)
    low = nearest.copy()
    away = np.abs(nearest.astype(np.float64)) > np.abs(x.astype(np.float64))
    low.view(np.uint16)[away] -= 1  # truncation towards zero
    inexact = (low.astype(np.float64) != x.astype(np.float64)) & np.isfinite(x)
    low.view(np.uint16)[inexact] |= 1
    return low


def convert(isa, x, pair, mode, scale=1.0):
    dst, src = PAIRS[pair]
    with np.errstate(over="ignore"):
        if dst is np.float32:
            return x.astype(np.float32)
        if dst is np.float16:
            if mode == ODD:
                return isa.saturate(half_odd(x))
            if src is np.int32:
                return isa.saturate((x.astype(np.float32) * np.float32(scale)).astype(np.float16))
            return isa.saturate(x.astype(np.float16))
        return to_integer(x, mode, dst)


def source_image(isa, rng, pair):
    src = PAIRS[pair][1]
    if np.dtype(src).kind != "f":
        return isa.integer_image(rng, src)
    scale = 300.0 if np.dtype(PAIRS[pair][0]).kind != "f" else 8.0
    image = isa.float_image(rng, src, scale)
    # Ties, both signs, subnormals and the edges of half.
    special = np.array(
        [0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.0, -0.0, 127.5, -128.5, 255.5, 65504.0, 65519.0, 65520.0, -70000.0, 1e30,
         np.inf, -np.inf, np.nan, 6e-8, 2.98e-8, 2.99e-8, 1e-10, 6.1e-5, 2049.0, 2051.0], np.float64,
    )  # fmt: skip
    with np.errstate(over="ignore"):
        isa.view(image, src, isa.OFFSETS[1])[: special.size] = special.astype(src)
    return image


@pytest.mark.parametrize("shape", ["count", "mask", "bits", "strided"])
@pytest.mark.parametrize(("pair", "mode"), LEGAL)
def test_cast(isa, isa_lib, pair, mode, shape):
    dst, src = PAIRS[pair]
    widest = max(np.dtype(dst).itemsize, np.dtype(src).itemsize)
    width = 256 // widest
    rep = [8 * np.dtype(t).itemsize // widest for t in (dst, src)]
    image = source_image(isa, np.random.default_rng(pair * 7 + mode), pair)
    form, count, mask, repeat, strides = {
        "count": (isa.COUNT, 777, (0, 0), 0, (1, 1, 1, rep[0], rep[1], 8)),
        "mask": (isa.MASK, 0, (width, 0), 5, (1, 1, 1, rep[0], rep[1], 8)),
        "bits": (isa.BITS, 0, (0x8000_F0F0_1234_5679, 0xFF if width == 128 else 0), 3, (1, 1, 1, rep[0], rep[1], 8)),
        "strided": (isa.MASK, 0, (width - 3, 0), 4, (2, 3, 1, 19, 25, 8)),
    }[shape]
    scale = np.float16(0.125)
    call = isa.pack_call(
        0, pair, form, repeat, count, True, mask, strides=strides, mode=mode, scalar=isa.scalar_bits(scale, np.float16)
    )
    expected = isa.apply(
        image,
        lambda d, x: convert(isa, x, pair, mode, scale),
        (dst, isa.OFFSETS[0]),
        [(src, isa.OFFSETS[1])],
        isa.lanes_of(form, width, count, mask, repeat),
        width,
        [(strides[0], strides[3]), (strides[1], strides[4])],
    )
    got = isa.run_image(isa_lib("convert"), "cast", image, call)
    if np.dtype(dst).kind == "f":
        # One NaN is as good as another.
        for array in (got, expected):
            values = isa.view(array, dst, 0)
            values[np.isnan(values)] = np.nan
    isa.same_bits(got, expected)


def test_half_conversion_is_exact_everywhere(isa, isa_lib):
    """All 65,536 halves widen exactly, and every midpoint between neighbours rounds to even."""
    halves = np.arange(65536, dtype=np.uint16).view(np.float16)
    image_bytes = 240 * 1024
    for start in range(0, 65536, 16384):
        part = halves[start : start + 16384]
        image = np.zeros(image_bytes, np.uint8)
        offsets = (0, 128 * 1024, 0, 0)
        image[offsets[1] :].view(np.float16)[: part.size] = part
        call = isa.pack_call(
            0, 0, isa.COUNT, count=part.size, offsets=offsets, strides=(1, 1, 1, 8, 4, 8), image_bytes=image_bytes
        )
        wide = isa.run_image(isa_lib("convert"), "cast", image, call)[: part.size * 4].view(np.float32)
        np.testing.assert_array_equal(wide, part.astype(np.float32))
    finite = halves[:0x7C00].astype(np.float64)
    middle = ((finite[:-1] + finite[1:]) / 2).astype(np.float32)
    both = np.concatenate([middle, -middle, np.nextafter(middle, np.float32(0)), np.nextafter(middle, np.float32(1e9))])
    for start in range(0, both.size, 16384):
        part = both[start : start + 16384]
        image = np.zeros(image_bytes, np.uint8)
        offsets = (0, 128 * 1024, 0, 0)
        image[offsets[1] :].view(np.float32)[: part.size] = part
        call = isa.pack_call(
            0, 1, isa.COUNT, count=part.size, offsets=offsets, strides=(1, 1, 1, 4, 8, 8), image_bytes=image_bytes
        )
        narrow = isa.run_image(isa_lib("convert"), "cast", image, call)[: part.size * 2].view(np.float16)
        np.testing.assert_array_equal(narrow, part.astype(np.float16))


def test_overflow_modes(isa, isa_lib):
    x = np.array([65519.0, 65520.0, 1e6, -1e6, np.inf, -np.inf, np.nan, 65504.0], np.float32)
    image = np.zeros(isa.IMAGE_BYTES, np.uint8)
    isa.view(image, np.float32, isa.OFFSETS[1])[: x.size] = x
    for mode in (NONE, ODD):
        call = isa.pack_call(0, 1, isa.COUNT, count=x.size, strides=(1, 1, 1, 4, 8, 8), mode=mode)
        for overflow, big in (("saturate", 65504.0), ("inf", np.inf)):
            got = isa.run_image(isa_lib("convert"), "cast", image, call, overflow=overflow).view(np.float16)[: x.size]
            # Round to odd never leaves the finite range by itself.
            finite_big = big if mode == NONE else 65504.0
            want = [65504, finite_big, finite_big, -finite_big, big, -big, np.nan, 65504]
            np.testing.assert_array_equal(got, np.array(want, np.float16))


def test_scalar_cast(isa, isa_lib):
    x = np.array([0.5, 1.5, -0.5, -1.5, 2.49, -2.51, 3e9, 1.00048828125, 0.1, 65519.0], np.float32)
    image = np.zeros(isa.IMAGE_BYTES, np.uint8)
    isa.view(image, np.float32, isa.OFFSETS[1])[: x.size] = x
    call = isa.pack_call(count=x.size)
    got, report = isa.run_image(isa_lib("convert"), "scalar_cast", image, call, clean=False)
    assert report.errors == 0
    integers = got.view(np.int32)[: 4 * x.size].reshape(-1, 4)
    want = np.stack([to_integer(x, mode, np.int32) for mode in (RINT, FLOOR, CEIL, ROUND)], axis=1)
    np.testing.assert_array_equal(integers, want)
    np.testing.assert_array_equal(got[isa.OFFSETS[2] :].view(np.float16)[: x.size], isa.saturate(half_odd(x)))


COMPARE = [np.less, np.greater, np.equal, np.less_equal, np.greater_equal, np.not_equal]


def pack_bits(holds):
    return np.packbits(holds.reshape(-1), bitorder="little")


def compare_image(isa, dtype):
    image = isa.float_image(np.random.default_rng(3), dtype, 1.0)
    a, b = (isa.view(image, dtype, isa.OFFSETS[i]) for i in (1, 2))
    b[:6000:3] = a[:6000:3]
    a[5:6000:97] = np.nan
    return image


@pytest.mark.parametrize("mode", range(6))
@pytest.mark.parametrize("type_", ["half", "float"])
def test_compare(isa, isa_lib, type_, mode):
    dtype = isa.TYPES[type_]
    width = 256 // np.dtype(dtype).itemsize
    image = compare_image(isa, dtype)
    a, b = (isa.view(image, dtype, isa.OFFSETS[i]) for i in (1, 2))
    n = 9 * width
    scalar = dtype(0.25)
    strided = isa.element_index(dtype, width, 2, 17, 4)
    cases = [
        (isa.pack_call(0, type_, count=n, mode=mode), COMPARE[mode](a[:n], b[:n])),
        # The mask argument changes nothing: every lane is compared.
        (
            isa.pack_call(1, type_, isa.BITS, 4, mask=(1, 0), strides=(1, 2, 1, 8, 17, 8), mode=mode),
            COMPARE[mode](a[strided], b[isa.element_index(dtype, width, 1, 8, 4)]),
        ),
        (
            isa.pack_call(2, type_, count=n, mode=mode, scalar=isa.scalar_bits(scalar, dtype)),
            COMPARE[mode](a[:n], scalar),
        ),
        (
            isa.pack_call(
                3,
                type_,
                isa.MASK,
                4,
                mask=(3, 0),
                strides=(1, 2, 1, 8, 17, 8),
                mode=mode,
                scalar=isa.scalar_bits(scalar, dtype),
            ),
            COMPARE[mode](a[strided], scalar),
        ),
    ]
    for call, holds in cases:
        expected = image.copy()
        bits = pack_bits(holds)
        expected[isa.OFFSETS[0] :][: bits.size] = bits
        isa.same_bits(isa.run_image(isa_lib("convert"), "compare", image, call), expected)


def test_long_compare_is_split(isa, isa_lib):
    """More than 252 repeats become several instructions whose masks join."""
    n = 64 * 260
    image_bytes = 240 * 1024
    rng = np.random.default_rng(9)
    image = isa.float_image(rng, np.float32, image_bytes=image_bytes)
    offsets = (0, 64 * 1024, 140 * 1024, 0)
    a, b = (isa.view(image, np.float32, o)[:n] for o in offsets[1:3])
    call = isa.pack_call(0, "float", count=n, mode=0, offsets=offsets, image_bytes=image_bytes)
    expected = image.copy()
    expected[: n // 8] = pack_bits(a < b)
    isa.same_bits(isa.run_image(isa_lib("convert"), "compare", image, call), expected)


@pytest.mark.parametrize("type_", ["half", "float"])
def test_compare_register(isa, isa_lib, type_):
    """Inactive lanes leave zero bits in the register."""
    dtype = isa.TYPES[type_]
    width = 256 // np.dtype(dtype).itemsize
    image = compare_image(isa, dtype)
    a, b = (isa.view(image, dtype, isa.OFFSETS[i])[:width] for i in (1, 2))
    mask = (0x0FF0_FFFF_0000_AAAA, 0xFFFF if width == 128 else 0)
    holds = np.zeros(128, bool)
    holds[:width] = (a < b) & isa.lanes_of(isa.BITS, width, mask=mask, repeat=1)[0]
    expected = image.copy()
    expected[isa.OFFSETS[0] :][:16] = pack_bits(holds)
    isa.same_bits(
        isa.run_image(isa_lib("convert"), "compare", image, isa.pack_call(4, type_, isa.BITS, mask=mask)), expected
    )


@pytest.mark.parametrize(
    ("op", "sel_mode"),
    [
        ("count", 0),
        ("count", 2),
        ("repeats", 0),
        ("repeats", 2),
        ("scalar_count", 0),
        ("scalar_repeats", 0),
        ("register", 0),
    ],
)
@pytest.mark.parametrize("type_", ["half", "float"])
def test_select(isa, isa_lib, type_, sel_mode, op):
    """Bit 1 takes src0. Mode 0 uses one register's worth of bits in every repeat, modes 1 and 2 walk along them."""
    dtype = isa.TYPES[type_]
    width = 256 // np.dtype(dtype).itemsize
    image = isa.float_image(np.random.default_rng(13), dtype)
    code = ["count", "repeats", "scalar_count", "scalar_repeats", "register"].index(op)
    scalar = dtype(-3.5)
    mask = (0xFFFF_0000_FFFF_00F1, 0x7 if width == 128 else 0)
    if op.endswith("count"):
        form, count, repeat, strides = isa.COUNT, 5 * width + 11, 0, (1, 1, 1, 8, 8, 8)
    elif op == "scalar_repeats":
        form, count, repeat, strides, mask = isa.MASK, 0, 4, (2, 1, 1, 17, 8, 8), (width - 5, 0)
    else:
        form, count, repeat, strides = isa.BITS, 0, 4, (2, 1, 1, 17, 8, 24)
    lanes = isa.lanes_of(form, width, count, mask, repeat)
    bits = np.unpackbits(image[isa.OFFSETS[3] :][:2048], bitorder="little").astype(bool)
    mode = 1 if "scalar" in op else 0 if op == "register" else sel_mode
    state = {"r": 0}

    def fn(d, a, *b):
        r = state["r"]
        state["r"] += 1
        row = bits[:width] if mode == 0 else bits[r * width : (r + 1) * width]
        return np.where(row, a, b[0] if b else scalar)

    sources = [(dtype, isa.OFFSETS[1])] + ([] if mode == 1 else [(dtype, isa.OFFSETS[2])])
    source_strides = [(strides[1], strides[4]), (strides[2], strides[5])][: len(sources)]
    expected = isa.apply(
        image, fn, (dtype, isa.OFFSETS[0]), sources, lanes, width, [(strides[0], strides[3]), *source_strides]
    )
    call = isa.pack_call(
        code, type_, form, repeat, count, True, mask, strides=strides, mode=mode, scalar=isa.scalar_bits(scalar, dtype)
    )
    isa.same_bits(isa.run_image(isa_lib("convert"), "select_lanes", image, call), expected)
