"""What was said before an utterance: a question that it may answer, and what the turns before may make of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from memoranda.remember.base import PointsBack, Utterance
from memoranda.remember.claims.remarks import find_meant, points_back
from memoranda.remember.frames import find_frame, may_be_anothers
from memoranda.remember.reading.lexicon import CHANGE
from memoranda.remember.reading.questions import asks_about_somebody, read_answer
from memoranda.storage.base import Store
from memoranda.storage.message_log import read_last_messages
from memoranda.text.sentences import first_words, sentence_spans
from memoranda.types import Scope

_ANSWER_WORDS: Final = 4
_ONE_TALK: Final = timedelta(days=1)
"""How long ago something was said that a message may answer, go on with, or take back."""
_TURNS: Final = 40
"""How many turns before a message are read: a role play may go on that long."""
_LONGEST_REPORT: Final = 2_000
"""How many characters of a message are searched for a change."""
_MAX_QUESTION: Final = 200
"""How many characters of a question are kept with its answer."""


@dataclass(frozen=True, slots=True)
class EarlierTurn:
    """A message of the conversation, as far as it bears on others."""

    speaker: tuple[str, str]
    """Role and name."""
    text: str
    said_at: datetime


@dataclass(frozen=True, slots=True)
class DialogueContext:
    """What the gate knows about the conversation around a text."""

    names: frozenset[str] = frozenset()
    """The people in it, in lower case, first names and last names apart."""
    instructions: frozenset[tuple[str, ...]] = frozenset()
    """The word runs of the system prompts."""
    question: str = ""
    """What the turn before asked: a single word can then be an answer."""
    turns: tuple[EarlierTurn, ...] = ()
    """The turns before, the newest first."""


def read_before(store: Store, first: Utterance, scope: Scope) -> DialogueContext:
    """Return what was said before the first message of a call. Only a message short as answers are has a question."""
    if first.message is None:
        return DialogueContext()
    last = store.read(lambda tx: read_last_messages(tx, scope, _TURNS), tenant=scope.tenant)
    turns = tuple(
        EarlierTurn((each.role, each.speaker or each.role), each.content or "", each.said_at) for each in last
    )
    turns = tuple(turn for turn in turns if _is_recent(turn, first))
    is_answer = len(first_words(first.text, _ANSWER_WORDS + 1)) <= _ANSWER_WORDS
    asked = turns and turns[0].speaker != _speaker_of(first)
    return DialogueContext(question=_question_in(turns[0].text) if is_answer and asked else "", turns=turns)


def follow_dialogue(
    utterances: Iterable[Utterance], context: DialogueContext
) -> Iterator[tuple[Utterance, DialogueContext]]:
    """Yield each utterance, with what the turns before make of it, and the context in which it was said."""
    for utterance in utterances:
        yield (_place(utterance, context.turns) if utterance.message else utterance), context
        turn = EarlierTurn(_speaker_of(utterance), utterance.text, utterance.said_at)
        turns = (turn, *context.turns)[:_TURNS] if utterance.message else context.turns
        context = replace(context, question=_question_in(utterance.text), turns=turns)


def _place(utterance: Utterance, before: Iterable[EarlierTurn]) -> Utterance:
    """Return an utterance with what the turns before make of it, and whether it may take back the one before."""
    turns, speaker = [turn for turn in before if _is_recent(turn, utterance)], _speaker_of(utterance)
    own = [turn.text for turn in turns if turn.speaker == speaker]
    asked = turns[0].text if turns and turns[0].speaker != speaker else ""
    meant = find_meant(utterance.text, own)
    back = _find_back(utterance, own, meant, answers=asked.rstrip().endswith("?")) if own else None
    frame = find_frame(own, asked, utterance.text)
    if frame is None and own and may_be_anothers(utterance.text, own[0]):
        frame = "doubt"
    question = _question_in(asked)
    stated = read_answer(question, utterance.text) if utterance.role == "user" else ""
    return replace(
        utterance,
        presented=frame,
        points_back=None if stated else back,
        skips=meant or 0,
        asked_about=asks_about_somebody(question),
        question=question if stated else "",
        stated=stated,
    )


def _find_back(utterance: Utterance, own: Sequence[str], meant: int | None, *, answers: bool) -> PointsBack | None:
    """Return how a message bears on what it is about: only words that take it back reach through small talk."""
    before, speaker = own[meant or 0], f"{utterance.speaker} {utterance.owner}"
    back = points_back(utterance.text, before, answers=answers, speaker=speaker)
    changed = CHANGE.search(before[:_LONGEST_REPORT]) is not None
    if back == "retract" and "?" in before:
        back = "remark"  # it may take back what was asked
    elif back == "retract":
        return "doubt" if changed else back  # what a change told stays marked
    return back if changed and (back == "doubt" or not meant) else None


def _is_recent(turn: EarlierTurn, utterance: Utterance) -> bool:
    return timedelta(0) <= utterance.said_at - turn.said_at <= _ONE_TALK


def _speaker_of(utterance: Utterance) -> tuple[str, str]:
    message = utterance.message
    return (utterance.role, utterance.speaker) if message is None else (message.role, message.name or message.role)


def _question_in(text: str) -> str:
    """Return the question that a text ends with; empty when it ends with none."""
    if not text.rstrip().endswith("?"):
        return ""
    start, end = sentence_spans(text)[-1]
    return text[start:end].strip()[-_MAX_QUESTION:]
