# SPDX-License-Identifier: Apache-2.0
"""What the model backend does around the kernel, seen with kernels that take the shipped one's place."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from chunk_gdr import model

SOURCE = Path(__file__).parent / "kernels" / "substitute.cpp"

CALL = """
import torch, chunk_gdr
T, NV, DV, DK = 65, 2, 24, 16
q = torch.ones(T, 1, DK, dtype=torch.float16)
v = torch.ones(T, NV, DV, dtype=torch.float16)
chunk_state = torch.full((4, NV, DV, DK), 7.0)
def call():
    with chunk_gdr.backend("model"):
        return torch.ops.npu.chunk_gated_delta_rule(q, q, v, chunk_state=chunk_state)
"""


def run_with(kernel, code, tmp_path):
    """The kernel's symbol comes first in the search order, so the operator's library binds to it."""
    library = model.build(SOURCE, out=tmp_path / f"{kernel}.so", defines={"SUBSTITUTE": kernel})
    done = subprocess.run(
        [sys.executable, "-c", CALL + textwrap.dedent(code)],
        env={**os.environ, "LD_PRELOAD": str(library)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr


def test_results_that_nobody_wrote_are_nan(tmp_path):
    run_with(
        "WritesNothing",
        """
        out, state = call()
        assert out.shape == (T, NV, DV) and out.isnan().all()
        assert state.shape == (1, NV, DV, DK) and state.isnan().all()
        assert chunk_state[:2].isnan().all() and (chunk_state[2:] == 7).all()
        """,
        tmp_path,
    )


def test_results_of_a_clean_launch_are_copied_back(tmp_path):
    run_with(
        "WritesTwoRows",
        """
        call()
        assert (chunk_state[0, 0, :2] == 1).all() and chunk_state.isnan().sum() == (2 * NV * DV - 2) * DK
        """,
        tmp_path,
    )


def test_a_hazard_is_an_error_and_nothing_is_written(tmp_path):
    run_with(
        "WritesBehindTheEnd",
        """
        try:
            call()
        except RuntimeError as error:
            text = str(error)
        assert text.startswith("chunk_gated_delta_rule on the host model: 1 hazard(s)"), text
        assert "chunk_state" in text and "substitute.cpp:" in text and "DataCopy" in text, text
        assert (chunk_state == 7).all()
        assert chunk_gdr.model.last_report().errors == 1
        """,
        tmp_path,
    )


@pytest.mark.parametrize("option", [{"cores": 0}, {"cores": 9}], ids=str)
def test_bad_options_are_named(option):
    import torch

    import chunk_gdr

    q = torch.ones(3, 1, 16, dtype=torch.float16)
    with pytest.raises(ValueError, match="'cores' must be"), chunk_gdr.backend("model"), model.options(**option):
        torch.ops.npu.chunk_gated_delta_rule(q, q, q)
