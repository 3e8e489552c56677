# SPDX-License-Identifier: Apache-2.0
"""The kernel itself, launched past the torch boundary: lengths on the device cannot be validated before the launch."""

import numpy as np
import pytest

from chunk_gdr import _C, model

TOKENS, K_HEADS, V_HEADS, K_DIM, V_DIM = 70, 1, 2, 32, 64
STATUS_WORDS = 8  # one 32-byte block per core
BAD_LENGTHS, OTHER_LAYOUT = 1, 2


def launch(lengths, state_dtype, **options):
    rng = np.random.default_rng(0)

    def half(*shape):
        return rng.standard_normal(shape).astype(np.float16)

    gate_pitch = _C.gate_pitch(TOKENS)
    gates = np.zeros((V_HEADS, gate_pitch), np.float32)
    plan = _C.plan(
        total_tokens=TOKENS, batch=len(lengths), key_heads=K_HEADS, value_heads=V_HEADS, key_dim=K_DIM, value_dim=V_DIM,
        has_beta=True, has_g=True, has_initial_state=True, has_lengths=True, gate_stride_elems=gate_pitch,
        state_is_half=state_dtype == "float16",
    )  # fmt: skip
    workspace = np.full(plan["workspace_bytes"], 0xFF, np.uint8)
    out = np.zeros((TOKENS, V_HEADS, V_DIM), np.float16)
    final_state = np.zeros((len(lengths), V_HEADS, V_DIM, K_DIM), state_dtype)
    arguments = {
        "query": half(TOKENS, K_HEADS, K_DIM) * np.float16(0.1),
        "key": half(TOKENS, K_HEADS, K_DIM) * np.float16(0.1),
        "value": half(TOKENS, V_HEADS, V_DIM),
        "beta": gates,
        "initial_state": np.ones_like(final_state),
        "lengths": np.array(lengths, np.int64),
        "g": gates,
        "chunk_state": None,
        "out": out,
        "final_state": final_state,
    }
    library = model.library_path().with_name("libchunk_gdr_kernels.so")
    report = model.run(
        library, "chunk_gated_delta_rule", arguments, tiling=plan["tiling"], tiling_key=plan["tiling_key"],
        block_num=plan["block_num"], workspace=workspace, **options,
    )  # fmt: skip
    words = plan["block_num"] * STATUS_WORDS
    status = workspace[model.SYSTEM_WORKSPACE_BYTES :].view(np.int32)[:words:STATUS_WORDS]
    return out, final_state, status, report


@pytest.mark.parametrize("state_dtype", ["float32", "float16"])
@pytest.mark.parametrize("lengths", [[71], [69], [80, -10], [-1, 71], [2**62, 2**62, TOKENS], [35, 36, -1]], ids=str)
def test_lengths_that_do_not_fit_give_nan_and_a_status(lengths, state_dtype):
    out, final_state, status, report = launch(lengths, state_dtype)
    assert report.errors == 0 and report.auto_sync == 0, report.text
    assert np.isnan(out).all() and np.isnan(final_state).all()
    assert (status == BAD_LENGTHS).all()


@pytest.mark.parametrize("lengths", [[TOKENS], [0, 35, 35]], ids=str)
def test_lengths_that_fit_run(lengths):
    out, final_state, status, report = launch(lengths, "float32")
    assert report.errors == 0 and report.auto_sync == 0, report.text
    assert np.isfinite(out).all() and np.isfinite(final_state).all() and (status == 0).all()
    assert (final_state == 1).all()  # beta is 0


def test_a_plan_for_another_build_of_the_kernel(monkeypatch):
    """Not the thousands of accesses to buffers that this build does not have, which the model reports too."""
    monkeypatch.setenv("CHUNK_GDR_STATE_LAYOUT", "kNd")
    out, final_state, status, _ = launch([TOKENS], "float32")
    assert np.isnan(out).all() and np.isnan(final_state).all()
    assert (status == OTHER_LAYOUT).all()


def test_a_plan_for_another_build_is_one_line(monkeypatch, command):
    monkeypatch.setenv("CHUNK_GDR_STATE_LAYOUT", "kNd")
    code, out, err = command("run", "--lengths", "70", "--nk", "1", "--nv", "1", "--dk", "64", "--dv", "64")
    expected = "CHUNK_GDR_STATE_LAYOUT: expected the state layout that the kernel was built for, got kNd"
    assert code == 2 and out == "" and err.endswith(f"chunk-gdr: error: chunk_gated_delta_rule on the host model: {expected}\n")
