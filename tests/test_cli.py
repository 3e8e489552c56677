# SPDX-License-Identifier: Apache-2.0
"""The command chunk-gdr: exit codes, the report, JSON, and one clear line for every wrong use."""

import json
import math
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from chunk_gdr import cli, model, tiling

SMALL = ["--lengths", "70,0,3", "--nk", "1", "--nv", "2", "--dk", "24", "--dv", "40"]
NATIVE = ["run", "--backend", "native", *SMALL]
MODEL = ["run", *SMALL]


def test_installed_command():
    command = Path(sys.executable).with_name("chunk-gdr")
    shown = subprocess.run([command, "--version"], capture_output=True, text=True)
    assert shown.returncode == 0 and shown.stdout.split() == ["chunk-gdr", "0.1.0"]
    done = subprocess.run([command, *NATIVE], capture_output=True, text=True)
    assert done.returncode == 0 and "PASSED" in done.stdout and "comparing with" in done.stderr


def test_report_on_native(command):
    code, out, err = command(*NATIVE, "--top", "1")
    assert code == 0
    assert "T 73 in 3 sequences [70, 0, 3], Nk 1, Nv 2, Dk 24, Dv 40" in out
    assert "out (float16): 4 heads" in out and "final_state (float32): 6 heads" in out
    assert "... and 3 more heads" in out and "... and 5 more heads" in out
    assert "running on backend 'native'" in err
    code, out, _ = command(*NATIVE, "--all-heads", "--chunk-state")
    assert code == 0 and "more heads" not in out and "chunk_state (float32): 4 heads" in out


def test_json_on_native(command):
    code, out, _ = command(*NATIVE, "--json", "--all-heads")
    report = json.loads(out)
    assert code == 0 and report["passed"] and report["missed"] == []
    for name, heads in (("out", 4), ("final_state", 6)):
        assert 0 < report[name]["nrmse"] <= report[name]["bar"]
        assert report[name]["nrmse"] == max(h["nrmse"] for h in report[name]["per_head"]) or name == "out"
        assert len(report[name]["per_head"]) == heads


def test_json_on_the_model(command):
    code, out, err = command(*MODEL, "--json")
    report = json.loads(out)
    assert code == 0 and report["passed"]
    assert report["out"]["nrmse"] <= report["out"]["bar"]
    assert report["final_state"]["nrmse"] <= report["final_state"]["bar"] == 2e-5
    assert report["hazards"]["errors"] == report["hazards"]["auto_sync"] == 0
    assert report["model_cycles"]["total"] > 0 and report["model_cycles"]["per_chunk_head"] > 0
    assert report["gm_bytes"] > 2 * 73 * (24 + 24) and 0 < report["seconds"] < 60
    assert report["plan"]["tiling_key"] == 640 and len(report["blocks"]) == report["plan"]["block_num"]
    again = model.last_report().to_dict()
    for name in ("hazards", "gm_bytes", "blocks"):
        assert again[name] == report[name]
    assert again["model_cycles"]["total"] == report["model_cycles"]["total"]
    assert "running on backend 'model'" in err


def test_report_on_the_model(command):
    code, out, _ = command(*MODEL, "--adversarial", "3", "--cores", "2", "--overflow", "inf", "--permute-cube")
    assert code == 0
    for part in ("tiling key 640", "2 cores", "UB by stage", "hazards: 0 errors, 0 that rely", "(pessimistic param"):
        assert part in out
    assert "core 1 " in out and "core 2 " not in out and "GM bytes: " in out
    code, out, _ = command(*MODEL, "--params", "optimistic")
    assert code == 0 and "(optimistic parameters)" in out


def test_a_kernel_at_fault_is_reported(command, monkeypatch):
    """Hazards miss a bar of their own even where the numbers are right."""
    from chunk_gdr import model

    to_dict = model.Report.to_dict

    def faulty(report):
        found = {"auto_sync": 2, "reports": [{"report": "V Add reads UB 'x'\n  missing V -> V"}]}
        return to_dict(report) | {"hazards": to_dict(report)["hazards"] | found}

    monkeypatch.setattr(model.Report, "to_dict", faulty)
    code, out, _ = command(*MODEL)
    assert code == 1 and "MISSED: hazards.auto_sync: 2, must be 0" in out and "V Add reads UB 'x'" in out


def test_check(command):
    argv = ["check", "--case", "bare", "--case", "reset", "--seeds", "2"]
    code, out, err = command(*argv)
    assert code == 0 and out.splitlines()[-1] == "2 cases, all passed" and out.count("2 adversarial seeds") == 2
    assert "bare: adversarial seed 1" in err
    assert re.search(r"^redundant synchronisation: \d+ of \d+ flag pairs and barriers", out, re.M)
    code, out, _ = command(*argv, "--json")
    result = json.loads(out)
    assert code == 0 and result["passed"] and [c["name"] for c in result["cases"]] == ["bare", "reset"]
    assert result["redundant_sync"]["judged"] > 20 and not result["redundant_sync"]["withheld"]
    assert all(item["places"] and item["cycles"] >= 0 for item in result["redundant_sync"]["redundant"])


