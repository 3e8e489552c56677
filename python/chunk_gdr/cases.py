# SPDX-License-Identifier: Apache-2.0
"""Named inputs of chunk_gated_delta_rule, shared by the tests, the command line and the benchmarks."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from .reference.recurrence import CHUNK, chunk_counts, starts

V_LIMIT = 24.8  # the largest |v| seen in a real 35B model
GATE_SWEEP = (0.0, -1e-5, -1e-3, -5.0, -50.0, -316.0, -math.inf)


# ---- gates: (rng, lengths, heads) -> g [T, heads], the log of the decay


def constant(value: float) -> Callable:
    return lambda rng, lengths, heads: np.full((sum(lengths), heads), value)


def uniform(depth: float) -> Callable:
    return lambda rng, lengths, heads: -depth * rng.random((sum(lengths), heads))


def qwen_gate(rng, lengths, heads):
    """-exp(A_log) * softplus(a + dt_bias) with the spread of Qwen3.5's heads: from nearly ungated to about -300."""
    a_log = rng.permutation(np.linspace(math.log(1e-2), math.log(64.0), heads))
    dt_bias = rng.uniform(-4.0, 1.0, heads)
    a = 1.5 * rng.standard_normal((sum(lengths), heads))
    return raw_gate(a_log, a, dt_bias)


def raw_gate(a_log, a, dt_bias):
    """The model's gate from its raw inputs; logaddexp is softplus without overflow, x itself for large x."""
    return -np.exp(np.float64(a_log)) * np.logaddexp(0.0, np.float64(a) + dt_bias)


def per_head(rng, lengths, heads):
    """Head h has the h-th constant of the sweep at all tokens."""
    return np.broadcast_to(np.resize(GATE_SWEEP, heads), (sum(lengths), heads))


def mixture(rng, lengths, heads):
    """Every token draws from the sweep, mostly from its mild end so that state survives some tokens."""
    return rng.choice(GATE_SWEEP, (sum(lengths), heads), p=[0.3, 0.3, 0.3, 0.04, 0.02, 0.02, 0.02])


def at_token(value: float, token: int, base: float = -1e-3) -> Callable:
    """`base` everywhere but at one token of every sequence that has it."""

    def gate(rng, lengths, heads):
        g = np.full((sum(lengths), heads), base)
        for begin, length in zip(starts(lengths), lengths):
            if length > token:
                g[begin + token] = value
        return g

    return gate


def steep_prefix(rng, lengths, heads):
    """-316 for 40 tokens, then -1e-3, -2e-3, ...: differences of fp32 prefix sums lose the second part."""
    g = np.empty((sum(lengths), heads))
    for begin, length in zip(starts(lengths), lengths):
        t = np.arange(length)[:, None]
        g[begin : begin + length] = np.where(t < 40, -316.0, -1e-3 * (t - 40))
    return g


def growing(rng, lengths, heads):
    """Some g > 0, with every partial sum inside a chunk at most 4."""
    g = -1e-2 * rng.random((sum(lengths), heads))
    g[::32] = 1.5
    return g


GATES: dict[str, Callable | None] = {
    "none": None,
    "qwen": qwen_gate,
    "zero": constant(0.0),
    "-1e-5": constant(-1e-5),
    "-1e-4": constant(-1e-4),
    "-1e-3": constant(-1e-3),
    "-5": constant(-5.0),
    "-50": constant(-50.0),
    "-316": constant(-316.0),
    "-inf": constant(-math.inf),
    "log1e-12": constant(math.log(1e-12)),
    "uniform-6": uniform(6.0),
    "uniform-316": uniform(316.0),
    "per-head": per_head,
    "mixture": mixture,
    "steep-prefix": steep_prefix,
    "inf-at-70": at_token(-math.inf, 70),
    "growing": growing,
}


# ---- keys and queries: (rng, tokens, heads, dim) -> rows of norm 1


