"""Quality and speed of extraction without a model: the gate, dates, claims. Needs no network.

    python benchmarks/extraction.py --data DATA

The gate has two goals. Evidence turns, those that answer a question of the sets, must pass it. And what passes must
not be junk, by these rules, which are independent of the gate's own:

1. No content: fewer than two words that are neither stop words of the index nor among the pleasantries below, and no
   number, no name in the middle of a sentence, no date.
2. Repetition: except for case and punctuation, the same speaker said it in the same scope on the same day.
3. Secrets: it contains a key, a password or a card number.
4. Fenced text: it was recalled before, or is a system prompt.

Date expressions come from tests/data/dates.tsv. They are also compared with LoCoMo's answers: does a time found in the
evidence turn, or else the day of that turn, overlap the answer?
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from memoranda import MemoryConfig, MemoryManager
from memoranda.dates.find import find_mentions
from memoranda.messages.message import Message
from memoranda.remember.base import Candidate, Verdict
from memoranda.remember.duplicates import KnownTextIndex
from memoranda.remember.extraction import extract
from memoranda.text.terms import query_terms

LABELS = Path(__file__).parent.parent / "tests" / "data" / "dates.tsv"
PLEASANTRIES = """hi hello hey bye goodbye thank thanks thx please sorry congrats congratulations wow oh yeah yes yep
    no nope ok okay sure great good nice cool awesome amazing lovely fantastic wonderful perfect glad happy welcome
    later soon see talk care take luck love like haha lol hmm aww absolutely definitely totally really right"""
SECRETS = re.compile(
    r"\bsk-\w{16}|\bAKIA[A-Z0-9]{16}|\bghp_\w{30}|-----BEGIN [A-Z ]*PRIVATE KEY|\b(?:\d{4}[ -]){3}\d{4}\b"
)
FENCE = re.compile(r"<memoranda-memory [0-9a-f]{16}>")
INNER_NAME = re.compile(r"[a-z,;] [A-Z][a-z]+")


@dataclass(frozen=True)
class Turn:
    """A message, and whether it is evidence for a question."""

    scope: str
    message: Message
    evidence: bool


def main() -> None:
    options = _parse_arguments()
    results: dict[str, object] = {"dates": _measure_dates()}
    if options.data:
        results["locomo"] = _measure_gate(_load_locomo(options.data / "locomo-dev"))
        results["locomo dates"] = _compare_answers(options.data / "locomo-dev")
        results["longmemeval"] = _measure_gate(_load_longmemeval(options.data / "longmemeval-s-dev", options.sessions))
        results["locomo, ingest"] = _measure_ingest(_load_locomo(options.data / "locomo-dev"))
    for part, figures in results.items():
        print(part)
        for name, value in figures.items():  # type: ignore[attr-defined]
            print(f"  {name:<44}{value}")
    if options.json:
        options.json.write_text(json.dumps(results, indent=2))


def _measure_dates() -> dict[str, object]:
    rows = [line.split("\t") for line in LABELS.read_text().splitlines() if line and not line.startswith("#")]
    wrong = [row[1] for row in rows if not _is_right(row)]
    return {"expressions": len(rows), "right": f"{1 - len(wrong) / len(rows):.1%}", "wrong": wrong}


def _is_right(row: Sequence[str]) -> bool:
    said_at, text, words, start, end, precision = (*row, "", "", "", "")[:6]
    now = _parse_time(said_at)

    def parse(time: str) -> datetime:
        return now if time == "now" else _parse_time(time)

    found = [(m.text.lower(), m.start, m.end, m.precision) for m in find_mentions(text, now)]
    return found == ([(words.lower(), parse(start), parse(end), precision)] if words else [])


def _compare_answers(folder: Path) -> dict[str, object]:
    turns = {(row["scope"], row["id"]): row for row in _read_rows(folder / "corpus.jsonl.gz")}
    questions = [row for row in _read_rows(folder / "queries.jsonl.gz") if row["category"] == "temporal"]
    results = [_overlaps(row, turns) for row in questions]
    known = [result for result in results if result is not None]
    return {"answers that are one date": len(known), "read from the evidence": f"{sum(known) / len(known):.1%}"}


def _overlaps(question: dict[str, Any], turns: dict[tuple[str, str], dict[str, Any]]) -> bool | None:
    """Return whether the evidence overlaps the answer; None when the answer is not a single date."""
    answer = str(question["answer"])
    expected = find_mentions(f"in {answer}" if answer.isdigit() else answer, _parse_time(question["ts"]))
    if len(expected) != 1:
        return None
    for key in question["gold"]:
        turn = turns.get((question["scope"], key))
        if turn is None:
            continue
        said_at = _parse_time(turn["ts"])
        spans = [(m.start, m.end) for m in find_mentions(turn["text"], said_at)] or [(said_at, said_at)]
        if any(start < expected[0].end and expected[0].start <= end for start, end in spans):
            return True
    return False


def _measure_gate(turns: Sequence[Turn]) -> dict[str, object]:
    scopes = list(dict.fromkeys(turn.scope for turn in turns))
    kept: list[tuple[str, Candidate]] = []
    verdicts: Counter[str] = Counter()
    known = {scope: KnownTextIndex() for scope in scopes}
    started = time.process_time()
    for scope in scopes:
        for result in extract((turn.message for turn in turns if turn.scope == scope), known[scope]):
            if isinstance(result, Verdict):
                verdicts[result.rule] += 1
            else:
                kept.append((scope, result))
    seconds = time.process_time() - started
    passed = {(scope, candidate.message_id) for scope, candidate in kept}
    evidence = [(turn.scope, turn.message.message_id) for turn in turns if turn.evidence]
    junk = _find_junk(kept)
    return {
        "messages": len(turns),
        "memories": len(kept),
        "refused": dict(verdicts),
        "evidence turns": len(evidence),
        "of them kept": f"{sum(key in passed for key in evidence) / len(evidence):.2%}",
        "junk among the memories": f"{len(junk) / len(kept):.2%}",
        "junk, for example": [text[:60] for text in junk[:3]],
        "added by 20 replays": _count_replayed(turns, known),
        "messages a second of one core": round(len(turns) / seconds),
        "claims": sum(len(candidate.claims) for _, candidate in kept),
        "entities": sum(len(candidate.entities) for _, candidate in kept),
        "dated mentions": sum(len(candidate.events) for _, candidate in kept),
    }


def _count_replayed(turns: Sequence[Turn], known: dict[str, KnownTextIndex]) -> int:
    """Return how many memories 20 repetitions of the first conversation add."""
    first = turns[0].scope
    messages = [turn.message for turn in turns if turn.scope == first][:500]
    return sum(isinstance(result, Candidate) for _ in range(20) for result in extract(messages, known[first]))


def _measure_ingest(turns: Sequence[Turn]) -> dict[str, object]:
    """Measure the messages per second of `remember` on a database file, with 20 messages per call."""
    figures: dict[str, object] = {}
    for name, on in (("without embedding", False), ("with embedding", True)):
        with tempfile.TemporaryDirectory() as folder, _open_manager(folder, on) as manager:
            _remember(manager, turns[:20])  # warm up: load models and word lists
            started = time.perf_counter()
            _remember(manager, turns[20:])
            figures[f"messages a second, {name}"] = round((len(turns) - 20) / (time.perf_counter() - started))
            if on:
                continue
            before = manager.get_stats().long_term_entries
            first = [turn for turn in turns if turn.scope == turns[0].scope]
            for _ in range(20):
                _remember(manager, first)
            figures["added by 20 replays of a conversation"] = manager.get_stats().long_term_entries - before
    return figures


def _open_manager(folder: str, vectors: bool) -> MemoryManager:
    return MemoryManager(MemoryConfig(db_url=f"sqlite:///{folder}/memories.db", enable_vector_search=vectors))


def _remember(manager: MemoryManager, turns: Sequence[Turn]) -> None:
    for scope, group in groupby(turns, key=lambda turn: turn.scope):
        messages = [turn.message for turn in group]
        for start in range(0, len(messages), 20):
            manager.remember(messages[start : start + 20], user=scope)


def _find_junk(kept: Sequence[tuple[str, Candidate]]) -> list[str]:
    seen: set[tuple[str, str, str, str]] = set()
    junk = []
    for scope, candidate in kept:
        content, utterance = candidate.content, candidate.utterance
        words = " ".join(re.findall(r"\w+", content.lower()))
        key = (scope, utterance.speaker, str(utterance.said_at.date()), words)
        if key in seen or _has_no_content(candidate) or SECRETS.search(content) or FENCE.search(content):
            junk.append(content)
        seen.add(key)
    return junk


def _has_no_content(candidate: Candidate) -> bool:
    text = candidate.content
    words = set(query_terms(text)) - set(query_terms(PLEASANTRIES))
    specific = any(character.isdigit() for character in text) or INNER_NAME.search(text) or not text.isascii()
    return len(words) < 2 and not specific and not candidate.events


def _load_locomo(folder: Path) -> list[Turn]:
    gold = {(row["scope"], key) for row in _read_rows(folder / "queries.jsonl.gz") for key in row["gold"]}
    return [
        Turn(
            row["scope"],
            Message(
                "user", _with_caption(row), message_id=row["id"], name=row["speaker"], timestamp=_parse_time(row["ts"])
            ),
            (row["scope"], row["id"]) in gold,
        )
        for row in _read_rows(folder / "corpus.jsonl.gz")
    ]


def _with_caption(row: dict[str, Any]) -> str:
    return f"{row['text']} [{row['caption']}]" if row.get("caption") else str(row["text"])


def _load_longmemeval(folder: Path, sessions: int) -> list[Turn]:
    """Load all sessions with evidence and a sample of others; they are one person's, so they form one scope."""
    questions = _read_rows(folder / "queries.jsonl.gz")
    gold = {key for row in questions for key in row["gold"]}
    days = {session: day for row in questions for session, day in row["haystack"]}
    rows = [row for row in _read_rows(folder / "corpus.jsonl.gz") if row["text"].strip() and row["session"] in days]
    required = {row["session"] for row in rows if row["id"] in gold}
    others = sorted({row["session"] for row in rows} - required)
    chosen = required | set(random.Random(1).sample(others, max(0, min(len(others), sessions - len(required)))))
    return [
        Turn(
            "",
            Message(row["role"], row["text"], message_id=row["id"], timestamp=_parse_time(days[row["session"]])),
            row["id"] in gold,
        )
        for row in rows
        if row["session"] in chosen
    ]


def _read_rows(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _parse_time(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder with locomo-dev and longmemeval-s-dev")
    parser.add_argument("--sessions", type=int, default=400, help="number of LongMemEval sessions, at most about 5,000")
    parser.add_argument("--json", type=Path, help="the file to write the figures to")
    return parser.parse_args()


if __name__ == "__main__":
    main()
