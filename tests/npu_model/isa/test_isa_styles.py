# SPDX-License-Identifier: Apache-2.0
"""Whole kernels in other people's styles: compile unchanged, right values in both executions, nothing reported."""

import struct

import numpy as np
import pytest
from chunk_gdr import model

EXECUTIONS = [{"execution": "program"}] + [{"execution": "adversarial", "seed": seed} for seed in range(4)]


@pytest.fixture(params=EXECUTIONS, ids=lambda o: f"{o['execution']}{o.get('seed', '')}")
def execution(request):
    return request.param


def run(lib, entry, args, tiling=b"", **options):
    report = model.run(lib, entry, args, tiling=tiling, **options)
    assert report.error == "" and report.errors == 0 and report.auto_sync == 0, report.error + report.text
    return report


def test_queues_with_double_buffers(isa_lib, execution):
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal(8 * 2048).astype(np.float16) for _ in range(2))
    for key, other in ((1, y), (2, x)):
        z = np.full_like(x, np.nan)
        run(
            isa_lib("styles"),
            "add_custom",
            {"x": x, "y": y, "z": z},
            struct.pack("<2I", x.size, 8),
            block_num=8,
            tiling_key=key,
            **execution,
        )
        np.testing.assert_array_equal(z, x + other)


def test_unknown_tiling_key_does_nothing(isa_lib):
    x = np.ones(2048, np.float16)
    z = np.full_like(x, 9)
    run(isa_lib("styles"), "add_custom", {"x": x, "y": x.copy(), "z": z}, struct.pack("<2I", x.size, 8), tiling_key=3)
    assert (z == 9).all()


def test_product_through_queues(isa_lib, execution):
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal((32, 32)).astype(np.float16) for _ in range(2))
    c = np.full((32, 32), np.nan, np.float32)
    run(isa_lib("styles"), "product_custom", {"a": a, "b": b, "c": c}, **execution)
    want = np.zeros((32, 32), np.float32)
    for k in range(32):
        want = want + a[:, k : k + 1].astype(np.float32) * b[k].astype(np.float32)
    np.testing.assert_array_equal(c, want)


def test_bound_queue(isa_lib, execution):
    x = np.arange(1024, dtype=np.float32)
    z = np.full_like(x, np.nan)
    run(isa_lib("styles"), "bound_copy", {"x": x, "z": z}, **execution)
    np.testing.assert_array_equal(z, x)


def test_raw_synchronisation_and_prints(isa_lib, execution):
    x = np.arange(256, dtype=np.float32)
    z = np.full_like(x, np.nan)
    report = run(isa_lib("styles"), "raw_sync", {"x": x, "z": z}, **execution)
    np.testing.assert_array_equal(z, x * 3 + 1)
    prints = "".join(report.to_dict()["blocks"][0]["prints"])
    assert "value 7.000000 block 0" in prints and "half 0.500000" in prints and "[1] 7" in prints


def test_static_tensors(isa_lib, execution):
    x = np.arange(256, dtype=np.float32)
    z = np.full_like(x, np.nan)
    run(isa_lib("styles"), "static_tensors", {"x": x, "z": z}, **execution)
    np.testing.assert_array_equal(z, x * 2)


def test_tensor_operators(isa_lib):
    rng = np.random.default_rng(2)
    x = rng.standard_normal(128).astype(np.float32)
    z = np.zeros(264, np.float32)
    run(isa_lib("styles"), "operators", {"x": x, "z": z})
    a, b = x[:64], x[64:]
    np.testing.assert_array_equal(z[:256].reshape(4, 64), [a + b, a - b, a * b, a / b])
    np.testing.assert_array_equal(np.unpackbits(z[256:].view(np.uint8)[:8], bitorder="little").astype(bool), a < b)


@pytest.mark.parametrize("blocks", [1, 3, 8])
def test_sync_all(isa_lib, execution, blocks):
    flags = np.zeros(8 * blocks, np.int32)
    slots, sums = np.zeros(8 * blocks, np.float32), np.zeros((2, blocks, 8), np.float32)
    run(isa_lib("styles"), "meet", {"flags": flags, "slots": slots, "sums": sums}, block_num=blocks, **execution)
    for round_, total in enumerate(sums):
        assert (total == sum(i + 1 + 100 * round_ for i in range(blocks))).all()
    # Four meetings, counted in each block's slot.
    np.testing.assert_array_equal(flags.reshape(blocks, 8)[:, 0], 4)


def test_sync_all_wants_zeroed_flags(isa_lib):
    flags = np.full(16, -1, np.int32)
    report = model.run(
        isa_lib("styles"),
        "meet",
        {"flags": flags, "slots": np.zeros(16, np.float32), "sums": np.zeros((2, 2, 8), np.float32)},
        block_num=2,
    )
    assert report.errors > 0 and "must hold zeros before the first SyncAll" in report.text


def test_block_hand_over(isa_lib, execution):
    flags, tile, out = np.zeros(64, np.int32), np.zeros(64, np.float32), np.zeros(64, np.float32)
    run(isa_lib("styles"), "hand_over", {"flags": flags, "tile": tile, "out": out}, block_num=2, **execution)
    assert (out == 5).all()


def test_half_scalar(isa_lib):
    z = np.zeros(32, np.float16)
    run(isa_lib("styles"), "half_scalar", {"z": z})
    a, b = np.float16(1.5), np.float16(0.1)
    # One rounding per assignment: half operands compute in float.
    c = np.float16(np.float32(a) * np.float32(b) + 2)
    c = np.float16(np.float32(c) + np.float32(a))
    d = np.float16(np.float16(np.float32(c) / np.float32(3)) - 1)
    np.testing.assert_array_equal(z[:6], np.array([a, b, c, d, 1, 1], np.float16))
