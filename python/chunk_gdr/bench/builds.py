# SPDX-License-Identifier: Apache-2.0
"""Other builds of the kernel in the place of the package's own."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Iterator

from .. import model
from ..tiling import plan

KERNEL = "op_kernel/chunk_gated_delta_rule/entry.cpp"
STATE_LAYOUTS = ("kNz", "kNd")  # StateLayout of op_kernel's state_layout.h


@contextlib.contextmanager
def kernel_library(library: Path, state_layout: str | None = None) -> Iterator[None]:
    """Within it the model backend runs this library, and plans are for its state layout (None: for that of before)."""
    names = {"CHUNK_GDR_MODEL_KERNEL": str(library)}
    if state_layout is not None:
        names["CHUNK_GDR_STATE_LAYOUT"] = state_layout
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(names)
    try:
        yield
    finally:
        for name, value in before.items():
            del os.environ[name]
            if value is not None:
                os.environ[name] = value


def with_state_layout(state_layout: str, kernel: str | Path = KERNEL) -> contextlib.AbstractContextManager[None]:
    """Within it the model backend keeps states in this layout: by what it runs anyway, or by a build of `kernel`.

    Raises:
        FileNotFoundError: it takes a build, and there is no such file.
        model.BuildError: the kernel does not compile.
    """
    if plan([64], 1, 1, 16, 16).state_layout == state_layout:
        return contextlib.nullcontext()
    library = model.build(kernel, defines={"CHUNK_GDR_STATE_LAYOUT": state_layout})
    return kernel_library(library, state_layout)
