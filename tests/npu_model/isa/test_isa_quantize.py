# SPDX-License-Identifier: Apache-2.0
"""CastDequant (CastDeq), AddReluCast, SubReluCast, AddDeqRelu against numpy."""

import numpy as np
import pytest

FORMS = [
    ("count", {"form": 0, "count": 300}),
    ("tail", {"form": 0, "count": 5, "set_mask": False}),
    ("mask", {"form": 1, "mask": (100, 0), "repeat": 2, "strides": (1, 1, 1, 8, 8, 8)}),
    ("bits", {"form": 2, "mask": (0xF0F0F0F0F0F0F0F3, 0x8000000000000001), "repeat": 3, "strides": (2, 1, 1, 16, 8, 8)}),
]
CALLS = [call for _, call in FORMS]
IDS = [name for name, _ in FORMS]


def shape_of(isa, call, width):
    """lanes, and (block, repeat) strides of dst and the sources."""
    call = {"mask": (0, 0), "repeat": 0, "count": 0, **call}
    form = call["form"]
    mask = (min(call["mask"][0], width), 0) if form == 1 else (call["mask"][0], call["mask"][1] if width > 64 else 0)
    call["mask"] = mask
    lanes = isa.lanes_of(form, width, call["count"], mask, call["repeat"])
    return call, lanes


def ten_bits(scale):
    """A float with its last 13 bits of mantissa cut off."""
    return np.array([scale], np.float32).view(np.uint32).__and__(0xFFFFE000).view(np.float32)[0]


