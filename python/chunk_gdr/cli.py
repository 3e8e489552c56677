# SPDX-License-Identifier: Apache-2.0
"""The command chunk-gdr: run, plan, check, profile, bench, model, doctor.

Exit code 0: all bars hold; 1: a bar is missed; 2: wrong use.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys

from . import UNKNOWN_VERSION, __version__, tiling
from .arguments import (
    UsageError,
    add_case_flags,
    add_execution_flags,
    add_plan_flags,
    case_of,
    chosen_layout,
    execution_options,
    flag_of,
    given_case,
    given_execution_flags,
    load,
    whole,
)
from .bench.command import add_bench_command
from .capture import CaptureError, check_writable, load_inputs, save_outputs
from .cases import SUITE
from .check import check_suite, suite_inputs
from .doctor import add_doctor_command
from .model import BuildError
from .model_command import add_model_command
from .profile import ProfileError
from .profile.command import add_profile_command
from .progress import Progress
from .report import RunReport
from .runner import (
    call_operator,
    compare_with_truth,
    first_line,
    input_warnings,
    is_user_error,
    plan_of,
    plan_of_case,
    problem_of,
)

BACKENDS = ("model", "native", "reference", "npu")
ON_CHIP = ("model", "npu")  # that run the device kernel
SEEDS = 5
USER_VALUES = ("environment variable ", "chunk_gated_delta_rule tiling: ")  # how a ValueError about the user's begins


class Parser(argparse.ArgumentParser):
    """Its errors are one line, without the usage; those of the subcommands too."""

    def error(self, message: str):
        self.exit(2, f"{self.prog}: error: {' '.join(message.split())}\n")


def version_text() -> str:
    if __version__ != UNKNOWN_VERSION:
        return __version__
    return f"{__version__} (not an installed package: no metadata)"


def build_parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="chunk-gdr",
        description="Gated delta rule for Ascend 310P: run the kernel on a model of the chip and check its results.",
    )
    parser.add_argument("--version", action="version", version=f"chunk-gdr {version_text()}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    run = commands.add_parser(
        "run",
        help="run the operator and report accuracy, hazards and model cycles",
        description="Runs chunk_gated_delta_rule and compares every (sequence, head) with the fp64 recurrence.",
    )
    add_case_flags(run)
    add_execution_flags(run)
    files = run.add_argument_group("files and output")
    files.add_argument("--input", metavar="X.npz", help="captured tensors instead of a generated case")
    files.add_argument("--output", metavar="Y.npz", help="write out, final_state and chunk_state")
    files.add_argument(
        "--backend", choices=BACKENDS, default="model", help="what executes the operator (model); npu: the card"
    )
    files.add_argument("--json", action="store_true", help="one JSON object on stdout instead of the report")
    files.add_argument("--all-heads", action="store_true", help="list every head")
    files.add_argument("--top", type=whole, default=5, metavar="N", help="heads listed per result, worst first (5)")
    run.set_defaults(function=run_command)

    plan = commands.add_parser(
        "plan",
        help="print what would run where: tiling key, core partition, buffers, workspace",
        description="Prints the launch plan of a case. Nothing is executed.",
    )
    add_case_flags(plan)
    add_plan_flags(plan)
    plan.add_argument("--json", action="store_true", help="one JSON object instead of text")
    plan.set_defaults(function=plan_command)

    check = commands.add_parser(
        "check",
        help="run a suite of cases in program order and adversarially: bars, hazards, bitwise equality",
        description="Runs each case on the host model in program order and under several adversarial seeds.",
    )
    check.add_argument("--seeds", type=whole, metavar="N", help=f"adversarial seeds per case ({SEEDS})")
    check.add_argument("--case", action="append", choices=list(SUITE), help="only this case; may be repeated")
    check.add_argument("--input", metavar="X.npz", help="check captured tensors instead of the suite")
    check.add_argument("--json", action="store_true", help="one JSON object on stdout instead of the table")
    check.add_argument(
        "--sync-mutants",
        action="store_true",
        help="instead: remove each flag pair and barrier of the kernel by itself and see whether the checker notices",
    )
    add_execution_flags(check, adversarial=False)
    check.set_defaults(function=check_command)

    add_profile_command(commands)
    add_bench_command(commands)
    add_model_command(commands)
    add_doctor_command(commands)
    return parser


def run_command(arguments: argparse.Namespace) -> int:
    backend = arguments.backend
    on_model = backend == "model"
    refuse_ignored_flags(arguments)
    if arguments.output is not None:
        check_writable(arguments.output, arguments.input)
    inputs, notes = load(arguments.input, given_case(arguments), arguments, half=backend in ON_CHIP)
    with Progress(f"running on backend '{backend}'") as progress:
        options = execution_options(arguments) | {"progress": progress.update} if on_model else {}
        call = call_operator(inputs, backend, **options)
        report = RunReport(backend, problem_of(inputs), call, warnings=notes + input_warnings(inputs))
        if on_model:
            report.plan = plan_of(inputs, arguments.cores or tiling.MAX_CORES)
        if call.error is None:
            progress.stage("comparing with the fp64 recurrence")
            report.comparisons = compare_with_truth(inputs, call.result, overflow_mode(arguments))
    if arguments.output is not None and call.error is None:
        save_outputs(arguments.output, vars(call.result))
    if arguments.json:
        print(report.to_json(arguments.all_heads))
    else:
        print(report.text(None if arguments.all_heads else arguments.top))
    return 0 if report.passed else 1


def refuse_ignored_flags(arguments: argparse.Namespace) -> None:
    """Flags of the host model that another backend would not look at; on the card, --overflow says what to expect."""
    if arguments.backend == "model":
        return
    for name in given_execution_flags(arguments):
        if (arguments.backend, name) != ("npu", "overflow"):
            raise UsageError(f"{flag_of(name)} is for --backend model, not {arguments.backend}")


def overflow_mode(arguments: argparse.Namespace) -> str:
    """What an fp16 result beyond 65,504 has to be: on the chip that depends on a mode, elsewhere it is inf."""
    return (arguments.overflow or "saturate") if arguments.backend in ON_CHIP else "inf"


def plan_command(arguments: argparse.Namespace) -> int:
    plan = plan_of_case(case_of(arguments), arguments.cores or tiling.MAX_CORES)
    print(json.dumps(plan.to_dict()) if arguments.json else plan)
    return 0


def check_command(arguments: argparse.Namespace) -> int:
    if arguments.sync_mutants:
        return sync_mutants_command(arguments)
    if arguments.input:
        if arguments.case:
            raise UsageError("--input is checked instead of the suite: --case does not apply")
        inputs, notes = load_inputs(arguments.input)
        suite = {arguments.input: inputs}
        for text in notes:
            print(f"chunk-gdr: {text}", file=sys.stderr)
    else:
        suite = suite_inputs(arguments.case)
    seeds = SEEDS if arguments.seeds is None else arguments.seeds
    with Progress("checking") as progress:
        result = check_suite(suite, seeds, execution_options(arguments), progress)
    print(result.to_json() if arguments.json else result)
    return 0 if result.passed else 1


def sync_mutants_command(arguments: argparse.Namespace) -> int:
    from .sync_mutants import campaign, operator_scenarios

    laid_out = arguments.schedule is not None or arguments.chunk_size is not None
    if arguments.input or arguments.case or arguments.seeds is not None or laid_out or given_execution_flags(arguments):
        raise UsageError("--sync-mutants brings its own cases and options: only --json goes with it")
    with Progress("checking") as progress:
        result = campaign(operator_scenarios(), progress=progress)
    print(result.to_json() if arguments.json else result)
    return 0 if result.passed else 1


def join_negative_numbers(argv: list[str]) -> list[str]:
    """"--gate", "-1e-5" as one word: argparse would take the second for a flag, as it would -inf."""
    joined: list[str] = []
    for word in argv:
        before = joined[-1] if joined else ""
        if before.startswith("--") and before != "--" and "=" not in before and is_negative_number(word):
            joined[-1] = f"{before}={word}"
        else:
            joined.append(word)
    return joined


def is_negative_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return word.startswith("-")


def main(argv: list[str] | None = None) -> int:
    parser = build_parser()
    arguments = parser.parse_args(join_negative_numbers(sys.argv[1:] if argv is None else argv))
    if arguments.command is None:
        parser.error("a command is needed: run, plan, check, profile, bench, model or doctor")
    if sys.stdout is None:
        parser.error("standard output is closed")
    if sys.stderr is None:  # progress and notes have no reader, the work goes on
        sys.stderr = open(os.devnull, "w")
    try:
        with chosen_layout(arguments):
            code = arguments.function(arguments)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print("chunk-gdr: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output has gone; nothing is left to say
        drop_output()
        return 1
    except Exception as error:
        message = usage_message(error)
        if message is None:
            raise
        try:
            sys.stdout.flush()  # what was printed before the error
        except OSError:
            drop_output()
        print(f"chunk-gdr: error: {message}", file=sys.stderr)
        return 2


def drop_output() -> None:
    """What stdout could not take is not tried again at exit."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def usage_message(error: Exception) -> str | None:
    """One line for what the user can put right; None for what is a fault of this program."""
    if isinstance(error, (UsageError, CaptureError, ProfileError, BuildError)):
        return str(error)
    if isinstance(error, ValueError) and str(error).startswith(USER_VALUES):
        return first_line(error)
    if isinstance(error, OSError):
        return str(error)
    if isinstance(error, MemoryError):
        return f"not enough memory for these shapes ({error})"
    if isinstance(error, RuntimeError) and is_user_error(error):
        return first_line(error)
    return None


if __name__ == "__main__":
    sys.exit(main())
