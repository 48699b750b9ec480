"""The contract of a `ValueStore` as a pytest suite: subclass `ValueStoreContract` and define the fixture `store`."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import product

import pytest

from memoranda.errors import Closed, InvalidInput, InvalidType
from memoranda.sessions.base import Namespace, Tenant, ValueStore, Workflow
from memoranda.types import JSON

AGENT = Namespace("acme", None, "writer")
IN_WORKFLOW = Namespace("acme", "campaign", "writer")

CONFUSABLE = (
    "a", "A", "ab", "b", "a/b", "a:b", "a b", "a%2Fb", "%61", "-", "=", "=a", "..", "../a", "a/../b", "*", "?",
    "[a]", "{a}", "}", "None", "null", "0", "а", "ａ", "é", "e\u0301", "a\u200b", "a\n", " a", "a ", "\\", "'", '"',
    "𝒶", "ﬁ",
)  # fmt: skip
"""Names that a wrong store would mix up: prefixes, cases, separators, patterns, similar letters."""

_circular: list[JSON] = []
_circular.append(_circular)
_deep: JSON = "bottom"
for _ in range(200):
    _deep = [_deep]
_nested: JSON = [[], {}, None, 2.5, {"c": "d"}]
_mapped: JSON = {"": 1, "a": {"b": _nested}, "ключ": "значение", "\udfff": 1}

VALUES: tuple[JSON, ...] = (
    *(None, True, False, 0, -1, 2**70, 0.1, -0.0, 1e300, "", "text", "𝒶\n\t\u2028", [], {}),
    *(_nested, _mapped, "lone \ud800", "a\0b"),
)
BAD_VALUES: tuple[object, ...] = (
    *(math.nan, math.inf, {"a": [-math.inf]}, object(), {1: "a"}, {"a": {None: 1}}, {1, 2}, b"bytes"),
    *(datetime.now(UTC), _circular, _deep, 10**5000, "x" * 1_000_001),
)
BAD_NAMES: tuple[object, ...] = ("", "  ", "a\0b", "lone \ud800", "x" * 513, 7, None, ["a"], b"a")
BAD_TTLS: tuple[object, ...] = (0, -1, -0.5, math.nan, math.inf, 1e12, "60", True)


class ValueStoreContract:
    """The contract of a `ValueStore`. Name the subclass `Test…`, and define the fixture `store` and `advance`.

    The fixture yields a new, empty store that holds at least 2,000 values.
    """

    @pytest.fixture
    def store(self) -> Iterable[ValueStore]:
        raise NotImplementedError("define a fixture named `store` that yields a new, empty store")

    def advance(self, seconds: float) -> None:
        """Let this much time pass for the store."""
        raise NotImplementedError("define advance: move the store's clock, or sleep")

    @pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
    def test_value_is_returned_with_its_type(self, store: ValueStore, value: JSON) -> None:
        store.set(AGENT, {"key": value})
        found = store.get(AGENT, ["key"])
        assert found == {"key": value}
        assert type(found["key"]) is type(value)

    def test_none_is_a_value_and_a_missing_key_is_left_out(self, store: ValueStore) -> None:
        store.set(AGENT, {"nothing": None})
        assert store.get(AGENT, ["nothing", "missing"]) == {"nothing": None}

    def test_get_keeps_order_of_keys_and_returns_each_once(self, store: ValueStore) -> None:
        store.set(AGENT, {"a": 1, "b": 2, "c": 3})
        assert list(store.get(AGENT, ["c", "x", "a", "c"]).items()) == [("c", 3), ("a", 1)]

    def test_calls_without_keys_do_nothing(self, store: ValueStore) -> None:
        store.set(AGENT, {})
        assert store.get(AGENT, []) == {}
        assert store.delete(AGENT, []) == 0
        assert store.keys(AGENT) == []
        assert store.count(AGENT) == store.clear(AGENT) == 0

    def test_store_copies_values_in_and_out(self, store: ValueStore) -> None:
        value: dict[str, JSON] = {"list": [1]}
        store.set(AGENT, {"key": value})
        value["list"] = "changed"
        first = store.get(AGENT, ["key"])
        assert first == {"key": {"list": [1]}}
        first["key"] = "changed"
        second = store.get(AGENT, ["key"])["key"]
        assert isinstance(second, dict)
        second["list"] = "changed"
        assert store.get(AGENT, ["key"]) == {"key": {"list": [1]}}

    def test_tuples_are_returned_as_lists(self, store: ValueStore) -> None:
        store.set(AGENT, {"key": (1, (2,))})  # type: ignore[dict-item]
        assert store.get(AGENT, ["key"]) == {"key": [1, [2]]}

    def test_setting_again_replaces_value(self, store: ValueStore) -> None:
        store.set(AGENT, {"a": 1, "b": 1})
        store.set(AGENT, {"a": 2})
        assert store.get(AGENT, ["a", "b"]) == {"a": 2, "b": 1}
        assert store.count(AGENT) == 2

    def test_delete_returns_number_of_deleted_values(self, store: ValueStore) -> None:
        store.set(AGENT, {"a": 1, "b": 2, "c": 3})
        assert store.delete(AGENT, ["a", "b", "b", "x"]) == 2
        assert store.delete(AGENT, ["a"]) == 0
        assert store.keys(AGENT) == ["c"]

    def test_keys_are_sorted_and_unchanged(self, store: ValueStore) -> None:
        store.set(AGENT, dict.fromkeys(CONFUSABLE, 1))
        assert store.keys(AGENT) == sorted(CONFUSABLE)
        assert store.get(AGENT, CONFUSABLE) == dict.fromkeys(CONFUSABLE, 1)

    def test_many_values_in_one_call(self, store: ValueStore) -> None:
        many: dict[str, JSON] = {f"key {number:04}": number for number in range(1200)}
        store.set(IN_WORKFLOW, many)
        assert store.get(IN_WORKFLOW, list(many)) == many
        assert store.keys(IN_WORKFLOW) == list(many)
        assert store.count(IN_WORKFLOW) == 1200
        assert store.delete(IN_WORKFLOW, list(many)[:600]) == 600
        assert store.clear(IN_WORKFLOW) == 600
        assert store.count(Tenant("acme")) == 0

    def test_similar_names_are_kept_apart(self, store: ValueStore) -> None:
        spaces = [Namespace(name, workflow, agent) for name, workflow, agent in _confusable_spaces()]
        for number, space in enumerate(spaces):
            store.set(space, {"key": number})
        for number, space in enumerate(spaces):
            assert store.get(space, ["key"]) == {"key": number}, space
            assert store.keys(space) == ["key"], space
        assert store.clear(spaces[0]) == 1
        assert all(store.count(space) == 1 for space in spaces[1:])

    def test_clear_and_count_cover_exactly_the_given_level(self, store: ValueStore) -> None:
        spaces = [Namespace(*parts) for parts in product(["t", "tt"], ["w", "ww", None], ["a", "aa", None])]
        for space in spaces:
            store.set(space, {"x": 1, "y": 2})
        assert store.count(Namespace("t", "w", "a")) == store.clear(Namespace("t", "w", "a")) == 2
        assert store.count(Workflow("t", "w")) == store.clear(Workflow("t", "w")) == 4
        assert store.count(Workflow("t", "ww")) == 6
        assert store.count(Namespace("t", None, None)) == store.clear(Namespace("t", None, None)) == 2
        assert store.count(Tenant("t")) == store.clear(Tenant("t")) == 10
        assert store.count(Tenant("tt")) == 18
        assert all(store.get(space, ["x", "y"]) == {"x": 1, "y": 2} for space in spaces if space.tenant == "tt")

    def test_value_expires_after_its_ttl(self, store: ValueStore) -> None:
        store.set(IN_WORKFLOW, {"short": 1}, ttl=0.2)
        store.set(IN_WORKFLOW, {"long": 2}, ttl=60)
        store.set(IN_WORKFLOW, {"default": 3})
        assert store.keys(IN_WORKFLOW) == ["default", "long", "short"]
        self.advance(0.25)
        assert store.get(IN_WORKFLOW, ["short", "long", "default"]) == {"long": 2, "default": 3}
        assert store.keys(IN_WORKFLOW) == ["default", "long"]
        assert store.count(IN_WORKFLOW) == store.count(Workflow("acme", "campaign")) == store.count(Tenant("acme")) == 2
        assert store.delete(IN_WORKFLOW, ["short"]) == 0
        assert store.clear(IN_WORKFLOW) == 2

    def test_setting_again_renews_ttl_and_reading_does_not(self, store: ValueStore) -> None:
        store.set(AGENT, {"renewed": 1, "read": 1, "shortened": 1}, ttl=0.3)
        store.set(AGENT, {"shortened": 2}, ttl=0.1)
        self.advance(0.2)
        store.set(AGENT, {"renewed": 2}, ttl=60)
        assert store.get(AGENT, ["read", "shortened"]) == {"read": 1}
        self.advance(0.2)
        assert store.get(AGENT, ["renewed", "read", "shortened"]) == {"renewed": 2}

    @pytest.mark.parametrize("value", BAD_VALUES, ids=range(len(BAD_VALUES)))
    def test_value_that_is_not_json_is_refused_and_nothing_is_written(self, store: ValueStore, value: JSON) -> None:
        with pytest.raises(InvalidInput):
            store.set(AGENT, {"good": 1, "bad": value})
        assert store.keys(AGENT) == []

    @pytest.mark.parametrize("name", BAD_NAMES, ids=range(len(BAD_NAMES)))
    def test_bad_keys_are_refused(self, store: ValueStore, name: str) -> None:
        if name.__hash__ is not None:
            with pytest.raises(InvalidInput):
                store.set(AGENT, {"good": 1, name: 1})
        with pytest.raises(InvalidInput):
            store.get(AGENT, [name])
        with pytest.raises(InvalidInput):
            store.delete(AGENT, [name])
        assert store.keys(AGENT) == []

    def test_string_in_place_of_keys_is_refused(self, store: ValueStore) -> None:
        with pytest.raises(InvalidType):
            store.get(AGENT, "key")
        with pytest.raises(InvalidType):
            store.delete(AGENT, "key")

    @pytest.mark.parametrize("ttl", BAD_TTLS, ids=range(len(BAD_TTLS)))
    def test_bad_ttls_are_refused(self, store: ValueStore, ttl: float) -> None:
        with pytest.raises(InvalidInput):
            store.set(AGENT, {"key": 1}, ttl=ttl)
        assert store.count(AGENT) == 0

    def test_concurrent_writes_lose_no_values(self, store: ValueStore) -> None:
        def work(number: int) -> None:
            for step in range(20):
                store.set(IN_WORKFLOW, {f"{number} {step}": step})
                assert store.get(IN_WORKFLOW, [f"{number} {step}"]) == {f"{number} {step}": step}
                store.delete(IN_WORKFLOW, [f"{number} {step - 1}"])

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert store.keys(IN_WORKFLOW) == [f"{number} 19" for number in range(4)]

    def test_use_after_close_raises_closed(self, store: ValueStore) -> None:
        close = getattr(store, "close", None)
        if close is None:
            pytest.skip("this store has no close()")
        close()
        close()
        for use in (lambda: store.get(AGENT, ["a"]), lambda: store.set(AGENT, {"a": 1}), lambda: store.count(AGENT)):
            with pytest.raises(Closed):
                use()


def _confusable_spaces() -> Iterable[tuple[str, str | None, str | None]]:
    for name in CONFUSABLE:
        yield "t", None, name
        yield "t", name, None
        yield name, None, "t"
        yield "t", name, "t"
    yield "a", "b", "c"
    yield "a/b", "c", None
    yield "a", "b/c", None
