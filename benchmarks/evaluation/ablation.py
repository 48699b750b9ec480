"""Recall with a constant or a rule changed: each arm, boost and rule off, one at a time, or any other value."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from typing import Any, TypeAlias

from memoranda.recall.query import SpeakerMatch
from memoranda.text.terms import query_terms


def _find_nothing(*_: object) -> tuple[()]:
    return ()


def _match_no_speakers(question: str, *_: object) -> SpeakerMatch:
    return SpeakerMatch((), question, tuple(query_terms(question)))


_PACKAGE = "memoranda.recall."
Changes: TypeAlias = tuple[tuple[str, str, Any], ...]
"""Module of `memoranda.recall`, name and value."""
OFF: dict[str, Changes] = {
    "dense arm": (("arms", "DENSE_WEIGHT", 0.0),),
    # Not quite 0: a question that is only a time has no other arm.
    "lexical arm": (("arms", "DENSE_WEIGHT", 1.0 - 1e-9),),
    "speaker matching": (("query", "match_speakers", _match_no_speakers),),
    "speaker boost": (("rank", "SPEAKER_SHARE", 0.0), ("rank", "PEOPLE_SHARE", 0.0)),
    "asker as speaker": (("query", "_match_asker", _find_nothing),),
    "time window": (("query", "parse_windows", _find_nothing),),
    "answer type": (("rank", "_ANSWER_TYPE_SHARE", 0.0), ("rank", "_TIME_SHARE", 0.0)),
    "neighbours": (("rank", "NEIGHBOUR_SHARE", 0.0),),
    "reply to a question": (("rank", "REPLY_SHARE", 0.0),),
    "cost of asking": (("rank", "ASKING_COST", 0.0),),
    "session share": (("rank", "SESSION_SHARE", 0.0),),
}


def without(name: str) -> AbstractContextManager[None]:
    """Turn one entry of `OFF` off inside the block."""
    return changed(OFF[name])


@contextmanager
def changed(changes: Changes) -> Iterator[None]:
    """Replace values of recall's modules inside the block."""
    saved = []
    for module_name, attribute, value in changes:
        module = import_module(_PACKAGE + module_name)
        saved.append((module, attribute, getattr(module, attribute)))
        setattr(module, attribute, value)
    try:
        yield
    finally:
        for module, attribute, value in saved:
            setattr(module, attribute, value)
