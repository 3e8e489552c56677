# SPDX-License-Identifier: Apache-2.0
"""Missing edges: every rule has a kernel variant that breaks it and must be rejected, and a clean twin that must pass."""

import numpy as np
import pytest
from chunk_gdr import model

UB_ELEMS = 2048
CUBE_N = 64


def ub_args():
    x = np.arange(2 * UB_ELEMS, dtype=np.float32)
    return {"x": x, "z": np.full(2 * UB_ELEMS, np.nan, np.float32)}


def cube_args():
    rng = np.random.default_rng(7)
    x = rng.standard_normal((2, CUBE_N, CUBE_N)).astype(np.float16)
    return {"x": nz(x), "z": np.full(2 * CUBE_N * CUBE_N, np.nan, np.float32)}


def nz(matrices):
    """[..., R, C] -> the NZ order: column strips of 16, row-major inside."""
    *lead, rows, cols = matrices.shape
    return np.ascontiguousarray(np.moveaxis(matrices.reshape(*lead, rows, cols // 16, 16), -2, -3)).reshape(-1)


@pytest.fixture(scope="module")
def libs(kernel_dir):
    return {name: model.build(kernel_dir / f"{name}.cpp") for name in ("ub_edges", "cube_edges")}


# (source, entry, variant, rule, grade, memory, earlier, access, missing edge)
MUTANTS = [
    ("ub_edges", "ub_round_trip", 1, "Sync2", "error", "UB", "MTE2 DataCopy", "V Add", "MTE2 -> V"),
    ("ub_edges", "ub_round_trip", 2, "Sync2", "error", "UB", "V Add", "MTE3 DataCopy", "V -> MTE3"),
    ("ub_edges", "ub_round_trip", 3, "Sync1", "error", "UB", "V Add", "MTE2 DataCopy", "V -> MTE2"),
    ("ub_edges", "ub_round_trip", 4, "Sync1", "error", "UB", "MTE3 DataCopy", "V Add", "MTE3 -> V"),
    ("ub_edges", "ub_round_trip", 6, "Sync2", "relies_on_auto_sync", "UB", "V Add", "V Adds", "V -> V"),
    ("ub_edges", "ub_same_queue", 1, "Sync1", "error", "UB", "MTE2 DataCopy", "MTE2 DataCopy", "MTE2 -> MTE2"),
    ("ub_edges", "ub_same_queue", 2, "Sync1", "error", "GM", "MTE3 DataCopy", "MTE3 DataCopy", "MTE3 -> MTE3"),
    ("ub_edges", "ub_same_queue", 3, "Sync1", "relies_on_auto_sync", "UB", "V Add", "V Adds", "V -> V"),
    ("ub_edges", "gm_round_trip", 1, "Sync2", "error", "GM", "MTE3 DataCopy", "MTE2 DataCopy", "MTE3 -> MTE2"),
    ("ub_edges", "scalar_edges", 1, "Sync2", "relies_on_auto_sync", "UB", "MTE2 DataCopy", "S GetValue", "MTE2 -> S"),
    ("ub_edges", "scalar_edges", 2, "Sync2", "relies_on_auto_sync", "UB", "V Add", "S GetValue", "V -> S"),
    ("ub_edges", "scalar_edges", 3, "Sync2", "relies_on_auto_sync", "UB", "S SetValue", "V Adds", "S -> V"),
    ("ub_edges", "scalar_edges", 4, "Sync2", "relies_on_auto_sync", "UB", "S SetValue", "MTE3 DataCopy", "S -> MTE3"),
    ("ub_edges", "scalar_edges", 5, "Sync1", "relies_on_auto_sync", "UB", "MTE3 DataCopy", "S SetValue", "MTE3 -> S"),
    ("ub_edges", "lanes_apart", 1, "Sync1", "relies_on_auto_sync", "UB", "V Adds", "V Adds", "V -> V"),
    ("ub_edges", "other_ways", 1, "Sync2", "error", "UB", "V Add", "MTE3 DataCopy", "V -> MTE3"),
    ("cube_edges", "cube_twice", 1, "Sync1", "error", "UB", "MTE3 DataCopy", "MTE2 DataCopy", "MTE3 -> MTE2"),
    ("cube_edges", "cube_twice", 2, "Sync2", "error", "UB", "MTE2 DataCopy", "MTE3 DataCopy", "MTE2 -> MTE3"),
    ("cube_edges", "cube_twice", 3, "Sync1", "error", "L1", "MTE1 LoadData", "MTE3 DataCopy", "MTE1 -> MTE3"),
    ("cube_edges", "cube_twice", 4, "Sync2", "error", "L1", "MTE3 DataCopy", "MTE1 LoadData", "MTE3 -> MTE1"),
    ("cube_edges", "cube_twice", 5, "Sync1", "error", "L0A", "M Mmad", "MTE1 LoadData", "M -> MTE1"),
    ("cube_edges", "cube_twice", 5, "Sync1", "error", "L0B", "M Mmad", "MTE1 LoadData", "M -> MTE1"),
    ("cube_edges", "cube_twice", 6, "Sync2", "error", "L0A", "MTE1 LoadData", "M Mmad", "MTE1 -> M"),
    ("cube_edges", "cube_twice", 6, "Sync2", "error", "L0B", "MTE1 LoadData", "M Mmad", "MTE1 -> M"),
    ("cube_edges", "cube_twice", 7, "Sync1", "error", "L0C", "V DataCopy", "M Mmad", "V -> M"),
    ("cube_edges", "cube_twice", 8, "Sync2", "error", "L0C", "M Mmad", "V DataCopy", "M -> V"),
    ("cube_edges", "cube_twice", 9, "Sync1", "error", "UB", "MTE3 DataCopy", "V DataCopy", "MTE3 -> V"),
    ("cube_edges", "cube_twice", 10, "Sync2", "error", "UB", "V DataCopy", "MTE3 DataCopy", "V -> MTE3"),
    ("cube_edges", "l1_reload", 1, "Sync1", "error", "L1", "MTE1 LoadData", "MTE2 DataCopy", "MTE1 -> MTE2"),
    ("cube_edges", "l1_reload", 2, "Sync1", "error", "L1", "MTE1 LoadData", "MTE2 DataCopy", "MTE1 -> MTE2"),
    ("cube_edges", "l1_reload", 3, "Sync2", "error", "L1", "MTE2 DataCopy", "MTE1 LoadData", "MTE2 -> MTE1"),
    ("cube_edges", "small_chain", 1, "Sync2", "error", "L0C", "M Mmad", "M Mmad", "M -> M"),
    ("cube_edges", "small_chain", 2, "Sync1", "error", "L0C", "M Mmad", "M Mmad", "M -> M"),
    ("cube_edges", "small_chain", 3, "Sync1", "error", "L0A", "MTE1 LoadData", "MTE1 LoadData", "MTE1 -> MTE1"),
]
CLEAN = [
    ("ub_edges", "ub_round_trip"),
    ("ub_edges", "ub_same_queue"),
    ("ub_edges", "gm_round_trip"),
    ("ub_edges", "scalar_edges"),
    ("ub_edges", "other_ways"),
    ("ub_edges", "lanes_apart"),
    ("cube_edges", "cube_twice"),
    ("cube_edges", "l1_reload"),
    ("cube_edges", "small_chain"),
]
# A schedule shows a race only between two queues that it can delay against each other: not inside one queue (the model runs one
# instruction at a time), and not after a scalar access (S runs ahead, never behind).
UNSEEN = {
    ("ub_round_trip", 6), ("ub_same_queue", 1), ("ub_same_queue", 2), ("ub_same_queue", 3),
    ("lanes_apart", 1),
    ("small_chain", 1), ("small_chain", 2), ("small_chain", 3), ("scalar_edges", 3), ("scalar_edges", 4),
}  # fmt: skip
RACES = [mutant for mutant in sorted({m[:3] for m in MUTANTS}) if mutant[1:] not in UNSEEN]


def args_of(source):
    return ub_args() if source == "ub_edges" else cube_args()


@pytest.mark.parametrize("source, entry, variant, rule, grade, memory, earlier, access, missing", MUTANTS)
def test_missing_edge_is_reported(libs, run, find, source, entry, variant, rule, grade, memory, earlier, access, missing):
    report = run(libs[source], entry, args_of(source), variant)
    found = [item for item in find(report, rule, earlier, access, memory) if item["missing"] == missing]
    assert found, report.text
    item = found[0]
    assert item["grade"] == grade
    for side in (item["earlier"], item["access"]):
        assert side["file"].endswith((f"{source}.cpp", "mutant.h")) and side["line"] > 0
        assert side["hi"] > side["lo"]
    assert item["access"]["buffer"]
    first, second = missing.split(" -> ")
    assert (f"PipeBarrier<PIPE_{first}>" if first == second else f"SetFlag<HardEvent::{first}_{second}>") in item["fix"]
    if grade == "error":
        assert report.errors > 0
    else:
        assert report.errors == 0 and report.auto_sync > 0


@pytest.mark.parametrize("execution", ["program", "adversarial"])
@pytest.mark.parametrize("source, entry", CLEAN)
def test_clean_twin_passes(libs, run, source, entry, execution):
    report = run(libs[source], entry, args_of(source), execution=execution, seed=5)
    assert (report.errors, report.auto_sync, report.error) == (0, 0, ""), report.text


def test_wide_accumulation_needs_no_barrier(libs, run):
    # l1_reload variant 4 drops PipeBarrier<PIPE_M> between two 64x64 Mmads: 16 fractals of C chain by themselves.
    report = run(libs["cube_edges"], "l1_reload", cube_args(), 4)
    assert (report.errors, report.auto_sync) == (0, 0), report.text


def test_full_barrier_joins_everything(libs, run):
    report = run(libs["ub_edges"], "other_ways", ub_args(), 2)
    assert (report.errors, report.auto_sync) == (0, 0), report.text
    assert report.to_dict()["traffic"]["full_barriers"] == 2  # the kernel's own, and the one in TPipe's destructor


def test_only_one_edge_is_blamed(libs, run):
    """Leaving out one edge blames that edge, not everything behind it; the event set twice for want of it is part of the truth."""
    report = run(libs["ub_edges"], "ub_round_trip", ub_args(), 4)
    assert {item["missing"] for item in report.hazards} == {"MTE3 -> V"}, report.text
    assert {item["rule"] for item in report.hazards} == {"Sync1", "Sync4"}, report.text


def test_barrier_covered_by_a_join_is_not_missed(libs, run):
    """Variant 5 drops a V barrier, but MTE3_V before it already carries V's own work back to V."""
    report = run(libs["ub_edges"], "ub_round_trip", ub_args(), 5)
    assert (report.errors, report.auto_sync) == (0, 0), report.text


@pytest.mark.parametrize("source, entry", CLEAN)
def test_clean_values_do_not_depend_on_the_schedule(libs, run, source, entry):
    args = args_of(source)
    run(libs[source], entry, args)
    expected = args["z"].copy()
    for seed in range(20):
        again = args_of(source)
        run(libs[source], entry, again, execution="adversarial", seed=seed)
        np.testing.assert_array_equal(again["z"], expected, err_msg=f"seed {seed}")


@pytest.mark.parametrize("source, entry, variant", RACES)
def test_race_changes_values_under_some_seed(libs, run, source, entry, variant):
    args = args_of(source)
    run(libs[source], entry, args)
    changed = []
    for seed in range(20):
        again = args_of(source)
        report = run(libs[source], entry, again, variant, execution="adversarial", seed=seed)
        assert report.errors + report.auto_sync > 0, "the clocks must report the race under every schedule"
        if not np.array_equal(again["z"], args["z"], equal_nan=True):
            changed.append(seed)
    assert changed, "no seed changed the result"


def test_cycles_and_hazards_do_not_depend_on_the_schedule(libs, run):
    base = run(libs["cube_edges"], "cube_twice", cube_args())
    mutant = run(libs["cube_edges"], "cube_twice", cube_args(), 8)
    for seed in range(6):
        clean = run(libs["cube_edges"], "cube_twice", cube_args(), execution="adversarial", seed=seed)
        assert clean.cycles == base.cycles
        shuffled = run(libs["cube_edges"], "cube_twice", cube_args(), 8, execution="adversarial", seed=seed)
        assert shuffled.errors > 0 and mutant.errors > 0


def test_overwritten_before_read_is_suspicious(libs, run, find):
    """The first of two ordered loads into one buffer is for nothing; that is no error."""
    report = run(libs["ub_edges"], "ub_same_queue", ub_args())
    items = find(report, "Write3", earlier="MTE2 DataCopy", access="MTE2 DataCopy", memory="UB")
    assert items and items[0]["grade"] == "suspicious" and report.errors == 0, report.text
    assert report.to_dict()["hazards"]["suspicious"] > 0
    assert not find(run(libs["ub_edges"], "gm_round_trip", ub_args()), "Write3")


def test_unchecked_mode_keeps_values_and_cycles(libs, run):
    checked, fast = cube_args(), cube_args()
    a = run(libs["cube_edges"], "cube_twice", checked)
    b = run(libs["cube_edges"], "cube_twice", fast, checked=False)
    np.testing.assert_array_equal(checked["z"], fast["z"])
    assert a.cycles == b.cycles
    assert not run(libs["cube_edges"], "cube_twice", cube_args(), 8, checked=False).hazards


def test_values(libs, run):
    args = cube_args()
    run(libs["cube_edges"], "cube_twice", args)
    rng = np.random.default_rng(7)
    x = rng.standard_normal((2, CUBE_N, CUBE_N)).astype(np.float16).astype(np.float64)
    np.testing.assert_allclose(args["z"], nz(x @ x), rtol=0, atol=2e-5)
