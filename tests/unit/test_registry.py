from __future__ import annotations

from pathlib import Path

import pytest

from memoranda import registry
from memoranda.embedding.model import EmbeddingModel
from memoranda.embedding.static import StaticEmbedder
from memoranda.errors import InvalidInput, MissingExtra


def test_a_name_gives_its_class() -> None:
    assert registry.resolve("embedder", "static") is StaticEmbedder


def test_every_entry_without_an_extra_can_be_resolved() -> None:
    for kind, entries in registry._TABLE.items():
        for name, entry in entries.items():
            if entry.extra is None:
                assert callable(registry.resolve(kind, name))


def test_unknown_names_and_kinds_list_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match=r"'nope': known are .*e5-small-v2.*static"):
        registry.resolve("embedder", "nope")
    with pytest.raises(InvalidInput, match="kinds are embedder"):
        registry.known_names("toaster")


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = registry.Entry("a_package_nobody_has.part:Part", extra="some-extra")
    monkeypatch.setitem(registry._TABLE["embedder"], "theirs", entry)
    with pytest.raises(MissingExtra, match=r"pip install \"memoranda\[some-extra\]\""):
        registry.resolve("embedder", "theirs")


def test_a_module_missing_for_no_extra_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry._TABLE["embedder"], "ours", registry.Entry("a_package_nobody_has:Part"))
    with pytest.raises(ModuleNotFoundError):
        registry.resolve("embedder", "ours")


@pytest.fixture
def joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package that brings an embedder of its own."""
    (tmp_path / "their_embedder.py").write_text(
        "from memoranda.embedding.static import StaticEmbedder\n"
        "class Theirs(StaticEmbedder):\n"
        "    def __init__(self, model, *, use_gpu):\n"
        "        super().__init__()\n"
        "        self.model = model\n"
    )
    metadata = tmp_path / "their_embedder-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: their-embedder\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[memoranda.embedders]\ntheirs = their_embedder:Theirs\n")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("joined")
def test_an_installed_package_joins_by_entry_point() -> None:
    assert "theirs" in registry.known_names("embedder")
    made = registry.resolve("embedder", "theirs")("small", use_gpu=False)
    assert made.model == "small"
    assert EmbeddingModel("theirs:small").encode("hello").shape == (256,)
