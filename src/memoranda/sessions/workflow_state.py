"""What the sessions of one workflow share in a value store: the open sessions and the messages.

Everything is in the workflow's own namespace, under keys that several processes can write without reading first:

    member:<session>        an open session and its actions; renewed at every use, else it expires
    did:<session>@<process> the actions of a session in one of the processes that share it
    left:<session>          the actions of a session that ended while others stayed open
    said:<time>:<session>   a message; the keys sort in the order of the messages
    kept                    the last session kept the data on purpose
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, cast

from memoranda.results.workflows import SessionMessage, SessionSummary
from memoranda.sessions.base import Namespace, ValueStore, Workflow
from memoranda.types import JSON

MESSAGE: Final = "messages"
SAVE: Final = "saves"
READ: Final = "reads"
EXECUTION: Final = "executions"

REGISTER_SLACK: Final = 0.25
"""The register is renewed less often than the session: it may count an idle one for this share of the timeout."""
_MEMBER: Final = "member:"
_DID: Final = "did:"
_LEFT: Final = "left:"
_SAID: Final = "said:"
_KEPT: Final = "kept"
_TRIM_INTERVAL: Final = 16
"""How many messages a session adds before it deletes old ones; reading never returns more than the limit."""


@dataclass(slots=True)
class SessionRecord:
    """One session of a workflow, and what its agents did."""

    session_id: str
    opened_at: datetime
    metadata: dict[str, JSON]
    agents: dict[str, dict[str, int]] = field(default_factory=dict)
    """For each agent, the number of each of its actions."""
    auto_cleanup: bool = True
    process: str | None = None
    """The process whose actions these are, when several share the session; None when it has one process."""

    def count(self, agent: str, action: str) -> None:
        actions = self.agents.setdefault(agent, {})
        actions[action] = actions.get(action, 0) + 1

    def to_json(self) -> JSON:
        return {
            "opened_at": self.opened_at.isoformat(),
            "metadata": self.metadata,
            "agents": cast("dict[str, JSON]", self.agents),
            "auto_cleanup": self.auto_cleanup,
        }

    @classmethod
    def from_json(cls, session_id: str, value: Any) -> SessionRecord:
        opened_at = datetime.fromisoformat(value["opened_at"])
        return cls(session_id, opened_at, value["metadata"], value["agents"], value.get("auto_cleanup", True))


class WorkflowState:
    """The shared data of one workflow. A session ends after `timeout` seconds without use."""

    def __init__(self, store: ValueStore, tenant: str, workflow: str, *, timeout: float, max_messages: int) -> None:
        self._store = store
        self._tenant = tenant
        self._workflow = workflow
        self._timeout = timeout
        self._max_messages = max_messages
        self._all = Workflow(tenant, workflow)
        self._shared = Namespace(tenant, workflow)
        # Outside every workflow and agent: one key per open session, so that they can be counted.
        self._register = Namespace(tenant)
        self._since_trim = 0

    def get_value(self, agent: str, key: str) -> JSON:
        return self._store.get(Namespace(self._tenant, self._workflow, agent), [key]).get(key)

    def set_value(self, agent: str, key: str, value: JSON, ttl: float | None) -> None:
        self._store.set(Namespace(self._tenant, self._workflow, agent), {key: value}, ttl=ttl)

    def clear_abandoned(self) -> None:
        """Remove the data of sessions that never ended: they were idle too long, or their process died."""
        # Counted first: a workflow that is new to this store is never cleared, whoever else is opening it.
        if self._store.count(self._all) and not self._is_in_use():
            self._store.clear(self._all)

    def _is_in_use(self) -> bool:
        return any(key.startswith(_MEMBER) or key == _KEPT for key in self._store.keys(self._shared))

    def join(self, record: SessionRecord) -> None:
        self.register(record)
        self.renew(record)

    def renew(self, record: SessionRecord) -> None:
        """Keep the session open for another timeout, and store its actions."""
        if record.process is None:
            self._store.set(self._shared, {_MEMBER + record.session_id: record.to_json()}, ttl=self._timeout)
        else:
            self._store.set(self._shared, {f"{_DID}{record.session_id}@{record.process}": _agents_json(record)})

    def register(self, record: SessionRecord) -> None:
        """Add the session to the open sessions that are counted, or keep it there."""
        lifetime = self._timeout * (1 + REGISTER_SLACK)
        # Without its actions: the same value, whichever process writes it.
        opened = replace(record, agents={}).to_json()
        entry: JSON = {"workflow": self._workflow, "record": opened}
        self._store.set(self._register, {record.session_id: entry}, ttl=lifetime)
        if record.process is not None:
            self._store.set(self._shared, {_MEMBER + record.session_id: opened}, ttl=lifetime)

    def is_open(self, record: SessionRecord) -> bool:
        """Return whether the session is still open: not idle for too long, and not cleared."""
        if record.process is not None:
            return bool(self._store.get(self._register, [record.session_id]))
        return bool(self._store.get(self._shared, [_MEMBER + record.session_id]))

    def leave(self, record: SessionRecord, *, clean_up: bool) -> None:
        """Remove a session. The last one clears the workflow, or keeps its data."""
        self._store.delete(self._register, [record.session_id])
        own = self._keys(f"{_DID}{record.session_id}@") if record.process is not None else []
        self._store.delete(self._shared, [_MEMBER + record.session_id, *own])
        others = bool(self._keys(_MEMBER))
        if others or not clean_up:
            self._store.set(self._shared, {_LEFT + record.session_id: record.to_json()})
        if others:
            return
        if clean_up:
            self._store.clear(self._all)
        else:
            self._store.set(self._shared, {_KEPT: True})

    def load_records(self) -> list[SessionRecord]:
        """Return the sessions of this workflow, open and ended ones, in the order they were opened."""
        keys = self._keys(_MEMBER, _LEFT, _DID)
        values = self._store.get(self._shared, keys) if keys else {}
        records = {
            key.partition(":")[2]: SessionRecord.from_json(key.partition(":")[2], value)
            for key, value in values.items()
            if not key.startswith(_DID)
        }
        for key, agents in values.items():
            record = records.get(key.removeprefix(_DID).partition("@")[0]) if key.startswith(_DID) else None
            if record is not None:
                record.agents = _add_up([record.agents, cast("dict[str, dict[str, int]]", agents)])
        return sorted(records.values(), key=lambda record: (record.opened_at, record.session_id))

    def load_actions(self, record: SessionRecord) -> SessionRecord:
        """Return the record with what its session did in every process, also when the session is no longer open."""
        if record.process is None:
            return record
        keys = self._keys(f"{_DID}{record.session_id}@")
        found = self._store.get(self._shared, keys) if keys else {}
        parts = [cast("dict[str, dict[str, int]]", agents) for agents in found.values()]
        return replace(record, agents=_add_up(parts) if parts else record.agents)

    def add_message(self, timestamp: int, session_id: str, message: Mapping[str, JSON]) -> None:
        """Add a message. Its timestamp, in microseconds, must be unique within the session."""
        self._store.set(self._shared, {f"{_SAID}{timestamp:020d}:{session_id}": dict(message)})
        self._since_trim += 1
        if self._since_trim >= _TRIM_INTERVAL:
            self._since_trim = 0
            old = self._keys(_SAID)[: -self._max_messages]
            if old:
                self._store.delete(self._shared, old)

    def count_messages(self) -> int:
        return min(len(self._keys(_SAID)), self._max_messages)

    def load_messages(self, limit: int | None, offset: int = 0) -> list[SessionMessage]:
        """Return the newest messages after the first `offset` of them, oldest first."""
        kept = self._keys(_SAID)[-self._max_messages :]
        keys = kept[: len(kept) - offset if offset < len(kept) else 0][-(limit or self._max_messages) :]
        values = self._store.get(self._shared, keys) if keys else {}
        return [SessionMessage.from_json(cast("dict[str, Any]", value)) for value in values.values()]

    def clear(self) -> None:
        """Remove the workflow's data and end its sessions."""
        session_ids = [key.removeprefix(_MEMBER) for key in self._keys(_MEMBER)]
        if session_ids:
            self._store.delete(self._register, session_ids)
        self._store.clear(self._all)

    def _keys(self, *prefixes: str) -> list[str]:
        return [key for key in self._store.keys(self._shared) if key.startswith(prefixes)]


