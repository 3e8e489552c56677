# SPDX-License-Identifier: Apache-2.0
"""chunk-gdr model: kernels of your own for the host model."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from . import model
from .arguments import UsageError
from .capture import check_writable


def add_model_command(commands) -> None:
    parser = commands.add_parser(
        "model",
        help="build a kernel of your own for the host model",
        description="Compiles AscendC kernels for the host model, where chunk_gdr.model.run runs them.",
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)

    build = actions.add_parser(
        "build",
        help="compile a kernel into a library",
        description="Compiles AscendC kernel sources for Ascend 310P into a library, with $CXX or g++.",
    )
    build.add_argument("source", nargs="+", metavar="KERNEL.cpp", help="one source, or several of one library")
    build.add_argument("-o", "--output", required=True, metavar="KERNEL.so", help="the library")
    build.add_argument("-I", "--include", action="append", default=[], metavar="DIR", help="a further include folder")
    build.add_argument("-D", "--define", action="append", default=[], metavar="NAME[=VALUE]", help="a macro")
    build.add_argument("--flag", action="append", default=[], metavar="FLAG", help="a compiler flag, as in --flag=-g")
    build.add_argument("--json", action="store_true", help="one JSON object instead of text")
    build.set_defaults(function=build_command)

    headers = actions.add_parser(
        "headers",
        help="print the include folders of the AscendC headers, for an editor",
        description="Prints the include folders that `build` uses, one a line: kernel_operator.h and what it needs.",
    )
    headers.add_argument("--json", action="store_true", help="one JSON object instead of text")
    headers.set_defaults(function=headers_command)


def build_command(arguments: argparse.Namespace) -> int:
    for source in arguments.source:
        if not Path(source).is_file():
            raise UsageError(f"{source}: no such file")
    for folder in arguments.include:
        if not Path(folder).is_dir():
            raise UsageError(f"--include {folder}: no such directory")
    check_writable(arguments.output)
    defines = {}
    for text in arguments.define:
        name, given, value = text.partition("=")
        defines[name] = value if given else None
    library = model.build(arguments.source, arguments.output, arguments.include, defines, arguments.flag)
    print(json.dumps({"library": str(library)}) if arguments.json else library)
    return 0


def headers_command(arguments: argparse.Namespace) -> int:
    folders = [str(folder) for folder in model.include_dirs()]
    print(json.dumps({"include": folders}) if arguments.json else "\n".join(folders))
    return 0
