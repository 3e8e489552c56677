# SPDX-License-Identifier: Apache-2.0
"""Runs matmul64.cpp on the host model, in program order and with delayed queues: python matmul64.py matmul64.so"""

import sys

import numpy as np
from chunk_gdr import model, profile

rng = np.random.default_rng(0)
a, b = (rng.standard_normal((64, 64)).astype(np.float16) for _ in range(2))
truth = a.astype(np.float64) @ b.astype(np.float64)
results = []
for options in ({"execution": "program", "trace": True}, *({"execution": "adversarial", "seed": s} for s in range(5))):
    c = np.full((64, 64), np.nan, np.float32)
    report = model.run(sys.argv[1], "matmul64", {"a": a, "b": b, "c": c}, **options)
    assert not report.error and report.errors == report.auto_sync == 0, report.error or report.text
    np.testing.assert_allclose(c, truth, atol=1e-4)
    results.append(c)
    if "trace" in options:
        report.write_profile("matmul64_profile")
        trace = profile.read_trace("matmul64_profile/trace.json")
        print(profile.table(profile.of_model(report.to_dict(), trace)))
assert all(np.array_equal(results[0], c) for c in results)
print(f"{len(results)} executions, the same bits; largest error {abs(results[0] - truth).max():.1e}")
