# SPDX-License-Identifier: Apache-2.0
"""Reports name the calls that led to an instruction, and every flag and barrier has an identity by which it can be left out."""

import functools

import numpy as np
import pytest
from chunk_gdr import model

SOURCE = "call_paths.cpp"


@pytest.fixture(scope="module")
def lib(kernel_dir):
    return model.build(kernel_dir / SOURCE)


@pytest.fixture(scope="module")
def line(line_of):
    return functools.partial(line_of, SOURCE)


def data(rounds=1):
    return {"x": np.arange(512 * rounds, dtype=np.float32)}


def callers(access):
    return [(caller["line"], caller["function"]) for caller in access["callers"]]


def test_a_clean_kernel_is_clean(lib, run):
    report = run(lib, "helpers", data())
    assert (report.errors, report.auto_sync, report.error) == (0, 0, ""), report.text


@pytest.mark.parametrize("optimize", ["-O0", "-O1", "-O3"])
def test_report_names_the_call_of_the_helper(kernel_dir, run, line, optimize):
    lib = model.build(kernel_dir / SOURCE, optimize=optimize)
    second = line("Twice(m.Get(0)", after=line("Twice(m.Get(0)"))
    report = run(lib, "helpers", data(), 2)
    assert report.hazards
    for hazard in report.hazards:
        assert callers(hazard["access"]) == [(line("AddOne(x, y)"), "Twice"), (second, "helpers")]
        assert callers(hazard["earlier"]) == [(line("AddOne(y, x)"), "Twice"), (second, "helpers")]
        place = f"{SOURCE}:{line('Adds(to')} <- {SOURCE}:{line('AddOne(x, y)')} Twice <- {SOURCE}:{second} helpers"
        assert place in hazard["report"]
        assert f"between {kernel_dir / SOURCE}:{line('Adds(to')} <- {SOURCE}:{line('AddOne(y, x)')} Twice and" in hazard["fix"]


def test_each_call_of_a_helper_has_its_report(lib, run):
    places = {tuple(callers(hazard["access"])) for hazard in run(lib, "helpers", data(), 3).hazards}
    assert len(places) == 2


def test_without_debug_information_reports_name_the_line_of_the_call(kernel_dir, run, line):
    lib = model.build(kernel_dir / SOURCE, flags=["-g0"])
    report = run(lib, "helpers", data(), 1)
    assert report.hazards and all(hazard["access"]["callers"] == [] for hazard in report.hazards)
    assert f"{SOURCE}:{line('Adds(to')} in block 0" in report.text or f"{SOURCE}:{line('Adds(to')}, block 0" in report.text


def test_without_addr2line_reports_name_the_line_of_the_call(kernel_dir, run, monkeypatch):
    lib = model.build(kernel_dir / SOURCE, defines={"UNKNOWN_SO_FAR": 1})
    monkeypatch.setenv("PATH", "/nonexistent")
    report = run(lib, "helpers", data(), 1)
    assert report.hazards and all(hazard["access"]["callers"] == [] for hazard in report.hazards)


def test_a_library_that_is_built_anew_has_its_own_lines(kernel_dir, run, tmp_path, line):
    source = tmp_path / SOURCE
    for shift in (0, 3):
        source.write_text("\n" * shift + (kernel_dir / SOURCE).read_text())
        lib = model.build(source, out=tmp_path / "kernel.so", include=[kernel_dir])
        (hazard, *_) = run(lib, "helpers", data(), 1).hazards
        assert callers(hazard["access"])[0] == (line("AddOne(x, y)") + shift, "Twice")


def test_deadlocks_name_callers(kernel_dir, run, line):
    lib = model.build(kernel_dir / SOURCE)
    sites = sync_of(run(lib, "tiles", data(2), 2, sync_sites=True))["sites"]
    (dropped,) = (s["identity"] for s in sites if s["op"] == "SetFlag" and callers(s) == [(line("EVENT_ID1"), "tiles")])
    report = run(lib, "tiles", data(2), 2, drop_sync=[dropped])
    assert "MTE3 waits for V_MTE3 id 1" in report.error and f"<- {SOURCE}:{line('EVENT_ID1')} tiles" in report.error


