"""Read the earlier turns of a conversation: the question that an utterance may answer, and what qualifies it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from memoranda.remember.base import Retraction, Utterance
from memoranda.remember.claims.find import slots_in
from memoranda.remember.claims.remarks import find_retracted_message, names_several, read_retraction
from memoranda.remember.frames import find_framing, may_be_another_persons
from memoranda.remember.reading.lexicon import CHANGE
from memoranda.remember.reading.questions import asks_about_somebody, read_answer
from memoranda.storage.base import Store
from memoranda.storage.message_log import read_last_messages
from memoranda.text.cache import text_cache
from memoranda.text.sentences import first_words, sentence_spans
from memoranda.types import Scope

_ANSWER_WORDS: Final = 4
_DIALOGUE_SPAN: Final = timedelta(days=1)
"""The time within which a message may answer, continue or retract an earlier one."""
_TURNS: Final = 40
"""The number of turns before a message that are read: a role play may last that long."""
_LONGEST_REPORT: Final = 2_000
"""The number of characters of a message that are searched for a change."""
_MAX_QUESTION: Final = 200
"""The number of characters of a question that are kept with its answer."""


@dataclass(frozen=True, slots=True)
class EarlierTurn:
    """A message of the conversation: the fields that later messages depend on."""

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
    """The question in the turn before: a single word can then be an answer."""
    turns: tuple[EarlierTurn, ...] = ()
    """The turns before, the newest first."""


def read_before(store: Store, first: Utterance, scope: Scope) -> DialogueContext:
    """Return the conversation before the first message of a call, with the question if the message may be an answer."""
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
    """Yield each utterance, qualified by the turns before it, and the context in which it was said."""
    for utterance in utterances:
        yield (_with_context(utterance, context.turns) if utterance.message else utterance), context
        turn = EarlierTurn(_speaker_of(utterance), utterance.text, utterance.said_at)
        turns = (turn, *context.turns)[:_TURNS] if utterance.message else context.turns
        context = replace(context, question=_question_in(utterance.text), turns=turns)


def _with_context(utterance: Utterance, before: Iterable[EarlierTurn]) -> Utterance:
    """Return an utterance with its framing, its retraction, and the statement that it makes as an answer."""
    speaker = _speaker_of(utterance)
    talk = [
        (turn.speaker == speaker, turn.text if turn.speaker == speaker else _without_name(turn.text, utterance))
        for turn in before
        if _is_recent(turn, utterance)
    ]
    own = [text for is_own, text in talk if is_own]
    asked = talk[0][1] if talk and not talk[0][0] else ""
    framing = find_framing(talk, utterance.text)
    if framing is None and own and may_be_another_persons(utterance.text, own[0]):
        framing = "uncertain"
    question = _question_in(asked)
    stated = read_answer(question, utterance.text) if utterance.role == "user" else ""
    meant = None if stated and slots_in(stated) else find_retracted_message(utterance.text, own)
    retraction = None if meant is None else _read_retraction(utterance, talk, own, meant)
    several = retraction is not None and names_several(utterance.text)
    return replace(
        utterance,
        framing=framing,
        retraction=retraction if meant is None else _limit_retraction(retraction, own[meant]),
        skips=meant or 0,
        also=tuple(n for n, text in enumerate(own) if several and n != meant and _tells_change(text)),
        asked_about=asks_about_somebody(question),
        question=question if stated else "",
        stated=stated,
    )


_GREETED: Final = re.compile(
    r"(?:^|(?<=[.!?] ))(?P<greeting>(?i:hi|hello|hey|thanks|welcome back|good (?:morning|afternoon|evening)))"
    r",? [A-Z]\w+(?=[!,.])"
)


def _without_name(text: str, utterance: Utterance) -> str:
    """Return what others said without the name of the speaker: of one who has none, the name that they greet."""
    if utterance.message is None or utterance.message.name is None:
        text = _GREETED.sub(r"\g<greeting>", text)
    return _called(f"{utterance.speaker} {utterance.owner}").sub("", text)


@text_cache(64)
def _called(names: str) -> re.Pattern[str]:
    """Return what finds a speaker who is called by name: "Where do you live now, Ana?"."""
    words = "|".join(map(re.escape, names.split()))
    return re.compile(rf",?\s*\b(?:{words})\b(?=[,.!?])", re.I)


def _read_retraction(
    utterance: Utterance, talk: Sequence[tuple[bool, str]], own: Sequence[str], meant: int
) -> Retraction | None:
    """Return how a message affects an earlier one, read with what others said since."""
    position = [n for n, (is_own, _) in enumerate(talk) if is_own][meant]
    replies = tuple(text for is_own, text in talk[:position] if not is_own)
    speaker = f"{utterance.speaker} {utterance.owner}"
    return read_retraction(utterance.text, own[meant], replies=replies, said_at=utterance.said_at, speaker=speaker)


def _limit_retraction(retraction: Retraction | None, before: str) -> Retraction | None:
    """Return what of a retraction applies to a message: only of a change more than a withdrawal."""
    changed = _tells_change(before)
    if retraction == "retract" and "?" in before:
        retraction = "remark"  # it may withdraw the question
    elif retraction == "retract":
        return "doubt" if changed else retraction  # a withdrawn change keeps its mark
    return retraction if changed else None


def _tells_change(text: str) -> bool:
    return CHANGE.search(text[:_LONGEST_REPORT]) is not None


def _is_recent(turn: EarlierTurn, utterance: Utterance) -> bool:
    return timedelta(0) <= utterance.said_at - turn.said_at <= _DIALOGUE_SPAN


def _speaker_of(utterance: Utterance) -> tuple[str, str]:
    message = utterance.message
    return (utterance.role, utterance.speaker) if message is None else (message.role, message.name or message.role)


def _question_in(text: str) -> str:
    """Return the question that a text ends with; empty when it ends with none."""
    if not text.rstrip().endswith("?"):
        return ""
    start, end = sentence_spans(text)[-1]
    return text[start:end].strip()[-_MAX_QUESTION:]
