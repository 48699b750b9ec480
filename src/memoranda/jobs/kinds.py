"""The kinds of jobs: how an order becomes pieces, and what each piece does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from sqlalchemy import func, select

from memoranda.display import plural
from memoranda.errors import InvalidInput, NotFound
from memoranda.files import is_file
from memoranda.manager.manager import MemoryManager
from memoranda.storage.base import PartitionKey
from memoranda.storage.jobs import NewJob
from memoranda.storage.schema import memories
from memoranda.types import ANY

Run: TypeAlias = Callable[[MemoryManager, dict[str, Any]], str]
"""Does one piece, and returns what was done in a few words. It may be run again after it was interrupted."""
_PAGE: Final = 1_000
"""Memories of one piece."""


def plan(manager: MemoryManager, kind: str, files: Sequence[str] = ()) -> list[NewJob]:
    """Return the pieces of an order: `reembed`, `index`, `upkeep`, or `import` of some files."""
    if kind not in _PLANS:
        raise InvalidInput(f"there is no job {kind!r}: it is one of {', '.join(sorted(_PLANS))}")
    if bool(files) != (kind == "import"):
        raise InvalidInput("name the files of an import, and none for another job")
    return _PLANS[kind](manager, files)


def _plan_reembedding(manager: MemoryManager, files: Sequence[str]) -> list[NewJob]:  # noqa: ARG001
    vectors = manager._components.open().vectors
    generation, ids = vectors.begin_reembedding()
    if generation is None:
        raise InvalidInput("vector search is off: there is nothing to embed")
    pages = [ids[start : start + _PAGE] for start in range(0, len(ids), _PAGE)]
    pieces = [NewJob("reembed", {"generation": generation, "first": page[0], "last": page[-1]}) for page in pages]
    return [*pieces, NewJob("reembed-end", {"generation": generation}, stage=1)]


def _reembed(manager: MemoryManager, payload: dict[str, Any]) -> str:
    within = (int(payload["first"]), int(payload["last"]))
    made = manager._components.open().vectors.embed_missing(int(payload["generation"]), None, within=within)
    return f"{plural(made, 'memory', 'memories')} embedded"


def _end_reembedding(manager: MemoryManager, payload: dict[str, Any]) -> str:
    made = manager._components.open().vectors.end_reembedding(int(payload["generation"]), None)
    return f"the new vectors answer; {plural(made, 'memory', 'memories')} embedded meanwhile"


def _plan_indexing(manager: MemoryManager, files: Sequence[str]) -> list[NewJob]:  # noqa: ARG001
    opened = manager._components.open()
    embedder = opened.vectors.embedder
    if embedder is None or opened.vectors.generation() is None:
        raise InvalidInput("vector search is off, or the store is empty: there is nothing to index")
    owner, least = (memories.c.tenant, memories.c.user), opened.partitions.prepared_from(embedder.identity.dimension)
    large = select(*owner).group_by(*owner).having(func.count() >= least).order_by(*owner)
    owners = opened.store.read(lambda tx: tx.execute(large).all(), tenant=ANY)
    return [NewJob("index", {"tenant": tenant, "user": user}) for tenant, user in owners]


def _index(manager: MemoryManager, payload: dict[str, Any]) -> str:
    opened = manager._components.open()
    generation = opened.vectors.generation()
    if generation is None:
        return "vector search is off: nothing was indexed"
    return opened.partitions.prepare(PartitionKey(payload["tenant"], payload["user"] or None), generation)


def _plan_upkeep(manager: MemoryManager, files: Sequence[str]) -> list[NewJob]:  # noqa: ARG001
    query = select(memories.c.tenant).distinct().order_by(memories.c.tenant)
    tenants = manager._components.open().store.read(lambda tx: list(tx.scalars(query)), tenant=ANY)
    return [NewJob("upkeep", {"tenant": tenant}) for tenant in tenants]


def _upkeep(manager: MemoryManager, payload: dict[str, Any]) -> str:
    with manager.for_tenant(payload["tenant"]) as own:
        report = own.upkeep()
    return f"{plural(report.examined, 'memory', 'memories')} examined, {plural(len(report.decisions), 'change')}"


def _plan_import(manager: MemoryManager, files: Sequence[str]) -> list[NewJob]:
    found = [Path(file).absolute() for file in files]
    if missing := [file for file in found if not is_file(file)]:
        raise NotFound(f"there is no file {missing[0]}")
    return [NewJob("import", {"tenant": manager._tenant, "file": str(file)}) for file in found]


def _import(manager: MemoryManager, payload: dict[str, Any]) -> str:
    with manager.for_tenant(payload["tenant"]) as own:
        report = own.import_jsonl(payload["file"])
    return f"{plural(report.memories, 'memory', 'memories')} imported"


_PLANS: Final[dict[str, Callable[[MemoryManager, Sequence[str]], list[NewJob]]]] = {
    "reembed": _plan_reembedding,
    "index": _plan_indexing,
    "upkeep": _plan_upkeep,
    "import": _plan_import,
}
KINDS: Final[dict[str, Run]] = {
    "reembed": _reembed,
    "reembed-end": _end_reembedding,
    "index": _index,
    "upkeep": _upkeep,
    "import": _import,
}
