"""Load the question sets: LoCoMo and LongMemEval-S from files with one turn or question per line, and our own talks."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

LOCOMO, LONGMEMEVAL, OTHER_TALKS = "locomo-dev", "longmemeval-s-dev", "dialogue-train"
_MEETINGS = ("qmsum",)
_OTHERS_START, _OTHERS_DAYS = datetime(2023, 1, 5, 12, tzinfo=UTC), 330
"""Other people's talks are spread over the days of LoCoMo's conversations."""
_REPOSITORY = Path(__file__).resolve().parent.parent.parent
WRITTEN = {
    "talks": _REPOSITORY / "benchmarks" / "data" / "talks.jsonl",
    "dialogues": _REPOSITORY / "training" / "dialogues.jsonl",
}
"""Conversations of this repository. The models are trained on `dialogues`: rules may be chosen there, never judged."""
_ROLES = ("user", "assistant")
_POOLED_SCOPES = 10


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation."""

    id: str
    session: str
    said_at: datetime
    role: str
    speaker: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """One question, with the turns and sessions that hold its answer."""

    id: str
    scope: str
    text: str
    asked_at: datetime
    category: str
    gold: tuple[str, ...]
    gold_sessions: tuple[str, ...]
    answerable: bool
    hidden: tuple[str, ...] = ()
    """Turns that are archived while the question is asked."""


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Conversations by scope, and the questions about them."""

    name: str
    scopes: dict[str, list[Turn]]
    questions: list[Question]

    def people(self, scope: str) -> list[str]:
        """Return the names of those who speak in a conversation."""
        return sorted({turn.speaker for turn in self.scopes[scope] if turn.speaker})

    def user_gold(self, question: Question) -> tuple[str, ...]:
        """Return the answer turns that the user said."""
        of_user = {turn.id for turn in self.scopes[question.scope] if turn.role == "user"}
        return tuple(id for id in question.gold if id in of_user)


def load(name: str, data: Path) -> QuestionSet:
    """Load a question set by name: see `SETS` in `benchmarks/quality.py`."""
    base, _, variant = name.rpartition("-")
    if variant in _UNANSWERABLE:
        return _add_unanswerable(name, variant, load(base, data))
    if variant == "notes":
        return _one_person_each(name, load(base, data))
    if name in WRITTEN:
        return _talks(name, WRITTEN[name])
    if name.startswith("locomo"):
        found = _locomo(data / LOCOMO)
        if name == "locomo":
            return found
        pooled = _pool(name, found)
        size = name.removeprefix("locomo-")
        return _add_other_talks(pooled, data / OTHER_TALKS, int(size)) if size.isdigit() else pooled
    rows, questions = _lines(data / LONGMEMEVAL / "corpus.jsonl.gz"), list(_questions(data / LONGMEMEVAL))
    sessions: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if row["text"].strip():
            sessions.setdefault(row["session"], []).append(row)
    groups = {"pooled": _POOLED_SCOPES, "pooled-all": 1}.get(name, len(questions))
    found = _longmemeval(name, sessions, questions, min(groups, len(questions)))
    return _without_assistant(found) if name == "user-turns" else found


def _locomo(folder: Path) -> QuestionSet:
    scopes: dict[str, list[Turn]] = {}
    for row in _lines(folder / "corpus.jsonl.gz"):
        text = f"{row['text']} [{row['caption']}]" if row.get("caption") else row["text"]
        turn = Turn(row["id"], row["session"], _parse_time(row["ts"]), "user", row["speaker"], text)
        scopes.setdefault(row["scope"], []).append(turn)
    questions = [_question(row, row["scope"], row["category"] != "adversarial") for row in _questions(folder)]
    return QuestionSet("locomo", scopes, questions)


def _talks(name: str, file: Path) -> QuestionSet:
    """Load conversations written for this benchmark, one per line; a session's name is its day."""
    scopes: dict[str, list[Turn]] = {}
    questions = []
    for line in file.read_text("utf-8").splitlines():
        talk = json.loads(line)
        scope, turns = talk["title"], []
        for position, (day, speaker, text) in enumerate(talk["turns"]):
            role, person = (speaker, None) if speaker in _ROLES else ("user", speaker)
            said_at = _parse_time(f"{day}T18:00:00") + timedelta(minutes=position)
            turns.append(Turn(str(position), day, said_at, role, person, text))
        scopes[scope] = turns
        asked_at = turns[-1].said_at + timedelta(days=30)
        for number, (text, gold, kind) in enumerate(talk["qs"]):
            days = tuple(dict.fromkeys(turns[each].session for each in gold))
            ids = tuple(map(str, gold))
            questions.append(Question(f"{scope}/{number}", scope, text, asked_at, kind, ids, days, answerable=True))
    return QuestionSet(name, scopes, questions)


def _pool(name: str, found: QuestionSet) -> QuestionSet:
    """Put all conversations of a set into one scope; ids and sessions get the name of their conversation."""
    turns = [
        replace(turn, id=f"{scope}/{turn.id}", session=f"{scope}/{turn.session}")
        for scope, said in found.scopes.items()
        for turn in said
    ]
    questions = [
        replace(
            each,
            scope=name,
            gold=tuple(f"{each.scope}/{id}" for id in each.gold),
            gold_sessions=tuple(f"{each.scope}/{session}" for session in each.gold_sessions),
        )
        for each in found.questions
    ]
    return QuestionSet(name, {name: turns}, questions)


