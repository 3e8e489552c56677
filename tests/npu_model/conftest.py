# SPDX-License-Identifier: Apache-2.0
import struct
from pathlib import Path

import pytest
from chunk_gdr import model


@pytest.fixture(scope="session")
def kernel_dir():
    return Path(__file__).parent / "kernels"


@pytest.fixture(scope="session")
def line_of(kernel_dir):
    """Number of the first line of a kernel source that holds `text`, from line `after` on."""

    def call(source, text, after=0):
        lines = (kernel_dir / source).read_text().splitlines()
        return next(i + 1 for i, content in enumerate(lines) if i >= after and text in content)

    return call


@pytest.fixture(scope="session")
def run():
    """Runs an entry of a hazard kernel; the first tiling word is its variant."""

    def call(lib, entry, args, variant=0, **options):
        return model.run(lib, entry, args, tiling=struct.pack("<I", variant), **options)

    return call


@pytest.fixture(scope="session")
def find():
    """The reports of `rule` whose accesses are "queue op", e.g. earlier="V Add", and whose text holds `text`."""

    def call(report, rule, earlier=None, access=None, memory=None, text=""):
        def fits(side, wanted):
            return wanted is None or (side is not None and f"{side['queue']} {side['op']}" == wanted)

        return [
            item
            for item in report.hazards
            if item["rule"] == rule
            and fits(item.get("earlier"), earlier)
            and fits(item["access"], access)
            and memory in (None, item["access"].get("memory"))
            and text in item["text"]
        ]

    return call
