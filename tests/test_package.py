# SPDX-License-Identifier: Apache-2.0
"""The installed package: what is in it, and how it behaves when it is imported beside others."""

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import chunk_gdr

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path(chunk_gdr.__file__).parent
OPERATOR = "chunk_gated_delta_rule"


def python(code, env=None, path=(), ok=True):
    """Runs code in a fresh interpreter; returns (stdout, stderr)."""
    environment = {
        name: x for name, x in os.environ.items() if not name.startswith(("CHUNK_GDR_", "TORCH_DEVICE_BACKEND"))
    }
    environment["PYTHONPATH"] = os.pathsep.join([*map(str, path), *filter(None, [environment.get("PYTHONPATH")])])
    environment.update(env or {})
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        cwd=path[0] if path else None,
    )
    assert (done.returncode == 0) == ok, done.stderr
    return done.stdout, done.stderr


RUN_ONCE = """
import torch
q = torch.ones(2, 1, 4)
out, state = torch.ops.chunk_gdr.chunk_gated_delta_rule(q, q, q)
assert out.isfinite().all()
"""


def test_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+", chunk_gdr.__version__)


def test_version_without_metadata():
    """As in a source tree that is only in sys.path."""
    out, _ = python(
        """
        import importlib.metadata

        def version(name, found=importlib.metadata.version):
            if name == "chunk_gdr":
                raise importlib.metadata.PackageNotFoundError(name)
            return found(name)

        importlib.metadata.version = version
        import chunk_gdr.cli
        print(chunk_gdr.__version__)
        assert chunk_gdr.cli.main(["plan"]) == 0
        chunk_gdr.cli.main(["--version"])
        """
    )
    assert out.splitlines()[0] == "0+unknown"
    assert out.splitlines()[-1] == "chunk-gdr 0+unknown (not an installed package: no metadata)"


def test_a_source_tree_says_what_it_lacks(tmp_path):
    for source in PACKAGE.glob("*.py"):
        (tmp_path / "chunk_gdr").mkdir(exist_ok=True)
        (tmp_path / "chunk_gdr" / source.name).write_text(source.read_text())
    _, err = python("import chunk_gdr", path=[tmp_path], ok=False)
    expected = f"{tmp_path / 'chunk_gdr'} has no compiled _C, it is a source tree: `pip install` the package"
    assert err.splitlines()[-1] == f"ImportError: chunk_gdr: {expected}"


def test_tests_run_against_what_was_installed():
    """Not against python/ of the checkout, unless that is where the package was installed to (pip install -e)."""
    extension = next(PACKAGE.glob("_C*.so"))
    assert extension.parent == PACKAGE
    assert str(ROOT / "python") not in sys.path or PACKAGE == ROOT / "python" / "chunk_gdr"


def test_native_parts_are_inside_the_package():
    assert {x.name for x in (PACKAGE / "lib").glob("*.so")} - {"libchunk_gdr_npu.so"} == {
        "libchunk_gdr_kernels.so",
        "libchunk_gdr_model.so",
        "libchunk_gdr_ops.so",
    }
    assert (PACKAGE / "include" / "npu_model" / "api" / "kernel_operator.h").is_file()


def test_libraries_find_each_other_by_origin():
    for library in [*(PACKAGE / "lib").glob("*.so"), *PACKAGE.glob("_C*.so")]:
        text = library.read_bytes()
        assert b"$ORIGIN" in text
        assert str(ROOT).encode() not in text


def test_import_is_light():
    out, _ = python(
        """
        import sys, chunk_gdr
        heavy = ("chunk_gdr.", "matplotlib", "torch._dynamo", "torch._inductor")
        print(sorted(name for name in sys.modules if name.startswith(heavy)))
        """
    )
    assert "'chunk_gdr.reference'" not in out and "'chunk_gdr.cli'" not in out
    assert "matplotlib" not in out and "torch._dynamo" not in out and "torch._inductor" not in out


def test_submodules_are_attributes():
    python(
        """
        import chunk_gdr
        for name in ("cases", "compare", "model", "ops", "reference", "tiling", "workspace"):
            assert name in dir(chunk_gdr) and getattr(chunk_gdr, name).__name__ == f"chunk_gdr.{name}"
        """
    )


def test_unknown_attribute():
    with pytest.raises(AttributeError, match="module 'chunk_gdr' has no attribute 'nothing'"):
        chunk_gdr.nothing  # noqa: B018


# --- names


def test_registration():
    rows = {entry.name: entry for entry in chunk_gdr.registration()}
    assert set(rows) == {f"chunk_gdr::{OPERATOR}", f"npu::{OPERATOR}"}
    assert all(entry.active for entry in rows.values())
    assert rows[f"npu::{OPERATOR}"].reason == "the name was free"


