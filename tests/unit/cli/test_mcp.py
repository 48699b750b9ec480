from __future__ import annotations

import json
import stat
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from memoranda.cli.serve import ClientName
from memoranda.errors import Conflict, InvalidInput
from memoranda.mcp import install
from memoranda.mcp.install import CLIENTS, plan_install, server_entry
from memoranda.settings import get_user_settings, user_data_folder
from tests.unit.cli.conftest import Memoranda

FILES = {
    "claude-desktop": (".config/Claude/claude_desktop_config.json", "mcpServers"),
    "claude-code": (".claude.json", "mcpServers"),
    "cursor": (".cursor/mcp.json", "mcpServers"),
    "vscode": (".config/Code/User/mcp.json", "servers"),
    "codex": (".codex/config.toml", "mcp_servers"),
    "gemini": (".gemini/settings.json", "mcpServers"),
}
VARIABLES = (
    "XDG_DATA_HOME",
    "XDG_CONFIG_HOME",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "MEMORY_DB_URL",
    "MEMORY_STORAGE_DIR",
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    return tmp_path


@pytest.fixture
def run(memoranda: Memoranda, monkeypatch: pytest.MonkeyPatch) -> Memoranda:
    monkeypatch.delenv("MEMORY_DB_URL")
    return memoranda


def _load(file: Path) -> Any:
    text = file.read_text("utf-8")
    return tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)


def test_command_names_the_clients_that_are_known() -> None:
    assert [name.value for name in ClientName] == list(CLIENTS) == list(FILES)


@pytest.mark.parametrize("client", FILES)
def test_install_writes_the_file_of_each_client_once_and_uninstall_removes_it(
    run: Memoranda, home: Path, client: str
) -> None:
    name, section = FILES[client]
    file = home / name
    shown = run("mcp", "install", client, "--dry-run")
    assert (shown.exit_code, file.exists()) == (0, False)
    assert "+++ " in shown.stdout
    assert "memoranda" in shown.stdout
    made = run.json("mcp", "install", client, "--user", "ann", "--tools", "all")
    assert (made["changed"], made["backup"], made["file"]) == (True, None, str(file))
    entry = _load(file)[section]["memoranda"]
    assert Path(entry["command"]).is_absolute()
    assert entry["args"][-5:] == ["mcp", "--user", "ann", "--tools", "all"]
    assert entry.get("type", "stdio") == "stdio"
    before = file.read_bytes()
    again = run.json("mcp", "install", client, "--user", "ann", "--tools", "all")
    assert (again["changed"], again["diff"], file.read_bytes()) == (False, "", before)
    gone = run.json("mcp", "install", client, "--uninstall")
    assert gone["changed"]
    assert Path(gone["backup"]).read_bytes() == before
    assert "memoranda" not in _load(file).get(section, {})
    assert run.json("mcp", "install", client, "--uninstall")["changed"] is False


def test_other_servers_comments_and_permissions_stay(run: Memoranda, home: Path) -> None:
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    text = '{\n  // mine\n  "mcpServers": {\n    "github": {"command": "npx", "env": {"TOKEN": "secret"}}\n  }\n}\n'
    file.write_text(text, "utf-8")
    file.chmod(0o640)
    done = run("mcp", "install", "cursor")
    assert done.exit_code == 0
    assert text.partition("}\n  }")[0] in file.read_text("utf-8")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    [backup] = file.parent.glob("mcp.json.*.bak")
    assert backup.read_text("utf-8") == text
    assert stat.S_IMODE(backup.stat().st_mode) == 0o640
    run("mcp", "install", "cursor", "--uninstall")
    assert file.read_text("utf-8") == text


def test_linked_file_stays_a_link(run: Memoranda, home: Path) -> None:
    (home / "dotfiles.json").write_text("{}", "utf-8")
    (home / ".claude.json").symlink_to(home / "dotfiles.json")
    assert run("mcp", "install", "claude-code").exit_code == 0
    assert (home / ".claude.json").is_symlink()
    assert "memoranda" in _load(home / "dotfiles.json")["mcpServers"]


@pytest.mark.parametrize(
    "damaged", [b'{"mcpServers": {', b"\xff\xfe{}", b"[]", b'{"mcpServers": {"memoranda": {"url": "x"}}}']
)
def test_damaged_file_is_left_as_it_is(run: Memoranda, home: Path, damaged: bytes) -> None:
    file = home / ".claude.json"
    file.write_bytes(damaged)
    done = run("mcp", "install", "claude-code")
    assert done.exit_code == 2
    assert str(file) in done.stderr
    assert "Nothing was changed" in done.stderr
    assert file.read_bytes() == damaged
    assert [path.name for path in home.iterdir()] == [".claude.json"]


