# SPDX-License-Identifier: Apache-2.0
"""The plan's closed-form cycles are those of the host model, within 10 %: every bucket, flag and share of the cores."""

import pytest

from chunk_gdr import tiling
from chunk_gdr.cases import Case, make_inputs
from chunk_gdr.runner import call_operator, plan_of_case


@pytest.mark.parametrize(
    "case",
    [
        *(Case(lengths=(640,), nk=8, nv=8, dk=dim, dv=dim) for dim in (64, 80, 96, 128)),
        Case(lengths=(640,), nk=8, nv=16),
        Case(lengths=(300, 40, 7), nk=6, nv=12, dk=32, dv=48, state=None, gate="none"),
        Case(lengths=(300, 1), nk=4, nv=4, dk=64, dv=128, state="float16", chunk_state=True),
        Case(lengths=(300,), nk=1, nv=8, dk=128, dv=64, chunk_state=True, beta="none"),
        Case(lengths=(640,), nk=1, nv=2, l2norm=True),
        *(Case(lengths=(tokens,), nk=16, nv=32) for tokens in (1, 17, 63)),
        *(Case(lengths=(640,), nk=heads, nv=heads) for heads in (1, 3, 9)),
        Case(lengths=(300, 200, 100), nk=3, nv=3, dk=80, dv=16),
        Case(),
        Case(lengths=(1,), nk=1, nv=1),
        Case(lengths=(0, 5, 0, 0, 64, 0, 0), nk=8, nv=8),
    ],
    ids=str,
)
def test_prediction(case):
    call = call_operator(make_inputs(case), "model", checked=False)
    measured, predicted = call.model["model_cycles"]["cores"], plan_of_case(case).core_cycles
    assert max(predicted) == pytest.approx(max(measured), rel=0.1)
    assert list(predicted) == pytest.approx(measured, rel=0.15)


@pytest.mark.parametrize("changes", [{}, {"state": None, "l2norm": True}, {"chunk_state": True}], ids=str)
@pytest.mark.parametrize("tokens, heads", [(17, 1), (64, 32), (200, 4), (1024, 1)])
@pytest.mark.parametrize("dk, dv", [(16, 96), (64, 48), (80, 32), (128, 48), (112, 112), (32, 128), (128, 16)])
def test_prediction_of_every_schedule(dk, dv, tokens, heads, changes):
    case = Case(lengths=(tokens,), nk=heads, nv=heads, dk=dk, dv=dv, **changes)
    fits = {"v-tiles": dv > 16, "chunk-parallel": dv > 16 and heads < 8 and not case.l2norm}
    for name in ("auto", "sequence-major", "v-tiles", "chunk-parallel"):
        if fits.get(name, True):
            with tiling.schedule(name):
                measured = call_operator(make_inputs(case), "model", checked=False).model["model_cycles"]["total"]
                assert plan_of_case(case).predicted_cycles == pytest.approx(measured, rel=0.1), name


@pytest.mark.parametrize("heads, slices", [(1, 8), (2, 4), (3, 2), (4, 2), (5, 1), (6, 1)])
def test_the_fastest_slices_are_chosen(heads, slices):
    """Slices of Dv beside one head of that width on each core: what a slice costs is what a head of its width does."""
    case = Case(lengths=(640,), nk=heads, nv=heads)
    assert plan_of_case(case).v_tiles == slices

    def measured(v_tiles):
        width = 128 // v_tiles
        rounds = -(-heads * v_tiles // 8)
        one = Case(lengths=(640,) * rounds, nk=1, nv=1, dv=width)
        return call_operator(make_inputs(one), "model", checked=False, cores=1).model["model_cycles"]["total"]

    cycles = {v_tiles: measured(v_tiles) for v_tiles in (1, 2, 4, 8)}
    assert min(cycles, key=cycles.get) == slices
