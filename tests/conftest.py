# SPDX-License-Identifier: Apache-2.0
"""One thread for torch: the tensors of the tests are small, and waiting for a second thread costs many times what it
gives where other work shares the machine. Tests of threading set their own number; the host model has threads of its own.
"""

import pytest
import torch

from chunk_gdr import cli

torch.set_num_threads(1)


@pytest.fixture
def command(capsys):
    """Runs chunk-gdr in this process: (exit code, stdout, stderr)."""

    def call(*argv):
        try:
            code = cli.main(list(argv))
        except SystemExit as stop:
            code = stop.code
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def pytest_collection_modifyitems(config, items):
    """Tests for the card only on request: a card is slow to start, and hundreds of skips say nothing."""
    if "npu" in config.option.markexpr:
        return
    on_card = [item for item in items if item.get_closest_marker("npu")]
    config.hook.pytest_deselected(items=on_card)
    items[:] = [item for item in items if not item.get_closest_marker("npu")]
