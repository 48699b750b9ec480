"""A conversation as single sentences, each with who said it and when."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from memoranda.messages.message import Message
from memoranda.messages.parts import text_of

_END: Final = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])|\n+")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of one turn."""

    turn: int
    """Which message it is from, counted from 0."""
    speaker: str
    """The name of who said it, or else the role."""
    role: str
    day: str
    """The date on which it was said, as YYYY-MM-DD."""
    text: str


def sentences_of(messages: Iterable[Message]) -> list[Sentence]:
    """The sentences of what was said, in order; system messages are instructions, not conversation."""
    return [
        Sentence(turn, message.name or message.role, message.role, message.timestamp.date().isoformat(), text)
        for turn, message in enumerate(messages)
        if message.role != "system"
        for text in split_sentences(text_of(message))
    ]


def split_sentences(text: str) -> list[str]:
    """The sentences and lines of a text, without the blanks around them."""
    return [sentence for piece in _END.split(text) if piece and (sentence := piece.strip())]


def transcript(sentences: Iterable[Sentence]) -> list[str]:
    """One line a turn: who, when, and what of it is given."""
    lines: list[str] = []
    turn = -1
    for sentence in sentences:
        if sentence.turn == turn:
            lines[-1] += f" {sentence.text}"
        else:
            lines.append(f"- {sentence.speaker}, {sentence.day}: {sentence.text}")
        turn = sentence.turn
    return lines
