"""Execution records as lines of JSON, one file an agent: a copy to read, never the truth."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

from memoranda.parts.executions import ExecutionRecord
from memoranda.types import DEFAULT_TENANT, JSON

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
