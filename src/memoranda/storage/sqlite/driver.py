"""Which SQLite library is used, and what is known about it."""

from __future__ import annotations

import importlib
import logging
from dataclasses import dataclass
from types import ModuleType
from typing import Literal

from memoranda.errors import InvalidInput
from memoranda.types import Record

logger = logging.getLogger("memoranda")

_MODULES = {"pysqlite3": "pysqlite3.dbapi2", "sqlite3": "sqlite3"}


@dataclass(frozen=True, slots=True)
class Driver(Record):
    """A loaded SQLite library."""

    name: Literal["pysqlite3", "sqlite3"]
    version: str
    wal_reset_bug: bool
    """Whether racing checkpoints can lose commits; our lock file keeps them from racing."""


def load_driver(name: str | None = None) -> tuple[ModuleType, Driver]:
    """The named driver, or the newest library there is: `pysqlite3` where installed, else `sqlite3`."""
    if name is not None and name not in _MODULES:
        raise InvalidInput(f"unknown SQLite driver {name!r}: use one of {', '.join(_MODULES)}")
    module_name, module = _first_installed([name] if name else list(_MODULES))
    version = module.sqlite_version
    driver = Driver(module_name, version, has_wal_reset_bug(version))
    if driver.wal_reset_bug:
        _warn_once(version)
    return module, driver


def has_wal_reset_bug(version: str) -> bool:
    """SQLite 3.7.0 to 3.51.2 can lose commits when checkpoints race; 3.44.6 and 3.50.7 are mended."""
    number = tuple(int(part) for part in version.split("."))
    mended = (3, 44, 6) <= number < (3, 45) or (3, 50, 7) <= number < (3, 51)
    return (3, 7, 0) <= number < (3, 51, 3) and not mended


def _first_installed(names: list[str]) -> tuple[Literal["pysqlite3", "sqlite3"], ModuleType]:
    for name in names:
        try:
            module = importlib.import_module(_MODULES[name])
        except ImportError:
            continue
        return ("pysqlite3" if name == "pysqlite3" else "sqlite3"), module
    raise InvalidInput(f"the SQLite driver {names[0]!r} is not installed: pip install {names[0]}")


_warned: set[str] = set()


def _warn_once(version: str) -> None:
    if version in _warned:
        return
    _warned.add(version)
    logger.warning(
        "SQLite %s has the WAL-reset bug. Memoranda's lock file guards against it, other programs "
        "writing to the same file do not: pip install pysqlite3 brings a mended library.",
        version,
    )
