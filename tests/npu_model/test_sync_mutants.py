# SPDX-License-Identifier: Apache-2.0
"""The removal campaign: what it removes, and that reported, redundant and silent mean what they say."""

import json
import re
import struct
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from chunk_gdr import cli, model
from chunk_gdr.bench import builds
from chunk_gdr.redundant_sync import redundant_in_all
from chunk_gdr.sync_mutants import Campaign, Run, Verdict, campaign, digest_of, find_mutants, judge, operator_scenarios, run_baselines

ROOT = Path(__file__).parents[2]
SYNC_CALL = re.compile(r"\b(VectorDone|SyncAll|PipeBarrier<\w+>|(Handoff|Signal|Await|SetFlag|WaitFlag)<[\w:]+>)\(")
OTHER_BUILD = re.compile(r"if constexpr \((!Compensated::|(Base::)?kSignalsOut\))")  # kSignalsOut is !Compensated::kShifted


@dataclass(frozen=True)
class KernelScenario:
    """An entry of call_paths.cpp. `deaf`: as if the checker found nothing."""

    lib: str
    entry: str
    tiling: int
    deaf: bool = False

    def __call__(self, options):
        x = np.arange(512 * 4, dtype=np.float32)
        report = model.run(self.lib, self.entry, {"x": x}, tiling=struct.pack("<I", self.tiling), **options).to_dict()
        if self.deaf:
            report = report | {"hazards": {"reports": []}}
        return Run(digest_of([x]), report, None)


@pytest.fixture(scope="module")
def tiles(kernel_dir):
    return KernelScenario(str(model.build(kernel_dir / "call_paths.cpp")), "tiles", 4)


@pytest.fixture(scope="module")
def result(tiles):
    return campaign({"tiles": tiles}, seeds=8, workers=1)


def names(verdicts):
    return sorted(f"{item.mutant.kind} {item.mutant.queues} {item.mutant.ids} x{len(item.mutant.sites)}" for item in verdicts)


def test_every_synchronisation_is_removed_once(result):
    assert names(result.verdicts) == sorted(
        [
            "barrier V () x1",
            "barrier V () x1",
            "flags MTE2 -> V (0,) x2",
            "flags MTE3 -> MTE2 (0,) x4",  # one promise: set before the loop and in it, waited for in the loop and behind it
            "flags V -> MTE2 (2,) x2",
            "flags V -> MTE3 (1,) x2",
        ]
    )


def test_what_is_not_needed_is_redundant_and_the_rest_reported(result):
    assert names(result.of("redundant")) == ["barrier V () x1", "flags V -> MTE2 (2,) x2"]
    assert len(result.of("reported")) == 4 and not result.of("silent")
    barrier = next(item for item in result.of("redundant") if item.mutant.kind == "barrier")
    assert barrier.mutant.executed == 4 and barrier.together
    # The flag behind it waits for the same result: the barrier costs its issue alone.
    assert 0 <= barrier.model_cycles < 4 * 30


def test_values_that_change_are_counted(result):
    changed = result.values_changed
    assert names(changed) == ["flags MTE2 -> V (0,) x2", "flags MTE3 -> MTE2 (0,) x4", "flags V -> MTE3 (1,) x2"]
    assert f"{len(changed)} change values under some adversarial seed, 3 of these are reported" in str(result)
    unseen = replace(changed[0], verdict="redundant")
    dumped = Campaign([unseen, *changed[1:]], 8, 1.0).to_dict()
    assert (dumped["values_changed"], dumped["values_changed_and_reported"]) == (3, 2)


def test_missed_bars(result):
    assert not result.passed  # 2 of 6 are redundant
    reported = result.of("reported")
    assert Campaign(reported, 1, 1.0).passed
    assert not Campaign([*reported, Verdict(reported[0].mutant, "silent")], 1, 1.0).passed


