# SPDX-License-Identifier: Apache-2.0
"""The switch for CPU tensors."""

import torch

from . import _C

_NAMES = ("native", "model", "reference")


class backend:
    """Context manager: what runs this package's operators on CPU tensors.

    ========== ===================================================== ==============================
    name       what runs                                             dtypes of query, key, value
    ========== ===================================================== ==============================
    native     fp32 recurrence in C++, threaded; the default         float16, bfloat16, float32
    model      the device kernel on the host model of Ascend 310P    float16
    reference  fp64 recurrence in C++: the truth of the tests        those and float64
    ========== ===================================================== ==============================

    The switch belongs to the process, not to the thread, and is read when an operator runs, so it also governs graphs
    that were compiled earlier. ``CHUNK_GDR_BACKEND`` sets the default. How the model runs kernels is set with
    ``chunk_gdr.model.options``.

    Raises:
        ValueError: unknown name.
        RuntimeError: used inside a region that ``torch.compile`` is tracing; wrap the call of the compiled function.
    """

    def __init__(self, name):
        if torch.compiler.is_compiling():
            _refuse_to_be_traced()
        if name not in _NAMES:
            raise ValueError(
                f"chunk_gdr.backend: argument 'name': expected 'native', 'model' or 'reference', got {name!r}"
            )
        self.name = name
        self._before = []

    def __enter__(self):
        if torch.compiler.is_compiling():
            _refuse_to_be_traced()
        self._before.append(current_backend())
        _C.set_backend(self.name)
        return self

    def __exit__(self, *exc_info):
        _C.set_backend(self._before.pop())
        return False


def _refuse_to_be_traced():
    raise RuntimeError(
        "chunk_gdr.backend: cannot switch inside a torch.compile region, because the switch is read when the compiled "
        "graph runs; put `with chunk_gdr.backend(...)` around the call of the compiled function"
    )


# What torch.compiler.assume_constant_result sets, without importing the whole compiler: the tracer then calls the
# function for its result, so the error ends the compilation; in traced code it would only break the graph and leave the
# region to eager mode.
_refuse_to_be_traced._dynamo_marked_constant = True


def current_backend():
    """Name of the backend that the next call on CPU tensors will use.

    Raises:
        ValueError: ``CHUNK_GDR_BACKEND`` holds an unknown name.
    """
    return _C.backend()
