# SPDX-License-Identifier: Apache-2.0
"""Flags and barriers that could go are named in the ordinary report, with what they cost; those that could not are not."""

import functools
from pathlib import Path

import numpy as np
import pytest
from chunk_gdr import model
from chunk_gdr.redundant_sync import redundant_in_all

SOURCE = "redundant_sync.cpp"
EXAMPLES = Path(__file__).parent / "examples"


@pytest.fixture(scope="module")
def lib(kernel_dir):
    return model.build(kernel_dir / SOURCE)


@pytest.fixture(scope="module")
def line(line_of):
    return functools.partial(line_of, SOURCE)


def data(blocks=1):
    return {"x": np.arange(512 * 4 * blocks, dtype=np.float32)}


def judged(report):
    return report.to_dict()["redundant_sync"]


def names(groups):
    return sorted(f"{group['kind']} {group['queues']}" for group in groups)


def test_one_needed_and_one_redundant_pair(lib, run, line):
    report = run(lib, "one_of_each", data())
    assert report.errors == report.auto_sync == 0
    assert names(judged(report)["groups"]) == ["flags MTE2 -> V", "flags V -> MTE3"]
    (group,) = report.redundant_sync
    assert (group["queues"], group["ids"], group["executed"]) == ("V -> MTE3", [1], 1)
    places = [(place["op"], place["line"]) for place in group["places"]]
    assert places == [("SetFlag", line("SetFlag<HardEvent::V_MTE3>")), ("WaitFlag", line("WaitFlag<HardEvent::V_MTE3>"))]
    assert "1 of 2 flag pairs and barriers" in report.text and f"{SOURCE}:{places[0][1]}" in report.text


def test_a_clean_kernel_has_no_text(lib, run):
    report = run(lib, "sometimes", data())
    assert report.text == "" and report.redundant_sync == [] and judged(report)["judged"] == 1


def test_redundant_means_every_execution_in_every_block(lib, run, line):
    barrier = line("    PipeBarrier<PIPE_V>();")
    redundant = lambda variant, blocks: [  # noqa: E731
        group["places"][0]["line"] for group in run(lib, "sometimes", data(blocks), variant, block_num=blocks).redundant_sync
    ]
    assert redundant(0, 1) == []
    assert redundant(1, 2) == [barrier]
    assert redundant(2, 1) == [barrier]
    assert redundant(2, 2) == []


def test_two_barriers_cover_for_each_other(lib, run):
    groups = run(lib, "twice", data()).redundant_sync
    assert names(groups) == ["barrier V", "barrier V"] and sorted(group["together"] for group in groups) == [False, True]


def test_one_place_that_covers_for_itself_is_needed(lib, run):
    """Either execution could go, but the line could not."""
    assert run(lib, "twice", data(), 1).redundant_sync == []


def test_full_barriers_and_scalar_accesses(lib, run):
    assert names(judged(run(lib, "full_barrier", data()))["groups"]) == ["barrier ALL"]
    assert run(lib, "full_barrier", data()).redundant_sync == []
    groups = run(lib, "full_barrier", data(), 1).redundant_sync
    assert names(groups) == ["barrier ALL", "flags V -> S"] and sorted(group["together"] for group in groups) == [False, True]


def test_what_keeps_a_flag_from_being_set_twice_is_needed(kernel_dir, run):
    """No pair of accesses needs the V_MTE2 edge: without it the second SetFlag might hit a raised flag."""
    lib = model.build(kernel_dir / "flags.cpp")
    report = run(lib, "set_on_set", {"x": np.ones(512, np.float32)})
    verdicts = {(g["queues"], g["places"][0]["line"]): g["redundant"] for g in judged(report)["groups"]}
    assert [redundant for (queues, _), redundant in verdicts.items() if queues == "V -> MTE2"] == [False]
    # The first load could be announced together with the second.
    assert [redundant for (queues, _), redundant in sorted(verdicts.items()) if queues == "MTE2 -> V"] == [True, False]


