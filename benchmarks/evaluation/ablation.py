"""The engine with a constant changed: each arm, boost and rule off, one at a time, or any other value."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from typing import Any, TypeAlias

from memoranda.recall.query import Speakers
from memoranda.text import query_terms


def _no_windows(*_: object) -> tuple[()]:
    return ()


def _no_speakers(question: str, _: object) -> Speakers:
    return Speakers((), question, tuple(query_terms(question)))


def _not_the_asker(*_: object) -> tuple[()]:
    return ()


_RETRIEVAL = "memoranda.recall."
Changes: TypeAlias = tuple[tuple[str, str, Any], ...]
"""Module of `memoranda.recall`, name and value."""
OFF: dict[str, Changes] = {
    "dense arm": (("arms", "DENSE_WEIGHT", 0.0),),
    # Not quite 0: a question that is nothing but a time has no other arm.
    "lexical arm": (("arms", "LEXICAL_WEIGHT", 1e-9),),
    "speakers, names taken out": (("query", "read_speakers", _no_speakers),),
    "speaker boost": (("rank", "SPEAKER_GAIN", 0.0),),
    "the asker as a speaker": (("query", "_asker", _not_the_asker),),
    "time window": (("query", "read_windows", _no_windows),),
    "kind of answer": (("rank", "_HOLDING_SHARE", 0.0),),
    "neighbours": (("rank", "NEIGHBOUR_SHARE", 0.0),),
    "reply to a question": (("rank", "REPLY_SHARE", 0.0),),
    "asking stands back": (("rank", "ASKING_COST", 0.0),),
    "session lift": (("rank", "SESSION_SHARE", 0.0),),
    "long texts stand alone": (("rank", "_LONG", 1e9),),
}


def without(name: str) -> AbstractContextManager[None]:
    """The engine with one thing off, inside the block."""
    return changed(OFF[name])


@contextmanager
def changed(changes: Changes) -> Iterator[None]:
    """The engine with other values, inside the block."""
    saved = []
    for module_name, attribute, value in changes:
        module = import_module(_RETRIEVAL + module_name)
        saved.append((module, attribute, getattr(module, attribute)))
        setattr(module, attribute, value)
    try:
        yield
    finally:
        for module, attribute, value in saved:
            setattr(module, attribute, value)
