"""The Python blocks of every page run in an empty folder; every setting, error and method is documented."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from memoranda import MemoryConfig, MemoryManager, errors

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("docs/**/*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"])
NEED_A_SERVER = {"server.md"}  # run with a server in the tests of the server
# Run in the environments of these frameworks by tests/integrations.
NEED_A_FRAMEWORK = {
    *("agent-framework.md", "autogen.md", "crewai.md", "google-adk.md", "haystack.md", "llama-index.md"),
    *("claude-agent-sdk.md", "pydantic-ai.md", "strands.md"),
}
EXPECTED = {
    "facts.md": [
        "Ana/city Ghent 2026-03-02 Ana",
        "['My favourite colour is green.'] ()",
        "[('Ghent', 'user'), ('Lyon', 'document')]",
        "[('I live in Hamburg.', '2026-03-02'), ('I moved to Ghent last week.', 'None')]",
        "[('Hamburg', '2026-03-02'), ('Ghent', 'None'), ('Lyon', 'None')]",
        "later said on 2026-03-20: My favourite colour is green.",
    ],
    "mem0.md": [
        "My sister Eva lives in Porto",
        "[('ADD', 'I like tea'), ('UPDATE', 'I like green tea')]",
    ],
    "mcp.md": ["- Ann moved to Oslo [#1]"],
    "openai-agents.md": ["In Porto, where she lives.", "['My sister Eva lives in Porto.']", "2 items on monday"],
    "upkeep.md": [
        "merged 2 memory 1 says the same: 'We meet in room 4711'",
        "I live in Bern",
        "database file erased",
    ],
}
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


SHOWN = re.compile(r"^```text\n(<memoranda-memory .*?)^```", re.DOTALL | re.MULTILINE)
MARKER = re.compile(r"(?<=<memoranda-memory |/memoranda-memory )\w+")
AS_PRINTED = {"facts.md"}
"""Pages whose clock stands still, so that a context is printed as it is shown."""


@pytest.mark.parametrize(
    "page", [p for p in PAGES if p.name not in NEED_A_SERVER | NEED_A_FRAMEWORK], ids=lambda page: page.name
)
def test_python_blocks_of_page_run(page: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    program = "\n".join(BLOCK.findall(text))
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("MEMORY_", "EMBEDDING_"))}
    process = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=tmp_path,
        env=environment | {"PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    assert [text for text in EXPECTED.get(page.name, []) if text not in process.stdout] == []
    if page.name in AS_PRINTED:
        printed = MARKER.sub("…", process.stdout)
        shown = [MARKER.sub("…", block) for block in SHOWN.findall(text)]
        assert shown
        assert [block for block in shown if block not in printed] == []


def test_store_contract_of_storage_page_passes(tmp_path: Path) -> None:
    blocks = BLOCK.findall((ROOT / "docs" / "storage.md").read_text(encoding="utf-8"))
    (suite,) = [block for block in blocks if "StoreContract" in block]
    (tmp_path / "test_my_store.py").write_text(suite, encoding="utf-8")
    process = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_my_store.py"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert process.returncode == 0, process.stdout


def test_every_setting_is_documented() -> None:
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    variables = [spec.metadata["variable"] for spec in fields(MemoryConfig)]
    assert [name for name in variables if f"`{name}`" not in page] == []


def test_every_error_is_documented() -> None:
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    classes = [value for value in vars(errors).values() if isinstance(value, type)]
    names = [each.__name__ for each in classes if each.__module__ == errors.__name__]
    assert [name for name in names if f"`{name}`" not in page] == []


def test_every_manager_method_is_documented() -> None:
    page = (ROOT / "docs" / "which-method.md").read_text(encoding="utf-8")
    methods = [name for name in dir(MemoryManager) if not name.startswith("_")]
    assert [name for name in methods if not re.search(rf"\b{name}\b", page)] == []


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    pages = {page.name for page in ROOT.glob("docs/*.md")} - {"index.md"}
    assert [name for name in sorted(pages) if f"({name})" not in index] == []


def test_files_named_in_contributing_exist() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    paths = re.findall(r"`((?:src|tests|benchmarks|docs|examples|scripts)/[\w./-]*)`", page)
    assert len(paths) > 20
    assert [path for path in paths if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_files_work(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_headings_work(page: Path) -> None:
    links = re.findall(r"\]\((?!https?://)([^)#]*)#([^)]+)\)", page.read_text(encoding="utf-8"))
    missing = [
        f"{file}#{anchor}" for file, anchor in links if anchor not in _anchors(page.parent / file if file else page)
    ]
    assert missing == []


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
