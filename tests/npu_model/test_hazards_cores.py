# SPDX-License-Identifier: Apache-2.0
"""Hazards between blocks over GM, the scalar data cache, and independence of the host's threads."""

import numpy as np
import pytest
from chunk_gdr import model

ELEMS = 256


@pytest.fixture(scope="module")
def lib(kernel_dir):
    return model.build(kernel_dir / "cores.cpp")


def neighbour_args(blocks):
    x = np.arange(blocks * ELEMS, dtype=np.float32)
    x.flags.writeable = False
    return {
        "x": x,
        "z": np.zeros(blocks * ELEMS, np.float32),
        "out": np.full(blocks * ELEMS, np.nan, np.float32),
        "flags": np.zeros(16 * 8, np.int32),
    }


@pytest.mark.parametrize("variant", [0, 4], ids=["SyncAll", "IBSet"])
@pytest.mark.parametrize("execution", ["program", "adversarial"])
@pytest.mark.parametrize("blocks, threads", [(2, 1), (8, 1), (8, 2), (8, 8)])
def test_ordered_blocks_pass(lib, run, blocks, threads, execution, variant):
    args = neighbour_args(blocks)
    report = run(lib, "neighbours", args, variant, block_num=blocks, threads=threads, execution=execution, seed=3)
    assert (report.errors, report.auto_sync, report.error) == (0, 0, ""), report.text
    x = args["x"].reshape(blocks, ELEMS)
    np.testing.assert_array_equal(args["out"].reshape(blocks, ELEMS), x + np.roll(x, -1, axis=0))


def test_read_of_a_neighbour_without_sync(lib, run, find):
    report = run(lib, "neighbours", neighbour_args(4), 1, block_num=4)
    found = find(report, "GmOverlap", memory="GM")
    assert found, report.text
    item = found[0]
    assert {item["access"]["access"], item["earlier"]["access"]} == {"read", "write"}
    assert {item["access"]["queue"], item["earlier"]["queue"]} == {"MTE2", "MTE3"}
    assert item["access"]["block"] != item["earlier"]["block"] and item["access"]["buffer"] == "z"
    assert "SyncAll" in item["fix"]


@pytest.mark.parametrize("variant, bytes_shared", [(2, 1024), (5, 992)], ids=["same-rows", "tail"])
def test_two_blocks_write_one_place(lib, run, find, variant, bytes_shared):
    args = neighbour_args(4)
    args["z"] = np.zeros(5 * ELEMS, np.float32)
    report = run(lib, "neighbours", args, variant, block_num=3)
    found = [item for item in find(report, "GmOverlap") if item["access"]["access"] == item["earlier"]["access"] == "write"]
    assert found, report.text
    item = found[0]
    assert min(item["access"]["hi"], item["earlier"]["hi"]) - max(item["access"]["lo"], item["earlier"]["lo"]) == bytes_shared


def test_verdict_does_not_depend_on_threads(lib, run):
    def strip(report):
        return [{key: value for key, value in item.items()} for item in report.hazards]

    first = run(lib, "neighbours", neighbour_args(8), 1, block_num=8, threads=1)
    for threads in (2, 8):
        again = run(lib, "neighbours", neighbour_args(8), 1, block_num=8, threads=threads)
        assert strip(again) == strip(first)
        assert again.cycles == first.cycles


def test_atomic_adds_commute(lib, run, find):
    x = np.ones(4 * ELEMS, np.float32)
    z = np.zeros(ELEMS, np.float32)
    report = run(lib, "reduce", {"x": x, "z": z}, 0, block_num=4)
    assert report.errors == 0, report.text
    np.testing.assert_array_equal(z, np.full(ELEMS, 4, np.float32))
    assert find(run(lib, "reduce", {"x": x, "z": z}, 1, block_num=4), "GmOverlap")


def test_syncall_that_one_block_skips(lib, run, find):
    report = run(lib, "neighbours", neighbour_args(4), 3, block_num=4)
    found = find(report, "Deadlock", text="block(s) 0 ended without calling it")
    assert found and "SyncAll" in found[0]["access"]["op"], report.text


def test_syncall_with_more_blocks_than_cores(lib, run, find):
    report = run(lib, "neighbours", neighbour_args(9), 0, block_num=9)
    assert find(report, "Deadlock", text="9 blocks on 8 cores"), report.text


def test_more_blocks_than_cores_run_in_waves(lib, run):
    blocks = 13
    args = neighbour_args(blocks)
    args["z"] = np.zeros(blocks * ELEMS, np.float32)
    x = np.ones(blocks * ELEMS, np.float32)
    z = np.zeros(ELEMS, np.float32)
    report = run(lib, "reduce", {"x": x, "z": z}, 0, block_num=blocks, cores=8)
    np.testing.assert_array_equal(z, np.full(ELEMS, blocks, np.float32))
    cycles = [block["cycles"] for block in report.to_dict()["blocks"]]
    assert report.cycles == pytest.approx(max(sum(cycles[core::8]) for core in range(8)))


@pytest.mark.parametrize(
    "variant, rule, access, text",
    [
        (1, "Sync2", "S GetValue", "not ordered after an earlier write"),
        (2, "StaleCache", "S GetValue", "served from a data-cache line loaded before the store"),
        (3, "StaleCache", "MTE2 DataCopy", "a scalar store left in the data cache"),
        (4, "Sync2", "MTE2 DataCopy", "not ordered after an earlier write"),
    ],
)
def test_scalar_gm_faults(lib, run, find, variant, rule, access, text):
    report = run(lib, "scalar_gm", {"z": np.zeros(2 * ELEMS, np.float32)}, variant)
    found = find(report, rule, access=access, memory="GM", text=text)
    assert found, report.text
    assert found[0]["earlier"]["lo"] < found[0]["earlier"]["hi"]


def test_scalar_gm_clean(lib, run):
    z = np.zeros(2 * ELEMS, np.float32)
    report = run(lib, "scalar_gm", {"z": z})
    assert (report.errors, report.auto_sync) == (0, 0), report.text
    assert z[0] == z[ELEMS] == 1


def test_progress_reaches_the_total(lib, run):
    seen = []
    run(lib, "reduce", {"x": np.ones(4 * ELEMS, np.float32), "z": np.zeros(ELEMS, np.float32)}, 0, block_num=4,
        progress=lambda done, total: seen.append((done, total)))  # fmt: skip
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_error_in_progress_reaches_the_caller(lib, run):
    def fail(done, total):
        raise KeyError(f"{done} of {total}")

    with pytest.raises(KeyError, match="1 of 4"):
        run(lib, "reduce", {"x": np.ones(4 * ELEMS, np.float32), "z": np.zeros(ELEMS, np.float32)}, block_num=4, progress=fail)


def test_options_are_checked(lib, run):
    args = {"x": np.ones(4 * ELEMS, np.float32), "z": np.zeros(ELEMS, np.float32)}
    with pytest.raises(TypeError, match="unknown option 'thread'"):
        run(lib, "reduce", args, thread=1)
    with pytest.raises(ValueError, match="execution must be 'program' or 'adversarial', got 'random'"):
        run(lib, "reduce", args, execution="random")
    with pytest.raises(ValueError, match="block_num must be at least 1"):
        run(lib, "reduce", args, block_num=0)
    with pytest.raises(RuntimeError, match="no kernel entry 'missing'"):
        run(lib, "missing", args)
    with pytest.raises(ValueError, match="GM argument 'x': expected a C-contiguous numpy array"):
        run(lib, "reduce", {"x": args["x"][::2], "z": args["z"]})
