"""A `SessionStore` for the Claude Agent SDK: the transcripts of its sessions in Memoranda, searchable.

    options = ClaudeAgentOptions(session_store=MemorandaSessionStore(memory, user="ann"))

`pip install memoranda[claude-agent-sdk]`
"""

from __future__ import annotations

import json
import threading
import time
import uuid
from typing import Any, Final

from memoranda.aio.threads import in_thread
from memoranda.errors import MissingExtra
from memoranda.integrations.managers import LongValues, OwnedNamespace, Source, open_source, read_pages, to_label
from memoranda.items.base import Item
from memoranda.records import AsyncClosing

try:
    from claude_agent_sdk import fold_session_summary
    from claude_agent_sdk.types import (
        SessionKey,
        SessionListSubkeysKey,
        SessionStoreEntry,
        SessionStoreListEntry,
        SessionSummaryEntry,
    )
except ModuleNotFoundError as error:
    raise MissingExtra("the session store for the Claude Agent SDK", "claude-agent-sdk") from error

_ENTRIES: Final = "claude entries"
_SESSIONS: Final = "claude sessions"
_PARTS: Final = "claude parts"
_SAID: Final = ("user", "assistant")
_MAX_SAID: Final = 20_000  # characters of one entry that are searched; it is kept whole


class MemorandaSessionStore(AsyncClosing):
    """Keeps every entry of a transcript as an item, in the order of the appends.

    What the user and the assistant say is also searched: `memory.recall` finds it in every later session.

    Args:
        memory: The manager, or the path or URL of a database; the default database when None.
        agent, user, session: The owner of the transcripts; those of another owner are not seen.
        search: Whether what is said can be found by `recall`; False keeps the transcripts only.
    """

    def __init__(
        self,
        memory: Source = None,
        *,
        agent: str | None = None,
        user: str | None = None,
        session: str | None = None,
        search: bool = True,
    ) -> None:
        self.memory: Any
        self.memory, self._owns_memory = open_source(memory)
        self._owner = {"agent": agent, "user": user, "session": session}
        self._long = LongValues(OwnedNamespace(self.memory, (_PARTS,), **self._owner))
        self._searches = search
        self._lock = threading.Lock()

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Add entries at the end; one whose uuid is there already is left as it is."""
        if entries:
            await in_thread(self._append, key, entries)

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """Return all entries of a transcript, oldest first; None when there is none."""
        return await in_thread(self._load, key)

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """Return the sessions of a project, and when each was written last."""
        found = await in_thread(self._list, (_SESSIONS, to_label(project_key, "project_key")))
        return [{"session_id": item.value["session_id"], "mtime": item.value["mtime"]} for item in found]

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        """Return the summary of each session of a project."""
        return [
            item.value["summary"]
            for item in await in_thread(self._list, (_SESSIONS, to_label(project_key, "project_key")))
        ]

    async def delete(self, key: SessionKey) -> None:
        """Delete a transcript; with the main one of a session, also those of its subagents."""
        await in_thread(self._delete, key)

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """Return the subpaths of a session that have a transcript."""
        return await in_thread(self._subkeys, key)

    async def close(self) -> None:
        """Close the manager if it was opened here."""
        if self._owns_memory:
            await in_thread(self.memory.close)

    def _append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        namespace = _namespace(key)
        with self._lock:  # the number of an entry, and the summary, depend on what is there
            first = 1 + self._last_number(namespace)
            new: dict[str, Any] = {}
            for entry in entries:
                entry_id = _entry_id(entry)
                if entry_id not in new and self.memory.get_item(namespace, entry_id, **self._owner) is None:
                    new[entry_id] = self._to_value(entry, first + len(new))
            if new:
                self.memory.put_many(namespace, new, index=["said"] if self._searches else False, **self._owner)
            if not key.get("subpath"):
                self._put_summary(key, entries)

    def _last_number(self, namespace: tuple[str, ...]) -> int:
        latest = self.memory.search_items(namespace, order="-updated", limit=1, **self._owner)
        return max((item.value["number"] for item in latest), default=0)

    def _to_value(self, entry: SessionStoreEntry, number: int) -> dict[str, Any]:
        kept = self._long.store(json.dumps(entry))
        return {"number": number, "said": (_said(entry) or "")[:_MAX_SAID] or None, **kept}

    def _put_summary(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        project, session_id = (_SESSIONS, to_label(key["project_key"], "project_key")), key["session_id"]
        before = self.memory.get_item(project, to_label(session_id, "session_id"), **self._owner)
        summary = fold_session_summary(before.value["summary"] if before else None, key, entries)
        last = before.value["mtime"] if before else 0
        summary["mtime"] = mtime = max(int(time.time() * 1000), last + 1)
        value = {"session_id": session_id, "mtime": mtime, "summary": summary}
        self.memory.put(project, to_label(session_id, "session_id"), value, index=False, **self._owner)

    def _load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        items = sorted(self._list(_namespace(key)), key=lambda item: item.value["number"])
        return [json.loads(self._long.load(item.value)) for item in items] or None

    def _subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        below = _namespace({**key, "subpath": "x"})[:-1]  # type: ignore[typeddict-item]
        return list(dict.fromkeys(item.namespace[-1][1:] for item in self._list(below)))

    def _delete(self, key: SessionKey) -> None:
        main = not key.get("subpath")
        namespace = _namespace(key)
        with self._lock:
            for item in self._list(namespace[:-1] if main else namespace):
                self.memory.delete_item(item.namespace, item.key, **self._owner)
                self._long.drop(item.value)
            if main:
                project = (_SESSIONS, to_label(key["project_key"], "project_key"))
                self.memory.delete_item(project, to_label(key["session_id"], "session_id"), **self._owner)

    def _list(self, namespace: tuple[str, ...]) -> list[Item]:
        def read(limit: int, offset: int) -> list[Item]:
            page = {"order": "updated", "limit": limit, "offset": offset}
            found: list[Item] = self.memory.search_items(namespace, **page, **self._owner)
            return found

        return list(read_pages(read))


def _namespace(key: SessionKey) -> tuple[str, ...]:
    """Return the namespace of a transcript; that of the session is one name shorter than that of its main one."""
    session = (_ENTRIES, to_label(key["project_key"], "project_key"), to_label(key["session_id"], "session_id"))
    subpath = key.get("subpath")
    return (*session, "subagents", to_label(subpath, "subpath")) if subpath else (*session, "main")


def _entry_id(entry: SessionStoreEntry) -> str:
    """Return the key of an entry. Those without a uuid, such as titles, are never duplicates."""
    known: Any = entry.get("uuid")
    return f"={known}" if known else uuid.uuid4().hex


def _said(entry: SessionStoreEntry) -> str | None:
    """Return what a person or the assistant said in an entry, without tools and their results."""
    message: Any = entry.get("message")
    if entry.get("type") not in _SAID or not isinstance(message, dict):
        return None
    content = message.get("content")
    if isinstance(content, str):
        return content
    texts = [block.get("text") for block in content or () if isinstance(block, dict) and block.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str)) or None
