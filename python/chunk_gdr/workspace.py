# SPDX-License-Identifier: Apache-2.0
"""What a launch leaves in its workspace: named slots behind the system part, and each core's status word."""

from __future__ import annotations

import numpy as np

from .model import SYSTEM_WORKSPACE_BYTES
from .tiling import Plan

STATUS_SLOT = "core_status"
STATUS = {0: "ok", 1: "the lengths are negative or do not add up to T", 2: "the tiling is for another state layout"}


def slot(plan: Plan, workspace: np.ndarray, name: str) -> np.ndarray:
    """The bytes of one slot, a view. workspace: the whole allocation as bytes [plan.workspace_bytes].

    Raises:
        KeyError: the plan has no slot of this name.
        ValueError: the workspace is not the size of the plan's.
    """
    raw = np.asarray(workspace).reshape(-1).view(np.uint8)
    if raw.size != plan.workspace_bytes:
        raise ValueError(f"workspace: expected {plan.workspace_bytes} bytes, got {raw.size}")
    for candidate in plan.workspace:
        if candidate.name == name:
            begin = SYSTEM_WORKSPACE_BYTES + candidate.offset_bytes
            return raw[begin : begin + candidate.bytes]
    raise KeyError(f"workspace: no slot '{name}', the plan has {', '.join(s.name for s in plan.workspace)}")


def core_status(plan: Plan, workspace: np.ndarray) -> list[str]:
    """What each core of the launch says about itself: "ok", or why it refused to run (its outputs are NaN then).

    Lengths on the device are never copied to the host, so this word is where invalid ones show.
    """
    words = slot(plan, workspace, STATUS_SLOT).view(np.int32).reshape(plan.block_num, -1)[:, 0]
    return [STATUS.get(int(word), f"unknown status {word}") for word in words]
