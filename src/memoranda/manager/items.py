"""Items: values under a caller's own key in a namespace.

What only one method needs is imported there: the remote client imports this module, and it must load no engine.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memoranda.errors import InvalidInput, InvalidType
from memoranda.items.base import (
    Item,
    ItemOrder,
    NamespaceActivity,
    check_index,
    check_label,
    check_namespace,
    check_order,
    check_values,
    make_item_filter,
)
from memoranda.manager.recall import ManagerMethods, as_text
from memoranda.records import ResultList
from memoranda.text.checks import clean_query, clean_text
from memoranda.types import JSON, AnyUser
from memoranda.validation import (
    check_flag,
    check_integer,
    check_limit,
    check_offset,
    check_optional_datetime,
    check_ttl,
)

if TYPE_CHECKING:
    from memoranda.items.write import PutOptions
    from memoranda.remember.pipeline import Content

_MAX_NUMBERS = 100_000
"""Numbers of a vector: no model makes so many."""


class ItemMethods(ManagerMethods):
    """Put, get, delete and search JSON values by namespace and key.

    An item belongs to exactly the agent, user and session that it was put with; None means that it belongs to none.
    `recall` finds items too, each with its `namespace` and `key` in the metadata.
    """

    def put(
        self,
        namespace: Sequence[str],
        key: str,
        value: JSON,
        *,
        ttl: float | None = None,
        index: Sequence[str] | bool | None = None,
        agent: str | None = None,
        user: str | None = None,
        session: str | None = None,
    ) -> Item:
        """Store a value under a key of a namespace and return the item; a value that is there already is replaced.

        The value comes back exactly as it was put. The text by which it is found has secrets removed.

        Args:
            namespace: The names that the key is below, such as `("users", "ann", "notes")`.
            key: The key.
            value: Any JSON value.
            ttl: Seconds until it expires; None for never.
            index: What is searched: all of the value when None, nothing when False, or a list of paths such as
                `["title", "tags[*]", "author.name"]`. Of several texts, the one that fits a query best decides.
            agent, user, session: The owner of the item.
        """
        return self.put_many(
            namespace, {clean_text(key, "key"): value}, ttl=ttl, index=index, agent=agent, user=user, session=session
        )[0]

    def put_many(
        self,
        namespace: Sequence[str],
        values: Mapping[str, JSON],
        *,
        ttl: float | None = None,
        index: Sequence[str] | bool | None = None,
        expected: Mapping[str, datetime | str | None] | None = None,
        agent: str | None = None,
        user: str | None = None,
        session: str | None = None,
    ) -> list[Item]:
        """Store several values by their keys in one commit and return the items.

        Args:
            namespace: The names that the keys are below.
            values: The values by key.
            ttl, index, agent, user, session: As in `put`, for each value.
            expected: When items were put last, by key: their `updated_at` as they were read, or None where there was
                none. If one was put or deleted since, raise `Conflict` and store nothing.
        """
        names, copies, options = check_namespace(namespace), check_values(values), _put_options(ttl, index)
        stored = self._components.items.put(
            self._scope(agent, user, session), names, copies, options, _check_expected(expected)
        )
        return ResultList(stored, "item")

    def get_item(
        self,
        namespace: Sequence[str],
        key: str,
        *,
        refresh: bool = False,
        agent: str | None = None,
        user: str | None = None,
        session: str | None = None,
    ) -> Item | None:
        """Return the item under a key of a namespace; None when there is none.

        Args:
            namespace: The namespace.
            key: The key.
            refresh: Start the time to live of the item again.
            agent, user, session: The owner of the item.
        """
        scope = self._scope(agent, user, session)
        return self._components.items.get(
            scope, check_namespace(namespace), check_label(key), refresh=check_flag(refresh, "refresh")
        )

    def delete_item(
        self,
        namespace: Sequence[str],
        key: str | Sequence[str],
        *,
        agent: str | None = None,
        user: str | None = None,
        session: str | None = None,
    ) -> int:
        """Delete one item or several of a namespace in one commit; return how many there were.

        Args:
            namespace: The namespace.
            key: The key, or a list of keys.
            agent, user, session: The owner of the items.
        """
        keys = [key] if isinstance(key, str) or not isinstance(key, Sequence) else key
        checked = list(dict.fromkeys(check_label(each) for each in keys))
        return self._components.items.delete(self._scope(agent, user, session), check_namespace(namespace), checked)

    def search_items(
        self,
        prefix: Sequence[str] = (),
        *,
        query: Content | Sequence[float] | None = None,
        filter: Mapping[str, Any] | None = None,
        order: ItemOrder = "-updated",
        limit: int = 10,
        offset: int = 0,
        refresh: bool = False,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> list[Item]:
        """Return items of a namespace and of those below it.

        Args:
            prefix: The first names of their namespace; `()` for all.
            query: What to look for; the best match comes first, each with a score, and what is not searched comes
                last, without one. A query without a word finds nothing. A vector of the store's embedding model is
                compared by its direction alone.
            filter: Conditions on the fields of the value, such as `{"color": "red", "author.born": {"gte": 1990}}`;
                the operators are eq, ne, in, gt, gte, lt, lte and exists.
            order: How items are ordered without a query: by when they were put, `updated` or `-updated` with the
                latest first, or by their namespace and key, `key` or `-key` with the last first.
            limit: The maximum number of items.
            offset: How many to leave out at the beginning.
            refresh: Start the time to live of the returned items again.
            agent, user, session: The owner of the items.
        """
        return ResultList(
            self._components.items.search(
                self._scope(agent, user, session),
                check_namespace(prefix, "prefix", empty=True),
                _check_query(query),
                make_item_filter(filter),
                check_order(order),
                check_limit(limit),
                check_offset(offset),
                refresh=check_flag(refresh, "refresh"),
            ),
            "item",
        )

    def namespaces(
        self,
        prefix: Sequence[str] = (),
        *,
        suffix: Sequence[str] = (),
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> list[NamespaceActivity]:
        """Return the namespaces that have items and how many, sorted.

        Args:
            prefix: How they begin; `"*"` stands for any one name.
            suffix: How they end, in the same form.
            max_depth: The largest number of names; longer ones are cut and counted together.
            limit: The maximum number of namespaces.
            offset: How many to leave out at the beginning.
            agent, user, session: The owner of the items.
        """
        return ResultList(
            self._components.items.namespaces(
                self._scope(agent, user, session),
                check_namespace(prefix, "prefix", empty=True),
                check_namespace(suffix, "suffix", empty=True),
                None if max_depth is None else check_integer(max_depth, "max_depth"),
                check_limit(limit),
                check_offset(offset),
            ),
            "namespace",
        )


def _put_options(ttl: object, index: object) -> PutOptions:
    from memoranda.items.write import PutOptions

    return PutOptions(None if ttl is None else check_ttl(ttl), check_index(index))


def _check_expected(expected: object) -> dict[str, datetime | None]:
    if expected is None:
        return {}
    if not isinstance(expected, Mapping):
        raise InvalidType(f"expected must be a dict of times by key, not {type(expected).__name__}")
    return {check_label(key): check_optional_datetime(time, "expected") for key, time in expected.items()}


def _is_finite(value: object) -> bool:
    try:
        return isinstance(value, int | float) and math.isfinite(value)
    except OverflowError:  # an integer that no float can represent
        return False


def _check_query(query: object) -> str | tuple[float, ...] | None:
    if query is None or isinstance(query, str | bytes) or not isinstance(query, Sequence):
        return None if query is None else clean_query(as_text(query, "query"))
    if not query or len(query) > _MAX_NUMBERS or not all(map(_is_finite, query)):
        raise InvalidInput(f"a query that is a vector must be a list of 1 to {_MAX_NUMBERS:,} numbers")
    return tuple(map(float, query))
