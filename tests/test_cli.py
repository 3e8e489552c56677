# SPDX-License-Identifier: Apache-2.0
"""The command chunk-gdr: exit codes, the report, JSON, captured tensors, and one clear line for every wrong use."""

import json
import math
import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from chunk_gdr import capture, cases, cli, model, tiling
from chunk_gdr.reference import recurrence

SMALL = ["--lengths", "70,0,3", "--nk", "1", "--nv", "2", "--dk", "24", "--dv", "40"]
NATIVE = ["run", "--backend", "native", *SMALL]
MODEL = ["run", *SMALL]


def run(capsys, *argv):
    """(exit code, stdout, stderr) of the command."""
    try:
        code = cli.main(list(argv))
    except SystemExit as stop:
        code = stop.code
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_installed_command():
    command = Path(sys.executable).with_name("chunk-gdr")
    shown = subprocess.run([command, "--version"], capture_output=True, text=True)
    assert shown.returncode == 0 and shown.stdout.split() == ["chunk-gdr", "0.1.0"]
    done = subprocess.run([command, *NATIVE], capture_output=True, text=True)
    assert done.returncode == 0 and "PASSED" in done.stdout and "comparing with" in done.stderr


def test_report_on_native(capsys):
    code, out, err = run(capsys, *NATIVE, "--top", "1")
    assert code == 0
    assert "T 73 in 3 sequences [70, 0, 3], Nk 1, Nv 2, Dk 24, Dv 40" in out
    assert "out (float16): 4 heads" in out and "final_state (float32): 6 heads" in out
    assert "... and 3 more heads" in out and "... and 5 more heads" in out
    assert "running on backend 'native'" in err
    code, out, _ = run(capsys, *NATIVE, "--all-heads", "--chunk-state")
    assert code == 0 and "more heads" not in out and "chunk_state (float32): 4 heads" in out


def test_json_on_native(capsys):
    code, out, _ = run(capsys, *NATIVE, "--json", "--all-heads")
    report = json.loads(out)
    assert code == 0 and report["passed"] and report["missed"] == []
    for name, heads in (("out", 4), ("final_state", 6)):
        assert 0 < report[name]["nrmse"] <= report[name]["bar"]
        assert report[name]["nrmse"] == max(h["nrmse"] for h in report[name]["per_head"]) or name == "out"
        assert len(report[name]["per_head"]) == heads


def test_json_on_the_model(capsys):
    code, out, err = run(capsys, *MODEL, "--json")
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


def test_report_on_the_model(capsys):
    code, out, _ = run(capsys, *MODEL, "--adversarial", "3", "--cores", "2", "--overflow", "inf", "--permute-cube")
    assert code == 0
    for part in ("tiling key 640", "2 cores", "UB by stage", "hazards: 0 errors, 0 that rely", "(pessimistic param"):
        assert part in out
    assert "core 1 " in out and "core 2 " not in out and "GM bytes: " in out
    code, out, _ = run(capsys, *MODEL, "--params", "optimistic")
    assert code == 0 and "(optimistic parameters)" in out


def test_a_kernel_at_fault_is_reported(capsys, monkeypatch):
    """Hazards miss a bar of their own even where the numbers are right."""
    from chunk_gdr import model

    to_dict = model.Report.to_dict

    def faulty(report):
        found = {"auto_sync": 2, "reports": [{"report": "V Add reads UB 'x'\n  missing V -> V"}]}
        return to_dict(report) | {"hazards": to_dict(report)["hazards"] | found}

    monkeypatch.setattr(model.Report, "to_dict", faulty)
    code, out, _ = run(capsys, *MODEL)
    assert code == 1 and "MISSED: hazards.auto_sync: 2, must be 0" in out and "V Add reads UB 'x'" in out


def test_check(capsys):
    argv = ["check", "--case", "bare", "--case", "reset", "--seeds", "2"]
    code, out, err = run(capsys, *argv)
    assert code == 0 and out.splitlines()[-1] == "2 cases, all passed" and out.count("2 adversarial seeds") == 2
    assert "bare: adversarial seed 1" in err
    code, out, _ = run(capsys, *argv, "--json")
    result = json.loads(out)
    assert code == 0 and result["passed"] and [c["name"] for c in result["cases"]] == ["bare", "reset"]


def test_check_finds_other_bits_and_warns_about_alpha(capsys, monkeypatch, tmp_path):
    from chunk_gdr import check

    def racy(inputs, backend, **options):
        call = call_operator(inputs, backend, **options)
        if options.get("seed") == 1:
            call.result.out[0, 0, 0] += 1
        return call

    call_operator = check.call_operator
    monkeypatch.setattr(check, "call_operator", racy)
    source = write(tmp_path / "x.npz", g=np.full((73, 2), 0.01, np.float32))
    code, out, _ = run(capsys, "check", "--input", source, "--seeds", "2")
    assert code == 1 and "adversarial seed 1: out not bitwise equal" in out and "seed 0" not in out
    assert "warning: g has values above 0" in out


