from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from memoranda import Item, MemoryManager, aio
from memoranda.errors import InvalidType, MissingExtra
from memoranda.integrations.managers import CachedNamespace, OwnedNamespace, open_async, open_source

FRAMEWORKS = {
    "agent_framework": ("agent_framework", "agent-framework"),
    "crewai": ("crewai", "crewai"),
    "google_adk": ("google.adk", "google-adk"),
    "haystack": ("haystack", "haystack"),
    "llama_index": ("llama_index", "llama-index"),
    "pydantic_ai": ("pydantic_ai_harness", "pydantic-ai"),
    "strands": ("strands", "strands"),
}
"""Adapters, the packages that they import, and the extras that install these."""


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[MemoryManager]:
    with MemoryManager(tmp_path / "memories.db") as opened:
        yield opened


@pytest.mark.parametrize("adapter", FRAMEWORKS)
def test_adapter_without_its_framework_names_the_extra(adapter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    package, extra = FRAMEWORKS[adapter]
    for name in [name for name in sys.modules if name == package or name.startswith(f"{package}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"memoranda.integrations.{adapter}", raising=False)
    with pytest.raises(MissingExtra, match=rf'pip install "memoranda\[{extra}\]"'):
        import_module(f"memoranda.integrations.{adapter}")


def test_every_extra_of_an_adapter_exists() -> None:
    import tomllib

    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text("utf-8"))["project"]
    assert {extra for _, extra in FRAMEWORKS.values()} <= set(project["optional-dependencies"])


async def test_every_source_gives_a_blocking_and_an_async_manager(manager: MemoryManager, tmp_path: Path) -> None:
    async with aio.MemoryManager(tmp_path / "other.db") as other:
        assert open_source(manager) == (manager, False)
        await other.put(("n",), "k", 1)
        inner, owned = open_source(other)
        assert (inner.get_item(("n",), "k").value, owned) == (1, False)  # type: ignore[union-attr]
        assert open_async(other) == (other, False)
        again, owned = open_async(inner)
        await again.put(("n",), "k", 2)
        assert (inner.get_item(("n",), "k").value, owned) == (2, False)  # type: ignore[union-attr]
        for opening in (open_source, open_async):
            with pytest.raises(
                InvalidType, match=r"memoranda\.MemoryManager, or the path of a database, not builtins\.int"
            ):
                opening(5)  # type: ignore[operator]


def test_namespace_holds_neither_those_below_it_nor_other_owners(manager: MemoryManager) -> None:
    items = OwnedNamespace(manager, ("a",), user="ann")
    items.put({"one": 1, "two": 2}, index=False)
    OwnedNamespace(manager, ("a", "b"), user="ann").put({"three": 3}, index=False)
    OwnedNamespace(manager, ("a",), user="bob").put({"four": 4}, index=False)
    assert {item.key: item.value for item in items.read(page=1)} == {"one": 1, "two": 2}
    assert items.count()[0] == 2
    assert items.delete(["one", "three", "four"]) == 1
    assert items.get("three") is None


def test_cached_namespace_follows_every_kind_of_change(manager: MemoryManager) -> None:
    made: list[str] = []

    def make(item: Item) -> tuple[str, int]:
        made.append(item.key)
        return item.key, item.value

    cached, other = CachedNamespace(make, manager, ("a",)), OwnedNamespace(manager, ("a",))
    assert cached.all() == []
    other.put({"x": 1, "y": 2}, index=False)
    assert dict(cached.all()) == {"x": 1, "y": 2}
    made.clear()
    assert dict(cached.all()) == {"x": 1, "y": 2}
    assert made == []
    other.put({"x": 3}, index=False)
    assert dict(cached.all()) == {"x": 3, "y": 2}
    other.delete(["y"])
    other.put({"z": 4}, index=False)
    assert dict(cached.all()) == {"x": 3, "z": 4}
    other.delete(["x", "z"])
    assert cached.all() == []
