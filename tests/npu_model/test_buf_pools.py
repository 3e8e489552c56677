# SPDX-License-Identifier: Apache-2.0
"""TBufPool: phases of a kernel that lay one part of UB out differently."""

import numpy as np
import pytest
from chunk_gdr import model


@pytest.fixture(scope="module")
def lib(kernel_dir):
    return model.build(kernel_dir / "buf_pools.cpp")


@pytest.mark.parametrize("variant", [0, 2])
@pytest.mark.parametrize("options", [{}, *({"execution": "adversarial", "seed": seed} for seed in range(6))], ids=str)
def test_two_phases(lib, run, variant, options):
    x, z = np.arange(512, dtype=np.float32), np.zeros(1024, np.float32)
    report = run(lib, "two_phases", {"x": x, "z": z}, variant, **options)
    assert report.error == "" and report.errors == report.auto_sync == 0, report.text
    np.testing.assert_array_equal(z, np.concatenate([x + 1, 2 * x]))


@pytest.mark.parametrize("variant, missing", [(1, {"V -> MTE2", "MTE2 -> MTE2", "MTE3 -> V"}), (3, {"MTE3 -> MTE2"})])
def test_what_reset_waits_for(lib, run, variant, missing):
    """The events of the first pool's queues and nothing else."""
    report = run(lib, "two_phases", {"x": np.ones(512, np.float32), "z": np.zeros(1024, np.float32)}, variant)
    assert {h["missing"] for h in report.hazards if h["rule"] == "Sync1" and h["grade"] == "error"} == missing, report.text


def test_parts_of_a_pool_fit(lib, run):
    report = run(lib, "pool_limits", {}, 0, workspace_bytes=0)
    assert report.error == "" and report.errors == 0, report.text


@pytest.mark.parametrize(
    "variant, rule, text",
    [
        (1, "Buffer4", "the TBufPool has no memory: InitBufPool first"),
        (2, "Buffer3", "4128 bytes asked of a TBufPool that has 4096 of 4096 left"),
        (3, "Buffer3", "more than 2 buffers in this TBufPool (bufIDSize)"),
        (4, "Buffer3", "307200 bytes asked of UB, which has 258048 left"),
        (5, "Buffer3", "4128 bytes asked of a shared TBufPool of 4096"),
        (6, "Buffer3", "4128 bytes asked of a TBufPool that has 4096 of 4096 left"),
        (7, "Buffer3", "4160 bytes asked of a TBufPool that has 4096 of 4096 left"),
    ],
)
def test_limits(lib, run, variant, rule, text):
    report = run(lib, "pool_limits", {}, variant)
    assert [(item["rule"], item["text"]) for item in report.hazards] == [(rule, text)], report.text
