# SPDX-License-Identifier: Apache-2.0
"""Reductions against numpy: trees inside a repeat, lanes that do not take part, result strides, whole tensors."""

import numpy as np
import pytest


def tree_sum(isa, values, active):
    """Binary tree over neighbours; half sums round at every level. None if nobody takes part."""
    level = [v if a else None for v, a in zip(values, active, strict=True)]
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=True)
        level = [b if a is None else a if b is None else add(isa, a, b) for a, b in pairs]
    return level[0]


def add(isa, a, b):
    with np.errstate(over="ignore"):
        return isa.saturate(a + b)[()] if a.dtype == np.float16 else a + b


def extreme(values, active, pick):
    """(value, lane) of the first extreme element that takes part."""
    lanes = np.flatnonzero(active)
    if lanes.size == 0:
        return None
    best = lanes[pick(values[lanes])]
    return values[best], best


def reduce_groups(isa, op, values, active, group):
    out = []
    for g in range(0, values.size, group):
        part, who = values[g : g + group], active[g : g + group]
        if op == "sum":
            out.append(tree_sum(isa, part, who))
        else:
            found = extreme(part, who, np.argmax if op == "max" else np.argmin)
            out.append(None if found is None else found[0])
    return out


SHAPES = {
    "full": (1, ("width", 0), 6, (1, 1, 1, 1, 8, 8)),
    "prefix": (1, (21, 0), 5, (1, 1, 1, 2, 9, 8)),
    "holes": (2, (0x0000_FF00_0000_8011, "high"), 4, (1, 2, 1, 3, 17, 8)),
}


