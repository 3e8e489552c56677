# SPDX-License-Identifier: Apache-2.0
"""The operator as torch sees it: schema, fake tensors, torch.compile, autograd, the backend switch."""

import itertools
import math

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import chunk_gdr

NAMES = ["chunk_gdr", "npu"]
BACKENDS = ["native", "reference", "model"]
OPTIONALS = ("beta", "initial_state", "actual_seq_lengths", "scale", "g", "chunk_state", "use_qk_l2norm_in_kernel")


def operator(namespace):
    return getattr(torch.ops, namespace).chunk_gated_delta_rule.default


def inputs(seed=0, lengths=(40, 30), nk=1, nv=2, dk=16, dv=32, dtype=torch.float16):
    generator = torch.Generator().manual_seed(seed)

    def randn(*shape):
        return torch.randn(*shape, generator=generator)

    tokens, batch = sum(lengths), len(lengths)
    positional = (
        torch.nn.functional.normalize(randn(tokens, nk, dk), dim=-1).to(dtype),
        torch.nn.functional.normalize(randn(tokens, nk, dk), dim=-1).to(dtype),
        randn(tokens, nv, dv).to(dtype),
    )
    keywords = {
        "beta": torch.rand(tokens, nv, generator=generator),
        "initial_state": randn(batch, nv, dv, dk),
        "actual_seq_lengths": torch.tensor(lengths, dtype=torch.int64),
        "scale": 0.5,
        "g": -torch.rand(tokens, nv, generator=generator),
        "chunk_state": torch.zeros(tokens // 64 + batch, nv, dv, dk),
        "use_qk_l2norm_in_kernel": True,
    }
    return positional, keywords


def consistent(keywords, tokens=70):
    """Without lengths there is one sequence, so the state tensors shrink with it."""
    keywords = dict(keywords)
    if "actual_seq_lengths" not in keywords and "initial_state" in keywords:
        keywords["initial_state"] = keywords["initial_state"][:1]
    return keywords


def equal(a, b):
    return all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("namespace", NAMES)
def test_schema(namespace):
    assert str(operator(namespace)._schema) == (
        f"{namespace}::chunk_gated_delta_rule(Tensor query, Tensor key, Tensor value, *, Tensor? beta=None, "
        "Tensor? initial_state=None, Tensor? actual_seq_lengths=None, float? scale=None, Tensor? g=None, "
        "Tensor(a!)? chunk_state=None, bool use_qk_l2norm_in_kernel=False) -> (Tensor out, Tensor final_state)"
    )
    assert torch.Tag.pt2_compliant_tag in operator(namespace).tags


@pytest.mark.parametrize("namespace", NAMES)
@pytest.mark.parametrize("which", ["all", "none", "lengths-only", "no-lengths"])
def test_opcheck(namespace, which):
    positional, keywords = inputs()
    keep = {
        "all": OPTIONALS,
        "none": (),
        "lengths-only": ("actual_seq_lengths",),
        "no-lengths": tuple(name for name in OPTIONALS if name != "actual_seq_lengths"),
    }[which]
    keywords = consistent({name: x for name, x in keywords.items() if name in keep})
    results = torch.library.opcheck(operator(namespace), positional, keywords)
    assert set(results.values()) == {"SUCCESS"} and len(results) == 4


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
def test_fake_tensors_with_every_subset_of_optionals(dtype):
    """Shapes, dtypes and strides of the fake call are those of the real one, whatever is absent."""
    positional, everything = inputs(dtype=dtype)
    for present in itertools.product([False, True], repeat=len(OPTIONALS)):
        keywords = consistent({name: everything[name] for name, take in zip(OPTIONALS, present, strict=True) if take})
        real = operator("npu")(*positional, **keywords)
        with FakeTensorMode() as mode:
            fake_positional = [mode.from_tensor(x) for x in positional]
            fake_keywords = {n: mode.from_tensor(x) if isinstance(x, torch.Tensor) else x for n, x in keywords.items()}
            fake = operator("npu")(*fake_positional, **fake_keywords)
        for x, y in zip(real, fake, strict=True):
            assert (x.shape, x.dtype, x.stride(), x.device) == (y.shape, y.dtype, y.stride(), y.device), present


@pytest.mark.parametrize("state_dtype", [torch.float16, torch.float32], ids=str)
def test_meta_state_dtype(state_dtype):
    q = torch.empty(5, 1, 16, dtype=torch.float16, device="meta")
    state = torch.empty(1, 1, 16, 16, dtype=state_dtype, device="meta")
    out, final_state = operator("npu")(q, q, q, initial_state=state)
    assert out.device.type == "meta" and out.dtype == torch.float16
    assert final_state.dtype == state_dtype and final_state.shape == (1, 1, 16, 16)
    assert operator("npu")(q, q, q)[1].dtype == torch.float32


@pytest.mark.parametrize("namespace", NAMES)
def test_fake_lengths_on_the_cpu_beside_a_device(namespace):
    with FakeTensorMode():
        q = torch.empty(5, 1, 16, dtype=torch.float16, device="cuda")
        lengths = torch.empty(2, dtype=torch.int64)
        out, final_state = operator(namespace)(q, q, q, actual_seq_lengths=lengths)
    assert out.device.type == final_state.device.type == "cuda" and final_state.shape[0] == 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_compile(backend):
    """One graph for any number of tokens, equal to eager, bit for bit, also in what it writes in place."""

    @torch.compile(fullgraph=True, backend="aot_eager", dynamic=True)
    def compiled(positional, keywords):
        out, state = operator("npu")(*positional, **keywords)
        return out * 2, state + keywords["chunk_state"].sum(0, keepdim=True)

    with chunk_gdr.backend(backend):
        for lengths in ((40, 30), (3, 64), (65, 0)):
            positional, keywords = inputs(lengths=lengths)
            eager = {**keywords, "chunk_state": keywords["chunk_state"].clone()}
            out, state = operator("npu")(*positional, **eager)
            got = compiled(positional, keywords)
            assert equal(got, (out * 2, state + eager["chunk_state"].sum(0, keepdim=True)))
            assert torch.equal(keywords["chunk_state"], eager["chunk_state"]) and eager["chunk_state"].any()


@pytest.mark.parametrize("backend", BACKENDS)
def test_compile_with_inductor(backend):
    compiled = _inductor_module()
    positional, keywords = inputs()
    with chunk_gdr.backend(backend):
        eager = {**keywords, "chunk_state": keywords["chunk_state"].clone()}
        want = operator("npu")(*positional, **eager)
        got = compiled(positional, keywords)
    assert equal(got, want) and torch.equal(keywords["chunk_state"], eager["chunk_state"])


_compiled = []


def _inductor_module():
    """Compiled once, under whatever backend comes first: the graph reads the switch when it runs."""
    if not _compiled:
        _compiled.append(torch.compile(lambda args, kwargs: operator("npu")(*args, **kwargs), fullgraph=True))
    return _compiled[0]


def test_two_compiled_steps_with_state_in_place():
    @torch.compile(fullgraph=True, backend="aot_eager")
    def step(positional, state, entering):
        out, state = operator("npu")(*positional, initial_state=state, chunk_state=entering[:1])
        out_2, state = operator("npu")(*positional, initial_state=state, chunk_state=entering[1:])
        return out, out_2, state

    positional, _ = inputs(lengths=(5,))
    state = torch.zeros(1, 2, 32, 16)
    entering = torch.full((2, 2, 32, 16), math.nan)
    out, out_2, final = step(positional, state, entering)
    eager_out, eager_1 = operator("npu")(*positional)
    eager_out_2, eager_2 = operator("npu")(*positional, initial_state=eager_1)
    assert equal((out, out_2, final), (eager_out, eager_out_2, eager_2))
    assert torch.equal(entering[0], state[0]) and torch.equal(entering[1], eager_1[0])


def test_export():
    class Layer(torch.nn.Module):
        def forward(self, q, k, v, g):
            return operator("npu")(q, k, v, g=g)

    positional, keywords = inputs()
    dynamic = {0: torch.export.Dim("tokens")}
    program = torch.export.export(Layer(), (*positional, keywords["g"]), dynamic_shapes=(dynamic,) * 4)
    other, other_keywords = inputs(lengths=(33,))
    got = program.module()(*other, other_keywords["g"])
    assert equal(got, operator("npu")(*other, g=other_keywords["g"]))


# --- autograd


@pytest.mark.parametrize("namespace", NAMES)
@pytest.mark.parametrize("which", [0, 1, 2, "g", "beta", "initial_state"], ids=str)
def test_backward_is_refused(namespace, which):
    positional, keywords = inputs(dtype=torch.float32)
    leaf = positional[which] if isinstance(which, int) else keywords[which]
    leaf.requires_grad_()
    out, state = operator(namespace)(*positional, **keywords)
    assert out.requires_grad
    with pytest.raises(RuntimeError, match=f"derivative for {namespace}::chunk_gated_delta_rule is not implemented"):
        out.sum().backward()
    for other in (state, keywords["chunk_state"]):
        with pytest.raises(RuntimeError, match="is not implemented"):
            other.sum().backward()
    assert leaf.grad is None


@pytest.mark.parametrize("namespace", NAMES)
@pytest.mark.parametrize("which", [0, 1, 2, "g", "beta", "initial_state", "chunk_state"], ids=str)
@pytest.mark.parametrize("no_grad", [False, True], ids=["grad", "no_grad"])
def test_forward_mode_is_refused(namespace, which, no_grad):
    positional, keywords = inputs(dtype=torch.float32)
    primal = positional[which] if isinstance(which, int) else keywords[which]

    def call(x):
        if isinstance(which, int):
            return operator(namespace)(*positional[:which], x, *positional[which + 1 :], **keywords)
        return operator(namespace)(*positional, **{**keywords, which: x})

    text = f"forward-mode derivative of {namespace}::chunk_gated_delta_rule is not implemented"
    with torch.set_grad_enabled(not no_grad):
        with torch.autograd.forward_ad.dual_level(), pytest.raises(NotImplementedError, match=text):
            call(torch.autograd.forward_ad.make_dual(primal, torch.ones_like(primal)))
        with pytest.raises(NotImplementedError, match=text):
            torch.func.jvp(call, (primal,), (torch.ones_like(primal),))
    assert not keywords["chunk_state"].any()


def test_plain_call_beside_dual_numbers():
    positional, keywords = inputs(dtype=torch.float32)
    want = operator("npu")(*positional, **keywords)
    with torch.autograd.forward_ad.dual_level():
        torch.autograd.forward_ad.make_dual(positional[0], torch.ones_like(positional[0]))
        assert equal(operator("npu")(*positional, **keywords), want)


@pytest.mark.parametrize("compile_it", [False, True], ids=["eager", "compiled"])
def test_forward_without_grad(compile_it):
    positional, keywords = inputs(dtype=torch.float32)
    want = operator("npu")(*positional, **keywords)
    positional[2].requires_grad_()

    def call(args, kwargs):
        return operator("npu")(*args, **kwargs)

    if compile_it:
        call = torch.compile(call, fullgraph=True, backend="aot_eager")
    with torch.no_grad():
        assert equal(call(positional, keywords), want)
    with torch.inference_mode():
        assert equal(call(*inputs(dtype=torch.float32)), want)


def test_write_in_place_is_tracked():
    """So that autograd notices when it had saved chunk_state before."""
    positional, keywords = inputs()
    weight = torch.ones((), requires_grad=True)
    product = weight * keywords["chunk_state"]
    operator("npu")(*positional, **keywords)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()
    assert keywords["initial_state"]._version == positional[0]._version == 0


def test_writing_into_a_leaf_that_requires_grad_is_refused():
    positional, keywords = inputs()
    keywords["chunk_state"].requires_grad_()
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        operator("npu")(*positional, **keywords)
    assert not keywords["chunk_state"].any()


# --- the switch


def test_switch_nests_and_restores():
    assert chunk_gdr.current_backend() == "native"
    with chunk_gdr.backend("reference") as outer:
        assert chunk_gdr.current_backend() == "reference"
        with chunk_gdr.backend("model"), outer:
            assert chunk_gdr.current_backend() == "reference"
        assert chunk_gdr.current_backend() == "reference"
        with pytest.raises(ZeroDivisionError), chunk_gdr.backend("model"):
            raise ZeroDivisionError
        assert chunk_gdr.current_backend() == "reference"
    assert chunk_gdr.current_backend() == "native"


def test_switch_governs_compiled_graphs():
    compiled = torch.compile(lambda *args: operator("npu")(*args), fullgraph=True, backend="aot_eager")
    q = torch.ones(3, 1, 1, dtype=torch.float64)
    with pytest.raises(RuntimeError, match="dtype float16, bfloat16 or float32 \\(backend 'native'\\), got float64"):
        compiled(q, q, q)
    with chunk_gdr.backend("reference"):
        assert compiled(q, q, q)[0].dtype == torch.float64
    with pytest.raises(RuntimeError, match="backend 'native'"):
        compiled(q, q, q)


@pytest.mark.parametrize("fullgraph", [True, False])
def test_switch_inside_a_compiled_region_is_refused(fullgraph):
    @torch.compile(fullgraph=fullgraph, backend="aot_eager")
    def inside(*args):
        with chunk_gdr.backend("reference"):
            return operator("npu")(*args)

    positional, _ = inputs()
    with pytest.raises(RuntimeError, match="chunk_gdr.backend: cannot switch inside a torch.compile region"):
        inside(*positional)
    assert chunk_gdr.current_backend() == "native"


@pytest.mark.parametrize("fullgraph", [True, False])
def test_entering_a_switch_made_outside_is_refused(fullgraph):
    switch = chunk_gdr.backend("reference")

    @torch.compile(fullgraph=fullgraph, backend="aot_eager")
    def inside(*args):
        with switch:
            return operator("npu")(*args)

    positional, _ = inputs()
    with pytest.raises(
        RuntimeError, match="enter a `backend` context manager|cannot switch inside a torch.compile region"
    ):
        inside(*positional)
    assert chunk_gdr.current_backend() == "native"


def test_unknown_backend():
    with pytest.raises(ValueError, match="expected 'native', 'model' or 'reference', got 'npu'"):
        chunk_gdr.backend("npu")


def test_last_report_counts_per_chunk_and_head():
    tokens, heads = 70, 3  # two chunks
    query = torch.zeros(tokens, 1, 32, dtype=torch.float16)
    value = torch.zeros(tokens, heads, 16, dtype=torch.float16)
    for size, chunks in (("auto", 2), (16, 5)):
        with chunk_gdr.backend("model"), chunk_gdr.tiling.chunk_size(size):
            torch.ops.chunk_gdr.chunk_gated_delta_rule(query, query, value)
        cycles = chunk_gdr.model.last_report()["model_cycles"]
        assert cycles["per_chunk_head"] == pytest.approx(sum(cycles["cores"]) / (chunks * heads))
        assert cycles["total"] == max(cycles["cores"])
