# SPDX-License-Identifier: Apache-2.0
"""The chunked fp32 form as it is usually written, for reading: its stages, one function each.

With rk, rq the l2norm factors (1 without l2norm), E_ij = sum_{j<l<=i} g_l and G_i = E_i,start:

    D    = exp(E) for j <= i, else 0
    A    = strict_lower(beta_i rk_i^2 (k_i . k_j) D_ij)              U = (I + A)^-1
    R    = beta_i rk_i (v_i - e^{G_i} rk_i (k_i S^T))                V = U R   (rk times the textbook V')
    out  = scale rq_i (e^{G_i} (q_i S^T) + sum_j (q_i . k_j) D_ij V_j)
    S   <- e^{G_n} S + (F V)^T K,                                    F_j = E's last row, exponentiated

Every row factor stays outside the products, so that k and q enter them as the exact halves they are. The kernel arranges
the same differently: its inverse has no gates in it, see op_kernel/chunk_gated_delta_rule/README.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence

import torch
from torch import Tensor

from .recurrence import CHUNK, L2NORM_EPS, Result, checked_lengths, chunk_counts, starts

GATE_FLOOR = -30000.0  # exp is 0 long before; keeps a finite sum and a finite half
DIAGONAL = 16  # rows of a block that is inverted in fp32 on the Vector unit
PIECE_BITS = 11  # a half carries 11 significant bits


@dataclass(frozen=True)
class Terms:
    """How many fp16 pieces each side of a product is split into; 0 leaves that side in fp32."""

    left: int = 0
    right: int = 0


@dataclass(frozen=True)
class Policy:
    """The roundings of every product, if it has fp16 operands and fp32 accumulation, as on the Cube."""

    segment_sums: Terms = Terms()
    scores: Terms = Terms()
    state_read: Terms = Terms()  # [K; Q] S^T
    solve: Terms = Terms()
    v_new: Terms = Terms()  # U R
    output: Terms = Terms()  # M V
    state_write: Terms = Terms()  # (F V)^T K
    head_scale: bool = False  # a power of two per head puts an operand's largest value into [1, 2) before its split


FP32 = Policy()
COMPENSATED = Policy(
    segment_sums=Terms(1, 3),
    scores=Terms(1, 1),
    state_read=Terms(1, 2),
    solve=Terms(2, 2),
    v_new=Terms(2, 2),
    output=Terms(2, 2),
    state_write=Terms(2, 1),
)


def split(x: Tensor, pieces: int) -> list[Tensor]:
    """x as a sum of values with fp16 mantissas: hi = half(x), lo = half(x - hi), ..."""
    result = []
    for _ in range(pieces):
        piece = x.half().float()
        result.append(piece)
        x = x - piece
    return result


def split_scaled(x: Tensor, pieces: int) -> list[Tensor]:
    """The same, each piece stored times 2^11 of the one before, so that none is a subnormal half."""
    result = []
    for i in range(pieces):
        piece = x.half().float()
        result.append(piece * 2.0 ** (-PIECE_BITS * i))
        x = (x - piece) * 2.0**PIECE_BITS
    return result


def power_of_two(x: Tensor) -> Tensor:
    """2^e per matrix with max |x| / 2^e in [1, 2); 1 where that maximum is 0 or not finite."""
    largest = x.abs().amax((-2, -1), keepdim=True)
    usable = largest.isfinite() & (largest > 0)
    exponent = torch.frexp(torch.where(usable, largest, 1.0)).exponent - 1
    return torch.ldexp(torch.ones_like(largest), exponent)


def product(left: Tensor, right: Tensor, terms: Terms, head_scale: bool = False, splitter=split) -> Tensor:
    """left @ right in fp32, from the largest pairs of pieces (hi hi, lo hi, hi lo for two and two)."""
    if terms == Terms():
        return left @ right
    left_scale = power_of_two(left) if head_scale and terms.left > 1 else 1.0
    right_scale = power_of_two(right) if head_scale and terms.right > 1 else 1.0
    lefts = splitter(left / left_scale, terms.left) if terms.left else [left]
    rights = splitter(right / right_scale, terms.right) if terms.right else [right]
    depth = max(len(lefts), len(rights))
    total = sum(a @ b for i, a in enumerate(lefts) for j, b in enumerate(rights) if i + j < depth)
    return total * left_scale * right_scale


def segment_sums(g: Tensor, terms: Terms) -> tuple[Tensor, Tensor]:
    """E [H, C, C] with E_ij = sum_{j<l<=i} g_l, and G [H, C, 1], the same sum from the chunk's start.

    A sum of the terms themselves: a difference of prefix sums cancels after a very negative gate, and is
    NaN after -inf.
    """
    chunk = g.shape[-1]
    g = g.clamp(min=GATE_FLOOR).unsqueeze(-1)  # [H, C, 1]; a NaN stays a NaN
    ones = torch.ones(chunk, chunk)
    inside = torch.where(ones.tril(-1).bool(), g, 0.0)  # [H, C, C]: g_l where l > j
    terms_of_g = torch.cat([inside, g], dim=-1)  # [H, C, C + 1]: the last column counts from the start
    sums = product(ones.tril(), terms_of_g, terms, splitter=split_scaled)
    return sums[..., :chunk], sums[..., chunk:]


def invert_unit_lower(a: Tensor, policy: Policy) -> Tensor:
    """(I + A)^-1 for strictly lower A [H, C, C]: 16-row diagonal blocks by substitution, then 32, 64 by products."""
    chunk = a.shape[-1]
    u = torch.eye(chunk).expand_as(a).clone()
    for start in range(0, chunk, DIAGONAL):
        block = slice(start, start + DIAGONAL)
        for row in range(start + 1, start + DIAGONAL):
            u[:, row, block] -= (a[:, row, None, block] @ u[:, block, block]).squeeze(1)
    size = DIAGONAL
    while size < chunk:
        for start in range(0, chunk, 2 * size):
            top, low = slice(start, start + size), slice(start + size, start + 2 * size)
            inner = product(a[:, low, top], u[:, top, top], policy.solve, policy.head_scale)
            u[:, low, top] = -product(u[:, low, low], inner, policy.solve, policy.head_scale)
        size *= 2
    return u


def unit_range(x: Tensor) -> tuple[Tensor, Tensor]:
    """x times an exact power of two per row, to norm [1, 2), and the l2norm factor left over: [H, C, D], [H, C, 1]."""
    square = (x * x).sum(-1, keepdim=True)
    exponent = torch.frexp(torch.where(square > 0, square, 1.0).sqrt()).exponent - 1
    power = torch.ldexp(torch.ones_like(square), exponent)
    return (x / power).half().float(), power / (square + L2NORM_EPS).sqrt()


def chunk_step(q, k, v, g, beta, state, scale: float, l2norm: bool, policy: Policy) -> tuple[Tensor, Tensor]:
    """One chunk of all heads: q, k [H, C, Dk], v [H, C, Dv], g, beta [H, C], state [H, Dv, Dk] -> out, new state."""
    rq = rk = 1.0
    if l2norm:
        (q, rq), (k, rk) = unit_range(q), unit_range(k)
    beta = beta.unsqueeze(-1)  # [H, C, 1]
    chunk = q.shape[1]

    # Gate
    sums, from_start = segment_sums(g, policy.segment_sums)
    lower = torch.ones(chunk, chunk).tril().bool()
    d = torch.where(lower, sums.exp(), 0.0)  # [H, C, C]
    decay = from_start.exp()  # [H, C, 1]
    to_end = d[:, -1, :, None]  # [H, C, 1]

    # Scores
    kk = product(k, k.mT, policy.scores)
    qk = product(q, k.mT, policy.scores)
    a = (beta * rk * rk * kk * d).tril(-1)
    m = qk * d

    # Solve, VNew
    u = invert_unit_lower(a, policy)
    ks = product(k, state.mT, policy.state_read, policy.head_scale)  # [H, C, Dv]
    qs = product(q, state.mT, policy.state_read, policy.head_scale)
    r = beta * rk * (v - decay * rk * ks)
    v_new = product(u, r, policy.v_new, policy.head_scale)

    # Output, State
    out = scale * rq * (decay * qs + product(m, v_new, policy.output, policy.head_scale))
    update = product((to_end * v_new).mT, k, policy.state_write, policy.head_scale)
    return out, decay[:, -1:] * state + update


@torch.no_grad()
def chunked(
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
    policy: Policy = FP32,
) -> Result:
    """The operator in chunks of 64 tokens; arguments and errors as for `recurrence`, all results fp32 (unrounded)."""
    lengths = checked_lengths(query, key, value, actual_seq_lengths, scale, beta=beta, initial_state=initial_state, g=g)
    tokens, nk, dk = query.shape
    nv, dv = value.shape[1:]
    q, k = (x.float().repeat_interleave(nv // nk, dim=1) for x in (query, key))
    rows_of = {
        "q": q,
        "k": k,
        "v": value.float(),
        "g": torch.zeros(tokens, nv) if g is None else g.float(),
        "beta": torch.ones(tokens, nv) if beta is None else beta.float(),
    }
    scale = 1.0 if scale is None else float(scale)
    if initial_state is None:
        final_state = torch.zeros(len(lengths), nv, dv, dk)
    else:
        final_state = initial_state.float().clone()
    out = torch.empty(tokens, nv, dv)
    entering = []

    for b, (begin, length) in enumerate(zip(starts(lengths), lengths)):
        for c in range(chunk_counts([length])[0]):
            live = slice(begin + c * CHUNK, min(begin + length, begin + (c + 1) * CHUNK))
            entering.append(final_state[b].clone())
            chunk = {name: pad_rows(x[live]).transpose(0, 1) for name, x in rows_of.items()}  # [H, C, ...]
            o, final_state[b] = chunk_step(
                **chunk, state=final_state[b], scale=scale, l2norm=use_qk_l2norm_in_kernel, policy=policy
            )
            out[live] = o.transpose(0, 1)[: live.stop - live.start]

    chunk_state = None
    if with_chunk_state:
        chunk_state = torch.stack(entering) if entering else torch.empty(0, nv, dv, dk)
    return Result(out, final_state, chunk_state)


def pad_rows(x: Tensor) -> Tensor:
    """Dead rows of a ragged chunk: zero q, k, v and beta, and g = 0, which freezes the decay."""
    return torch.cat([x, x.new_zeros(CHUNK - x.shape[0], *x.shape[1:])]) if x.shape[0] < CHUNK else x
