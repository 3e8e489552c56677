# SPDX-License-Identifier: Apache-2.0
"""Who answers to the operator names."""

from dataclasses import dataclass

from . import _C


@dataclass(frozen=True)
class Registration:
    name: str
    """Operator name with namespace, as in ``torch.ops``."""
    active: bool
    """Whether this package's operator answers to the name."""
    reason: str
    """Why; or, when not active, who or what keeps us away."""

    def __str__(self):
        return f"{self.name}: {'this package' if self.active else 'not this package'}, {self.reason}"


def registration():
    """The operator names of this package, a tuple of :class:`Registration`; decided when the package was imported.

    ``chunk_gdr::`` names are always ours. An ``npu::`` name is ours unless another library had defined it before, or
    ``CHUNK_GDR_REGISTER_NPU=0`` was set.
    """
    return tuple(Registration(*row) for row in _C.registrations())
