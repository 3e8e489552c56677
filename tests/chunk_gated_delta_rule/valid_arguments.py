# SPDX-License-Identifier: Apache-2.0
"""Arguments that pass every rule, to be broken one at a time, and the message that names which."""

import math
import re

import torch

import chunk_gdr  # noqa: F401  (registers the operator)

T, NK, NV, DK, DV, B = 70, 2, 4, 16, 24, 2


def valid():
    return {
        "query": torch.zeros(T, NK, DK, dtype=torch.float16),
        "key": torch.zeros(T, NK, DK, dtype=torch.float16),
        "value": torch.zeros(T, NV, DV, dtype=torch.float16),
        "beta": torch.zeros(T, NV),
        "initial_state": torch.zeros(B, NV, DV, DK),
        "actual_seq_lengths": torch.tensor([30, 40]),
        "g": torch.zeros(T, NV),
        "chunk_state": torch.full((3, NV, DV, DK), math.nan),
    }


def on_meta(args):
    return {name: x.to("meta") if isinstance(x, torch.Tensor) else x for name, x in args.items()}


def call(args):
    args = dict(args)
    return torch.ops.npu.chunk_gated_delta_rule(args.pop("query"), args.pop("key"), args.pop("value"), **args)


def zeros(*shape, dtype=torch.float32, device="cpu"):
    return torch.zeros(*shape, dtype=dtype, device=device)


def half(*shape):
    return zeros(*shape, dtype=torch.float16)


def lengths(*values):
    return torch.tensor(values, dtype=torch.int64)


def message(argument, expected, got):
    return (
        re.escape(f"chunk_gated_delta_rule: argument '{argument}': expected {expected}") + ".*, got " + re.escape(got)
    )