def test_npu_name_can_be_switched_off():
    out, _ = python(
        f"""
        import torch, chunk_gdr
        print(*chunk_gdr.registration(), sep="\\n")
        assert not hasattr(torch.ops.npu, "{OPERATOR}")
        {textwrap.indent(RUN_ONCE, " " * 8).strip()}
        lib = torch.library.Library("npu", "FRAGMENT")
        lib.define("{OPERATOR}(Tensor x) -> Tensor")
        """,
        env={"CHUNK_GDR_REGISTER_NPU": "0"},
    )
    assert f"npu::{OPERATOR}: not this package, switched off by CHUNK_GDR_REGISTER_NPU=0" in out


@pytest.mark.parametrize("kind", ["DEF", "FRAGMENT"])
def test_another_library_owns_the_name(kind):
    out, _ = python(
        f"""
        import torch
        theirs = torch.library.Library("npu", "{kind}")
        theirs.define("{OPERATOR}(Tensor query) -> Tensor")
        theirs.impl("{OPERATOR}", lambda query: query + 1, "CPU")
        import chunk_gdr
        print(*chunk_gdr.registration(), sep="\\n")
        assert torch.ops.npu.{OPERATOR}(torch.ones(1)).item() == 2
        {textwrap.indent(RUN_ONCE, " " * 8).strip()}
        q = q[None].half()
        assert chunk_gdr.chunk_gated_delta_rule(q, q, q)[0].shape == q.shape
        """
    )
    assert f"npu::{OPERATOR}: not this package, another library defined it first" in out
    assert f"chunk_gdr::{OPERATOR}: this package" in out


def test_another_library_declares_the_namespace():
    """TORCH_LIBRARY(npu, ...) may come before or after us as long as it has other names."""
    for first, second in (("import chunk_gdr", "lib"), ("lib", "import chunk_gdr")):
        declare = 'lib = torch.library.Library("npu", "DEF"); lib.define("other(Tensor x) -> Tensor")'
        order = "\n".join(declare if line == "lib" else line for line in (first, second))
        python(f"import torch\n{order}\nassert all(r.active for r in chunk_gdr.registration())\n{RUN_ONCE}")


# --- device backends


def broken_torch_npu(folder):
    """A torch_npu that torch finds through its entry point and that cannot be imported, as without CANN."""
    (folder / "torch_npu").mkdir()
    (folder / "torch_npu" / "__init__.py").write_text(
        "raise ImportError('libascendcl.so: cannot open shared object file')\n"
    )
    info = folder / "torch_npu-2.13.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch_npu\nVersion: 2.13.0\n")
    (info / "entry_points.txt").write_text("[torch.backends]\ntorch_npu = torch_npu:_autoload\n")
    return folder


def test_broken_torch_npu(tmp_path):
    path = [broken_torch_npu(tmp_path)]
    _, err = python("import torch", path=path, ok=False)
    assert "Failed to load the backend extension: torch_npu" in err
    code = "import os, chunk_gdr\nassert 'TORCH_DEVICE_BACKEND_AUTOLOAD' not in os.environ\n" + RUN_ONCE
    _, err = python(code, path=path)
    assert "RuntimeWarning: chunk_gdr: torch backend 'torch_npu' did not load, going on without it: ImportError" in err


def test_broken_torch_npu_with_autoload_off(tmp_path):
    _, err = python(
        "import torch, chunk_gdr\n" + RUN_ONCE,
        path=[broken_torch_npu(tmp_path)],
        env={"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
    )
    assert "torch_npu" not in err


def test_working_backend_is_still_loaded(tmp_path):
    broken_torch_npu(tmp_path)
    (tmp_path / "torch_npu" / "__init__.py").write_text("loaded = []\ndef _autoload():\n    loaded.append(1)\n")
    for imports in ("import chunk_gdr", "import torch, chunk_gdr"):
        _, err = python(f"{imports}\nimport torch_npu\nassert torch_npu.loaded == [1]\n{RUN_ONCE}", path=[tmp_path])
        assert err == ""


# --- environment


@pytest.mark.parametrize("name", ["model", "reference"])
def test_default_backend_from_the_environment(name):
    out, _ = python(
        """
        import chunk_gdr
        print(chunk_gdr.current_backend())
        with chunk_gdr.backend("native"):
            print(chunk_gdr.current_backend())
        """,
        env={"CHUNK_GDR_BACKEND": name},
    )
    assert out.split() == [name, "native"]


def test_bad_default_backend_is_an_error_when_used():
    _, err = python(
        RUN_ONCE.replace("import torch", "import torch, chunk_gdr"), env={"CHUNK_GDR_BACKEND": "gpu"}, ok=False
    )
    assert "environment variable CHUNK_GDR_BACKEND: expected 'native', 'model' or 'reference', got 'gpu'" in err


def test_command_prints_the_version():
    command = Path(sys.executable).with_name("chunk-gdr")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True, timeout=300)
    assert chunk_gdr.__version__ in done.stdout
