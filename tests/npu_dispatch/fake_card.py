# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin that gives a test run the fake device for a card: `-p fake_card`, its libraries in FAKE_CARD."""

import contextlib
import json
import os

import scenarios
import torch

scenarios.start(json.loads(os.environ["FAKE_CARD"]))
torch.npu.synchronize = lambda: None
torch.npu.Stream = lambda: None
torch.npu.current_stream = lambda: None
torch.npu.stream = lambda stream: contextlib.nullcontext()

from chunk_gdr import _npu  # noqa: E402

_npu.missing = None
