"""The training pool: haystacks of turns with questions, and the wrong turns that look right."""

from __future__ import annotations

import gzip
import json
import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ABSENT = "absent"
"""Questions whose topic comes up, but not the detail that they ask for: no turn is right."""
WRITTEN_KINDS = frozenset({"fact", "list", "when", "why", "how", "paraphrase", "inference", "reply", "thread", ABSENT})
"""Questions that were written for our own dialogues."""
HUMAN_KINDS = WRITTEN_KINDS | {"qmsum", "qmsum-sent"}
"""Questions and summaries that were written; the others were made by rules, so some of their "wrong" turns are right."""
_TEMPLATES = frozenset({"rule", "slot"})
_TEMPLATE_SHARE = 0.5
"""Share of the questions made from templates that is used: they are many, and alike."""
_QUESTION = re.compile(r"[^.!?]*\?")
_MERGED_TURNS = 1_200
_WORD = re.compile(r"\w+")
_SHORT_WORD = 3
"""Words up to this length are mostly "the", "did", "who": they do not tell turns apart."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn, with the number of its session inside the haystack."""

    session: int
    speaker: str
    text: str

    @property
    def said(self) -> str:
        return f"{self.speaker}: {self.text}"


@dataclass(slots=True)
class Question:
    """A question about a haystack: which turns answer it, and which only seem to."""

    text: str
    gold: list[int]
    kind: str
    hard: list[int]


@dataclass(frozen=True, slots=True)
class Haystack:
    """Turns in order, and the questions about them."""

    turns: list[Turn]
    questions: list[Question]

    def after_previous(self, number: int, *, only_questions: bool = False) -> str:
        """Return a turn after the turn before it, or after what that asks: as the reranker reads it in a dialogue."""
        turn, before = self.turns[number], self.turns[number - 1] if number else None
        if before is None or before.session != turn.session:
            return turn.said
        text = "".join(_QUESTION.findall(before.text)).strip() if only_questions else before.text
        return f"{before.speaker}: {text} {turn.said}" if text else turn.said


def read_pool(*files: Path) -> list[Haystack]:
    """Return the haystacks of the pool and of our own dialogues, several of one source merged into one."""
    groups: dict[str, list[dict[str, list[list[object]]]]] = defaultdict(list)
    for file in files:
        for line in _read(file).splitlines():
            row = json.loads(line)
            groups[row["src"]].append(row)
    return [haystack for rows in groups.values() for haystack in _merge(rows)]


def _read(file: Path) -> str:
    content = file.read_bytes()
    return (gzip.decompress(content) if file.suffix == ".gz" else content).decode("utf-8")


def choose_questions(haystacks: Sequence[Haystack], rng: random.Random, repeat: int) -> list[tuple[Haystack, Question]]:
    """Return the questions to train on: those of our own dialogues `repeat` times, of those from templates a share."""
    chosen: list[tuple[Haystack, Question]] = []
    for haystack in haystacks:
        for question in haystack.questions:
            if not question.gold and question.kind != ABSENT:
                continue
            if question.kind in _TEMPLATES and rng.random() >= _TEMPLATE_SHARE:
                continue
            chosen += [(haystack, question)] * (repeat if question.kind in WRITTEN_KINDS else 1)
    return chosen


def _merge(rows: Sequence[dict[str, list[list[object]]]]) -> Iterator[Haystack]:
    turns: list[Turn] = []
    questions: list[Question] = []
    sessions: dict[tuple[int, object], int] = {}
    for number, row in enumerate(rows):
        start = len(turns)
        for session, speaker, text in row["turns"]:
            code = sessions.setdefault((number, session), len(sessions))
            turns.append(Turn(code, str(speaker), str(text)))
        for text, gold, kind in row["qs"]:
            questions.append(Question(str(text), [start + int(each) for each in gold], str(kind), []))  # type: ignore[attr-defined]
        if len(turns) >= _MERGED_TURNS:
            yield Haystack(turns, questions)
            turns, questions = [], []
    if questions:
        yield Haystack(turns, questions)


def without_names(question: str, turns: Sequence[Turn]) -> str:
    """Return the question without the speakers' names, as recall embeds it."""
    names = {turn.speaker for turn in turns}
    kept = [word for word in question.split() if word.strip(".,?!").removesuffix("'s") not in names]
    return " ".join(kept) or question


def word_scores(haystack: Haystack) -> Iterator[np.ndarray]:
    """Yield for each question the BM25 scores of all turns."""
    words = [_words(turn.text) for turn in haystack.turns]
    counts = [Counter(each) for each in words]
    seen = Counter(word for each in counts for word in each)
    mean = sum(map(len, words)) / max(1, len(words))
    norms = np.array([0.9 * (0.6 + 0.4 * len(each) / mean) for each in words])
    for question in haystack.questions:
        scores = np.zeros(len(words))
        for word in set(_words(question.text)):
            rarity = math.log(1 + (len(words) - seen[word] + 0.5) / (seen[word] + 0.5))
            found = np.array([each[word] for each in counts], np.float64)
            scores += rarity * found / (found + norms)
        yield scores


def hard_turns(haystack: Haystack, cosines: np.ndarray, count: int) -> list[list[int]]:
    """Return the best wrong turns of each question by words and meaning; `cosines` has a row per question."""
    found: list[list[int]] = []
    for question, words, row in zip(haystack.questions, word_scores(haystack), cosines, strict=True):
        mixed = 0.7 * _standard(row) + 0.3 * _standard(words)
        mixed[question.gold] = -np.inf
        found.append(np.argsort(-mixed, kind="stable")[:count].tolist())
    return found


def pick_list(haystack: Haystack, question: Question, rng: random.Random, hard: int, same_session: int) -> list[int]:
    """Return turns for one training list: a right one first, then wrong ones; only wrong ones where none is right."""
    wrong = rng.sample(question.hard, min(hard, len(question.hard)))
    if not question.gold:
        return wrong
    gold = rng.choice(question.gold)
    session = haystack.turns[gold].session
    near = [n for n in range(max(0, gold - 12), min(len(haystack.turns), gold + 13)) if n not in question.gold]
    near = [n for n in near if haystack.turns[n].session == session and n not in wrong]
    return [gold, *wrong, *rng.sample(near, min(same_session, len(near)))]


def _words(text: str) -> list[str]:
    # A cheap stem is enough to find wrong turns that look right.
    return [word[:6] for word in _WORD.findall(text.lower()) if len(word) > _SHORT_WORD]


def _standard(values: np.ndarray) -> np.ndarray:
    return np.asarray((values - values.mean()) / (values.std() + 1e-9))
