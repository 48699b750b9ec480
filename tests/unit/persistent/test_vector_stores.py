from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from memoranda import InvalidInput, InvalidType, MissingExtra, PersistentMemory
from memoranda.index.qdrant_edge import QdrantEdge
from memoranda.persistent.backends import open_vector_store
from memoranda.testing.fakes import HashEmbedder


@dataclass
class Config:
    """Has the attributes of mem0's configuration objects."""

    provider: Any
    config: Any = field(default_factory=dict)


@dataclass
class QdrantSettings:
    path: str
    collection_name: str = "mem0"
    embedding_model_dims: int = 1536
    url: str | None = None


def test_default_is_built_in_index() -> None:
    assert open_vector_store(None) == open_vector_store("faiss")
    assert open_vector_store(None).engine is None


def test_faiss_path_can_be_file_or_folder(tmp_path: Path) -> None:
    assert open_vector_store({"provider": "faiss", "config": {"path": "a.faiss"}}).faiss_path == "a.faiss"
    folder = open_vector_store(Config("faiss", {"path": str(tmp_path)}))
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
def test_qdrant_is_opened_from_every_form_of_config(config: Any) -> None:
    engine = open_vector_store(config).engine
    assert isinstance(engine, QdrantEdge)
    engine.close()


def test_settings_can_be_an_object(tmp_path: Path) -> None:
    engine = open_vector_store(Config("qdrant", QdrantSettings(str(tmp_path / "q")))).engine
    assert engine is not None
    engine.close()
    assert (tmp_path / "q" / "mem0").is_dir()


def test_unknown_store_lists_known_stores() -> None:
    with pytest.raises(InvalidInput, match="no vector_store is named 'pgvector': known are chroma, faiss, qdrant"):
        PersistentMemory("a", vector_store_config={"provider": "pgvector", "config": {}})


def test_unknown_setting_is_rejected() -> None:
    with pytest.raises(InvalidInput, match="qdrant has no setting pth: known are api_key, collection_name, host"):
        open_vector_store({"provider": "qdrant", "config": {"pth": "x"}})
    with pytest.raises(InvalidInput, match="faiss has no setting url"):
        open_vector_store({"provider": "faiss", "config": {"url": "x"}})


@pytest.mark.parametrize("config", [{}, {"config": {}}, 5, Config(None)])
def test_config_without_provider_is_rejected(config: Any) -> None:
    with pytest.raises(InvalidType, match="chroma, faiss, qdrant"):
        open_vector_store(config)


def test_missing_chroma_raises_with_install_line() -> None:
    with pytest.raises(MissingExtra, match=r'pip install "memoranda\[chroma\]"'):
        open_vector_store("chroma")


def test_missing_mem0_raises_with_install_line() -> None:
    with pytest.raises(ImportError, match=r'pip install "memoranda\[mem0\]"'):
        PersistentMemory("a", mem0_config={"version": "v1.1"})


@pytest.mark.parametrize("provider", ["faiss", "qdrant"])
def test_answers_are_the_same_in_every_store(tmp_path: Path, provider: str) -> None:
    facts = ["Ann likes green tea", "Bob drives a red car", "Ann lives in Berlin", "Bob has two cats"]
    url = f"sqlite:///{tmp_path}/{provider}.db"
    config = {"provider": provider, "config": {"path": str(tmp_path / provider)}}
    with PersistentMemory("a", embedding_backend=HashEmbedder(64), vector_store_config=config, db_url=url) as memory:
        memory.save_to_memory("", facts)
        found = memory.recall_from_memory(["where does Ann live", "red car"], limit=2)["memories"]
    assert [text.split(" (")[0] for text in found] == ["Ann lives in Berlin", "Bob drives a red car"]
