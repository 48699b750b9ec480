"""The audit trail: what agents did, in order, so that nobody can change it unnoticed."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from memoranda.errors import InvalidInput, InvalidType
from memoranda.redaction import Redactor
from memoranda.results import ExecutionPage, ExecutionRecord, ExecutionStats, VerificationReport
from memoranda.text import clean_text
from memoranda.types import DEFAULT_TENANT, JSON, Clock
from memoranda.validation import check_datetime, check_limit, check_name, copy_json_object, encode_json

if TYPE_CHECKING:
    from memoranda.executions.log import ExecutionLog, ExecutionQuery, ExecutionRow


class Executions:
    """Appends, reads and verifies the records of one tenant."""

    def __init__(
        self,
        tenant: str,
        open_log: Callable[[], ExecutionLog],
        clock: Clock,
        redactor: Redactor | None,
        mirror: Mirror | None,
    ) -> None:
        self._tenant = tenant
        self._open_log = open_log
        self._clock = clock
        self._redactor = redactor
        self._mirror = mirror

    @property
    def log(self) -> ExecutionLog:
        return self._open_log()

    def save(
        self, agent: str, record: Mapping[str, JSON], *, workflow: str | None = None, session: str | None = None
    ) -> str:
        """The id of the record, which is on disk when this returns."""
        if not isinstance(record, Mapping):
            raise InvalidType(f"record must be a dict, not {type(record).__name__}")
        given = self.redacted(copy_json_object(dict(record), "record"))
        if workflow is None:
            workflow = text_or_none(given.get("workflow_id"))
        execution = ExecutionRecord(
            id=uuid.uuid4().hex,
            agent_id=clean_text(agent, "agent_id"),
            workflow_id=workflow,
            session_id=session,
            status=text_or_none(given.get("status")),
            duration_ms=duration(given.get("duration_ms")),
            recorded_at=self._clock(),
            record=given,
        )
        self.append([execution])
        return execution.id

    def append(self, records: Sequence[ExecutionRecord], *, mirrored: bool = True) -> list[ExecutionRecord]:
        """Those that were new, in one commit, with their numbers."""
        written = [_record(row) for row in self.log.append(self._tenant, [_row(record) for record in records])]
        if mirrored and self._mirror is not None:
            self._mirror.append(self._tenant, written)
        return written

    def redacted(self, record: dict[str, JSON]) -> dict[str, JSON]:
        """The record without its secrets, unless the settings say otherwise."""
        return record if self._redactor is None else self._redactor.object(record)

    def find(self, which: ExecutionQuery, limit: object, cursor: object) -> ExecutionPage:
        most = check_limit(limit)
        rows = self.log.find(self._tenant, which, limit=most + 1, below=_place(cursor))
        more = rows[most - 1].number if len(rows) > most else None
        return ExecutionPage(tuple(_record(row) for row in rows[:most]), None if more is None else str(more))

    def stats(self, which: ExecutionQuery) -> ExecutionStats:
        statuses = self.log.statuses(self._tenant, which)
        named = {status or "unknown": count for status, count in statuses.items()}
        return ExecutionStats(sum(statuses.values()), named, *self.log.durations(self._tenant, which))

    def verify(self, head: object) -> VerificationReport:
        return self.log.verify(self._tenant, check_name(head, "head"))

    def pages(self) -> Iterator[list[ExecutionRecord]]:
        """All records, oldest first."""
        after = 0
        while rows := self.log.following(self._tenant, after, limit=1000):
            after = rows[-1].number
            yield [_record(row) for row in rows]


def query(
    agent: object,
    status: object = None,
    *,
    workflow: object = None,
    session: object = None,
    after: object = None,
    before: object = None,
) -> ExecutionQuery:
    """The arguments of a query, checked."""
    from memoranda.executions.log import ExecutionQuery

    return ExecutionQuery(
        check_name(agent, "agent_id"),
        check_name(workflow, "workflow"),
        check_name(session, "session"),
        check_name(status, "status_filter"),
        None if after is None else check_datetime(after, "after"),
        None if before is None else check_datetime(before, "before"),
    )


def text_or_none(value: JSON) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def duration(value: JSON) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise InvalidInput(f"duration_ms is {value!r}: give a number of milliseconds, 0 or more")
    return float(value)


def _place(cursor: object) -> int | None:
    if cursor is None:
        return None
    if not isinstance(cursor, str) or not cursor.isascii() or not cursor.isdigit() or len(cursor) > 18:
        raise InvalidInput(f"cursor is {cursor!r}: give the next_cursor of the page before")
    return int(cursor)


def _row(record: ExecutionRecord) -> ExecutionRow:
    from memoranda.executions.log import ExecutionRow
    from memoranda.storage.rows import to_micros

    return ExecutionRow(
        record.id, record.agent_id, record.workflow_id, record.session_id, record.status, record.duration_ms,
        encode_json(record.record, "record"), to_micros(record.recorded_at),
    )  # fmt: skip


def _record(row: ExecutionRow) -> ExecutionRecord:
    from memoranda.storage.rows import from_micros

    return ExecutionRecord(
        row.id, row.agent, row.workflow, row.session, row.status, row.duration_ms, from_micros(row.recorded_at),
        json.loads(row.record), row.number,
    )  # fmt: skip


_LONGEST: Final = 120


class Mirror:
    """Appends what was committed; a file that cannot be written is told in `health()`, the record stays."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.problems: list[str] = []
        self._lock = threading.Lock()

    def append(self, tenant: str, records: Sequence[ExecutionRecord]) -> None:
        lines: dict[Path, list[str]] = {}
        for record in records:
            lines.setdefault(tenant_folder(self.folder, tenant) / file_name(record.agent_id), []).append(line(record))
        with self._lock:
            for path, texts in lines.items():
                self._write(path, "".join(texts))

    def _write(self, path: Path, text: str) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # One write at the end of the file: lines of several processes never mix.
            handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with os.fdopen(handle, "wb", buffering=0) as file:
                file.write(text.encode("utf-8"))
        except OSError as error:
            problem = (
                f"execution records are missing from {path} ({error.strerror or error}): export_files() makes it new"
            )
            self.problems = [problem]
            # Loaded here: it takes a while, and is needed only when something is wrong.
            import logging

            logging.getLogger("memoranda").warning(problem)


def line(record: ExecutionRecord) -> str:
    """One record as one line."""
    fields: dict[str, JSON] = {
        "id": record.id,
        "agent_id": record.agent_id,
        "workflow_id": record.workflow_id,
        "session_id": record.session_id,
        "status": record.status,
        "duration_ms": record.duration_ms,
        "recorded_at": record.recorded_at.isoformat(),
        "record": record.record,
    }
    return json.dumps(fields, ensure_ascii=False) + "\n"


def file_name(agent: str) -> str:
    """`<agent>.jsonl` for ordinary names; never a path, whatever the name."""
    # Letters, digits, "_", "-", "~" and inner dots stay; "/", "..", spaces and the rest are quoted.
    name = quote(agent, safe="")
    if name.startswith("."):
        name = f"%2E{name[1:]}"
    if len(name) > _LONGEST:
        mark = hashlib.blake2b(agent.encode("utf-8"), digest_size=8).hexdigest()
        name = f"{name[:_LONGEST].rstrip('%')}~{mark}"
    return f"{name}.jsonl"


def tenant_folder(folder: Path, tenant: str) -> Path:
    """Where a tenant's files lie: those of the default one in the folder itself."""
    return folder if tenant == DEFAULT_TENANT else folder / file_name(tenant).removesuffix(".jsonl")
