"""Random names that look alike, and what must hold for any store whatever the names are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from hypothesis import strategies as st

from memoranda.sessions.base import Namespace, Tenant, ValueStore, Within, Workflow
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


def check_isolation(store: ValueStore, contents: Contents, stranger: Namespace) -> None:
    """Everybody finds exactly what is theirs, a stranger nothing, and clearing takes what it names."""
    for (space, key), value in contents.items():
        store.set(space, {key: value})
    left = dict(contents)
    every_key = list({key for _, key in contents})
    for space in [stranger, *(space for space, _ in contents)]:
        assert store.get(space, every_key) == _own(left, space)
        assert store.keys(space) == sorted(_own(left, space))
    for space, _ in contents:
        for within in _areas(space):
            going = {pair for pair in left if _inside(pair[0], within)}
            assert store.count(within) == len(going)
            assert store.clear(within) == len(going)
            left = {pair: value for pair, value in left.items() if pair not in going}
            assert all(store.get(other, [key]) == {key: value} for (other, key), value in left.items())


def _own(contents: Contents, space: Namespace) -> dict[str, int]:
    return {key: value for (other, key), value in contents.items() if other == space}


def _areas(space: Namespace) -> list[Within]:
    workflow = [] if space.workflow is None else [Workflow(space.tenant, space.workflow)]
    return [space, *workflow, Tenant(space.tenant)]


def _inside(space: Namespace, within: Within) -> bool:
    if isinstance(within, Namespace):
        return space == within
    same_workflow = isinstance(within, Tenant) or space.workflow == within.workflow
    return space.tenant == within.tenant and same_workflow
