"""What upkeep does to a store: its size, and what is still found, before and after.

    python benchmarks/consolidation.py --data <folder with locomo-dev>

Conversations are taken in through the public API, questions are asked, upkeep runs, the same questions are asked again.
`turns@10` counts a derived memory among the hits as a place lost; `evidence@10` counts it for the turns that it quotes
(`history(id).sources` names them); `evidence in 1,500` does so within the first 1,500 characters of the hits, so that
longer texts get nothing for free.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path

import numpy as np

from evaluation.metrics import figures
from evaluation.runner import ingest
from evaluation.sets import Question, QuestionSet, load
from evaluation.vectors import CachedVectors
from memoranda import MemoryManager
from memoranda.maintenance.base import POLICIES, UpkeepSettings

_LIMIT = 10
_DEPTH = 30
_CHARACTERS = 1_500
_RUNS = ("none", "merge", "summarize", "consolidate", "reflect", "all")


class Clock:
    """The time of day, moved on by hand."""

    def __init__(self) -> None:
        self.moved = timedelta(0)

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.moved


def main() -> None:
    options = _options()
    questions = load("locomo", options.data)
    embedder = CachedVectors(None, options.vectors)
    settings = UpkeepSettings(archive_sources=options.archive_sources, related=options.related)
    print("policies      memories  in recall     MB   turns@10  evidence@10  evidence in 1,500  seconds")
    for name in options.policies:
        policies = {"none": (), "all": POLICIES}.get(name, (name,))
        _measure(questions, embedder, policies, settings)
    embedder.save()


def _measure(
    questions: QuestionSet, embedder: CachedVectors, policies: tuple[str, ...], settings: UpkeepSettings
) -> None:
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memories.db"
        with MemoryManager(db_url=f"sqlite:///{path}", embedder=embedder, clock=clock) as manager:
            for _ in ingest(manager, questions):
                pass
            clock.moved = timedelta(days=8)
            started = time.perf_counter()
            if policies:
                manager.upkeep(policies=policies, settings=settings)
            seconds = time.perf_counter() - started
            found = _recall(manager, questions)
            again = manager.upkeep(policies=policies, settings=settings) if policies else None
            assert again is None or not again.decisions, "a second run must change nothing"
            name = "none" if not policies else policies[0] if len(policies) == 1 else "all"
            total, live = manager.get_stats().long_term_entries, manager.check().memories
            columns = f"{name:<12} {total:>9} {live:>10} {path.stat().st_size / 1e6:>6.1f}"
            print(f"{columns} {found[0]:>10.4f} {found[1]:>12.4f} {found[2]:>18.4f} {seconds:>8.1f}", flush=True)


def _recall(manager: MemoryManager, questions: QuestionSet) -> tuple[float, float, float]:
    """Means over the questions with evidence: turns@10, evidence@10, evidence in so many characters."""
    table = [_answer(manager, question) for question in questions.questions if question.gold]
    turns, evidence, packed = np.array(table).mean(axis=0).tolist()
    return turns, evidence, packed


def _answer(manager: MemoryManager, question: Question) -> tuple[float, float, float]:
    found = manager.recall(question.text, user=question.scope, limit=_DEPTH, now=question.asked_at)
    told = [set(_told(manager, hit.id, hit.message_id, question.scope)) for hit in found]
    room = list(accumulate(len(hit.content) for hit in found))
    within = sum(used <= _CHARACTERS for used in room)
    turns = figures([hit.message_id or "" for hit in found], question.gold)["recall@10"]
    return turns, _share(told[:_LIMIT], question.gold), _share(told[:within], question.gold)


def _share(told: Sequence[set[str]], gold: Sequence[str]) -> float:
    return len(set().union(*told) & set(gold)) / len(set(gold))


def _told(manager: MemoryManager, memory_id: int, message_id: str | None, user: str) -> Iterator[str]:
    if message_id is not None:
        yield message_id
        return
    for line in manager.history(memory_id, user=user).sources:
        turn = manager.get(line.source_id, user=user).message_id
        if turn is not None:
            yield turn


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder that holds locomo-dev")
    parser.add_argument("--vectors", type=Path, default=Path(".bench/vectors"), help="where vectors are kept")
    parser.add_argument("--policies", nargs="*", default=list(_RUNS), help="what to run, each by itself")
    parser.add_argument("--archive-sources", action="store_true", help="take consolidated memories out of recall")
    parser.add_argument("--related", type=float, default=UpkeepSettings().related, help="how near a cluster must be")
    return parser.parse_args()


if __name__ == "__main__":
    main()
