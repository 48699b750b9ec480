"""What was said before an utterance: a question that it may answer, words that announce it, a role play."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Final

from memoranda.messages.message import Message
from memoranda.remember.base import Presented, Utterance
from memoranda.remember.frames import announces_text
from memoranda.remember.gate import DialogueContext, question_in
from memoranda.remember.role_play import is_in_play, is_played
from memoranda.storage.base import Store
from memoranda.storage.changes import StoredMessage
from memoranda.storage.message_log import read_last_messages
from memoranda.text.sentences import first_words
from memoranda.types import Scope

_ANSWER_WORDS: Final = 4
_ANSWERED_WITHIN: Final = timedelta(days=1)
_BETWEEN: Final = 3
"""How far back the speaker's last message is: between two of one speaker are mostly one or two of others."""
_READ_BEFORE: Final = 40
"""How many messages before a call are read: a role play may go on that long."""


def read_before(store: Store, first: Utterance, scope: Scope) -> DialogueContext:
    """Return what was asked right before the first message of a call, who announced it, and whether a play goes on.

    Only a message that is short as answers are has a question.
    """
    message = first.message
    if message is None:
        return DialogueContext()
    last = store.read(lambda tx: read_last_messages(tx, scope, _READ_BEFORE), tenant=scope.tenant)
    last = [each for each in last if timedelta(0) <= first.said_at - each.said_at <= _ANSWERED_WITHIN]
    own = next((each for each in last[:_BETWEEN] if _same_speaker(each, message)), None)
    announced = own is not None and announces_text(own.content or "")
    is_answer = len(first_words(first.text, _ANSWER_WORDS + 1)) <= _ANSWER_WORDS
    return DialogueContext(
        question=question_in(last[0].content or "") if is_answer and last and last[0] is not own else "",
        announced_by=first.speaker if announced else None,
        in_play=is_in_play(each.content or "" for each in reversed(last) if each.role == "user"),
    )


def follow_dialogue(
    utterances: Iterable[Utterance], context: DialogueContext
) -> Iterator[tuple[Utterance, DialogueContext]]:
    """Yield each utterance, marked where it may not be about its speaker, and the context in which it was said."""
    for utterance in utterances:
        if utterance.role == "user":
            context = replace(context, in_play=is_played(utterance.text, in_play=context.in_play))
        announced = utterance.speaker == context.announced_by
        presented: Presented | None = "play" if context.in_play else "text" if announced else None
        yield replace(utterance, presented=presented), context
        announced_by = None if announced else context.announced_by
        announced_by = utterance.speaker if announces_text(utterance.text) else announced_by
        context = replace(context, question=question_in(utterance.text), announced_by=announced_by)


def _same_speaker(stored: StoredMessage, message: Message) -> bool:
    return (stored.role, stored.speaker or stored.role) == (message.role, message.name or message.role)
