"""What becomes a memory, and what is read from it: gate, dates, claims, speed. No model, no network.

    python benchmarks/extraction.py --data DATA

The gate is judged from two sides. Evidence turns, those that answer a question of the sets, must survive it. And what
it lets pass must not be junk by these rules, which are written here apart from the gate's own words:

1. It tells nothing: fewer than two words that are neither among the index's stop words nor among the pleasantries
   below, and no number, no name in the middle of a sentence, no date.
2. It repeats, but for case and signs, what the same speaker said in the same scope on the same day.
3. It shows a key, a password or a card number.
4. It is text that was recalled before, or a system prompt.

Dates are read from tests/data/dates.tsv, and checked once more against LoCoMo's own answers: does a time read from the
evidence turn, or else the day it was said, overlap the answer?
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
from memoranda.text import query_terms

LABELS = Path(__file__).parent.parent / "tests" / "data" / "dates.tsv"
PLEASANTRIES = """hi hello hey bye goodbye thank thanks thx please sorry congrats congratulations wow oh yeah yes yep
    no nope ok okay sure great good nice cool awesome amazing lovely fantastic wonderful perfect glad happy welcome
    later soon see talk care take luck love like haha lol hmm aww absolutely definitely totally really right"""
KEYS = re.compile(
    r"\bsk-\w{16}|\bAKIA[A-Z0-9]{16}|\bghp_\w{30}|-----BEGIN [A-Z ]*PRIVATE KEY|\b(?:\d{4}[ -]){3}\d{4}\b"
)
FENCE = re.compile(r"<memoranda-memory [0-9a-f]{16}>")
INNER_NAME = re.compile(r"[a-z,;] [A-Z][a-z]+")


@dataclass(frozen=True)
class Turn:
    scope: str
    message: Message
    evidence: bool


def main() -> None:
    options = _options()
    results: dict[str, object] = {"dates": _dates()}
    if options.data:
        results["locomo"] = _gate(_locomo(options.data / "locomo-dev"))
        results["locomo dates"] = _answers(options.data / "locomo-dev")
        results["longmemeval"] = _gate(_longmemeval(options.data / "longmemeval-s-dev", options.sessions))
        results["locomo, ingest"] = _ingest(_locomo(options.data / "locomo-dev"))
    for part, figures in results.items():
        print(part)
        for name, value in figures.items():  # type: ignore[attr-defined]
            print(f"  {name:<44}{value}")
    if options.json:
        options.json.write_text(json.dumps(results, indent=2))


def _dates() -> dict[str, object]:
    rows = [line.split("\t") for line in LABELS.read_text().splitlines() if line and not line.startswith("#")]
    wrong = [row[1] for row in rows if not _is_right(row)]
    return {"expressions": len(rows), "right": f"{1 - len(wrong) / len(rows):.1%}", "wrong": wrong}


def _is_right(row: Sequence[str]) -> bool:
    said, text, words, start, end, precision = (*row, "", "", "", "")[:6]
    now = datetime.fromisoformat(said).replace(tzinfo=UTC)

    def at(moment: str) -> datetime:
        return now if moment == "now" else datetime.fromisoformat(moment).replace(tzinfo=UTC)

    found = [(m.text.lower(), m.start, m.end, m.precision) for m in find_mentions(text, now)]
    return found == ([(words.lower(), at(start), at(end), precision)] if words else [])


def _answers(folder: Path) -> dict[str, object]:
    turns = {(row["scope"], row["id"]): row for row in _rows(folder / "corpus.jsonl.gz")}
    asked = [row for row in _rows(folder / "queries.jsonl.gz") if row["category"] == "temporal"]
    judged = [_overlaps(row, turns) for row in asked]
    sure = [each for each in judged if each is not None]
    return {"answers that are one date": len(sure), "read from the evidence": f"{sum(sure) / len(sure):.1%}"}


def _overlaps(question: dict[str, Any], turns: dict[tuple[str, str], dict[str, Any]]) -> bool | None:
    answer = str(question["answer"])
    wanted = find_mentions(f"in {answer}" if answer.isdigit() else answer, _moment(question["ts"]))
    if len(wanted) != 1:
        return None
    for key in question["gold"]:
        turn = turns.get((question["scope"], key))
        if turn is None:
            continue
        said = _moment(turn["ts"])
        spans = [(m.start, m.end) for m in find_mentions(turn["text"], said)] or [(said, said)]
        if any(start < wanted[0].end and wanted[0].start <= end for start, end in spans):
            return True
    return False


def _gate(turns: Sequence[Turn]) -> dict[str, object]:
    scopes = list(dict.fromkeys(turn.scope for turn in turns))
    kept: list[tuple[str, Candidate]] = []
    verdicts: Counter[str] = Counter()
    known = {scope: KnownTextIndex() for scope in scopes}
    started = time.process_time()
    for scope in scopes:
        for each in extract((turn.message for turn in turns if turn.scope == scope), known[scope]):
            if isinstance(each, Verdict):
                verdicts[each.rule] += 1
            else:
                kept.append((scope, each))
    spent = time.process_time() - started
    survived = {(scope, each.message_id) for scope, each in kept}
    evidence = [(turn.scope, turn.message.message_id) for turn in turns if turn.evidence]
    junk = _junk(kept)
    return {
        "messages": len(turns),
        "memories": len(kept),
        "refused": dict(verdicts),
        "evidence turns": len(evidence),
        "of them kept": f"{sum(key in survived for key in evidence) / len(evidence):.2%}",
        "junk among the memories": f"{len(junk) / len(kept):.2%}",
        "junk, for example": [text[:60] for text in junk[:3]],
        "added by 20 replays": _replayed(turns, known),
        "messages a second of one core": round(len(turns) / spent),
        "claims": sum(len(each.claims) for _, each in kept),
        "entities": sum(len(each.entities) for _, each in kept),
        "dated mentions": sum(len(each.events) for _, each in kept),
    }


def _replayed(turns: Sequence[Turn], known: dict[str, KnownTextIndex]) -> int:
    """What 20 more rounds of the first conversation add to what is known of it."""
    first = turns[0].scope
    messages = [turn.message for turn in turns if turn.scope == first][:500]
    return sum(isinstance(each, Candidate) for _ in range(20) for each in extract(messages, known[first]))


def _ingest(turns: Sequence[Turn]) -> dict[str, object]:
    """Messages a second of `remember`, everything on disk: 20 messages a call, the whole way from words to rows."""
    figures: dict[str, object] = {}
    for name, on in (("without embedding", False), ("with embedding", True)):
        with tempfile.TemporaryDirectory() as folder, _opened(folder, on) as manager:
            _remember(manager, turns[:20])  # loads what is loaded once
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


def _opened(folder: str, vectors: bool) -> MemoryManager:
    return MemoryManager(MemoryConfig(db_url=f"sqlite:///{folder}/memories.db", enable_vector_search=vectors))


def _remember(manager: MemoryManager, turns: Sequence[Turn]) -> None:
    for scope, group in groupby(turns, key=lambda turn: turn.scope):
        said = [turn.message for turn in group]
        for start in range(0, len(said), 20):
            manager.remember(said[start : start + 20], user=scope)


def _junk(kept: Sequence[tuple[str, Candidate]]) -> list[str]:
    seen: set[tuple[str, str, str, str]] = set()
    junk = []
    for scope, each in kept:
        key = (
            scope,
            each.utterance.speaker,
            str(each.utterance.said_at.date()),
            " ".join(re.findall(r"\w+", each.content.lower())),
        )
        if key in seen or _tells_nothing(each) or KEYS.search(each.content) or FENCE.search(each.content):
            junk.append(each.content)
        seen.add(key)
    return junk


def _tells_nothing(candidate: Candidate) -> bool:
    text = candidate.content
    words = set(query_terms(text)) - set(query_terms(PLEASANTRIES))
    named = any(character.isdigit() for character in text) or INNER_NAME.search(text) or not text.isascii()
    return len(words) < 2 and not named and not candidate.events


def _locomo(folder: Path) -> list[Turn]:
    gold = {(row["scope"], key) for row in _rows(folder / "queries.jsonl.gz") for key in row["gold"]}
    return [
        Turn(
            row["scope"],
            Message(
                "user", _with_caption(row), message_id=row["id"], name=row["speaker"], timestamp=_moment(row["ts"])
            ),
            (row["scope"], row["id"]) in gold,
        )
        for row in _rows(folder / "corpus.jsonl.gz")
    ]


def _with_caption(row: dict[str, Any]) -> str:
    return f"{row['text']} [{row['caption']}]" if row.get("caption") else str(row["text"])


def _longmemeval(folder: Path, sessions: int) -> list[Turn]:
    """All sessions with evidence, and others up to the number; one scope, since they are one person's."""
    questions = _rows(folder / "queries.jsonl.gz")
    gold = {key for row in questions for key in row["gold"]}
    days = {session: day for row in questions for session, day in row["haystack"]}
    rows = [row for row in _rows(folder / "corpus.jsonl.gz") if row["text"].strip() and row["session"] in days]
    needed = {row["session"] for row in rows if row["id"] in gold}
    others = sorted({row["session"] for row in rows} - needed)
    chosen = needed | set(random.Random(1).sample(others, max(0, min(len(others), sessions - len(needed)))))
    return [
        Turn(
            "",
            Message(row["role"], row["text"], message_id=row["id"], timestamp=_moment(days[row["session"]])),
            row["id"] in gold,
        )
        for row in rows
        if row["session"] in chosen
    ]


def _rows(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder with locomo-dev and longmemeval-s-dev")
    parser.add_argument("--sessions", type=int, default=400, help="of LongMemEval; all are about 5,000")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    return parser.parse_args()


if __name__ == "__main__":
    main()
