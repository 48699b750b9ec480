"""Anthropic's memory tool (`memory_20250818`) on Memoranda: what Claude writes down is kept, searched and recalled.

    client.beta.messages.run_tools(..., tools=[MemorandaMemoryTool(memory, user="ann")])

`pip install memoranda[anthropic]`
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, Final, TypeAlias

from memoranda.aio.threads import in_thread
from memoranda.errors import InvalidInput, MissingExtra
from memoranda.integrations.anthropic.answers import (
    command_of_tool,
    find_lines,
    number_lines,
    show_file,
    show_folder,
)
from memoranda.integrations.anthropic.files import ROOT, MemoryFiles, MirroredFolder
from memoranda.integrations.managers import OpenedSource, Source, open_source
from memoranda.records import AsyncClosing

try:
    from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool
    from anthropic.types import beta
except ModuleNotFoundError as error:
    raise MissingExtra("Anthropic's memory tool", "anthropic") from error

__all__ = ["AsyncMemorandaMemoryTool", "MemorandaMemoryTool"]


CacheControl: TypeAlias = beta.BetaCacheControlEphemeralParam | None
_NAMESPACE: Final = ("anthropic", "memories")
_EDITED: Final = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
_AROUND: Final = 2  # lines that are shown before and after a change


class MemorandaMemoryTool(OpenedSource, BetaAbstractMemoryTool):
    """The memory tool, with its files in Memoranda: each is an item, found by `search_items` and `recall`.

    Args:
        memory: The manager, or the path or URL of a database; the default database when None.
        agent, user, session: The owner of the files; those of another owner are not seen.
        base_path: A folder whose subfolder `memories` has the same files, as in Anthropic's tool for a file system.
        cache_control: As in Anthropic's own tools.
    """

    def __init__(
        self,
        memory: Source = None,
        *,
        base_path: str | PathLike[str] | None = None,
        agent: str | None = None,
        user: str | None = None,
        session: str | None = None,
        cache_control: CacheControl = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self.memory, self._owns_memory = open_source(memory)
        self._files = MemoryFiles(self.memory, _NAMESPACE, {"agent": agent, "user": user, "session": session})
        self._lock = threading.Lock()
        self._folder: MirroredFolder | None = None
        if base_path is not None:
            self.base_path = Path(base_path).absolute()
            self.memory_root = self.base_path / ROOT.strip("/")
            self._folder = MirroredFolder(self.memory_root, self._files)
            self._folder.make()
            self._files.path_of = self._folder.path_of

    @contextmanager
    def synchronized(self) -> Iterator[None]:
        """Store first what was changed in the folder, if there is one, and write into it afterwards what is stored."""
        if self._folder is not None:
            self._folder.load()
        yield
        if self._folder is not None:
            self._folder.save()

    @command_of_tool
    def view(self, command: beta.BetaMemoryTool20250818ViewCommand) -> str:
        """Return a file with line numbers, or the list of a folder."""
        path = self._files.path_of(command.path)
        text = self._files.read(path)
        if text is not None:
            return show_file(command.path, text, command.view_range)
        files = dict(self._files.below(path))
        if path and not files:
            raise InvalidInput(f"The path {command.path} does not exist. Please provide a valid path.")
        return show_folder(command.path, path, files)

    @command_of_tool
    def create(self, command: beta.BetaMemoryTool20250818CreateCommand) -> str:
        """Create a file that does not exist yet."""
        path = self._files.path_of(command.path)
        if self._files.exists(path):
            raise InvalidInput(f"File {command.path} already exists")
        self._files.check_parents(path)
        self._files.write({path: command.file_text}, {path: None})
        return f"File created successfully at: {command.path}"

    @command_of_tool
    def str_replace(self, command: beta.BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that occurs exactly once."""
        path, text, read_at = self._files.open(command.path)
        found = list(find_lines(text, command.old_str))
        if not found:
            raise InvalidInput(
                f"No replacement was performed, old_str `{command.old_str}` did not appear verbatim in {command.path}."
            )
        if len(found) > 1:
            lines = ", ".join(str(line + 1) for line in found)
            raise InvalidInput(
                f"No replacement was performed. Multiple occurrences of old_str `{command.old_str}` in lines: {lines}. "
                "Please ensure it is unique"
            )
        changed = text.replace(command.old_str, command.new_str)
        self._files.write({path: changed}, {path: read_at})
        snippet = number_lines(changed.split("\n"), max(0, found[0] - _AROUND), found[0] + _AROUND + 1)
        return f"{_EDITED}\n{snippet}"

    @command_of_tool
    def insert(self, command: beta.BetaMemoryTool20250818InsertCommand) -> str:
        """Insert lines after a line; 0 is the beginning."""
        path, text, read_at = self._files.open(command.path)
        lines = text.removesuffix("\n").split("\n") if text else []
        if not 0 <= command.insert_line <= len(lines):
            raise InvalidInput(
                f"Invalid `insert_line` parameter: {command.insert_line}. "
                f"It should be within the range [0, {len(lines)}]."
            )
        lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
        self._files.write({path: "\n".join(lines).removesuffix("\n") + "\n"}, {path: read_at})
        return f"The file {command.path} has been edited."

    @command_of_tool
    def delete(self, command: beta.BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file, or a folder with everything in it."""
        path = self._files.path_of(command.path)
        if not path:
            raise InvalidInput(f"Cannot delete the {ROOT} directory itself")
        self._files.remove(self._files.find(command.path, path))
        return f"Successfully deleted {command.path}"

    @command_of_tool
    def rename(self, command: beta.BetaMemoryTool20250818RenameCommand) -> str:
        """Rename or move a file, or a folder with everything in it."""
        old, new = self._files.path_of(command.old_path), self._files.path_of(command.new_path)
        if not old:
            raise InvalidInput(f"Cannot rename the {ROOT} directory itself")
        if self._files.exists(new):
            raise InvalidInput(f"The destination {command.new_path} already exists")
        moved = self._files.find(command.old_path, old)
        if new.startswith(f"{old}/"):
            raise InvalidInput(f"The destination {command.new_path} is inside of {command.old_path}")
        self._files.check_parents(new)
        # Written before the old ones go: a crash between the two leaves both, and loses nothing.
        copies = {new + path.removeprefix(old): self._files.read(path) or "" for path in moved}
        self._files.write(copies, dict.fromkeys(copies))
        self._files.remove(moved)
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    def clear_all_memory(self) -> str:
        """Delete all files."""
        with self._lock, self.synchronized():
            self._files.remove([path for path, _ in self._files.below("")])
        return "All memory cleared"


class AsyncMemorandaMemoryTool(AsyncClosing, BetaAsyncAbstractMemoryTool):
    """The same tool for the async client. Takes the arguments of `MemorandaMemoryTool`."""

    def __init__(self, memory: Source = None, *, cache_control: CacheControl = None, **owner: Any) -> None:
        super().__init__(cache_control=cache_control)
        self._tool = MemorandaMemoryTool(memory, **owner)
        self.memory = self._tool.memory

    async def execute(self, command: beta.BetaMemoryTool20250818Command) -> Any:
        """Run one command, off the event loop."""
        return await in_thread(self._tool.execute, command)

    view = create = str_replace = insert = delete = rename = execute

    async def clear_all_memory(self) -> str:
        """Delete all files."""
        return await in_thread(self._tool.clear_all_memory)

    async def close(self) -> None:
        """Close the manager if it was opened here."""
        await in_thread(self._tool.close)