def test_missed_bar_is_exit_code_1(capsys, monkeypatch):
    from chunk_gdr import runner

    def wrong(inputs, backend, **options):
        call = runner_call(inputs, backend, **options)
        call.result.final_state[0, 1, 7, 5] += 1e-2
        return call

    runner_call = runner.call_operator
    monkeypatch.setattr(cli, "call_operator", wrong)
    code, out, _ = run(capsys, *NATIVE)
    assert code == 1 and "MISSED: final_state: 1 of 6 heads miss the accuracy bar" in out
    assert "[0,1,7,5]" in out
    code, out, _ = run(capsys, *NATIVE, "--json")
    report = json.loads(out)
    assert code == 1 and not report["passed"] and report["final_state"]["nrmse"] > report["final_state"]["bar"]


def test_json_without_the_model_has_its_keys(capsys):
    for backend in ("native", "reference"):
        code, out, _ = run(capsys, "run", "--backend", backend, *SMALL, "--json")
        report = json.loads(out)
        assert code == 0 and [report[name] for name in ("hazards", "model_cycles", "gm_bytes")] == [None] * 3


def test_inputs_of_nan_pass_on_masks_only(capsys, tmp_path):
    source = write(tmp_path / "x.npz", v=np.full((73, 2, 40), math.nan, np.float16))
    code, out, _ = run(capsys, "run", "--backend", "native", "--input", source)
    assert code == 0 and "warning: value has inf or nan" in out and "every bar" not in out
    assert "PASSED on masks only: out: 4 of 4 heads have no finite value to compare; final_state: 4 of 4" in out
    code, out, _ = run(capsys, "run", "--backend", "native", "--input", source, "--json")
    report = json.loads(out)
    assert report["out"]["nrmse"] is None and report["out"]["masks_only"] == 4 and len(report["masks_only"]) == 2
    code, out, _ = run(capsys, "check", "--input", source, "--seeds", "1")
    assert code == 0 and "warning: out: 4 of 4 heads have no finite value to compare" in out


def test_json_has_no_nan(capsys, monkeypatch):
    from chunk_gdr import runner

    def wrong(inputs, backend, **options):
        call = runner_call(inputs, backend, **options)
        call.result.out[2, 1, 3] = math.nan
        return call

    runner_call = runner.call_operator
    monkeypatch.setattr(cli, "call_operator", wrong)
    code, out, _ = run(capsys, *NATIVE, "--json")
    assert code == 1 and json.loads(out)["out"]["worst"]["worst_value"] is None
    assert json.loads(out)["out"]["mask_errors"] == 1


