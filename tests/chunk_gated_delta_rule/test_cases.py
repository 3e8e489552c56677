# SPDX-License-Identifier: Apache-2.0
"""chunk_gdr.cases: the inputs are what their names say."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from chunk_gdr.cases import BETAS, GATES, KEYS, V_LIMIT, Case, chunk_state_like, looks_like_alpha, make_inputs
from chunk_gdr.cases import raw_gate, split_points

SMALL = Case(lengths=(75, 0, 130), nk=2, nv=4, dk=24, dv=40)


def test_a_case_is_its_bits():
    for a, b in zip(vars(make_inputs(SMALL)).values(), vars(make_inputs(SMALL)).values()):
        assert a is b or (torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b)
    assert not torch.equal(make_inputs(SMALL).key, make_inputs(replace(SMALL, seed=1)).key)


def test_shapes_and_dtypes():
    x = make_inputs(replace(SMALL, state="float16", beta_dtype="float16", chunk_state=True))
    assert x.query.shape == x.key.shape == (205, 2, 24) and x.query.dtype == torch.float16
    assert x.value.shape == (205, 4, 40) and x.g.shape == x.beta.shape == (205, 4)
    assert x.g.dtype == torch.float32 and x.beta.dtype == torch.float16
    assert x.initial_state.shape == (3, 4, 40, 24) and x.initial_state.dtype == torch.float16
    assert x.chunk_state.shape == (2 + 0 + 3, 4, 40, 24) and x.chunk_state.isnan().all()
    assert x.lengths == [75, 0, 130] and x.scale == 24**-0.5
    assert chunk_state_like(x, spare_rows=2).shape[0] == 7
    assert "chunk_state" not in x.arguments()


def test_absent_arguments():
    case = replace(SMALL, lengths=(5,), gate="none", beta="none", state=None, scale=None, pass_lengths=False)
    x = make_inputs(case)
    assert x.g is x.beta is x.initial_state is x.actual_seq_lengths is x.scale is None
    assert x.lengths == [5]


@pytest.mark.parametrize("gate", [name for name in GATES if name != "none"])
def test_gates(gate):
    g = make_inputs(replace(SMALL, gate=gate)).g
    assert not g.isnan().any()
    assert looks_like_alpha(g) == (gate == "growing")


def test_extreme_gates_are_there():
    def g(name):
        return make_inputs(replace(SMALL, gate=name)).g

    assert (g("-inf") == -math.inf).all() and (g("-316") == -316).all()
    assert g("log1e-12")[0, 0].item() == pytest.approx(-27.631, abs=1e-3)
    assert set(g("per-head")[:, 3].tolist()) == {-5.0}
    assert {0.0, -math.inf} <= set(g("mixture").flatten().tolist())
    steep = g("steep-prefix")
    assert steep[39, 0] == -316 and steep[75 + 39, 0] == -316 and steep[75 + 41, 0].item() == pytest.approx(-1e-3)
    reset = g("inf-at-70")
    assert (reset[70] == -math.inf).all() and (reset[75 + 70] == -math.inf).all() and reset.isinf().sum() == 2 * 4
    sums = g("growing")[:64].cumsum(0)
    assert (g("growing") > 0).any() and sums.max() <= 4


def test_qwen_gate_has_the_range_of_real_models():
    g = make_inputs(Case()).g
    assert -400 < g.min() < -100 and -1e-3 < g.max() < 0


@pytest.mark.parametrize("a_log, a", [(100.0, -200.0), (100.0, 100.0), (0.0, 1000.0), (-100.0, -1000.0)])
def test_raw_gate_never_nan(a_log, a):
    g = raw_gate(np.array([a_log]), np.array([a]), np.array([0.0]))
    assert not np.isnan(g).any() and (g <= 0).all()
    assert raw_gate(0.0, 1000.0, 0.0) == -1000.0


def test_keys():
    for name in ("random", "correlated"):
        x = make_inputs(replace(SMALL, keys=name))
        norms = x.key.double().norm(dim=-1)
        torch.testing.assert_close(norms, torch.ones_like(norms), rtol=1e-3, atol=0)
    key = make_inputs(Case(lengths=(64,), nk=16, nv=16, keys="correlated")).key.double()
    cosines = torch.einsum("ihd,jhd->hij", key, key)
    off_diagonal = cosines[:, ~torch.eye(64, dtype=torch.bool)]
    assert 0.85 < off_diagonal[0].mean() < 0.95 and 0.98 < off_diagonal[-1].mean() < 0.995
    assert set(KEYS) == {"random", "correlated", "raw"} and "0.99" in BETAS


def test_values_reach_the_real_range_and_no_further():
    value = make_inputs(replace(SMALL, v_size=12.0)).value
    assert 24 < value.abs().max() <= np.float16(V_LIMIT)


def test_split_points():
    assert split_points(300, (1, 17, 299)) == [1, 16, 282, 1]


@pytest.mark.parametrize("field, kinds", [("gate", GATES), ("beta", BETAS), ("keys", KEYS)])
def test_a_name_that_is_no_kind(field, kinds):
    with pytest.raises(ValueError) as failure:
        make_inputs(replace(SMALL, **{field: "typo"}))
    assert str(failure.value) == f"Case: {field}: expected one of {', '.join(kinds)}, got 'typo'"
