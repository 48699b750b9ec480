from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from memoranda import registry
from memoranda.errors import InvalidInput, MissingExtra, NotFound
from memoranda.llm.base import open_llm


def test_open_llm_opens_a_script(tmp_path: Path) -> None:
    script = tmp_path / "answers.json"
    script.write_text(json.dumps(["first", "second"]), encoding="utf-8")
    model = open_llm(f"scripted:{script}")
    assert [model.complete("?", max_tokens=9), model.complete("?", max_tokens=9)] == ["first", "second"]


@pytest.mark.parametrize("content", ["no JSON", '{"a": 1}', "[1, 2]"])
def test_script_that_is_not_a_list_of_texts_is_refused(content: str, tmp_path: Path) -> None:
    script = tmp_path / "answers.json"
    script.write_text(content, encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"answers\.json"):
        open_llm(f"scripted:{script}")


@pytest.mark.parametrize("provider", ["gguf", "scripted"])
def test_missing_file_is_named(provider: str, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="nothing-here"):
        open_llm(f"{provider}:{tmp_path / 'nothing-here'}")


@pytest.mark.parametrize(("provider", "key"), [("openai", "OPENAI_API_KEY"), ("anthropic", "ANTHROPIC_API_KEY")])
def test_open_llm_opens_a_remote_model(provider: str, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(provider)
    monkeypatch.setenv(key, "any text")
    assert callable(open_llm(f"{provider}:some-model").complete)


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_missing_extra_names_the_install_command(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, f"memoranda.llm.{provider}", raising=False)
    monkeypatch.setitem(sys.modules, provider, None)
    with pytest.raises(MissingExtra, match=rf"pip install \"memoranda\[{provider}\]\""):
        open_llm(f"{provider}:some-model")


@pytest.mark.parametrize("name", ["openai", "scripted:"])
def test_provider_without_a_model_is_refused(name: str) -> None:
    if name == "openai":
        pytest.importorskip("openai")
    with pytest.raises(InvalidInput, match="names no model"):
        open_llm(name)


def test_unknown_provider_lists_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match="known are anthropic, gguf, openai, scripted"):
        open_llm("nope:x")
    assert registry.known_names("llm") == ["anthropic", "gguf", "openai", "scripted"]
