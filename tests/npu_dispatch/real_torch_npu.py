# SPDX-License-Identifier: Apache-2.0
"""Run as a program: the real torch_npu on a fake libascendcl. Prints one JSON object of what it saw."""

import ctypes
import json
import sys

import torch
import torch_npu  # noqa: F401

import chunk_gdr
from chunk_gdr.cases import Case, Inputs, make_inputs
from chunk_gdr.reference import Result
from chunk_gdr.runner import compare_with_truth

npu_library, kernels = sys.argv[1:]
torch.ops.load_library(npu_library)
fake = ctypes.CDLL("libascendcl.so")
fake.fake_events.restype = fake.fake_load_kernels.restype = ctypes.c_char_p
assert fake.fake_load_kernels(kernels.encode()) is None

operator = torch.ops.npu.chunk_gated_delta_rule
# Without gates: to fill and to transpose, torch_npu calls operators of CANN, which are not there.
x = make_inputs(Case(lengths=(130, 64, 0, 1), nk=2, nv=4, dk=48, dv=32, gate="none", beta="none"))
moved = Inputs(**{name: t.to("npu") if isinstance(t, torch.Tensor) else t for name, t in vars(x).items()})
seen = {"device": str(moved.query.device), "registration": [str(row) for row in chunk_gdr.registration()]}


def call(**changes):
    return operator(**(vars(moved) | changes))


stream = torch.npu.Stream()
with torch.npu.stream(stream):
    fake.fake_reset()
    out, state = call()
    seen["events"] = fake.fake_events().decode().splitlines()
seen["stream"] = stream.npu_stream
comparisons = compare_with_truth(x, Result(out.cpu(), state.cpu(), None), "saturate")
seen["passed"] = [comparison.passed for comparison in comparisons]
with chunk_gdr.backend("model"):
    expected = operator(**vars(x))
seen["bits"] = [torch.equal(a.cpu(), b) for a, b in zip((out, state), expected, strict=True)]
compiled = torch.compile(lambda **arguments: operator(**arguments)[0], fullgraph=True, backend="aot_eager")
seen["compiled"] = torch.equal(compiled(**vars(moved)).cpu(), expected[0])
fake.fake_fail(b"aclrtLaunchKernelWithConfig", 507899)
try:
    call()
except RuntimeError as error:
    seen["error"] = str(error)
print(json.dumps(seen))
