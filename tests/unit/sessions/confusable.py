"""Random names that look alike, and a check that a store keeps them apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from hypothesis import strategies as st

from memoranda.sessions.base import Namespace, Tenant, ValueScope, ValueStore, Workflow
from memoranda.testing.values import CONFUSABLE

Contents: TypeAlias = Mapping[tuple[Namespace, str], int]

_plain = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=6)
_base = st.one_of(st.sampled_from(CONFUSABLE), _plain.filter(str.strip))
names = st.one_of(
    _base,
    _base.map(str.upper),
    st.tuples(_base, _base).map("".join),
    st.tuples(_base, _base).map("/".join),
)
namespaces = st.builds(Namespace, names, st.none() | names, st.none() | names)
contents = st.dictionaries(st.tuples(namespaces, names), st.integers(0, 9), min_size=2, max_size=12)


def check_isolation(store: ValueStore, contents: Contents, unused: Namespace) -> None:
    """Check that each namespace has exactly its own values, and that clearing removes only its scope."""
    for (namespace, key), value in contents.items():
        store.set(namespace, {key: value})
    left = dict(contents)
    every_key = list({key for _, key in contents})
    for namespace in [unused, *(namespace for namespace, _ in contents)]:
        assert store.get(namespace, every_key) == _values_of(left, namespace)
        assert store.keys(namespace) == sorted(_values_of(left, namespace))
    for namespace, _ in contents:
        for within in _scopes_of(namespace):
            removed = {pair for pair in left if _is_within(pair[0], within)}
            assert store.count(within) == len(removed)
            assert store.clear(within) == len(removed)
            left = {pair: value for pair, value in left.items() if pair not in removed}
            assert all(store.get(other, [key]) == {key: value} for (other, key), value in left.items())


def _values_of(contents: Contents, namespace: Namespace) -> dict[str, int]:
    return {key: value for (other, key), value in contents.items() if other == namespace}


def _scopes_of(namespace: Namespace) -> list[ValueScope]:
    workflow = [] if namespace.workflow is None else [Workflow(namespace.tenant, namespace.workflow)]
    return [namespace, *workflow, Tenant(namespace.tenant)]


def _is_within(namespace: Namespace, within: ValueScope) -> bool:
    if isinstance(within, Namespace):
        return namespace == within
    same_workflow = isinstance(within, Tenant) or namespace.workflow == within.workflow
    return namespace.tenant == within.tenant and same_workflow
