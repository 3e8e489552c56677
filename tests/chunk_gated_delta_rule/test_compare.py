# SPDX-License-Identifier: Apache-2.0
"""chunk_gdr.compare: what passes, what must not, and what is said about it."""

import json
import math

import pytest
import torch

from chunk_gdr.compare import FP16_MAX, bar_of, compare_chunk_state, compare_out, compare_state


def truth_of(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_exact_results_pass():
    truth = truth_of(9, 4, 24)
    rounded = compare_out(truth.half(), truth, [5, 0, 4])
    assert rounded.passed and len(rounded.heads) == 2 * 4
    for head in rounded.heads:
        assert head.nrmse == head.floor and 1e-4 < head.floor < 3e-4 and head.mask_errors == 0
    assert compare_out(truth.half().double(), truth.half(), [9]).worst.nrmse == 0


def test_one_bad_head_is_found_and_named():
    """An error that a tensor-wide norm hides: one head of one sequence, 1e-3 of its own norm."""
    truth = truth_of(40, 8, 32)
    truth[10:14, 3] *= 1e-2
    x = truth.clone()
    x[12, 3, 7] += 1e-3 * truth[10:14, 3].norm()
    result = compare_out(x.half(), truth, [10, 4, 26])
    worst = result.worst
    assert not result.passed and [h.passed for h in result.heads].count(False) == 1
    assert (worst.sequence, worst.head, worst.worst_index) == (1, 3, (12, 3, 7))
    assert worst.nrmse == pytest.approx(1e-3, rel=0.1) and worst.values == 4 * 32
    assert (x - truth).norm() / truth.norm() < 2e-5
    assert "1 MISS THE BAR" in str(result) and "[12,3,7]" in str(result).splitlines()[2]


def test_heads_are_sorted_by_use_of_their_bar():
    truth = truth_of(3, 3, 8, 8)
    x = truth.clone()
    for b, size in enumerate((1e-6, 3e-6, 2e-6)):
        x[b] += size * truth_of(3, 8, 8, seed=b + 1)
    order = [h.sequence for h in compare_state(x.float(), truth).heads]
    assert order == [1] * 3 + [2] * 3 + [0] * 3


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_single_non_finite_value_fails(bad):
    truth = truth_of(4, 2, 64)
    x = truth.half()
    x[2, 1, 5] = bad
    result = compare_out(x, truth, [4])
    assert not result.passed and result.worst.mask_errors == 1 and result.worst.worst_index == (2, 1, 5)
    assert "1 wrong inf/nan" in str(result)


@pytest.mark.parametrize("true_value", [math.nan, math.inf, -math.inf])
def test_non_finite_truth_wants_the_same(true_value):
    truth = truth_of(1, 1, 16, 16)
    truth[0, 0, 3, 3] = true_value
    assert compare_state(truth.float(), truth).passed
    for other in (0.0, math.nan, math.inf, -math.inf):
        x = truth.float()
        x[0, 0, 3, 3] = other
        same = other == true_value or (math.isnan(other) and math.isnan(true_value))
        assert compare_state(x, truth).passed == same


@pytest.mark.parametrize(
    "overflow, value, passes",
    [
        ("inf", math.inf, True),
        ("inf", FP16_MAX, False),
        ("saturate", math.inf, False),
        ("saturate", FP16_MAX, True),
        ("any", math.inf, True),
        ("any", FP16_MAX, True),
        ("any", -math.inf, False),
        ("any", -FP16_MAX, False),
        ("any", 60000.0, False),
        ("any", math.nan, False),
    ],
)
def test_beyond_half_only_the_mask_counts(overflow, value, passes):
    truth = truth_of(2, 1, 64)
    truth[0, 0, 9] = 1e6
    x = truth.half()
    x[0, 0, 9] = value
    result = compare_out(x, truth, [2], overflow=overflow)
    assert result.passed == passes
    assert result.worst.nrmse < 3e-4


def test_at_the_border_of_half_both_are_right():
    truth = truth_of(2, 1, 64)
    truth[0, 0, 9] = 65510.0
    for value, passes in ((65504.0, True), (65472.0, True), (math.inf, True), (60000.0, False), (-65504.0, False)):
        x = truth.half()
        x[0, 0, 9] = value
        assert compare_out(x, truth, [2]).passed == passes, value


def test_large_fp32_values_are_compared():
    truth = 1e6 * truth_of(1, 1, 8, 8)
    assert compare_state(truth.float(), truth).passed
    assert not compare_state((truth * (1 + 3e-5)).float(), truth).passed


def test_bars():
    assert bar_of("float32", 1e-3) == 2e-5
    assert bar_of("float16", 2.0e-4) == 2.3e-4
    assert bar_of("float16", 4.0e-4) == pytest.approx(4.4e-4)
    assert bar_of("bfloat16", 1.7e-3) == pytest.approx(1.87e-3)


@pytest.mark.parametrize("factor, passes", [(1.9e-5, True), (2.1e-5, False)])
def test_fp32_bar_is_sharp(factor, passes):
    truth = truth_of(1, 1, 32, 32)
    noise = truth_of(1, 1, 32, 32, seed=1)
    x = truth + factor * noise * truth.norm() / noise.norm()
    assert compare_state(x.float(), truth).passed == passes


def test_zero_truth_wants_zero():
    truth = torch.zeros(2, 1, 8, dtype=torch.float64)
    assert compare_out(truth.half(), truth, [2]).passed
    x = truth.half()
    x[1, 0, 0] = 1e-7
    assert not compare_out(x, truth, [2]).passed


def test_tiny_values_have_a_high_floor_and_the_bar_follows():
    truth = 1e-6 * truth_of(64, 1, 64)
    result = compare_out(truth.half(), truth, [64])
    assert result.passed and result.worst.floor > 1e-2
    assert not compare_out(torch.zeros_like(truth).half(), truth, [64]).passed


def test_chunk_state_groups_rows_by_sequence_and_ignores_the_rest():
    truth = truth_of(4, 2, 8, 8)  # lengths 130 and 1: rows 0-2 and 3
    x = torch.full((6, 2, 8, 8), math.nan)
    x[:4] = truth.float()
    result = compare_chunk_state(x, truth, [130, 1])
    assert result.passed and sorted((h.sequence, h.values) for h in result.heads)[0] == (0, 3 * 64)
    x[3, 1, 2, 2] = 9.0
    assert compare_chunk_state(x, truth, [130, 1]).worst.worst_index == (3, 1, 2, 2)


def test_nothing_to_compare_is_exact():
    result = compare_out(torch.empty(0, 4, 8).half(), torch.empty(0, 4, 8), [0, 0])
    assert result.passed and result.worst is None and result.to_dict()["nrmse"] == 0.0


OUT, STATE = torch.zeros(5, 2, 8), torch.zeros(5, 2, 8, 4)
FIVE = "lengths of 5 rows (those of 'truth')"
WHOLE = "shape [5, 2, 8, 4] (that of 'truth')"
# Who compares what, the result and the argument that the message names, what it expected, what it got.
REFUSED = {
    "shape": (compare_out, (OUT, OUT[..., :7], [5]), "out", "x", "shape [5, 2, 7] (that of 'truth')", "[5, 2, 8]"),
    "rank": (compare_out, (OUT[:, 0, 0], OUT[:, 0, 0], [5]), "out", "truth", "shape [rows, heads, ...]", "[5]"),
    "lengths-short": (compare_out, (OUT, OUT, [4]), "out", "lengths", FIVE, "4 rows"),
    "lengths-long": (compare_out, (OUT, OUT, [5, 1]), "out", "lengths", FIVE, "6 rows"),
    "lengths-negative": (compare_out, (OUT, OUT, [6, -1]), "out", "lengths", "lengths >= 0", "[6, -1]"),
    "dtype": (compare_out, (OUT.int(), OUT, [5]), "out", "x", "a floating-point dtype", "int32"),
    "overflow": (compare_out, (OUT, OUT, [5], "wrap"), "out", "overflow", "one of inf, saturate, any", "'wrap'"),
    "sequences": (compare_state, (STATE[:4], STATE), "final_state", "x", WHOLE, "[4, 2, 8, 4]"),
    "few-rows": (compare_chunk_state, (STATE[:4], STATE, [320]), "chunk_state", "x", WHOLE, "[4, 2, 8, 4]"),
    "chunks": (compare_chunk_state, (STATE, STATE, [64, 1]), "chunk_state", "lengths", FIVE, "2 rows"),
}


@pytest.mark.parametrize("compare, arguments, result, argument, expected, got", REFUSED.values(), ids=REFUSED)
def test_arguments_that_do_not_belong_together(compare, arguments, result, argument, expected, got):
    """Rows that no sequence owns would be rows that nobody compares."""
    with pytest.raises(ValueError) as error:
        compare(*arguments)
    assert str(error.value) == f"chunk_gdr.compare, {result}: argument '{argument}': expected {expected}, got {got}"


def test_dict_is_json():
    truth = truth_of(4, 2, 8)
    result = compare_out(truth.half(), truth, [4]).to_dict(all_heads=True)
    text = json.loads(json.dumps(result))
    assert text["passed"] and text["nrmse"] <= text["bar"] and len(text["per_head"]) == 2
    assert text["worst"]["worst_index"] == list(result["worst"]["worst_index"])


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_head_of_masks_only_is_no_accuracy(value):
    truth = truth_of(4, 2, 8)
    truth[:, 1] = value
    result = compare_out(truth.half(), truth, [4])
    without = next(h for h in result.heads if not h.compared)
    assert result.passed and result.masks_only == 1 and result.to_dict()["masks_only"] == 1
    assert without.head == 1 and math.isnan(without.nrmse) and without is result.heads[-1]
    assert 0 < result.to_dict()["nrmse"] < 3e-4
    assert "2 heads, the others within the bar, 1 with no finite value to compare" in str(result)
    all_of_it = compare_out(truth[:, 1:].half(), truth[:, 1:], [4])
    assert math.isnan(all_of_it.to_dict()["nrmse"]) and "all within" not in str(all_of_it)


def test_masks_that_disagree_fail_without_a_finite_value():
    truth = torch.full((4, 1, 8), math.nan, dtype=torch.float64)
    x = torch.zeros(4, 1, 8).half()
    result = compare_out(x, truth, [4])
    assert not result.passed and result.masks_only == 0
    assert "no finite value to compare" in str(result) and "MISSED" in str(result)


def test_an_overflowed_head_passes_on_its_masks():
    truth = torch.full((4, 1, 8), 1e6, dtype=torch.float64)
    result = compare_out(torch.full((4, 1, 8), FP16_MAX).half(), truth, [4], "saturate")
    assert result.passed and result.masks_only == 1
    assert not compare_out(torch.full((4, 1, 8), 6e4).half(), truth, [4], "saturate").passed
