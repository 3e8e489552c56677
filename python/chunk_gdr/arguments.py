# SPDX-License-Identifier: Apache-2.0
"""Command-line flags that several subcommands share: the case to run, its tensors, the way the host model runs it."""

from __future__ import annotations

import argparse
import contextlib
import math
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np

from . import tiling
from .capture import load_inputs
from .cases import BETAS, GATES, KEYS, V_LIMIT, Case, Inputs, chunk_state_like, make_inputs
from .reference.recurrence import checked_lengths
from .tiling import (
    CHUNK_SIZE_NAMES,
    INT32_MAX,
    MAX_CORES,
    MAX_HEAD_DIM,
    SCHEDULE_NAMES,
    checked_chunk_size,
    checked_schedule,
)

FLOAT32_MAX = float(np.finfo(np.float32).max)
EXECUTION_FLAGS = ("adversarial", "cores", "threads", "params", "overflow", "permute_cube")
INPUT_FLAGS = {"scale", "l2norm", "chunk_state"}  # fields of a case that also apply to captured tensors


class UsageError(Exception):
    """Wrong use, explained in one line; exit code 2."""


def limited(parse: Callable, expected: str, holds: Callable) -> Callable:
    """A type of argparse: what `parse` makes of the text, if that `holds`; else an error that says expected and got."""

    def convert(text: str):
        try:
            value = parse(text)
            if holds(value):
                return value
        except ValueError:
            pass
        raise argparse.ArgumentTypeError(f"expected {expected}, got '{text}'")

    return convert


def whole_number(low: int, high: int = INT32_MAX) -> Callable:
    return limited(int, f"a whole number from {low} to {high}", lambda n: low <= n <= high)


def number(low: float, high: float, expected: str, names: Iterable[str] = ()) -> Callable:
    """A number from low to high, never nan, or one of the names, which stays a text."""

    def parse(text: str) -> float | str:
        return text if text in names else float(text)

    return limited(parse, expected, lambda x: isinstance(x, str) or low <= x <= high)


count = whole_number(1)
whole = whole_number(0)
seed = whole_number(0, 2**64 - 1)
head_dim = whole_number(1, MAX_HEAD_DIM)
finite = number(-FLOAT32_MAX, FLOAT32_MAX, "a finite float32")
schedule_name = limited(checked_schedule, SCHEDULE_NAMES, bool)
chunk_size_name = limited(checked_chunk_size, CHUNK_SIZE_NAMES, bool)
length_list = limited(
    lambda text: tuple(int(part) for part in text.split(",")),
    f"whole numbers, N,N,..., that add up to {INT32_MAX} at most",
    lambda lengths: min(lengths) >= 0 and sum(lengths) <= INT32_MAX,
)


def add_case_flags(parser: argparse.ArgumentParser) -> None:
    """Flags that replace a field of Case; one that is not given leaves the default."""
    case = Case()
    group = parser.add_argument_group("input (a generated case, by default the shapes of a Qwen3.5 layer)")

    def flag(name: str, **kwargs) -> None:
        group.add_argument(name, default=argparse.SUPPRESS, **kwargs)

    lengths = ",".join(map(str, case.lengths))
    flag("--lengths", type=length_list, metavar="N,N,...", help=f"tokens of each sequence, zeros allowed ({lengths})")
    flag("--no-lengths", dest="pass_lengths", action="store_false", help="leave actual_seq_lengths out (one sequence)")
    flag("--nk", type=count, help=f"heads of query and key ({case.nk})")
    flag("--nv", type=count, help=f"heads of value, a multiple of nk ({case.nv})")
    flag("--dk", type=head_dim, help=f"head dim of query and key, 1 to {MAX_HEAD_DIM} ({case.dk})")
    flag("--dv", type=head_dim, help=f"head dim of value, 1 to {MAX_HEAD_DIM} ({case.dv})")
    flag(
        "--gate",
        type=number(-math.inf, FLOAT32_MAX, f"a number below inf, or one of {', '.join(GATES)}", GATES),
        metavar="NAME|NUMBER",
        help=f"log of the decay ({case.gate}): a constant, or one of {', '.join(GATES)}",
    )
    flag("--keys", choices=list(KEYS), help=f"({case.keys}); raw keys are not normalised: use --l2norm")
    flag("--key-norm", type=finite, help=f"factor on the keys ({case.key_norm:g})")
    flag("--query-norm", type=finite, help=f"factor on the queries ({case.query_norm:g})")
    flag(
        "--beta",
        type=number(-FLOAT32_MAX, FLOAT32_MAX, f"a finite number, or one of {', '.join(BETAS)}", BETAS),
        metavar="NAME|NUMBER",
        help=f"({case.beta}): a constant, or one of {', '.join(BETAS)}",
    )
    flag(
        "--v-size",
        type=number(0, V_LIMIT, f"a number from 0 to {V_LIMIT}"),
        help=f"standard deviation of the values ({case.v_size:g}), which are cut at {V_LIMIT}",
    )
    dtypes = ["float16", "bfloat16", "float32"]
    flag("--dtype", choices=dtypes, help=f"of query, key, value ({case.dtype}, the only one of the chip and its model)")
    flag("--beta-dtype", choices=["float16", "float32"], help=f"({case.beta_dtype})")
    flag("--state", choices=["none", "float16", "float32"], help=f"dtype of the initial state ({case.state})")
    flag(
        "--state-size",
        type=number(0, FLOAT32_MAX, "a finite float32 from 0"),
        help=f"standard deviation of the initial state ({case.state_size:g})",
    )
    flag("--seed", type=seed, help=f"of the generated values ({case.seed})")
    add_call_flags(group)


