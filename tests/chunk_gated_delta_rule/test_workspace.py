# SPDX-License-Identifier: Apache-2.0
"""chunk_gdr.workspace: slots and status words of a launch."""

import numpy as np
import pytest

from chunk_gdr import tiling, workspace
from chunk_gdr.model import SYSTEM_WORKSPACE_BYTES


@pytest.fixture
def plan():
    return tiling.plan(lengths=[70, 0, 3], nk=1, nv=2, dk=24, dv=40)


def test_status_words(plan):
    memory = np.zeros(plan.workspace_bytes, np.uint8)
    assert workspace.core_status(plan, memory) == ["ok"] * plan.block_num
    block = workspace.slot(plan, memory, "core_status").size // plan.block_num
    memory[SYSTEM_WORKSPACE_BYTES + 1 * block] = 1
    memory[SYSTEM_WORKSPACE_BYTES + 2 * block] = 9
    status = workspace.core_status(plan, memory)
    assert status[0] == "ok" and "do not add up to T" in status[1] and status[2] == "unknown status 9"


def test_a_slot_is_a_view(plan):
    memory = np.zeros(plan.workspace_bytes, np.uint8)
    workspace.slot(plan, memory, "core_status")[:4] = 7
    assert memory.sum() == 28 and (memory[SYSTEM_WORKSPACE_BYTES :][:4] == 7).all()


def test_wrong_use(plan):
    with pytest.raises(KeyError, match="no slot 'scores', the plan has core_status"):
        workspace.slot(plan, np.zeros(plan.workspace_bytes, np.uint8), "scores")
    with pytest.raises(ValueError, match=f"expected {plan.workspace_bytes} bytes, got 5"):
        workspace.core_status(plan, np.zeros(5, np.uint8))
