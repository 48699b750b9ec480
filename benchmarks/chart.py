"""Draws search latency against store size as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10

Curve = dict[str, list[list[float]]]
"""By system: a list of [memories, p50 ms, p95 ms], ascending."""

_WIDTH, _HEIGHT = 760, 440
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 150, 50, 60
_LINE_HEIGHT = 17
_COLOURS = ("#0b7285", "#e8590c", "#9c36b5", "#5c940d", "#495057")


class _Axes:
    """Converts data to pixels on two logarithmic axes."""

    def __init__(self, points: Sequence[Sequence[float]]) -> None:
        self.x_decades = _decades([point[0] for point in points])
        self.y_decades = _decades([point[1] for point in points])

    def x(self, memories: float) -> float:
        low, high = self.x_decades
        return _LEFT + (log10(memories) - low) / (high - low) * (_WIDTH - _LEFT - _RIGHT)

    def y(self, ms: float) -> float:
        low, high = self.y_decades
        return _HEIGHT - _BOTTOM - (log10(ms) - low) / (high - low) * (_HEIGHT - _TOP - _BOTTOM)


def _decades(values: Sequence[float]) -> tuple[int, int]:
    low = floor(log10(min(values)))
    return low, max(low + 1, ceil(log10(max(values))))


def draw_curve(curve: Curve) -> str:
    """Return the curve as SVG, without systems that have no points."""
    drawn = {name: points for name, points in curve.items() if points}
    if not drawn:
        return f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}"/>\n'
    axes = _Axes([point for points in drawn.values() for point in points])
    parts = [_frame(), *_grid(axes)]
    for points, colour in zip(drawn.values(), _COLOURS, strict=False):
        parts += _line(axes, points, colour)
    return "\n".join([*parts, *_labels(axes, drawn), "</svg>", ""])


def _frame() -> str:
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'font-family="system-ui, sans-serif" font-size="13" fill="#343a40">\n'
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>\n'
        f'<text x="{_LEFT}" y="26" font-size="16">Search inside one user\'s 100 memories, p50 in ms</text>\n'
        f'<text x="{middle}" y="{_HEIGHT - 16}" text-anchor="middle">memories in the store</text>'
    )


def _grid(axes: _Axes) -> list[str]:
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    lines = []
    for decade in range(axes.x_decades[0], axes.x_decades[1] + 1):
        x = axes.x(10**decade)
        lines.append(f'<path d="M{x:.1f} {_TOP}V{bottom}" stroke="#dee2e6"/>')
        lines.append(f'<text x="{x:.1f}" y="{bottom + 20}" text-anchor="middle">{10**decade:,}</text>')
    for decade in range(axes.y_decades[0], axes.y_decades[1] + 1):
        y = axes.y(10**decade)
        lines.append(f'<path d="M{_LEFT} {y:.1f}H{right}" stroke="#dee2e6"/>')
        lines.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{10**decade:g}</text>')
    return lines


def _line(axes: _Axes, points: Sequence[Sequence[float]], colour: str) -> list[str]:
    pixels = [(axes.x(point[0]), axes.y(point[1])) for point in points]
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in pixels)
    dots = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>' for x, y in pixels]
    return [f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2.5"/>', *dots]


def _labels(axes: _Axes, drawn: Curve) -> list[str]:
    """Return a label at the end of each line, moved down where it would cover another."""
    ends = sorted(
        (axes.y(points[-1][1]) + 4, axes.x(points[-1][0]) + 10, f"{name}, {points[-1][1]:.3g} ms", colour)
        for (name, points), colour in zip(drawn.items(), _COLOURS, strict=False)
    )
    labels, lowest = [], 0.0
    for y, x, text, colour in ends:
        lowest = max(y, lowest + _LINE_HEIGHT)
        labels.append(f'<text x="{x:.1f}" y="{lowest:.1f}" fill="{colour}">{text}</text>')
    return labels
