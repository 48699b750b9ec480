"""`memoranda doctor`: checks the installation, the models, the settings and the database, and says what to do."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module, metadata
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import typer

from memoranda.cli.options import CommandOptions, command
from memoranda.cli.output import DAMAGED, message, print_result, safe_text, stack
from memoranda.display import plural
from memoranda.errors import Incompatible, MemorandaError
from memoranda.records import Record

if TYPE_CHECKING:
    from rich.console import RenderableType

    from memoranda.results.maintenance import Health

State: TypeAlias = Literal["ok", "note", "problem"]
_MARKS: Final = {"ok": ("✓", "green"), "note": ("!", "yellow"), "problem": ("✗", "red")}
_CHECKED_SIZE: Final = 256_000_000
"""The largest database whose rows are compared; `memoranda check` takes its time for a larger one."""
_LEAST_FREE: Final = 200_000_000
_EXTRA: Final = re.compile(r"^(?P<name>[\w.-]+).*extra == ['\"](?P<extra>[\w-]+)['\"]")
_NO_EXTRAS: Final = frozenset(("all", "dev"))


@dataclass(frozen=True, slots=True, repr=False)
class Finding(Record):
    """The result of one check."""

    check: str
    state: State
    detail: str
    advice: str = ""
    """What to do about it."""
    damaged: bool = False
    """Whether the data itself is damaged, or does not fit this version."""


def register(app: typer.Typer) -> None:
    """Add this command to the app."""
    command(app, "doctor")(doctor)


def doctor(options: CommandOptions) -> None:
    """Check installation, models, settings and database. Says what to do; changes nothing."""
    findings = [finding for check in _CHECKS for finding in _run(check, options)]
    problems = [finding for finding in findings if finding.state == "problem"]
    summary = f"{plural(len(problems), 'problem')} found" if problems else "everything that was checked works"
    style = "red" if problems else "green"
    print_result(findings, options.as_json, lambda: _findings_view(findings), message(summary, style))
    if problems:
        raise typer.Exit(DAMAGED if any(finding.damaged for finding in problems) else 1)


def _run(check: Callable[[CommandOptions], Iterator[Finding]], options: CommandOptions) -> list[Finding]:
    """Run one check; an error of ours is its result, so that the other checks still run."""
    found: list[Finding] = []
    try:
        found += check(options)
    except MemorandaError as error:
        name = check.__name__.removeprefix("_check_").replace("_", " ")
        found.append(Finding(name, "problem", " ".join(str(error).split()), damaged=isinstance(error, Incompatible)))
    return found


def _check_installation(_: CommandOptions) -> Iterator[Finding]:
    python = ".".join(map(str, sys.version_info[:3]))
    yield Finding("installation", "ok", f"memoranda {metadata.version('memoranda')} on Python {python}")


def _check_extras(_: CommandOptions) -> Iterator[Finding]:
    needed: dict[str, list[str]] = {}
    for requirement in metadata.requires("memoranda") or ():
        if (found := _EXTRA.match(requirement)) and found["extra"] not in _NO_EXTRAS and found["name"] != "memoranda":
            needed.setdefault(found["extra"], []).append(found["name"])
    missing = sorted(extra for extra, names in needed.items() if not all(map(_is_installed, names)))
    installed = sorted(needed.keys() - set(missing))
    yield Finding("extras", "ok", f"installed: {', '.join(installed) or 'none'}")
    if missing:
        advice = f'to use one: pip install "memoranda[{missing[0]}]"'
        yield Finding("extras", "note", f"not installed: {', '.join(missing)}", advice)


def _is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _check_models(_: CommandOptions) -> Iterator[Finding]:
    for package, needed in (("memoranda_models", True), ("memoranda_reranker", False)):
        distribution = package.replace("_", "-")
        try:
            module = import_module(package)
        except ModuleNotFoundError:
            if needed:
                yield Finding("models", "problem", f"{distribution} is not installed", f"pip install {distribution}")
            else:
                advice = f"for the mode best: pip install {distribution}"
                yield Finding("models", "note", f"{distribution} is not installed", advice)
            continue
        wrong = [name for name in module.SHA256 if not _is_intact(module, name)]
        if wrong:
            advice = f"pip install --force-reinstall {distribution}"
            yield Finding("models", "problem", f"missing or damaged: {', '.join(wrong)}", advice)
        else:
            files = plural(len(module.SHA256), "file")
            yield Finding("models", "ok", f"{distribution}: {files}, checksums right")


def _is_intact(module: ModuleType, name: str) -> bool:
    import memoranda_models

    try:
        file: Path = module.path(name)
        packed = file.name.endswith(memoranda_models.PACKED)
        content = memoranda_models.unpacked(file) if packed else file.read_bytes()
    except (OSError, ValueError):
        return False
    digest: str = module.SHA256[name]
    return hashlib.sha256(content).hexdigest() == digest


def _check_settings(_: CommandOptions) -> Iterator[Finding]:
    from memoranda.settings import get_settings, known_variables, set_variables

    get_settings()
    known = known_variables()
    unknown = sorted(name for name in set_variables() if name.startswith("MEMORY_") and name not in known)
    for name in unknown:
        close = get_close_matches(name, known, n=1, cutoff=0.75)
        advice = f"did you mean {close[0]}?" if close else "remove it; docs/settings.md lists the settings"
        yield Finding("settings", "problem", f"{name} is set, but there is no such setting", advice)
    if not unknown:
        used = sorted(name for name in set_variables() if name in known)
        yield Finding("settings", "ok", ", ".join(used) or "all at their defaults")


def _check_embedding(options: CommandOptions) -> Iterator[Finding]:
    from dataclasses import replace

    from memoranda.manager.manager import MemoryManager

    # In memory: the model and the SQLite library are tried without a file.
    config = replace(options.config, db_url="sqlite://", read_url=None, execution_records_dir=None)
    with MemoryManager(config) as manager:
        manager.remember("The lamp is green.")
        health = manager.health()
        found = len(manager.recall("lamp"))
    yield Finding("SQLite", "ok", f"{health.database_version} from {health.database_library}")
    if not found:
        yield Finding("search", "problem", "a memory that was just stored is not found", "report this as a bug")
    yield Finding("embedding", "ok", health.embedder or "off: search is by words only")


def _check_database(options: CommandOptions) -> Iterator[Finding]:
    from memoranda.settings import database_url
    from memoranda.storage import database_file

    file = database_file(database_url(options.config))
    if file is None:
        yield from _check_server(options)
        return
    if not file.exists():
        # A name that was typed is a mistake; the configured one is created by the first command that stores.
        advice = "create it with `memoranda init`, or choose --db"
        yield Finding("database", "note" if options.db is None else "problem", f"{file} does not exist", advice)
        return
    yield from _check_access(file)
    yield from _check_space(file)
    if os.access(file, os.R_OK | os.W_OK):
        yield from _check_content(options, file)


def _check_server(options: CommandOptions) -> Iterator[Finding]:
    from memoranda.settings import database_url

    if database_url(options.config).startswith("sqlite"):
        yield Finding("database", "note", "it is in memory, so there is nothing to look at")
        return
    with options.open_manager() as manager:
        health = manager.health()
    yield Finding("server", "ok", f"{health.database_library} {health.database_version} at {health.database}")
    yield from _check_content(options, health.database)


def _check_access(file: Path) -> Iterator[Finding]:
    if not os.access(file, os.R_OK | os.W_OK):
        yield Finding("permissions", "problem", f"{file} cannot be read and written", f"chmod u+rw {file}")
    elif not os.access(file.resolve().parent, os.W_OK):
        folder = file.resolve().parent
        yield Finding("permissions", "problem", f"no file can be created in {folder}", f"chmod u+w {folder}")
    elif os.name == "posix" and file.stat().st_mode & 0o077:
        advice = f"if they should not: chmod 600 {file}"
        yield Finding("permissions", "note", "other users of this machine can open the database", advice)
    else:
        yield Finding("permissions", "ok", "only you can read and write the database")


def _check_space(file: Path) -> Iterator[Finding]:
    free, size = shutil.disk_usage(file.resolve().parent).free, file.stat().st_size
    detail = f"{free / 1e9:.1f} GB free, the database has {size / 1e6:.1f} MB"
    if free < max(_LEAST_FREE, 2 * size):
        yield Finding("disk space", "problem", detail, "free some space: a backup or a repair needs as much again")
    else:
        yield Finding("disk space", "ok", detail)


def _check_content(options: CommandOptions, file: Path | str) -> Iterator[Finding]:
    with options.open_manager() as manager:
        health: Health = manager.health()
        for problem in health.problems:
            yield Finding("database", "problem", problem)
        if health.size_bytes > _CHECKED_SIZE:
            yield Finding("database", "note", f"{file} is large, so its rows were not compared", "memoranda check")
            return
        report = manager.check()
    damage = [problem for problem in report.problems if problem not in health.problems]
    for problem in damage:
        yield Finding("database", "problem", problem, "memoranda repair", damaged=True)
    if not damage:
        memories = plural(report.memories, "memory", "memories")
        yield Finding("database", "ok", f"{file}: {memories}, no damage, schema up to date")


_CHECKS: Final = (
    _check_installation,
    _check_extras,
    _check_models,
    _check_settings,
    _check_embedding,
    _check_database,
)


def _findings_view(findings: list[Finding]) -> RenderableType:
    from rich.table import Table

    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for finding in findings:
        mark, style = _MARKS[finding.state]
        lines = [safe_text(finding.detail), *([safe_text(f"→ {finding.advice}", style)] if finding.advice else [])]
        grid.add_row(safe_text(mark, style), finding.check, stack(*lines))
    return grid
