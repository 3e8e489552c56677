# SPDX-License-Identifier: Apache-2.0
"""Bounds, alignment, initialisation, lives, pools and flags: each rule with a kernel variant it must reject, and a clean twin."""

import numpy as np
import pytest
from chunk_gdr import model

ELEMS = 512


@pytest.fixture(scope="module")
def libs(kernel_dir):
    return {name: model.build(kernel_dir / f"{name}.cpp") for name in ("bounds", "pools", "flags")}


def read_only(array):
    array.flags.writeable = False
    return array


def args_of(entry):
    x = read_only(np.ones(ELEMS, np.float32))
    z = np.full(ELEMS, np.nan, np.float32)
    match entry:
        case "cube_bounds":
            return {"x": read_only(np.ones(1024, np.float16)), "z": np.full(1024, np.nan, np.float32)}
        case "unpaired" | "set_on_set" | "vector_overlap":
            return {"x": x}
        case "absent_argument":
            return {"x": None}
        case "pool_limits" | "wrong_use":
            return {}
        case "stage_lives":
            return {"z": z}
    return {"x": x, "z": z}


OPTIONS = {
    "gm_bounds": {"workspace_bytes": 4 * ELEMS},
    "stage_lives": {
        "buffers": [
            ("early", "UB", 0, 2048, 0, 1),
            ("late", "UB", 0, 2048, 2, 3),
            ("ring", "UB", 2048, 2048, 3, 0),
            ("always", "UB", 4096, 2048, 0, 3),
        ],
        "stages": {0: "Load", 1: "Gate", 2: "Solve", 3: "Store"},
    }
}

