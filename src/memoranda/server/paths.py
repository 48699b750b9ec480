"""Paths that are checked less than the others, before their routes run."""

from __future__ import annotations

from typing import Final

STATIC: Final = "/ui/static/"
"""The files of the dashboard are below it."""
PUBLIC: Final = frozenset(
    {"/", "/favicon.ico", "/healthz", "/openapi.json", "/docs", "/docs/page.js", "/docs/page.css"}
)
"""Paths that need no key."""
SIGN_IN: Final = frozenset({"/ui/session", "/ui/login", "/ui/logout"})
"""Paths that accept callers with a key and without one."""
STREAMED: Final = frozenset({"/v1/import"})
"""Paths whose body is read by the route itself, as it arrives."""
