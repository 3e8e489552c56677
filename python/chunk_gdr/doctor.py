# SPDX-License-Identifier: Apache-2.0
"""What this machine has of what a card needs, and what works because of it: ``chunk-gdr doctor``.

Nothing of Ascend is loaded into this process: torch_npu is imported by another one, so it may fail or crash.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

from . import _npu
from .model_build import host_compiler

OK, MISSING, PROBLEM = "ok", "missing", "problem"
PROBE_SECONDS = 120
OPERATOR = "chunk_gated_delta_rule"
DRIVER_VERSION = Path("/usr/local/Ascend/driver/version.info")
ENVIRONMENT = (
    "ASCEND_HOME_PATH",
    "ASCEND_OPP_PATH",
    "ASCEND_CUSTOM_OPP_PATH",
    "ASCEND_RT_VISIBLE_DEVICES",
    "ASCEND_LAUNCH_BLOCKING",
    "TASK_QUEUE_ENABLE",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "TORCH_DEVICE_BACKEND_AUTOLOAD",
    "CHUNK_GDR_BACKEND",
    "CHUNK_GDR_CACHE",
    "CHUNK_GDR_DEVICE_DIR",
    "CHUNK_GDR_MODEL_KERNEL",
    "CHUNK_GDR_REGISTER_NPU",
    "CHUNK_GDR_SCHEDULE",
    "CHUNK_GDR_CHUNK_SIZE",
    "CHUNK_GDR_STATE_LAYOUT",
)


@dataclass
class Check:
    name: str
    state: str  # OK, MISSING or PROBLEM
    found: str
    fix: str = ""  # what to do about it


@dataclass
class Examination:
    checks: list[Check]
    works: dict[str, str | None]  # what one wants to do -> None, or why it does not work
    environment: dict[str, str | None] = field(default_factory=dict)

    def __str__(self) -> str:
        width = max(len(check.name) for check in self.checks)
        lines = []
        for check in self.checks:
            lines.append(f"{check.name:{width}}  {check.state:7}  {check.found}")
            if check.fix:
                lines.append(f"{'':{width}}  {'':7}  -> {check.fix}")
        lines += ["", "environment"]
        width = max(len(name) for name in self.environment)
        lines += [f"  {name:{width}}  {'(not set)' if x is None else x}" for name, x in self.environment.items()]
        lines += ["", "what works"]
        for what, why in self.works.items():
            lines.append(f"  yes  {what}" if why is None else f"  no   {what}: {why}")
        return "\n".join(lines)


def examine() -> Examination:
    driver, home = _driver(), os.environ.get("ASCEND_HOME_PATH")
    torch_npu = _torch_npu()
    checks = [driver, _chip(), _cann(home), _compiler(home), _torch(), torch_npu, _device_binary(), _npu_kernels()]
    bad = {check.name: check for check in checks if check.state != OK}
    checks += [_host_compiler(), _msprof()]
    needed = ("driver", "chip", "CANN", "torch_npu", "NPU kernels", "device binary")
    missing = [name for name in needed if name in bad]
    card = f"needs {', '.join(missing)}" if missing else None
    works = {
        "CPU tensors: backends native, reference, model": None,
        "kernels of your own on the host model (chunk-gdr model build)": _why(checks, "C++ compiler"),
        "tensors of torch_npu on the card (torch.ops.npu, pytest -m npu)": card,
        "profiles of the card (msprof)": card or _why(checks, "msprof"),
    }
    return Examination(checks, works, {name: os.environ.get(name) for name in ENVIRONMENT})


def _why(checks: list[Check], name: str) -> str | None:
    return next((f"needs {name}" for check in checks if check.name == name and check.state != OK), None)


def _driver() -> Check:
    if not _npu.DRIVER.exists():
        fix = "install the NPU driver and firmware; in a container, pass the devices"
        return Check("driver", MISSING, f"{_npu.DRIVER} does not exist", fix)
    cards = sorted(_npu.DRIVER.parent.glob("davinci[0-9]*"))
    if not cards:
        return Check("driver", PROBLEM, f"no {_npu.DRIVER.parent}/davinci<N>", "in a container, pass the devices")
    number = _value(DRIVER_VERSION, r"^Version=(.+)$") or f"version unknown ({DRIVER_VERSION})"
    unreadable = [str(card) for card in (_npu.DRIVER, *cards) if not os.access(card, os.R_OK | os.W_OK)]
    if unreadable:
        found = f"{number}; no access to {', '.join(unreadable)}"
        return Check("driver", PROBLEM, found, "join the group that owns them")
    return Check("driver", OK, f"{number}; {', '.join(card.name for card in cards)}")


def _chip() -> Check:
    tool = shutil.which("npu-smi")
    if tool is None:
        return Check("chip", MISSING, "npu-smi is not in PATH", "it comes with the driver, in /usr/local/sbin")
    code, text = _run([tool, "info"], 30)
    if code != 0:
        return Check("chip", PROBLEM, f"npu-smi info: {_ending(code, text)}", "see the driver's log")
    names = sorted(set(re.findall(r"\b(?:310P\d?|310B\d?|9[15]0\w*)\b", text)))
    if not any(name.startswith("310P") for name in names):
        fix = "the kernels are for Ascend 310P (300I Duo, 300V) only"
        return Check("chip", PROBLEM, ", ".join(names) or "npu-smi info names none", fix)
    return Check("chip", OK, ", ".join(names))


def _cann(home: str | None) -> Check:
    if not home:
        return Check("CANN", MISSING, "ASCEND_HOME_PATH is not set", "install the toolkit and source its set_env.sh")
    root = Path(home)
    if not (root / "lib64" / "libascendcl.so").exists():
        fix = "source set_env.sh of the installed toolkit"
        return Check("CANN", PROBLEM, f"{home} has no lib64/libascendcl.so", fix)
    number = _cann_version(root)
    return Check("CANN", OK, f"{number or 'version unknown'} in {home}")


def _cann_version(root: Path) -> str | None:
    names = (f"{platform.machine()}-linux/ascend_toolkit_install.info", "compiler/version.info", "runtime/version.info")
    for name in (*names, "version.cfg"):
        number = _value(root / name, r"^(?:[Vv]ersion|.*running_version)=\W*([\w.]+)")
        if number:
            return number
    return None


def _compiler(home: str | None) -> Check:
    if not home:
        return Check("device compiler", MISSING, "no CANN", "only needed to install this package for a card")
    below = sorted(map(str, Path(home).glob("*/ccec_compiler/bin/bisheng")))
    found = [x for x in (shutil.which("bisheng"), *below) if x]
    if not found:
        fix = "install the toolkit, not only the runtime"
        return Check("device compiler", MISSING, f"no bisheng in PATH or below {home}", fix)
    return Check("device compiler", OK, found[0])


def _torch() -> Check:
    return Check("torch", OK, torch.__version__)


_PROBE = """
import torch_npu
print("devices", torch_npu.npu.device_count())
"""


def _torch_npu() -> Check:
    try:
        installed = version("torch_npu")
    except PackageNotFoundError:
        fix = f"pip install torch_npu=={torch.__version__.partition('+')[0]}"
        return Check("torch_npu", MISSING, "not installed", fix)
    code, text = _run([sys.executable, "-c", _PROBE], PROBE_SECONDS, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    if code != 0:
        found = f"{installed} cannot be imported: {_ending(code, text)}"
        return Check("torch_npu", PROBLEM, found, "needs CANN: source its set_env.sh")
    if _minor(installed) != _minor(torch.__version__):
        found = f"{installed} beside torch {torch.__version__}"
        return Check("torch_npu", PROBLEM, found, "their versions have to agree")
    devices = re.search(r"^devices (\d+)$", text, re.MULTILINE)
    if devices is None or devices[1] == "0":
        fix = "see 'driver' above, and ASCEND_RT_VISIBLE_DEVICES"
        return Check("torch_npu", PROBLEM, f"{installed} sees no device", fix)
    return Check("torch_npu", OK, f"{installed}, {devices[1]} device(s)")


def _npu_kernels() -> Check:
    if not _npu.LIBRARY.is_file():
        fix = "install this package again, where torch_npu is"
        return Check("NPU kernels", MISSING, f"{_npu.LIBRARY.name} was not built", fix)
    return Check("NPU kernels", OK, str(_npu.LIBRARY))


def _device_binary() -> Check:
    folder = Path(os.environ.get("CHUNK_GDR_DEVICE_DIR") or _npu.LIBRARY.parent / "device")
    path = folder / f"{OPERATOR}.o"
    if not path.is_file():
        return Check("device binary", MISSING, f"{path} was not built", "install this package again, where CANN is")
    return Check("device binary", OK, str(path))


def _host_compiler() -> Check:
    wished = host_compiler()[0]
    found = shutil.which(wished)
    if found is None:
        return Check("C++ compiler", MISSING, f"{wished} is not in PATH", "install g++ or set CXX")
    return Check("C++ compiler", OK, found)


def _msprof() -> Check:
    found = shutil.which("msprof")
    if found is None:
        return Check("msprof", MISSING, "not in PATH", "it comes with the CANN toolkit")
    return Check("msprof", OK, found)


def _minor(number: str) -> list[str]:
    return number.split(".")[:2]


def _value(path: Path, pattern: str) -> str | None:
    try:
        found = re.search(pattern, path.read_text(errors="replace"), re.MULTILINE)
    except OSError:
        return None
    return found[1].strip() if found else None


def _run(command: list[str], seconds: int, **environment: str) -> tuple[int | None, str]:
    """Exit code (None: killed after `seconds`) and output."""
    try:
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=seconds,
            env={**os.environ, **environment},
        )
    except subprocess.TimeoutExpired:
        return None, f"no answer within {seconds} s"
    except OSError as error:
        return 1, str(error)
    return done.returncode, done.stdout


def _ending(code: int | None, text: str) -> str:
    """How a failed command ended, in one line."""
    if code is not None and code < 0:
        return f"killed by {signal.Signals(-code).name}"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    # The message of an exception may have lines behind the one that says what happened.
    lines = [line for line in lines if re.match(r"[\w.]*(Error|Exception): ", line)] or lines
    return lines[-1][:300] if lines else f"exit code {code}"


def add_doctor_command(commands) -> None:
    parser = commands.add_parser(
        "doctor",
        help="say what this machine has of what a card needs, and what works",
        description="Looks for driver, chip, CANN, torch_npu and what was built for them. The exit code is 0.",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    parser.set_defaults(function=doctor_command)


def doctor_command(arguments: argparse.Namespace) -> int:
    examination = examine()
    print(json.dumps(asdict(examination)) if arguments.json else examination)
    return 0
