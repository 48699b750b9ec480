from __future__ import annotations

from pathlib import Path

import pytest

from memoranda import registry
from memoranda.embedding.local import StaticEmbedder
from memoranda.embedding.model import EmbeddingModel
from memoranda.errors import InvalidInput, MissingExtra


def test_resolve_returns_the_class_of_a_name() -> None:
    assert registry.resolve("embedder", "static") is StaticEmbedder


def test_every_entry_without_an_extra_resolves() -> None:
    for kind, entries in registry._TABLE.items():
        for name, entry in entries.items():
            if entry.extra is None:
                assert callable(registry.resolve(kind, name))


def test_unknown_name_or_kind_lists_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match=r"'nope': known are .*e5-dialogue.*static"):
        registry.resolve("embedder", "nope")
    with pytest.raises(InvalidInput, match="kinds are embedder"):
        registry.known_names("toaster")


def test_missing_extra_names_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = registry.Entry("a_package_nobody_has.part:Part", extra="some-extra")
    monkeypatch.setitem(registry._TABLE["embedder"], "theirs", entry)
    with pytest.raises(MissingExtra, match=r"pip install \"memoranda\[some-extra\]\""):
        registry.resolve("embedder", "theirs")


def test_missing_module_without_an_extra_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry._TABLE["embedder"], "ours", registry.Entry("a_package_nobody_has:Part"))
    with pytest.raises(ModuleNotFoundError):
        registry.resolve("embedder", "ours")


@pytest.fixture
def installed_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package with an embedder."""
    (tmp_path / "their_embedder.py").write_text(
        "from memoranda.embedding.local import StaticEmbedder\n"
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


@pytest.mark.usefixtures("installed_package")
def test_installed_package_adds_an_embedder_by_entry_point() -> None:
    assert "theirs" in registry.known_names("embedder")
    embedder = registry.resolve("embedder", "theirs")("small", use_gpu=False)
    assert embedder.model == "small"
    assert EmbeddingModel("theirs:small").encode("hello").shape == (256,)
