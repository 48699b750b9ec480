from __future__ import annotations

from hypothesis import given, settings

from memoranda.sessions.base import Namespace, key_of, named
from memoranda.sessions.inmemory import InMemoryBackend
from memoranda.sessions.redis import Layout
from tests.unit.sessions.confusable import Contents, check_isolation, contents, names, namespaces


@settings(max_examples=200, deadline=None)
@given(contents=contents, stranger=namespaces)
def test_nothing_is_seen_under_another_name(contents: Contents, stranger: Namespace) -> None:
    check_isolation(InMemoryBackend(), contents, stranger)


@settings(max_examples=500, deadline=None)
@given(one=namespaces, other=namespaces)
def test_no_path_begins_with_another(one: Namespace, other: Namespace) -> None:
    assert (one == other) == one.path.startswith(other.path)


@given(space=namespaces, key=names)
def test_a_name_gives_its_key_back_and_is_safe_anywhere(space: Namespace, key: str) -> None:
    name = named(space, [key])[key]
    assert key_of(name) == key
    assert name.isascii()
    assert name.count("/") == 3
    assert not set(name) & set("{}*?[]\\: \n")


@given(one=namespaces, other=namespaces, key=names)
def test_redis_keys_meet_only_where_namespaces_do(one: Namespace, other: Namespace, key: str) -> None:
    layout = Layout("memoranda:")
    keys = [layout.bucket(space).keys(named(space, [key]).values()) for space in (one, other)]
    assert (keys[0] == keys[1]) == (one == other)
