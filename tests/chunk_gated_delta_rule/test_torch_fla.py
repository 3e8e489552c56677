# SPDX-License-Identifier: Apache-2.0
"""chunk_gdr.chunk_gated_delta_rule, the signature of flash-linear-attention, against a recurrence in its own layout."""

import inspect
import re

import pytest
import torch

import chunk_gdr
from chunk_gdr.ops import chunk_gated_delta_rule


def recurrence(q, k, v, g=None, beta=None, scale=None, initial_state=None, l2norm=False, bounds=None):
    """fp64, batch and heads first, state [N, HV, K, V]; sequences are rows of the batch, or spans of the one row."""
    q, k, v = (x.double() for x in (q, k, v))
    if l2norm:
        q, k = (x / (x.square().sum(-1, keepdim=True) + 1e-6).sqrt() for x in (q, k))
    groups = v.shape[2] // q.shape[2]
    q, k = (x.repeat_interleave(groups, dim=2) for x in (q, k))
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    spans = [(b, 0, q.shape[1]) for b in range(q.shape[0])] if bounds is None else [(0, a, b) for a, b in bounds]
    out, states = torch.zeros(v.shape, dtype=torch.float64), []
    for n, (b, begin, end) in enumerate(spans):
        state = torch.zeros(v.shape[2], q.shape[3], v.shape[3], dtype=torch.float64)
        if initial_state is not None:
            state = initial_state[n].double()
        for t in range(begin, end):
            if g is not None:
                state = state * g[b, t].double().exp()[:, None, None]
            rest = v[b, t] - torch.einsum("hkv,hk->hv", state, k[b, t])
            if beta is not None:
                rest = rest * beta[b, t].double()[:, None]
            state = state + k[b, t][:, :, None] * rest[:, None, :]
            out[b, t] = scale * torch.einsum("hkv,hk->hv", state, q[b, t])
        states.append(state)
    return out, torch.stack(states) if states else torch.zeros(0, v.shape[2], q.shape[3], v.shape[3])


def inputs(batch=2, tokens=37, heads=2, value_heads=4, key_dim=24, value_dim=40, dtype=torch.float16, sequences=None):
    generator = torch.Generator().manual_seed(0)

    def randn(*shape):
        return torch.randn(*shape, generator=generator)

    unit = torch.nn.functional.normalize
    return {
        "q": unit(randn(batch, tokens, heads, key_dim), dim=-1).to(dtype),
        "k": unit(randn(batch, tokens, heads, key_dim), dim=-1).to(dtype),
        "v": randn(batch, tokens, value_heads, value_dim).to(dtype),
        "g": -torch.rand(batch, tokens, value_heads, generator=generator),
        "beta": torch.rand(batch, tokens, value_heads, generator=generator),
        "initial_state": randn(sequences or batch, value_heads, key_dim, value_dim),
    }


def assert_close(got, want, rel=3e-4):
    assert (got.double() - want).norm() <= rel * want.norm()


def test_signature():
    assert str(inspect.signature(chunk_gated_delta_rule)) == (
        "(q, k, v, g=None, beta=None, scale=None, initial_state=None, output_final_state=False, "
        "use_qk_l2norm_in_kernel=False, cu_seqlens=None, state_v_first=False)"
    )
    assert chunk_gdr.chunk_gated_delta_rule is chunk_gated_delta_rule


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("l2norm", [False, True], ids=["plain", "l2norm"])
def test_padded_batch(batch, dtype, l2norm):
    args = inputs(batch=batch, dtype=dtype)
    want_out, want_state = recurrence(**args, l2norm=l2norm)
    out, state = chunk_gated_delta_rule(**args, output_final_state=True, use_qk_l2norm_in_kernel=l2norm)
    assert out.dtype == dtype and out.shape == args["v"].shape and out.is_contiguous()
    assert state.dtype == torch.float32 and state.is_contiguous()
    assert_close(out, want_out, rel={torch.float16: 3e-4, torch.bfloat16: 3e-3, torch.float32: 1e-6}[dtype])
    assert_close(state, want_state, rel=1e-6)


@pytest.mark.parametrize("index_dtype", [torch.int32, torch.int64], ids=str)
def test_packed_batch(index_dtype):
    offsets = [0, 3, 3, 68, 70]
    args = inputs(batch=1, tokens=70, sequences=4)
    want_out, want_state = recurrence(**args, bounds=list(zip(offsets[:-1], offsets[1:], strict=True)))
    out, state = chunk_gated_delta_rule(
        **args, output_final_state=True, cu_seqlens=torch.tensor(offsets, dtype=index_dtype)
    )
    assert_close(out, want_out)
    assert_close(state, want_state, rel=1e-6)
    assert torch.equal(state[1], args["initial_state"][1])


