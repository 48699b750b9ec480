"""mem0's `Memory` on a `MemoryManager`: the calls and results of mem0 1.x and 2.x."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, Final, TypeAlias, TypedDict, Unpack

from memoranda.display import shown
from memoranda.errors import InvalidInput, NotFound
from memoranda.integrations.mem0 import answers
from memoranda.integrations.mem0.answers import Answer, find_memory, join_filters, passes, to_moment
from memoranda.integrations.mem0.filters import OWNERS, ReadOwner, check_expiration_date, check_name, read_owner
from memoranda.manager.manager import MemoryManager
from memoranda.types import ANY, Memory, MemoryType
from memoranda.validation import check_integer

Results: TypeAlias = dict[str, list[Answer]]
Messages: TypeAlias = str | Mapping[str, Any] | Sequence[Mapping[str, Any]]

_UNSET: Final = object()
_PAGE: Final = 1000
_THRESHOLD: Final = 0.1
_PROCEDURAL: Final = "procedural_memory"


class OwnerNames(TypedDict, total=False):
    """Whose memories a call writes or, in mem0 1.x, reads; 2.x has these names in the filters."""

    user_id: str | None
    agent_id: str | None
    run_id: str | None


class Mem0Calls:
    """The calls that read and write memories."""

    def __init__(self, memory: MemoryManager) -> None:
        self._memory = memory

    def add(
        self,
        messages: Messages,
        *,
        metadata: Mapping[str, Any] | None = None,
        timestamp: datetime | str | float | None = None,
        expiration_date: object = None,
        infer: bool = True,
        memory_type: str | None = None,
        prompt: str | None = None,
        **names: Unpack[OwnerNames],
    ) -> Results:
        """Store messages: each as it is with `infer=False`, else what `MemoryManager.remember` finds in them."""
        owner: dict[str, Any] = {OWNERS[key]: check_name(name, key) for key, name in join_filters(None, names).items()}
        if not owner:
            raise InvalidInput("At least one of 'user_id', 'agent_id', or 'run_id' must be provided.")
        if memory_type not in (None, _PROCEDURAL):
            raise InvalidInput(f"memory_type is {shown(memory_type)}: leave it out, or use {_PROCEDURAL!r}")
        if prompt is not None:
            raise InvalidInput("leave out prompt: Memoranda finds memories by rules, and asks a model in its own words")
        said, fields, at = answers.to_messages(messages), answers.without_identity(metadata), to_moment(timestamp)
        if (day := check_expiration_date(expiration_date)) is not None:
            fields["expiration_date"] = day
        if memory_type == _PROCEDURAL and "agent" in owner:
            text = "\n".join(f"{each['role']}: {each['content']}" for each in said)
            fields["memory_type"] = _PROCEDURAL
            stored = self._memory.add_memory(text, MemoryType.PROCEDURAL, metadata=fields, at=at, **owner)
            return {"results": [answers.to_added(stored)]}
        if infer:
            outcomes = self._memory.remember(said, metadata=fields, at=at, **owner)
            new = [outcome.memory for outcome in outcomes if outcome.memory and outcome.status != "duplicate"]
            return {"results": [answers.to_added(memory) for memory in new]}
        return {"results": [self._add_as_is(each, fields, at, owner) for each in said]}

    def get(self, memory_id: str) -> Answer | None:
        """Return a memory; None when there is none with this id."""
        try:
            return {**answers.to_answer(find_memory(self._memory, memory_id)), "score": None}
        except NotFound:
            return None

    def get_all(
        self,
        *,
        filters: Mapping[str, Any] | None = None,
        top_k: int | None = None,
        limit: int | None = None,
        show_expired: bool = False,
        **names: Unpack[OwnerNames],
    ) -> Results:
        """Return the memories of a user, an agent or a run, oldest first: at most `top_k`, or `limit` as in 1.x."""
        chosen, count = join_filters(filters, names), _count(top_k, limit, names)
        owner, found, last = read_owner(chosen), list[Answer](), 0
        while len(found) < count and (page := self._page(owner, last)):
            found += [answers.to_answer(each) for each in page if passes(each, chosen, show_expired)]
            last = page[-1].id
        return {"results": found[:count]}

    def search(
        self,
        query: str,
        *,
        filters: Mapping[str, Any] | None = None,
        top_k: int | None = None,
        limit: int | None = None,
        threshold: float | None = None,
        rerank: bool = False,
        explain: bool = False,
        reference_date: datetime | str | float | None = None,
        show_expired: bool = False,
        **names: Unpack[OwnerNames],
    ) -> Results:
        """Return the memories that answer a query, best first, each with a `score`."""
        if not isinstance(query, str) or not query.strip():
            raise InvalidInput("Invalid query: it must be a text that is not empty; get_all lists memories")
        chosen, count = join_filters(filters, names), _count(top_k, limit, names)
        floor, mode = threshold if threshold is not None else 0 if names else _THRESHOLD, "best" if rerank else None
        size = min(_PAGE, max(4 * count, 60))
        while True:
            found = self._memory.recall(
                query, limit=size, min_score=floor, mode=mode, now=to_moment(reference_date), **read_owner(chosen)
            )
            hits = [hit for hit in found if passes(hit.memory, chosen, show_expired)]
            # Filters leave hits out: ask for more until there are enough, or no more.
            if len(hits) >= count or len(found) < size or size == _PAGE:
                return {"results": [answers.to_hit(hit, explain=explain) for hit in hits[:count]]}
            size = min(_PAGE, size * 4)

    def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: object = _UNSET,
        data: str | None = None,
    ) -> Answer:
        """Change the text of a memory (`data` in 1.x), and add to its metadata. Its owner never changes."""
        content, fields = data if text is None else text, answers.without_identity(metadata)
        if expiration_date is not _UNSET:
            fields["expiration_date"] = check_expiration_date(expiration_date)
        if content is None and metadata is None and expiration_date is _UNSET:
            raise InvalidInput("At least one of text, metadata, or expiration_date must be provided.")

        def change(known: Memory) -> dict[str, object]:
            return {"metadata": {**known.metadata, **fields}} | ({} if content is None else {"content": content})

        self._memory.update(find_memory(self._memory, memory_id).id, change=change, user=ANY)
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> Answer:
        """Delete a memory."""
        self._memory.delete(find_memory(self._memory, memory_id).id, user=ANY)
        return {"message": "Memory deleted successfully!"}

    def delete_all(self, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None) -> Answer:
        """Delete all memories of a user, an agent or a run."""
        chosen = join_filters(None, {"user_id": user_id, "agent_id": agent_id, "run_id": run_id})
        self._delete_each(read_owner(chosen))
        return {"message": "Memories deleted successfully!"}

    def history(self, memory_id: str) -> list[Answer]:
        """Return how a memory was added and updated, oldest first; nothing is kept of a deleted one."""
        try:
            return answers.to_events(self._memory.history(find_memory(self._memory, memory_id).id, user=ANY))
        except NotFound:
            return []

    def reset(self) -> None:
        """Delete all memories of the tenant."""
        self._delete_each({"user": ANY, "agent": None, "session": None})

    def _add_as_is(
        self, said: Mapping[str, Any], fields: Mapping[str, Any], at: datetime | str | None, owner: dict[str, Any]
    ) -> Answer:
        actor = {"actor_id": said["name"]} if said["name"] else {}
        metadata = {**fields, "role": said["role"], **actor}
        stored = self._memory.add_memory(said["content"], metadata=metadata, at=at, **owner)
        return {**answers.to_added(stored), "actor_id": said["name"] or None, "role": said["role"]}

    def _page(self, owner: ReadOwner, after: int, *, quarantined: bool = False) -> list[Memory]:
        return self._memory.list_memories(_PAGE, after, quarantined=quarantined, **owner)

    def _delete_each(self, owner: ReadOwner) -> None:
        for quarantined in (False, True):
            last = 0
            while page := self._page(owner, last, quarantined=quarantined):
                # Values and items have keys: they belong to other interfaces.
                ids = [each.id for each in page if each.key is None]
                with suppress(NotFound):  # somebody else deleted one of them: read the page again
                    self._memory.delete(ids, user=ANY)
                    last = page[-1].id


def _count(top_k: int | None, limit: int | None, names: OwnerNames) -> int:
    """Return how many answers are wanted; without a number, as many as the version with this spelling returns."""
    given = [each for each in (limit, top_k) if each is not None]
    return check_integer(given[0] if given else 100 if names else 20, "top_k", minimum=0)