def test_database_that_is_named_here_is_written_out_for_the_client(
    run: Memoranda, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def arguments(*options: str) -> Any:
        run("mcp", "install", "gemini", *options)
        return _load(home / ".gemini" / "settings.json")["mcpServers"]["memoranda"]["args"][-3:]

    assert arguments("--db", "mine.db") == ["mcp", "--db", str(home / "mine.db")]
    monkeypatch.setenv("MEMORY_DB_URL", "sqlite:///other.db")
    assert arguments() == ["mcp", "--db", str(home / "other.db")]
    monkeypatch.delenv("MEMORY_DB_URL")
    assert arguments()[-1] == "mcp"


def test_install_names_settings_that_the_client_does_not_know(run: Memoranda, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_ENCRYPTION_KEY", "very secret")
    done = run("mcp", "install", "cursor", "--dry-run")
    assert "MEMORY_ENCRYPTION_KEY" in done.stderr
    assert "very secret" not in done.output + done.stderr


def test_wrong_calls_change_nothing(run: Memoranda, home: Path) -> None:
    assert run("mcp", "install", "notepad").exit_code == 2
    assert run("mcp", "install", "cursor", "--tools", "some").exit_code == 2
    assert run("mcp", "install", "cursor", "--name", "").exit_code == 2
    assert run("mcp", "install", "cursor", "--name", " ").exit_code == 2
    assert run("mcp", "--user", "ann", "install", "cursor").exit_code == 2
    assert run("mcp", "install", "cursor", "--uninstall").exit_code == 3
    assert list(home.iterdir()) == []


def test_concurrent_change_of_another_program_is_not_overwritten(home: Path) -> None:
    file = home / ".claude.json"
    file.write_text("{}", "utf-8")
    change = plan_install("claude-code", server_entry([]))
    file.write_text('{"a": 1}', "utf-8")
    with pytest.raises(Conflict):
        change.write()
    assert file.read_text("utf-8") == '{"a": 1}'


def test_files_of_other_platforms_and_folders(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEX_HOME", "/opt/codex")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/opt/claude")
    assert CLIENTS["codex"].file() == Path("/opt/codex/config.toml")
    assert CLIENTS["claude-code"].file() == Path("/opt/claude/.claude.json")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert CLIENTS["vscode"].file() == home / "Library/Application Support/Code/User/mcp.json"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("APPDATA", "/roaming")
    assert CLIENTS["claude-desktop"].file() == Path("/roaming/Claude/claude_desktop_config.json")
    with pytest.raises(InvalidInput, match="choose one of claude-desktop"):
        plan_install("notepad", None)


def test_temporary_environment_of_uvx_is_not_named_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    origin: dict[str, Any] = {}
    recorded = SimpleNamespace(read_text=lambda _: json.dumps(origin) if origin else None)
    monkeypatch.setattr(sys, "prefix", "/home/ann/.cache/uv/archive-v0/abc")
    monkeypatch.setattr(install.shutil, "which", lambda name, path="/usr/bin": f"{path}/{name}")
    monkeypatch.setattr(install, "distribution", lambda _: recorded)
    monkeypatch.delenv("UV", raising=False)
    monkeypatch.delenv("UV_FIND_LINKS", raising=False)
    assert server_entry(["--user", "ann"]) == {"command": "/usr/bin/uvx", "args": ["memoranda", "mcp", "--user", "ann"]}
    monkeypatch.setenv("UV", "/opt/uv/bin/uv")
    monkeypatch.setenv("UV_FIND_LINKS", "/tmp")
    wheels = ["--find-links", "/tmp"]
    assert server_entry([]) == {"command": "/opt/uv/bin/uvx", "args": [*wheels, "memoranda", "mcp"]}
    origin |= {"url": "https://git.example/memoranda", "vcs_info": {"vcs": "git", "commit_id": "abc"}}
    repository = ["--from", "memoranda @ git+https://git.example/memoranda@abc"]
    assert server_entry([])["args"] == [*wheels, *repository, "memoranda", "mcp"]
    del origin["vcs_info"]
    assert server_entry([])["args"][2:4] == ["--from", "memoranda @ https://git.example/memoranda"]
    monkeypatch.setattr(sys, "prefix", "/home/ann/venv")
    monkeypatch.setattr(sys, "executable", "/home/ann/venv/bin/python")
    assert server_entry([]) == {"command": "/home/ann/venv/bin/python", "args": ["-m", "memoranda", "mcp"]}


def test_data_folder_of_each_platform(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert user_data_folder() == home / ".local/share/memoranda"
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert user_data_folder() == home / ".local/share/memoranda"
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert user_data_folder() == Path("/data/memoranda")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert user_data_folder() == home / "Library/Application Support/memoranda"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", "/local")
    assert user_data_folder() == Path("/local/memoranda")


def test_named_database_wins_over_the_folder_of_the_user(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert get_user_settings(None).memory.db_url == f"sqlite:///{home}/.local/share/memoranda/memories.db"
    monkeypatch.setenv("MEMORY_DB_URL", "sqlite:///mine.db")
    assert get_user_settings(None).memory.db_url == "sqlite:///mine.db"
    monkeypatch.setenv("MEMORY_DB_URL", " ")
    monkeypatch.setenv("MEMORY_STORAGE_DIR", "/srv")
    assert get_user_settings(None).memory.db_url == "sqlite:///memories.db"


def test_package_without_extras_has_what_uvx_needs_to_start_the_server() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text("utf-8"))["project"]
    installed = " ".join(project["dependencies"])
    assert all(f"{name}>=" in installed for name in ("mcp", "typer"))
    assert project["scripts"]["memoranda"] == "memoranda.cli.app:main"


def test_messages_can_be_used_as_they_are(run: Memoranda, tmp_path: Path) -> None:
    wrong = run("mcp", "install", "emacs")
    assert wrong.exit_code == 2
    assert "Invalid value for 'client': 'emacs' is not one of" in wrong.stderr
    done = run("mcp", "install", "cursor", "--dry-run", "--db", str(tmp_path / "x y" / "m.db"))
    assert f"`memoranda ui --db '{tmp_path / 'x y' / 'm.db'}'`" in done.stderr
