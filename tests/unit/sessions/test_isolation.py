from __future__ import annotations

from hypothesis import given, settings

from memoranda.sessions.base import Namespace, parse_key, qualify_keys
from memoranda.sessions.redis import KeyLayout
from memoranda.sessions.values import InMemoryBackend
from tests.unit.sessions.confusable import Contents, check_isolation, contents, names, namespaces


@settings(max_examples=200, deadline=None)
@given(contents=contents, other=namespaces)
def test_namespaces_are_isolated(contents: Contents, other: Namespace) -> None:
    check_isolation(InMemoryBackend(), contents, other)


@settings(max_examples=500, deadline=None)
@given(one=namespaces, other=namespaces)
def test_no_path_is_a_prefix_of_another(one: Namespace, other: Namespace) -> None:
    assert (one == other) == one.path.startswith(other.path)


@given(namespace=namespaces, key=names)
def test_full_name_has_safe_characters_and_returns_its_key(namespace: Namespace, key: str) -> None:
    name = qualify_keys(namespace, [key])[key]
    assert parse_key(name) == key
    assert name.isascii()
    assert name.count("/") == 3
    assert not set(name) & set("{}*?[]\\: \n")


@given(one=namespaces, other=namespaces, key=names)
def test_redis_keys_are_equal_only_for_equal_namespaces(one: Namespace, other: Namespace, key: str) -> None:
    layout = KeyLayout("memoranda:")
    keys = [layout.bucket(namespace).keys(qualify_keys(namespace, [key]).values()) for namespace in (one, other)]
    assert (keys[0] == keys[1]) == (one == other)
