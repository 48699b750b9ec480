from __future__ import annotations

import pytest

from memoranda.remember.sources import find_channel, trust_of_source


@pytest.mark.parametrize(
    ("source", "trust"),
    [
        (None, "user"),
        ("Chat Import", "user"),
        ("user_input", "user"),
        ("trip", "user"),
        ("agent", "assistant"),
        ("notes", "assistant"),
        ("cli", "document"),
        ("summary", "document"),
        ("https://x.example", "document"),
    ],
)
def test_trust_is_that_of_the_source(source: str | None, trust: str) -> None:
    assert trust_of_source(source, session="trip") == trust


@pytest.mark.parametrize(
    ("trust", "source", "channel"),
    [
        ("user", None, "user"),
        ("user", "conversation", "user"),
        ("user", "https://x.example", "outside"),
        ("tool", None, "outside"),
        ("system", None, "outside"),
        ("model", "conversation", "outside"),
        ("document", "handbook", "outside"),
        ("document", "summary", "agent"),
        ("document", "upkeep", "agent"),
        ("assistant", "conversation", "agent"),
        ("assistant", "item", "agent"),
        ("user", "agent", "agent"),
    ],
)
def test_channel_is_found_by_trust_and_source(trust: str, source: str | None, channel: str) -> None:
    assert find_channel(trust, source) == channel


@pytest.mark.parametrize(
    "source",
    [None, "user", "user_input", "conversation", "chat import", "trip", "agent", "notes", "cli", "manual", "page"],
)
def test_channel_follows_the_trust_of_the_source(source: str | None) -> None:
    trust = trust_of_source(source, session="trip")
    expected = {"user": "user", "assistant": "agent", "document": "outside"}[trust]
    assert find_channel(trust, source, session="trip") == expected
