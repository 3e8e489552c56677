# SPDX-License-Identifier: Apache-2.0
"""chunk-gdr bench: model cycles of fixed shapes, beside the bound of the memory and with their accuracy."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys

from ..arguments import UsageError, add_layout_flags, count
from ..capture import check_writable
from ..cases import BENCHES
from ..model import BuildError
from ..plotting import PlotUnavailable
from ..progress import Progress
from ..report import json_ready
from .builds import KERNEL, STATE_LAYOUTS, with_state_layout
from .figures import measure
from .roofline import draw
from .tables import table


def add_bench_command(commands) -> None:
    parser = commands.add_parser(
        "bench",
        help="measure fixed shapes on the host model: cycles, bounds, queues, accuracy",
        description="Runs fixed shapes on the host model of all cores, under both parameter sets. Takes a minute or so.",
    )
    parser.add_argument("--suite", choices=list(BENCHES), default="model", help="which shapes (model)")
    parser.add_argument("--only", action="append", metavar="NAME", help="only this shape of the suite; may be repeated")
    parser.add_argument(
        "--state-layout",
        choices=[*STATE_LAYOUTS, "both"],
        help="where the kernel keeps the state between chunks; one that is not the package's own is built from --kernel",
    )
    parser.add_argument("--kernel", default=KERNEL, metavar="FILE", help="the kernel's entry.cpp (%(default)s)")
    parser.add_argument("--threads", type=count, help="host threads that run the cores (all)")
    add_layout_flags(parser)
    parser.add_argument("--json", action="store_true", help="a JSON list on stdout, one object per shape")
    parser.add_argument("--png", metavar="FILE", help="draw a roofline picture")
    parser.set_defaults(function=bench_command)


def kernel_of(layout: str | None, kernel: str) -> contextlib.AbstractContextManager[None]:
    if layout is None:
        return contextlib.nullcontext()
    try:
        return with_state_layout(layout, kernel)
    except FileNotFoundError:
        raise UsageError(f"--state-layout {layout}: {kernel} does not exist; run this from the repository root") from None
    except BuildError as error:
        raise UsageError(f"--state-layout {layout}: {error}") from None


def bench_command(arguments: argparse.Namespace) -> int:
    suite = BENCHES[arguments.suite]
    names = list(dict.fromkeys(arguments.only or suite))
    for name in names:
        if name not in suite:
            raise UsageError(f"--only {name}: suite {arguments.suite} has {', '.join(suite)}")
    if arguments.png is not None:
        check_writable(arguments.png)
    options = {} if arguments.threads is None else {"threads": arguments.threads}
    rows = []
    for layout in {"both": STATE_LAYOUTS, None: (None,)}.get(arguments.state_layout, (arguments.state_layout,)):
        with kernel_of(layout, arguments.kernel), Progress("measuring") as progress:
            rows += [measure(name, suite[name], progress, **options) for name in names]
    print(json.dumps(json_ready([row.to_dict() for row in rows]), allow_nan=False) if arguments.json else table(rows))
    if arguments.png is not None and any(row.pessimistic for row in rows):
        try:
            draw(rows, arguments.png)
        except PlotUnavailable as missing:
            print(f"chunk-gdr: no {arguments.png}: {missing}", file=sys.stderr)
    return 0 if all(row.passed for row in rows) else 1
