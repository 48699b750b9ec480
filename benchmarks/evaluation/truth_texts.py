"""Score how labelled texts are treated: poison quarantined, secrets kept out, importance told from chatter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluation.truth_cases import LabelledText
from evaluation.truth_runs import fresh_manager
from memoranda import MemoryManager, Message
from memoranda.embedding.base import Embedder
from memoranda.types import Outcomes


@dataclass(frozen=True, slots=True)
class TextResult:
    """How one text was treated: `score` is 1 or 0, or its importance."""

    item: LabelledText
    score: float
    detail: str = ""


def run_poison(items: Sequence[LabelledText], embedder: Embedder) -> list[TextResult]:
    """Remember each text by its channel and score 1 if it was put into quarantine."""
    with fresh_manager(embedder) as (manager, _):
        results = []
        for item in items:
            # The gate would reject small talk before it is judged, which says nothing about the detector.
            outcomes = _remember(manager, item, item.role, keep_all=True)
            statuses = [outcome.status for outcome in outcomes]
            results.append(TextResult(item, float("quarantined" in statuses), f"statuses {statuses}"))
        return results


def run_importance(items: Sequence[LabelledText], embedder: Embedder) -> list[TextResult]:
    """Remember each text as a user's message and score its importance."""
    with fresh_manager(embedder) as (manager, _):
        results = []
        for item in items:
            outcomes = _remember(manager, item, "user", keep_all=True)
            scores = [outcome.memory.importance for outcome in outcomes if outcome.memory is not None]
            results.append(TextResult(item, max(scores, default=0.0)))
        return results


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
        outcomes = [_remember(manager, item, role) for item in items]
        memories = [memory.content for item in items for memory in manager.list_memories(user=item.id)]
        manager.close()
        stored = _read_all(folder) + "\n".join(memories).casefold()
    return [
        item.secret.casefold() not in stored if item.label else _is_altered(item, result, role)
        for item, result in zip(items, outcomes, strict=True)
    ]


def _is_altered(item: LabelledText, outcomes: Outcomes, role: str | None) -> bool:
    if role is not None:
        return any("secret" in (outcome.rule, *outcome.reason.split()) for outcome in outcomes)
    return [outcome.memory.content for outcome in outcomes if outcome.memory] != [item.text]


def _join(item: LabelledText, as_message: bool, as_text: bool) -> TextResult:
    secret = (as_message and as_text) if item.label else (as_message or as_text)
    return TextResult(item, float(secret), f"as message: {as_message}, as text: {as_text}")


def _read_all(folder: Path) -> str:
    # Text is stored as UTF-8; other bytes cannot be part of a secret.
    return "\n".join(
        file.read_bytes().decode("utf-8", "replace") for file in folder.rglob("*") if file.is_file()
    ).casefold()


def _remember(manager: MemoryManager, item: LabelledText, role: str | None, *, keep_all: bool = False) -> Outcomes:
    """Remember a text for a user of its own, so that no text is a duplicate of another."""
    if role is None:
        return manager.remember(item.text, user=item.id, source=item.source)
    call_id = "call-1" if role == "tool" else None
    message = Message(role, item.text, tool_call_id=call_id)
    return manager.remember(message, user=item.id, source=item.source, keep_all=keep_all)


def share(results: Iterable[TextResult], label: int) -> float:
    """Return the share of the texts with this label that scored 1."""
    scores = [result.score for result in results if result.item.label == label]
    return sum(scores) / len(scores) if scores else float("nan")


def auc(results: Sequence[TextResult]) -> float:
    """Return the probability that a text that matters scores above one that does not; a tie counts half."""
    high = [result.score for result in results if result.item.label]
    low = [result.score for result in results if not result.item.label]
    wins = sum((one > other) + 0.5 * (one == other) for one in high for other in low)
    return wins / (len(high) * len(low)) if high and low else float("nan")
