# SPDX-License-Identifier: Apache-2.0
"""Every rule about the arguments: one message that names operator, argument, expected and got; nothing is written."""

import math

import pytest
import torch

import chunk_gdr

from .valid_arguments import B, DK, DV, NK, NV, T, call, half, lengths, message, on_meta, valid, zeros

# What is replaced, the argument that the message blames, what it expected, what it got. Shapes and dtypes alone decide.
SHAPE_RULES = {
    "query-dtype": ({"query": zeros(T, NK, DK, dtype=torch.int32)}, "query", "dtype float16, bfloat16", "int32"),
    "query-bool": ({"query": zeros(T, NK, DK, dtype=torch.bool)}, "query", "dtype float16, bfloat16", "Bool"),
    "key-dtype": ({"key": zeros(T, NK, DK)}, "key", "dtype float16 (that of 'query')", "float32"),
    "value-dtype": ({"value": zeros(T, NV, DV)}, "value", "dtype float16 (that of 'query')", "float32"),
    "beta-dtype": ({"beta": zeros(T, NV, dtype=torch.int64)}, "beta", "dtype float16, bfloat16", "int64"),
    "g-dtype": ({"g": half(T, NV)}, "g", "dtype float32", "float16"),
    "state-dtype": (
        {"initial_state": zeros(B, NV, DV, DK, dtype=torch.int8)},
        "initial_state",
        "dtype float16",
        "Char",
    ),
    "lengths-dtype": (
        {"actual_seq_lengths": torch.tensor([30.0, 40.0])},
        "actual_seq_lengths",
        "dtype int32 or int64",
        "float32",
    ),
    "chunk-state-dtype": (
        {"chunk_state": half(3, NV, DV, DK)},
        "chunk_state",
        "dtype float32 (that of 'initial_state')",
        "float16",
    ),
    "chunk-state-dtype-without-state": (
        {"initial_state": None, "chunk_state": half(3, NV, DV, DK)},
        "chunk_state",
        "dtype float32 (that of the state, without 'initial_state')",
        "float16",
    ),
    "query-rank": ({"query": half(1, T, NK, DK)}, "query", "rank 3, shape [T, Nk, Dk]", "rank 4, shape [1, 70, 2, 16]"),
    "key-rank": ({"key": half(T, DK)}, "key", "shape [T=70, Nk=2, Dk=16]", "[70, 16]"),
    "value-rank": ({"value": half(T, DV)}, "value", "rank 3, shape [T, Nv, Dv]", "rank 2, shape [70, 24]"),
    "beta-rank": ({"beta": zeros(T, NV, 1)}, "beta", "shape [T=70, Nv=4]", "[70, 4, 1]"),
    "g-rank": ({"g": zeros(T)}, "g", "shape [T=70, Nv=4]", "[70]"),
    "state-rank": (
        {"initial_state": zeros(NV, DV, DK)},
        "initial_state",
        "shape [B=2, Nv=4, Dv=24, Dk=16]",
        "[4, 24, 16]",
    ),
    "lengths-rank": (
        {"actual_seq_lengths": lengths(30, 40)[None]},
        "actual_seq_lengths",
        "rank 1, shape [B]",
        "rank 2, shape [1, 2]",
    ),
    "chunk-state-rank": (
        {"chunk_state": zeros(NV, DV, DK)},
        "chunk_state",
        "rank 4, shape [rows, Nv, Dv, Dk]",
        "rank 3",
    ),
    "key-tokens": ({"key": half(T - 1, NK, DK)}, "key", "shape [T=70, Nk=2, Dk=16]", "[69, 2, 16]"),
    "key-heads": ({"key": half(T, NV, DK)}, "key", "shape [T=70, Nk=2, Dk=16]", "[70, 4, 16]"),
    "key-dim": ({"key": half(T, NK, DV)}, "key", "shape [T=70, Nk=2, Dk=16]", "[70, 2, 24]"),
    "value-tokens": ({"value": half(T + 1, NV, DV)}, "value", "shape [T=70, Nv=4, Dv=24]", "[71, 4, 24]"),
    "beta-tokens": ({"beta": zeros(T + 1, NV)}, "beta", "shape [T=70, Nv=4]", "[71, 4]"),
    "beta-heads": ({"beta": zeros(T, NK)}, "beta", "shape [T=70, Nv=4]", "[70, 2]"),
    "g-heads-first": ({"g": zeros(NV, T)}, "g", "shape [T=70, Nv=4]", "[4, 70]"),
    "g-key-heads": ({"g": zeros(T, NK)}, "g", "shape [T=70, Nv=4]", "[70, 2]"),
    "head-ratio": (
        {"query": half(T, 3, DK), "key": half(T, 3, DK)},
        "value",
        "Nv a multiple of Nk=3",
        "Nv=4",
    ),
    "fewer-value-heads": (
        {"value": half(T, 1, DV), "beta": None, "g": None, "initial_state": None, "chunk_state": None},
        "value",
        "Nv a multiple of Nk=2",
        "Nv=1",
    ),
    "no-key-heads": ({"query": half(T, 0, DK), "key": half(T, 0, DK)}, "query", "at least one head", "0"),
    "no-value-heads": ({"value": half(T, 0, DV)}, "value", "at least one head", "0"),
    "key-dim-0": ({"query": half(T, NK, 0), "key": half(T, NK, 0)}, "query", "head dim Dk from 1 to 128", "0"),
    "key-dim-129": ({"query": half(T, NK, 129), "key": half(T, NK, 129)}, "query", "head dim Dk from 1 to 128", "129"),
    "value-dim-0": ({"value": half(T, NV, 0)}, "value", "head dim Dv from 1 to 128", "0"),
    "value-dim-256": ({"value": half(T, NV, 256)}, "value", "head dim Dv from 1 to 128", "256"),
    "state-key-first": (
        {"initial_state": zeros(B, NV, DK, DV)},
        "initial_state",
        "shape [B=2, Nv=4, Dv=24, Dk=16]",
        "[2, 4, 16, 24]",
    ),
    "state-heads": (
        {"initial_state": zeros(B, NK, DV, DK)},
        "initial_state",
        "shape [B=2, Nv=4, Dv=24, Dk=16]",
        "[2, 2, 24, 16]",
    ),
    "lengths-count": (
        {"actual_seq_lengths": lengths(30, 20, 20)},
        "initial_state",
        "shape [B=3, Nv=4, Dv=24, Dk=16]",
        "[2, 4, 24, 16]",
    ),
    "no-lengths-count": (
        {"actual_seq_lengths": None},
        "initial_state",
        "shape [B=1, Nv=4, Dv=24, Dk=16]",
        "[2, 4, 24, 16]",
    ),
    "chunk-state-shape": (
        {"chunk_state": zeros(3, NV, DK, DV)},
        "chunk_state",
        "shape [rows=3, Nv=4, Dv=24, Dk=16]",
        "[3, 4, 16, 24]",
    ),
    "chunk-state-rows-one-sequence": (
        {"actual_seq_lengths": None, "initial_state": None, "chunk_state": zeros(1, NV, DV, DK)},
        "chunk_state",
        "at least 2 rows",
        "1 rows",
    ),
    "scale-overflow": ({"scale": 1e39}, "scale", "a finite float32", "1e+39"),
    "scale-negative-overflow": ({"scale": -3.5e38}, "scale", "a finite float32", "-3.5e+38"),
    "scale-infinite": ({"scale": math.inf}, "scale", "a finite float32", "inf"),
    "scale-nan": ({"scale": math.nan}, "scale", "a finite float32", "nan"),
}