@pytest.mark.parametrize("call", CALLS, ids=IDS)
@pytest.mark.parametrize("mode", range(4), ids=["one", "per_lane", "one-high", "per_lane-high"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_cast_dequant(isa, isa_lib, call, mode, dtype):
    scale, offset = np.float32(0.0123456), -77
    image = isa.integer_image(np.random.default_rng(5), np.int16)
    call, lanes = shape_of(isa, call, 128)
    packed = isa.pack_call(
        type=int(dtype == np.uint8), mode=mode, scalar=isa.scalar_bits(scale, np.float32), extra=(offset & 0xFFFFFFFF,), **call
    )
    strides = call.get("strides", (1, 1, 1, 8, 8, 8))
    expected = image.copy()
    if mode & 1:  # S leaves 16 words in UB
        words = [
            int(np.float32(scale * np.float32(1 + i)).view(np.uint32))
            | ((offset - i) & 0x1FF) << 37
            | int((dtype == np.int8) != (i == 3)) << 46
            for i in range(16)
        ]
        expected[isa.OFFSETS[2] :].view(np.uint64)[:16] = words
    source = image[isa.OFFSETS[1] :].view(np.int16)
    for repeat, active in enumerate(lanes):
        for lane in np.flatnonzero(active):
            block, place = divmod(int(lane), 16)
            x = int(source[(repeat * strides[4] + block * strides[1]) * 16 + place])
            rule = (np.float32(scale * np.float32(1 + place)), offset - place) if mode & 1 else (scale, offset)
            signed = (dtype == np.int8) != (place == 3) if mode & 1 else dtype == np.int8
            value = np.rint(float(x) * float(ten_bits(rule[0])) + rule[1])
            at = isa.OFFSETS[0] + (repeat * strides[3] + block * strides[0]) * 32 + (16 if mode & 2 else 0) + place
            expected[at] = int(np.clip(value, -128, 127) if signed else np.clip(value, 0, 255)) & 0xFF
    isa.same_bits(isa.run_image(isa_lib("quantize"), "cast_dequant", image, packed), expected)


def test_two_calls_make_the_bytes_contiguous(isa, isa_lib):
    """Even blocks into the low halves, odd ones into the high halves: what halfBlock is for."""
    image = isa.integer_image(np.random.default_rng(6), np.int16)
    halves = []
    for high in (0, 2):
        offsets = (isa.OFFSETS[0], isa.OFFSETS[1] + (32 if high else 0), *isa.OFFSETS[2:])
        call = isa.pack_call(
            type=0, mode=high, form=1, mask=(64, 0), repeat=1, strides=(1, 2, 1, 8, 16, 8), offsets=offsets,
            scalar=isa.scalar_bits(0.25, np.float32),
        )  # fmt: skip
        halves.append(isa.run_image(isa_lib("quantize"), "cast_dequant", image, call)[:128])
    got = np.where(np.arange(128) % 32 < 16, halves[0], halves[1]).view(np.int8)
    x = image[isa.OFFSETS[1] :].view(np.int16)[:128].astype(np.float64)
    np.testing.assert_array_equal(got, np.clip(np.rint(x * 0.25), -128, 127).astype(np.int8))


@pytest.mark.parametrize("call", CALLS, ids=IDS)
@pytest.mark.parametrize(
    "op, pair",
    [*((op, pair) for op in (0, 1) for pair in range(3)), (2, 3), (2, 4)],
    ids=["add-half", "add-int8", "add16-int8", "sub-half", "sub-int8", "sub16-int8", "mul-int8", "mul-uint8"],
)
def test_relu_cast_and_mul_cast(isa, isa_lib, call, op, pair):
    dst = (np.float16, np.int8, np.int8, np.int8, np.uint8)[pair]
    src = (np.float32, np.float16, np.int16, np.float16, np.float16)[pair]
    rng = np.random.default_rng(7)
    image = isa.integer_image(rng, src) if pair == 2 else isa.float_image(rng, src, 40.0 if op < 2 else 9.0)
    if pair == 2:
        image.view(np.int16)[::3] //= 400
    call, lanes = shape_of(isa, call, 256 // np.dtype(src).itemsize)
    narrow = 8 * np.dtype(dst).itemsize // np.dtype(src).itemsize
    strides = call.setdefault("strides", (1, 1, 1, narrow, 8, 8))
    if call["form"] == 0:
        strides = (1, 1, 1, narrow, 8, 8)

    def result(_, a, b):
        total = (a + b, a - b, a * b)[op]
        if op < 2:
            total = np.where(total < 0, np.zeros_like(total), total)
        if dst is np.float16:
            return isa.saturate(total.astype(np.float16))
        info = np.iinfo(dst)
        return np.clip(np.rint(total.astype(np.float64)), info.min, info.max).astype(dst)

    pairs = [(strides[0], strides[3]), (strides[1], strides[4]), (strides[2], strides[5])]
    operands = [(dst, isa.OFFSETS[0]), (src, isa.OFFSETS[1]), (src, isa.OFFSETS[2])]
    width = 256 // np.dtype(src).itemsize
    expected = isa.apply(image, result, operands[0], operands[1:], lanes, width, pairs)
    packed = isa.pack_call(op=op, type=pair, **call)
    isa.same_bits(isa.run_image(isa_lib("quantize"), "relu_cast", image, packed), expected)


@pytest.mark.parametrize("call", CALLS, ids=IDS)
def test_add_deq_relu(isa, isa_lib, call):
    scale = np.float16(0.001)
    image = isa.integer_image(np.random.default_rng(8), np.int32)
    image.view(np.int32)[::2] //= 2**12
    call, lanes = shape_of(isa, call, 64)
    strides = call.setdefault("strides", (1, 1, 1, 4, 8, 8))

    def result(_, a, b):
        total = np.maximum(a + b, 0)
        with np.errstate(over="ignore"):
            return isa.saturate((total.astype(np.float32) * np.float32(scale)).astype(np.float16))

    pairs = [(strides[0], strides[3]), (strides[1], strides[4]), (strides[2], strides[5])]
    operands = [(np.float16, isa.OFFSETS[0]), (np.int32, isa.OFFSETS[1]), (np.int32, isa.OFFSETS[2])]
    expected = isa.apply(image, result, operands[0], operands[1:], lanes, 64, pairs)
    packed = isa.pack_call(scalar=isa.scalar_bits(scale, np.float16), **call)
    isa.same_bits(isa.run_image(isa_lib("quantize"), "add_deq_relu", image, packed), expected)


@pytest.mark.parametrize(
    "op, rule, text",
    [
        (0, "Param", "isVecDeq is true: SetDeqScale(vdeq, vdeqInfo) must come before it"),
        (1, "Param", "the destination is int8_t, but signMode of SetDeqScale says otherwise"),
        (2, "Sync2", "read is not ordered after an earlier write"),
    ],
)
def test_registers_that_do_not_fit(isa, isa_lib, op, rule, text):
    image = isa.integer_image(np.random.default_rng(9), np.int16)
    _, report = isa.run_image(isa_lib("quantize"), "wrong_register", image, isa.pack_call(op=op), clean=False)
    assert any(item["rule"] == rule and text in item["text"] for item in report.hazards), report.text
