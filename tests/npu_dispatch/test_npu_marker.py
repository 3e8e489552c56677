# SPDX-License-Identifier: Apache-2.0
"""`pytest -m npu`: what it selects, and that it works, with the fake device for the card."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from chunk_gdr import _npu

HERE = Path(__file__).parent
TESTS = HERE.parent / "chunk_gated_delta_rule"


def run_pytest(*arguments, **environment):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *map(str, arguments)],
        cwd=HERE.parents[1],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done.returncode, done.stdout


def test_only_on_request():
    code, text = run_pytest("--collect-only", TESTS / "test_model_lengths.py", TESTS / "test_npu_races.py")
    assert code == 0 and "[native-" in text and "npu" not in text.replace("test_npu_races", "")
    code, text = run_pytest("--collect-only", "-m", "npu", TESTS / "test_model_lengths.py", TESTS / "test_npu_races.py")
    assert code == 0 and "[npu-" in text and "test_the_same_bits_every_time" in text and "[native-" not in text


@pytest.mark.skipif(_npu.missing is None, reason="this machine has a card")
def test_without_a_card_they_are_skipped_with_the_reason():
    code, text = run_pytest("-m", "npu", TESTS / "test_npu_races.py")
    assert code == 0 and f"no card: {_npu.missing}" in text and "failed" not in text and "passed" not in text


def test_they_pass_with_the_fake_card(libraries):
    card = json.dumps({name: str(path) for name, path in libraries.items()})
    path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    files = [TESTS / name for name in ("test_npu_races.py", "test_model_lengths.py", "test_model_shapes.py")]
    wanted = "reset or half-state or streams or dtypes_of_lengths or chunk_state or state_dtypes or not_written"
    environment = {"FAKE_CARD": card, "PYTHONPATH": path, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    code, text = run_pytest("-p", "fake_card", "-m", "npu", "-k", wanted, *files, **environment)
    assert code == 0, text
    assert "failed" not in text and "skipped" not in text
