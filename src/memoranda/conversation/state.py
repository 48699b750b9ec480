"""A conversation as data: what `state_dict` gives and a saved file holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memoranda.errors import Incompatible, InvalidInput, InvalidType, MemorandaError
from memoranda.messages.message import Message, as_message
from memoranda.types import JSON

FORMAT = "memoranda.conversation"
VERSION = 1

_HEADER = ("format", "version", "title")


def packed(messages: Sequence[Message], **more: JSON) -> dict[str, JSON]:
    """The state that holds these messages."""
    return {"format": FORMAT, "version": VERSION, "messages": [message.to_dict() for message in messages], **more}


def checked(state: object, allowed: Sequence[str], *, strict: bool) -> Mapping[str, object]:
    """The state, when this version can read it; with `strict` it must hold messages and nothing unknown."""
    if not isinstance(state, Mapping):
        raise InvalidType(f"a conversation's state must be a dict, not {type(state).__name__}")
    if state.get("format", FORMAT) != FORMAT:
        raise Incompatible(f"this is {state['format']!r}, not a conversation")
    version = state.get("version", VERSION)
    if not isinstance(version, int) or version > VERSION:
        raise Incompatible(f"this conversation has version {version}; this code reads up to {VERSION}: update it")
    if strict:
        _check_keys(state, allowed)
    return state


def unpacked(given: object, name: str = "messages") -> list[Message]:
    """The messages in a state, each checked; the error names the one that is wrong."""
    if not isinstance(given, list | tuple):
        raise InvalidType(f"{name} must be a list, not {type(given).__name__}")
    messages = []
    for position, item in enumerate(given):
        try:
            messages.append(as_message(item))
        except MemorandaError as error:
            raise InvalidInput(f"{name}[{position}]: {error}") from error
    return messages


def summaries_of(state: Mapping[str, object], originals: int) -> tuple[list[str], list[int]]:
    """The summaries in a state, and how many of the originals each stands for."""
    summaries, spans = state.get("summaries", []), state.get("spans", [])
    if not isinstance(summaries, list) or not all(isinstance(summary, str) for summary in summaries):
        raise InvalidType("summaries must be a list of strings")
    if not isinstance(spans, list) or not all(isinstance(span, int) and span >= 0 for span in spans):
        raise InvalidType("spans must be a list of whole numbers")
    if len(spans) != len(summaries) or sum(spans) != originals:
        raise InvalidInput("the state's summaries, spans and originals do not belong together")
    return list(summaries), list(spans)


def _check_keys(state: Mapping[str, object], allowed: Sequence[str]) -> None:
    unknown = sorted(set(state) - {*_HEADER, *allowed})
    if unknown:
        raise InvalidInput(f"the state has an unknown key {unknown[0]!r}: leave it out, or use strict=False")
    if "messages" not in state:
        raise InvalidInput("the state has no 'messages': nothing to load")