def _add_other_talks(pooled: QuestionSet, folder: Path, size: int) -> QuestionSet:
    """Add talks of other people to the one scope of a set, until it holds `size` turns."""
    (scope, turns), talks = next(iter(pooled.scopes.items())), _lines(folder / "train.jsonl.gz")
    for number, talk in enumerate(talk for talk in talks if talk["src"] not in _MEETINGS):
        start = _OTHERS_START + timedelta(days=number % _OTHERS_DAYS)
        for place, (session, speaker, text) in enumerate(talk["turns"]):
            if len(turns) < size and text.strip():
                said_at = start + timedelta(minutes=place)
                turns.append(Turn(f"x{number}/{place}", f"x{number}/{session}", said_at, "user", speaker, text))
    return QuestionSet(pooled.name, {scope: turns}, pooled.questions)


def _add_unanswerable(name: str, variant: str, found: QuestionSet) -> QuestionSet:
    """Ask every answerable question once more, in a way that nothing answers it."""
    asked = [each for each in found.questions if each.answerable and each.gold]
    changed = [_UNANSWERABLE[variant](found, each) for each in asked]
    without = [
        replace(each, id=f"{each.id}-{variant}", gold=(), gold_sessions=(), answerable=False)
        for each in changed
        if each is not None
    ]
    return QuestionSet(name, found.scopes, [*asked, *without])


def _ask_elsewhere(found: QuestionSet, question: Question) -> Question:
    """Ask in the next conversation, about its people: the topic was never mentioned there."""
    scopes = list(found.scopes)
    other = scopes[(scopes.index(question.scope) + 1) % len(scopes)]
    return replace(
        question, scope=other, text=_rename(question.text, found.people(question.scope), found.people(other))
    )


def _ask_about_other_person(found: QuestionSet, question: Question) -> Question | None:
    """Ask one of two people about what the other said; None where there are not two, or the question names neither."""
    people = found.people(question.scope)
    text = _rename(question.text, people, people[::-1])
    return None if len(people) != 2 or text == question.text else replace(question, text=text)


def _hide_evidence(_: QuestionSet, question: Question) -> Question:
    """Ask where the topic stays and only the turns that answer are gone."""
    return replace(question, hidden=question.gold)


_UNANSWERABLE = {"absent": _ask_elsewhere, "swapped": _ask_about_other_person, "hidden": _hide_evidence}


def _rename(text: str, old: Sequence[str], new: Sequence[str]) -> str:
    names = dict(zip(old, new, strict=False))
    if not names:
        return text
    pattern = "|".join(re.escape(name) for name in names)
    return re.sub(rf"\b(?:{pattern})\b", lambda found: names[found[0]], text)


def _one_person_each(name: str, found: QuestionSet) -> QuestionSet:
    """Put what each person said into a scope of its own, with the questions that it answers alone."""
    scopes: dict[str, list[Turn]] = {}
    speakers: dict[tuple[str, str], str] = {}
    for scope, turns in found.scopes.items():
        for turn in turns:
            speaker = turn.speaker or turn.role
            speakers[scope, turn.id] = speaker
            if speaker != "assistant":
                scopes.setdefault(f"{scope}/{speaker}", []).append(turn)
    questions = []
    for each in found.questions:
        said = {speakers[each.scope, id] for id in each.gold}
        if len(said) == 1 and said != {"assistant"}:
            questions.append(replace(each, scope=f"{each.scope}/{said.pop()}"))
    return QuestionSet(name, scopes, questions)


def _without_assistant(found: QuestionSet) -> QuestionSet:
    scopes = {scope: [turn for turn in turns if turn.role == "user"] for scope, turns in found.scopes.items()}
    said = {turn.id for turns in scopes.values() for turn in turns}
    questions = [replace(each, gold=tuple(id for id in each.gold if id in said)) for each in found.questions]
    return QuestionSet(found.name, scopes, questions)


def _longmemeval(
    name: str, sessions: dict[str, list[dict[str, Any]]], rows: list[dict[str, Any]], groups: int
) -> QuestionSet:
    """Put every `groups`-th question into one scope: a scope per question, or several haystacks merged."""
    scopes: dict[str, list[Turn]] = {}
    questions = []
    for group in range(groups):
        haystack: dict[str, str] = {}
        for row in rows[group::groups]:
            for session, date in row["haystack"]:
                haystack.setdefault(session, date)
            questions.append(_question(row, f"{name}-{group}", "abstention" not in row["flags"]))
        scopes[f"{name}-{group}"] = [turn for item in haystack.items() for turn in _turns(*item, sessions)]
    return QuestionSet(name, scopes, questions)


def _turns(session: str, date: str, sessions: dict[str, list[dict[str, Any]]]) -> Iterator[Turn]:
    start = _parse_time(date)
    for row in sessions[session]:
        yield Turn(row["id"], session, start + timedelta(seconds=row["n"]), row["role"], None, row["text"])


def _question(row: dict[str, Any], scope: str, answerable: bool) -> Question:
    gold, gold_sessions = tuple(row["gold"]), tuple(row["gold_sessions"])
    return Question(
        row["id"], scope, row["text"], _parse_time(row["ts"]), row["category"], gold, gold_sessions, answerable
    )


def _questions(folder: Path) -> Iterable[dict[str, Any]]:
    return _lines(folder / "queries.jsonl.gz")


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _parse_time(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