@pytest.mark.parametrize(
    "argv, message",
    [
        ([], "a command is needed"),
        (["fly"], "invalid choice: 'fly'"),
        (["run", "--lengths", "3,x"], "argument --lengths: invalid list of lengths value: '3,x'"),
        (["run", "--lengths", "3,-1"], "argument --lengths: invalid list of lengths value: '3,-1'"),
        (["run", "--nk", "0"], "argument --nk: invalid positive integer value: '0'"),
        (["run", "--nk", "3"], "--nv 32 is not a multiple of --nk 3"),
        (["run", "--dk", "129"], "--dk 129: head dims go from 1 to 128"),
        (["run", "--gate", "warm"], "argument --gate: invalid name or number value: 'warm'"),
        (["run", "--no-lengths"], "--no-lengths is one sequence"),
        (["run", "--dtype", "float64"], "argument --dtype: invalid choice: 'float64'"),
        (["run", "--input", "x.npz", "--nv", "8"], "--input brings its own tensors: --nv does not apply"),
        (["run", "--input", "nowhere.npz"], "nowhere.npz: no such file"),
        (["run", "--output", "/no/such/directory/y.npz"], "no such directory"),
        (["run", *SMALL, "--dtype", "bfloat16"], "argument 'query': expected dtype float16"),
        (["check", "--case", "none"], "invalid choice: 'none'"),
        (["run", "--lengths", "99999999999999999999"], "--lengths: at most 2147483647 tokens together"),
        (["plan", "--nv", "33000000", "--nk", "1"], "value_heads * value_dim must be at most 2^20"),
        (["run", "--gate"], "argument --gate: expected one argument"),
        (["profile", "--bogus"], "unrecognized arguments: --bogus"),
        (["plan", "--cores", "9"], "argument --cores: invalid choice: 9"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(capsys, argv, message):
    code, out, err = run(capsys, *argv)
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


@pytest.mark.parametrize("flag", ["--scale", "--beta", "--key-norm", "--v-size"])
def test_negative_numbers_with_exponents(capsys, flag):
    code, out, _ = run(capsys, *NATIVE, flag, "-1e-1")
    assert code == 0 and "PASSED: every bar" in out
    assert flag != "--scale" or "scale -0.1," in out


def test_a_scale_of_minus_one_is_a_number(capsys):
    code, out, _ = run(capsys, *NATIVE, "--scale", "-1")
    assert code == 0 and "scale -1," in out


def test_gates_that_look_like_flags(capsys):
    for gate in ("-1e-5", "-inf", "-316"):
        code, out, _ = run(capsys, *NATIVE, "--gate", gate)
        assert code == 0 and "PASSED" in out


def test_alpha_in_place_of_its_logarithm_is_warned_about(capsys):
    code, out, _ = run(capsys, *NATIVE, "--gate", "0.04")
    assert code == 0 and "warning: g has values above 0" in out and "LOGARITHM" in out
    code, out, _ = run(capsys, *NATIVE, "--gate", "-0.04")
    assert code == 0 and "warning" not in out


def test_plan(capsys):
    code, out, _ = run(capsys, "plan", *SMALL, "--cores", "3", "--l2norm")
    assert code == 0 and out.startswith("tiling key 640 (bucket 64)") and "3 cores" in out and "seq 0: " in out
    code, out, _ = run(capsys, "plan", *SMALL, "--state", "float16", "--json")
    plan = json.loads(out)
    expected = tiling.plan([70, 0, 3], 1, 2, 24, 40, state_dtype="float16").to_dict()
    assert code == 0 and plan == json.loads(json.dumps(expected)) and plan["tiling_key"] == 641


def test_a_reader_that_stops_reading():
    command = [Path(sys.executable).with_name("chunk-gdr"), "plan"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.close()
    assert process.wait() == 1 and process.stderr.read() == ""


# ---- captured tensors


def arrays(**changes):
    x = cases.make_inputs(cases.Case(lengths=(70, 3), nk=1, nv=2, dk=24, dv=40))
    result = {"q": x.query, "k": x.key, "v": x.value, "g": x.g, "beta": x.beta, "initial_state": x.initial_state}
    result = {name: tensor.numpy() for name, tensor in result.items()}
    result |= {"lengths": np.array([70, 3]), "scale": np.float32(0.25)} | changes
    return {name: array for name, array in result.items() if array is not None}


def write(path, **changes):
    np.savez(path, **arrays(**changes))
    return str(path)


def test_captured_tensors_in_and_results_out(capsys, tmp_path):
    source = write(tmp_path / "x.npz")
    target = tmp_path / "y.npz"
    code, out, _ = run(
        capsys, "run", "--backend", "native", "--input", source, "--output", str(target), "--chunk-state"
    )
    assert code == 0 and "scale 0.25" in out and "[70, 3]" in out
    got = np.load(target)
    x = arrays()
    truth = recurrence(
        *(torch.from_numpy(x[name]) for name in "qkv"),
        g=torch.from_numpy(x["g"]),
        beta=torch.from_numpy(x["beta"]),
        initial_state=torch.from_numpy(x["initial_state"]),
        actual_seq_lengths=x["lengths"],
        scale=0.25,
    )
    np.testing.assert_allclose(got["out"], truth.out, atol=2e-3)
    np.testing.assert_allclose(got["final_state"], truth.final_state, atol=1e-5)
    assert got["out"].dtype == np.float16 and got["chunk_state"].shape == (3, 2, 40, 24)
    assert stat.S_IMODE(target.stat().st_mode) & 0o400 and os.listdir(tmp_path) == ["x.npz", "y.npz"]


def test_flags_that_apply_to_captured_tensors(capsys, tmp_path):
    source = write(tmp_path / "x.npz", scale=None)
    for flags, expected in ((["--scale", "0.5"], "scale 0.5"), (["--l2norm"], "use_qk_l2norm"), ([], "scale 1,")):
        code, out, _ = run(capsys, "run", "--backend", "native", "--input", source, *flags)
        assert code == 0 and expected in out


def test_full_names_and_wider_dtypes(tmp_path):
    x = arrays()
    wide = {
        "query": x["q"].astype(np.float32),
        "key": (x["k"].astype(np.float64) * 1.0001),
        "value": x["v"],
        "initial_state": x["initial_state"].astype(np.float16),
        "actual_seq_lengths": np.array([70, 3], np.int32),
        "use_qk_l2norm_in_kernel": np.array(True),
    }
    np.savez(tmp_path / "x.npz", **wide)
    inputs, notes = capture.load_inputs(tmp_path / "x.npz")
    assert notes == ["key: float64 rounded to float16"]
    assert inputs.query.dtype == inputs.key.dtype == torch.float16 and inputs.initial_state.dtype == torch.float16
    assert inputs.use_qk_l2norm_in_kernel is True and inputs.g is None and inputs.lengths == [70, 3]
    inputs, _ = capture.load_inputs(tmp_path / "x.npz", half=False)
    assert inputs.query.dtype == inputs.key.dtype == torch.float32


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"k": None}, "array 'key' is missing"),
        ({"betas": np.zeros(3)}, "unknown array 'betas', expected some of query, key"),
        ({"query": np.zeros(3)}, "'query' is there twice"),
        ({"lengths": np.array([70.0, 3.0])}, "'actual_seq_lengths' is float64 [2], expected integers [B]"),
        ({"scale": np.zeros(2)}, "'scale' is float64 [2], expected one number"),
        ({"v": np.zeros((73, 2, 40), np.int8)}, "'value' is int8, expected a floating-point array"),
        ({"g": np.array(None)}, "'g' holds Python objects, not numbers (None?): leave an absent array out"),
        ({"lengths": np.array([70, 4])}, "argument 'actual_seq_lengths': expected lengths with sum T=73"),
        ({"beta": np.zeros((73, 3), np.float32)}, "argument 'beta': expected shape [T=73, Nv=2]"),
        ({"q": np.zeros((73, 24), np.float16)}, "argument 'query': expected rank 3"),
    ],
)
def test_bad_captures(capsys, tmp_path, changes, message):
    source = write(tmp_path / "x.npz", **changes)
    code, out, err = run(capsys, "run", "--backend", "native", "--input", source)
    assert code == 2 and out == "" and "Traceback" not in err
    assert message in err.splitlines()[-1]


