"""The parts of a manager. A module here is loaded when it is first named: `parts.knowledge` imports it.

Whoever stands above (verbs, manager) says `from recollect import parts` and takes what it needs from there, so that
importing the front door loads none of them. The parts themselves import each other as usual.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    from recollect.parts import checking as checking
    from recollect.parts import conversations as conversations
    from recollect.parts import drafts as drafts
    from recollect.parts import engine as engine
    from recollect.parts import executions as executions
    from recollect.parts import files as files
    from recollect.parts import forgetting as forgetting
    from recollect.parts import importing as importing
    from recollect.parts import knowledge as knowledge
    from recollect.parts import memories as memories
    from recollect.parts import mirror as mirror
    from recollect.parts import past as past
    from recollect.parts import prompting as prompting
    from recollect.parts import sessions as sessions
    from recollect.parts import short_term as short_term
    from recollect.parts import status as status
    from recollect.parts import transfer as transfer
    from recollect.parts import upkeep as upkeep
    from recollect.parts import values as values


def __getattr__(name: str) -> ModuleType:
    # Python keeps it as an attribute of the package, and lets several threads load it only once.
    try:
        return import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}.{name}":
            raise
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