# (source, entry, variant, rule, access, memory, text)
MUTANTS = [
    ("bounds", "ub_bounds", 1, "Read3", "V Adds", "UB", "leaves its tensor of 2048 bytes by 1024 bytes"),
    ("bounds", "ub_bounds", 2, "Write2", "V Adds", "UB", "leaves its tensor of 2048 bytes by 1024 bytes"),
    ("bounds", "ub_bounds", 3, "Read4", "V Adds", "UB", "not a multiple of 32"),
    ("bounds", "ub_bounds", 4, "Write4", "V Adds", "UB", "not a multiple of 32"),
    ("bounds", "ub_bounds", 5, "Read2", "V Adds", "UB", "nobody wrote"),
    ("bounds", "ub_bounds", 6, "Read2", "V Adds", "UB", "nobody wrote"),
    ("bounds", "gm_bounds", 1, "Read3", "MTE2 DataCopy", "GM", "passes the end of GM argument 'x' of 2048 bytes by 32 bytes"),
    ("bounds", "gm_bounds", 2, "Write2", "MTE3 DataCopy", "GM", "passes the end of GM argument 'z' of 2048 bytes by 32 bytes"),
    ("bounds", "gm_bounds", 3, "Write1", "MTE3 DataCopy", "GM", "'x', which is an input"),
    ("bounds", "gm_bounds", 5, "Read3", "MTE2 DataCopy", "GM", "passes the end of GM argument 'x' of 2048 bytes by 4194304 bytes"),
    ("bounds", "gm_bounds", 7, "Read3", "MTE2 DataCopy", None, "starts 32 bytes before GM argument 'x'"),
    ("bounds", "gm_bounds", 6, "Read2", "MTE2 DataCopy", "GM", "nobody wrote"),
    ("bounds", "absent_argument", 1, "Read3", "MTE2 DataCopy", None, "absent (null) GM argument"),
    ("bounds", "cube_bounds", 2, "Write4", "MTE1 LoadData", "L0A", "not a multiple of 512"),
    ("bounds", "cube_bounds", 3, "Write4", "M Mmad", "L0C", "not a multiple of 1024"),
    ("bounds", "cube_bounds", 4, "Read2", "M Mmad", "L0A", "nobody wrote"),
    ("bounds", "cube_bounds", 4, "Read2", "M Mmad", "L0B", "nobody wrote"),
    ("bounds", "cube_bounds", 5, "Read3", "MTE1 LoadData", "L1", "leaves its tensor"),
    ("bounds", "cube_bounds", 5, "Write2", "MTE1 LoadData", "L0A", "leaves its tensor"),
    ("bounds", "cube_bounds", 6, "Read2", "M Mmad", "L0C", "nobody wrote"),
    ("bounds", "vector_overlap", 1, "Overlap", "V Cast", "UB", "in-place widening"),
    ("bounds", "vector_overlap", 2, "Overlap", "V Adds", "UB", "overlap without coinciding"),
    ("bounds", "vector_overlap", 3, "Overlap", "V Adds", "UB", "repeat 0 overwrites what repeat 1 still has to read"),
    ("pools", "queue_life", 1, "Read1", "V Adds", "UB", "while the buffer is free"),
    ("pools", "queue_life", 2, "Leak", None, None, "never freed"),
    ("pools", "queue_life", 3, "Free", None, None, "was freed before"),
    ("pools", "queue_life", 4, "Write1", "V Duplicate", "UB", "while the buffer is free"),
    ("pools", "pool_limits", 1, "Buffer3", None, None, "overflow"),
    ("pools", "pool_limits", 2, "Buffer3", None, None, "must not be 0"),
    ("pools", "pool_limits", 3, "Buffer3", None, None, "64 buffers"),
    ("pools", "pool_limits", 4, "Buffer4", None, None, "TPipe"),
    ("pools", "wrong_use", 1, "Buffer0", "S AllocTensor", None, "InitBuffer first"),
    ("pools", "wrong_use", 2, "Buffer0", None, None, "InitBuffer first"),
    ("pools", "wrong_use", 3, "Buffer1", "S DeQue", None, "the queue is empty"),
    ("pools", "wrong_use", 4, "Buffer2", None, None, "must be in UB"),
    ("pools", "wrong_use", 5, "Buffer1", "S EnQue", None, "does not belong to this queue"),
    ("pools", "wrong_use", 6, "Buffer2", "S GetValue", None, "does not reach L1"),
    ("pools", "wrong_use", 7, "Buffer2", "S Mmad", None, "must be in L0C, L0A, L0B, got UB"),
    ("pools", "wrong_use", 8, "Buffer3", None, None, "leaves the buffer"),
    ("pools", "wrong_use", 9, "Buffer4", None, None, "is opened while TPipe is alive"),
    ("pools", "stage_lives", 1, "Write1", "V Adds", "UB", "'ring' is dead in stage 1 (Gate); it lives from stage 3 (Store) to 0 (Load)"),
    ("pools", "stage_lives", 2, "Read2", "V Add", "UB", "since row 'late' came to life in stage 2"),
    ("pools", "stage_lives", 3, "Read1", "V Add", "UB", "'ring' is dead in stage 2 (Solve)"),
    ("pools", "stage_lives", 4, "Read2", "V Add", "UB", "since row 'ring' came to life in stage 3"),
    ("flags", "unpaired", 1, "Sync3", "V SetFlag", None, "V_MTE3 id 3 is set and never waited for"),
    ("flags", "unpaired", 2, "Sync3", "MTE3 WaitFlag", None, "V_MTE3 id 3 is waited for and never set"),
    ("flags", "unpaired", 2, "Deadlock", None, None, "MTE3 waits for V_MTE3 id 3"),
    ("flags", "unpaired", 3, "Deadlock", "S WaitFlag", None, "S waits for event V_S id 3, which nobody will set"),
    ("flags", "unpaired", 4, "Deadlock", None, None, "stands behind that in"),
    ("flags", "unpaired", 5, "ReservedEvent", None, None, "V_MTE3 id 6 is used by hand"),
    ("flags", "unpaired", 6, "Param", None, None, "event id 8"),
    ("flags", "unpaired", 7, "Deadlock", "S PipeBarrier", None, "MTE3 waits for V_MTE3 id 3"),
    ("flags", "set_on_set", 1, "Sync4", "MTE2 SetFlag", None, "may be set again before its last WaitFlag has cleared it"),
    ("flags", "set_on_set", 2, "Sync4", "MTE2 SetFlag", None, "is set while it is still set"),
]  # fmt: skip
CLEAN = sorted({(source, entry, 0) for source, entry, *_ in MUTANTS} | {("bounds", "vector_overlap", 4), ("bounds", "vector_overlap", 5), ("flags", "unpaired", 8)})  # fmt: skip