def test_values_beyond_half_are_not_rounded_to_inf(capsys, tmp_path):
    source = write(tmp_path / "x.npz", q=np.full((73, 1, 24), 7e4))
    code, _, err = run(capsys, "run", "--input", source)
    assert code == 2 and "'query' has values beyond float16, largest 70000" in err


def test_files_that_are_no_archives(capsys, tmp_path):
    good = Path(write(tmp_path / "x.npz")).read_bytes()
    for name, content in (
        ("text.npz", b"hello"),
        ("empty.npz", b""),
        ("short.npz", good[: len(good) // 2]),
        ("flipped.npz", good[:200] + bytes(300) + good[500:]),
    ):
        (tmp_path / name).write_bytes(content)
        code, _, err = run(capsys, "run", "--backend", "native", "--input", str(tmp_path / name))
        assert code == 2 and "not a readable .npz archive" in err.splitlines()[-1]
    np.save(tmp_path / "one.npy", np.zeros(3))
    code, _, err = run(capsys, "run", "--input", str(tmp_path / "one.npy"))
    assert code == 2 and "a single array, expected an .npz archive" in err
    code, _, err = run(capsys, "run", "--input", str(tmp_path))
    assert code == 2 and "error:" in err and "Traceback" not in err


def test_an_output_that_fails_leaves_nothing(tmp_path, monkeypatch):
    target = tmp_path / "y.npz"
    target.write_bytes(b"older")

    def fail(file, **arrays):
        file.write(b"half a file")
        raise OSError("no space left")

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(OSError, match="no space left"):
        capture.save_outputs(target, {"out": torch.zeros(3)})
    assert target.read_bytes() == b"older" and os.listdir(tmp_path) == ["y.npz"]


def test_big_endian_arrays(tmp_path):
    swapped = {name: array.astype(array.dtype.newbyteorder(">")) for name, array in arrays().items()}
    np.savez(tmp_path / "big.npz", **swapped)
    big, notes = capture.load_inputs(tmp_path / "big.npz")
    native, _ = capture.load_inputs(write(tmp_path / "x.npz"))
    assert notes == [] and big.lengths == native.lengths and big.scale == native.scale
    for name in ("query", "key", "value", "beta", "g", "initial_state"):
        assert torch.equal(getattr(big, name), getattr(native, name))


def test_an_output_that_is_no_regular_file(capsys, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    link = tmp_path / "link"
    link.symlink_to(pipe)
    for target in (pipe, link):
        code, out, err = run(capsys, *NATIVE, "--output", str(target))
        assert code == 2 and out == "" and err == f"chunk-gdr: error: {target}: is not a regular file\n"
    assert stat.S_ISFIFO(os.stat(pipe).st_mode)


def test_an_output_that_is_write_protected(capsys, tmp_path, monkeypatch):
    target = tmp_path / "y.npz"
    target.write_bytes(b"older")
    access = os.access
    # The mode alone does not stop a test that runs as root.
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != target and access(path, mode))
    code, out, err = run(capsys, *NATIVE, "--output", str(target))
    assert code == 2 and out == "" and err == f"chunk-gdr: error: {target}: the file is not writable\n"
    assert target.read_bytes() == b"older"
