# SPDX-License-Identifier: Apache-2.0
"""The operators' kernels for tensors of torch_npu: a library of its own, because it needs the libraries of CANN."""

import sys
import warnings
from pathlib import Path

import torch

from . import _C

DRIVER = Path("/dev/davinci_manager")  # the driver's device node
LIBRARY = Path(_C.__file__).parent / "lib" / "libchunk_gdr_npu.so"


def _why_not():
    if not LIBRARY.is_file():
        return "not built: this package was installed where there was no torch_npu"
    if "torch_npu" not in sys.modules:
        return "torch_npu was not imported before chunk_gdr"
    if not DRIVER.exists():
        return f"no driver: {DRIVER} does not exist"
    return None


def _load():
    """Load the library where torch_npu and the driver are. Returns why it is not loaded, None if it is."""
    reason = _why_not()
    if reason is None:
        try:
            torch.ops.load_library(LIBRARY)
        except OSError as error:
            reason = f"{LIBRARY.name} does not load: {error.__cause__ or error}"
            warnings.warn(f"chunk_gdr: no kernels for tensors of torch_npu: {reason}", RuntimeWarning, stacklevel=2)
    return reason


missing = _load()
"""Why tensors of torch_npu cannot be used; None if they can."""
