# SPDX-License-Identifier: Apache-2.0
"""Calls that move elements: TransDataTo5HD, Transpose, Gather, GatherMask, Brcb, CreateVecIndex."""

import numpy as np
import pytest

TYPES = {"half": (0, np.float16), "float": (1, np.float32), "int8": (2, np.int8)}


def move(rows, dtype):
    """16 source rows -> 16 destination rows of one TransDataTo5HD repeat."""
    if dtype == np.float32:
        # Row s, element j -> row 2 j + s // 8, position s % 8.
        out = np.empty((16, 8), dtype)
        for s in range(16):
            for j in range(8):
                out[2 * j + s // 8, s % 8] = rows[s, j]
        return out
    return rows.T.copy()


@pytest.mark.parametrize("addresses", [0, 1, 2], ids=["tensors", "values", "in_ub"])
@pytest.mark.parametrize("repeat", [0, 1, 5])
@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("pitches", [(32, 32), (96, 256), (544, 64)])
def test_trans_data(isa, isa_lib, type_, repeat, addresses, pitches):
    code, dtype = TYPES[type_]
    rep = (0, 0) if repeat == 1 else (70, 40)
    image = isa.integer_image(np.random.default_rng(1), np.uint8)
    for halves in ((0, 0), (1, 0), (0, 1), (1, 1)) if type_ == "int8" else ((0, 0),):
        call = isa.pack_call(
            0,
            code,
            repeat=repeat,
            set_mask=1 + 2 * halves[0] + 4 * halves[1],
            strides=(1, 1, 1, *rep, 8),
            mode=addresses,
            extra=pitches,
        )
        expected = image.copy()
        per_row = (16 if type_ == "int8" else 32) // np.dtype(dtype).itemsize
        offset = [isa.OFFSETS[0] + 16 * halves[0], isa.OFFSETS[1] + 16 * halves[1]]
        for r in range(repeat):
            start = [o + r * s * 32 for o, s in zip(offset, rep, strict=True)]
            rows = np.stack([isa.view(image, dtype, start[1] + i * pitches[1])[:per_row] for i in range(16)])
            for i, row in enumerate(move(rows, dtype)):
                isa.view(expected, dtype, start[0] + i * pitches[0])[:per_row] = row
        if addresses == 2:
            lists = [o + i * p for o, p in zip(isa.OFFSETS[:2], pitches, strict=True) for i in range(16)]
            expected[isa.OFFSETS[2] :].view(np.uint64)[:32] = lists
        isa.same_bits(isa.run_image(isa_lib("permute"), "trans_data", image, call), expected)


def test_trans_data_single_repeat_needs_zero_strides(isa, isa_lib):
    """The hardware adds the strides even to a single repeat, so they must be 0."""
    image = isa.integer_image(np.random.default_rng(1), np.uint8)
    call = isa.pack_call(0, 0, repeat=1, strides=(1, 1, 1, 16, 0, 8), extra=(32, 32))
    _, report = isa.run_image(isa_lib("permute"), "trans_data", image, call, clean=False)
    assert report.errors == 1 and "dstRepStride and srcRepStride must be 0" in report.text


def test_transpose(isa, isa_lib):
    image = isa.float_image(np.random.default_rng(2), np.float16)
    expected = image.copy()
    block = isa.view(image, np.float16, isa.OFFSETS[1])[:256].reshape(16, 16)
    isa.view(expected, np.float16, isa.OFFSETS[0])[:256] = block.T.reshape(-1)
    isa.same_bits(isa.run_image(isa_lib("permute"), "transpose", image, isa.pack_call()), expected)


@pytest.mark.parametrize("shape", ["count", "mask", "bits"])
@pytest.mark.parametrize("type_", ["half", "float"])
def test_gather(isa, isa_lib, type_, shape):
    code, dtype = TYPES[type_]
    size = np.dtype(dtype).itemsize
    width = 256 // size
    rng = np.random.default_rng(3)
    image = isa.float_image(rng, dtype)
    offsets = isa.view(image, np.uint32, isa.OFFSETS[2])
    offsets[:] = rng.integers(0, 20000 // size, offsets.size) * size  # bytes
    base = 64
    form, count, mask, repeat, rep = {
        "count": (isa.COUNT, 3 * width + 7, (0, 0), 0, 8),
        "mask": (isa.MASK, 0, (width - 9, 0), 4, 19),
        "bits": (isa.BITS, 0, (0x8001_0000_FFFF_0003, 1 if width == 128 else 0), 3, 8),
    }[shape]
    lanes = isa.lanes_of(form, width, count, mask, repeat)
    source = isa.view(image, dtype, isa.OFFSETS[1])
    expected = image.copy()
    out = isa.view(expected, dtype, isa.OFFSETS[0])
    for r, active in enumerate(lanes):
        picked = source[(offsets[r * width : (r + 1) * width] + base) // size]
        target = r * rep * 32 // size + np.arange(width)
        out[target[active]] = picked[active]
    call = isa.pack_call(0, code, form, repeat, count, True, mask, strides=(1, 1, 1, rep, 8, 8), extra=(base,))
    isa.same_bits(isa.run_image(isa_lib("permute"), "gather", image, call), expected)


def test_gather_outside_its_source_is_reported(isa, isa_lib):
    image = isa.float_image(np.random.default_rng(4), np.float32)
    offsets = isa.view(image, np.uint32, isa.OFFSETS[2])
    offsets[:64] = np.arange(64) * 4
    offsets[7] = 300 * 1024
    got, report = isa.run_image(
        isa_lib("permute"), "gather", image, isa.pack_call(0, 1, isa.COUNT, count=64), clean=False
    )
    assert report.errors == 1 and "1 offsets leave the source tensor" in report.text and "Read3" in report.text
    assert np.isnan(isa.view(got, np.float32, isa.OFFSETS[0])[7])


@pytest.mark.parametrize("amount", [("repeats", 1), ("repeats", 3), ("elements", 5), ("elements", 300)], ids=str)
@pytest.mark.parametrize("pattern", range(7))
@pytest.mark.parametrize("type_", ["half", "float"])
@pytest.mark.parametrize("strides", [(1, 8, 1), (2, 21, 0)], ids=str)
def test_gather_mask(isa, isa_lib, type_, pattern, amount, strides):
    """Pattern 0 stands for bits in a tensor, which each repeat consumes from its own start."""
    code, dtype = TYPES[type_]
    width = 256 // np.dtype(dtype).itemsize
    image = isa.float_image(np.random.default_rng(7), dtype)
    total = amount[1] * (width if amount[0] == "repeats" else 1)
    repeats = -(-total // width)
    index = isa.element_index(dtype, width, strides[0], strides[1], repeats)
    bits = np.unpackbits(isa.view(image, np.uint8, isa.OFFSETS[2])[: repeats * 32 + 32], bitorder="little")
    i = np.arange(width)
    keep = {0: None, 1: i % 2 == 0, 2: i % 2 == 1}.get(pattern, i % 4 == pattern - 3)
    keep = np.stack([bits[r * strides[2] * 256 :][:width] if keep is None else keep for r in range(repeats)]).astype(
        bool
    )
    keep &= (np.arange(repeats * width) < total).reshape(repeats, width)
    kept = isa.view(image, dtype, isa.OFFSETS[1])[index[keep]]
    expected = image.copy()
    isa.view(expected, dtype, isa.OFFSETS[0])[: kept.size] = kept
    isa.view(expected, np.uint64, isa.OFFSETS[3])[0] = kept.size
    count_mode = amount[0] == "elements"
    call = isa.pack_call(
        0, code, repeat=0 if count_mode else amount[1], count=total if count_mode else 0, set_mask=count_mode,
        strides=(1, strides[0], 1, 8, *strides[1:]), mode=pattern,
    )  # fmt: skip
    isa.same_bits(isa.run_image(isa_lib("permute"), "gather_mask", image, call), expected)


def test_gather_mask_in_place(isa, isa_lib):
    image = isa.float_image(np.random.default_rng(8), np.float32)
    offsets = (isa.OFFSETS[1], isa.OFFSETS[1], *isa.OFFSETS[2:])
    expected = image.copy()
    source = isa.view(image, np.float32, isa.OFFSETS[1])
    isa.view(expected, np.float32, isa.OFFSETS[1])[:64] = source[1:128:2]
    isa.view(expected, np.uint64, isa.OFFSETS[3])[0] = 64
    call = isa.pack_call(0, 1, repeat=2, set_mask=False, offsets=offsets, mode=2)
    isa.same_bits(isa.run_image(isa_lib("permute"), "gather_mask", image, call), expected)


@pytest.mark.parametrize("pattern", [7, 8, 255])
def test_gather_mask_pattern_must_exist(isa, isa_lib, pattern):
    image = isa.float_image(np.random.default_rng(9), np.float32)
    _, report = isa.run_image(
        isa_lib("permute"),
        "gather_mask",
        image,
        isa.pack_call(0, 1, repeat=1, set_mask=False, mode=pattern),
        clean=False,
    )
    assert report.errors == 1 and "must be 1..6 on this chip" in report.text


@pytest.mark.parametrize(("dst_block", "dst_repeat"), [(1, 8), (1, 11), (3, 24)])
@pytest.mark.parametrize("repeat", [1, 2, 7])
@pytest.mark.parametrize("type_", ["half", "float"])
def test_brcb(isa, isa_lib, type_, repeat, dst_block, dst_repeat):
    code, dtype = TYPES[type_]
    per_block = 32 // np.dtype(dtype).itemsize
    image = isa.float_image(np.random.default_rng(5), dtype)
    expected = image.copy()
    out = isa.view(expected, dtype, isa.OFFSETS[0])
    for r in range(repeat):
        for i in range(8):
            start = (r * dst_repeat + i * dst_block) * per_block
            out[start : start + per_block] = isa.view(image, dtype, isa.OFFSETS[1])[r * 8 + i]
    call = isa.pack_call(0, code, repeat=repeat, strides=(dst_block, 1, 1, dst_repeat, 8, 8))
    got, report = isa.run_image(isa_lib("permute"), "brcb", image, call, clean=False)
    assert report.errors == 0 and report.error == "", report.text
    # The strided form reads the source by the scalar unit, here loaded by MTE2 behind an MTE2_V flag only.
    assert report.auto_sync == 0 or dst_block > 1
    # The scratch lies above the image, so every byte must agree.
    isa.same_bits(got, expected)


@pytest.mark.parametrize("shape", ["count", "count_small", "mask", "bits"])
@pytest.mark.parametrize("type_", [0, 1, 2, 3], ids=["half", "float", "int16", "int32"])
def test_vec_index(isa, isa_lib, type_, shape):
    dtype = [np.float16, np.float32, np.int16, np.int32][type_]
    width = 256 // np.dtype(dtype).itemsize
    image = isa.integer_image(np.random.default_rng(6), np.uint8)
    form, count, mask, repeat, strides = {
        "count": (isa.COUNT, 3 * width + 5, (0, 0), 0, (1, 1, 1, 8, 8, 8)),
        "count_small": (isa.COUNT, 5, (0, 0), 0, (1, 1, 1, 8, 8, 8)),
        "mask": (isa.MASK, 0, (width, 0), 3, (1, 1, 1, 8, 8, 8)),
        "bits": (isa.BITS, 0, (0xF00F_0000_0000_0101, 0), 2, (2, 1, 1, 17, 8, 8)),
    }[shape]
    lanes = isa.lanes_of(form, width, count, mask, repeat)
    index = isa.element_index(dtype, width, strides[0], strides[3], len(lanes))
    expected = image.copy()
    out = isa.view(expected, dtype, isa.OFFSETS[0])
    values = 3 + np.arange(lanes.size).reshape(lanes.shape)
    out[index[lanes]] = values[lanes].astype(dtype)
    call = isa.pack_call(0, type_, form, repeat, count, True, mask, strides=strides, scalar=isa.scalar_bits(3, dtype))
    isa.same_bits(isa.run_image(isa_lib("permute"), "vec_index", image, call), expected)


NONE, ND2ND_ONLY, ND2ND_B16, NCHW2NHWC, NHWC2NCHW = 0, 7, 10, 11, 12


@pytest.mark.parametrize("bytes_", [1, 2, 4])
@pytest.mark.parametrize("form", [NCHW2NHWC, NHWC2NCHW])
@pytest.mark.parametrize("shape", [(1, 3, 8, 4), (2, 16, 4, 8), (3, 5, 1, 32), (0, 5, 1, 32)])
def test_transpose_of_images(isa, isa_lib, bytes_, form, shape):
    n, c, h, w = shape
    image = isa.integer_image(np.random.default_rng(2), np.uint8)
    dtype = {1: np.uint8, 2: np.uint16, 4: np.uint32}[bytes_]
    expected = image.copy()
    source = isa.view(image, dtype, isa.OFFSETS[1])[: n * c * h * w]
    if form == NCHW2NHWC:
        moved = source.reshape(n, c, h, w).transpose(0, 2, 3, 1)
    else:
        moved = source.reshape(n, h, w, c).transpose(0, 3, 1, 2)
    isa.view(expected, dtype, isa.OFFSETS[0])[: source.size] = moved.reshape(-1)
    call = isa.pack_call(type=bytes_, mode=form, extra=shape)
    isa.same_bits(isa.run_image(isa_lib("permute"), "transpose_images", image, call), expected)


def test_transpose_of_a_block_and_of_nothing(isa, isa_lib):
    image = isa.integer_image(np.random.default_rng(3), np.uint8)
    block = isa.pack_call(type=2, mode=ND2ND_B16, extra=(0, 0, 16, 16))
    expected = image.copy()
    source = isa.view(image, np.uint16, isa.OFFSETS[1])[:256].reshape(16, 16)
    isa.view(expected, np.uint16, isa.OFFSETS[0])[:256] = source.T.reshape(-1)
    isa.same_bits(isa.run_image(isa_lib("permute"), "transpose_images", image, block), expected)
    nothing = isa.pack_call(type=2, mode=NONE, extra=(1, 1, 16, 16))
    isa.same_bits(isa.run_image(isa_lib("permute"), "transpose_images", image, nothing), image)


@pytest.mark.parametrize(
    "bytes_, form, shape, rule, text",
    [
        (4, ND2ND_B16, (0, 0, 16, 16), "Unsupported", "TRANSPOSE_ND2ND_B16 takes 16-bit elements"),
        (2, ND2ND_ONLY, (1, 1, 16, 16), "Unsupported", "only TRANSPOSE_ND2ND_B16, TRANSPOSE_NCHW2NHWC"),
        (2, NCHW2NHWC, (1, 4, 3, 5), "Param", "a multiple of 32 bytes; got cSize 4, hSize * wSize 15"),
        (2, NHWC2NCHW, (1, 4096, 4, 8), "Param", "must be at most 4095"),
    ],
)
def test_transposes_that_do_not_exist(isa, isa_lib, bytes_, form, shape, rule, text):
    image = isa.integer_image(np.random.default_rng(4), np.uint8)
    call = isa.pack_call(type=bytes_, mode=form, extra=shape)
    _, report = isa.run_image(isa_lib("permute"), "transpose_images", image, call, clean=False)
    assert [(item["rule"], text in item["text"]) for item in report.hazards] == [(rule, True)], report.text