def find_open(store: ValueStore, tenant: str, session_id: str) -> tuple[str, SessionRecord] | None:
    """Return the workflow and the record of an open session, without its actions; None when there is none."""
    found = _read_register(store, tenant, [session_id])
    return found[0] if found else None


def find_all_open(store: ValueStore, tenant: str) -> list[tuple[str, SessionRecord]]:
    """Return the workflows and records of all open sessions of a tenant."""
    return _read_register(store, tenant, store.keys(Namespace(tenant)))


def _read_register(store: ValueStore, tenant: str, session_ids: Sequence[str]) -> list[tuple[str, SessionRecord]]:
    found = store.get(Namespace(tenant), session_ids) if session_ids else {}
    entries = cast("dict[str, dict[str, JSON]]", found)
    return [
        (str(entry["workflow"]), SessionRecord.from_json(session_id, entry["record"]))
        for session_id, entry in entries.items()
    ]


def _agents_json(record: SessionRecord) -> JSON:
    return cast("dict[str, JSON]", record.agents)


def _add_up(parts: Iterable[Mapping[str, Mapping[str, int]]]) -> dict[str, dict[str, int]]:
    activity: dict[str, dict[str, int]] = {}
    for agents in parts:
        for agent, actions in agents.items():
            totals = activity.setdefault(agent, {})
            totals.update({action: totals.get(action, 0) + count for action, count in actions.items()})
    return activity


def count_open(store: ValueStore, tenant: str) -> int:
    """Return how many sessions of a tenant are open, in all processes that share the store."""
    return store.count(Namespace(tenant))


def summarize_sessions(
    workflow: str, session_id: str, records: Iterable[SessionRecord], now: datetime, *, ended: bool
) -> SessionSummary:
    """Return one summary of several sessions of a workflow, for the session with this id."""
    ordered = sorted(records, key=lambda record: record.opened_at)
    activity = _add_up(record.agents for record in ordered)
    metadata: dict[str, JSON] = {}
    for record in ordered:
        metadata |= record.metadata
    started_at = min((record.opened_at for record in ordered), default=now)
    return SessionSummary(
        workflow_id=workflow,
        session_id=session_id,
        metadata=metadata,
        active_agents=tuple(sorted(activity)),
        activity=activity,
        total_interactions=sum(sum(actions.values()) for actions in activity.values()),
        conversation_messages=sum(actions.get(MESSAGE, 0) for actions in activity.values()),
        executions=sum(actions.get(EXECUTION, 0) for actions in activity.values()),
        sessions=len(ordered),
        started_at=started_at,
        ended_at=now if ended else None,
        duration_seconds=(now - started_at).total_seconds(),
    )
