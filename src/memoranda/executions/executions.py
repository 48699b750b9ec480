"""Execution records: an audit trail of what agents did, in which every later change can be found.

The log is imported at its first use, since it loads SQLAlchemy, and a manager is made without it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from memoranda.display import shown
from memoranda.errors import InvalidInput, InvalidType
from memoranda.results.workflows import ExecutionPage, ExecutionRecord, ExecutionStats, VerificationReport
from memoranda.security.redaction import Redactor
from memoranda.text.checks import clean_text, escape_surrogates
from memoranda.types import DEFAULT_TENANT, JSON, Clock
from memoranda.validation import (
    check_datetime,
    check_limit,
    check_name,
    check_offset,
    copy_json_object,
    encode_json,
)

if TYPE_CHECKING:
    from memoranda.executions.log import ExecutionLog, ExecutionQuery, ExecutionRow

_PAGE_ROWS: Final = 1000
_MAX_NAME_CHARS: Final = 120


class Executions:
    """Appends, reads and verifies the execution records of one tenant."""

    def __init__(
        self,
        tenant: str,
        open_log: Callable[[], ExecutionLog],
        clock: Clock,
        redactor: Redactor | None,
        mirror: ExecutionMirror | None,
    ) -> None:
        self.mirror = mirror
        self._tenant = tenant
        self._open_log = open_log
        self._clock = clock
        self._redactor = redactor

    def save(
        self, agent: str, record: Mapping[str, JSON], *, workflow: str | None = None, session: str | None = None
    ) -> str:
        """Append a record and return its id. The record is on disk by then."""
        if not isinstance(record, Mapping):
            raise InvalidType(f"record must be a dict, not {type(record).__name__}")
        fields = self.redact(copy_json_object(dict(record), "record"))
        if workflow is None:
            workflow = text_or_none(fields.get("workflow_id"))
        execution = ExecutionRecord(
            id=uuid.uuid4().hex,
            agent_id=clean_text(agent, "agent_id"),
            workflow_id=workflow,
            session_id=session,
            status=text_or_none(fields.get("status")),
            duration_ms=check_duration(fields.get("duration_ms")),
            recorded_at=self._clock(),
            record=fields,
        )
        self.append([execution])
        return execution.id

    def append(self, records: Sequence[ExecutionRecord], *, mirror: bool = True) -> list[ExecutionRecord]:
        """Append records in one commit, skip those whose id is known, and return the new ones with their numbers."""
        rows = self._open_log().append(self._tenant, [_to_row(record) for record in records])
        written = [_to_record(row) for row in rows]
        if mirror and self.mirror is not None:
            self.mirror.append(self._tenant, written)
        return written

    def redact(self, record: dict[str, JSON]) -> dict[str, JSON]:
        """Return the record without its secrets, or as it is when redaction is off."""
        return record if self._redactor is None else self._redactor.object(record)

    def find(self, query: ExecutionQuery, limit: object, cursor: object, offset: object = 0) -> ExecutionPage:
        size, start = check_limit(limit), check_offset(offset)
        # One row more than the page tells whether there is a next page.
        rows = self._open_log().find(self._tenant, query, limit=start + size + 1, below=_parse_cursor(cursor))[start:]
        next_cursor = str(rows[size - 1].number) if len(rows) > size else None
        return ExecutionPage(tuple(_to_record(row) for row in rows[:size]), next_cursor)

    def stats(self, query: ExecutionQuery) -> ExecutionStats:
        log = self._open_log()
        counts = log.count_by_status(self._tenant, query)
        by_status = {status or "unknown": count for status, count in counts.items()}
        return ExecutionStats(sum(counts.values()), by_status, *log.summarize_durations(self._tenant, query))

    def verify(self, head: object) -> VerificationReport:
        return self._open_log().verify(self._tenant, check_name(head, "head"))

    def pages(self) -> Iterator[list[ExecutionRecord]]:
        """Yield all records in pages, oldest first."""
        after = 0
        while rows := self._open_log().read_after(self._tenant, after, limit=_PAGE_ROWS):
            after = rows[-1].number
            yield [_to_record(row) for row in rows]


def make_query(
    agent: object,
    status: object = None,
    *,
    workflow: object = None,
    session: object = None,
    after: object = None,
    before: object = None,
) -> ExecutionQuery:
    """Check the arguments of `get_execution_records` and return them as a query."""
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


def check_duration(value: JSON) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise InvalidInput(f"duration_ms is {shown(value)}: give a number of milliseconds, 0 or more")
    return float(value)


def _parse_cursor(cursor: object) -> int | None:
    if cursor is None:
        return None
    if not isinstance(cursor, str) or not cursor.isascii() or not cursor.isdigit() or len(cursor) > 18:
        raise InvalidInput(f"cursor is {shown(cursor)}: give the next_cursor of the previous page")
    return int(cursor)


def _to_row(record: ExecutionRecord) -> ExecutionRow:
    from memoranda.executions.log import ExecutionRow
    from memoranda.storage.rows import to_micros

    return ExecutionRow(
        record.id, record.agent_id, record.workflow_id, record.session_id, record.status, record.duration_ms,
        encode_json(record.record, "record"), to_micros(record.recorded_at),
    )  # fmt: skip


def _to_record(row: ExecutionRow) -> ExecutionRecord:
    from memoranda.storage.rows import from_micros, stored_json

    return ExecutionRecord(
        row.id, row.agent, row.workflow, row.session, row.status, row.duration_ms, from_micros(row.recorded_at),
        stored_json(row.record, dict), row.number,
    )  # fmt: skip


class ExecutionMirror:
    """Copies committed records to JSON Lines files, one for each agent.

    A file that cannot be written is reported by `health()`; the record itself is stored all the same.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.problems: list[str] = []
        self._lock = threading.Lock()

    def append(self, tenant: str, records: Sequence[ExecutionRecord]) -> None:
        folder = self.folder if tenant == DEFAULT_TENANT else self.folder / _quote_name(tenant)
        lines: dict[Path, list[str]] = {}
        for record in records:
            lines.setdefault(folder / file_name(record.agent_id), []).append(to_json_line(record))
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
                f"execution records are missing from {path} ({error.strerror or error}): "
                "export_files() writes the file again"
            )
            self.problems = [problem]
            logging.getLogger("memoranda").warning(problem)


def to_json_line(record: ExecutionRecord) -> str:
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
    return f"{escape_surrogates(json.dumps(fields, ensure_ascii=False))}\n"


def file_name(agent: str) -> str:
    """Return the name of an agent's file: `<agent>.jsonl` for ordinary names, and never a path."""
    return f"{_quote_name(agent)}.jsonl"


def _quote_name(name: str) -> str:
    # Letters, digits, "_", "-", "~" and inner dots stay; "/", "..", spaces and the rest are quoted.
    quoted = quote(name, safe="")
    if quoted.startswith("."):
        quoted = f"%2E{quoted[1:]}"
    if len(quoted) > _MAX_NAME_CHARS:
        digest = hashlib.blake2b(name.encode("utf-8"), digest_size=8).hexdigest()
        quoted = f"{quoted[:_MAX_NAME_CHARS].rstrip('%')}~{digest}"
    return quoted
