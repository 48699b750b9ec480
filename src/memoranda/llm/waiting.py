"""How long a server asks to be left alone."""

from __future__ import annotations

from collections.abc import Mapping


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds, where the answer says so; None when the header is missing or is a date, and the caller chooses."""
    try:
        return max(0.0, float(headers["retry-after"]))
    except (KeyError, ValueError):
        return None
