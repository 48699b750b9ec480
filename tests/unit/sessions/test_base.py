from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError

import pytest

from memoranda.errors import InvalidInput
from memoranda.sessions.base import Namespace, Tenant, Workflow
from memoranda.testing.values import BAD_NAMES

MAKERS: list[Callable[[str], object]] = [
    Tenant,
    Namespace,
    lambda name: Workflow(name, "w"),
    lambda name: Workflow("t", name),
    lambda name: Namespace("t", name),
    lambda name: Namespace("t", None, name),
]


@pytest.mark.parametrize("make", MAKERS, ids=range(len(MAKERS)))
@pytest.mark.parametrize("name", [name for name in BAD_NAMES if name is not None], ids=range(len(BAD_NAMES) - 1))
def test_bad_names_are_refused(make: Callable[[str], object], name: str) -> None:
    with pytest.raises(InvalidInput):
        make(name)


@pytest.mark.parametrize("make", MAKERS[:4], ids=range(4))
def test_a_tenant_and_a_workflow_must_be_named(make: Callable[[str], object]) -> None:
    with pytest.raises(InvalidInput):
        make(None)  # type: ignore[arg-type]


def test_the_name_that_is_wrong_is_said() -> None:
    with pytest.raises(InvalidInput, match="workflow has 600 characters; at most 512 fit"):
        Namespace("t", "w" * 600, "a")


def test_no_name_differs_from_every_name() -> None:
    paths = {Namespace("t", workflow, agent).path for workflow in (None, "-", "=") for agent in (None, "-", "=")}
    assert len(paths) == 9


def test_namespaces_are_values() -> None:
    assert Namespace("t", "w", "a") == Namespace("t", "w", "a")
    assert len({Namespace("t", "w", "a"), Namespace("t", "w", "a"), Namespace("t", "W", "a")}) == 2
    assert repr(Namespace("t", None, "a")) == "Namespace(tenant='t', workflow=None, agent='a')"
    with pytest.raises(FrozenInstanceError):
        Namespace("t").tenant = "other"  # type: ignore[misc]
