"""The sessions of one manager: opened, looked into from outside, cleared, and remembered after their end."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from memoranda.errors import InvalidInput, InvalidType
from memoranda.results import SessionMessage, SessionSummary
from memoranda.sessions.context import Desk, Moments, SessionContext
from memoranda.sessions.workflow_state import Limits, Presence, Room, count_open, summarize
from memoranda.text import clean_text
from memoranda.types import JSON, Clock, MemoryType
from memoranda.validation import check_integer, check_limit, check_name, copy_json_object, encode_json

if TYPE_CHECKING:
    from memoranda.executions.executions import Executions
    from memoranda.sessions.base import ValueStore
    from memoranda.sessions.log import SessionLog
    from memoranda.sessions.values import Values
    from memoranda.settings import MemoryConfig


_MAX_METADATA = 50_000
"""Characters: it is written again at every use of the session."""


class Sessions:
    """What a manager knows of its workflows."""

    def __init__(
        self,
        tenant: str,
        config: MemoryConfig,
        clock: Clock,
        *,
        store: Callable[[], ValueStore],
        log: Callable[[], SessionLog],
        values: Values,
        executions: Executions,
    ) -> None:
        self._tenant = tenant
        self._clock = clock
        self._store = store
        self._log = log
        self._values = values
        self._executions = executions
        self._auto_cleanup = config.auto_cleanup
        timeout = timedelta(seconds=config.session_timeout)
        self._desk = Desk(clock, timeout, self, Moments(clock), threading.Lock())
        self._limits = Limits(config.session_timeout, config.max_conversation_history)

    def open(self, workflow_id: str, metadata: Mapping[str, JSON] | None, auto_cleanup: bool | None) -> SessionContext:
        if auto_cleanup is not None and not isinstance(auto_cleanup, bool):
            raise InvalidType(f"auto_cleanup must be True or False, not {type(auto_cleanup).__name__}")
        extra = copy_json_object(None if metadata is None else dict(metadata), "metadata")
        if len(encode_json(extra, "metadata")) > _MAX_METADATA:
            raise InvalidInput(f"metadata takes more than {_MAX_METADATA:,} characters: save it as a value instead")
        presence = Presence(uuid.uuid4().hex, self._clock(), extra)
        clean_up = self._auto_cleanup if auto_cleanup is None else auto_cleanup
        return SessionContext(workflow_id, self._room(workflow_id), presence, self._desk, auto_cleanup=clean_up)

    def history(self, workflow_id: str, limit: int | None) -> list[SessionMessage]:
        most = None if limit is None else check_integer(limit, "limit")
        return [SessionMessage.from_json(message) for message in self._room(workflow_id).history(most)]

    def clear(self, workflow_id: str) -> bool:
        with self._desk.door:
            return self._room(workflow_id).clear()

    def count_open(self) -> int:
        return count_open(self._store(), self._tenant)

    def ended(self, workflow_id: str | None, limit: int) -> list[SessionSummary]:
        """Sessions that took place, the one that ended last first."""
        from memoranda.storage.rows import from_micros

        rows = self._log().find(self._tenant, check_name(workflow_id, "workflow_id"), limit=check_limit(limit))
        return [
            summarize(
                row.workflow,
                row.id,
                [Presence(row.id, from_micros(row.opened_at), row.metadata, row.agents)],
                from_micros(row.ended_at),
                ended=True,
            )
            for row in rows
        ]

    def save_value(self, agent: str, key: str, value: JSON, workflow: str) -> None:
        self._values.save(agent, key, value, MemoryType.LONG_TERM, None, session=workflow)

    def value(self, agent: str, key: str, workflow: str) -> JSON:
        return self._values.retrieve(agent, key, MemoryType.LONG_TERM, session=workflow)

    def save_execution(self, agent: str, record: Mapping[str, JSON], workflow: str, session: str) -> str:
        return self._executions.save(agent, record, workflow=workflow, session=session)

    def note_end(self, workflow: str, presence: Presence, now: datetime) -> None:
        """The session's row: what took place stays known when its data is gone."""
        from memoranda.sessions.log import SessionRow
        from memoranda.storage.rows import to_micros

        metadata = self._executions.redact(presence.metadata)
        opened_at, ended_at = to_micros(presence.opened_at), to_micros(now)
        row = SessionRow(presence.session_id, workflow, metadata, presence.agents, opened_at, ended_at)
        self._log().add(self._tenant, row)

    def _room(self, workflow_id: str) -> Room:
        return Room(self._store(), self._tenant, clean_text(workflow_id, "workflow_id"), self._limits)
