"""The effect of upkeep on a store: its size and its recall, before and after.

    python benchmarks/consolidation.py --data <folder with locomo-dev>

For each policy, the conversations are stored through the public API, upkeep runs, and the questions are asked.
`turns@10` counts a derived memory among the hits as a wrong hit; `evidence@10` counts it as the turns that it quotes
(`history(id).sources` names them); `evidence in 1,500` does so within the first 1,500 characters of the hits, so that
longer texts have no advantage.
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
from memoranda.maintenance.policies import POLICIES, UpkeepSettings

_LIMIT = 10
_MAX_HITS = 30
_MAX_CHARACTERS = 1_500
_RUNS = ("none", "merge", "summarize", "consolidate", "reflect", "all")


class ShiftedClock:
    """The current time plus an offset."""

    def __init__(self) -> None:
        self.offset = timedelta(0)

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.offset


def main() -> None:
    options = _parse_arguments()
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
    clock = ShiftedClock()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memories.db"
        with MemoryManager(db_url=f"sqlite:///{path}", embedder=embedder, clock=clock) as manager:
            for _ in ingest(manager, questions):
                pass
            clock.offset = timedelta(days=8)
            started = time.perf_counter()
            if policies:
                manager.upkeep(policies=policies, settings=settings)
            seconds = time.perf_counter() - started
            recall = _measure_recall(manager, questions)
            again = manager.upkeep(policies=policies, settings=settings) if policies else None
            assert again is None or not again.decisions, "a second run must change nothing"
            name = "none" if not policies else policies[0] if len(policies) == 1 else "all"
            total, live = manager.get_stats().long_term_entries, manager.check().memories
            columns = f"{name:<12} {total:>9} {live:>10} {path.stat().st_size / 1e6:>6.1f}"
            print(f"{columns} {recall[0]:>10.4f} {recall[1]:>12.4f} {recall[2]:>18.4f} {seconds:>8.1f}", flush=True)


def _measure_recall(manager: MemoryManager, questions: QuestionSet) -> tuple[float, float, float]:
    """Return the means of turns@10, evidence@10 and evidence in 1,500 over the questions that have evidence."""
    table = [_score(manager, question) for question in questions.questions if question.gold]
    turns, evidence, packed = np.array(table).mean(axis=0).tolist()
    return turns, evidence, packed


def _score(manager: MemoryManager, question: Question) -> tuple[float, float, float]:
    hits = manager.recall(question.text, user=question.scope, limit=_MAX_HITS, now=question.asked_at)
    quoted = [set(_quoted_turns(manager, hit.id, hit.message_id, question.scope)) for hit in hits]
    lengths = accumulate(len(hit.content) for hit in hits)
    packed = sum(length <= _MAX_CHARACTERS for length in lengths)
    turns = figures([hit.message_id or "" for hit in hits], question.gold)["recall@10"]
    return turns, _share(quoted[:_LIMIT], question.gold), _share(quoted[:packed], question.gold)


def _share(quoted: Sequence[set[str]], gold: Sequence[str]) -> float:
    return len(set().union(*quoted) & set(gold)) / len(set(gold))


def _quoted_turns(manager: MemoryManager, memory_id: int, message_id: str | None, user: str) -> Iterator[str]:
    if message_id is not None:
        yield message_id
        return
    for line in manager.history(memory_id, user=user).sources:
        turn = manager.get(line.source_id, user=user).message_id
        if turn is not None:
            yield turn


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder that holds locomo-dev")
    parser.add_argument("--vectors", type=Path, default=Path(".bench/vectors"), help="the folder for cached vectors")
    parser.add_argument(
        "--policies", nargs="*", default=list(_RUNS), help="the policies to measure, each in its own run"
    )
    parser.add_argument("--archive-sources", action="store_true", help="archive the sources of consolidated memories")
    parser.add_argument(
        "--related", type=float, default=UpkeepSettings().related, help="the similarity within a cluster, 0 to 1"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
