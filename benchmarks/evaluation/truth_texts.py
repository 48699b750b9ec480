"""Score how labelled texts are treated: poison quarantined, secrets kept out, importance told from chatter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from evaluation.progress import bar
from evaluation.truth_cases import LabelledText
from evaluation.truth_runs import CaseClock, fresh_manager
from memoranda import MemoryManager, Message
from memoranda.embedding.base import Embedder
from memoranda.types import Outcomes, utc_now

_LEAST_NEEDLE = 14
_UPKEEP_AFTER = timedelta(days=200)


@dataclass(frozen=True, slots=True)
class TextResult:
    """How one text was treated: `score` is 1 or 0, or its importance."""

    item: LabelledText
    score: float
    detail: str = ""
    as_message: float = 0.0
    as_text: float = 0.0
    """The same for each channel, for secrets."""


@dataclass(frozen=True, slots=True)
class UpkeepLosses:
    """What default upkeep did to texts that matter, and how many decisions a run right after it made."""

    texts: int
    deleted: int
    archived: int
    repeated: int


def run_poison(items: Sequence[LabelledText], embedder: Embedder) -> list[TextResult]:
    """Remember each text by its channel and score 1 if it was put into quarantine."""
    with fresh_manager(embedder) as (manager, _):
        results = []
        for item in bar(items, len(items), "poison"):
            # The gate would reject small talk before it is judged, which says nothing about the detector.
            outcomes = _remember(manager, item, item.role, keep_all=True)
            statuses = [outcome.status for outcome in outcomes]
            results.append(TextResult(item, float("quarantined" in statuses), f"statuses {statuses}"))
        return results


def run_importance(items: Sequence[LabelledText], embedder: Embedder) -> list[TextResult]:
    """Remember each text as a user's message and score its importance."""
    with fresh_manager(embedder) as (manager, _):
        results = []
        for item in bar(items, len(items), "importance"):
            outcomes = _remember(manager, item, "user", keep_all=True)
            scores = [outcome.memory.importance for outcome in outcomes if outcome.memory is not None]
            results.append(TextResult(item, max(scores, default=0.0)))
        return results


def run_upkeep(items: Sequence[LabelledText], embedder: Embedder) -> UpkeepLosses:
    """Remember what matters as messages, run default upkeep after months, and count what is gone."""
    clock = CaseClock()
    with fresh_manager(embedder, clock) as (manager, _):
        ids = {}
        for item in bar(items, len(items), "upkeep"):
            outcomes = _remember(manager, item, "user", keep_all=True, said_at=clock.now)
            ids |= {outcome.memory.id: item for outcome in outcomes if item.label and outcome.memory is not None}
        for _ in range(2):  # what the first run archives, a later one may delete
            clock.now += _UPKEEP_AFTER
            manager.upkeep()
        repeated = len(manager.upkeep().decisions)
        left = {memory.id: memory for item in items for memory in manager.list_memories(user=item.id)}
    archived = sum(id in left and left[id].archived_at is not None for id in ids)
    return UpkeepLosses(len(ids), sum(id not in left for id in ids), archived, repeated)


def run_secrets(items: Sequence[LabelledText], embedder: Embedder) -> list[TextResult]:
    """Remember each text as a message and as a text; score 1 if it was treated as secret.

    A secret is kept out if it stands in no file of either store. A text without one is a false alarm if it was not
    stored word for word as a text, or if its message was called a secret.
    """
    as_message = _run_channel(items, embedder, "user")
    as_text = _run_channel(items, embedder, None)
    return [_join(item, *pair) for item, *pair in zip(items, as_message, as_text, strict=True)]


def _run_channel(items: Sequence[LabelledText], embedder: Embedder, role: str | None) -> list[bool]:
    """Return for each text whether its secret was kept out, or a text without one was altered."""
    with fresh_manager(embedder) as (manager, folder):
        label = "secrets as texts" if role is None else "secrets as messages"
        outcomes = [_remember(manager, item, role) for item in bar(items, len(items), label)]
        memories = [memory.content for item in items for memory in manager.list_memories(user=item.id)]
        manager.close()
        stored = _read_all(folder) + "\n".join(memories).casefold()
    return [
        _needle(item) not in stored if item.label else _is_altered(item, result, role)
        for item, result in zip(items, outcomes, strict=True)
    ]


def _needle(item: LabelledText) -> str:
    """Return what to look for: the secret, with words before it when it is short enough to stand there by chance."""
    end = item.text.index(item.secret) + len(item.secret)
    return item.text[max(0, end - max(len(item.secret), _LEAST_NEEDLE)) : end].casefold()


def _is_altered(item: LabelledText, outcomes: Outcomes, role: str | None) -> bool:
    contents = [outcome.memory.content for outcome in outcomes if outcome.memory]
    if role is None:
        return contents != [item.text]
    # A message may be split or rejected for other reasons; what is stored must stand in it.
    named = any("secret" in (outcome.rule, *outcome.reason.split()) for outcome in outcomes)
    return named or any(content not in item.text for content in contents)


def _join(item: LabelledText, as_message: bool, as_text: bool) -> TextResult:
    secret = (as_message and as_text) if item.label else (as_message or as_text)
    detail = f"as message: {as_message}, as text: {as_text}"
    return TextResult(item, float(secret), detail, float(as_message), float(as_text))


def _read_all(folder: Path) -> str:
    # Text is stored as UTF-8; other bytes cannot be part of a secret.
    return "\n".join(
        file.read_bytes().decode("utf-8", "replace") for file in folder.rglob("*") if file.is_file()
    ).casefold()


def _remember(
    manager: MemoryManager,
    item: LabelledText,
    role: str | None,
    *,
    keep_all: bool = False,
    said_at: datetime | None = None,
) -> Outcomes:
    """Remember a text for a user of its own, so that no text is a duplicate of another."""
    if role is None:
        return manager.remember(item.text, user=item.id, source=item.source)
    call_id = "call-1" if role == "tool" else None
    message = Message(role, item.text, tool_call_id=call_id, timestamp=said_at or utc_now())
    return manager.remember(message, user=item.id, source=item.source, keep_all=keep_all)


def count(results: Iterable[TextResult], label: int, score: str = "score") -> list[int]:
    """Return how many texts have this label, and how many of them scored 1."""
    scores = [getattr(result, score) for result in results if result.item.label == label]
    return [len(scores), round(sum(scores))]


def auc(results: Sequence[TextResult]) -> float:
    """Return the probability that a text that matters scores above one that does not; a tie counts half."""
    high = [result.score for result in results if result.item.label]
    low = [result.score for result in results if not result.item.label]
    wins = sum((one > other) + 0.5 * (one == other) for one in high for other in low)
    return wins / (len(high) * len(low)) if high and low else float("nan")
