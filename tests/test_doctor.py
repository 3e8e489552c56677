# SPDX-License-Identifier: Apache-2.0
"""chunk-gdr doctor, on machines with and without the parts of Ascend; and what loads the NPU kernels."""

import json
import os
import subprocess
import sys

import pytest
import torch

from chunk_gdr import _npu, cli, doctor

VERSION = torch.__version__.partition("+")[0]


def run(*arguments, path=(), **environment):
    """The command in a process of its own, without what this machine may have of Ascend."""
    clean = {name: x for name, x in os.environ.items() if not name.startswith(("ASCEND_", "CHUNK_GDR_"))}
    clean["PYTHONPATH"] = os.pathsep.join([*map(str, path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-m", "chunk_gdr.cli", "doctor", *arguments],
        env=clean | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert "Traceback" not in done.stdout + done.stderr
    return done


def checks(output):
    return {check["name"]: check for check in json.loads(output)["checks"]}


def fake_torch_npu(folder, code, version=VERSION):
    """A torch_npu that torch finds through its entry point."""
    (folder / "torch_npu").mkdir()
    (folder / "torch_npu" / "__init__.py").write_text(code)
    info = folder / f"torch_npu-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: torch_npu\nVersion: {version}\n")
    (info / "entry_points.txt").write_text("[torch.backends]\ntorch_npu = torch_npu:_autoload\n")
    return folder


@pytest.mark.skipif(_npu.DRIVER.exists(), reason="this machine has the driver")
def test_a_machine_without_anything():
    done = run()
    assert done.returncode == 0 and done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0] == "driver           missing  /dev/davinci_manager does not exist"
    assert "CANN             missing  ASCEND_HOME_PATH is not set" in lines
    assert "  ASCEND_HOME_PATH               (not set)" in lines
    assert "  yes  CPU tensors: backends native, reference, model" in lines
    (card,) = [line for line in lines if "tensors of torch_npu on the card" in line]
    assert card.startswith("  no ") and "needs driver, chip" in card


BROKEN = {
    "without CANN": ("raise ImportError('libascendcl.so: cannot open')", "ImportError: libascendcl.so: cannot open"),
    "crashing": ("import os; os.abort()", "killed by SIGABRT"),
    "exiting": ("raise SystemExit(3)", "exit code 3"),
    "wordy": ("raise RuntimeError('no device\\n[ERROR] PID 1\\n  rectify it')", "RuntimeError: no device"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_torch_npu(kind, tmp_path):
    code, expected = BROKEN[kind]
    done = run("--json", path=[fake_torch_npu(tmp_path, code)])
    assert done.returncode == 0
    check = checks(done.stdout)["torch_npu"]
    assert check["state"] == "problem" and check["found"] == f"{VERSION} cannot be imported: {expected}"


def test_versions_that_do_not_belong_together(tmp_path):
    code = "class npu:\n    device_count = staticmethod(lambda: 1)\n"
    done = run("--json", path=[fake_torch_npu(tmp_path, code, "2.1.0")])
    assert checks(done.stdout)["torch_npu"]["found"] == f"2.1.0 beside torch {torch.__version__}"


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with everything: each part a file or a script in place of the real one."""

    def script(path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def file(path, text=""):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    for name in ("davinci_manager", "davinci0", "davinci1"):
        file(tmp_path / "dev" / name)
    file(tmp_path / "driver" / "version.info", "Version=25.0.rc1\nascendhal_version=7.35.19\n")
    home = tmp_path / "cann"
    file(home / "lib64" / "libascendcl.so")
    file(home / "compiler" / "version.info", "Version=8.1.RC1\n")
    script(home / "compiler" / "ccec_compiler" / "bin" / "bisheng", "")
    script(tmp_path / "bin" / "npu-smi", "echo '| 0     310P3                 | OK              | NA |'")
    script(tmp_path / "bin" / "msprof", "")
    script(tmp_path / "bin" / "g++", "")
    file(tmp_path / "lib" / "libchunk_gdr_npu.so")
    file(tmp_path / "lib" / "device" / "chunk_gated_delta_rule.o")
    fake_torch_npu(tmp_path, "class npu:\n    device_count = staticmethod(lambda: 2)\n")
    for name in doctor.ENVIRONMENT:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("ASCEND_HOME_PATH", str(home))
    monkeypatch.setenv("PATH", str(tmp_path / "bin") + os.pathsep + "/usr/bin:/bin")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path) + os.pathsep + os.environ.get("PYTHONPATH", ""))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(_npu, "DRIVER", tmp_path / "dev" / "davinci_manager")
    monkeypatch.setattr(_npu, "LIBRARY", tmp_path / "lib" / "libchunk_gdr_npu.so")
    monkeypatch.setattr(doctor, "DRIVER_VERSION", tmp_path / "driver" / "version.info")
    return tmp_path


def test_a_machine_with_everything(machine, capsys):
    assert cli.main(["doctor", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    found = {check["name"]: check["found"] for check in result["checks"]}
    assert {check["state"] for check in result["checks"]} == {"ok"}, result["checks"]
    assert found["driver"] == "25.0.rc1; davinci0, davinci1" and found["chip"] == "310P3"
    assert found["CANN"] == f"8.1.RC1 in {machine / 'cann'}" and found["torch_npu"] == f"{VERSION}, 2 device(s)"
    assert set(result["works"].values()) == {None}
    assert result["environment"]["ASCEND_HOME_PATH"] == str(machine / "cann")


@pytest.mark.parametrize(
    "breaks, name, found",
    [
        (lambda m: (m / "dev" / "davinci0").unlink() or (m / "dev" / "davinci1").unlink(), "driver", "no "),
        (lambda m: (m / "bin" / "npu-smi").write_text("#!/bin/sh\necho '| 0  910B3 |'\n"), "chip", "910B3"),
        (lambda m: (m / "bin" / "npu-smi").write_text("#!/bin/sh\necho oh; exit 1\n"), "chip", "npu-smi info: oh"),
        (lambda m: (m / "cann" / "lib64" / "libascendcl.so").unlink(), "CANN", "has no lib64/libascendcl.so"),
        (lambda m: (m / "lib" / "libchunk_gdr_npu.so").unlink(), "NPU kernels", "was not built"),
        (lambda m: (m / "lib" / "device" / "chunk_gated_delta_rule.o").unlink(), "device binary", "was not built"),
    ],
    ids=["no-device", "other-chip", "npu-smi-fails", "no-runtime", "no-glue", "no-binary"],
)  # fmt: skip
def test_each_missing_part_is_named(machine, breaks, name, found):
    breaks(machine)
    result = doctor.examine()
    bad = {check.name: check for check in result.checks if check.state != doctor.OK}
    assert set(bad) == {name} and found in bad[name].found and bad[name].fix
    assert result.works["tensors of torch_npu on the card (torch.ops.npu, pytest -m npu)"] == f"needs {name}"


def test_a_compiler_behind_a_cache_is_found(machine, monkeypatch):
    """CXX may be several words, as for chunk-gdr model build."""
    for wished, found in (("g++ -m64", "g++"), ("", "g++"), ("msprof g++", "msprof")):
        monkeypatch.setenv("CXX", wished)
        (check,) = [check for check in doctor.examine().checks if check.name == "C++ compiler"]
        assert (check.state, check.found) == (doctor.OK, str(machine / "bin" / found))


def test_wrong_use(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["doctor", "--fast"])
    assert stop.value.code == 2 and "unrecognized arguments: --fast" in capsys.readouterr().err


# --- loading


def test_why_the_npu_kernels_are_not_loaded(tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "torch_npu", raising=False)
    monkeypatch.setattr(_npu, "LIBRARY", tmp_path / "libchunk_gdr_npu.so")
    monkeypatch.setattr(_npu, "DRIVER", tmp_path / "davinci_manager")
    assert _npu._load() == "not built: this package was installed where there was no torch_npu"
    _npu.LIBRARY.write_text("no library")
    assert _npu._load() == "torch_npu was not imported before chunk_gdr"
    monkeypatch.setitem(sys.modules, "torch_npu", sys)
    assert _npu._load() == f"no driver: {_npu.DRIVER} does not exist"
    _npu.DRIVER.write_text("")
    with pytest.warns(RuntimeWarning, match="no kernels for tensors of torch_npu: libchunk_gdr_npu.so does not load"):
        assert "file too short" in _npu._load()
