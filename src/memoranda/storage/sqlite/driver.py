"""Choose the SQLite library, and know its bugs."""

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
_warned_versions: set[str] = set()


@dataclass(frozen=True, slots=True)
class Driver(Record):
    """A loaded SQLite library."""

    name: Literal["pysqlite3", "sqlite3"]
    version: str
    wal_reset_bug: bool
    """Whether concurrent checkpoints can lose commits; the lock file prevents them."""


def load_driver(name: str | None = None) -> tuple[ModuleType, Driver]:
    """Load the named driver; without a name `pysqlite3`, which is newer, or `sqlite3` where that is not installed."""
    if name is not None and name not in _MODULES:
        raise InvalidInput(f"unknown SQLite driver {name!r}: use one of {', '.join(_MODULES)}")
    module_name, module = _import_first([name] if name else list(_MODULES))
    version = module.sqlite_version
    driver = Driver(module_name, version, has_wal_reset_bug(version))
    if driver.wal_reset_bug:
        _warn_once(version)
    return module, driver


def has_wal_reset_bug(version: str) -> bool:
    """Return whether this SQLite can lose commits: 3.7.0 to 3.51.2, except 3.44.6 and 3.50.7, which have the fix."""
    number = tuple(int(part) for part in version.split("."))
    fixed = (3, 44, 6) <= number < (3, 45) or (3, 50, 7) <= number < (3, 51)
    return (3, 7, 0) <= number < (3, 51, 3) and not fixed


def _import_first(names: list[str]) -> tuple[Literal["pysqlite3", "sqlite3"], ModuleType]:
    for name in names:
        try:
            module = importlib.import_module(_MODULES[name])
        except ImportError:
            continue
        return ("pysqlite3" if name == "pysqlite3" else "sqlite3"), module
    raise InvalidInput(f"the SQLite driver {names[0]!r} is not installed: pip install {names[0]}")


def _warn_once(version: str) -> None:
    if version in _warned_versions:
        return
    _warned_versions.add(version)
    logger.warning(
        "SQLite %s has the WAL-reset bug. Memoranda's lock file protects against it, but not when other programs "
        "write to the same file: pip install pysqlite3 installs a fixed library.",
        version,
    )