def unit_rows(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def random_keys(rng, tokens, heads, dim):
    return unit_rows(rng.standard_normal((tokens, heads, dim)))


def correlated_keys(rng, tokens, heads, dim):
    """Rows that share a direction: cosines of about 0.9 to 0.99, from head to head."""
    cosine = np.linspace(0.9, 0.99, heads)[None, :, None]
    common = unit_rows(rng.standard_normal((1, heads, dim)))
    own = unit_rows(rng.standard_normal((tokens, heads, dim)))
    return unit_rows(np.sqrt(cosine) * common + np.sqrt(1 - cosine) * own)


def raw_keys(rng, tokens, heads, dim):
    """Not normalised: for the in-kernel l2norm, or to make the truth itself overflow."""
    return rng.standard_normal((tokens, heads, dim))


KEYS: dict[str, Callable] = {"random": random_keys, "correlated": correlated_keys, "raw": raw_keys}

BETAS: dict[str, Callable | None] = {
    "none": None,
    "random": lambda rng, tokens, heads: 1.0 / (1.0 + np.exp(-2.0 * rng.standard_normal((tokens, heads)))),
    "0.99": lambda rng, tokens, heads: np.full((tokens, heads), 0.99),
    "one": lambda rng, tokens, heads: np.ones((tokens, heads)),
}


@dataclass(frozen=True)
class Case:
    """Everything that determines the input tensors. The defaults are the shapes of a Qwen3.5 layer."""

    lengths: tuple[int, ...] = (200, 131, 64, 0, 37, 1, 63)
    nk: int = 16
    nv: int = 32
    dk: int = 128
    dv: int = 128
    gate: str | float = "qwen"  # a name in GATES, or a constant
    keys: str = "random"
    key_norm: float = 1.0
    query_norm: float = 1.0
    beta: str | float = "random"
    v_size: float = 1.0  # standard deviation, cut at V_LIMIT
    dtype: str = "float16"  # of query, key and value
    beta_dtype: str = "float32"
    state: str | None = "float32"  # dtype of initial_state; None = no initial state
    state_size: float = 0.1
    scale: float | str | None = "default"  # Dk ** -0.5; None = leave it out (the operator takes 1.0)
    l2norm: bool = False
    chunk_state: bool = False
    pass_lengths: bool = True  # False: one sequence, actual_seq_lengths left out
    seed: int = 0

    def __str__(self) -> str:
        lengths = "x".join(map(str, self.lengths)) if len(self.lengths) < 6 else f"{len(self.lengths)}seqs"
        text = f"T{lengths}-Nk{self.nk}-Nv{self.nv}-Dk{self.dk}-Dv{self.dv}-g{self.gate}"
        return text + f"-{self.keys}-S{self.state or 'none'}" + ("-l2norm" if self.l2norm else "")


# What `chunk-gdr check` runs: every bucket, schedule and path of the kernel, few heads, short sequences.
SUITE: dict[str, Case] = {
    "qwen": Case(lengths=(130, 64, 0, 1), nk=2, nv=4),
    "gates-d64": Case(lengths=(100, 65), nk=1, nv=7, dk=64, dv=64, gate="per-head"),
    "mixture-d80": Case(lengths=(70, 63), nk=2, nv=2, dk=72, dv=80, gate="mixture", beta_dtype="float16"),
    "correlated-d96": Case(lengths=(129,), nk=1, nv=2, dk=64, dv=96, gate="-1e-3", keys="correlated", beta="0.99"),
    "l2norm-odd-dims": Case(lengths=(1, 66), nk=1, nv=2, dk=100, dv=33, keys="raw", l2norm=True, v_size=8.0),
    "half-state": Case(lengths=(64, 90), nk=1, nv=3, dk=48, dv=16, state="float16", chunk_state=True, gate="-5"),
    "bare": Case((75,), 1, 2, 16, 32, gate="none", beta="none", state=None, scale=None, pass_lengths=False),
    "reset": Case(lengths=(130,), nk=1, nv=2, gate="inf-at-70", chunk_state=True),
    # Long enough for the plan to share the chunks of a head out, over two cores and over eight.
    "shared-by-two": Case(lengths=(930,), nk=1, nv=1, dk=64, dv=32),
    "shared-by-eight": Case(lengths=(500,), nk=1, nv=1, chunk_state=True, gate="mixture"),
}


@dataclass(frozen=True)
class Bench:
    """A case whose model cycles are measured."""

    case: Case
    target: float | None = None  # model cycles per chunk and v-head on a core, pessimistic parameters

    @property
    def shortened(self) -> Case | None:
        """The same with half of the longest sequence's chunks left out; None where that would leave less than two."""
        lengths = list(self.case.lengths)
        longest = lengths.index(max(lengths))
        half = chunk_counts(lengths)[longest] // 2
        if half < 2:
            return None
        lengths[longest] -= half * CHUNK
        return replace(self.case, lengths=tuple(lengths))


SHARED_TARGET = 8_200  # D 128, two v-heads to a k-head
STATE_IO = 2 * 128 * 128 * 4 / 17  # one state in and out, at the full rate of the memory
MIXED_LENGTHS = (2049, 1011, 513, 256, 128, 65, 32, 16, 8, 4, 5, 1)

# What `chunk-gdr bench --suite NAME` runs.
BENCHES: dict[str, dict[str, Bench]] = {
    "model": {
        "d64": Bench(Case(lengths=(4096,), nk=32, nv=32, dk=64, dv=64), 6_000),
        "d80": Bench(Case(lengths=(4096,), nk=32, nv=32, dk=80, dv=80), 6_500),
        "d96": Bench(Case(lengths=(4096,), nk=32, nv=32, dk=96, dv=96), 7_200),
        "d128": Bench(Case(lengths=(4096,), nk=32, nv=32), 8_500),
        "d128-shared-keys": Bench(Case(lengths=(4096,), nk=16, nv=32), SHARED_TARGET),
        # 1.6 times faster than four cores with a v-head each.
        "d128-four-heads": Bench(Case(lengths=(8192,), nk=2, nv=4), 2 * SHARED_TARGET / 1.6),
        # 1.4 times the cycles of the same tokens in full chunks.
        "d128-mixed-lengths": Bench(
            Case(lengths=MIXED_LENGTHS, nk=16, nv=32, state=None),
            1.4 * SHARED_TARGET * sum(MIXED_LENGTHS) / CHUNK / sum(chunk_counts(MIXED_LENGTHS)),
        ),
        # Nothing overlaps: twice a chunk, and the state.
        "d128-t1": Bench(Case(lengths=(1,), nk=16, nv=32), 2 * 8_500 + STATE_IO),
        "d128-t17": Bench(Case(lengths=(17,), nk=16, nv=32), 2 * 8_500 + STATE_IO),
        "d128-t63": Bench(Case(lengths=(63,), nk=16, nv=32), 2 * 8_500 + STATE_IO),
    },
    "small": {"d64-small": Bench(Case(lengths=(256, 65, 1), nk=2, nv=4, dk=64, dv=64))},
}


@dataclass
class Inputs:
    """The operator's arguments."""

    query: Tensor  # [T, Nk, Dk]
    key: Tensor  # [T, Nk, Dk]
    value: Tensor  # [T, Nv, Dv]
    beta: Tensor | None = None  # [T, Nv]
    initial_state: Tensor | None = None  # [B, Nv, Dv, Dk]
    actual_seq_lengths: Tensor | None = None  # [B]
    scale: float | None = None
    g: Tensor | None = None  # [T, Nv]
    use_qk_l2norm_in_kernel: bool = False
    chunk_state: Tensor | None = None  # [rows, Nv, Dv, Dk]

    def arguments(self) -> dict:
        """Keyword arguments for the references; the operator takes `chunk_state` beside them."""
        return {name: value for name, value in vars(self).items() if name != "chunk_state"}

    @property
    def lengths(self) -> list[int]:
        if self.actual_seq_lengths is None:
            return [self.query.shape[0]]
        return [int(n) for n in self.actual_seq_lengths]


def chunk_state_like(inputs: Inputs, spare_rows: int = 0) -> Tensor:
    """A NaN-filled chunk_state for these inputs, with rows that must stay untouched behind it."""
    rows = sum(chunk_counts(inputs.lengths)) + spare_rows
    dtype = torch.float32 if inputs.initial_state is None else inputs.initial_state.dtype
    heads, dv = inputs.value.shape[1:]
    return torch.full((rows, heads, dv, inputs.key.shape[2]), math.nan, dtype=dtype)


def named(kinds: dict[str, Callable | None], field: str, name: str) -> Callable | None:
    if name not in kinds:
        raise ValueError(f"Case: {field}: expected one of {', '.join(kinds)}, got {name!r}")
    return kinds[name]


def make_inputs(case: Case) -> Inputs:
    """The tensors of a case; the same case gives the same bits."""
    rng = np.random.default_rng(case.seed)
    tokens = sum(case.lengths)

    def tensor(array, dtype: str) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array, dtype=np.float64)).to(getattr(torch, dtype))

    make_keys = named(KEYS, "keys", case.keys)
    query = case.query_norm * make_keys(rng, tokens, case.nk, case.dk)
    key = case.key_norm * make_keys(rng, tokens, case.nk, case.dk)
    value = np.clip(case.v_size * rng.standard_normal((tokens, case.nv, case.dv)), -V_LIMIT, V_LIMIT)
    make_beta = named(BETAS, "beta", case.beta) if isinstance(case.beta, str) else constant_beta(case.beta)
    make_gate = named(GATES, "gate", case.gate) if isinstance(case.gate, str) else constant(case.gate)
    beta = None if make_beta is None else tensor(make_beta(rng, tokens, case.nv), case.beta_dtype)
    g = None if make_gate is None else tensor(make_gate(rng, case.lengths, case.nv), "float32")
    state = None
    if case.state is not None:
        shape = (len(case.lengths), case.nv, case.dv, case.dk)
        state = tensor(case.state_size * rng.standard_normal(shape), case.state)
    lengths = torch.tensor(case.lengths, dtype=torch.int64) if case.pass_lengths else None
    inputs = Inputs(
        query=tensor(query, case.dtype),
        key=tensor(key, case.dtype),
        value=tensor(value, case.dtype),
        beta=beta,
        initial_state=state,
        actual_seq_lengths=lengths,
        scale=case.dk**-0.5 if case.scale == "default" else case.scale,
        g=g,
        use_qk_l2norm_in_kernel=case.l2norm,
    )
    if case.chunk_state:
        inputs.chunk_state = chunk_state_like(inputs)
    return inputs


def constant_beta(value: float) -> Callable:
    return lambda rng, tokens, heads: np.full((tokens, heads), value)


def looks_like_alpha(g: Tensor | None) -> bool:
    """True where g holds values above 0: legal, but more often a decay passed instead of its logarithm."""
    return g is not None and bool((g > 0).any())


def split_points(length: int, cuts: Sequence[int]) -> list[int]:
    """Lengths of the pieces of a sequence cut before these tokens."""
    edges = [0, *cuts, length]
    return [b - a for a, b in zip(edges, edges[1:])]


__all__ = [
    "BENCHES",
    "BETAS",
    "Bench",
    "CHUNK",
    "Case",
    "GATES",
    "GATE_SWEEP",
    "Inputs",
    "KEYS",
    "MIXED_LENGTHS",
    "SUITE",
    "chunk_state_like",
    "looks_like_alpha",
    "make_inputs",
    "raw_gate",
    "split_points",
]
