# SPDX-License-Identifier: Apache-2.0
"""Runs one call on a whole UB image, and states in numpy which elements a vector instruction addresses."""

import struct
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from chunk_gdr import model

KERNELS = Path(__file__).parent / "kernels"
COUNT, MASK, BITS = 0, 1, 2
TYPES = {
    "half": np.float16,
    "float": np.float32,
    "int16": np.int16,
    "int32": np.int32,
    "uint16": np.uint16,
    "uint32": np.uint32,
}
IMAGE_BYTES = 96 * 1024
OFFSETS = (0, 24 * 1024, 48 * 1024, 72 * 1024)  # of dst, src0, src1 and a fourth operand


def pack_call(
    op=0, type="float", form=COUNT, repeat=0, count=0, set_mask=True, mask=(0, 0), offsets=OFFSETS,
    strides=(1, 1, 1, 8, 8, 8), scalar=0, mode=0, image_bytes=IMAGE_BYTES, extra=(), probe=0,
):  # fmt: skip
    """The `Call` struct of kernels/image.h."""
    code = list(TYPES).index(type) if isinstance(type, str) else type
    extra = tuple(extra) + (0,) * (5 - len(extra))
    return struct.pack(
        "<4IiI2Q4I6III I5II4x",
        op,
        code,
        form,
        repeat,
        count,
        set_mask,
        *mask,
        *offsets,
        *strides,
        scalar,
        mode,
        image_bytes,
        *extra,
        probe,
    )


def run_image(lib, entry, image, call, clean=True, **options):
    """The image after the call; `clean` also demands that the model found nothing wrong."""
    work = image.copy()
    report = model.run(lib, entry, {"image": work}, tiling=call, **options)
    if clean:
        assert report.error == "" and report.errors == 0 and report.auto_sync == 0, report.error + report.text
    return (work, report) if not clean else work


def element_index(dtype, width, block_stride, repeat_stride, repeats):
    """[repeats, width] element numbers from the operand's base; strides in 32-byte blocks."""
    per_block = 32 // np.dtype(dtype).itemsize
    lane = np.arange(width)
    return (
        np.arange(repeats)[:, None] * repeat_stride + lane // per_block * block_stride
    ) * per_block + lane % per_block


def lanes_of(form, width, count=0, mask=(0, 0), repeat=0):
    """[repeats, width] booleans: who takes part."""
    if form == COUNT:
        repeats = -(-count // width)
        return (np.arange(repeats * width) < count).reshape(repeats, width)
    if form == MASK:
        return np.broadcast_to(np.arange(width) < mask[0], (repeat, width))
    bits = [(mask[i // 64] >> (i % 64)) & 1 for i in range(width)]
    return np.broadcast_to(np.array(bits, bool), (repeat, width))


def view(image, dtype, offset):
    return image[offset:].view(dtype) if offset % np.dtype(dtype).itemsize == 0 else None


def apply(image, fn, dst, sources, lanes, width, strides):
    """Runs fn(dst lanes, *source lanes) repeat by repeat on the image: a repeat is read whole before it is written.

    dst and sources are (dtype, byte offset); strides are (block, repeat) of dst and of each source."""
    out = image.copy()
    operands = [dst, *sources]
    index = [element_index(t, width, *s, len(lanes)) for (t, _), s in zip(operands, strides, strict=True)]
    for r, active in enumerate(lanes):
        # Blocks nobody takes part in may lie outside the image.
        safe = [np.where(active, i[r], 0) for i in index]
        values = [view(out, t, o)[i] for (t, o), i in zip(operands, safe, strict=True)]
        with np.errstate(all="ignore"):
            result = np.asarray(fn(*values)).astype(dst[0])
        view(out, *dst)[safe[0][active]] = result[active]
    return out


def saturate(values):
    """What the model's default overflow mode makes of half results."""
    values = np.asarray(values, np.float16)
    return np.where(np.isinf(values), np.copysign(np.float16(65504), values), values)


def float_image(rng, dtype, scale=4.0, image_bytes=IMAGE_BYTES):
    return (rng.standard_normal(image_bytes // np.dtype(dtype).itemsize) * scale).astype(dtype).view(np.uint8)


def integer_image(rng, dtype, image_bytes=IMAGE_BYTES):
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, image_bytes // np.dtype(dtype).itemsize, dtype, endpoint=True).view(
        np.uint8
    )


def scalar_bits(value, dtype):
    raw = np.asarray(value, dtype).tobytes()
    return int.from_bytes(raw, "little")


def same_bits(actual, expected):
    """Equal bytes; NaNs of any payload are one value to a float comparison, so this is for exact operations."""
    difference = np.flatnonzero(actual != expected)
    assert difference.size == 0, f"{difference.size} bytes differ, first at {difference[:8]}"


@pytest.fixture(scope="session")
def isa():
    return SimpleNamespace(
        pack_call=pack_call, run_image=run_image, lanes_of=lanes_of, apply=apply, saturate=saturate, view=view,
        float_image=float_image, integer_image=integer_image, scalar_bits=scalar_bits, same_bits=same_bits,
        element_index=element_index, TYPES=TYPES, OFFSETS=OFFSETS, IMAGE_BYTES=IMAGE_BYTES, COUNT=COUNT, MASK=MASK,
        BITS=BITS, KERNELS=KERNELS,
    )  # fmt: skip


@pytest.fixture(scope="session")
def isa_lib():
    libs = {}

    def get(name):
        if name not in libs:
            libs[name] = model.build(KERNELS / f"{name}.cpp")
        return libs[name]

    return get
