# SPDX-License-Identifier: Apache-2.0
"""The memory of chunk_state, which is written while the inputs are read: no overlap passes, and all else does."""

import math

import pytest
import torch

import chunk_gdr

from .valid_arguments import B, DK, DV, NV, call, message, valid, zeros


@pytest.mark.parametrize("name", ["initial_state", "query", "beta", "g"])
def test_chunk_state_overlapping_an_input(name):
    args = valid()
    pool = torch.zeros(100000)
    sizes = {n: args[n].numel() for n in (name, "chunk_state")}
    start = sizes["chunk_state"] - 1  # one element in common
    args["chunk_state"] = pool[: sizes["chunk_state"]].view_as(args["chunk_state"])
    elems = pool[start : start + sizes[name]]
    args[name] = (elems.view(torch.float16)[: sizes[name]] if args[name].dtype == torch.float16 else elems).view_as(
        args[name]
    )
    before = pool.clone()
    with pytest.raises(
        RuntimeError, match=message("chunk_state", "memory that no input uses", f"an overlap with '{name}'")
    ):
        call(args)
    assert torch.equal(pool, before)


def test_chunk_state_being_the_initial_state():
    args = valid()
    args["chunk_state"] = args["initial_state"]
    with pytest.raises(RuntimeError, match="overlap with 'initial_state'"):
        call(args)


def test_chunk_state_interleaved_overlap():
    args = valid()
    pool = torch.zeros(6, NV, DV, DK)
    args["initial_state"], args["chunk_state"] = pool[0:4:2], pool[0:6:2]
    with pytest.raises(RuntimeError, match="overlap with 'initial_state'"):
        call(args)
    args["chunk_state"] = pool[1:6:2]
    call(args)


def test_chunk_state_beside_an_input_in_one_storage():
    args = valid()
    pool = torch.zeros(5, NV, DV, DK)
    args["initial_state"], args["chunk_state"] = pool[:2], pool[2:]
    call(args)


def test_chunk_state_expanded():
    args = {**valid(), "chunk_state": zeros(1, NV, DV, DK).expand(3, -1, -1, -1)}
    with pytest.raises(
        RuntimeError, match=message("chunk_state", "elements that do not share memory", "an expanded tensor")
    ):
        call(args)


OVERLAPPING = {
    "rows": (DV * DK * NV // 2, DV * DK, DK, 1),
    "heads": (NV * DV * DK, DV * DK - 1, DK, 1),
    "rows-of-a-head": (NV * DV * DK, DV * DK, DK - 1, 1),
    "two-dims-interleaved": (NV * DV * DK, 1, NV, NV * DV // 2),
    "elements": (NV * DV * DK, DV * DK, DK, 0),
}


@pytest.mark.parametrize("backend", ["native", "reference", "model"])
@pytest.mark.parametrize("strides", OVERLAPPING.values(), ids=OVERLAPPING)
def test_chunk_state_overlapping_itself(strides, backend):
    pool = torch.full((4 * NV * DV * DK,), math.nan)
    args = {**valid(), "chunk_state": pool.as_strided((3, NV, DV, DK), strides)}
    with (
        chunk_gdr.backend(backend),
        pytest.raises(RuntimeError, match=message("chunk_state", "elements that do not share memory", "")),
    ):
        call(args)
    assert pool.isnan().all()


# In the last two the strides do not nest, and yet no two elements meet.
DISJOINT = {
    "permuted": (1, 3, 3 * NV, 3 * NV * DV),
    "padded": (2 * NV * DV * DK, 2 * DV * DK, 2 * DK, 2),
    "heads-between-rows": (4 * NV * DV * DK, 3, 4, 12 * DV),
    "heads-between-chunks": (7, 5, 48, 48 * DV),
}


@pytest.mark.parametrize("strides", DISJOINT.values(), ids=DISJOINT)
def test_chunk_state_of_unusual_strides(strides):
    want = valid()
    want["initial_state"] = torch.arange(B * NV * DV * DK, dtype=torch.float32).view(B, NV, DV, DK)
    call(want)
    view = torch.full((8 * NV * DV * DK * 3,), math.nan).as_strided((3, NV, DV, DK), strides)
    call({**want, "chunk_state": view})
    assert torch.equal(view.isnan(), want["chunk_state"].isnan())
    assert torch.equal(view[:2], want["chunk_state"][:2])
