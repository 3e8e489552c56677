# SPDX-License-Identifier: Apache-2.0
"""Imports torch such that a broken device backend cannot spoil it, then the library that registers the operators."""

import importlib.metadata
import importlib.util
import os
import sys
import warnings
from pathlib import Path

_AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"


def _is_doctor():
    """The command `chunk-gdr doctor`, which must survive a backend that crashes and so looks at it from outside."""
    return sys.argv[1:2] == ["doctor"] and Path(sys.argv[0]).name in ("chunk-gdr", "-m")


def _import_torch():
    """Import torch; if that is up to us, load its out-of-tree backends one by one and survive their failures.

    torch's own autoload turns a backend that cannot load (torch_npu without CANN) into a failure of ``import torch``.
    """
    if "torch" in sys.modules or os.environ.get(_AUTOLOAD, "1") != "1":
        import torch  # noqa: F401

        return
    before = os.environ.get(_AUTOLOAD)
    os.environ[_AUTOLOAD] = "0"
    try:
        import torch  # noqa: F401
    finally:
        if before is None:
            del os.environ[_AUTOLOAD]
        else:
            os.environ[_AUTOLOAD] = before
    if _is_doctor():
        return
    for entry_point in importlib.metadata.entry_points(group="torch.backends"):
        try:
            entry_point.load()()
        except Exception as error:
            warnings.warn(
                f"chunk_gdr: torch backend {entry_point.name!r} did not load, going on without it: "
                f"{type(error).__name__}: {error}",
                RuntimeWarning,
                stacklevel=2,
            )


def _require_native_parts():
    """Else Python would say that `_C` cannot be imported "most likely due to a circular import"."""
    if importlib.util.find_spec(f"{__package__}._C") is None:
        folder = Path(__file__).parent
        raise ImportError(f"{__package__}: {folder} has no compiled _C, it is a source tree: `pip install` the package")


_require_native_parts()
_import_torch()

from . import _C, _fake, _npu  # noqa: E402, F401  (_C registers the operators)