def test_kernels_without_frame_pointers_run(kernel_dir, run):
    lib = model.build(kernel_dir / SOURCE, optimize="-O2", flags=["-fomit-frame-pointer"])
    report = run(lib, "helpers", data(), 1)
    assert {hazard["rule"] for hazard in report.hazards} == {"Sync1", "Sync2"}


def sync_of(report):
    return report.to_dict()["sync"]


def barrier_behind(sync, call):
    return [site["identity"] for site in sync["sites"] if site["op"] == "PipeBarrier" and (call, "helpers") in callers(site)]


def test_a_barrier_is_left_out_by_identity(lib, run, line):
    clean = run(lib, "helpers", data(), sync_sites=True)
    first = line("Twice(m.Get(0)")
    dropped = barrier_behind(sync_of(clean), first)
    assert len(dropped) == 1
    report = run(lib, "helpers", data(), drop_sync=dropped)
    assert report.hazards == run(lib, "helpers", data(), 1).hazards
    assert report.cycles < clean.cycles


def test_identities_outlast_the_launch(lib, run):
    first, second = (sync_of(run(lib, "helpers", data(), sync_sites=True)) for _ in range(2))
    assert first == second
    assert len({site["identity"] for site in first["sites"]}) == len(first["sites"])


def test_unknown_identities_drop_nothing(lib, run):
    report = run(lib, "helpers", data(), sync_sites=True, drop_sync=["0123456789abcdef"])
    assert sync_of(report) == sync_of(run(lib, "helpers", data(), sync_sites=True))


@pytest.mark.parametrize("identity", ["", "xyz", "12g", "1" * 17])
def test_malformed_identity(lib, run, identity):
    with pytest.raises(ValueError, match="drop_sync takes identities"):
        run(lib, "helpers", data(), drop_sync=[identity])


def test_flag_pairs(lib, run, line):
    """The flag that is set before the loop is consumed in it; the last one set in the loop, behind it."""
    sync = sync_of(run(lib, "tiles", data(3), 3, sync_sites=True))
    place = lambda site: (site["op"], site["line"])  # noqa: E731
    pairs = {(place(sync["sites"][p["set"]]), place(sync["sites"][p["wait"]]), p["id"]): p["times"] for p in sync["pairs"]}
    before = line("SetFlag<HardEvent::MTE3_MTE2>")
    inside = line("SetFlag<HardEvent::MTE3_MTE2>", after=before)
    top = line("WaitFlag<HardEvent::MTE3_MTE2>")
    behind = line("WaitFlag<HardEvent::MTE3_MTE2>", after=top)
    assert pairs[("SetFlag", before), ("WaitFlag", top), 0] == 1
    assert pairs[("SetFlag", inside), ("WaitFlag", top), 0] == 2
    assert pairs[("SetFlag", inside), ("WaitFlag", behind), 0] == 1
    assert [times for (_, _, id), times in pairs.items() if id == 1] == [3]


def test_closure_tells_orders_apart(lib, run, line):
    closure = lambda *args, **options: sync_of(run(lib, *args, sync_sites=True, **options))["closure"]  # noqa: E731
    clean = run(lib, "helpers", data(), sync_sites=True)
    first, second = line("Twice(m.Get(0)"), line("Twice(m.Get(0)", after=line("Twice(m.Get(0)"))
    without = {call: barrier_behind(sync_of(clean), call) for call in (first, second)}
    closures = [sync_of(clean)["closure"]] + [closure("helpers", data(), drop_sync=without[call]) for call in without]
    assert len(set(closures)) == 3
    assert sync_of(clean)["conflicting_pairs"] > 0
