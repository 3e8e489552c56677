# SPDX-License-Identifier: Apache-2.0
"""Lengths on the CPU beside tensors on a device, for the fake tensors of torch.compile and torch.export.

The operators take their lengths from either place; fake tensors know one device per call.
"""

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from . import _C


def _with_lengths_on_device(mode, func, types, args=(), kwargs=None):
    kwargs = dict(kwargs or {})
    lengths = kwargs.get("actual_seq_lengths")
    if lengths is not None and lengths.device.type == "cpu" and lengths.device != args[0].device:
        with mode:
            kwargs["actual_seq_lengths"] = lengths.new_empty(lengths.shape, device=args[0].device)
    return mode.__torch_dispatch__(func, types, args, kwargs)


for _name, _active, _ in _C.registrations():
    if _active:
        torch.library.register_torch_dispatch(_name, FakeTensorMode, _with_lengths_on_device)
