# SPDX-License-Identifier: Apache-2.0
"""The byte regions that calls describe to the hazard checker are exactly the bytes they read and write.

S stores the bytes a call should read, and nothing else, and loads what it should write. A region too wide shows as a
read of bytes nobody wrote, or as bytes that count as written; one too narrow the other way round."""

import struct

import numpy as np
import pytest
from chunk_gdr import model

BYTES = 16384
OFFSETS = (0, 4096, 8192, 12288)
HIGH = 0x8000_0000_00FF_0003
# (form, count, mask, repeat, (dst blk, src0 blk, src1 blk, dst rep, src0 rep, src1 rep))
SHAPES = {
    "count": (0, 301, (0, 0), 0, (1, 1, 1, 8, 8, 8)),
    "mask": (1, 0, (37, 0), 3, (2, 1, 3, 17, 9, 24)),
    "bits": (2, 0, (0xF00D_0000_0000_8001, HIGH), 3, (1, 2, 1, 9, 16, 8)),
    "broadcast": (1, 0, (64, 0), 3, (1, 1, 0, 8, 8, 1)),
}
TYPES = {"half": np.float16, "float": np.float32}


class Probe:
    """One call, and the bytes it should read and write."""

    def __init__(self, isa, shape, width):
        self.isa, self.width = isa, width
        self.form, self.count, mask, self.repeat, self.strides = SHAPES[shape]
        self.mask = (mask[0], mask[1] if width == 128 else 0)
        self.lanes = isa.lanes_of(self.form, width, self.count, self.mask, self.repeat)
        self.data = isa.float_image(np.random.default_rng(1), np.float16, image_bytes=BYTES)
        self.reads = np.zeros(BYTES, bool)
        self.writes = np.zeros(BYTES, bool)

    def elements(self, flags, dtype, operand, index):
        size = np.dtype(dtype).itemsize
        flags[OFFSETS[operand] + (np.asarray(index).reshape(-1, 1) * size + np.arange(size)).reshape(-1)] = True

    def lanewise(self, flags, dtype, operand):
        at = {0: (0, 3), 1: (1, 4), 2: (2, 5)}[operand]
        block, rep = (self.strides[i] for i in at)
        index = self.isa.element_index(dtype, self.width, block, rep, len(self.lanes))
        self.elements(flags, dtype, operand, index[self.lanes])

    def run(self, lib, entry, reads, loads, **call):
        packed = self.isa.pack_call(
            form=self.form, repeat=self.repeat, count=self.count, mask=self.mask, offsets=OFFSETS,
            image_bytes=BYTES, probe=1, **{"strides": self.strides, **call},
        )  # fmt: skip
        image = np.concatenate([self.data, reads.astype(np.uint8) | loads.astype(np.uint8) << 1])
        _, report = self.isa.run_image(lib, entry, image, packed, clean=False)
        assert report.error == "", report.error
        return report

    def check(self, lib, entry, **call):
        report = self.run(lib, entry, self.reads, self.writes, **call)
        assert report.errors == 0, "reads or writes less than expected: " + report.text
        rest = ~self.writes & ~self.reads
        report = self.run(lib, entry, self.reads, rest, **call)
        assert report.errors == rest.sum(), f"{rest.sum() - report.errors} bytes too many count as written"
        assert "Read2" in report.text
        for lost in np.random.default_rng(2).permutation(np.flatnonzero(self.reads & ~self.writes))[:3]:
            fewer = self.reads.copy()
            fewer[lost] = False
            assert self.run(lib, entry, fewer, self.writes, **call).errors > 0, f"byte {lost} is not read"


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize(
    ("entry", "op", "sources"),
    [("binary", 0, 2), ("binary", 10, 3), ("unary", 0, 1), ("scalar", 1, 1), ("scalar", 5, 0)],
)
def test_elementwise(isa, isa_lib, entry, op, sources, type_, shape):
    """Add, FusedMulAdd (which reads its destination), Exp, Muls, Duplicate."""
    dtype = TYPES[type_]
    probe = Probe(isa, shape, 256 // np.dtype(dtype).itemsize)
    probe.lanewise(probe.writes, dtype, 0)
    for operand in range(1, min(sources, 2) + 1):
        probe.lanewise(probe.reads, dtype, operand)
    if sources == 3:
        probe.lanewise(probe.reads, dtype, 0)
    probe.check(isa_lib("vector"), entry, op=op, type=type_)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("op", "sources"), [(0, (1, 2)), (1, (1,))], ids=["MulAddDst", "Axpy"])