# Those that need the values of the lengths.
VALUE_RULES = {
    "lengths-sum-short": (
        {"actual_seq_lengths": lengths(30, 39)},
        "actual_seq_lengths",
        "lengths with sum T=70",
        "sum 69",
    ),
    "lengths-sum-long": (
        {"actual_seq_lengths": lengths(30, 41)},
        "actual_seq_lengths",
        "lengths with sum T=70",
        "more than T after index 1",
    ),
    "lengths-negative": (
        {"actual_seq_lengths": lengths(71, -1)},
        "actual_seq_lengths",
        "lengths",
        "more than T after index 0",
    ),
    "lengths-negative-first": (
        {"actual_seq_lengths": lengths(-1, 71)},
        "actual_seq_lengths",
        "lengths >= 0",
        "-1 at index 0",
    ),
    "lengths-overflow": (
        {"actual_seq_lengths": lengths(2**63 - 1, 2**63 - 1)},
        "actual_seq_lengths",
        "lengths with sum T=70",
        "more than T after index 0",
    ),
    "no-sequences": (
        {"actual_seq_lengths": lengths(), "initial_state": None},
        "actual_seq_lengths",
        "lengths with sum T=70",
        "sum 0",
    ),
    "chunk-state-rows": (
        {"actual_seq_lengths": lengths(65, 5), "chunk_state": zeros(2, NV, DV, DK)},
        "chunk_state",
        "at least 3 rows (the sum of ceil(length / 64))",
        "2 rows",
    ),
}


