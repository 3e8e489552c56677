# SPDX-License-Identifier: Apache-2.0
"""The switch for CPU tensors."""

import threading

import torch

from . import _C

_NAMES = ("native", "model", "reference")

# Blocks of several threads may end in any order, so each takes only its own entry out.
_lock = threading.Lock()
_entered: list[list[str]] = []  # [name] of every block that has not ended, oldest first
_outside = ""  # the name where there is no such block


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
    that were compiled earlier. Of the blocks that have not ended, in whatever thread, the one entered last decides.
    ``CHUNK_GDR_BACKEND`` sets the default. How the model runs kernels is set with
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
        self._entries = []

    def __enter__(self):
        if torch.compiler.is_compiling():
            _refuse_to_be_traced()
        _enter(self)
        return self

    def __exit__(self, *exc_info):
        _exit(self)
        return False


def _enter(block):
    global _outside
    entry = [block.name]
    with _lock:
        if not _entered:
            _outside = current_backend()
        _C.set_backend(block.name)
        _entered.append(entry)
        block._entries.append(entry)


def _exit(block):
    with _lock:
        entry = block._entries.pop()
        _entered[:] = [other for other in _entered if other is not entry]
        _C.set_backend(_entered[-1][0] if _entered else _outside)


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
