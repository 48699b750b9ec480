"""Load the cases and texts of `benchmarks/truth.py` from `benchmarks/truth/<split>/<set>.jsonl`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "truth"
SPLITS = ("dev", "held")
STYLES = ("plain", "natural", "notes", "adversarial", "pairs")
"""The four styles, and `pairs`: statements that differ in one word, which are never duplicates."""
TEXT_SETS = ("poison", "secrets", "importance")
KINDS = ("hidden", "noticed", "keep", "apart", "distinct", "same", "answer", "fact")


@dataclass(frozen=True, slots=True)
class Step:
    """One text that is remembered: a message if it has a role, else a text with an optional source."""

    text: str
    role: str | None = None
    source: str | None = None
    name: str | None = None
    at: datetime | None = None
    """When it is told: the clock is set to it. Without it, the clock moves on by `gap` minutes."""
    stamp: datetime | None = None
    """The time written on the message, when it is not the time of telling."""
    gap: float = 1.0
    session: str | None = None


@dataclass(frozen=True, slots=True)
class Expectation:
    """What must hold after all steps. `old`, `new` and `steps` are positions in the list of steps."""

    kind: str
    old: int | None = None
    new: int | None = None
    steps: tuple[int, ...] = ()
    ask: str = ""
    as_of: datetime | None = None
    known_at: datetime | None = None
    answer: int | None = None
    """The step that must be the first hit; None when no step may be found."""
    attribute: str = ""
    value: str | None = None
    """What `facts()` must have as the only value of an attribute; None when it must have none."""


@dataclass(frozen=True, slots=True)
class Case:
    """Steps and what is expected of them."""

    id: str
    style: str
    split: str
    topic: str
    steps: tuple[Step, ...]
    expect: tuple[Expectation, ...]

    def olds(self, *kinds: str) -> set[int]:
        """Return the older steps of the expectations of these kinds."""
        return {item.old for item in self.expect if item.kind in kinds and item.old is not None}

    @property
    def kept(self) -> set[int]:
        """The steps that must stay recallable."""
        return {step for item in self.expect if item.kind == "keep" for step in item.steps}


@dataclass(frozen=True, slots=True)
class LabelledText:
    """A text with its label: 1 for poison, a secret, or something that matters; 0 otherwise."""

    id: str
    split: str
    topic: str
    text: str
    label: int
    role: str | None = None
    source: str | None = None
    secret: str = ""


def load_cases(styles: tuple[str, ...] = STYLES, splits: tuple[str, ...] = SPLITS) -> list[Case]:
    """Return the cases of some styles and splits, in the order of the files."""
    return [_case(row, style, split) for style in styles for split in splits for row in _rows(split, style)]


def load_texts(name: str, splits: tuple[str, ...] = SPLITS) -> list[LabelledText]:
    """Return the labelled texts of one set."""
    return [_labelled(row, split) for split in splits for row in _rows(split, name)]


def _rows(split: str, name: str) -> Iterator[dict[str, Any]]:
    with (FOLDER / split / f"{name}.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _case(row: dict[str, Any], style: str, split: str) -> Case:
    steps = tuple(_step(item) for item in row["steps"])
    expect = tuple(_expectation(item, len(steps), row["id"]) for item in row["expect"])
    return Case(row["id"], style, split, row["topic"], steps, expect)


def _step(row: dict[str, Any]) -> Step:
    return Step(**{**row, **{key: _time(row[key]) for key in ("at", "stamp") if key in row}})


def _expectation(row: dict[str, Any], count: int, id: str) -> Expectation:
    times = {key: _time(row[key]) for key in ("as_of", "known_at") if key in row}
    expectation = Expectation(**{**row, **times, "steps": tuple(row.get("steps", ()))})
    named = [expectation.old, expectation.new, expectation.answer, *expectation.steps]
    if expectation.kind not in KINDS or any(step is not None and not 0 <= step < count for step in named):
        raise ValueError(f"case {id} has a wrong expectation: {row}")
    return expectation


def _labelled(row: dict[str, Any], split: str) -> LabelledText:
    """Join texts written in parts: a secret in one piece would alarm scanners of this repository."""
    return LabelledText(
        **{key: "".join(value) if isinstance(value, list) else value for key, value in row.items()}, split=split
    )


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