def setup(isa, type_, shape):
    dtype = isa.TYPES[type_]
    width = 256 // np.dtype(dtype).itemsize
    form, mask, repeat, strides = SHAPES[shape]
    low = width if mask[0] == "width" else mask[0]
    high = 0x1000_0000_0000_0001 if mask[1] == "high" and width == 128 else 0
    lanes = isa.lanes_of(form, width, 0, (low, high), repeat)
    image = isa.float_image(np.random.default_rng(5), dtype, 900.0)
    index = isa.element_index(dtype, width, strides[1], strides[4], repeat)
    values = isa.view(image, dtype, isa.OFFSETS[1])[np.where(lanes, index, 0)]
    return dtype, width, form, (low, high), repeat, strides, lanes, image, values


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("type_", ["half", "float"])
@pytest.mark.parametrize(
    ("code", "op", "kind"),
    [
        (0, "sum", "block"),
        (1, "max", "block"),
        (2, "min", "block"),
        (7, "sum", "block"),
        (3, "sum", "pair"),
        (8, "sum", "pair"),
        (4, "sum", "whole"),
    ],
)
def test_groups(isa, isa_lib, code, op, kind, type_, shape):
    dtype, width, form, mask, repeat, strides, lanes, image, values = setup(isa, type_, shape)
    group = {"block": 32 // np.dtype(dtype).itemsize, "pair": 2, "whole": width}[kind]
    results = width // group
    expected = image.copy()
    out = isa.view(expected, dtype, isa.OFFSETS[0])
    for r in range(repeat):
        # dstRepStride counts the results of one repeat.
        for g, value in enumerate(reduce_groups(isa, op, values[r], lanes[r], group)):
            if value is not None:
                out[r * strides[3] * results + g] = value
    call = isa.pack_call(code, 0 if type_ == "half" else 1, form, repeat, 0, True, mask, strides=strides)
    isa.same_bits(isa.run_image(isa_lib("convert"), "reduce", image, call), expected)


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("type_", ["half", "float"])
@pytest.mark.parametrize(("code", "pick"), [(5, np.argmax), (6, np.argmin), (9, np.argmax)])
def test_extremes(isa, isa_lib, code, pick, type_, shape, order):
    """Value and index of the first extreme lane; the index is an integer in the element's bits."""
    dtype, width, form, mask, repeat, strides, lanes, image, values = setup(isa, type_, shape)
    source = isa.view(image, dtype, isa.OFFSETS[1])
    source[: 4 * width] = np.rint(source[: 4 * width] / 200)  # ties
    values = source[np.where(lanes, isa.element_index(dtype, width, strides[1], strides[4], repeat), 0)]
    expected = image.copy()
    out = isa.view(expected, dtype, isa.OFFSETS[0])
    for r in range(repeat):
        value, lane = extreme(values[r], lanes[r], pick)
        index = np.array([lane], np.uint16 if dtype == np.float16 else np.uint32).view(dtype)[0]
        pair = [value, index] if order == 0 else [index, value]
        out[r * strides[3] * 2 : r * strides[3] * 2 + 2] = pair
    call = isa.pack_call(code, 0 if type_ == "half" else 1, form, repeat, 0, True, mask, strides=strides, mode=order)
    isa.same_bits(isa.run_image(isa_lib("convert"), "reduce", image, call), expected)


@pytest.mark.parametrize("count", [1, 40, 64, 128, 129, 1000, 4096, 5000, 9000])
@pytest.mark.parametrize("type_", ["half", "float"])
def test_reduce_sum_all(isa, isa_lib, type_, count):
    """Small integers: every order of summation gives the same exact sum."""
    dtype = isa.TYPES[type_]
    image = np.zeros(isa.IMAGE_BYTES, np.uint8)
    rng = np.random.default_rng(count)
    offsets = (0, 1024, 60 * 1024, 0)
    source = isa.view(image, dtype, offsets[1])[:count]
    source[:] = rng.integers(-1, 2, count)
    got = isa.run_image(
        isa_lib("convert"),
        "reduce_all",
        image,
        isa.pack_call(0, 0 if type_ == "half" else 1, isa.COUNT, count=count, offsets=offsets),
    )
    assert isa.view(got, dtype, 0)[0] == source.astype(np.float64).sum()
    np.testing.assert_array_equal(isa.view(got, dtype, offsets[1])[:count], source)


@pytest.mark.parametrize("with_index", [0, 1])
@pytest.mark.parametrize("count", [2, 40, 64, 65, 130, 1000, 4096, 4100, 9000])
@pytest.mark.parametrize("op", [1, 2])
@pytest.mark.parametrize("type_", ["half", "float"])
def test_reduce_extreme_all(isa, isa_lib, type_, op, count, with_index):
    dtype = isa.TYPES[type_]
    image = np.zeros(isa.IMAGE_BYTES, np.uint8)
    offsets = (0, 1024, 60 * 1024, 0)
    source = isa.view(image, dtype, offsets[1])[:count]
    source[:] = np.random.default_rng(count + op).permutation(count).astype(np.float64) - count // 2
    call = isa.pack_call(op, 0 if type_ == "half" else 1, isa.COUNT, count=count, offsets=offsets, mode=with_index)
    got = isa.run_image(isa_lib("convert"), "reduce_all", image, call)
    best = source.argmax() if op == 1 else source.argmin()
    assert isa.view(got, dtype, 0)[0] == source[best]
    if with_index:
        index = isa.view(got, np.uint16 if type_ == "half" else np.uint32, 0)[1]
        # Halves above 2048 tie with their neighbours: the first of them is meant.
        assert source[index] == source[best] and index == best


def test_reduce_sum_repeats(isa, isa_lib):
    """The mask form: 300 repeats in two instructions, half of the lanes."""
    image = np.zeros(240 * 1024, np.uint8)
    offsets = (0, 1024, 200 * 1024, 0)
    repeat = 255
    source = isa.view(image, np.float32, offsets[1])[: repeat * 64]
    source[:] = np.random.default_rng(1).integers(-8, 9, repeat * 64)
    mask = (0x5555_5555_5555_5555, 0)
    call = isa.pack_call(0, 1, isa.BITS, repeat, mask=mask, offsets=offsets, image_bytes=image.size)
    got = isa.run_image(isa_lib("convert"), "reduce_all", image, call)
    assert isa.view(got, np.float32, 0)[0] == source[::2].sum()
