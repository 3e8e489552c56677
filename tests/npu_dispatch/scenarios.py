# SPDX-License-Identifier: Apache-2.0
"""Runs in a process of its own, which has the fake device: calls of the operator on tensors of that device."""

import contextlib
import ctypes
import io
import types
from dataclasses import dataclass, field
from typing import Any

import torch

fake: Any = None
DEVICE = "npu:0"


def start(libraries):
    """What `import torch_npu` does on a machine with a card: the device's name and module, then the NPU kernels."""
    global fake
    torch.set_num_threads(1)
    torch.utils.rename_privateuse1_backend("npu")
    module = types.ModuleType("torch.npu")
    module._lazy_init = lambda: None
    module.is_available = lambda: True
    module.current_device = lambda: 0
    module.device_count = lambda: 1
    torch._register_device_module("npu", module)
    import chunk_gdr  # noqa: F401

    fake = ctypes.CDLL(str(libraries["fake"]), mode=ctypes.RTLD_GLOBAL)
    fake.fake_events.restype = fake.fake_load_kernels.restype = ctypes.c_char_p
    fake.fake_fail.argtypes = [ctypes.c_char_p, ctypes.c_int]
    fake.fake_set_soc.argtypes = [ctypes.c_char_p]
    for setter in (fake.fake_set_stream, fake.fake_set_cores, fake.fake_set_format):
        setter.argtypes = [ctypes.c_int64]
    torch.ops.load_library(str(libraries["npu"]))
    error = fake.fake_load_kernels(str(libraries["kernels"]).encode())
    assert error is None, error


@dataclass
class Outcome:
    out: Any = None
    final_state: Any = None
    chunk_state: Any = None
    error: str | None = None
    events: list = field(default_factory=list)  # (name, {key: value})
    pointers: dict = field(default_factory=dict)  # of the caller's tensors

    def named(self, name):
        return [values for event, values in self.events if event == name]


def call(inputs, namespace="npu", on_cpu=(), layout=None, **settings):
    """One call with every tensor on the device but those named in `on_cpu`; only the call itself is recorded.

    `layout`: {name: function of the device tensor}. `settings`: fail=(entry point, code), stream, soc, cores, format.
    """
    arguments = {}
    for name, value in vars(inputs).items():
        if isinstance(value, torch.Tensor) and name not in on_cpu:
            value = (layout or {}).get(name, lambda tensor: tensor)(value.to(DEVICE))
        arguments[name] = value
    outcome = Outcome()
    outcome.pointers = {name: x.data_ptr() for name, x in arguments.items() if isinstance(x, torch.Tensor)}
    fake.fake_reset()
    for name, value in settings.items():
        if name == "fail":
            fake.fake_fail(value[0].encode(), value[1])
        else:
            getattr(fake, f"fake_set_{name}")(value.encode() if isinstance(value, str) else value)
    try:
        out, final_state = getattr(torch.ops, namespace).chunk_gated_delta_rule(**arguments)
    except RuntimeError as error:
        outcome.error = str(error).splitlines()[0]
    outcome.events = [parse(line) for line in fake.fake_events().decode().splitlines()]
    fake.fake_reset()
    if outcome.error is None:
        assert out.device.type == final_state.device.type == "npu"
        outcome.out, outcome.final_state = out.cpu(), final_state.cpu()
    if inputs.chunk_state is not None:
        outcome.chunk_state = arguments["chunk_state"].cpu()
    return outcome


def parse(line):
    name, *pairs = line.split(" ")
    return name, {key: value for key, _, value in (pair.partition("=") for pair in pairs)}


def sliced(tensor):
    """The same values with other strides, from an address that is no multiple of 32."""
    wide = torch.full((*tensor.shape[:-1], tensor.shape[-1] + 3), 7, dtype=tensor.dtype, device=tensor.device)
    wide[..., 1:-2] = tensor
    return wide[..., 1:-2]


def unaligned(tensor):
    """Contiguous, one element off an aligned address."""
    flat = torch.zeros(tensor.numel() + 1, dtype=tensor.dtype, device=tensor.device)
    flat[1:] = tensor.flatten()
    return flat[1:].view(tensor.shape)


LAYOUTS = {"sliced": sliced, "unaligned": unaligned}


def call_with_layout(inputs, kind, names):
    return call(inputs, layout=dict.fromkeys(names, LAYOUTS[kind]))


def command(argv):
    """`chunk-gdr` with the fake device for a card: exit code, output, events."""
    from chunk_gdr import _npu, cli

    _npu.missing = None
    torch.npu.synchronize = lambda: None
    fake.fake_reset()
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        code = cli.main(argv)
    events = [parse(line) for line in fake.fake_events().decode().splitlines()]
    return code, text.getvalue(), events


def dereference():
    ctypes.c_char.from_address(torch.zeros(1, device=DEVICE).data_ptr()).value


def backward():
    q = torch.ones(3, 1, 16, dtype=torch.float16, device=DEVICE, requires_grad=True)
    out, _ = torch.ops.npu.chunk_gated_delta_rule(q, q, q)
    try:
        out.sum().backward()
    except RuntimeError as error:
        return str(error)


def has_operator(namespace):
    return hasattr(getattr(torch.ops, namespace), "chunk_gated_delta_rule")


def kernels_of(operator):
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    return [key for key in ("CPU", "Meta", "PrivateUse1") if has_kernel(operator, key)]