def test_no_tokens():
    args = inputs(batch=2, tokens=0)
    out, state = chunk_gated_delta_rule(**args, output_final_state=True)
    assert out.shape == (2, 0, 4, 40) and torch.equal(state, args["initial_state"])
    args = inputs(batch=1, tokens=0)
    del args["initial_state"]
    out, state = chunk_gated_delta_rule(**args, output_final_state=True, cu_seqlens=torch.tensor([0]))
    assert out.shape == (1, 0, 4, 40) and state.shape == (0, 4, 24, 40)


def test_defaults():
    args = {name: x for name, x in inputs().items() if name in ("q", "k", "v")}
    want_out, want_state = recurrence(**args)
    out, state = chunk_gated_delta_rule(**args)
    assert state is None
    assert_close(out, want_out)
    assert torch.equal(out, chunk_gated_delta_rule(**args, scale=24**-0.5)[0])
    assert_close(chunk_gated_delta_rule(**args, scale=2.0)[0], recurrence(**args, scale=2.0)[0])
    assert_close(chunk_gated_delta_rule(**args, output_final_state=True)[1], want_state, rel=1e-6)


def test_state_v_first():
    args = inputs()
    out, state = chunk_gated_delta_rule(**args, output_final_state=True)
    args["initial_state"] = args["initial_state"].transpose(-1, -2)
    out_2, state_2 = chunk_gated_delta_rule(**args, output_final_state=True, state_v_first=True)
    assert torch.equal(out, out_2) and torch.equal(state, state_2.transpose(-1, -2))


@pytest.mark.parametrize("square", [False, True])
def test_state_is_not_aliased(square):
    args = inputs(tokens=0, value_dim=24 if square else 40)
    before = args["initial_state"].clone()
    _, state = chunk_gated_delta_rule(**args, output_final_state=True)
    state.zero_()
    assert torch.equal(args["initial_state"], before)


def test_other_dtypes_of_factors_and_state():
    """As models hand them over: everything bfloat16 but float32 q, k, v, or the other way round."""
    args = inputs(dtype=torch.float32)
    for name in ("g", "beta", "initial_state"):
        args[name] = args[name].bfloat16()
    want_out, want_state = recurrence(**args)
    out, state = chunk_gated_delta_rule(**args, output_final_state=True)
    assert state.dtype == torch.float32
    assert_close(out, want_out, rel=1e-6)
    assert_close(state, want_state, rel=1e-6)


def test_reference_in_float64():
    args = {name: x.double() for name, x in inputs(dtype=torch.float64).items()}
    with chunk_gdr.backend("reference"):
        out, state = chunk_gated_delta_rule(**args, output_final_state=True)
    args["initial_state"] = args["initial_state"].float()
    want_out, want_state = recurrence(**args)
    assert_close(out, want_out, rel=1e-13)
    assert_close(state, want_state, rel=1e-7)


@pytest.mark.parametrize("backend", ["native", "reference", "model"])
@pytest.mark.parametrize("packed", [False, True], ids=["padded", "packed"])
def test_compile(backend, packed):
    args = (
        inputs(batch=1, tokens=30, heads=1, value_heads=2, key_dim=16, value_dim=32, sequences=2)
        if packed
        else inputs(tokens=10)
    )
    if packed:
        args["cu_seqlens"] = torch.tensor([0, 11, 30])
    call = torch.compile(chunk_gated_delta_rule, fullgraph=True, backend="aot_eager")
    with chunk_gdr.backend(backend):
        want = chunk_gated_delta_rule(**args, output_final_state=True, use_qk_l2norm_in_kernel=True)
        got = call(**args, output_final_state=True, use_qk_l2norm_in_kernel=True)
    assert torch.equal(got[0], want[0]) and torch.equal(got[1], want[1])


def no(*shape):
    return torch.zeros(*shape, dtype=torch.float16)


