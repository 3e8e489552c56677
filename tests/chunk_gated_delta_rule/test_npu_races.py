# SPDX-License-Identifier: Apache-2.0
"""On the card only: a race shows as bits that differ from one run to the next, or from the host model's."""

import pytest
import torch

from chunk_gdr.cases import SUITE, make_inputs
from chunk_gdr.check import different_bits, fresh
from chunk_gdr.runner import call_operator, compare_with_truth

RUNS = 32

pytestmark = [pytest.mark.npu, pytest.mark.usefixtures("card")]


def run(inputs):
    return call_operator(fresh(inputs), "npu").result


@pytest.mark.parametrize("name", SUITE)
def test_the_same_bits_every_time(name):
    x = make_inputs(SUITE[name])
    first = run(x)
    for comparison in compare_with_truth(x, first, "saturate"):
        assert comparison.passed, comparison
    for i in range(1, RUNS):
        assert different_bits(run(x), first) == [], f"run {i}"


def test_calls_behind_one_another_on_two_streams():
    """Nothing waits between the calls: each has its own workspace, and inputs live until both streams are done."""
    x = make_inputs(SUITE["qwen"])
    expected = run(x)
    moved = {name: t.to("npu") if isinstance(t, torch.Tensor) else t for name, t in vars(x).items()}
    torch.npu.synchronize()
    results = []
    for i in range(RUNS):
        with torch.npu.stream(torch.npu.Stream() if i % 2 else torch.npu.current_stream()):
            results.append(torch.ops.chunk_gdr.chunk_gated_delta_rule(**moved))
    del moved
    torch.npu.synchronize()
    for out, state in results:
        assert torch.equal(out.cpu(), expected.out) and torch.equal(state.cpu(), expected.final_state)
