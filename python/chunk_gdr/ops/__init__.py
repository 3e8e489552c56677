# SPDX-License-Identifier: Apache-2.0
"""Operators with the signatures that users of flash-linear-attention expect."""

from .chunk_gated_delta_rule import chunk_gated_delta_rule

__all__ = ["chunk_gated_delta_rule"]
