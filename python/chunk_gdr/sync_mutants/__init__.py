# SPDX-License-Identifier: Apache-2.0
"""Removes each flag pair and each barrier of a kernel by itself and asks the hazard checker whether it notices.

A removed synchronisation is *reported* if the checker names a missing edge (either grade) in any scenario; *redundant*
if, in all of them, the closure of ordered conflicting accesses is what it was and every adversarial seed gives the same
bits; *silent* otherwise. Silent means that the checker or the closure is wrong, so there must be none.

Apart from that, every mutant's results are compared with the unmodified kernel's under adversarial seeds, those of
reported mutants too: whatever changes values there has to be reported by the clocks. A barrier of one queue cannot: the
host model executes a queue's instructions one after the other, barrier or not.

The closure is the set of (earlier access, later access, bytes, ordered or not) over all pairs of accesses of one core
to the same bytes, at least one of them a write, that the shadow state meets: for every access the last writer, and for
a write the last reader of each queue since. What is ordered after those is ordered after everything before them.
"""

from .removals import Campaign, Verdict, campaign, judge
from .places import Mutant, find_mutants
from .scenarios import Run, Scenario, digest_of, operator_scenarios, run_baselines

__all__ = [
    "Campaign",
    "Mutant",
    "Run",
    "Scenario",
    "Verdict",
    "campaign",
    "digest_of",
    "find_mutants",
    "judge",
    "operator_scenarios",
    "run_baselines",
]
