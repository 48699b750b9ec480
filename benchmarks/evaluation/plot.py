"""The picture of a run: recall@5 and NDCG@10 by system on LoCoMo, and the curve of the answerable-probability."""

from __future__ import annotations

from typing import Any

_WIDTH, _ROW, _LEFT, _BAR = 860, 30, 190, 330
_COLOURS = ("#0b7285", "#9c36b5")


def quality_svg(results: dict[str, Any]) -> str:
    """Bars with their 95 % intervals on the left, ROC curves on the right."""
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
        for place, figure in enumerate(("recall@5", "ndcg@10")):
            parts.append(_bar(top + place * 20, overall[figure], _COLOURS[place]))
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
    for place, (curve, area, label) in enumerate(
        (("roc", "auc_answerable", "answerable"), ("roc_top_score", "auc_top_score", "top score"))
    ):
        points = " ".join(f"{left + size * x:.1f},{top + size * (1 - y):.1f}" for x, y in found[curve])
        curves.append(f'<polyline points="{points}" fill="none" stroke="{_COLOURS[place]}" stroke-width="1.5"/>')
        caption = f"{label}: area {found[area][0]:.2f}"
        curves.append(_text(left, top + size + 20 + 16 * place, caption, _COLOURS[place]))
    return frame + _text(left, 24, "Can memory answer at all?") + "".join(curves)


def _text(x: float, y: float, text: str, colour: str = "#212529") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" fill="{colour}">{text}</text>'
