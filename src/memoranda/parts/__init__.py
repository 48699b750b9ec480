"""The parts of a manager. A module here is loaded when it is first named: `parts.knowledge` imports it.

Whoever stands above (verbs, manager) says `from memoranda import parts` and takes what it needs from there, so that
importing the front door loads none of them. The parts themselves import each other as usual.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    from memoranda.parts import checking as checking
    from memoranda.parts import conversations as conversations
    from memoranda.parts import drafts as drafts
    from memoranda.parts import engine as engine
    from memoranda.parts import executions as executions
    from memoranda.parts import files as files
    from memoranda.parts import forgetting as forgetting
    from memoranda.parts import importing as importing
    from memoranda.parts import knowledge as knowledge
    from memoranda.parts import memories as memories
    from memoranda.parts import mirror as mirror
    from memoranda.parts import past as past
    from memoranda.parts import prompting as prompting
    from memoranda.parts import sessions as sessions
    from memoranda.parts import short_term as short_term
    from memoranda.parts import status as status
    from memoranda.parts import transfer as transfer
    from memoranda.parts import upkeep as upkeep
    from memoranda.parts import values as values


def __getattr__(name: str) -> ModuleType:
    # Python keeps it as an attribute of the package, and lets several threads load it only once.
    try:
        return import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}.{name}":
            raise
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
