# SPDX-License-Identifier: Apache-2.0
"""The process-wide switches: blocks that end in any order leave nothing behind, options are checked at once."""

import copy
import pickle

import pytest
import torch

import chunk_gdr
from chunk_gdr import model


def last_block_num():
    q = torch.ones(130, 8, 16).half()
    with chunk_gdr.backend("model"):
        torch.ops.chunk_gdr.chunk_gated_delta_rule(q, q, q)
    return len(model.last_report().to_dict()["blocks"])


def test_backends_that_interleave():
    before = chunk_gdr.current_backend()
    first, second, third = map(chunk_gdr.backend, ("model", "reference", "model"))
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert chunk_gdr.current_backend() == "reference"
    third.__enter__()
    second.__exit__(None, None, None)
    assert chunk_gdr.current_backend() == "model"
    third.__exit__(None, None, None)
    assert chunk_gdr.current_backend() == before


def test_options_that_interleave():
    default = last_block_num()
    first, second = model.options(cores=2), model.options(cores=3)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert last_block_num() == 3
    second.__exit__(None, None, None)
    assert last_block_num() == default > 3
    with model.options(cores=2), model.options(seed=5):
        assert last_block_num() == 2


@pytest.mark.parametrize(
    "option, value",
    [
        ("cores", 0),
        ("cores", 9),
        ("cores", 1.5),
        ("seed", -1),
        ("seed", 2**64),
        ("threads", -1),
        ("threads", "all"),
        ("threads", True),
        ("permute_cube", "no"),
        ("progress", 3),
        ("execution", "random"),
    ],
)
def test_options_are_checked_at_once(option, value):
    with pytest.raises(ValueError, match=f"{option}.* must be .*got"), model.options(**{option: value}):
        pytest.fail("the block was entered")
    assert last_block_num() == 8


def test_unknown_options_leave_nothing():
    with pytest.raises(TypeError, match="unknown option 'core'"), model.options(core=2):
        pytest.fail("the block was entered")
    assert last_block_num() == 8


@pytest.mark.parametrize("duplicate", [copy.deepcopy, pickle.dumps])
def test_reports_are_not_duplicated_silently(duplicate):
    last_block_num()
    report = model.last_report()
    with pytest.raises(TypeError, match=r"take report.to_dict\(\) or report.to_json\(\)"):
        duplicate(report)
    assert copy.copy(report).to_dict() == report.to_dict() == copy.deepcopy(report.to_dict())
