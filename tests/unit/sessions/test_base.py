from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError

import pytest

from memoranda.errors import InvalidInput, InvalidType
from memoranda.sessions.base import Namespace, Tenant, Workflow
from memoranda.testing.values import BAD_NAMES
from memoranda.validation import check_ttl

CONSTRUCTORS: list[Callable[[str], object]] = [
    Tenant,
    Namespace,
    lambda name: Workflow(name, "w"),
    lambda name: Workflow("t", name),
    lambda name: Namespace("t", name),
    lambda name: Namespace("t", None, name),
]


@pytest.mark.parametrize("construct", CONSTRUCTORS, ids=range(len(CONSTRUCTORS)))
@pytest.mark.parametrize("name", [name for name in BAD_NAMES if name is not None], ids=range(len(BAD_NAMES) - 1))
def test_invalid_names_raise(construct: Callable[[str], object], name: str) -> None:
    with pytest.raises(InvalidInput):
        construct(name)


@pytest.mark.parametrize("construct", CONSTRUCTORS[:4], ids=range(4))
def test_tenant_and_workflow_need_a_name(construct: Callable[[str], object]) -> None:
    with pytest.raises(InvalidInput):
        construct(None)  # type: ignore[arg-type]


def test_error_says_which_name_is_wrong() -> None:
    with pytest.raises(InvalidInput, match="workflow has 600 characters; at most 512 fit"):
        Namespace("t", "w" * 600, "a")


def test_missing_name_differs_from_every_name() -> None:
    paths = {Namespace("t", workflow, agent).path for workflow in (None, "-", "=") for agent in (None, "-", "=")}
    assert len(paths) == 9


def test_namespaces_compare_by_value_and_are_frozen() -> None:
    assert Namespace("t", "w", "a") == Namespace("t", "w", "a")
    assert len({Namespace("t", "w", "a"), Namespace("t", "w", "a"), Namespace("t", "W", "a")}) == 2
    assert repr(Namespace("t", None, "a")) == "Namespace(tenant='t', workflow=None, agent='a')"
    with pytest.raises(FrozenInstanceError):
        Namespace("t").tenant = "other"  # type: ignore[misc]


def test_check_ttl_returns_seconds() -> None:
    assert check_ttl(60) == 60.0
    assert check_ttl(0.001) == 0.001


def test_check_ttl_of_another_type_raises() -> None:
    with pytest.raises(InvalidType):
        check_ttl("60")  # type: ignore[arg-type]
