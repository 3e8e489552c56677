# SPDX-License-Identifier: Apache-2.0
"""Calls that the library builds from several instructions: Broadcast, Silu."""

import numpy as np
import pytest

TYPES = {"half": (0, np.float16), "float": (1, np.float32)}


@pytest.mark.parametrize("tmp", [0, 4096, 1024])
@pytest.mark.parametrize("axis, shape", [(0, (5, 32)), (0, (17, 64)), (0, (3, 16)), (1, (32, 5)), (1, (64, 17)), (1, (272, 3))])
@pytest.mark.parametrize("type_", TYPES)
def test_broadcast(isa, isa_lib, type_, axis, shape, tmp):
    code, dtype = TYPES[type_]
    image = isa.integer_image(np.random.default_rng(21), np.uint8)  # any bits are copied
    source_shape = (1, shape[1]) if axis == 0 else (shape[0], 1)
    call = isa.pack_call(type=code, mode=axis, extra=(*shape, *source_shape, tmp))
    got = isa.run_image(isa_lib("library"), "broadcast", image, call)
    words = {2: np.uint16, 4: np.uint32}[np.dtype(dtype).itemsize]
    elems = shape[0] * shape[1]
    source = image[isa.OFFSETS[1] :].view(words)[: elems // shape[axis]].reshape(source_shape)
    expected = image.copy()
    expected[isa.OFFSETS[0] :].view(words)[:elems] = np.broadcast_to(source, shape).reshape(-1)
    scratch = slice(isa.OFFSETS[2], isa.OFFSETS[2] + tmp)
    expected[scratch] = got[scratch]
    isa.same_bits(got, expected)


def test_broadcast_of_equal_shapes_copies(isa, isa_lib):
    image = isa.integer_image(np.random.default_rng(22), np.uint8)
    call = isa.pack_call(type=1, mode=1, extra=(16, 8, 16, 8, 0))
    expected = image.copy()
    expected[:512] = image[isa.OFFSETS[1] :][:512]
    isa.same_bits(isa.run_image(isa_lib("library"), "broadcast", image, call), expected)


@pytest.mark.parametrize(
    "extra, axis, text",
    [
        ((32, 40, 32, 1, 64), 1, "the temporary buffer is too small"),
        ((12, 4, 12, 1, 0), 1, "its other side a multiple of 32 bytes"),
        ((8, 16, 2, 16, 0), 0, "srcShape must be dstShape but for a 1 along axis"),
    ],
)
def test_broadcasts_that_are_rejected(isa, isa_lib, extra, axis, text):
    image = isa.integer_image(np.random.default_rng(23), np.uint8)
    call = isa.pack_call(type=0, mode=axis, extra=extra)
    _, report = isa.run_image(isa_lib("library"), "broadcast", image, call, clean=False)
    assert any(item["rule"] == "Param" and text in item["text"] for item in report.hazards), report.text


@pytest.mark.parametrize("type_", TYPES)
def test_silu(isa, isa_lib, type_):
    code, dtype = TYPES[type_]
    image = isa.float_image(np.random.default_rng(24), dtype, 3.0)
    got = isa.run_image(isa_lib("library"), "silu", image, isa.pack_call(type=code, count=300))
    x = image[isa.OFFSETS[1] :].view(dtype)[:300].astype(np.float64)
    tolerance = 4e-3 if type_ == "half" else 1e-6
    y = got.view(dtype)[:300].astype(np.float64)
    np.testing.assert_allclose(y, x / (1 + np.exp(-x)), rtol=tolerance, atol=tolerance / 10)
    behind = slice(300 * np.dtype(dtype).itemsize, None)
    isa.same_bits(got[behind], image[behind])