@pytest.mark.parametrize(
    "change, argument, expected, got",
    [
        ({"q": no(37, 2, 24)}, "q", "rank 4, [B, T, H, K]", "[37, 2, 24]"),
        ({"v": no(2, 37, 40)}, "v", "rank 4, [B, T, HV, V]", "[2, 37, 40]"),
        ({"k": no(2, 36, 2, 24)}, "k", "shape [B=2, T=37, H=2, K=24]", "[2, 36, 2, 24]"),
        ({"k": no(2, 37, 2, 25)}, "k", "shape [B=2, T=37, H=2, K=24]", "[2, 37, 2, 25]"),
        ({"v": no(1, 74, 4, 40)}, "v", "shape [B=2, T=37, HV=4, V=40]", "[1, 74, 4, 40]"),
        ({"g": no(2, 4, 37)}, "g", "shape [B=2, T=37, HV=4]", "[2, 4, 37]"),
        ({"beta": no(2, 37, 2)}, "beta", "shape [B=2, T=37, HV=4]", "[2, 37, 2]"),
        ({"initial_state": no(1, 4, 24, 40)}, "initial_state", "shape [N=2, HV=4, K=24, V=40]", "[1, 4, 24, 40]"),
        ({"initial_state": no(2, 4, 40, 24)}, "initial_state", "shape [N=2, HV=4, K=24, V=40]", "[2, 4, 40, 24]"),
        ({"state_v_first": True}, "initial_state", "shape [N=2, HV=4, V=40, K=24]", "[2, 4, 24, 40]"),
        ({"cu_seqlens": torch.tensor([0, 37])}, "q", "B=1, sequences packed along T, with cu_seqlens", "B=2"),
        ({"q": [[1.0]]}, "q", "a tensor", "list"),
        ({"v": no(2, 37, 4, 40).numpy()}, "v", "a tensor", "ndarray"),
        ({"g": 0.5}, "g", "a tensor", "float"),
        ({"beta": 1}, "beta", "a tensor", "int"),
        ({"initial_state": "zeros"}, "initial_state", "a tensor", "str"),
    ],
    ids=str,
)
def test_batch_layout_errors(change, argument, expected, got):
    text = f"chunk_gated_delta_rule: argument '{argument}': expected {expected}, got {got}"
    with pytest.raises(ValueError, match=re.escape(text)):
        chunk_gated_delta_rule(**{**inputs(), **change})


@pytest.mark.parametrize(
    "heads, value_heads, key_dim, value_dim, text",
    [
        (0, 2, 24, 40, "'query': expected at least one head, got 0"),
        (2, 0, 24, 40, "'value': expected at least one head, got 0"),
        (2, 3, 24, 40, "'value': expected Nv a multiple of Nk=2, got Nv=3"),
        (2, 1, 24, 40, "'value': expected Nv a multiple of Nk=2, got Nv=1"),
        (1, 2, 0, 40, "'query': expected head dim Dk from 1 to 128, got 0"),
        (1, 2, 129, 40, "'query': expected head dim Dk from 1 to 128, got 129"),
        (1, 2, 24, 0, "'value': expected head dim Dv from 1 to 128, got 0"),
    ],
)
def test_heads_and_dims_are_the_operators_to_refuse(heads, value_heads, key_dim, value_dim, text):
    args = inputs(heads=heads, value_heads=value_heads, key_dim=key_dim, value_dim=value_dim)
    with pytest.raises(RuntimeError, match=re.escape(f"chunk_gated_delta_rule: argument {text}")) as error:
        chunk_gated_delta_rule(**args)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "offsets, error, text",
    [
        (torch.tensor([0.0, 70.0]), ValueError, "argument 'cu_seqlens': expected dtype int32 or int64, got float32"),
        (torch.tensor([[0, 70]]), ValueError, "argument 'cu_seqlens': expected shape [N + 1], got [1, 2]"),
        (torch.zeros(0, dtype=torch.int64), ValueError, "argument 'cu_seqlens': expected shape [N + 1], got [0]"),
        (torch.tensor([1, 71]), ValueError, "argument 'cu_seqlens': expected 0 as its first element, got 1"),
        (torch.tensor([0, 69]), ValueError, "argument 'cu_seqlens': expected T=70 as its last element, got 69"),
        (
            torch.tensor([0, 40, 30, 70]),
            ValueError,
            "argument 'cu_seqlens': expected values that never fall, got 30 after 40 at index 2",
        ),
        ([0, 70], ValueError, "argument 'cu_seqlens': expected a tensor, got list"),
    ],
    ids=["float", "rank-2", "empty", "not-from-0", "short", "falling", "list"],
)
def test_cu_seqlens_errors(offsets, error, text):
    args = inputs(batch=1, tokens=70)
    del args["initial_state"]
    with pytest.raises(error, match=re.escape("chunk_gated_delta_rule: " + text)):
        chunk_gated_delta_rule(**args, cu_seqlens=offsets)


def test_docstring_names_the_traps():
    text = " ".join(chunk_gated_delta_rule.__doc__.split())
    assert "LOGARITHM of the decay" in text
    assert "1.0 in ``torch.ops.npu.chunk_gated_delta_rule``" in text
