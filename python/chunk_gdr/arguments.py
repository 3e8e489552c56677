# SPDX-License-Identifier: Apache-2.0
"""Command-line flags that several subcommands share: the case to run, its tensors, the way the host model runs it."""

from __future__ import annotations

import argparse
from dataclasses import replace

from .capture import load_inputs
from .cases import BETAS, GATES, KEYS, Case, Inputs, chunk_state_like, make_inputs

CORES = 8  # of the chip
EXECUTION_FLAGS = ("cores", "threads", "params", "overflow", "permute_cube")
INPUT_FLAGS = {"scale", "l2norm", "chunk_state"}  # fields of a case that also apply to captured tensors


class UsageError(Exception):
    """Wrong use, explained in one line; exit code 2."""


def count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError
    return value


def whole(text: str) -> int:
    value = int(text)
    if value < 0:
        raise ValueError
    return value


def length_list(text: str) -> tuple[int, ...]:
    return tuple(whole(part) for part in text.split(","))


def named_or_number(names):
    def parse(text: str):
        return text if text in names else float(text)

    parse.__name__ = "name or number"
    return parse


def scale_value(text: str) -> float | None:
    return None if text == "none" else float(text)


count.__name__ = "positive integer"
whole.__name__ = "non-negative integer"
length_list.__name__ = "list of lengths"
scale_value.__name__ = "number or 'none'"


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
    flag("--dk", type=count, help=f"head dim of query and key, 1 to 128 ({case.dk})")
    flag("--dv", type=count, help=f"head dim of value, 1 to 128 ({case.dv})")
    flag(
        "--gate",
        type=named_or_number(GATES),
        metavar="NAME|NUMBER",
        help=f"log of the decay ({case.gate}): a constant, or one of {', '.join(GATES)}",
    )
    flag("--keys", choices=list(KEYS), help=f"({case.keys}); raw keys are not normalised: use --l2norm")
    flag("--key-norm", type=float, help=f"factor on the keys ({case.key_norm:g})")
    flag(
        "--beta",
        type=named_or_number(BETAS),
        metavar="NAME|NUMBER",
        help=f"({case.beta}): a constant, or one of {', '.join(BETAS)}",
    )
    flag("--v-size", type=float, help=f"standard deviation of the values ({case.v_size:g})")
    dtypes = ["float16", "bfloat16", "float32"]
    flag("--dtype", choices=dtypes, help=f"of query, key, value ({case.dtype}, the only one of the chip and its model)")
    flag("--beta-dtype", choices=["float16", "float32"], help=f"({case.beta_dtype})")
    flag("--state", choices=["none", "float16", "float32"], help=f"dtype of the initial state ({case.state})")
    flag("--state-size", type=float, help=f"standard deviation of the initial state ({case.state_size:g})")
    flag("--seed", type=whole, help=f"of the generated values ({case.seed})")
    add_call_flags(group)


def add_call_flags(group) -> None:
    group.add_argument(
        "--scale",
        type=scale_value,
        default=argparse.SUPPRESS,
        help="factor of out (dk ** -0.5); 'none' leaves it out, and the operator takes 1.0",
    )
    group.add_argument(
        "--l2norm", action="store_true", default=argparse.SUPPRESS, help="normalise query and key in the kernel"
    )
    group.add_argument(
        "--chunk-state", action="store_true", default=argparse.SUPPRESS, help="return the state entering each chunk too"
    )


def given_case(arguments: argparse.Namespace) -> dict:
    """The fields of Case that were given as flags."""
    fields = {name: value for name, value in vars(arguments).items() if name in Case.__dataclass_fields__}
    if fields.get("state") == "none":
        fields["state"] = None
    return fields


def case_of(arguments: argparse.Namespace) -> Case:
    case = replace(Case(), **given_case(arguments))
    if not case.pass_lengths and len(case.lengths) != 1:
        raise UsageError(f"--no-lengths is one sequence: give its length, not {len(case.lengths)}")
    if sum(case.lengths) >= 2**31:
        raise UsageError(f"--lengths: at most 2147483647 tokens together, not {sum(case.lengths)}")
    if case.nv % case.nk:
        raise UsageError(f"--nv {case.nv} is not a multiple of --nk {case.nk}")
    for name in ("dk", "dv"):
        if getattr(case, name) > 128:
            raise UsageError(f"--{name} {getattr(case, name)}: head dims go from 1 to 128")
    return case


def load(path: str | None, given: dict, arguments: argparse.Namespace, half: bool) -> tuple[Inputs, list[str]]:
    """The tensors of a generated case, or those of a file with the flags that apply to them."""
    if path is None:
        return make_inputs(case_of(arguments)), []
    for name in sorted(given.keys() - INPUT_FLAGS):
        flag = {"pass_lengths": "no-lengths"}.get(name, name.replace("_", "-"))
        raise UsageError(f"--input brings its own tensors: --{flag} does not apply")
    inputs, notes = load_inputs(path, half)
    if "scale" in given:
        inputs.scale = given["scale"]
    inputs.use_qk_l2norm_in_kernel |= given.get("l2norm", False)
    if given.get("chunk_state"):
        inputs.chunk_state = chunk_state_like(inputs)
    return inputs, notes


def add_execution_flags(parser: argparse.ArgumentParser, adversarial: bool = True) -> None:
    """Flags of the host model; their defaults are those of chunk_gdr.model.options."""
    group = parser.add_argument_group("host model")
    if adversarial:
        group.add_argument(
            "--adversarial",
            type=whole,
            metavar="SEED",
            help="delay the queues at random, as far as flags, barriers and queue order allow",
        )
    add_cores_flag(group)
    group.add_argument("--threads", type=count, help="host threads that run the cores (all)")
    group.add_argument("--params", choices=["pessimistic", "optimistic"], help="cost parameters (pessimistic)")
    group.add_argument(
        "--overflow", choices=["saturate", "inf"], help="what float to half makes of large values (saturate)"
    )
    group.add_argument(
        "--permute-cube", action="store_true", default=None, help="accumulate products in a permuted order"
    )


def add_cores_flag(group) -> None:
    cores = range(1, CORES + 1)
    group.add_argument("--cores", type=int, choices=cores, metavar="N", help=f"AI cores to use, 1 to {CORES} ({CORES})")


def execution_options(arguments: argparse.Namespace) -> dict:
    """Keyword arguments of chunk_gdr.model.options, only those that were given."""
    options = {name: getattr(arguments, name) for name in EXECUTION_FLAGS if getattr(arguments, name) is not None}
    if getattr(arguments, "adversarial", None) is not None:
        options |= {"execution": "adversarial", "seed": arguments.adversarial}
    return options
