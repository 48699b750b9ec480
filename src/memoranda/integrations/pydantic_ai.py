"""A memory store for the `Memory` capability of PydanticAI's harness: an agent's own files, versioned."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from typing import Any, Final

from memoranda.errors import Conflict, InvalidInput, MissingExtra
from memoranda.integrations.managers import AsyncOpenedSource, Source, open_async, read_all
from memoranda.items.base import Item, check_namespace
from memoranda.validation import check_integer

try:
    from pydantic_ai_harness.memory import (
        MemoryConflictError,
        MemoryFile,
        MemoryMutation,
        MemoryOperation,
        MemoryOperationConflictError,
        MemorySearchMatch,
        MemorySearchResult,
    )
except ModuleNotFoundError as error:
    raise MissingExtra("the PydanticAI adapter", "pydantic-ai") from error

_SEGMENT: Final = re.compile(r"[A-Za-z0-9_.-]{1,200}")
_FILE: Final = "file/"
_OPERATION: Final = "operation/"
_CUT: Final = "..."


class MemorandaStore(AsyncOpenedSource):
    """Memory files of PydanticAI agents, for `pydantic_ai_harness.memory.Memory(store=...)`.

    A file is an item of Memoranda, so `recall` finds what agents wrote. Several processes may write: a change to a
    file that somebody else changed since it was read is refused.
    """

    def __init__(
        self,
        memory: Source = None,
        *,
        namespace: Sequence[str] = ("pydantic-ai",),
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
    ) -> None:
        """Create a store.

        Args:
            memory: The manager, or the path or URL of the database; None for the settings of the environment.
            namespace: The names that the files are below; two stores with different ones share nothing.
            user, agent, session: The owner of the files.
        """
        self.memory, self._owns_memory = open_async(memory)
        self.namespace = check_namespace(namespace)
        self._owner: dict[str, Any] = {"user": user, "agent": agent, "session": session}

    async def read(self, path: str, *, max_chars: int) -> MemoryFile | None:
        """Return a file, cut after `max_chars`; None when there is none."""
        check_integer(max_chars, "max_chars")
        item = await self._get(_FILE + _check_path(path))
        if item is None or item.value["deleted"]:
            return None
        text, value = item.value["content"], item.value
        return MemoryFile(text[:max_chars], value["version"], value["operation_id"], len(text) > max_chars)

    async def get_operation(self, operation: MemoryOperation) -> MemoryMutation | None:
        """Return what an operation did when it was done before; None when it was not."""
        item = await self._get(_OPERATION + operation.id)
        if item is None:
            return None
        if item.value["fingerprint"] != operation.fingerprint:
            raise MemoryOperationConflictError(f"operation {operation.id!r} was something else before: use a new id")
        return MemoryMutation(item.value["version"], replayed=True, existed=item.value["existed"])

    async def write(
        self, path: str, content: str, *, expected_version: str | None, operation: MemoryOperation | None = None
    ) -> MemoryMutation:
        """Create or replace a file if it has the expected version; None expects no file."""
        return await self._change(path, content, expected_version, operation)

    async def delete(
        self, path: str, *, expected_version: str | None, operation: MemoryOperation | None = None
    ) -> MemoryMutation:
        """Delete a file if it has the expected version; None expects no file."""
        return await self._change(path, None, expected_version, operation)

    async def list_paths(self, prefix: str = "", *, limit: int) -> list[str]:
        """Return the paths that begin like this, sorted."""
        check_integer(limit, "limit")
        return [path for path, _ in await self._files(prefix)][:limit]

    async def search(
        self, prefix: str, query: str, *, limit: int, max_files: int, max_chars: int, max_file_chars: int
    ) -> MemorySearchResult:
        """Return the files that contain words of the query, those with most of them first.

        It looks at the beginning of the first `max_files` paths below the prefix, and returns at most `limit` files
        and `max_chars` characters of paths and snippets together.
        """
        words = query.lower().split()
        if not words or min(limit, max_files, max_chars, max_file_chars) <= 0:
            return MemorySearchResult([], scanned=0, truncated=False)
        files = await self._files(prefix)
        looked_at = [(path, text[:max_file_chars]) for path, text in files[:max_files]]
        scored = [(_score(path.removeprefix(prefix), text, words), path, text) for path, text in looked_at]
        best = sorted((each for each in scored if each[0]), key=lambda each: (-each[0], each[1]))
        matches: list[MemorySearchMatch] = []
        for score, path, text in best[:limit]:
            space = max_chars - len(path.removeprefix(prefix))
            if space <= 0:
                break
            matches.append(MemorySearchMatch(path, _snippet(text, words, space), score))
            max_chars = space - len(matches[-1].snippet)
        is_cut = len(files) > max_files or any(len(text) > max_file_chars for _, text in files[:max_files])
        return MemorySearchResult(matches, scanned=len(looked_at), truncated=is_cut or len(best) > len(matches))

    async def _change(
        self, path: str, content: str | None, expected: str | None, operation: MemoryOperation | None
    ) -> MemoryMutation:
        """Replace a file, or delete it when the content is None, and note the operation in the same commit."""
        key = _FILE + _check_path(path)
        while True:
            if operation is not None and (done := await self.get_operation(operation)) is not None:
                return done
            item = await self._get(key)
            found = None if item is None or item.value["deleted"] else item.value["version"]
            if found != expected:
                raise MemoryConflictError(f"{path} was changed by somebody else: read it again, then decide again")
            version = None if content is None else uuid.uuid4().hex
            values: dict[str, Any] = {key: _file_value(content, version, operation)}
            times = {key: None if item is None else item.updated_at}
            if operation is not None:
                note = {"fingerprint": operation.fingerprint, "version": version, "existed": found is not None}
                values[_OPERATION + operation.id], times[_OPERATION + operation.id] = note, None
            try:
                await self.memory.put_many(self.namespace, values, index=["content"], expected=times, **self._owner)
            except Conflict:
                continue  # somebody was faster: look again what there is
            return MemoryMutation(version, replayed=False, existed=found is not None)

    async def _get(self, key: str) -> Item | None:
        return await self.memory.get_item(self.namespace, key, **self._owner)

    async def _files(self, prefix: str) -> list[tuple[str, str]]:
        """Return path and content of the files whose path begins like this, sorted."""
        if prefix:
            _check_path(prefix.removesuffix("/"))
        options: dict[str, Any] = {"order": "key", **self._owner}
        found = await read_all(
            lambda limit, offset: self.memory.search_items(self.namespace, limit=limit, offset=offset, **options)
        )
        files = [
            (item.key.removeprefix(_FILE), item.value["content"])
            for item in found
            if item.namespace == self.namespace and item.key.startswith(_FILE) and not item.value["deleted"]
        ]
        return sorted(file for file in files if file[0].startswith(prefix))


def _check_path(path: str) -> str:
    if not all(_SEGMENT.fullmatch(part) and ".." not in part for part in path.split("/")):
        raise InvalidInput(f"{path!r} is not the path of a memory file: write it like notes/main.md")
    return path


def _file_value(content: str | None, version: str | None, operation: MemoryOperation | None) -> dict[str, Any]:
    # A deleted file stays as an empty item, so that its deletion and the note of the operation are one commit.
    by = None if operation is None else operation.id
    return {"content": content or "", "version": version, "operation_id": by, "deleted": content is None}


def _score(path: str, text: str, words: Sequence[str]) -> float:
    return float(sum(text.lower().count(word) + 2 * path.lower().count(word) for word in words))


def _snippet(text: str, words: Sequence[str], space: int) -> str:
    """Return the part of a text around the first word that it contains, with dots where it is cut."""
    first = min((place for word in words if (place := text.lower().find(word)) >= 0), default=0)
    start = max(0, min(first - space // 3, len(text) - space))
    part = text[start : start + space]
    if start:
        part = _CUT[:space] + part[len(_CUT) :]
    return part if start + space >= len(text) else part[: -len(_CUT)] + _CUT[:space]
