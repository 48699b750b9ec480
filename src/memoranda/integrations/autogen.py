"""A `Memory` of AutoGen: an agent recalls what fits the question, from everything its user said in any interface."""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode, b64encode
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from os import PathLike
from typing import Any, Final, TypeVar

from memoranda.errors import InvalidInput, MissingExtra, NotFound
from memoranda.integrations.managers import AsyncOpenedSource, Source, open_async
from memoranda.recall.render import render_context
from memoranda.types import Hit, Recall
from memoranda.types import Memory as StoredMemory

try:
    from autogen_core import CancellationToken, Component, Image
    from autogen_core.memory import Memory, MemoryContent, MemoryMimeType, MemoryQueryResult, UpdateContextResult
    from autogen_core.model_context import ChatCompletionContext
    from autogen_core.models import SystemMessage, UserMessage
    from pydantic import BaseModel
except ModuleNotFoundError as error:
    raise MissingExtra("the AutoGen adapter", "autogen") from error

R = TypeVar("R")

_NAME: Final = "autogen_memory"
"""Where the metadata of a memory says which `MemorandaMemory` added it."""
_ORIGINAL: Final = "autogen_content"
"""Where it has the MIME type, and content that is no text."""
_PAGE: Final = 1000


class MemorandaMemoryConfig(BaseModel):
    """What `dump_component` writes and `load_component` reads."""

    name: str = "memoranda"
    db_url: str | None = None
    user: str | None = None
    agent: str | None = None
    session: str | None = None
    limit: int = 10
    budget: int = 1500


class MemorandaMemory(AsyncOpenedSource, Memory, Component[MemorandaMemoryConfig]):
    """Long-term memory of an AutoGen agent, for `AssistantAgent(..., memory=[...])`."""

    component_provider_override = "memoranda.integrations.autogen.MemorandaMemory"
    component_config_schema = MemorandaMemoryConfig

    def __init__(
        self,
        memory: Source = None,
        *,
        db_url: str | None = None,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        limit: int = 10,
        budget: int = 1500,
        name: str = "memoranda",
    ) -> None:
        """Create a memory.

        Args:
            memory: The manager, or the path or URL of a database; one that is opened here is closed by `close`.
            db_url: The same path or URL, by the name that its configuration has; that of the settings when None.
            user, agent, session: The owner of what is added, and the scope of what is recalled.
            limit: The maximum number of memories that a query returns.
            budget: The maximum number of tokens that are added to a context.
            name: Its name; `clear` deletes what was added under it.
        """
        if memory is not None and db_url is not None:
            raise InvalidInput("give memory or db_url, not both: the manager has its database already")
        db_url = str(memory) if isinstance(memory, str | PathLike) else db_url
        self.memory, self._owns_memory = open_async(memory if db_url is None else db_url)
        self._config = MemorandaMemoryConfig(
            name=name, db_url=db_url, user=user, agent=agent, session=session, limit=limit, budget=budget
        )
        self._owner: dict[str, Any] = {"user": user, "agent": agent, "session": session}

    @property
    def name(self) -> str:
        return self._config.name

    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        """Add a system message with what is known about the latest question; before any question, what is new."""
        question = _latest_question(await model_context.get_messages())
        if question:
            context = await self.memory.context(question, budget=self._config.budget, **self._owner)
        else:
            newest = await self.memory.list_memories(self._config.limit, newest_first=True, **self._owner)
            hits = tuple(Hit(memory, 1.0) for memory in newest)
            context = render_context(Recall(hits, "", "", 1.0), self._config.budget, datetime.now(UTC))
        if context:
            await model_context.add_message(SystemMessage(content=context))
        return UpdateContextResult(memories=_to_result(context.hits))

    async def query(
        self,
        query: str | MemoryContent = "",
        cancellation_token: CancellationToken | None = None,
        **kwargs: Any,
    ) -> MemoryQueryResult:
        """Return the memories that fit best, in the order they were said; `limit` and `min_score` may be given."""
        text = query if isinstance(query, str) else _encode(query)[0]
        options = {"limit": self._config.limit, **kwargs, **self._owner}
        if not text.strip():
            return MemoryQueryResult(results=[])
        return _to_result(await _linked(self.memory.recall(text, **options), cancellation_token))

    async def add(self, content: MemoryContent, cancellation_token: CancellationToken | None = None) -> None:
        """Store a text as it is, JSON as its text; of other content, what its metadata says is searched."""
        text, original = _encode(content)
        metadata = {**(content.metadata or {}), _NAME: self.name, _ORIGINAL: original}
        await _linked(self.memory.add_memory(text, metadata=metadata, **self._owner), cancellation_token)

    async def clear(self) -> None:
        """Delete what was added under this name by the owner; what was remembered elsewhere stays."""
        where = {"metadata": {_NAME: self.name}}
        for quarantined in (False, True):
            while page := await self.memory.list_memories(_PAGE, where=where, quarantined=quarantined, **self._owner):
                with suppress(NotFound):  # somebody else deleted one of them: read the page again
                    await self.memory.delete([each.id for each in page], **self._owner)

    @classmethod
    def _from_config(cls, config: MemorandaMemoryConfig) -> MemorandaMemory:
        return cls(**config.model_dump())

    def _to_config(self) -> MemorandaMemoryConfig:
        if not self._owns_memory:
            raise InvalidInput("this memory uses a manager of yours, which has no configuration: make it with db_url=")
        return self._config


async def _linked(call: Coroutine[Any, Any, R], token: CancellationToken | None) -> R:
    task = asyncio.ensure_future(call)
    if token is not None:
        token.link_future(task)
    return await task


def _latest_question(messages: Sequence[object]) -> str:
    said = [each for each in messages if isinstance(each, UserMessage)]
    if not said:
        return ""
    content = said[-1].content
    return content if isinstance(content, str) else "\n".join(part for part in content if isinstance(part, str))


def _encode(content: MemoryContent) -> tuple[str, dict[str, Any]]:
    """Return the text by which content is found, and the rest that makes it what it was."""
    kind = content.mime_type.value if isinstance(content.mime_type, MemoryMimeType) else content.mime_type
    value = content.content
    if isinstance(value, str):
        return value, {"mime_type": kind}
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False), {"mime_type": kind, "json": value}
    words = " ".join(str(each) for each in (content.metadata or {}).values()) or f"{kind} without a description"
    if isinstance(value, Image):
        return words, {"mime_type": kind, "image": value.to_base64()}
    return words, {"mime_type": kind, "bytes": b64encode(value).decode("ascii")}


def _to_result(hits: Sequence[Hit]) -> MemoryQueryResult:
    in_order = sorted(hits, key=lambda hit: (hit.memory.valid_from, hit.memory.id))
    return MemoryQueryResult(results=[_decode(hit.memory, hit.score) for hit in in_order])


def _decode(memory: StoredMemory, score: float) -> MemoryContent:
    own = {key: value for key, value in memory.metadata.items() if key not in (_NAME, _ORIGINAL)}
    original = memory.metadata.get(_ORIGINAL) or {}
    value: Any = original.get("json", memory.content)
    if "image" in original:
        value = Image.from_base64(original["image"])
    elif "bytes" in original:
        value = b64decode(original["bytes"])
    kind = original.get("mime_type", MemoryMimeType.TEXT.value)
    known = [each for each in MemoryMimeType if each.value == kind]
    metadata = {**own, "id": memory.id, "score": score}
    return MemoryContent(content=value, mime_type=known[0] if known else kind, metadata=metadata)
