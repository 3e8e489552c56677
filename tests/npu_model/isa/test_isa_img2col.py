# SPDX-License-Identifier: Apache-2.0
"""LoadData with LoadData3DParamsV1, fractal by fractal, against a convolution's windows in numpy."""

import struct

import numpy as np
import pytest
from chunk_gdr import model

# (height, width, channel blocks, filter w, h, stride w, h, dilation w, h, pads left, right, top, bottom)
MAPS = [
    (5, 7, 2, 3, 3, 1, 1, 1, 1, (1, 1, 1, 1)),
    (6, 9, 1, 2, 3, 2, 1, 1, 2, (0, 1, 2, 0)),
    (4, 8, 3, 1, 1, 1, 1, 1, 1, (0, 0, 0, 0)),
]
PADDING = np.float16(0.5)


def run(isa_lib, map_, shape, c1=0, tap=(0, 0), first=0, jump=1, mode=0, repeats=1, narrow=0, to_l0b=0):
    height, width, blocks, filter_w, filter_h, stride_w, stride_h, dilation_w, dilation_h, pads = shape
    per_row = (width + pads[0] + pads[1] - (dilation_w * (filter_w - 1) + 1)) // stride_w + 1
    left = first % per_row * stride_w - pads[0]
    top = first // per_row * stride_h - pads[2]
    words = struct.pack(
        "<16I2i5I", height, width, blocks, filter_w, filter_h, stride_w, stride_h, dilation_w, dilation_h, *pads,
        c1, *tap, left, top, jump, mode, repeats, narrow, to_l0b,
    )  # fmt: skip
    out = np.full(repeats * 256, np.nan, np.float32)
    args = {"map": map_, "identity": np.eye(16, dtype=np.float16), "out": out}
    return model.run(isa_lib("img2col"), "fractals", args, tiling=words), out.reshape(repeats, 16, 16)


def columns(map_, shape):
    """The im2col matrix [windows, (c1, filter h, filter w), 16]."""
    height, width, blocks, filter_w, filter_h, stride_w, stride_h, dilation_w, dilation_h, pads = shape
    padded = np.full((blocks, height + pads[2] + pads[3], width + pads[0] + pads[1], 16), PADDING)
    padded[:, pads[2] : pads[2] + height, pads[0] : pads[0] + width] = map_.reshape(blocks, height, width, 16)
    rows = range(0, padded.shape[1] - dilation_h * (filter_h - 1), stride_h)
    cols = range(0, padded.shape[2] - dilation_w * (filter_w - 1), stride_w)
    taps = [
        [
            padded[c1, y + kh * dilation_h, x + kw * dilation_w]
            for c1 in range(blocks)
            for kh in range(filter_h)
            for kw in range(filter_w)
        ]
        for y in rows
        for x in cols
    ]
    return np.array(taps)


@pytest.mark.parametrize("to_l0b", [0, 1], ids=["L0A", "L0B"])
@pytest.mark.parametrize("mode", [0, 1], ids=["filter", "windows"])
@pytest.mark.parametrize("shape", MAPS, ids=["conv3x3", "strided", "pointwise"])
def test_fractals(isa_lib, shape, mode, to_l0b):
    height, width, blocks, filter_w, filter_h = shape[:5]
    map_ = np.random.default_rng(11).standard_normal(blocks * height * width * 16).astype(np.float16)
    matrix = columns(map_, shape)
    taps = filter_w * filter_h
    c1 = blocks - 1
    tap = (filter_w - 1, 0)
    column = c1 * taps + tap[0]
    first = 3
    # Mode 0 walks on to the filter's last point, mode 1 on to the map's last windows.
    repeats = taps - tap[0] if mode == 0 else (len(matrix) - first) // 16
    report, got = run(isa_lib, map_, shape, c1, tap, first, jump=2, mode=mode, repeats=repeats, to_l0b=to_l0b)
    assert report.error == "" and report.errors == report.auto_sync == 0, report.text
    assert repeats >= 1
    for i in range(repeats):
        if mode == 0:
            wanted = matrix[first : first + 16, column + i]
        else:
            wanted = matrix[first + 16 * i : first + 16 * (i + 1), column]
        np.testing.assert_array_equal(got[i], wanted.astype(np.float32))


def test_the_filter_walks_over_to_the_next_channel_block(isa_lib):
    shape = MAPS[0]
    map_ = np.random.default_rng(12).standard_normal(2 * 5 * 7 * 16).astype(np.float16)
    report, got = run(isa_lib, map_, shape, c1=0, tap=(2, 2), repeats=3)
    assert report.errors == 0
    np.testing.assert_array_equal(got, columns(map_, shape)[:16, 8:11].transpose(1, 0, 2).astype(np.float32))


@pytest.mark.parametrize(
    "change, rule, text",
    [
        ({"narrow": 1}, "Unsupported", "cSize 1 is not modelled"),
        ({"jump": 0}, "Param", "jumpStride must not be 0"),
        ({"tap": (3, 0)}, "Param", "must lie in the filter"),
    ],
)
def test_rejected(isa_lib, change, rule, text):
    map_ = np.ones(2 * 5 * 7 * 16, np.float16)
    report, _ = run(isa_lib, map_, MAPS[0], **change)
    assert any(item["rule"] == rule and text in item["text"] for item in report.hazards), report.text


def test_reads_leave_the_buffer(isa_lib):
    """A channel block that the map does not have."""
    map_ = np.ones(2 * 5 * 7 * 16, np.float16)
    report, _ = run(isa_lib, map_, MAPS[0], c1=2)
    assert {item["rule"] for item in report.hazards} >= {"Read3"}
