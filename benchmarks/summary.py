"""How much of what later matters survives a summary at a tenth of the length.

    python benchmarks/summary.py --data DIR

DIR holds the sets `locomo-dev` and `longmemeval-s-dev` (corpus.jsonl.gz and queries.jsonl.gz each). Every question
there names the turns that answer it. Each conversation is cut down to the same number of characters in four ways, and
two shares are counted over those turns, by stemmed words without stop words:

- evidence: of the words that the question or its answer shares with the turn, how many are still there;
- whole facts: turns in which all of those words are still there.

The weights of the extractive summary were found on these sets, so the figures say how it compares with taking the
first, last or random sentences, not how it will do on other conversations.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from memoranda.conversation.summary import Sentence, select, sentences_of
from memoranda.messages.message import Message
from memoranda.text import query_terms

Selector = Callable[[Sequence[Sentence], int], list[Sentence]]
RANDOM_RUNS = 5


@dataclass
class Unit:
    """One conversation to summarise, and the facts that should survive."""

    messages: list[Message] = field(default_factory=list)
    turns: dict[str, int] = field(default_factory=dict)
    facts: list[tuple[str, set[str]]] = field(default_factory=list)
    """A turn's id, and the words of it that the question or the answer share."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True, help="folder with locomo-dev and longmemeval-s-dev")
    options.add_argument("--ratio", type=float, default=0.1, help="share of the length to keep")
    given = options.parse_args()
    print(f"{'set':40}{'way':12}{'evidence':>10}{'whole facts':>13}")
    for name, units in _sets(given.data):
        facts = sum(len(unit.facts) for unit in units)
        for way, selectors in _ways().items():
            results = [_survival(units, selector, given.ratio) for selector in selectors]
            evidence, whole = (100 * sum(column) / len(results) for column in zip(*results, strict=True))
            print(f"{f'{name} ({len(units)}, {facts} facts)':40}{way:12}{evidence:10.1f}{whole:13.1f}")


def _ways() -> dict[str, list[Selector]]:
    return {
        "extractive": [select],
        "first": [_take],
        "last": [lambda sentences, budget: _take(sentences[::-1], budget)],
        "random": [_random_selector(seed) for seed in range(RANDOM_RUNS)],
    }


def _take(order: Sequence[Sentence], budget: int) -> list[Sentence]:
    taken = []
    for sentence in order:
        if len(sentence.text) <= budget:
            taken.append(sentence)
            budget -= len(sentence.text)
    return taken


def _random_selector(seed: int) -> Selector:
    source = random.Random(seed)
    return lambda sentences, budget: _take(source.sample(sentences, len(sentences)), budget)


def _survival(units: Sequence[Unit], selector: Selector, ratio: float) -> tuple[float, float]:
    shares: list[float] = []
    for unit in units:
        sentences = sentences_of(unit.messages)
        kept: dict[int, set[str]] = defaultdict(set)
        for sentence in selector(sentences, int(ratio * sum(len(sentence.text) for sentence in sentences))):
            kept[sentence.turn] |= set(query_terms(sentence.text))
        shares += [len(words & kept[unit.turns[turn]]) / len(words) for turn, words in unit.facts]
    return sum(shares) / len(shares), sum(share == 1 for share in shares) / len(shares)


def _sets(data: Path) -> Iterator[tuple[str, list[Unit]]]:
    locomo = data / "locomo-dev"
    yield "LoCoMo, conversations", _units(locomo, lambda row: str(row["scope"]))
    yield "LoCoMo, sessions", _units(locomo, lambda row: f"{row['scope']}/{row['session']}")
    yield "LongMemEval, sessions", _units(data / "longmemeval-s-dev", lambda row: str(row["session"]))


def _units(folder: Path, unit_of: Callable[[dict[str, object]], str]) -> list[Unit]:
    """Only those that hold the answer to some question."""
    units: dict[str, Unit] = defaultdict(Unit)
    unit_by_turn: dict[tuple[str, str], Unit] = {}
    for row in _rows(folder / "corpus.jsonl.gz"):
        unit = units[unit_of(row)]
        unit_by_turn[str(row["scope"]), str(row["id"])] = unit
        unit.turns[str(row["id"])] = len(unit.messages)
        unit.messages.append(_message(row))
    for question in _rows(folder / "queries.jsonl.gz"):
        _add_facts(question, unit_by_turn)
    return [unit for unit in units.values() if unit.facts]


def _message(row: dict[str, object]) -> Message:
    when = f"{row['ts']}+00:00" if row.get("ts") else None
    return Message(str(row.get("role") or "user"), str(row["text"]), name=_or_none(row.get("speaker")), timestamp=when)


def _add_facts(question: dict[str, object], unit_by_turn: dict[tuple[str, str], Unit]) -> None:
    if question["category"] == "adversarial":
        return
    asked = set(query_terms(f"{question['text']} {question['answer']}"))
    golden = question["gold"]
    for turn in golden if isinstance(golden, list) else ():
        unit = unit_by_turn.get((str(question.get("scope") or ""), str(turn)))
        if unit and (words := asked & set(query_terms(unit.messages[unit.turns[turn]].content))):  # type: ignore[arg-type]
            unit.facts.append((turn, words))


def _or_none(value: object) -> str | None:
    return str(value) if value else None


def _rows(path: Path) -> Iterator[dict[str, object]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


if __name__ == "__main__":
    main()