def test_missed_bar_is_exit_code_1(command, monkeypatch):
    from chunk_gdr import runner

    def wrong(inputs, backend, **options):
        call = runner_call(inputs, backend, **options)
        call.result.final_state[0, 1, 7, 5] += 1e-2
        return call

    runner_call = runner.call_operator
    monkeypatch.setattr(cli, "call_operator", wrong)
    code, out, _ = command(*NATIVE)
    assert code == 1 and "MISSED: final_state: 1 of 6 heads miss the accuracy bar" in out
    assert "[0,1,7,5]" in out
    code, out, _ = command(*NATIVE, "--json")
    report = json.loads(out)
    assert code == 1 and not report["passed"] and report["final_state"]["nrmse"] > report["final_state"]["bar"]


def test_json_without_the_model_has_its_keys(command):
    for backend in ("native", "reference"):
        code, out, _ = command("run", "--backend", backend, *SMALL, "--json")
        report = json.loads(out)
        assert code == 0 and [report[name] for name in ("hazards", "model_cycles", "gm_bytes")] == [None] * 3


def test_json_has_no_nan(command, monkeypatch):
    from chunk_gdr import runner

    def wrong(inputs, backend, **options):
        call = runner_call(inputs, backend, **options)
        call.result.out[2, 1, 3] = math.nan
        return call

    runner_call = runner.call_operator
    monkeypatch.setattr(cli, "call_operator", wrong)
    code, out, _ = command(*NATIVE, "--json")
    assert code == 1 and json.loads(out)["out"]["worst"]["worst_value"] is None
    assert json.loads(out)["out"]["mask_errors"] == 1


