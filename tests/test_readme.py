# SPDX-License-Identifier: Apache-2.0
"""What the README shows runs as shown."""

import re
from pathlib import Path

import numpy
import pytest
import torch

from chunk_gdr import cli
from chunk_gdr.cases import Case, make_inputs

README = (Path(__file__).parents[1] / "README.md").read_text()
OWN_KERNELS = "## Use the host model for your own kernel\n"  # run in npu_model/test_examples.py


def test_python_examples(monkeypatch, tmp_path, capsys):
    x = make_inputs(Case(lengths=(65, 3), nk=1, nv=2, dk=32, dv=48))
    names = {"query": x.query, "key": x.key, "value": x.value, "beta": x.beta, "g": x.g, "state": x.initial_state}
    names |= {"lengths": x.actual_seq_lengths, "Dk": 32, "scale": 0.5, "numpy": numpy}
    one_batch = {"q": x.query, "k": x.key, "v": x.value}
    names |= {name: tensor.unsqueeze(0) for name, tensor in one_batch.items()}
    names["cu_seqlens"] = torch.tensor([0, 65, 68])
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README.partition(OWN_KERNELS)[0], re.S)
    assert len(blocks) == 5
    for block in blocks[:4]:
        batched = {"g": x.g.unsqueeze(0), "beta": x.beta.unsqueeze(0)} if "cu_seqlens" in block else {"g": x.g, "beta": x.beta}
        names |= batched
        exec(compile(block, "README.md", "exec"), names)
        assert names["out"].shape == (68, 2, 48)
    assert names["o"].shape == (1, 68, 2, 48) and names["report"].errors == 0
    assert capsys.readouterr().out.count(": 2 heads, all within the bar") == 2
    exec(compile(blocks[4], "README.md", "exec"), names | one_batch | {"g": x.g, "beta": x.beta})
    assert cli.main(["run", "--input", "x.npz", "--backend", "native"]) == 0


@pytest.mark.parametrize("command", ["run", "plan", "check", "profile", "bench"])
def test_commands_and_flags_exist(command, capsys):
    assert f"`chunk-gdr {command}`" in README
    with pytest.raises(SystemExit) as stop:
        cli.main([command, "--help"])
    assert stop.value.code == 0
    shown = capsys.readouterr().out
    assert "--json" in shown
    if command == "run":
        assert "--input" in shown and "--output" in shown


def test_paths_exist():
    root = Path(__file__).parents[1]
    for path in re.findall(r"`((?:csrc|op_kernel|op_host|python|tests)/[\w./]+)`", README):
        assert (root / path).exists(), path
