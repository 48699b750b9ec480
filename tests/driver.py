"""SQLite as the package loads it.

A second SQLite library in one process does not know of the locks and the shared memory that the first one has on a
file, and to close its handle ends those locks: the process may die of a bus error.
"""

from __future__ import annotations

from memoranda.storage.sqlite.connections import load_driver

sqlite3 = load_driver()[0]