def add_call_flags(group) -> None:
    group.add_argument(
        "--scale",
        type=number(-FLOAT32_MAX, FLOAT32_MAX, "a finite float32 or 'none'", ("none",)),
        default=argparse.SUPPRESS,
        help="factor of out (dk ** -0.5); 'none' leaves it out, and the operator takes 1.0",
    )
    group.add_argument(
        "--l2norm", action="store_true", default=argparse.SUPPRESS, help="normalise query and key in the kernel"
    )
    group.add_argument(
        "--chunk-state", action="store_true", default=argparse.SUPPRESS, help="return the state before every 64th token too"
    )


def flag_of(name: str) -> str:
    """The flag behind an attribute of the parsed arguments."""
    names = {"pass_lengths": "no-lengths", "begin": "from", "end": "to"}
    return f"--{names.get(name, name).replace('_', '-')}"


def given_case(arguments: argparse.Namespace) -> dict:
    """The fields of Case that were given as flags."""
    fields = {name: value for name, value in vars(arguments).items() if name in Case.__dataclass_fields__}
    return {name: None if value == "none" and name in ("state", "scale") else value for name, value in fields.items()}


def case_of(arguments: argparse.Namespace) -> Case:
    case = replace(Case(), **given_case(arguments))
    if not case.pass_lengths and len(case.lengths) != 1:
        raise UsageError(f"--no-lengths is one sequence: give its length, not {len(case.lengths)}")
    if case.nv % case.nk:
        raise UsageError(f"--nv {case.nv} is not a multiple of --nk {case.nk}")
    return case


def load(path: str | None, given: dict, arguments: argparse.Namespace, half: bool) -> tuple[Inputs, list[str]]:
    """The tensors of a generated case, or those of a file with the flags that apply to them."""
    if path is None:
        case = case_of(arguments)
        check_memory(case)
        return make_inputs(case), []
    for name in sorted(given.keys() - INPUT_FLAGS):
        raise UsageError(f"--input brings its own tensors: {flag_of(name)} does not apply")
    inputs, notes = load_inputs(path, half)
    if "scale" in given:
        inputs.scale = given["scale"]
    inputs.use_qk_l2norm_in_kernel |= given.get("l2norm", False)
    if given.get("chunk_state"):
        checked_lengths(**inputs.arguments())
        inputs.chunk_state = chunk_state_like(inputs)
    return inputs, notes


def check_memory(case: Case) -> None:
    """Refuses a tensor beyond this machine, at two bytes an element: some systems promise any memory, and then kill."""
    rows = max(sum(case.lengths) * case.nk * case.dk, sum(case.lengths) * case.nv * case.dv)
    largest = max(rows, len(case.lengths) * case.nv * case.dv * case.dk)
    if 2 * largest > os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"):
        raise MemoryError(f"a tensor of {largest} elements")


def add_execution_flags(parser: argparse.ArgumentParser, adversarial: bool = True) -> None:
    """Flags of the host model; their defaults are those of chunk_gdr.model.options."""
    group = parser.add_argument_group("host model")
    if adversarial:
        group.add_argument(
            "--adversarial",
            type=seed,
            metavar="SEED",
            help="delay the queues at random, as far as flags, barriers and queue order allow",
        )
    add_plan_flags(group)
    group.add_argument("--threads", type=count, help="host threads that run the cores (all)")
    group.add_argument("--params", choices=["pessimistic", "optimistic"], help="cost parameters (pessimistic)")
    group.add_argument(
        "--overflow", choices=["saturate", "inf"], help="what float to half makes of large values (saturate)"
    )
    group.add_argument(
        "--permute-cube", action="store_true", default=None, help="accumulate products in a permuted order"
    )


def add_plan_flags(group) -> None:
    cores = whole_number(1, MAX_CORES)
    group.add_argument("--cores", type=cores, metavar="N", help=f"AI cores to use, 1 to {MAX_CORES} ({MAX_CORES})")
    add_layout_flags(group)


def add_layout_flags(group) -> None:
    """Flags that :func:`chosen_layout` reads."""
    group.add_argument(
        "--schedule",
        type=schedule_name,
        metavar="NAME[:N]",
        help=f"how cores share the work: {SCHEDULE_NAMES} (auto: predicted to be fastest)",
    )
    group.add_argument(
        "--chunk-size",
        type=chunk_size_name,
        metavar="TOKENS",
        help=f"tokens per chunk: {CHUNK_SIZE_NAMES} (auto: 64, fewer with keys of few dims); fewer take longer, "
        "and hold where keys, betas or states are far apart",
    )


@contextlib.contextmanager
def chosen_layout(arguments: argparse.Namespace) -> Iterator[None]:
    """The work is laid out as the flags say, where the command has them and they were given."""
    with contextlib.ExitStack() as stack:
        for choose, name in ((tiling.schedule, "schedule"), (tiling.chunk_size, "chunk_size")):
            if getattr(arguments, name, None) is not None:
                stack.enter_context(choose(getattr(arguments, name)))
        yield


def given_execution_flags(arguments: argparse.Namespace) -> list[str]:
    return [name for name in EXECUTION_FLAGS if getattr(arguments, name, None) is not None]


def execution_options(arguments: argparse.Namespace) -> dict:
    """Keyword arguments of chunk_gdr.model.options, only those that were given."""
    options = {name: getattr(arguments, name) for name in given_execution_flags(arguments)}
    if "adversarial" in options:
        options |= {"execution": "adversarial", "seed": options.pop("adversarial")}
    return options
