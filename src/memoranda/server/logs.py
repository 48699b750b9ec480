"""One JSON line a request, without secrets and without what was asked or answered."""

from __future__ import annotations

import json
import logging
import traceback
from datetime import UTC, datetime
from typing import Final

from starlette.types import Scope

from memoranda.redaction import DEFAULT_PATTERNS, Redactor
from memoranda.types import JSON

LOGGER: Final = logging.getLogger("memoranda.server")
_OWN_KEYS: Final = r"(?P<keep>\bmmr\.[0-9a-f]{1,32}\.)[A-Za-z0-9_-]{8,}"


class JsonFormatter(logging.Formatter):
    """A log record as one line of JSON, redacted."""

    def __init__(self) -> None:
        super().__init__()
        self._redactor = Redactor([*DEFAULT_PATTERNS, _OWN_KEYS])

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, JSON] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["error"] = "".join(traceback.format_exception(*record.exc_info))
        return json.dumps(self._redactor.object(line))


class RequestLog:
    """Notes requests and failures."""

    def request(self, scope: Scope, request_id: str, status: int, seconds: float) -> None:
        if not LOGGER.isEnabledFor(logging.INFO):
            return
        principal = scope.get("state", {}).get("principal")
        fields: dict[str, JSON] = {
            "request_id": request_id,
            "method": scope["method"],
            "path": scope["path"],
            "status": status,
            "ms": round(seconds * 1000, 2),
            "key_id": principal.key_id if principal else None,
            "tenant": principal.tenant if principal else None,
        }
        LOGGER.info("request", extra={"fields": fields})

    def failure(self, request_id: str, error: BaseException) -> None:
        LOGGER.error("unexpected error", exc_info=error, extra={"fields": {"request_id": request_id}})


def configure(level: str = "info") -> None:
    """JSON lines on standard error, for our own lines and uvicorn's."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    for name in ("memoranda.server", "uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level.upper())
    logging.getLogger("uvicorn.access").disabled = True