def test_widening_accumulation(isa, isa_lib, op, sources, shape):
    """Float destination, half sources: 64 lanes a repeat on both sides."""
    probe = Probe(isa, shape, 64)
    probe.lanewise(probe.writes, np.float32, 0)
    probe.lanewise(probe.reads, np.float32, 0)
    strides = list(probe.strides)
    for operand in sources:
        if probe.form == isa.COUNT:  # the count form packs 64 halves into four blocks
            probe.strides = (1, 1, 1, 8, 4, 4)
        probe.lanewise(probe.reads, np.float16, operand)
    probe.check(isa_lib("vector"), "multiply_add", op=op, mode=2, strides=tuple(strides))


@pytest.mark.parametrize("shape", ["count", "mask", "bits"])
@pytest.mark.parametrize(
    ("pair", "dst", "src"),
    [(0, np.float32, np.float16), (1, np.float16, np.float32), (7, np.int8, np.float16), (3, np.float32, np.int32)],
)
def test_cast(isa, isa_lib, pair, dst, src, shape):
    wide = max(np.dtype(dst).itemsize, np.dtype(src).itemsize)
    probe = Probe(isa, shape, 256 // wide)
    strides = probe.strides
    if probe.form == isa.COUNT:  # contiguous on both sides
        probe.strides = (1, 1, 1, 8 * np.dtype(dst).itemsize // wide, 8 * np.dtype(src).itemsize // wide, 8)
    probe.lanewise(probe.writes, dst, 0)
    probe.lanewise(probe.reads, src, 1)
    probe.check(isa_lib("convert"), "cast", type=pair, strides=strides)


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("shape", ["mask", "bits"])
@pytest.mark.parametrize(("op", "group"), [(0, "block"), (1, "block"), (3, "pair"), (4, "whole"), (5, "extreme")])
def test_reductions(isa, isa_lib, op, group, type_, shape):
    """A result is written if one of its lanes takes part; a value and its index are written together."""
    dtype = TYPES[type_]
    size = np.dtype(dtype).itemsize
    probe = Probe(isa, shape, 256 // size)
    probe.lanewise(probe.reads, dtype, 1)
    lanes_each = {"block": 32 // size, "pair": 2}.get(group, probe.width)
    results = probe.width // lanes_each
    live = probe.lanes.reshape(probe.repeat, results, lanes_each).any(axis=2)
    step = probe.strides[3] * results
    index = np.arange(probe.repeat)[:, None] * step + np.arange(results)
    if group == "extreme":
        index, live = np.concatenate([2 * index, 2 * index + 1], axis=1), np.concatenate([live, live], axis=1)
    probe.elements(probe.writes, dtype, 0, index[live])
    probe.check(isa_lib("convert"), "reduce", op=op, type=type_)


@pytest.mark.parametrize("type_", TYPES)
def test_compare_and_select(isa, isa_lib, type_):
    dtype = TYPES[type_]
    width = 256 // np.dtype(dtype).itemsize
    probe = Probe(isa, "count", width)
    probe.count = 3 * width
    for operand in (1, 2):
        probe.elements(probe.reads, dtype, operand, np.arange(probe.count))
    probe.elements(probe.writes, np.uint8, 0, np.arange(probe.count // 8))
    probe.check(isa_lib("convert"), "compare", op=0, type=type_, mode=0)

    probe = Probe(isa, "bits", width)
    probe.lanewise(probe.writes, dtype, 0)
    for operand in (1, 2):
        probe.lanewise(probe.reads, dtype, operand)
    probe.elements(probe.reads, np.uint8, 3, np.arange(probe.repeat * width // 8))
    probe.check(isa_lib("convert"), "select_lanes", op=1, type=type_, mode=2)


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("shape", ["count", "mask", "bits"])
def test_gather(isa, isa_lib, type_, shape):
    """The source bytes follow from the offsets."""
    dtype = TYPES[type_]
    size = np.dtype(dtype).itemsize
    probe = Probe(isa, shape, 256 // size)
    probe.strides = (1, 1, 1, 9, 8, 8) if shape != "count" else (1, 1, 1, 8, 8, 8)
    offsets = (np.random.default_rng(3).permutation(2048 // size)[: len(probe.lanes) * probe.width]) * size
    offsets = np.resize(offsets, len(probe.lanes) * probe.width).astype(np.uint32)
    isa.view(probe.data, np.uint32, OFFSETS[2])[: offsets.size] = offsets
    active = probe.lanes.reshape(-1)
    probe.lanewise(probe.writes, dtype, 0)
    probe.elements(probe.reads, np.uint32, 2, np.flatnonzero(active))
    probe.elements(probe.reads, dtype, 1, offsets[active] // size)
    probe.check(isa_lib("permute"), "gather", type=0 if type_ == "half" else 1)


@pytest.mark.parametrize("pattern", [0, 2, 5])
@pytest.mark.parametrize("type_", TYPES)
def test_gather_mask(isa, isa_lib, type_, pattern):
    """Everything is read, what is kept is written one behind the other; here in count mode with a short last repeat."""
    dtype = TYPES[type_]
    probe = Probe(isa, "count", 256 // np.dtype(dtype).itemsize)
    i = np.arange(probe.lanes.size) % probe.width
    if pattern == 0:
        bytes_each = probe.width // 8
        start = np.arange(len(probe.lanes))[:, None] * 32 + np.arange(bytes_each)
        probe.elements(probe.reads, np.uint8, 2, start)
        keep = np.unpackbits(probe.data[OFFSETS[2] + start].reshape(-1), bitorder="little").astype(bool)
    else:
        keep = i % 2 == 1 if pattern == 2 else i % 4 == 2
    probe.elements(probe.reads, dtype, 1, np.arange(probe.count))
    probe.elements(probe.writes, dtype, 0, np.arange((keep & probe.lanes.reshape(-1)).sum()))
    probe.elements(probe.writes, np.uint64, 3, [0])
    probe.check(
        isa_lib("permute"), "gather_mask", type=0 if type_ == "half" else 1, mode=pattern, strides=(1, 1, 1, 8, 8, 1)
    )


@pytest.mark.parametrize("pitches", [(32, 32), (96, 224)])
@pytest.mark.parametrize(
    ("code", "set_mask", "row"),
    [
        (0, 1, (0, 32, 0, 32)),
        (1, 1, (0, 32, 0, 32)),
        (2, 1, (0, 16, 0, 16)),
        (2, 7, (16, 32, 16, 32)),
        (2, 5, (0, 16, 16, 32)),
    ],
)
def test_trans_data(isa, isa_lib, code, set_mask, row, pitches):
    """Half, float, and int8 in the halves of its blocks."""
    probe = Probe(isa, "count", 128)
    probe.repeat = 2
    reps = (55, 70)
    for flags, operand, pitch, rep, span in (
        (probe.writes, 0, pitches[0], reps[0], row[:2]),
        (probe.reads, 1, pitches[1], reps[1], row[2:]),
    ):
        for r in range(2):
            for i in range(16):
                probe.elements(flags, np.uint8, operand, r * rep * 32 + i * pitch + np.arange(*span))
    probe.check(
        isa_lib("permute"), "trans_data", type=code, set_mask=set_mask, extra=pitches, strides=(1, 1, 1, *reps, 8)
    )


# blocks, (2D: start, repeats, stride) or (3D: rows, m_start, m_extent, k_start, k_extent)
LOADS = {
    "fractals": (256, 0, (2, 3, 1), (1, 0, 0, 0, 0)),
    "strided": (256, 0, (1, 4, 4), (1, 0, 0, 0, 0)),
    "image": (320, 1, (0, 0, 0), (80, 0, 80, 0, 64)),
    "window": (320, 1, (0, 0, 0), (80, 16, 32, 16, 32)),
    "ragged": (300, 1, (0, 0, 0), (75, 32, 48, 32, 32)),
}


@pytest.mark.parametrize("name", LOADS)
def test_loads_to_l0(isa_lib, name):
    blocks, image, (start, repeats, stride), (rows, m_start, m_extent, k_start, k_extent) = LOADS[name]
    reads = np.zeros(blocks, np.uint8)
    if image == 0:
        for r in range(repeats):
            reads[(start + r * stride) * 16 :][:16] = 1
    else:
        reads.reshape(-1, rows)[k_start // 16 : (k_start + k_extent) // 16, m_start : m_start + m_extent] = 1
    words = (blocks, image, start, repeats, stride, rows, m_start, m_extent, k_start, k_extent)
    data = np.ones(blocks * 16, np.float16)

    def run(flags):
        args = {"flags": flags, "data": data}
        report = model.run(isa_lib("cube"), "holes", args, tiling=struct.pack(f"<{len(words)}I", *words))
        assert report.error == "", report.error
        return report

    assert run(reads).errors == 0, run(reads).text
    for lost in np.flatnonzero(reads)[[0, 1, -2, -1]]:
        fewer = reads.copy()
        fewer[lost] = 0
        assert run(fewer).errors > 0, f"block {lost} is not read"
