"""How long a conversation is kept."""

from __future__ import annotations

from enum import StrEnum

from memoranda.errors import InvalidInput


class RetentionPolicy(StrEnum):
    """A string, so plain strings work everywhere."""

    SINGLE_RUN = "single_run"
    """Cleared after each run."""
    SESSION = "session"
    """Cleared with the session."""
    PERSISTENT = "persistent"
    """Kept across processes."""


def retention_policy(given: str) -> RetentionPolicy:
    """The policy of that name, or an error that lists them."""
    try:
        return RetentionPolicy(given)
    except ValueError as error:
        known = ", ".join(RetentionPolicy)
        raise InvalidInput(f"unknown retention policy {given!r}: use one of {known}") from error
