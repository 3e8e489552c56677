# SPDX-License-Identifier: Apache-2.0
"""chunk_gated_delta_rule over padded or packed batches, on top of the torch operator."""

import torch

from .. import _load  # noqa: F401


def _require(condition, argument, expected, got):
    if not condition:
        raise ValueError(f"chunk_gated_delta_rule: argument '{argument}': expected {expected}, got {got}")


def _require_tensor(argument, x):
    _require(isinstance(x, torch.Tensor), argument, "a tensor", type(x).__name__)


def _require_shape(argument, tensor, **want):
    _require_tensor(argument, tensor)
    shape = tuple(tensor.shape)
    text = "[" + ", ".join(f"{name}={size}" for name, size in want.items()) + "]"
    _require(shape == tuple(want.values()), argument, f"shape {text}", list(shape))


def chunk_gated_delta_rule(
    q,
    k,
    v,
    g=None,
    beta=None,
    scale=None,
    initial_state=None,
    output_final_state=False,
    use_qk_l2norm_in_kernel=False,
    cu_seqlens=None,
    state_v_first=False,
):
    """Gated delta rule over whole sequences (prefill), forward only.

    Per sequence and value head, token by token, with S of shape [V, K]::

        S <- exp(g_t) S;   d = beta_t (v_t - S k_t);   S <- S + d k_t^T;   o_t = scale S q_t

    (Yang, Kautz, Hatamizadeh: Gated Delta Networks: Improving Mamba2 with Delta Rule, ICLR 2025, equation 10, with
    alpha = exp(g).) The argument list, layouts and defaults are those of flash-linear-attention.

    .. warning::
        ``scale=None`` means ``K ** -0.5`` HERE, and 1.0 in ``torch.ops.npu.chunk_gated_delta_rule`` and
        ``torch.ops.chunk_gdr.chunk_gated_delta_rule``, which follow the convention of the Ascend operators.

    .. warning::
        ``g`` is the LOGARITHM of the decay: 0 keeps the state, -inf clears it. A decay in (0, 1] passed by mistake is a
        legal ``g`` that makes the state grow; ``chunk-gdr check`` warns about it.

    Args:
        q, k: [B, T, H, K], float16; on CPU also bfloat16, float32 (and float64 with backend "reference").
            1 <= K <= 128.
        v: [B, T, HV, V], dtype of q. HV a multiple of H; value head h reads key head h // (HV / H). 1 <= V <= 128.
        g: [B, T, HV], natural log of the per-token decay, any value down to -inf; computed with as float32. None: 0.
        beta: [B, T, HV], the write strength (after its sigmoid); dtype of q or float32. None: 1.
        scale: factor of the output. None: K ** -0.5.
        initial_state: [N, HV, K, V], used as float32; [N, HV, V, K] with ``state_v_first``. None: zeros. N is B, or the
            number of packed sequences.
        output_final_state: also return the state after the last token.
        use_qk_l2norm_in_kernel: first x / sqrt(sum(x ** 2) + 1e-6) for every row x of q and k.
        cu_seqlens: [N + 1], int32 or int64, starting with 0: sequences packed along T, with B = 1. Repeated values are
            empty sequences.
        state_v_first: layout of initial_state and of the returned state.

    Returns:
        (o, final_state): o [B, T, HV, V] in the dtype of q; final_state float32 in the layout of ``initial_state``,
        never an alias of it, or None without ``output_final_state``.

    Raises:
        ValueError: batch layout: tensors, ranks, B, T, cu_seqlens (its values on the CPU), shape of initial_state.
        RuntimeError: what the operator itself checks: devices, dtypes, heads, head dims, lengths; and a backward pass,
            which does not exist yet. In its messages q, k, v are called query, key, value, and B and T are one
            dimension.
    """
    for name, tensor, layout in (("q", q, "[B, T, H, K]"), ("k", k, "[B, T, H, K]"), ("v", v, "[B, T, HV, V]")):
        _require_tensor(name, tensor)
        _require(tensor.dim() == 4, name, f"rank 4, {layout}", list(tensor.shape))
    batch, tokens, heads, key_dim = q.shape
    value_heads, value_dim = v.shape[2:]
    _require_shape("k", k, B=batch, T=tokens, H=heads, K=key_dim)
    _require_shape("v", v, B=batch, T=tokens, HV=value_heads, V=value_dim)
    for name, factor in (("g", g), ("beta", beta)):
        if factor is not None:
            _require_shape(name, factor, B=batch, T=tokens, HV=value_heads)

    lengths, sequences = _lengths(q, cu_seqlens, batch, tokens)
    if initial_state is not None:
        if state_v_first:
            _require_shape("initial_state", initial_state, N=sequences, HV=value_heads, V=value_dim, K=key_dim)
        else:
            _require_shape("initial_state", initial_state, N=sequences, HV=value_heads, K=key_dim, V=value_dim)
            initial_state = initial_state.transpose(-1, -2)
        initial_state = initial_state.float()
    if scale is None and key_dim > 0:  # K = 0 is the operator's to refuse
        scale = key_dim**-0.5

    out, final_state = torch.ops.chunk_gdr.chunk_gated_delta_rule(
        q.flatten(0, 1),
        k.flatten(0, 1),
        v.flatten(0, 1),
        beta=_factors(beta, q.dtype),
        initial_state=initial_state,
        actual_seq_lengths=lengths,
        scale=scale,
        g=_factors(g, torch.float64 if q.dtype == torch.float64 else torch.float32),
        use_qk_l2norm_in_kernel=use_qk_l2norm_in_kernel,
    )
    out = out.unflatten(0, (batch, tokens))
    if not output_final_state:
        return out, None
    return out, final_state if state_v_first else final_state.transpose(-1, -2).contiguous()


