# SPDX-License-Identifier: Apache-2.0
"""chunk-gdr profile: files, tables, the picture's window."""

import json
import os
import sys

import pytest

from chunk_gdr import profile
from chunk_gdr.profile import command as profile_command
from chunk_gdr.profile.trace import CoreTrace, Slice

SMALL = ["--lengths", "300,3", "--nk", "1", "--nv", "2", "--dk", "24", "--dv", "40"]
QUEUES = ["S", "V", "M", "MTE1", "MTE2", "MTE3"]


def test_json_files_and_picture(command, tmp_path):
    image = pytest.importorskip("matplotlib.image")
    code, out, err = command("profile", *SMALL, "--output", str(tmp_path / "p"), "--json")
    result = json.loads(out)
    assert code == 0 and result["passed"] and result["missed"] == [] and "writing the profile" in err
    names = {os.path.relpath(file, tmp_path / "p") for file in result["files"]}
    assert names >= {"trace.json", "pipeline.png", "core0/core0_instr_exe.csv", "core7/core7_code_exe.csv"}
    used = result["model"]["slowest_core"]
    assert used["cycles"] == max(core["cycles"] for core in result["model"]["cores"])
    assert used["name"] == f"core {result['core']}" and used["microseconds"] == pytest.approx(used["cycles"] / 1060)
    for queue in QUEUES:
        use = used["queues"][queue]
        assert use["utilisation"] == pytest.approx(use["busy"] / used["cycles"])
        assert use["wait"] == pytest.approx(sum(use["waits_for"].values()))
        # The rest are flags, a cycle each, and the time after the last instruction.
        assert 0.9 * used["cycles"] < use["busy"] + use["wait"] <= used["cycles"] + 1
    begin, end = result["window"]
    assert 0 < begin < end < used["cycles"]
    quarter = used["cycles"] / 4  # two of five chunks, beside what the start and the state take
    assert quarter < end - begin < 2 * quarter
    assert result["redundant_sync"]["judged"] > 20
    pixels = image.imread(tmp_path / "p" / "pipeline.png")
    assert pixels.shape[0] > 600 and pixels.shape[1] > 2000
    colours = {tuple(colour) for colour in (pixels[::4, ::4, :3] * 255).round().astype(int).reshape(-1, 3)}
    assert len(colours) > 8


def test_stages_carry_the_waits_of_their_instructions(command, tmp_path):
    code, out, _ = command("profile", *SMALL, "--output", str(tmp_path / "p"), "--json")
    model = json.loads(out)["model"]
    stages = {stage["name"]: stage["queues"] for stage in model["stages"]}
    assert list(stages)[0] == "outside" and {"Load", "Scores", "Solve", "Residual", "State"} < stages.keys()
    assert stages["Residual"]["V"]["waits_for"]["M"] > 0
    for queue in QUEUES:
        waits = sum(stage[queue].get("wait", 0) for stage in stages.values())
        known = sum(core["queues"][queue]["wait"] for core in model["cores"])
        assert waits == pytest.approx(known, rel=0.01)
        busy = sum(stage[queue]["busy"] for stage in stages.values())
        assert busy == pytest.approx(sum(core["queues"][queue]["busy"] for core in model["cores"]))


def test_critical_path(command, tmp_path):
    code, out, _ = command("profile", *SMALL, "--output", str(tmp_path / "p"), "--json")
    model = json.loads(out)["model"]
    links = model["critical_path"]
    assert sum(link["cycles"] for link in links) == pytest.approx(model["slowest_core"]["cycles"])
    assert [link["cycles"] for link in links] == sorted((link["cycles"] for link in links), reverse=True)
    for link in links:
        assert link["queue"] in QUEUES and link["kind"] in ("busy", "latency", "other_blocks") and link["cycles"] > 0


def test_text(command, tmp_path):
    target = tmp_path / "p"
    code, out, _ = command("profile", *SMALL, "--output", str(target), "--core", "1", "--params", "optimistic")
    assert code == 0 and "(host model, optimistic parameters)" in out and "\ncore 1" in out
    parts = ("for MTE3", "redundant synchronisation in this run: ", "\nScores ", "\nall ", "critical path", f"{target}: trace.json", "pipeline.png of core 1")
    assert [part for part in parts if part not in out] == []


def test_window_flags(command, tmp_path):
    pytest.importorskip("matplotlib")
    flags = ["--output", str(tmp_path / "p"), "--json"]
    code, out, _ = command("profile", *SMALL, *flags, "--core", "0", "--from", "1000", "--to", "2500")
    assert code == 0 and json.loads(out)["window"] == [1000, 2500] and json.loads(out)["core"] == 0


def test_one_edge_of_the_window(tmp_path):
    """The other is that of the usual window, or as far away where that would leave nothing."""
    pytest.importorskip("matplotlib")
    core = lane(("a", 0, 30_000), ("b", 30_000, 60_000))
    assert profile.steady_window(core) == (20_000, 40_000)
    edges = {(None, 30_000): (20_000, 30_000), (None, 9_000): (0, 9_000), (None, 20_000): (0, 20_000)}
    edges |= {(25_000, None): (25_000, 40_000), (45_000, None): (45_000, 65_000), (40_000, None): (40_000, 60_000)}
    for (begin, end), window in edges.items():
        assert profile.draw(core, tmp_path / "p.png", begin, end) == window


