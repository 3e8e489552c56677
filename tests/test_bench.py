# SPDX-License-Identifier: Apache-2.0
"""chunk-gdr bench: one small shape from end to end, what its figures mean, and its errors."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from chunk_gdr import bench, cases, runner, tiling
from chunk_gdr.bench import builds, counts
from chunk_gdr.cases import BENCHES, Bench, Case

ROOT = Path(__file__).resolve().parents[1]
SMALL = ["bench", "--suite", "small"]
NAMES = {
    "name", "shape", "state_layout", "cycles_per_chunk_head", "gm_bytes", "core_efficiency", "out_nrmse", "state_nrmse",
    "barriers_all", "schedule", "predicted_cycles", "total_cycles",
}  # fmt: skip


@pytest.fixture(scope="module")
def small():
    return bench.measure("d64-small", BENCHES["small"]["d64-small"])


def test_json(command, small):
    code, out, err = command(*SMALL, "--json")
    (row,) = json.loads(out)
    assert code == 0 and row["passed"] and NAMES <= set(row)
    assert row | {"seconds": 0} == small.to_dict() | {"seconds": 0}
    assert "d64-small: comparing with the fp64 recurrence" in err


def test_both_state_layouts(command, small):
    """A row for each, of which the first is the package's own kernel; the other takes more cycles."""
    code, out, _ = command(*SMALL, "--state-layout", "both", "--kernel", str(ROOT / builds.KERNEL), "--json")
    nz, nd = json.loads(out)
    assert code == 0 and [row["state_layout"] for row in (nz, nd)] == ["kNz", "kNd"]
    assert nz | {"seconds": 0} == small.to_dict() | {"seconds": 0}
    assert nd["passed"] and nd["state_nrmse"] < 2e-5 and nd["name"] == nz["name"]
    assert 1 < nd["total_cycles"] / nz["total_cycles"] < 1.3
    assert runner.plan_of_case(BENCHES["small"]["d64-small"].case).state_layout == "kNz"


def test_what_the_figures_mean(small):
    case = BENCHES["small"]["d64-small"].case  # chunks 4 + 2 + 1, four heads in two slices: 3.5 chunk-heads a core
    call = runner.call_operator(cases.make_inputs(case), "model")
    row, cycles = small.to_dict(), call.model["model_cycles"]
    cores = cycles["cores"] + [0] * (8 - len(cycles["cores"]))
    plan = runner.plan_of_case(case)
    assert sum(plan.chunk_heads(core) for core in range(len(plan.cores))) == 28
    assert row["total_cycles"] == cycles["total"] == max(cores)
    assert row["cycles_per_chunk_head"] == pytest.approx(max(cores) / plan.chunk_heads(cores.index(max(cores))))
    assert row["core_efficiency"] == pytest.approx(sum(cores) / 8 / max(cores))
    assert row["gm_bytes"] == call.model["gm_bytes"] and row["barriers_all"] == call.model["traffic"]["full_barriers"]
    assert row["gm_bound_cycles"] == pytest.approx(row["gm_bytes"] / 17 / 8)
    assert row["gm_bound_ratio"] == pytest.approx(row["total_cycles"] / row["gm_bound_cycles"])
    assert row["gm_bound_ratio"] > 1
    assert 0 < row["steady_cycles_per_chunk_head"] < row["cycles_per_chunk_head"]
    assert max(row["busy_cycles"].values()) < row["total_cycles"]
    assert sum(row["queue_bytes"].values()) > row["gm_bytes"] > row["queue_bytes"]["MTE2"]
    assert 0 < row["out_nrmse"] < 2.5e-4 and 0 < row["state_nrmse"] < 2e-5
    assert row["optimistic"]["total_cycles"] < row["total_cycles"]
    assert row["optimistic"]["gm_bound_cycles"] == row["gm_bound_cycles"]


def test_heads_for_some_of_the_cores_alone():
    two = Bench(Case(lengths=(640,), nk=1, nv=2, dk=64, dv=64))
    with tiling.schedule("sequence-major"):
        row = bench.measure("two-heads", two).to_dict()
    assert row["passed"] and row["core_efficiency"] == pytest.approx(2 / 8, rel=0.01)
    assert 0 < row["steady_cycles_per_chunk_head"] < row["cycles_per_chunk_head"]


def test_shortened_cases():
    short = Bench(Case(lengths=(65, 4096, 5))).shortened
    assert short.lengths == (65, 2048, 5)
    assert Bench(Case(lengths=(4095,))).shortened.lengths == (4095 - 32 * 64,)
    assert Bench(Case(lengths=(256,))).shortened.lengths == (128,)
    assert Bench(Case(lengths=(192, 64))).shortened is None and Bench(Case(lengths=(0,))).shortened is None


def test_steady_cycles_leave_the_start_and_the_state_out():
    """Three more chunks of a head cost three times what a chunk costs, whatever the case costs besides."""
    case = Case(lengths=(320,), nk=8, nv=8, dk=16, dv=16)
    longer = replace(case, lengths=(640,))
    rows = [bench.measure("", Bench(c)).pessimistic for c in (case, longer)]
    assert rows[0].steady_cycles_per_chunk_head == pytest.approx(rows[1].steady_cycles_per_chunk_head, rel=0.03)
    assert rows[0].cycles_per_chunk_head > 1.03 * rows[0].steady_cycles_per_chunk_head


def test_nothing_to_run():
    row = bench.measure("empty", Bench(Case(lengths=(0,), nk=1, nv=8, dk=16, dv=16)))
    assert row.passed and row.pessimistic.cycles_per_chunk_head is None and row.pessimistic.total_cycles > 0
    assert "empty" in bench.table([row]) and "1 shapes, accuracy and hazards within the bars" in bench.table([row])


