# SPDX-License-Identifier: Apache-2.0
"""Flags and barriers that no run of a suite needs, from the reports of its runs (option redundant_sync)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from .sync_mutants.places import chain_of, merge_instances


@dataclass(frozen=True)
class Redundant:
    """One barrier, or SetFlags and the WaitFlags that consume what they set."""

    kind: str  # "flags" or "barrier"
    queues: str  # "V -> MTE3", "V"
    ids: tuple[int, ...]
    places: tuple[str, ...]  # "SetFlag at sync.h:13 <- kernel.h:148 Load"
    cases: tuple[str, ...]  # that execute it
    executed: int
    cycles: float  # what the cases' launches would be shorter by, all together

    def __str__(self) -> str:
        ids = f" id {', '.join(map(str, self.ids))}" if self.ids else ""
        cost = f"costs {self.cycles:,.0f} model cycles in {self.executed:,} executions, {len(self.cases)} cases"
        return f"{self.kind} {self.queues}{ids}: {'; '.join(self.places)}\n      {cost}"


@dataclass(frozen=True)
class RedundantSync:
    judged: int
    items: tuple[Redundant, ...]  # costliest first
    withheld: dict[str, str]  # why a case was not judged

    def to_dict(self) -> dict:
        return {"judged": self.judged, "redundant": [asdict(item) for item in self.items], "withheld": self.withheld}

    def __str__(self) -> str:
        head = f"redundant synchronisation: {len(self.items)} of {self.judged} flag pairs and barriers"
        if self.items:
            head += ", in every case that executes them, each by itself"
        lines = [head, *(f"  {item}" for item in self.items)]
        return "\n".join([*lines, *(f"  {name}: not judged, because {why}" for name, why in self.withheld.items())])


def redundant_in_all(reports: Mapping[str, dict]) -> RedundantSync:
    """What is redundant in every one of the reports that executed it. `reports`: of launches with redundant_sync."""
    sync = {name: report["redundant_sync"] for name, report in reports.items() if "redundant_sync" in report}
    withheld = {name: part["withheld"] for name, part in sync.items() if part["withheld"]}
    groups = [(name, group) for name, part in sync.items() for group in part["groups"]]
    chains = [[chain_of(place) for group in part["groups"] for place in group["places"]] for part in sync.values()]
    canonical = merge_instances(chains)

    # Cases may pair a SetFlag with different WaitFlags: what is connected goes together.
    parent: dict[tuple, tuple] = {}

    def root(key: tuple) -> tuple:
        while parent.setdefault(key, key) != key:
            key = parent[key]
        return key

    members = [[canonical[chain_of(place)] for place in group["places"]] for _, group in groups]
    for keys in members:
        for key in keys:
            parent[root(key)] = root(keys[0])
    merged: dict[tuple, list[tuple[str, dict]]] = {}
    for keys, group in zip(members, groups, strict=True):
        merged.setdefault(root(keys[0]), []).append(group)
    items = [describe(parts, canonical) for parts in merged.values() if not withheld and is_redundant(parts)]
    return RedundantSync(len(merged), tuple(sorted(items, key=lambda item: -item.cycles)), withheld)


def is_redundant(parts: list[tuple[str, dict]]) -> bool:
    names = [name for name, _ in parts]
    # Two parts in one case are two removals there; only those that can go together are one.
    return all(group["redundant"] and (names.count(name) == 1 or group["together"]) for name, group in parts)


def describe(parts: list[tuple[str, dict]], canonical: Mapping[tuple, tuple]) -> Redundant:
    first = parts[0][1]
    places: dict[tuple, str] = {}  # one of the instances that the compiler made of a place
    for _, group in parts:
        for place in group["places"]:
            places.setdefault(canonical[chain_of(place)], place["place"])
    return Redundant(
        kind=first["kind"],
        queues=first["queues"],
        ids=tuple(sorted({id for _, group in parts for id in group["ids"]})),
        places=tuple(places.values()),
        cases=tuple(dict.fromkeys(name for name, _ in parts)),
        executed=sum(group["executed"] for _, group in parts),
        cycles=sum(group["cycles"] for _, group in parts),
    )
