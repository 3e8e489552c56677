# SPDX-License-Identifier: Apache-2.0
"""The fp64 token recurrence: the truth of this package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence

import torch
from torch import Tensor

from .. import _load  # noqa: F401  (registers the operator)

CHUNK = 64  # tokens between two rows of chunk_state
L2NORM_EPS = 1e-6


@dataclass
class Result:
    """What an implementation returned (or should have returned)."""

    out: Tensor  # [T, Nv, Dv]
    final_state: Tensor  # [B, Nv, Dv, Dk]
    chunk_state: Tensor | None = None  # [sum ceil(len/64), Nv, Dv, Dk], the state before every 64th token


def l2norm(x: Tensor) -> Tensor:
    """x / sqrt(sum(x^2) + 1e-6) over the last dimension, in the dtype of x."""
    return x / torch.sqrt((x * x).sum(-1, keepdim=True) + L2NORM_EPS)


def checked_lengths(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    actual_seq_lengths: Tensor | Sequence[int] | None = None,
    scale: float | None = None,
    **others: Tensor | bool | None,
) -> list[int]:
    """The lengths as a list (None is one sequence of all tokens), once the operator itself has checked the arguments.

    Its kernel for meta tensors computes nothing and has every rule about dtypes, ranks, shapes, the scale, and lengths
    on the CPU. others: further arguments of the operator. Raises RuntimeError: operator, argument, expected, got.
    """
    lengths = actual_seq_lengths
    if isinstance(lengths, Tensor):
        lengths = lengths.cpu()
    elif lengths is not None:
        # An empty list would become a tensor of floats.
        lengths = torch.as_tensor(lengths) if len(lengths) else torch.empty(0, dtype=torch.int64)
    torch.ops.chunk_gdr.chunk_gated_delta_rule(
        *(x.to("meta") for x in (query, key, value)),
        **{name: x.to("meta") if isinstance(x, Tensor) else x for name, x in others.items()},
        actual_seq_lengths=lengths,
        scale=None if scale is None else float(scale),
    )
    return [query.shape[0]] if lengths is None else lengths.tolist()


def chunk_counts(lengths: Sequence[int]) -> list[int]:
    return [-(-n // CHUNK) for n in lengths]


def starts(counts: Sequence[int]) -> list[int]:
    """Exclusive prefix sums: where each sequence begins."""
    begin, result = 0, []
    for n in counts:
        result.append(begin)
        begin += n
    return result


@torch.no_grad()
def recurrence(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    beta: Tensor | None = None,
    initial_state: Tensor | None = None,
    actual_seq_lengths: Tensor | Sequence[int] | None = None,
    scale: float | None = None,
    g: Tensor | None = None,
    use_qk_l2norm_in_kernel: bool = False,
    with_chunk_state: bool = False,
) -> Result:
    """For each sequence and v-head, token by token, in fp64:

        S <- exp(g_t) S;  d = beta_t (v_t - S k_t);  S <- S + d k_t^T;  o_t = scale * S q_t

    Arguments are those of torch.ops.npu.chunk_gated_delta_rule (scale None = 1.0, lengths and not offsets), on the CPU,
    of any dtype that a backend takes; the given, already rounded, values are what is widened. with_chunk_state: return
    the state before every 64th token too. Everything returned is fp64.

    Raises:
        RuntimeError: arguments that the operator refuses, with its message.
    """
    lengths = checked_lengths(query, key, value, actual_seq_lengths, scale, beta=beta, initial_state=initial_state, g=g)
    tokens, nk, dk = query.shape
    nv, dv = value.shape[1:]
    q, k, v = query.double(), key.double(), value.double()
    if use_qk_l2norm_in_kernel:
        q, k = l2norm(q), l2norm(k)
    q, k = (x.repeat_interleave(nv // nk, dim=1).unsqueeze(-1) for x in (q, k))  # [T, Nv, Dk, 1]
    v = v.unsqueeze(-1)  # [T, Nv, Dv, 1]
    ones = torch.ones(tokens, nv, dtype=torch.float64)
    beta = (ones if beta is None else beta.double())[..., None, None]
    decay = (ones if g is None else g.double().exp())[..., None, None]
    scale = 1.0 if scale is None else float(scale)

    # Sequences advance together, longest first, so that those still running are always a prefix.
    order = sorted(range(len(lengths)), key=lambda b: -lengths[b])
    token_start = torch.tensor(starts(lengths), dtype=torch.long)[order]
    chunk_start = torch.tensor(starts(chunk_counts(lengths)), dtype=torch.long)[order]
    if initial_state is None:
        state = torch.zeros(len(lengths), nv, dv, dk, dtype=torch.float64)
    else:
        state = initial_state.double()[order]
    out = torch.empty(tokens, nv, dv, dtype=torch.float64)
    chunk_state = None
    if with_chunk_state:
        chunk_state = torch.empty(sum(chunk_counts(lengths)), nv, dv, dk, dtype=torch.float64)

    for t in range(max(lengths, default=0)):
        running = sum(n > t for n in lengths)
        rows = token_start[:running] + t
        s = state[:running]  # [running, Nv, Dv, Dk], a view
        if chunk_state is not None and t % CHUNK == 0:
            chunk_state[chunk_start[:running] + t // CHUNK] = s
        s *= decay[rows]
        d = beta[rows] * (v[rows] - s @ k[rows])
        s += d * k[rows].transpose(-1, -2)
        out[rows] = scale * (s @ q[rows]).squeeze(-1)

    final_state = torch.empty_like(state)
    final_state[order] = state
    return Result(out, final_state, chunk_state)