@pytest.mark.parametrize(
    "argv, message",
    [
        ([], "a command is needed"),
        (["fly"], "invalid choice: 'fly'"),
        (["run", "--nk", "3"], "--nv 32 is not a multiple of --nk 3"),
        (["run", "--no-lengths"], "--no-lengths is one sequence"),
        (["run", "--dtype", "float64"], "argument --dtype: invalid choice: 'float64'"),
        (["run", "--input", "x.npz", "--nv", "8"], "--input brings its own tensors: --nv does not apply"),
        (["run", "--input", "nowhere.npz"], "nowhere.npz: no such file"),
        (["run", "--output", "/no/such/directory/y.npz"], "no such directory"),
        (["run", *SMALL, "--dtype", "bfloat16"], "argument 'query': expected dtype float16"),
        (["check", "--case", "none"], "invalid choice: 'none'"),
        (["run", "--lengths", "2147483647", "--nk", "2147483647", "--nv", "2147483647"], "not enough memory for these"),
        (["run", "--lengths", "0", "--nk", "1", "--nv", "2147483647"], "(a tensor of 35184372072448 elements)"),
        (["plan", "--nv", "33000000", "--nk", "1"], "value_heads * value_dim must be at most 2^20"),
        (["run", "--gate"], "argument --gate: expected one argument"),
        (["profile", "--bogus"], "unrecognized arguments: --bogus"),
        ([*NATIVE, "--threads", "2"], "--threads is for --backend model, not native"),
        ([*NATIVE, "--adversarial", "0"], "--adversarial is for --backend model, not native"),
        ([*NATIVE, "--overflow", "inf"], "--overflow is for --backend model, not native"),
        (["run", "--backend", "npu", "--cores", "2"], "--cores is for --backend model, not npu"),
        (["check", "--input", "x.npz", "--case", "bare"], "--input is checked instead of the suite: --case does not"),
        (["check", "--sync-mutants", "--seeds", "3"], "--sync-mutants brings its own cases and options: only --json"),
        (["check", "--sync-mutants", "--chunk-size", "16"], "--sync-mutants brings its own cases and options: only --json"),
        (["check", "--sync-mutants", "--schedule", "v-tiles"], "--sync-mutants brings its own cases and options: only --json"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(command, argv, message):
    code, out, err = command(*argv)
    assert code == 2 and out == "" and "Traceback" not in err
    errors = [line for line in err.splitlines() if "error:" in line]
    assert len(errors) == 1 and message in errors[0]
    assert [line for line in err.splitlines() if "running on" not in line] == errors


def test_an_unknown_default_backend_is_one_line():
    """The variable is read once per process, so the command needs one of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "chunk_gdr.cli", *NATIVE],
        env={**os.environ, "CHUNK_GDR_BACKEND": "foo"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and done.stdout == "" and "Traceback" not in done.stderr
    assert "error: environment variable CHUNK_GDR_BACKEND: expected" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("flag", ["--scale", "--beta", "--key-norm", "--query-norm"])
def test_negative_numbers_with_exponents(command, flag):
    code, out, _ = command(*NATIVE, flag, "-1e-1")
    assert code == 0 and "PASSED: every bar" in out
    assert flag != "--scale" or "scale -0.1," in out


def test_a_scale_of_minus_one_is_a_number(command):
    code, out, _ = command(*NATIVE, "--scale", "-1")
    assert code == 0 and "scale -1," in out


def test_gates_that_look_like_flags(command):
    for gate in ("-1e-5", "-inf", "-316"):
        code, out, _ = command(*NATIVE, "--gate", gate)
        assert code == 0 and "PASSED" in out


def test_alpha_in_place_of_its_logarithm_is_warned_about(command):
    code, out, _ = command(*NATIVE, "--gate", "0.04")
    assert code == 0 and "warning: g has values above 0" in out and "LOGARITHM" in out
    code, out, _ = command(*NATIVE, "--gate", "-0.04")
    assert code == 0 and "warning" not in out


def test_plan(command):
    code, out, _ = command("plan", *SMALL, "--cores", "3", "--l2norm")
    assert code == 0 and out.startswith("tiling key 640 (bucket 64)") and "3 cores" in out and "seq 0: " in out
    code, out, _ = command("plan", *SMALL, "--state", "float16", "--json")
    plan = json.loads(out)
    expected = tiling.plan([70, 0, 3], 1, 2, 24, 40, state_dtype="float16").to_dict()
    assert code == 0 and plan == json.loads(json.dumps(expected)) and plan["tiling_key"] == 641


def test_the_rounds_of_chunk_parallel(command):
    flags = ["--lengths", "640", "--nk", "1", "--nv", "2", "--dk", "64", "--dv", "64"]
    for text, schedule, rounds in (("chunk-parallel:4", "chunk-parallel", 4), ("v-tiles", "v-tiles", 0)):
        code, out, _ = command("plan", *flags, "--schedule", text, "--json")
        plan = json.loads(out)
        assert code == 0 and (plan["schedule"], plan["rounds_apart"]) == (schedule, rounds)


@pytest.mark.parametrize("name", ["run", "plan", "check", "profile", "bench"])
def test_help_lists_the_schedules(command, name):
    code, out, _ = command(name, "--help")
    assert code == 0 and "--schedule NAME[:N]" in out and tiling.SCHEDULE_NAMES in " ".join(out.split())


@pytest.mark.parametrize("to, why", [(">&-", "standard output is closed"), (">/dev/full", "No space left on device")])
@pytest.mark.parametrize("flags", [[], ["--json"]], ids=["text", "json"])
def test_a_standard_output_that_takes_nothing(to, why, flags):
    command = shlex.join([sys.executable, "-m", "chunk_gdr.cli", *NATIVE, *flags])
    done = subprocess.run(["sh", "-c", f"{command} {to}"], capture_output=True, text=True)
    assert done.returncode == 2 and why in done.stderr and "Traceback" not in done.stderr
    assert "chunk-gdr: error: " in done.stderr


@pytest.mark.parametrize("to", ["2>&-", "2>/dev/full"])
def test_a_standard_error_that_takes_nothing(to):
    command = shlex.join([sys.executable, "-m", "chunk_gdr.cli", *NATIVE, "--json"])
    done = subprocess.run(["sh", "-c", f"{command} {to}"], capture_output=True, text=True)
    assert done.returncode == 0 and json.loads(done.stdout)["passed"]


@pytest.mark.parametrize("name", ["run", "check", "profile", "bench"])
def test_a_kernel_that_is_no_library(command, name, tmp_path, monkeypatch):
    library = tmp_path / "kernel.so"
    monkeypatch.setenv("CHUNK_GDR_MODEL_KERNEL", str(library))
    flags = {"run": SMALL, "profile": [*SMALL, "--output", str(tmp_path / "p")], "bench": ["--suite", "small"]}.get(name, [])
    for text in (None, "no library"):
        if text is not None:
            library.write_text(text)
        code, out, err = command(name, *flags)
        assert code == 2 and out == "" and "Traceback" not in err
        assert err.splitlines()[-1].startswith(f"chunk-gdr: error: chunk_gated_delta_rule on the host model: CHUNK_GDR_MODEL_KERNEL: {library}")


@pytest.mark.parametrize("flags", [("profile", "--output", ""), ("bench", "--suite", "small", "--png", "")], ids=["profile", "bench"])
def test_a_name_that_is_empty(command, flags, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = command(*flags)
    assert code == 2 and out == "" and "is empty" in err and err.count("\n") == 1 and not list(tmp_path.iterdir())


TABLE_THEN_ERROR = """
import sys
from chunk_gdr import cli

def a_table_then_a_picture_for_which_there_is_no_space(arguments):
    print("the table")
    raise OSError(28, "No space left on device")

cli.plan_command = a_table_then_a_picture_for_which_there_is_no_space
sys.exit(cli.main(["plan"]))
"""


def test_what_was_printed_before_an_error_is_there():
    """Standard output is a pipe, whose buffer is not yet written when the error comes."""
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run([sys.executable, "-c", TABLE_THEN_ERROR], env=buffered, capture_output=True, text=True)
    assert done.returncode == 2 and done.stdout == "the table\n"
    assert done.stderr == "chunk-gdr: error: [Errno 28] No space left on device\n"


def test_a_reader_that_stops_reading():
    command = [Path(sys.executable).with_name("chunk-gdr"), "plan"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.close()
    assert process.wait() == 1 and process.stderr.read() == ""
