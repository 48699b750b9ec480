"""Results as text tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from evaluation.metrics import FIGURES


def render(results: dict[str, Any]) -> str:
    """Every table of a run."""
    parts = []
    for name, systems in results["sets"].items():
        parts += [_overall(name, systems), _categories(name, systems), _abstention(name, systems)]
    parts += [_ablation(name, results["sets"][name], table) for name, table in results["ablation"].items()]
    parts.append("\n".join(f"{system}: {settings}" for system, settings in results["settings"].items()))
    return "\n\n".join(part for part in parts if part)


def _overall(name: str, systems: dict[str, Any]) -> str:
    rows = []
    for system, found in systems.items():
        for view, scored in found["views"].items():
            figures = [_interval(scored["overall"][figure]) for figure in FIGURES]
            times = [f"{found['query_ms_p50']:.1f}", f"{found['ingest_ms']:.2f}" if "ingest_ms" in found else "-"]
            rows.append([system, view, str(scored["questions"]), *figures, *times])
    return _table(f"{name}: overall", ["system", "of", "n", *FIGURES, "ms/query", "ms/message"], rows)


def _categories(name: str, systems: dict[str, Any]) -> str:
    rows = [
        [system, view, category, *(f"{100 * summary[figure][0]:.1f}" for figure in FIGURES)]
        for system, found in systems.items()
        if system.startswith("Memoranda")
        for view, scored in found["views"].items()
        for category, summary in scored["categories"].items()
    ]
    return _table(f"{name}: by category", ["system", "of", "category", *FIGURES], rows)


def _abstention(name: str, systems: dict[str, Any]) -> str:
    rows = [
        [system, str(found["abstention"]["unanswerable"])]
        + [_interval(found["abstention"][key]) for key in ("auc_answerable", "auc_top_score")]
        for system, found in systems.items()
        if "abstention" in found
    ]
    return _table(f"{name}: abstention", ["system", "unanswerable", "AUC answerable", "AUC top score"], rows)


def _ablation(name: str, systems: dict[str, Any], off: dict[str, Any]) -> str:
    whole = systems.get("Memoranda, default")
    if whole is None:
        return ""
    rows = []
    for view, scored in whole["views"].items():
        rows.append(["everything on", view, *(f"{100 * scored['overall'][f][0]:.1f}" for f in FIGURES)])
        for what, found in off.items():
            overall = found["views"][view]["overall"]
            changes = [f"{100 * (overall[f][0] - scored['overall'][f][0]):+.1f}" for f in FIGURES]
            rows.append([f"without {what}", view, *changes])
    return _table(f"{name}: ablation", ["", "of", *FIGURES], rows)


def _interval(value: list[float]) -> str:
    return f"{100 * value[0]:.1f} ({100 * value[1]:.0f}-{100 * value[2]:.0f})"


def _table(title: str, head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [head, *rows]
    if len(lines) == 1:
        return ""
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    shown = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    ]
    shown.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join([f"### {title}", "", *shown])
