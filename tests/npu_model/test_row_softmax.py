# SPDX-License-Identifier: Apache-2.0
"""A kernel in the style of CANN 8.1 from end to end: compiles unchanged, is right, clean, and told what it can do without."""

import re
import struct

import numpy as np
import pytest
from chunk_gdr import model


@pytest.fixture(scope="module")
def lib(kernel_dir):
    return model.build(kernel_dir / "row_softmax.cpp")


def softmax(lib, rows=64, cols=128, blocks=8, key=1, **options):
    x = np.random.default_rng(rows).standard_normal((rows, cols)).astype(np.float16) * np.float16(3)
    y = np.full_like(x, np.nan)
    tiling = struct.pack("<II", rows, cols)
    report = model.run(lib, "row_softmax", {"x": x, "y": y}, tiling=tiling, block_num=blocks, tiling_key=key, **options)
    exact = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    return report, y, exact / exact.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("rows, cols, blocks", [(64, 128, 8), (5, 48, 3), (1, 16, 8), (17, 1024, 2)])
def test_values_and_hazards(lib, rows, cols, blocks):
    for options in ({}, {"execution": "adversarial", "seed": 1}, {"execution": "adversarial", "seed": 2}):
        report, y, expected = softmax(lib, rows, cols, blocks, **options)
        assert report.error == "" and report.errors == report.auto_sync == 0, report.text
        np.testing.assert_allclose(y.astype(np.float64), expected, rtol=1e-3, atol=1e-7)


def test_another_tiling_key_does_nothing(lib):
    report, y, _ = softmax(lib, key=2)
    assert report.error == "" and np.isnan(y).all()


def test_what_it_could_do_without(lib):
    """ReduceMax and ReduceSum hand their result to S themselves, so their callers need no V_S event."""
    report, _, _ = softmax(lib)
    assert [group["queues"] for group in report.redundant_sync if group["kind"] == "flags"] == ["V -> S"] * 2


def test_rows_that_do_not_fill_blocks_are_reported(lib):
    x = np.ones((2, 16), np.float16)
    report = model.run(lib, "row_softmax", {"x": x, "y": x.copy()}, tiling=struct.pack("<II", 2, 12), tiling_key=1)
    assert any("the count is 24 bytes, must be a positive multiple of 32" in item["text"] for item in report.hazards)


def test_tiling_that_is_too_short(lib):
    x = np.ones((2, 16), np.float16)
    for tiling in (b"", struct.pack("<I", 2)):
        report = model.run(lib, "row_softmax", {"x": x, "y": x.copy()}, tiling=tiling, tiling_key=1)
        assert report.error == f"block 0: the tiling struct has 8 bytes, the launch gave {len(tiling)}"


STRIDED = np.ones((4, 4), np.float16)[:, ::2]


@pytest.mark.parametrize(
    "change, message",
    [
        ({"entry": "softmax"}, "no kernel entry 'softmax'; an entry is an extern \"C\" function"),
        ({"blocks": 3}, "unknown option 'blocks'; there are block_num, "),
        ({"stages": {1: 2}}, "option 'stages' cannot be {1: 2}"),
        ({"execution": "random"}, "execution must be 'program' or 'adversarial', got 'random'"),
        ({"args": {"x": STRIDED}}, "'x': expected a C-contiguous numpy array, got one with strides (8, 4)"),
        ({"args": {"x": [1.0]}}, "'x': expected a C-contiguous numpy array, got list"),
    ],
)  # fmt: skip
def test_wrong_calls_are_told_in_words(lib, change, message):
    x = np.ones((2, 16), np.float16)
    call = {"entry": "row_softmax", "args": {"x": x, "y": x.copy()}, "tiling": struct.pack("<II", 2, 16)} | change
    with pytest.raises((ValueError, TypeError, RuntimeError), match=re.escape(message)):
        model.run(lib, call.pop("entry"), call.pop("args"), **call)
