"""Add Memoranda to the configuration of a client: which file that is, and what belongs into it."""

from __future__ import annotations

import difflib
import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, Final, TypeAlias

from memoranda.errors import Conflict, InvalidInput, NotFound, Unavailable
from memoranda.files import PRIVATE, atomic_replace
from memoranda.mcp.config_edit import Entry, edit_json, edit_toml

Edit: TypeAlias = Callable[[str, str, str, Entry | None], str]
"""Text, section, name and entry → the changed text."""
SERVER_NAME: Final = "memoranda"
_MAX_BYTES: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class McpClient:
    """A program that starts MCP servers, and where it keeps their list."""

    title: str
    file: Callable[[], Path]
    section: str
    """The key in the file below which servers are listed."""
    typed: bool
    """Whether an entry says that the server is started and not called."""
    edit: Edit = edit_json

    def entry(self, command: Entry) -> Entry:
        """Return the entry for a command."""
        return {"type": "stdio", **command} if self.typed else command


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError as error:
        raise InvalidInput("the home folder is unknown: set HOME, or name the file with --file") from error


def _app_folder(name: str) -> Path:
    """Return where desktop programs keep their settings."""
    if sys.platform == "darwin":
        return _home() / "Library" / "Application Support" / name
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or _home() / "AppData" / "Roaming") / name
    return Path(os.environ.get("XDG_CONFIG_HOME") or _home() / ".config") / name


def _claude_code_file() -> Path:
    folder = os.environ.get("CLAUDE_CONFIG_DIR")
    return (Path(folder) if folder else _home()) / ".claude.json"


def _codex_file() -> Path:
    folder = os.environ.get("CODEX_HOME")
    return (Path(folder) if folder else _home() / ".codex") / "config.toml"


CLIENTS: Final[Mapping[str, McpClient]] = {
    "claude-desktop": McpClient(
        "Claude Desktop", lambda: _app_folder("Claude") / "claude_desktop_config.json", "mcpServers", typed=False
    ),
    "claude-code": McpClient("Claude Code", _claude_code_file, "mcpServers", typed=True),
    "cursor": McpClient("Cursor", lambda: _home() / ".cursor" / "mcp.json", "mcpServers", typed=True),
    "vscode": McpClient("VS Code", lambda: _app_folder("Code") / "User" / "mcp.json", "servers", typed=True),
    "codex": McpClient("Codex", _codex_file, "mcp_servers", typed=False, edit=edit_toml),
    "gemini": McpClient("Gemini CLI", lambda: _home() / ".gemini" / "settings.json", "mcpServers", typed=False),
}


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """A change of a configuration file, before it is written."""

    client: str
    file: Path
    old: bytes | None
    """None when there is no file yet."""
    new: bytes
    diff: str

    @property
    def changed(self) -> bool:
        return self.new != (self.old or b"")

    def write(self) -> Path | None:
        """Write the file; return the copy of the old one, if there was one."""
        target = self.file.resolve()  # a link stays a link
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            mode = target.stat().st_mode & 0o777 if self.old is not None else PRIVATE
            backup = None if self.old is None else _write_backup(target, self.old, mode)
            with atomic_replace(target, mode) as temporary:
                temporary.write_bytes(self.new)
                if _read(target) != self.old:
                    raise Conflict(f"{self.file} was changed by another program in the meantime: run the command again")
        except OSError as error:
            raise Unavailable(f"cannot write {self.file} ({error.strerror}): check its permissions") from error
        return backup


def plan_install(
    client: str, entry: Entry | None, *, file: Path | None = None, name: str = SERVER_NAME
) -> ConfigChange:
    """Return how the configuration of a client changes; nothing is written.

    Args:
        client: One of `CLIENTS`.
        entry: The command and its arguments; None to remove the server.
        file: The file, when the client keeps it elsewhere.
        name: The name of the server in the file.
    """
    kind = _find_client(client)
    if not name.strip():
        raise InvalidInput("the name is empty: give the server a name")
    path = file or kind.file()
    old = _read(path)
    if old is None and entry is None:
        raise NotFound(f"there is no {path}: {kind.title} has no servers to remove")
    values = None if entry is None else kind.entry(entry)
    try:
        text = (old or b"").decode("utf-8")
        new = kind.edit(text, kind.section, name, values)
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not UTF-8 text: correct it by hand. Nothing was changed") from error
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}. Nothing was changed") from error
    return ConfigChange(client, path, old, new.encode("utf-8"), _diff(text, new, path))


def server_entry(arguments: list[str]) -> dict[str, Any]:
    """Return the command that starts this program as an MCP server, found by a client without our PATH."""
    command, *before = _own_command()
    return {"command": command, "args": [*before, "mcp", *arguments]}


def _own_command() -> list[str]:
    if _is_temporary():
        return [_find_uvx(), *_origin(), "memoranda"]
    folder = Path(sys.executable).parent
    script = folder / ("memoranda.exe" if sys.platform == "win32" else "memoranda")
    return [str(script)] if script.exists() else [sys.executable, "-m", "memoranda"]


def _is_temporary() -> bool:
    """Return whether `uvx` runs this, in an environment that its cache may drop at any time."""
    cache = os.environ.get("UV_CACHE_DIR")
    parts = Path(sys.prefix).parts
    in_cache = "uv" in parts and any(part.startswith(("archive-v", "environments-v")) for part in parts)
    return in_cache or (bool(cache) and Path(sys.prefix).is_relative_to(str(cache)))


def _find_uvx() -> str:
    """Return the path of `uvx`: that of the one which runs this, or the one on the PATH."""
    running = os.environ.get("UV")
    beside = shutil.which("uvx", path=str(Path(running).parent)) if running else None
    return beside or shutil.which("uvx") or "uvx"


def _origin() -> list[str]:
    """Return the options by which `uvx` finds this package again, where that is not an index."""
    links = os.environ.get("UV_FIND_LINKS")
    options = ["--find-links", str(Path(links).absolute()) if Path(links).exists() else links] if links else []
    recorded = json.loads(distribution("memoranda").read_text("direct_url.json") or "{}")
    if "vcs_info" in recorded:
        vcs = recorded["vcs_info"]
        return [*options, "--from", f"memoranda @ {vcs['vcs']}+{recorded['url']}@{vcs['commit_id']}"]
    return [*options, "--from", f"memoranda @ {recorded['url']}"] if "url" in recorded else options


def _find_client(name: str) -> McpClient:
    if name not in CLIENTS:
        raise InvalidInput(f"{name!r} is not a known client: choose one of {', '.join(CLIENTS)}")
    return CLIENTS[name]


def _read(path: Path) -> bytes | None:
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise InvalidInput(f"{path} is too large for a configuration file: name another one with --file")
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unavailable(f"cannot read {path} ({error.strerror}): check the path and its permissions") from error


def _write_backup(target: Path, old: bytes, mode: int) -> Path:
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S-%f")
    backup = target.with_name(f"{target.name}.{stamp}.bak")
    with atomic_replace(backup, mode) as temporary:
        temporary.write_bytes(old)
    return backup


def _diff(old: str, new: str, path: Path) -> str:
    # One line around a change: the file may hold other servers' secrets.
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), str(path), str(path), n=1, lineterm="")
    return "\n".join(lines)
