# SPDX-License-Identifier: Apache-2.0
"""chunk-gdr profile: where the operator's time goes on the host model, beside what msprof saw on a card."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from .. import model as host_model
from ..arguments import (
    FLOAT32_MAX,
    UsageError,
    add_case_flags,
    add_execution_flags,
    execution_options,
    flag_of,
    given_case,
    given_execution_flags,
    load,
    number,
    whole_number,
)
from ..plotting import PlotUnavailable
from ..progress import Progress
from ..report import hazard_counts, hazard_text, json_ready
from ..runner import call_operator, problem_of
from ..tiling import MAX_CORES
from .files import check_replaceable, profile_directory
from .msprof import read_msprof
from .pipeline import draw
from .tables import side_by_side, table
from .trace import Trace, read_trace
from .usage import Profile, of_model

PICTURE = "pipeline.png"


def add_profile_command(commands) -> None:
    parser = commands.add_parser(
        "profile",
        help="run the operator on the host model and show where its model cycles go; read msprof files of a card",
        description="Runs the operator with a trace: table per queue and stage, trace.json, CSV tables, a picture.",
    )
    add_case_flags(parser)
    add_execution_flags(parser, adversarial=False)
    files = parser.add_argument_group("files and output")
    files.add_argument("--input", metavar="X.npz", help="captured tensors instead of a generated case")
    files.add_argument("--output", metavar="DIR", help="folder for the files; an earlier profile is replaced (profile)")
    files.add_argument("--json", action="store_true", help="one JSON object on stdout instead of the tables")
    picture = parser.add_argument_group("picture and table (of one core)")
    core, cycle = whole_number(0, MAX_CORES - 1), number(0, FLOAT32_MAX, "a finite number of cycles from 0")
    picture.add_argument("--core", type=core, metavar="N", help="which core, from 0 (the slowest)")
    picture.add_argument("--from", type=cycle, dest="begin", metavar="CYCLE", help="where the picture begins")
    picture.add_argument("--to", type=cycle, dest="end", metavar="CYCLE", help="where it ends (two chunks in mid-run)")
    card = parser.add_argument_group("a card")
    card.add_argument("--msprof", metavar="DIR|CSV", help="read what msprof wrote on a card; nothing is run")
    card.add_argument("--op", metavar="NAME", help="operator to take from a file that lists several")
    card.add_argument("--model", action="store_true", help="with --msprof: run the host model too, and show both")
    parser.set_defaults(function=profile_command)


def profile_command(arguments: argparse.Namespace) -> int:
    if arguments.msprof is None:
        for flag in ("op", "model"):
            if getattr(arguments, flag):
                raise UsageError(f"--{flag} is for --msprof")
        return model_command(arguments, None)
    if arguments.model:
        return model_command(arguments, read_msprof(arguments.msprof, arguments.op))
    refuse_model_flags(arguments)
    card = read_msprof(arguments.msprof, arguments.op)
    print(as_json({"card": card.to_dict()}) if arguments.json else table(card))
    return 0


def refuse_model_flags(arguments: argparse.Namespace) -> None:
    given = {*given_case(arguments), *given_execution_flags(arguments)}
    given |= {name for name in ("input", "output", "core", "begin", "end") if getattr(arguments, name) is not None}
    if given:
        raise UsageError(f"--msprof reads a card's profile and runs nothing: {min(map(flag_of, given))} needs --model")


def model_command(arguments: argparse.Namespace, card: Profile | None) -> int:
    check_window(arguments)
    if arguments.output == "":
        raise UsageError("--output: the name of the folder is empty")
    target = Path(arguments.output or "profile")
    check_replaceable(target)
    inputs, notes = load(arguments.input, given_case(arguments), arguments, half=True)
    with Progress("running on backend 'model'") as progress:
        options = execution_options(arguments) | {"progress": progress.update}
        call = call_operator(inputs, "model", **options, trace=True, redundant_sync=True)
        progress.stage("writing the profile")
        with profile_directory(target) as folder:
            host_model.last_report().write_profile(folder)
            trace = read_trace(folder / "trace.json")
            profile = of_model(call.model, trace)
            core = chosen_core(arguments.core, profile)
            window, excuse = picture(arguments, trace, core, folder / PICTURE)
    missed = [call.error] if call.error else []
    missed += [f"hazards.{grade}: {count}, must be 0" for grade, count in hazard_counts(call.model).items() if count]
    report = {
        "passed": not missed,
        "missed": missed,
        "problem": problem_of(inputs),
        "model": profile.to_dict(),
        "core": core,
        "window": window,
        "redundant_sync": call.model["redundant_sync"],
        "files": sorted(str(path) for path in target.rglob("*") if path.is_file()),
    }
    if card is not None:
        report["card"] = card.to_dict()
    for text in (*notes, *([excuse] if excuse else [])):
        print(f"chunk-gdr: {text}", file=sys.stderr)
    if arguments.json:
        print(as_json(report))
    else:
        parts = [table(profile, core)]
        parts.append(call.model["redundant_sync"]["report"])
        if missed:
            parts += [hazard_text(call.model), "MISSED: " + "; ".join(missed)]
        if card is not None:
            parts.append(side_by_side(profile, card))
        written = f", {PICTURE} of core {core} (cycles {window[0]:,.0f} to {window[1]:,.0f})" if window else ""
        parts.append(f"{target}: trace.json for a trace viewer, CSV tables per core{written}")
        print("\n\n".join(parts))
    return 0 if not missed else 1


def as_json(report: dict) -> str:
    return json.dumps(json_ready(report), allow_nan=False)


def check_window(arguments: argparse.Namespace) -> None:
    if arguments.end is not None and arguments.end <= (arguments.begin or 0):
        raise UsageError(f"--to {arguments.end:g}: the picture would be empty")


def chosen_core(core: int | None, profile: Profile) -> int:
    if core is not None and core >= len(profile.cores):
        raise UsageError(f"--core {core}: cores 0 to {len(profile.cores) - 1} ran")
    return profile.slowest if core is None else core


def picture(
    arguments: argparse.Namespace, trace: Trace, core: int, path: Path
) -> tuple[tuple[float, float] | None, str | None]:
    """The window that was drawn, or why there is no picture."""
    shown = trace.cores[core]
    if arguments.begin is not None and arguments.begin >= shown.cycles:
        raise UsageError(f"--from {arguments.begin:g}: core {core} ends at cycle {shown.cycles:.0f}")
    try:
        return draw(shown, path, arguments.begin, arguments.end, "chunk_gated_delta_rule"), None
    except PlotUnavailable as missing:
        return None, f"no {path.name}: {missing}"
