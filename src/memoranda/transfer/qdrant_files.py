"""Reads the files of Qdrant's local mode, as mem0 writes them, without Qdrant and without running code in them."""

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

_MODELS_MODULE = "qdrant_client.http.models.models"


@dataclass(frozen=True, slots=True)
class QdrantPoint:
    """The id and the payload of one point."""

    id: str
    payload: dict[str, Any]


def list_collections(folder: Path) -> list[str]:
    """Return the names of the collections; raise `InvalidInput` if this is not a Qdrant folder."""
    try:
        names = json.loads((folder / "meta.json").read_text("utf-8"))["collections"]
    except FileNotFoundError as error:
        raise InvalidInput(f"{folder} is not a Qdrant folder: it has no meta.json") from error
    except (ValueError, KeyError, TypeError) as error:
        raise Incompatible(f"{folder / 'meta.json'} is damaged: {error}") from error
    return sorted(names)


def read_points(folder: Path, collection: str) -> Iterator[QdrantPoint]:
    """Yield the points of a collection in the order they were written."""
    names = list_collections(folder)
    if collection not in names:
        raise NotFound(f"{folder} has no collection {collection!r}: it has {', '.join(names) or 'none'}")
    file = folder / "collection" / collection / "storage.sqlite"
    # Read-only: another program's store must not change, not even by a lock file.
    connection = sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)
    try:
        for (data,) in connection.execute("SELECT point FROM points ORDER BY rowid"):
            yield _load_point(data, file)
    except sqlite3.Error as error:
        raise Incompatible(f"{file} cannot be read: {error}") from error
    finally:
        connection.close()


def _load_point(data: bytes, file: Path) -> QdrantPoint:
    try:
        fields = _SafeUnpickler(io.BytesIO(data)).load().fields
        return QdrantPoint(str(fields["id"]), dict(fields["payload"] or {}))
    except (pickle.UnpicklingError, AttributeError, KeyError, TypeError, ValueError, EOFError, IndexError) as error:
        raise Incompatible(f"{file} holds a point that is not plain data: {error}") from error


class _PlainFields:
    """Replaces each of Qdrant's value classes: holds the fields and does nothing."""

    def __setstate__(self, state: Any) -> None:
        self.fields = state["__dict__"]


class _SafeUnpickler(pickle.Unpickler):
    """Loads only Qdrant's value classes, as `_PlainFields`, because a pickle could name any function to run."""

    def find_class(self, module: str, name: str) -> Any:
        if module == _MODELS_MODULE and name.isidentifier():
            return _PlainFields
        raise pickle.UnpicklingError(f"it names {module}.{name}")