def test_closure_misses_what_a_deaf_checker_misses(tiles, result):
    """The closure is a witness of its own: without the checker's reports, every missing order still shows in it."""
    deaf = {"tiles": replace(tiles, deaf=True)}
    baselines = run_baselines(deaf)
    for item in result.verdicts:
        verdict = judge(item.mutant, deaf, baselines, seeds=0)
        assert verdict.verdict == ("redundant" if item.verdict == "redundant" else "silent"), item.mutant
        assert verdict.closure_changed == (item.verdict == "reported")


def test_values_that_change_under_a_seed_are_silent_without_the_checker(tiles, result):
    deaf = {"tiles": replace(tiles, deaf=True)}
    baselines = run_baselines(deaf)
    needed = [item.mutant for item in result.of("reported") if item.mutant.kind == "flags"]
    assert len(needed) == 3
    for mutant in needed:
        assert judge(mutant, deaf, baselines, seeds=8).seeds_changed, mutant


TWICE = """
#include "mutant.h"
extern "C" __global__ __aicore__ void twice(GM_ADDR x, GM_ADDR workspace, GM_ADDR tiling) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> ub;
  pipe.InitBuffer(ub, 4096);
  LocalTensor<float> a = ub.Get<float>(512);
  Duplicate(a, 1.0f, 512);
  PipeBarrier<PIPE_V>();
  PipeBarrier<PIPE_V>();
  Adds(a, a, 1.0f, 512);
}
"""


def test_two_barriers_in_a_row_cover_for_each_other(kernel_dir, tmp_path):
    (tmp_path / "twice.cpp").write_text(TWICE)
    lib = model.build(tmp_path / "twice.cpp", out=tmp_path / "twice.so", include=[kernel_dir])
    result = campaign({"twice": KernelScenario(str(lib), "twice", 0)}, seeds=1, workers=1)
    assert names(result.of("redundant")) == ["barrier V () x1"] * 2
    assert sorted(item.together for item in result.verdicts) == [False, True]


@pytest.fixture(scope="module")
def baselines():
    return run_baselines(operator_scenarios(), redundant_sync=True)


@pytest.fixture(scope="module")
def row_baselines():
    """Of the kernel with its state in rows; a refusal is the same in both, and chunk-parallel is for the other."""
    library = model.build(ROOT / builds.KERNEL, defines={"CHUNK_GDR_STATE_LAYOUT": "kNd"})
    scenarios = {name: s for name, s in operator_scenarios().items() if not name.startswith(("refused", "shared"))}
    with builds.kernel_library(library, "kNd"):
        return run_baselines(scenarios, redundant_sync=True)


@pytest.fixture(scope="module")
def operator_result():
    return campaign(operator_scenarios(), seeds=2)


def sync_lines(text):
    """(line number, line) of every call that synchronises, but for those of builds that are not the default one."""
    elsewhere = None  # the indentation of the `if` around these lines
    for number, line in enumerate(text.splitlines(), 1):
        code = line.split("//")[0]
        indentation = len(code) - len(code.lstrip())
        if elsewhere is None and OTHER_BUILD.search(code):
            elsewhere = indentation
        elif elsewhere == indentation and code.lstrip().startswith("}"):
            elsewhere = None
        if elsewhere is None and SYNC_CALL.search(code):
            yield number, line.strip()


def test_every_synchronisation_of_a_text():
    text = """
      Handoff<HardEvent::V_MTE3>(0);  // Await<HardEvent::M_V>(0)
      if constexpr (!Compensated::kVNew) {
        Await<HardEvent::MTE3_MTE1>(t);
        if (t == 0) {
          Signal<HardEvent::MTE3_MTE1>(t);
        }
      } else {
        Await<HardEvent::M_V>(kReady);
      }
      AscendC::SyncAll(flags, work);
      VectorDone();"""
    assert [number for number, _ in sync_lines(text)] == [2, 9, 11, 12]


