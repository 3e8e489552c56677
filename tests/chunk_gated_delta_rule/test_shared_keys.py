# SPDX-License-Identifier: Apache-2.0
"""v-heads of a k-head: two of them take turns on a core, for one load of q and k; each has the bits that it has alone."""

import dataclasses

import pytest
import torch

from chunk_gdr.cases import Case, make_inputs
from chunk_gdr.runner import call_operator

CASES = {
    "two": Case(lengths=(200,), nk=1, nv=2),
    "three": Case(lengths=(130, 64), nk=1, nv=3, dk=64, dv=64, chunk_state=True),
    "four-of-two": Case(lengths=(65, 0, 1), nk=2, nv=4, dk=80, dv=48, state=None),
    "five": Case(lengths=(1, 300), nk=1, nv=5, dk=96, dv=96, state="float16"),
    "norm": Case(lengths=(70, 64), nk=1, nv=2, l2norm=True, keys="raw", chunk_state=True),
    "norm-three": Case(lengths=(129,), nk=1, nv=3, dk=64, dv=64, l2norm=True, keys="raw", state=None),
    "no-gates": Case(lengths=(150,), nk=1, nv=2, dk=32, dv=64, gate="none", beta="none"),
    # One head of two leaves the common way: its weights are small, or its scores, or its inverse grows.
    "detours": Case(lengths=(200,), nk=1, nv=2, dk=64, dv=48, key_norm=3.0, query_norm=1e-3, gate="mixture"),
    "small-weights": Case(lengths=(200,), nk=1, nv=4, dk=64, dv=64, gate="-5", beta=0.004),
}


def run(inputs, **options):
    call = call_operator(inputs, "model", **options)
    assert call.error is None, call.error
    hazards = call.model["hazards"]
    assert hazards["errors"] == 0 and hazards["auto_sync"] == 0, hazards["reports"][0]["report"]
    return [call.result.out, call.result.final_state, inputs.chunk_state], call.model


def alone(inputs, head):
    """The problem of one v-head."""
    group = inputs.value.shape[1] // inputs.query.shape[1]
    columns = {name: slice(head, head + 1) for name in ("value", "beta", "g", "initial_state", "chunk_state")}
    columns |= {name: slice(head // group, head // group + 1) for name in ("query", "key")}
    given = {name: getattr(inputs, name) for name in columns}
    mine = {name: tensor[:, columns[name]].clone() for name, tensor in given.items() if tensor is not None}
    return dataclasses.replace(inputs, **mine)


@pytest.mark.parametrize("name", CASES)
def test_heads_that_take_turns_have_the_bits_of_each_alone(name):
    case = CASES[name]
    together, _ = run(make_inputs(case), cores=1)
    for head in range(case.nv):
        separate, _ = run(alone(make_inputs(case), head), cores=1)
        for tensor, own in zip(together, separate):
            if tensor is not None:
                mine = tensor[:, head : head + 1].contiguous()
                assert torch.equal(mine.view(torch.uint8), own.contiguous().view(torch.uint8)), head


@pytest.mark.parametrize("name", ["two", "three", "norm", "detours"])
@pytest.mark.parametrize("seed", range(2))
def test_turns_do_not_depend_on_the_execution(name, seed):
    first, _ = run(make_inputs(CASES[name]), cores=1)
    other, _ = run(make_inputs(CASES[name]), cores=1, execution="adversarial", seed=seed)
    for a, b in zip(first, other):
        assert a is None or torch.equal(a.view(torch.uint8), b.view(torch.uint8))


@pytest.mark.parametrize("heads, loads", [(1, 1), (2, 1), (3, 2), (4, 2)])
def test_keys_and_queries_are_loaded_once_for_two_heads(heads, loads):
    tokens = 320
    case = Case(lengths=(tokens,), nk=1, nv=heads, state=None)
    _, shared = run(make_inputs(case), cores=1)
    _, own = run(make_inputs(dataclasses.replace(case, nk=heads)), cores=1)
    rows = tokens * 2 * (case.dk * 2)
    assert own["gm_bytes"] - shared["gm_bytes"] == (heads - loads) * rows


def test_a_norm_is_taken_once_for_two_heads():
    def vector_cycles(**heads):
        case = Case(lengths=(640,), state=None, l2norm=True, keys="raw", **heads)
        return run(make_inputs(case), cores=1)[1]["model_cycles"]["total"]

    one, two, other = vector_cycles(nk=1, nv=1), vector_cycles(nk=1, nv=2), vector_cycles(nk=2, nv=2)
    norms = one - call_operator(make_inputs(Case(lengths=(640,), nk=1, nv=1, state=None)), "model", cores=1).model["model_cycles"]["total"]
    assert two == pytest.approx(other - norms, rel=0.05)
