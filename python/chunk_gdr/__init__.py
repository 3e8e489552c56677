# SPDX-License-Identifier: Apache-2.0
"""Chunked gated delta rule for Ascend 310P.

Importing this package registers ``torch.ops.chunk_gdr.chunk_gated_delta_rule`` and, where the name is free,
``torch.ops.npu.chunk_gated_delta_rule``; :func:`registration` tells which. Everything else is imported on first use:

* :func:`chunk_gated_delta_rule`: the operator with the signature that users of flash-linear-attention expect
* :class:`backend`, :func:`current_backend`: what runs on CPU tensors
* ``model``: run kernels on the host model of the chip; ``profile``: where their time goes;
  ``bench``: how fast ours is
* ``tiling``, ``workspace``: what will run where
* ``reference``, ``compare``, ``cases``: the truth, the comparison with it, named inputs

Import order: a package that defines ``npu::chunk_gated_delta_rule`` without looking whether it exists must be imported
before this one, or this one with ``CHUNK_GDR_REGISTER_NPU=0``.
"""

import importlib
import importlib.metadata

from . import _load  # noqa: F401
from ._registration import Registration, registration
from ._switch import backend, current_backend

UNKNOWN_VERSION = "0+unknown"  # without an installation, whose metadata has it: a source tree in sys.path

_SUBMODULES = ("bench", "cases", "compare", "model", "ops", "profile", "reference", "tiling", "workspace")

__all__ = ["Registration", "backend", "chunk_gated_delta_rule", "current_backend", "registration", *_SUBMODULES]


def __getattr__(name):
    if name == "__version__":
        try:
            return importlib.metadata.version(__name__)
        except importlib.metadata.PackageNotFoundError:
            return UNKNOWN_VERSION
    if name == "chunk_gated_delta_rule":
        from .ops import chunk_gated_delta_rule

        return chunk_gated_delta_rule
    if name in _SUBMODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__, "__version__"})