def test_without_matplotlib_all_but_the_picture_works(command, tmp_path, monkeypatch):
    for name in ("matplotlib.backends.backend_agg", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    code, out, err = command("profile", *SMALL, "--output", str(tmp_path / "p"), "--json")
    result = json.loads(out)
    assert code == 0 and result["window"] is None and (tmp_path / "p" / "trace.json").is_file()
    assert not (tmp_path / "p" / "pipeline.png").exists()
    assert "no pipeline.png: drawing needs matplotlib: pip install matplotlib, or" in err and "extra [plot]" in err


def test_an_earlier_profile_is_replaced_whole_or_not_at_all(command, tmp_path, monkeypatch):
    target = tmp_path / "p"
    target.mkdir()
    (target / "trace.json").write_text("old")

    def fail(*arguments):
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(profile_command, "draw", fail)
        code, _, err = command("profile", *SMALL, "--output", str(target))
        assert code == 2 and "chunk-gdr: error: no space left" in err
    assert os.listdir(tmp_path) == ["p"] and os.listdir(target) == ["trace.json"]
    assert (target / "trace.json").read_text() == "old"
    assert command("profile", *SMALL, "--output", str(target))[0] == 0
    assert os.listdir(tmp_path) == ["p"] and len(os.listdir(target)) > 8
    assert json.loads((target / "trace.json").read_text())["traceEvents"]


def test_a_folder_of_something_else_is_left_alone(command, tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    code, _, err = command("profile", *SMALL, "--output", str(tmp_path))
    assert code == 2 and "not empty and without a trace.json" in err
    assert os.listdir(tmp_path) == ["thesis.txt"]


def test_a_kernel_at_fault_is_exit_code_1(command, tmp_path, monkeypatch):
    def faulty(*arguments, **options):
        call = call_operator(*arguments, **options)
        call.model["hazards"] |= {"errors": 2, "reports": [{"report": "V Add reads UB 'x'"}]}
        return call

    call_operator = profile_command.call_operator
    monkeypatch.setattr(profile_command, "call_operator", faulty)
    code, out, _ = command("profile", *SMALL, "--output", str(tmp_path / "p"))
    assert code == 1 and "MISSED: hazards.errors: 2, must be 0" in out and "V Add reads UB 'x'" in out


# ---- the picture's window


def lane(*slices):
    core = CoreTrace("core0")
    core.lanes["V"] = [Slice("Add", start, end, stage, "k.cpp:1") for stage, start, end in slices]
    return core


def test_steady_window_is_two_rounds_without_anything_between():
    rounds = []
    at = 100
    for index in range(9):
        at += 5000 if index == 4 else 0  # in the middle the next work item comes in
        rounds += [("Load", at, at + 10), ("Solve", at + 20, at + 100), ("Solve", at + 110, at + 150)]
        rounds += [("Output", at + 160, at + 190)]
        at += 200
    assert profile.steady_window(lane(("Enter", 0, 90), *rounds)) in [(320, 720), (5920, 6320)]


def test_steady_window_of_stages_that_interleave():
    """No stage comes once in a round: calls do. A loop in a call and a stage that runs once do not mislead."""
    slices = [Slice("Add", 10 * index, 10 * index + 5, "Start", "k.cpp:9") for index in range(10)]
    for index in range(9):
        at = 1000 + 200 * index
        slices += [
            Slice("Add", at, at + 10, "Load", "tile.h:1", None, "k.cpp:1"),
            Slice("Mul", at + 10, at + 60, "Solve", "tile.h:2", None, "k.cpp:2"),
            Slice("Add", at + 60, at + 70, "Load", "tile.h:1", None, "k.cpp:3"),
            Slice("Mul", at + 70, at + 110, "Solve", "tile.h:2", None, "k.cpp:4"),
        ]
        for step in range(4):
            begin = at + 120 + 20 * step
            slices += [Slice("Exp", begin, begin + 8, "Load", "k.cpp:5"), Slice("Ln", begin + 8, begin + 16, "Solve", "k.cpp:6")]
    core = CoreTrace("core0")
    core.lanes["V"] = slices
    assert profile.steady_window(core) == (1210, 1610)


def test_steady_window_has_full_chunks():
    """The chunk in the middle of the run is ragged and 5 % shorter."""
    rounds = []
    at = 0
    for index in range(9):
        rounds += [("Load", at, at + 10), ("Solve", at + 20, at + 100)]
        at += 190 if index == 4 else 200
    begin, end = profile.steady_window(lane(*rounds))
    assert end - begin == 400


def test_window_of_a_kernel_without_rounds():
    assert profile.steady_window(lane(("outside", 0, 300), ("outside", 400, 1000))) == (0, 1000)
    assert profile.steady_window(lane(("a", 0, 30_000), ("b", 30_000, 60_000))) == (20_000, 40_000)


@pytest.mark.parametrize(
    "argv, message",
    [
        (["--msprof", "x", "--nk", "2"], "--msprof reads a card's profile and runs nothing: --nk needs --model"),
        (["--msprof", "x", "--from", "3"], "--from needs --model"),
        (["--model"], "--model is for --msprof"),
        (["--op", "x"], "--op is for --msprof"),
        (["--from", "9", "--to", "9"], "--to 9: the picture would be empty"),
        ([*SMALL, "--cores", "2", "--core", "2"], "--core 2: cores 0 to 1 ran"),
        ([*SMALL, "--core", "0", "--from", "1e12"], "--from 1e+12: core 0 ends at cycle"),
        (["--output", "/nowhere/p"], "/nowhere/p: no such directory"),
        (["--input", "nowhere.npz"], "nowhere.npz: no such file"),
    ],
)
def test_wrong_use(command, tmp_path, monkeypatch, argv, message):
    monkeypatch.chdir(tmp_path)
    code, out, err = command("profile", *argv)
    assert code == 2 and out == "" and "Traceback" not in err and os.listdir(tmp_path) == []
    assert message in err.splitlines()[-1]
