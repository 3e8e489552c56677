# SPDX-License-Identifier: Apache-2.0
"""Captured tensors: the operator's arguments from an .npz file, its results into one."""

from __future__ import annotations

import os
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from .cases import Inputs

# Short names, as model code calls its tensors.
ALIASES = {
    "q": "query",
    "k": "key",
    "v": "value",
    "lengths": "actual_seq_lengths",
    "l2norm": "use_qk_l2norm_in_kernel",
}
REQUIRED = ("query", "key", "value")
NAMES = (*REQUIRED, "beta", "g", "initial_state", "actual_seq_lengths", "scale", "use_qk_l2norm_in_kernel")
STATE_DTYPES = ("float16", "float32")


class CaptureError(ValueError):
    """A file that cannot be used, with the reason in one line."""


def load_inputs(path: str | Path, half: bool = True) -> tuple[Inputs, list[str]]:
    """The arguments in an .npz file, and a note for every tensor that had to be rounded.

    Names: query, key, value (or q, k, v), and optionally beta, g, initial_state, actual_seq_lengths (or lengths),
    scale, use_qk_l2norm_in_kernel (or l2norm); layouts are those of the operator. half: round query, key and value
    to fp16, the only dtype of the chip and of its model; otherwise they become fp32 unless all are fp16.
    """
    arrays = read_arrays(path)
    half = half or all(arrays[name].dtype == np.float16 for name in REQUIRED)
    notes: list[str] = []
    values: dict = {}
    for name, array in arrays.items():
        if name == "scale":
            values[name] = float(scalar(path, name, array))
        elif name == "use_qk_l2norm_in_kernel":
            values[name] = bool(scalar(path, name, array))
        elif name == "actual_seq_lengths":
            values[name] = lengths_tensor(path, name, array)
        else:
            values[name] = float_tensor(path, name, array, half and name in REQUIRED, notes)
    return Inputs(**values), notes


def read_arrays(path: str | Path) -> dict[str, np.ndarray]:
    try:
        file = np.load(path, allow_pickle=False)
        if not isinstance(file, np.lib.npyio.NpzFile):
            raise CaptureError(f"{path}: a single array, expected an .npz archive of named arrays")
        with file:
            arrays = {name: read_array(path, file, name) for name in file.files}
    except CaptureError:
        raise
    except FileNotFoundError:
        raise CaptureError(f"{path}: no such file") from None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, AttributeError, TypeError) as error:
        why = getattr(error, "strerror", None)  # of the system; what numpy says is not about this file's arrays
        raise CaptureError(f"{path}: not a readable .npz archive" + (f" ({why})" if why else "")) from None
    renamed: dict[str, np.ndarray] = {}
    for name, array in arrays.items():
        full = ALIASES.get(name, name)
        if full not in NAMES:
            known = ", ".join((*NAMES, *ALIASES))
            raise CaptureError(f"{path}: unknown array '{name}', expected some of {known}")
        if full in renamed:
            raise CaptureError(f"{path}: '{full}' is there twice, under its short name too")
        renamed[full] = array
    missing = [name for name in REQUIRED if name not in renamed]
    if missing:
        raise CaptureError(f"{path}: array '{missing[0]}' is missing")
    return renamed


def read_array(path, file, name: str) -> np.ndarray:
    """One array in native byte order."""
    try:
        array = file[name]
    except ValueError as error:
        if "allow_pickle" not in str(error):
            raise
        raise CaptureError(
            f"{path}: '{name}' holds Python objects, not numbers (None?): leave an absent array out of the file"
        ) from None
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def scalar(path, name: str, array: np.ndarray):
    if array.size != 1 or array.dtype.kind not in "fiub":
        raise CaptureError(f"{path}: '{name}' is {array.dtype} {list(array.shape)}, expected one number")
    return array.reshape(()).item()


def lengths_tensor(path, name: str, array: np.ndarray) -> Tensor:
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise CaptureError(f"{path}: '{name}' is {array.dtype} {list(array.shape)}, expected integers [B]")
    return torch.from_numpy(array.astype(np.int64))


def float_tensor(path, name: str, array: np.ndarray, half: bool, notes: list[str]) -> Tensor:
    if array.dtype.kind != "f":
        raise CaptureError(f"{path}: '{name}' is {array.dtype}, expected a floating-point array")
    wanted = "float16" if half else "float32"
    if array.dtype.name == wanted or (name in ("beta", "initial_state") and array.dtype.name in STATE_DTYPES):
        return torch.from_numpy(np.ascontiguousarray(array))
    with np.errstate(over="ignore"):
        rounded = array.astype(wanted)
    if (np.isinf(rounded) & np.isfinite(array)).any():
        raise CaptureError(f"{path}: '{name}' has values beyond {wanted}, largest {np.abs(array).max():g}")
    if not np.array_equal(rounded.astype(array.dtype), array, equal_nan=True):
        notes.append(f"{name}: {array.dtype} rounded to {wanted}")
    return torch.from_numpy(np.ascontiguousarray(rounded))


def check_writable(path: str | Path, source: str | Path | None = None) -> None:
    """Says before the work, not after it, that its results cannot be written.

    The results replace the file by a rename, which would replace a device, a pipe or a write-protected file too, and the
    tensors that they are made of, if those come from this file (``source``).
    """
    if not str(path):
        raise CaptureError("the name of the file for the results is empty")
    directory = Path(path).resolve().parent
    if not directory.is_dir():
        raise CaptureError(f"{path}: no such directory")
    target = Path(path)
    if source is not None and target.exists() and Path(source).exists() and target.samefile(source):
        raise CaptureError(f"{path}: the results would replace the input")
    if target.is_dir():
        raise CaptureError(f"{path}: is a directory")
    if target.exists() and not target.is_file():
        raise CaptureError(f"{path}: is not a regular file")
    if target.exists() and not os.access(target, os.W_OK):
        raise CaptureError(f"{path}: the file is not writable")
    if not os.access(directory, os.W_OK):
        raise CaptureError(f"{path}: the directory is not writable")


def save_outputs(path: str | Path, results: dict[str, Tensor | None]) -> None:
    """An .npz file of the results that are there; it appears complete or not at all. bf16 is widened to fp32."""
    arrays = {}
    for name, tensor in results.items():
        if tensor is not None:
            arrays[name] = (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()
    target = Path(path).resolve()
    check_writable(target)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=target.name, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, **arrays)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)  # mkstemp's 0600 is not what a user expects of a result
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
