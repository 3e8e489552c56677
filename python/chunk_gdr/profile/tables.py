# SPDX-License-Identifier: Apache-2.0
"""Profiles as text."""

from __future__ import annotations

from .usage import QUEUES, CoreUse, Profile, QueueUse

UNKNOWN = "-"


def cycles_text(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:,.0f}"


def share_text(part: float | None, whole: float) -> str:
    return UNKNOWN if part is None or not whole else f"{part / whole:.1%}"


def grid(rows: list[list[str]], left: int = 1) -> str:
    """Columns as wide as their widest cell; the first `left` flush left."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        columns = enumerate(zip(row, widths, strict=True))
        cells = [cell.ljust(width) if index < left else cell.rjust(width) for index, (cell, width) in columns]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def table(profile: Profile, core: int | None = None) -> str:
    """One core (the slowest) queue by queue and, where they are known, the stages."""
    parts = [f"{profile.kernel} ({profile.source})", core_text(profile, profile.slowest if core is None else core)]
    if profile.stages:
        parts.append(stage_text(profile))
    if profile.critical_path:
        parts.append(critical_text(profile))
    parts += [f"note: {note}" for note in profile.notes]
    parts += [f"read from: {file}" for file in profile.files]
    return "\n\n".join(parts)


def core_text(profile: Profile, index: int) -> str:
    core = profile.cores[index]
    place = f", the slowest of {len(profile.cores)}" if len(profile.cores) > 1 and index == profile.slowest else ""
    head = f"{core.name}{place}: {core.cycles:,.0f} cycles, {core.microseconds:,.1f} us"
    known = any(use.waits_for for use in core.queues.values())
    whom = [f"for {queue}" for queue in QUEUES] if known else []
    rows = [["queue", "instructions", "busy", "", "waits", "", *whom]]
    for queue in QUEUES:
        use = core.queues[queue]
        row = [queue, cycles_text(use.instructions), *with_share(use.busy, core), *with_share(use.wait, core)]
        if known:
            row += [cycles_text(use.waits_for[other]) if use.waits_for.get(other) else "" for other in QUEUES]
        rows.append(row)
    lines = [head, grid(rows)]
    if known:
        lines.append("A queue waits for itself at a PipeBarrier, and for S when nothing has been issued to it.")
    return "\n".join(lines)


def with_share(value: float | None, core: CoreUse) -> list[str]:
    return [cycles_text(value), share_text(value, core.cycles)]


def stage_text(profile: Profile) -> str:
    total = profile.total_cycles
    head = f"stages, all cores: share of {total:,.0f} core cycles that a queue was busy / waited, and mostly for whom"
    queues = [queue for queue in QUEUES if any(stage.queues[queue].busy for stage in profile.stages)]
    rows = [["stage", *queues]]
    for stage in profile.stages:
        rows.append([stage.name, *(stage_cell(stage.queues[queue], total) for queue in queues)])
    sums = []
    for queue in queues:
        uses = [stage.queues[queue] for stage in profile.stages]
        waits: dict[str, float] = {}
        for use in uses:
            for other, cycles in use.waits_for.items():
                waits[other] = waits.get(other, 0.0) + cycles
        busy, wait = sum(use.busy for use in uses), sum(use.wait or 0.0 for use in uses)
        sums.append(stage_cell(QueueUse(busy, wait, waits), total))
    rows.append(["all", *sums])
    return f"{head}\n{grid(rows)}"


def critical_text(profile: Profile, top: int = 10) -> str:
    links = profile.critical_path
    total = sum(link.cycles for link in links)
    head = f"critical path of the slowest core, {total:,.0f} cycles: the kernel gets shorter only where these do"
    rows = [["stage", "queue", "what", "cycles", ""]]
    for link in links[:top]:
        what = link.kind.replace("_", " ")
        rows.append([link.stage, link.queue, what, cycles_text(link.cycles), share_text(link.cycles, total)])
    if len(links) > top:
        rest = sum(link.cycles for link in links[top:])
        rows.append([f"{len(links) - top} more", "", "", cycles_text(rest), share_text(rest, total)])
    return f"{head}\n{grid(rows, left=3)}"


def stage_cell(use: QueueUse, total: float) -> str:
    if not use.busy and not use.wait:
        return ""
    text = share_text(use.busy, total)
    if use.waits_for:
        most = max(use.waits_for, key=use.waits_for.get)
        text += f" / {share_text(use.wait, total)} {most}"
    return text


def side_by_side(first: Profile, second: Profile) -> str:
    """Two profiles of one kernel, each as its mean core."""
    profiles = (first, second)
    means = [profile.mean() for profile in profiles]
    rows = [["", *(text for profile in profiles for text in (profile.source, "", "")), "ratio"]]
    slowest = [profile.cores[profile.slowest] for profile in profiles]
    for name, cores in (("slowest core, cycles", slowest), ("mean core, cycles", means)):
        values = [core.cycles for core in cores]
        rows.append([name, *(text for value in values for text in (cycles_text(value), "", "")), ratio_text(*values)])
    values = [core.microseconds for core in means]
    rows.append(
        ["mean core, us", *(text for value in values for text in (f"{value:,.1f}", "", "")), ratio_text(*values)]
    )
    rows.append(["queue", *("busy", "", "waits") * 2, "busy"])
    for queue in QUEUES:
        row = [queue]
        for core in means:
            use = core.queues[queue]
            row += [*with_share(use.busy, core), share_text(use.wait, core.cycles)]
        rows.append([*row, ratio_text(*(core.queues[queue].busy for core in means))])
    head = " beside ".join(f"{profile.kernel} ({profile.source})" for profile in profiles)
    notes = [f"note: {profile.source}: {note}" for profile in profiles for note in profile.notes]
    files = [f"read from: {file}" for profile in profiles for file in profile.files]
    return "\n\n".join([head, grid(rows), *notes, *files])


def ratio_text(first: float | None, second: float | None) -> str:
    return UNKNOWN if first is None or not second else f"{first / second:.2f}"
