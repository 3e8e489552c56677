# SPDX-License-Identifier: Apache-2.0
"""Running the operator on a backend or, with `pytest -m npu`, on the card; on the host model with hazards checked after
every single call.
"""

import pytest

import chunk_gdr
from chunk_gdr import _npu
from chunk_gdr.cases import Case, make_inputs
from chunk_gdr.check import fresh
from chunk_gdr.runner import call_operator, compare_with_truth


def run_on(backend, case, **options):
    """The results for a Case or Inputs. On the model: no hazard of either grade."""
    inputs = make_inputs(case) if isinstance(case, Case) else fresh(case)
    call = call_operator(inputs, backend, **options)
    assert call.error is None, call.error
    if backend == "model":
        hazards = call.model["hazards"]
        assert (hazards["errors"], hazards["auto_sync"]) == (0, 0), hazards
    return call.result


def check_on(backend, case, overflow="saturate", **options):
    """The same, and every (sequence, v-head) of every result within its bar. Returns results and comparisons."""
    inputs = make_inputs(case) if isinstance(case, Case) else fresh(case)
    if backend == "model":
        options["overflow"] = overflow
    result = run_on(backend, inputs, **options)
    comparisons = compare_with_truth(inputs, result, "inf" if backend == "native" else overflow)
    for comparison in comparisons:
        assert comparison.passed, comparison
    return result, comparisons


@pytest.fixture(params=["native", "model", pytest.param("npu", marks=pytest.mark.npu)])
def backend(request):
    if request.param == "npu":
        request.getfixturevalue("card")
    return request.param


@pytest.fixture(scope="session")
def card():
    if _npu.missing is not None:
        pytest.skip(f"no card: {_npu.missing}")


@pytest.fixture(params=["native", "reference"])
def on_backend(request):
    """One of the backends that run a token recurrence, switched on for the test."""
    with chunk_gdr.backend(request.param):
        yield request.param


@pytest.fixture
def run(backend):
    return lambda case, **options: run_on(backend, case, **options)


@pytest.fixture
def check(backend):
    return lambda case, **options: check_on(backend, case, **options)


@pytest.fixture
def run_model():
    return lambda case, **options: run_on("model", case, **options)


@pytest.fixture
def check_model():
    return lambda case, **options: check_on("model", case, **options)


@pytest.fixture
def check_on_backend():
    return check_on
