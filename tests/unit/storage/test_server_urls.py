from __future__ import annotations

from collections.abc import Callable

import pytest

from memoranda.errors import InvalidInput
from memoranda.sessions import redis
from memoranda.storage.postgres.connections import parse_url


def open_redis(url: str) -> object:
    return redis._open_client(url, 0.1)


@pytest.mark.parametrize(
    ("read", "url"),
    [
        *((parse_url, f"postgresql://ann:{password}@host/db") for password in ("50%secret", "a/secret", "a?secret")),
        *((parse_url, f"postgresql://ann:{password}@host/db") for password in ("a#secret", "a[secret")),
        (parse_url, "postgresql://ann:secret@[host/db"),
        (parse_url, "postgresql://ann@host/db?pool_size=secret"),
        *((open_redis, f"redis://ann:secret@{rest}") for rest in ("[host/0", "host:port/0", "host:99999/0")),
        *((open_redis, f"redis://ann:{password}@host/0") for password in ("a/secret", "a[secret")),
        (open_redis, "redis+cluster://ann:secret@host:7000,other:port"),
    ],
)
def test_address_that_cannot_be_read_is_a_typed_error_without_its_password(
    read: Callable[[str], object], url: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        read(url)
    assert "secret" not in str(refused.value)
    assert refused.value.__cause__ is None