@pytest.mark.parametrize("entry, variant", [("one_of_each", 0), ("sometimes", 1), ("twice", 0), ("full_barrier", 1)])
@pytest.mark.parametrize("params", ["pessimistic", "optimistic"])
def test_cost_is_what_the_launch_without_it_saves(lib, run, entry, variant, params):
    whole = run(lib, entry, data(), variant, sync_sites=True, params=params)
    identities = {(s["op"], s["place"]): s["identity"] for s in whole.to_dict()["sync"]["sites"]}
    assert whole.redundant_sync
    for group in whole.redundant_sync:
        dropped = [identities[place["op"], place["place"].removeprefix(place["op"] + " at ")] for place in group["places"]]
        without = run(lib, entry, data(), variant, drop_sync=dropped, params=params)
        assert without.errors == without.auto_sync == 0
        assert group["cycles"] == pytest.approx(whole.cycles - without.cycles, abs=1e-6)


@pytest.mark.parametrize(
    "source, entry, variant, args, blocks",
    [
        ("kernels/cores.cpp", "neighbours", 0, {"x": 1024, "z": 1024, "out": 1024, "flags": 32}, 4),  # SyncAll
        ("kernels/cores.cpp", "neighbours", 4, {"x": 1024, "z": 1024, "out": 1024, "flags": 32}, 4),  # IBSet, IBWait
        ("kernels/ub_edges.cpp", "scalar_edges", 1, {"x": 4096, "z": 4096}, 1),  # S waits as auto-sync would make it
        ("kernels/cube_edges.cpp", "cube_twice", 0, {"x": 4096, "z": 8192}, 1),
        ("examples/vector_add.cpp", "vector_add", 4000, {"x": 4000, "y": 4000, "z": 4000}, 11),  # TQue
    ],
)
@pytest.mark.parametrize("params", ["pessimistic", "optimistic"])
def test_recorded_steps_give_the_launchs_own_cycles(run, source, entry, variant, args, blocks, params):
    arrays = {name: np.zeros(elems, np.float32) for name, elems in args.items()}
    lib = model.build(Path(__file__).parent / source)
    report = run(lib, entry, arrays, variant, block_num=blocks, params=params)
    assert report.error == "" and judged(report)["withheld"] == ""
    assert judged(report)["cycles"] == report.to_dict()["model_cycles"]["total"] > 0


@pytest.mark.parametrize("seed", range(4))
def test_the_verdict_does_not_depend_on_the_schedule(lib, run, seed):
    for entry, variant in (("one_of_each", 0), ("sometimes", 0), ("sometimes", 1), ("twice", 1)):
        options = {"execution": "adversarial", "seed": seed, "redundant_sync": True}
        adversarial = run(lib, entry, data(), variant, **options)
        assert adversarial.redundant_sync == run(lib, entry, data(), variant).redundant_sync


def test_flags_of_queues_are_the_librarys(lib, run):
    arrays = {name: np.ones(4096, np.float32) for name in "xyz"}
    report = run(model.build(EXAMPLES / "vector_add.cpp"), "vector_add", arrays, 4096)
    assert report.to_dict()["traffic"]["flag_sets"] > 0 and judged(report) == judged(report) | {"judged": 0, "withheld": ""}


def test_what_is_not_judged(lib, run, kernel_dir):
    flags = model.build(kernel_dir / "flags.cpp")
    stuck = run(flags, "unpaired", {"x": np.ones(512, np.float32)}, 3)
    assert judged(stuck)["withheld"] == "the kernel did not run to its end" and stuck.redundant_sync == []
    for options in ({"checked": False}, {"execution": "adversarial"}, {"redundant_sync": False}):
        assert "redundant_sync" not in run(lib, "one_of_each", data(), **options).to_dict()


def test_a_suite_needs_what_one_of_its_runs_needs(lib, run):
    reports = {f"variant {variant}": run(lib, "sometimes", data(), variant).to_dict() for variant in (0, 1)}
    assert redundant_in_all(reports).to_dict() == {"judged": 1, "redundant": [], "withheld": {}}
    alone = redundant_in_all({"a": reports["variant 1"], "b": reports["variant 1"]})
    (item,) = alone.items
    assert (item.kind, item.queues, item.executed, item.cases) == ("barrier", "V", 6, ("a", "b"))
    assert "1 of 1 flag pairs and barriers, in every case that executes them" in str(alone) and item.places[0] in str(alone)


def test_a_suite_with_an_abandoned_run_is_not_judged(lib, run, kernel_dir):
    stuck = run(model.build(kernel_dir / "flags.cpp"), "unpaired", {"x": np.ones(512, np.float32)}, 3).to_dict()
    suite = redundant_in_all({"a": run(lib, "sometimes", data(), 1).to_dict(), "stuck": stuck})
    assert suite.items == () and "stuck: not judged, because the kernel did not run to its end" in str(suite)
