"""What an export that was downloaded holds, and whether all of it came."""

from __future__ import annotations

import json
from pathlib import Path

from memoranda.errors import Unavailable
from memoranda.parts.transfer import ExportReport
from memoranda.types import Progress


def export_report(draft: Path, target: Path, progress: Progress | None) -> ExportReport:
    """Counts the lines; `Unavailable` when the last one, which ends every export, is missing."""
    lines, last = 0, b""
    with draft.open("rb") as file:
        for line in file:
            lines, last = lines + 1, line
    try:
        end = json.loads(last)
        memories = int(end["memory"]) if end["kind"] == "end" else -1
    except (ValueError, KeyError, TypeError):
        memories = -1
    if memories < 0:
        raise Unavailable("the export broke off before its end: try again")
    if progress is not None:
        progress(memories, memories)
    return ExportReport(target, memories, lines)