@pytest.mark.parametrize("backend", ["native", "reference", "model"])
@pytest.mark.parametrize("rule", [*SHAPE_RULES, *VALUE_RULES])
def test_rule(rule, backend):
    change, argument, expected, got = {**SHAPE_RULES, **VALUE_RULES}[rule]
    args = {**valid(), **change}
    written = args["chunk_state"]
    before = None if written is None else written.clone()
    if expected.startswith("dtype float16, bfloat16"):
        expected = "dtype float16"
    with chunk_gdr.backend(backend), pytest.raises(RuntimeError, match=message(argument, expected, got)) as error:
        call(args)
    assert str(error.value).count("\n") == 0
    if written is not None:
        assert torch.equal(written.view(torch.uint8), before.view(torch.uint8))


@pytest.mark.parametrize("rule", SHAPE_RULES)
def test_rule_on_meta(rule):
    change, argument, expected, got = SHAPE_RULES[rule]
    args = on_meta({**valid(), **change})
    with pytest.raises(RuntimeError, match=message(argument, expected, got)):
        call(args)


@pytest.mark.parametrize("rule", VALUE_RULES)
def test_rule_on_meta_with_lengths_on_the_cpu(rule):
    """Beside tensors without values the lengths have theirs."""
    change, argument, expected, got = VALUE_RULES[rule]
    args = {**valid(), **change}
    with pytest.raises(RuntimeError, match=message(argument, expected, got)):
        call({**on_meta(args), "actual_seq_lengths": args["actual_seq_lengths"]})
    assert call(on_meta(args))[0].shape == (T, NV, DV)


def test_valid_arguments_pass():
    """Else every rule above could be broken by the base case."""
    args = valid()
    out, state = call(args)
    assert out.shape == (T, NV, DV) and state.shape == (B, NV, DV, DK)
    assert args["chunk_state"].isfinite().sum() == 2 * NV * DV * DK
    call(on_meta(args))


@pytest.mark.parametrize("backend", ["native", "reference", "model"])
def test_every_scale_that_float32_holds_passes(backend):
    for scale in (torch.finfo(torch.float32).max, -torch.finfo(torch.float32).max, 1e-60, 0.0):
        with chunk_gdr.backend(backend):
            call({**valid(), "scale": scale})
        call(on_meta({**valid(), "scale": scale}))


@pytest.mark.parametrize("name", ["key", "value", "beta", "initial_state", "g", "chunk_state"])
def test_device(name):
    args = {n: x.to("meta") for n, x in valid().items()}
    args[name] = valid()[name]
    with pytest.raises(RuntimeError, match=message(name, "device meta (that of 'query')", "cpu")):
        call(args)


def test_lengths_may_stay_on_the_cpu():
    args = {n: x.to("meta") for n, x in valid().items()}
    call({**args, "actual_seq_lengths": valid()["actual_seq_lengths"]})


@pytest.mark.parametrize(
    "backend, name, dtype, allowed",
    [
        ("native", "query", torch.float64, "float16, bfloat16 or float32"),
        ("native", "beta", torch.float64, "float16, bfloat16 or float32"),
        ("native", "initial_state", torch.float64, "float16, bfloat16 or float32"),
        ("native", "g", torch.float64, "float32"),
        ("model", "query", torch.bfloat16, "float16"),
        ("model", "query", torch.float32, "float16"),
        ("model", "beta", torch.bfloat16, "float16 or float32"),
        ("model", "initial_state", torch.bfloat16, "float16 or float32"),
        ("model", "g", torch.float64, "float32"),
    ],
    ids=str,
)
def test_dtypes_of_a_backend(backend, name, dtype, allowed):
    args = valid()
    del args["chunk_state"]
    for other in ("query", "key", "value") if name == "query" else (name,):
        args[other] = args[other].to(dtype)
    got = str(dtype).removeprefix("torch.")
    with (
        chunk_gdr.backend(backend),
        pytest.raises(RuntimeError, match=message(name, f"dtype {allowed} (backend '{backend}')", got)),
    ):
        call(args)


def test_sparse_input():
    args = valid()
    args["g"] = args["g"].to_sparse()
    with pytest.raises((RuntimeError, NotImplementedError)):
        call(args)


def test_message_inside_a_compiled_graph():
    compiled = torch.compile(lambda **args: call(args), fullgraph=True, backend="aot_eager")
    change, argument, expected, got = SHAPE_RULES["key-dim"]
    with pytest.raises(RuntimeError, match=message(argument, expected, got)):
        compiled(**{**valid(), **change})
    change, argument, expected, got = VALUE_RULES["lengths-sum-short"]
    with pytest.raises(RuntimeError, match=message(argument, expected, got)):
        compiled(**{**valid(), **change})