def _lengths(q, cu_seqlens, batch, tokens):
    """Lengths for the operator (None: one sequence) and the number of sequences."""
    if cu_seqlens is None:
        if batch == 1:
            return None, 1
        return torch.full((batch,), tokens, dtype=torch.int64, device=q.device), batch
    _require(batch == 1, "q", "B=1, sequences packed along T, with cu_seqlens", f"B={batch}")
    _require_tensor("cu_seqlens", cu_seqlens)
    is_integer = cu_seqlens.dtype in (torch.int32, torch.int64)
    _require(is_integer, "cu_seqlens", "dtype int32 or int64", str(cu_seqlens.dtype).removeprefix("torch."))
    _require(cu_seqlens.dim() == 1 and cu_seqlens.shape[0] >= 1, "cu_seqlens", "shape [N + 1]", list(cu_seqlens.shape))
    lengths = cu_seqlens.diff()
    # A value can be looked at only outside of graphs, and without a wait only on the CPU.
    if cu_seqlens.device.type == "cpu" and not torch.compiler.is_compiling():
        _require(int(cu_seqlens[0]) == 0, "cu_seqlens", "0 as its first element", int(cu_seqlens[0]))
        if (lengths < 0).any():
            i = int((lengths < 0).int().argmax())
            pair = f"{int(cu_seqlens[i + 1])} after {int(cu_seqlens[i])} at index {i + 1}"
            _require(False, "cu_seqlens", "values that never fall", pair)
        _require(int(cu_seqlens[-1]) == tokens, "cu_seqlens", f"T={tokens} as its last element", int(cu_seqlens[-1]))
    return lengths, cu_seqlens.shape[0] - 1


def _factors(factors, dtype):
    """[B, T, HV] -> [B * T, HV]. The operator takes float32 anywhere, so only a third dtype needs a conversion."""
    if factors is None:
        return None
    factors = factors.flatten(0, 1)
    return factors if factors.dtype in (dtype, torch.float32) else factors.float()