@pytest.mark.parametrize("execution", ["program", "adversarial"])
@pytest.mark.parametrize("source, entry, variant, rule, access, memory, text", MUTANTS)
def test_fault_is_reported(libs, run, find, source, entry, variant, rule, access, memory, text, execution):
    options = OPTIONS.get(entry, {})
    report = run(libs[source], entry, args_of(entry), variant, execution=execution, seed=1, **options)
    found = find(report, rule, access=access, memory=memory, text=text)
    assert found, report.text
    assert found[0]["grade"] == "error" and report.errors > 0
    if rule not in ("Deadlock", "Leak"):
        assert found[0]["access"]["file"].endswith(f"{source}.cpp") or entry == "unpaired"
        assert found[0]["access"]["line"] > 0


@pytest.mark.parametrize("execution", ["program", "adversarial"])
@pytest.mark.parametrize("source, entry, variant", CLEAN)
def test_clean_twin_passes(libs, run, source, entry, variant, execution):
    report = run(libs[source], entry, args_of(entry), variant, execution=execution, seed=2, **OPTIONS.get(entry, {}))
    assert (report.errors, report.auto_sync, report.error) == (0, 0, ""), report.text


def test_both_sides_are_named(libs, run, find):
    item = find(run(libs["pools"], "queue_life", args_of("queue_life"), 3), "Free")[0]
    assert "pools.cpp:" in item["text"]
    item = find(run(libs["bounds"], "vector_overlap", args_of("vector_overlap"), 1), "Overlap")[0]
    assert item["earlier"]["hi"] - item["earlier"]["lo"] == 2 * ELEMS and item["access"]["hi"] - item["access"]["lo"] == 4 * ELEMS
    item = find(run(libs["flags"], "set_on_set", args_of("set_on_set"), 1), "Sync4")[0]
    assert item["earlier"]["op"] == "WaitFlag" and item["missing"] == "V -> MTE2"


def test_stray_access_is_not_performed(libs, run):
    memory = np.full(ELEMS + 64, 7, np.float32)
    args = {"x": read_only(np.ones(ELEMS, np.float32)), "z": memory[:ELEMS]}
    run(libs["bounds"], "gm_bounds", args, 2)
    assert (memory[ELEMS:] == 7).all()


def test_stray_read_gives_nan(libs, run):
    args = args_of("gm_bounds")
    run(libs["bounds"], "gm_bounds", args, 1)
    assert np.isnan(args["z"]).all()


def test_fresh_memory_is_poisoned(libs, run):
    args = args_of("cube_bounds")
    run(libs["bounds"], "cube_bounds", args, 6)
    assert np.isnan(args["z"]).all()


def test_reborn_rows_are_poisoned(libs, run):
    args = args_of("stage_lives")
    run(libs["pools"], "stage_lives", args, 2, **OPTIONS["stage_lives"])
    assert np.isnan(args["z"]).all()
    run(libs["pools"], "stage_lives", args, 0, **OPTIONS["stage_lives"])
    assert np.isfinite(args["z"]).all()


def test_row_names_replace_buffer_names(libs, run, find):
    report = run(libs["pools"], "stage_lives", args_of("stage_lives"), 2, **OPTIONS["stage_lives"])
    assert find(report, "Read2")[0]["access"]["buffer"] == "late"
    stages = {row["name"]: row["busy"]["V"] for row in report.to_dict()["stages"]}
    assert all(stages[name] > 0 for name in ("Load", "Gate", "Solve", "Store"))


def test_overlapping_live_rows_are_refused(libs, run):
    rows = [("a", "UB", 0, 64, 0, 2), ("b", "UB", 32, 64, 2, 3)]
    with pytest.raises(ValueError, match="rows 'a' and 'b' share bytes and are both alive in stage 2"):
        run(libs["pools"], "stage_lives", args_of("stage_lives"), buffers=rows)


def test_deadlock_leaves_the_process_alive(libs, run):
    report = run(libs["flags"], "unpaired", args_of("unpaired"), 3)
    assert "deadlock" in report.error
    assert run(libs["flags"], "unpaired", args_of("unpaired"), 0).errors == 0