def test_scenarios_execute_every_synchronisation_of_the_operator(baselines, row_baselines):
    executed = set()
    for run in (*baselines.values(), *row_baselines.values()):
        for site in run.report["sync"]["sites"]:
            executed |= {(Path(place["file"]).name, place["line"]) for place in (site, *site["callers"])}
    missing = []
    for path in sorted((ROOT / "op_kernel").rglob("*.h")):
        if path.name == "sync.h":
            continue
        for number, line in sync_lines(path.read_text()):
            if (path.name, number) not in executed:
                missing.append(f"{path.name}:{number} {line}")
    assert not missing, "\n".join(missing)


def test_operator_mutants(baselines):
    mutants = find_mutants(baselines)
    assert len({mutant.sites for mutant in mutants}) == len(mutants) > 100
    assert all(mutant.identities and mutant.scenarios and mutant.executed for mutant in mutants)
    flags = [mutant for mutant in mutants if mutant.kind == "flags"]
    assert all(any(s.startswith("SetFlag") for s in m.sites) and any(s.startswith("WaitFlag") for s in m.sites) for m in flags)
    assert all(mutant.ids for mutant in flags)


def test_bars_of_the_operator(operator_result):
    assert operator_result.passed, str(operator_result)


def test_little_is_redundant_with_the_state_in_rows(row_baselines):
    found = redundant_in_all({name: run.report for name, run in row_baselines.items()})
    assert not found.withheld and found.judged > 200 and len(found.items) <= 0.05 * found.judged


def test_whatever_changes_values_is_reported(operator_result):
    """The checker and adversarial execution against each other: the clocks see all that a delayed queue can spoil."""
    changed = operator_result.values_changed
    assert len(changed) > 20 and all(item.verdict == "reported" for item in changed)
    assert all(item.mutant.kind == "flags" for item in changed)
    dumped = operator_result.to_dict()
    assert dumped["values_changed"] == dumped["values_changed_and_reported"] == len(changed)


def test_ordinary_reports_have_the_same_verdicts(operator_result, baselines):
    """The campaign really removes and runs again; the reports run recorded clocks again. Neither knows of the other."""
    expected = {frozenset(item.mutant.sites): item.model_cycles for item in operator_result.of("redundant")}
    found = redundant_in_all({name: run.report for name, run in baselines.items()})
    assert not found.withheld and found.judged == len(operator_result.verdicts)
    cycles = {frozenset(item.places): item.cycles for item in found.items}
    assert cycles.keys() == expected.keys()
    # Where cores meet, a report leaves the others' arrivals as they were: what it says is saved is a bound from below.
    redundant = [item.mutant for item in operator_result.of("redundant")]
    meets = {frozenset(m.sites) for m in redundant if any(name.startswith("shared-") for name in m.scenarios)}
    assert any(cycles[sites] > 0 for sites in meets)
    assert {s: c for s, c in cycles.items() if s not in meets} == pytest.approx({s: c for s, c in expected.items() if s not in meets})
    assert all(cycles[sites] <= expected[sites] * (1 + 1e-6) for sites in meets)


def test_command(monkeypatch, capsys, tiles):
    from chunk_gdr import sync_mutants

    monkeypatch.setattr(sync_mutants, "operator_scenarios", lambda: {"tiles": tiles})
    assert cli.main(["check", "--sync-mutants", "--json"]) == 1
    result = json.loads(capsys.readouterr().out)
    assert (result["removed"], result["reported"], result["redundant"], result["silent"]) == (6, 4, 2, 0)
    assert result["values_changed"] == result["values_changed_and_reported"] == 3
    assert {name: len(items) for name, items in result["lists"].items()} == {"reported": 4, "redundant": 2, "silent": 0}
    assert all(item["sites"] and item["queues"] for items in result["lists"].values() for item in items)
    assert cli.main(["check", "--sync-mutants", "--case", "qwen"]) == 2
    assert "--sync-mutants brings its own cases" in capsys.readouterr().err
