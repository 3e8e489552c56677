# SPDX-License-Identifier: Apache-2.0
"""The README's section on kernels of one's own, command by command and snippet by snippet."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from chunk_gdr import cli, model, model_build

ROOT = Path(__file__).parents[2]
SECTION = (ROOT / "README.md").read_text().split("## Use the host model for your own kernel\n")[1].split("\n## ")[0]
COMMANDS = re.findall(r"```sh\n(.*?)```", SECTION, re.S)[0].splitlines()
SNIPPETS = re.findall(r"```python\n(.*?)```", SECTION, re.S)


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A folder that looks like the clone's root and can be written to."""
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    monkeypatch.chdir(tmp_path)
    # The virtual environment is active: its folder of commands comes first.
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def test_documented_commands(clone):
    assert [shlex.split(line)[0] for line in COMMANDS] == ["chunk-gdr", "python"] * 2
    shown = []
    for line in COMMANDS:
        done = subprocess.run(line, shell=True, capture_output=True, text=True)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        shown.append(done.stdout)
    assert shown[0] == "vector_add.so\n" and "100000 sums are right" in shown[1] and "no hazards" in shown[1]
    assert "6 executions, the same bits" in shown[3] and "MTE1" in shown[3]
    assert (clone / "matmul64_profile" / "trace.json").is_file()


def test_documented_snippet(clone, capsys):
    (snippet,) = SNIPPETS
    names = {}
    exec(compile(snippet, "README.md", "exec"), names)
    report = names["report"]
    assert (names["z"] == 2).all() and not report.error and report.errors == report.auto_sync == 0
    assert "the slowest of 8" in capsys.readouterr().out and len(report.to_dict()["blocks"]) == 8
    assert (clone / "vector_add_profile" / "core7" / "core7_instr_exe.csv").is_file()


@pytest.mark.parametrize("kernel", ["vector_add", "matmul64"])
def test_examples_compile_without_warnings(kernel, tmp_path, capsys):
    source = ROOT / "tests/npu_model/examples" / f"{kernel}.cpp"
    assert "#if" not in source.read_text()
    # An entry has the parameters its launch passes, used or not.
    flags = [f"--flag=-W{name}" for name in ("all", "extra", "error", "no-unused-parameter")]
    assert cli.main(["model", "build", str(source), "-o", str(tmp_path / "k.so"), *flags]) == 0, capsys.readouterr().err


def test_include_folders_and_macros(tmp_path, capsys):
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "mine.h").write_text("#define MINE 3\n")
    source = tmp_path / "k.cpp"
    source.write_text('#include "kernel_operator.h"\n#include "mine.h"\nstatic_assert(MINE == OTHER && WORD, "");\n')
    argv = ["model", "build", str(source), "-o", str(tmp_path / "k.so")]
    flags = ["--include", str(tmp_path / "include"), "-D", "OTHER=3", "-DWORD"]
    assert cli.main([*argv, *flags, "--json"]) == 0
    assert str(tmp_path / "k.so") in capsys.readouterr().out and (tmp_path / "k.so").is_file()
    (tmp_path / "k.so").unlink()
    assert cli.main(argv) == 2
    error = capsys.readouterr().err
    assert "k.cpp does not compile for the host model" in error and "mine.h" in error and "Traceback" not in error
    assert sorted(os.listdir(tmp_path)) == ["include", "k.cpp"]


@pytest.mark.parametrize(
    "argv, message",
    [
        (["model"], "the following arguments are required: ACTION"),
        (["model", "build", "none.cpp", "-o", "k.so"], "none.cpp: no such file"),
        (["model", "build", "none.cpp"], "required: -o/--output"),
        (["model", "build", __file__, "-o", "k.so", "--include", "/nowhere"], "--include /nowhere: no such directory"),
        (["model", "build", __file__, "-o", "/nowhere/k.so"], "/nowhere/k.so: no such directory"),
    ],
)
def test_wrong_use_is_one_line(argv, message, capsys):
    try:
        code = cli.main(argv)
    except SystemExit as stop:
        code = stop.code
    error = capsys.readouterr().err.splitlines()[-1]
    assert code == 2 and message in error


def test_a_compiler_that_does_not_run(tmp_path, monkeypatch, capsys):
    source = ROOT / "tests/npu_model/examples/vector_add.cpp"
    for wished, message in (("no-such-compiler -O2", "No such file or directory"), ("false", "non-zero exit status 1")):
        monkeypatch.setenv("CXX", wished)
        model_build._compiler_version.cache_clear()
        assert cli.main(["model", "build", str(source), "-o", str(tmp_path / "k.so")]) == 2
        (error,) = capsys.readouterr().err.splitlines()
        assert error.startswith(f"chunk-gdr: error: C++ compiler '{wished.split()[0]}' ($CXX, else g++): expected one")
        assert message in error and os.listdir(tmp_path) == []


def test_headers(capsys):
    assert cli.main(["model", "headers"]) == 0
    folders = capsys.readouterr().out.split()
    assert folders == [str(folder) for folder in model.include_dirs()]
    assert (Path(folders[0]) / "kernel_operator.h").is_file()
