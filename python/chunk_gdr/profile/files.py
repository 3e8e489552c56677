# SPDX-License-Identifier: Apache-2.0
"""The folder of a profile: there complete, or as it was."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .usage import ProfileError


def check_replaceable(target: Path) -> None:
    """Says before the work that the folder cannot be written, or holds something else than a profile."""
    parent = target.resolve().parent
    if not parent.is_dir():
        raise ProfileError(f"{target}: no such directory as {parent}")
    if not os.access(parent, os.W_OK):
        raise ProfileError(f"{target}: directory {parent} is not writable")
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise ProfileError(f"{target}: exists and is not a directory")
    if target.is_dir() and any(target.iterdir()) and not (target / "trace.json").is_file():
        raise ProfileError(f"{target}: not empty and without a trace.json, so it is not replaced")


@contextlib.contextmanager
def profile_directory(target: Path) -> Iterator[Path]:
    """A folder to write into, which takes the target's place when the block ends without an error."""
    check_replaceable(target)
    target = target.resolve()
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as scratch:
        new, old = Path(scratch) / "new", Path(scratch) / "old"
        new.mkdir()
        yield new
        if target.exists():
            os.rename(target, old)
        try:
            os.rename(new, target)
        except OSError:
            if old.exists():
                os.rename(old, target)
            raise
        shutil.rmtree(old, ignore_errors=True)
