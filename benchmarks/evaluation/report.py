"""The results of a run as text tables and as an SVG image."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from evaluation.metrics import FIGURES

_WIDTH, _ROW, _LEFT, _BAR = 860, 30, 190, 330
_COLOURS = ("#0b7285", "#9c36b5")


def render_tables(results: dict[str, Any]) -> str:
    """Return all results of a run as text tables."""
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
        for name_off, found in off.items():
            overall = found["views"][view]["overall"]
            changes = [f"{100 * (overall[f][0] - scored['overall'][f][0]):+.1f}" for f in FIGURES]
            rows.append([f"without {name_off}", view, *changes])
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


def quality_svg(results: dict[str, Any]) -> str:
    """Return an image: recall@5 and NDCG@10 by system with intervals, and the ROC curves of `answerable`."""
    systems = results["sets"].get("locomo") or next(iter(results["sets"].values()), {})
    height = max(300, 90 + 2 * _ROW * len(systems))
    body = [_bars(systems), _roc(systems)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        'font-family="sans-serif" font-size="12" fill="#212529">'
        f'<rect width="100%" height="100%" fill="white"/>{"".join(body)}</svg>\n'
    )


def _bars(systems: dict[str, Any]) -> str:
    parts = [_text(_LEFT, 24, "recall@5", _COLOURS[0]), _text(_LEFT + 80, 24, "NDCG@10", _COLOURS[1])]
    for number, (name, found) in enumerate(systems.items()):
        overall = found["views"]["turns"]["overall"]
        top = 44 + 2 * _ROW * number
        parts.append(_text(10, top + 22, name))
        for index, figure in enumerate(("recall@5", "ndcg@10")):
            parts.append(_bar(top + index * 20, overall[figure], _COLOURS[index]))
    return "".join(parts)


def _bar(top: float, value: list[float], colour: str) -> str:
    mean, low, high = (_LEFT + _BAR * part for part in value)
    middle = top + 7
    return (
        f'<rect x="{_LEFT}" y="{top}" width="{mean - _LEFT:.1f}" height="14" fill="{colour}"/>'
        f'<path d="M{low:.1f} {middle}H{high:.1f}M{low:.1f} {top + 3}v8M{high:.1f} {top + 3}v8" stroke="#212529"/>'
        + _text(_LEFT + _BAR + 8, top + 12, f"{100 * value[0]:.1f}")
    )


def _roc(systems: dict[str, Any]) -> str:
    found = next((found["abstention"] for found in systems.values() if "abstention" in found), None)
    if found is None:
        return ""
    left, top, size = 620, 44, 200
    frame = f'<rect x="{left}" y="{top}" width="{size}" height="{size}" fill="none" stroke="#adb5bd"/>'
    curves = []
    for index, (curve, area, label) in enumerate(
        (("roc", "auc_answerable", "answerable"), ("roc_top_score", "auc_top_score", "top score"))
    ):
        points = " ".join(f"{left + size * x:.1f},{top + size * (1 - y):.1f}" for x, y in found[curve])
        curves.append(f'<polyline points="{points}" fill="none" stroke="{_COLOURS[index]}" stroke-width="1.5"/>')
        caption = f"{label}: area {found[area][0]:.2f}"
        curves.append(_text(left, top + size + 20 + 16 * index, caption, _COLOURS[index]))
    return frame + _text(left, 24, "Can memory answer at all?") + "".join(curves)


def _text(x: float, y: float, text: str, colour: str = "#212529") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" fill="{colour}">{text}</text>'
