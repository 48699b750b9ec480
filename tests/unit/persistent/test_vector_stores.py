from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from memoranda import InvalidInput, InvalidType, MissingExtra, PersistentMemory
from memoranda.index.qdrant_edge import QdrantEdge
from memoranda.persistent.backends import vector_store
from memoranda.testing.fakes import HashEmbedder


@dataclass
class Config:
    """The shape of mem0's own configuration objects."""

    provider: Any
    config: Any = field(default_factory=dict)


@dataclass
class QdrantSettings:
    path: str
    collection_name: str = "mem0"
    embedding_model_dims: int = 1536
    url: str | None = None


def test_nothing_named_is_this_package_s_own_index() -> None:
    assert vector_store(None) == vector_store("faiss")
    assert vector_store(None).engine is None


def test_faiss_may_have_a_file_or_a_folder(tmp_path: Path) -> None:
    assert vector_store({"provider": "faiss", "config": {"path": "a.faiss"}}).faiss_path == "a.faiss"
    folder = vector_store(Config("faiss", {"path": str(tmp_path)}))
    assert folder.faiss_path == str(tmp_path / "memories.faiss")


@pytest.mark.parametrize(
    "config",
    [
        "qdrant",
        {"provider": "qdrant"},
        {"provider": "qdrant", "config": {"embedding_model_dims": 384, "on_disk": False, "path": "unused"}},
        Config("qdrant", None),
    ],
)
def test_qdrant_by_name_in_every_form(config: Any) -> None:
    engine = vector_store(config).engine
    assert isinstance(engine, QdrantEdge)
    engine.close()


def test_the_settings_may_be_an_object(tmp_path: Path) -> None:
    engine = vector_store(Config("qdrant", QdrantSettings(str(tmp_path / "q")))).engine
    assert engine is not None
    engine.close()
    assert (tmp_path / "q" / "mem0").is_dir()


def test_a_store_that_does_not_exist_names_those_that_do() -> None:
    with pytest.raises(InvalidInput, match="no vector_store is named 'pgvector': known are chroma, faiss, qdrant"):
        PersistentMemory("a", vector_store_config={"provider": "pgvector", "config": {}})


def test_a_setting_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InvalidInput, match="qdrant has no setting pth: known are api_key, collection_name, host"):
        vector_store({"provider": "qdrant", "config": {"pth": "x"}})
    with pytest.raises(InvalidInput, match="faiss has no setting url"):
        vector_store({"provider": "faiss", "config": {"url": "x"}})


@pytest.mark.parametrize("config", [{}, {"config": {}}, 5, Config(None)])
def test_a_configuration_without_a_provider_is_refused(config: Any) -> None:
    with pytest.raises(InvalidType, match="chroma, faiss, qdrant"):
        vector_store(config)


def test_chroma_not_installed_names_the_install_line() -> None:
    with pytest.raises(MissingExtra, match=r'pip install "memoranda\[chroma\]"'):
        vector_store("chroma")


def test_mem0_not_installed_names_the_install_line() -> None:
    with pytest.raises(ImportError, match=r'pip install "memoranda\[mem0\]"'):
        PersistentMemory("a", mem0_config={"version": "v1.1"})


@pytest.mark.parametrize("provider", ["faiss", "qdrant"])
def test_the_answers_are_the_same_whoever_keeps_the_vectors(tmp_path: Path, provider: str) -> None:
    facts = ["Ann likes green tea", "Bob drives a red car", "Ann lives in Berlin", "Bob has two cats"]
    url = f"sqlite:///{tmp_path}/{provider}.db"
    config = {"provider": provider, "config": {"path": str(tmp_path / provider)}}
    with PersistentMemory("a", embedding_backend=HashEmbedder(64), vector_store_config=config, db_url=url) as memory:
        memory.save_to_memory("", facts)
        found = memory.recall_from_memory(["where does Ann live", "red car"], limit=2)["memories"]
    assert [text.split(" (")[0] for text in found] == ["Ann lives in Berlin", "Bob drives a red car"]