def test_tables(small):
    text = bench.table([small])
    figures = small.pessimistic
    for part in ("pessimistic parameters", "optimistic parameters", "kNz", "sequence-major", "busy per ch"):
        assert part in text
    assert f"{figures.cycles_per_chunk_head:,.0f}" in text and f"{figures.total_cycles:,.0f}" in text


def test_every_suite_is_runnable_as_planned():
    for suite in BENCHES.values():
        for name, entry in suite.items():
            plan = runner.plan_of_case(entry.case)
            assert all(plan.cores), name
            assert entry.target is None or entry.target > 5_000
    assert {entry.case.dv for entry in BENCHES["model"].values()} == {64, 80, 96, 128}


def test_picture(command, tmp_path):
    image = pytest.importorskip("matplotlib.image")
    code, _, _ = command(*SMALL, "--json", "--png", str(tmp_path / "roof.png"))
    height, width = image.imread(tmp_path / "roof.png").shape[:2]
    assert code == 0 and width > height > 300


def test_without_matplotlib_all_but_the_picture_works(command, tmp_path, monkeypatch):
    import sys

    for name in ("matplotlib.backends.backend_agg", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    code, out, err = command(*SMALL, "--png", str(tmp_path / "roof.png"))
    assert code == 0 and "pessimistic parameters" in out and "drawing needs matplotlib: pip install" in err
    assert not (tmp_path / "roof.png").exists()


def test_a_kernel_at_fault_has_no_good_figures(command, monkeypatch):
    from chunk_gdr import model

    to_dict = model.Report.to_dict
    faulty = {"hazards": {"errors": 1, "auto_sync": 0, "reports": []}}
    monkeypatch.setattr(model.Report, "to_dict", lambda report: to_dict(report) | faulty)
    code, out, _ = command(*SMALL)
    assert code == 1 and "d64-small  MISSED: hazards.errors: 1, must be 0" in out and "1 shapes, 1 MISSED" in out


def test_a_kernel_that_is_abandoned(command, monkeypatch):
    def abandoned(inputs, backend, **options):
        call = runner.call_operator(inputs, backend, **options)
        call.error = "the kernel was abandoned: deadlock"
        return call

    monkeypatch.setattr("chunk_gdr.bench.figures.call_operator", abandoned)
    code, out, _ = command(*SMALL, "--json")
    (row,) = json.loads(out)
    assert code == 1 and not row["passed"] and row["missed"] == ["the kernel was abandoned: deadlock"]
    assert NAMES <= set(row) and row["total_cycles"] is None and row["optimistic"] is None


@pytest.mark.parametrize(
    "argv, message",
    [
        (["--only", "d63"], "--only d63: suite small has d64-small"),
        (["--png", "/no/such/folder/roof.png"], "/no/such/folder/roof.png: no such directory"),
        (
            ["--state-layout", "kNd", "--kernel", "none.cpp"],
            "--state-layout kNd: none.cpp does not exist; run this from the repository root",
        ),
        (["--threads", "0"], "argument --threads: expected a whole number from 1 to 2147483647, got '0'"),
    ],
)
def test_wrong_use_is_one_line(command, argv, message):
    code, out, err = command(*SMALL, *argv)
    assert code == 2 and out == "" and err.splitlines()[-1].endswith(message) and len(err.splitlines()) == 1


@pytest.fixture(scope="module")
def cost_fits():
    return counts.fit()


def test_a_chunk_costs_a_polynomial_in_the_strips(cost_fits):
    for name in ("chunk", "wide chunk"):
        f = cost_fits[name]
        assert f.worst < 0.04 * f.one and min(f.one, f.r, f.s, f.rs) > 0


def test_what_comes_once_costs_a_polynomial_in_the_strips(cost_fits):
    # An error of a few percent of a chunk is one of a few percent.
    worst = max(cost_fits[name].worst for name in ("norm", "enter state", "store state", "item"))
    assert worst < 0.09 * cost_fits["chunk"].one


def test_the_plan_has_the_counts(cost_fits):
    """What runs of one core give is near what the plan weighs work by."""
    fits = cost_fits
    chunk = fits["chunk"]
    assert fits["launch"].worst < 0.1 * fits["launch"].one
    for strips in (4, 8):
        measured = {name: f.at(strips, strips) for name, f in fits.items()}
        measured["chunk"] = max(measured["chunk"], measured["wide chunk"])
        copy = 700 + 4 * (16 * strips) ** 2 / 17
        enter, store = measured["enter state"] + copy, measured["store state"] + copy

        def plan(**changes):
            case = Case(lengths=(640,), nk=1, nv=1, dk=16 * strips, dv=16 * strips)
            return runner.plan_of_case(replace(case, **changes), cores=1)

        assert plan().chunk_cycles == pytest.approx(measured["chunk"], rel=0.04)
        assert plan(l2norm=True).chunk_cycles == pytest.approx(measured["chunk"] + measured["norm"], rel=0.04)
        assert plan(chunk_state=True).chunk_cycles == pytest.approx(measured["chunk"] + store, rel=0.04)
        assert plan().item_cycles == pytest.approx(measured["item"] + enter + store, rel=0.04)
        assert plan(state=None).item_cycles == pytest.approx(measured["item"] + store, rel=0.04)
        launch = plan().core_cycles[0] - plan().item_cycles - 10 * plan().chunk_cycles
        assert launch == pytest.approx(measured["launch"], rel=0.08)
    shown = counts.text(fits)
    assert all(name in shown for name in fits) and f"{chunk.at(8, 8):10.1f}" in shown
