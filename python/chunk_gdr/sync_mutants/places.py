# SPDX-License-Identifier: Apache-2.0
"""The flag pairs and barriers that runs executed: what can be removed from a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .scenarios import Run


@dataclass(frozen=True)
class Mutant:
    """One flag pair (the SetFlags and the WaitFlags that consume them, or each other's) or one barrier."""

    kind: str  # "flags" or "barrier"
    queues: str  # "V -> MTE3", "V"
    ids: tuple[int, ...]
    sites: tuple[str, ...]  # "SetFlag at sync.h:13 <- kernel.h:148 Load"
    identities: tuple[str, ...]  # for the option drop_sync
    scenarios: tuple[str, ...]  # that execute it
    executed: int


def find_mutants(baselines: Mapping[str, Run]) -> list[Mutant]:
    """The flag pairs and barriers that these runs executed, but for those inside library routines (TPipe, TQue, ...).

    A synchronisation is one place of the source as seen from one chain of callers; copies the compiler made of it
    (unrolled loops, instances of a template) are one.
    """
    chains = {name: [chain_of(site) for site in run.report["sync"]["sites"]] for name, run in baselines.items()}
    canonical = merge_instances(chains.values())
    places: dict[tuple, dict] = {}
    partner: dict[tuple, tuple] = {}  # union-find over flag places

    def root(key: tuple) -> tuple:
        while partner[key] != key:
            key = partner[key]
        return key

    for name, run in baselines.items():
        keys = [canonical[chain] for chain in chains[name]]
        for key, site in zip(keys, run.report["sync"]["sites"]):
            if site["library"]:
                continue
            text = f"{site['op']} at {site['place']}"
            known = places.setdefault(key, {"queue": site["queue"], "text": text, "executed": 0})
            known.setdefault("identities", {})[site["identity"]] = None
            known.setdefault("runs", {})[name] = None
            known.setdefault("ids", {})
            known["executed"] += site["count"]
            if site["op"] != "PipeBarrier":
                partner.setdefault(key, key)
        for pair in run.report["sync"]["pairs"]:
            a, b = keys[pair["set"]], keys[pair["wait"]]
            if a not in places or b not in places:
                continue
            partner[root(a)] = root(b)
            places[a]["ids"][pair["id"]] = None
    groups: dict[tuple, list[tuple]] = {}
    for key in places:
        groups.setdefault(root(key) if key in partner else key, []).append(key)
    return [mutant_of([(key[0][0], places[key]) for key in keys]) for keys in groups.values()]


def chain_of(site: dict) -> tuple:
    """The place and who called it, the kernel's entry last."""
    callers = [(caller["file"], caller["line"], caller["function"]) for caller in site["callers"]]
    return ((site["op"], site["file"], site["line"]), *callers)


def merge_instances(launches) -> dict[tuple, tuple]:
    """One chain for those that differ in the line of the entry only and never meet in a launch: there, a tiling key has
    chosen between instances of the same code."""
    variants: dict[tuple, set[tuple]] = {}
    apart: set[tuple] = set()
    for chains in launches:
        met: dict[tuple, tuple] = {}
        for chain in chains:
            variants.setdefault(chain[:-1], set()).add(chain)
            if met.setdefault(chain[:-1], chain) != chain:
                apart.add(chain[:-1])
    return {chain: chain if head in apart else min(group) for head, group in variants.items() for chain in group}


def mutant_of(members: list[tuple[str, dict]]) -> Mutant:
    def union(name: str) -> tuple:
        return tuple(dict.fromkeys(item for _, known in members for item in known[name]))

    def queues(op: str) -> str:
        return "/".join(sorted({known["queue"] for o, known in members if o == op}))

    barrier = members[0][0] == "PipeBarrier"
    return Mutant(
        kind="barrier" if barrier else "flags",
        queues=queues("PipeBarrier") if barrier else f"{queues('SetFlag')} -> {queues('WaitFlag')}",
        ids=tuple(sorted(union("ids"))),
        sites=tuple(known["text"] for _, known in members),
        identities=union("identities"),
        scenarios=union("runs"),
        executed=sum(known["executed"] for op, known in members if op != "WaitFlag"),
    )
