"""Formats the speed measurements: a table with ratios, the curve, and the goals."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Results: TypeAlias = dict[str, Any]

OURS, MEM0, CHROMA, LANGGRAPH = "Memoranda", "mem0 + Qdrant", "chromadb", "LangGraph"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    figure: str
    label: str
    template: str
    more_is_better: bool | None = None
    """None when no ratio is shown."""


ROWS = (
    Row("version", "version", "{}"),
    Row("memories", "memories in the store", "{:,}"),
    Row("single_rate", "add, one thread, /s", "{:,.0f}", more_is_better=True),
    Row("threads_rate", "add, 8 threads, /s", "{:,.0f}", more_is_better=True),
    Row("bulk_rate", "bulk add, /s", "{:,.0f}", more_is_better=True),
    Row("search_p50", "search, p50 ms", "{:.2f}", more_is_better=False),
    Row("search_p95", "search, p95 ms", "{:.2f}", more_is_better=False),
    Row("first_p50", "first in a scope, p50 ms", "{:.2f}", more_is_better=False),
    Row("after_add_p50", "right after an add, p50 ms", "{:.2f}", more_is_better=False),
    Row("search_found", "answer among the hits, %", "{:.1f}"),
    Row("search_hits", "hits of 10", "{:.1f}"),
    Row("kept_after_threads", "kept after 8 threads, %", "{:.1f}"),
    Row("import_s", "import, s", "{:.3f}", more_is_better=False),
    Row("peak_rss_mb", "peak memory, MB", "{:,.0f}"),
)


def format_report(results: Results) -> str:
    """Return the whole report."""
    systems = results["systems"]
    blocks = [_format_header(results), _format_table(systems), *_format_settings(systems)]
    return "\n\n".join(
        [
            *blocks,
            *_format_curve(results["curve"]),
            *_format_extras(results),
            _format_goals(results),
            *_format_errors(results),
        ]
    )


def count_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _format_header(results: Results) -> str:
    machine = results["machine"]
    return (
        f"Speed, engine cost without an embedder: {results['memories']:,} memories, 100 a user, 384 dimensions\n"
        f"{results['at']}  Python {machine['python']}, {machine['cores']} cores, {machine['system']}\n"
        f"(×n: Memoranda is n times better; below 1 it is worse)"
    )


def _format_table(systems: dict[str, dict[str, Any]]) -> str:
    header = ["", *systems]
    measured = [row for row in ROWS if any(row.figure in figures for figures in systems.values())]
    lines = [[row.label, *(_format_cell(row, name, systems) for name in systems)] for row in measured]
    return _align([header, *lines])


def _format_cell(row: Row, name: str, systems: dict[str, dict[str, Any]]) -> str:
    value = systems[name].get(row.figure)
    if value is None:
        return "–"
    formatted = row.template.format(value)
    ours = systems.get(OURS, {}).get(row.figure)
    if name == OURS or row.more_is_better is None or not ours:
        return formatted
    return f"{formatted} (×{ours / value if row.more_is_better else value / ours:.3g})"


def _align(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(
        "  ".join(
            [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))]
        )
        for line in lines
    )


def _format_settings(systems: dict[str, dict[str, Any]]) -> Iterator[str]:
    lines = [f"  {name}: {figures['settings']}" for name, figures in systems.items() if "settings" in figures]
    if lines:
        yield "\n".join(["Settings", *lines])


def _format_curve(curve: dict[str, list[list[float]]]) -> Iterator[str]:
    if not curve:
        return
    sizes = sorted({point[0] for points in curve.values() for point in points})
    lines = [["memories in the store", *(f"{size:,}" for size in sizes)]]
    for name, points in curve.items():
        by_size = {point[0]: f"{point[1]:.2f}" for point in points}
        lines.append([name, *(by_size.get(size, "–") for size in sizes)])
    yield "Search inside a scope of 100 while the store around it grows, p50 ms\n" + _align(lines)


def _format_extras(results: Results) -> Iterator[str]:
    if "install" in results:
        lines = [["Installed, MB", "files", "with bytecode"]]
        for name, size in results["install"].items():
            lines.append([name, f"{size['mb']:.0f}", f"{size['mb_with_bytecode']:.0f}"])
        yield _align(lines)
    if "embedder" in results:
        yield "The real embedder\n" + _align([[f"  {name}", value] for name, value in results["embedder"].items()])


@dataclass(frozen=True, slots=True)
class Goal:
    """A target and the measured value, None when it was not measured."""

    label: str
    measured: float | None
    target: float
    at_most: bool = False

    def __str__(self) -> str:
        if self.measured is None:
            return f"  not measured  {self.label}"
        met = self.measured <= self.target if self.at_most else self.measured >= self.target
        sign = "≤" if self.at_most else "≥"
        return f"  {'pass' if met else 'FAIL':12}  {self.label}: {self.measured:.3g} (goal {sign} {self.target:g})"


def list_goals(results: Results) -> list[Goal]:
    """Return every goal of the project that this benchmark measures."""
    systems = results["systems"]
    return [
        Goal("add from one thread, × mem0", _rate_ratio(systems, "single_rate"), 1.5),
        Goal("add from 8 threads, × mem0", _rate_ratio(systems, "threads_rate"), 6),
        Goal("bulk add, × mem0", _rate_ratio(systems, "bulk_rate"), 30),
        Goal("scoped search p50, × mem0 on its default store", _ratio(systems, "search_p50", MEM0), 50),
        Goal("scoped search p50, × chromadb", _ratio(systems, "search_p50", CHROMA), 5),
        Goal("scoped search p50, × LangGraph's store", _ratio(systems, "search_p50", LANGGRAPH), 1),
        Goal("import, × mem0", _ratio(systems, "import_s", MEM0), 10),
        Goal("search p50, largest store / smallest", _growth(results["curve"].get(OURS, [])), 1.5, at_most=True),
        Goal("core installed with its models, MB", _installed(results), 300, at_most=True),
        Goal("embedder, peak memory for 10,000 mixed texts, MB", _embedder_memory(results), 600, at_most=True),
    ]


def _rate_ratio(systems: dict[str, dict[str, Any]], figure: str) -> float | None:
    # Compared with mem0's fastest way to add: the same mode, or one by one if that is faster.
    ours = systems.get(OURS, {}).get(figure)
    theirs = [value for key in ("single_rate", figure) if (value := systems.get(MEM0, {}).get(key))]
    return ours / max(theirs) if ours and theirs else None


def _ratio(systems: dict[str, dict[str, Any]], figure: str, peer: str) -> float | None:
    ours, theirs = systems.get(OURS, {}).get(figure), systems.get(peer, {}).get(figure)
    return theirs / ours if ours and theirs else None


def _growth(points: Sequence[Sequence[float]]) -> float | None:
    return points[-1][1] / points[0][1] if len(points) > 1 else None


def _installed(results: Results) -> float | None:
    size: float | None = results.get("install", {}).get("Memoranda with models", {}).get("mb_with_bytecode")
    return size


def _embedder_memory(results: Results) -> float | None:
    memory = results.get("embedder", {}).get("most memory taken")
    return float(memory.split()[0]) if memory else None


def _format_goals(results: Results) -> str:
    return f"Goals, set for 10,000 memories, measured on {results['memories']:,}\n" + "\n".join(
        str(goal) for goal in list_goals(results)
    )


def _format_errors(results: Results) -> Iterator[str]:
    if results["errors"]:
        yield "Errors\n" + "\n".join(f"  {error}" for error in results["errors"])
