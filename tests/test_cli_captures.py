# SPDX-License-Identifier: Apache-2.0
"""Captured tensors in and results out of chunk-gdr."""

import json
import math
import os
import stat
from pathlib import Path

import numpy as np
import pytest
import torch

from chunk_gdr import capture, cases
from chunk_gdr.reference import recurrence

NATIVE = ["run", "--backend", "native", "--lengths", "70,0,3", "--nk", "1", "--nv", "2", "--dk", "24", "--dv", "40"]

def arrays(**changes):
    x = cases.make_inputs(cases.Case(lengths=(70, 3), nk=1, nv=2, dk=24, dv=40))
    result = {"q": x.query, "k": x.key, "v": x.value, "g": x.g, "beta": x.beta, "initial_state": x.initial_state}
    result = {name: tensor.numpy() for name, tensor in result.items()}
    result |= {"lengths": np.array([70, 3]), "scale": np.float32(0.25)} | changes
    return {name: array for name, array in result.items() if array is not None}


def write(path, **changes):
    np.savez(path, **arrays(**changes))
    return str(path)


def test_captured_tensors_in_and_results_out(command, tmp_path):
    source = write(tmp_path / "x.npz")
    target = tmp_path / "y.npz"
    code, out, _ = command(
        "run", "--backend", "native", "--input", source, "--output", str(target), "--chunk-state"
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


def test_flags_that_apply_to_captured_tensors(command, tmp_path):
    source = write(tmp_path / "x.npz", scale=None)
    for flags, expected in ((["--scale", "0.5"], "scale 0.5"), (["--l2norm"], "use_qk_l2norm"), ([], "scale 1,")):
        code, out, _ = command("run", "--backend", "native", "--input", source, *flags)
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
        ({"q": np.float16(1)}, "argument 'query': expected rank 3"),
        ({"v": np.zeros((73, 40), np.float16)}, "argument 'value': expected rank 3"),
        ({"lengths": np.array([-64, 137])}, "argument 'actual_seq_lengths': expected lengths >= 0, got -64 at index 0"),
    ],
)
@pytest.mark.parametrize("flags", [(), ("--chunk-state",)], ids=["plain", "chunk-state"])
def test_bad_captures(command, tmp_path, changes, message, flags):
    source = write(tmp_path / "x.npz", **changes)
    code, out, err = command("run", "--backend", "native", "--input", source, *flags)
    assert code == 2 and out == "" and "Traceback" not in err
    assert message in err.splitlines()[-1]


def test_values_beyond_half_are_not_rounded_to_inf(command, tmp_path):
    source = write(tmp_path / "x.npz", q=np.full((73, 1, 24), 7e4))
    code, _, err = command("run", "--input", source)
    assert code == 2 and "'query' has values beyond float16, largest 70000" in err


def test_files_that_are_no_archives(command, tmp_path):
    good = Path(write(tmp_path / "x.npz")).read_bytes()
    for name, content in (
        ("text.npz", b"hello"),
        ("empty.npz", b""),
        ("short.npz", good[: len(good) // 2]),
        ("flipped.npz", good[:200] + bytes(300) + good[500:]),
    ):
        (tmp_path / name).write_bytes(content)
        code, _, err = command("run", "--backend", "native", "--input", str(tmp_path / name))
        assert code == 2 and "not a readable .npz archive" in err.splitlines()[-1]
    np.save(tmp_path / "one.npy", np.zeros(3))
    code, _, err = command("run", "--input", str(tmp_path / "one.npy"))
    assert code == 2 and "a single array, expected an .npz archive" in err
    code, _, err = command("run", "--input", str(tmp_path))
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


def test_an_output_that_is_no_regular_file(command, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    link = tmp_path / "link"
    link.symlink_to(pipe)
    for target in (pipe, link):
        code, out, err = command(*NATIVE, "--output", str(target))
        assert code == 2 and out == "" and err == f"chunk-gdr: error: {target}: is not a regular file\n"
    assert stat.S_ISFIFO(os.stat(pipe).st_mode)


def test_an_output_that_cannot_be(command, tmp_path):
    source = Path(write(tmp_path / "x.npz"))
    before = source.read_bytes()
    link = tmp_path / "link.npz"
    link.symlink_to(source)
    for target in (source, link):
        code, out, err = command("run", "--backend", "native", "--input", str(source), "--output", str(target))
        assert code == 2 and out == "" and err == f"chunk-gdr: error: {target}: the results would replace the input\n"
    code, out, err = command("run", "--backend", "native", "--input", str(tmp_path / "no.npz"), "--output", str(source))
    assert code == 2 and out == "" and err.splitlines()[-1] == f"chunk-gdr: error: {tmp_path / 'no.npz'}: no such file"
    for target, why in (("", "is empty"), (str(tmp_path / ("y" * 300)), "File name too long")):
        code, out, err = command(*NATIVE, "--output", target)
        assert code == 2 and out == "" and err.startswith("chunk-gdr: error: ") and why in err and err.count("\n") == 1
    assert source.read_bytes() == before


def test_an_output_that_is_write_protected(command, tmp_path, monkeypatch):
    target = tmp_path / "y.npz"
    target.write_bytes(b"older")
    access = os.access
    # The mode alone does not stop a test that runs as root.
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != target and access(path, mode))
    code, out, err = command(*NATIVE, "--output", str(target))
    assert code == 2 and out == "" and err == f"chunk-gdr: error: {target}: the file is not writable\n"
    assert target.read_bytes() == b"older"


def test_check_finds_other_bits_and_warns_about_alpha(command, monkeypatch, tmp_path):
    from chunk_gdr import check

    def racy(inputs, backend, **options):
        call = call_operator(inputs, backend, **options)
        if options.get("seed") == 1:
            call.result.out[0, 0, 0] += 1
        return call

    call_operator = check.call_operator
    monkeypatch.setattr(check, "call_operator", racy)
    source = write(tmp_path / "x.npz", g=np.full((73, 2), 0.01, np.float32))
    code, out, _ = command("check", "--input", source, "--seeds", "2")
    assert code == 1 and "adversarial seed 1: out not bitwise equal" in out and "seed 0" not in out
    assert "warning: g has values above 0" in out


def test_check_tells_what_it_rounded(command, tmp_path):
    source = write(tmp_path / "x.npz", q=arrays()["q"].astype(np.float32) * 1.0001)
    code, _, err = command("check", "--input", source, "--seeds", "0")
    assert code == 0 and "chunk-gdr: query: float32 rounded to float16" in err.splitlines()


def test_inputs_of_nan_pass_on_masks_only(command, tmp_path):
    source = write(tmp_path / "x.npz", v=np.full((73, 2, 40), math.nan, np.float16))
    code, out, _ = command("run", "--backend", "native", "--input", source)
    assert code == 0 and "warning: value has inf or nan" in out and "every bar" not in out
    assert "PASSED on masks only: out: 4 of 4 heads have no finite value to compare; final_state: 4 of 4" in out
    code, out, _ = command("run", "--backend", "native", "--input", source, "--json")
    report = json.loads(out)
    assert report["out"]["nrmse"] is None and report["out"]["masks_only"] == 4 and len(report["masks_only"]) == 2
    code, out, _ = command("check", "--input", source, "--seeds", "1")
    assert code == 0 and "warning: out: 4 of 4 heads have no finite value to compare" in out
