"""The points of a folder that Qdrant's Python client keeps, read without running anything that stands in it."""

from __future__ import annotations

import io
import json
import pickle
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memoranda.errors import Incompatible, InvalidInput, NotFound

_CLASSES = "qdrant_client.http.models.models"


@dataclass(frozen=True, slots=True)
class Point:
    """One point: its id and what was stored beside its vector."""

    id: str
    payload: dict[str, Any]


def collections(folder: Path) -> list[str]:
    """The names of the collections in a folder; `InvalidInput` when it is none of Qdrant's."""
    try:
        listed = json.loads((folder / "meta.json").read_text("utf-8"))["collections"]
    except FileNotFoundError as error:
        raise InvalidInput(f"{folder} is no Qdrant folder: it has no meta.json") from error
    except (ValueError, KeyError, TypeError) as error:
        raise Incompatible(f"{folder / 'meta.json'} is damaged: {error}") from error
    return sorted(listed)


def points(folder: Path, collection: str) -> Iterator[Point]:
    """The points of a collection in the order they were written."""
    if collection not in collections(folder):
        raise NotFound(f"{folder} has no collection {collection!r}: it has {', '.join(collections(folder)) or 'none'}")
    file = folder / "collection" / collection / "storage.sqlite"
    # Read-only: another program's store is never changed, not even by a lock file of ours.
    connection = sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)
    try:
        for (data,) in connection.execute("SELECT point FROM points ORDER BY rowid"):
            yield _point(data, file)
    except sqlite3.Error as error:
        raise Incompatible(f"{file} cannot be read: {error}") from error
    finally:
        connection.close()


def _point(data: bytes, file: Path) -> Point:
    try:
        fields = _PlainReader(io.BytesIO(data)).load().fields
        return Point(str(fields["id"]), dict(fields["payload"] or {}))
    except (pickle.UnpicklingError, AttributeError, KeyError, TypeError, ValueError, EOFError, IndexError) as error:
        raise Incompatible(f"{file} holds a point that is not plain data: {error}") from error


class _Plain:
    """Stands in for each of Qdrant's value classes: takes over the fields and does nothing."""

    def __setstate__(self, state: Any) -> None:
        self.fields = state["__dict__"]


class _PlainReader(pickle.Unpickler):
    """Qdrant writes points as pickles: of all that one can name, only its value classes are let in, as `_Plain`."""

    def find_class(self, module: str, name: str) -> Any:
        if module == _CLASSES and name.isidentifier():
            return _Plain
        raise pickle.UnpicklingError(f"it names {module}.{name}")
