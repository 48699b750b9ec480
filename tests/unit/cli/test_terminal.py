"""What people see: the output of each command at 80 and at 120 columns, against files in `snapshots/`.

`UPDATE_SNAPSHOTS=1 pytest tests/unit/cli/test_terminal.py` writes them anew: look at each difference first.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections import Counter
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from random import Random

import pytest
from rich.cells import cell_len
from rich.console import Console
from typer.main import get_command

from memoranda import MemoryManager
from memoranda.cli.app import SECTIONS, app
from memoranda.cli.options import parse_end, parse_start
from memoranda.cli.output import MAX_LINES, table
from memoranda.server.keys import open_keys
from memoranda.testing.fakes import HashEmbedder
from tests.unit.cli.conftest import Memoranda

SNAPSHOTS = Path(__file__).parent / "snapshots"
NORMAL = (
    (re.compile(r"mmr\.[0-9a-f]{16}\.[\w-]+"), "mmr.KEY"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "H" * 64),
    (re.compile(r"\b[0-9a-f]{32}\b"), "I" * 32),
    (re.compile(r"\b[0-9a-f]{16}\b"), "K" * 16),
    (re.compile(r"\b20\d\d-\d\d-\d\d \d\d:\d\d\b"), "YYYY-MM-DD hh:mm"),
    (re.compile(r"\b\d+(\s+)days\b"), r"N\1days"),
    (re.compile(r"\b\d+(?:\.\d+)? (ms|MB|GB)\b"), r"N \1"),
    (re.compile(r"/\S*/(m|missing)\.db"), r"\1.db"),
    (re.compile(r"\b\d+\.\d\d\d? "), "N.NN "),
    (re.compile(r"( \.)?[ ]+$", re.M), ""),
)
COMMANDS: dict[str, list[str]] = {
    "recall": ["recall", "Where does Ana live?", "-u", "ana"],
    "recall-as-of": ["recall", "Where does Ana live?", "-u", "ana", "--as-of", "2026-02-01", "-n", "1"],
    "recall-without-user": ["recall", "tea"],
    "recall-unknown-user": ["recall", "tea", "-u", "anna"],
    "search": ["search", "bridges", "-u", "bo", "-n", "1"],
    "list": ["list", "-u", "ana"],
    "list-all-users": ["list", "--all-users", "-n", "4"],
    "list-quarantined": ["list", "--all-users", "--quarantined"],
    "users": ["users"],
    "show": ["show", "1", "-u", "ana"],
    "facts": ["facts", "-u", "ana"],
    "facts-all-users": ["facts", "--all-users"],
    "conflicts": ["conflicts", "-u", "ana"],
    "history": ["history", "1", "-u", "ana"],
    "history-slot": ["history", "ana/city", "-u", "ana"],
    "why-not": ["why", "Where does Ana live?", "1", "-u", "ana"],
    "why": ["why", "Where does Ana live?", "4", "-u", "ana"],
    "context-nothing": ["context", "zebra crossing", "-u", "bo", "--min-score", "0.9"],
    "receipts": ["receipts"],
    "knowledge-list": ["knowledge", "list"],
    "session-list": ["session", "list"],
    "session-show-nothing": ["session", "show", "campaign-7"],
    "executions-stats": ["executions", "stats"],
    "keys-list": ["keys", "list"],
    "keys-list-tenant": ["keys", "list", "--tenant", "acme"],
    "upkeep": ["upkeep", "--dry-run", "--policy", "fade"],
    "forget-dry-run": ["forget", "1", "-u", "ana", "--dry-run"],
    "executions-list": ["executions", "list"],
    "executions-verify": ["executions", "verify"],
    "check": ["check"],
    "stats": ["stats"],
    "help-recall": ["recall", "--help"],
    "error-missing-database": ["recall", "tea", "--db", "missing.db"],
    "error-time": ["facts", "--as-of", "someday"],
    "error-no-memory": ["show", "99", "-u", "ana"],
}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ana moved, a web page says something else; Bo has a long text; there are keys and execution records."""
    path = tmp_path_factory.mktemp("terminal") / "m.db"
    moments = [datetime(2026, 1, 10, 12, tzinfo=UTC)]

    def say(user: str, *texts: str) -> None:
        manager.remember([{"role": "user", "name": user.title(), "content": text} for text in texts], user=user)

    with MemoryManager(f"sqlite:///{path}", embedder=HashEmbedder(16), clock=lambda: moments[-1]) as manager:
        say("ana", "I live in Hamburg.")
        moments.append(datetime(2026, 3, 12, 12, tzinfo=UTC))
        say("ana", "I moved to Ghent.", "I don't eat meat.")
        manager.remember(
            "Ana lives in Lyon.", user="ana", source="https://example.org/people/ana-of-hamburg/index.html"
        )
        say(
            "bo", "I started at the office for bridges and tunnels, where we look after forty old bridges in the north."
        )
        manager.remember("ping", user="名前の長いユーザー", keep_all=True)
        manager.add_memory("Haha, so cool", importance=0.05, user="bo")
        manager.save_execution_record("planner", {"status": "success", "workflow_id": "nightly-report-of-all-bridges"})
    with open_keys(f"sqlite:///{path}") as keys:
        keys.create("laptop")
        keys.create("continuous integration", tenant="acme", scopes=["read"])
    return path


@pytest.fixture
def terminal(memoranda: Memoranda, database: Path, monkeypatch: pytest.MonkeyPatch) -> Memoranda:
    monkeypatch.setenv("MEMORY_DB_URL", f"sqlite:///{database}")
    monkeypatch.setenv("MEMORY_ENABLE_VECTOR_SEARCH", "false")
    monkeypatch.setenv("TZ", "UTC")
    return memoranda


def _normalize(text: str) -> str:
    text = text.replace(datetime.now(UTC).date().isoformat(), "THIS-DAY--")
    for pattern, replacement in NORMAL:
        text = pattern.sub(replacement, text)
    return text


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("name", COMMANDS)
def test_output_fits_and_is_as_in_the_snapshot(
    terminal: Memoranda, monkeypatch: pytest.MonkeyPatch, name: str, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    done = terminal(*COMMANDS[name])
    assert max(map(cell_len, done.stdout.splitlines()), default=0) <= columns
    shown = _normalize(f"{done.stdout}{done.stderr}[{done.exit_code}]\n")
    file = SNAPSHOTS / f"{name}-{columns}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        SNAPSHOTS.mkdir(exist_ok=True)
        file.write_text(shown, "utf-8")
    assert shown == file.read_text("utf-8")


def _all_commands() -> list[list[str]]:
    found = [[name] for name in get_command(app).commands]  # type: ignore[attr-defined]
    groups = {name: group.commands for name, group in get_command(app).commands.items() if hasattr(group, "commands")}  # type: ignore[attr-defined]
    return [[], *found, *([name, each] for name, commands in groups.items() for each in commands)]


@pytest.mark.parametrize("columns", [80, 120])
def test_help_of_every_command_fits(memoranda: Memoranda, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert len(_all_commands()) > 40
    for command in _all_commands():
        done = memoranda(*command, "--help")
        assert done.stdout.startswith(" ".join(["Usage: memoranda", *command])), command
        assert max(map(cell_len, done.stdout.splitlines())) <= columns, command
        assert not re.search(r"\.\.\.$", done.stdout.partition("--help")[2], re.M), command  # a line that was cut


def test_help_lists_every_command_under_one_heading() -> None:
    listed = [name for names in SECTIONS.values() for name in names.split()]
    assert sorted(listed) == sorted(get_command(app).commands)  # type: ignore[attr-defined]


def _run_in_terminal(columns: int, *arguments: str) -> str:
    """Run the command in a terminal of its own, with this width, and return what it wrote."""
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    command = [sys.executable, "-m", "memoranda", *arguments]
    environment |= {"TERM": "xterm", "NO_COLOR": "1"}
    with subprocess.Popen(command, stdin=side, stdout=side, stderr=side, env=environment, close_fds=True):
        os.close(side)
        written = b""
        try:
            while part := os.read(main, 4096):
                written += part
        except OSError:  # Linux says so at the end of what a terminal received
            pass
    os.close(main)
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", written.decode("utf-8")).replace("\r\n", "\n")


@pytest.mark.parametrize("columns", [80, 120])
def test_real_terminal_keeps_words_and_ids_whole(terminal: Memoranda, columns: int) -> None:
    listed = _run_in_terminal(columns, "keys", "list")
    assert len(re.findall(r"(?m)(?:^|\s)[0-9a-f]{16}(?:\s|$)", listed)) == 2, listed
    found = _run_in_terminal(columns, "recall", "Who looks after bridges?", "-u", "bo")
    assert "1. I started at the office for bridges and tunnels" in found
    assert max(map(cell_len, found.splitlines())) <= columns
    assert re.search(r"recall [0-9a-f]{32}\b", found.replace("\n", " "))


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (
            ["replay", "a-recall-that-nobody-asked"],
            "in the default scope (the ledger keeps only the newest): give the id",
        ),
        (["facts", "--as-of", "someday"], "is not a time: write it as 2026-03-08, 2026-03-08T15:00, yesterday,"),
    ],
)
def test_error_is_broken_between_words_in_a_real_terminal(terminal: Memoranda, command: list[str], words: str) -> None:
    lines = _run_in_terminal(80, *command).splitlines()
    assert max(map(cell_len, lines)) <= 80
    assert words in " ".join(lines)


def test_error_shows_no_control_characters(terminal: Memoranda) -> None:
    done = terminal("show", "99", "-u", "a\x1b[31mna")
    assert done.stderr == "error: no memory 99 in user=a\ufffd[31mna\n"


@pytest.mark.parametrize(
    "command",
    [
        ["recall", "tea"], ["search", "tea"], ["context", "tea"], ["why", "tea", "1"], ["list"], ["users"],
        ["show", "1"],
        ["facts"], ["conflicts"], ["history", "1"], ["receipts"], ["stats"], ["check"], ["keys", "list"], ["upkeep"],
        ["executions", "list"], ["session", "list"], ["knowledge", "list"], ["export", "out.jsonl"], ["forget", "1"],
        ["backup", "copy.db"], ["repair"], ["reembed"], ["edit", "1", "--content", "x"], ["doctor"],
    ],
)  # fmt: skip
def test_command_that_reads_never_creates_a_database(memoranda: Memoranda, command: list[str], tmp_path: Path) -> None:
    done = memoranda(*command, "--db", "folder/missing.db")
    assert list(tmp_path.iterdir()) == []
    if command == ["doctor"]:
        assert "memoranda init" in done.stdout
        return
    assert done.exit_code == 3
    assert "no database" in done.stderr
    assert "memoranda init" in done.stderr


def _random_cell(random: Random) -> str:
    words = ["".join(random.choices("abcdef名前", k=random.randint(1, 18))) for _ in range(random.randint(1, 4))]
    return random.choice([" ", "\n", "\t"]).join(words)


@pytest.mark.parametrize("seed", range(150))
def test_table_cuts_no_cell_at_any_width(seed: int) -> None:
    random = Random(seed)
    columns = [f"c{number}" for number in range(random.randint(1, 8))]
    rows = [[_random_cell(random) for _ in columns] for _ in range(random.randint(1, 4))]
    wide, max_width, width = random.choice([None, *columns]), random.choice([None, 20]), random.randint(48, 160)
    console = Console(width=width, file=StringIO())
    console.print(table(columns, rows, wide=wide, max_width=max_width, max_lines=None))
    written = console.file.getvalue()  # type: ignore[attr-defined]
    assert max(map(cell_len, written.splitlines())) <= width
    assert "…" not in written
    shown = Counter(written.split())
    expected = Counter(word for row in rows for cell in row for word in cell.split())
    assert not expected - shown


@pytest.mark.parametrize("width", [20, 80, 120])
def test_long_text_takes_a_few_lines_of_a_table_and_keeps_what_stands_below_it(width: int) -> None:
    console = Console(width=width, file=StringIO())
    texts = ["word " * 4_000, "W" * 10_000, "\U0001f600" * 500, "short"]
    console.print(table(["id", "content"], [[n, f"{text}\n(pinned)"] for n, text in enumerate(texts)], wide="content"))
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert max(map(cell_len, lines)) <= width
    assert sum("…" in line for line in lines) == 3
    assert sum("(pinned)" in line for line in lines) == 4
    assert len(lines) <= 4 * (MAX_LINES + 3)


def test_table_is_a_table_where_its_columns_just_fit() -> None:
    console = Console(width=2 * 10 + 3, file=StringIO())
    console.print(table(["a", "b"], [["x" * 10, "y" * 10]]))
    assert f"{'x' * 10}   {'y' * 10}" in console.file.getvalue()  # type: ignore[attr-defined]


def test_module_runs_the_command_line() -> None:
    done = subprocess.run([sys.executable, "-m", "memoranda", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("memoranda ")


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2026-03-08", "2026-03-08T00:00:00+00:00", "2026-03-08T23:59:59.999999+00:00"),
        ("2026-03-08T12:00", "2026-03-08T12:00:00+00:00", "2026-03-08T12:00:00+00:00"),
        ("2026-03-08T12:00+02:00", "2026-03-08T12:00:00+02:00", "2026-03-08T12:00:00+02:00"),
        ("march 2026", "2026-03-01T00:00:00+00:00", "2026-03-31T23:59:59.999999+00:00"),
        ("on 8 March 2026 at 3 pm", "2026-03-08T15:00:00+00:00", "2026-03-08T15:00:00+00:00"),
    ],
)
def test_time_is_read_as_people_write_it(monkeypatch: pytest.MonkeyPatch, text: str, start: str, end: str) -> None:
    monkeypatch.setenv("TZ", "UTC")
    assert (parse_start(text), parse_end(text)) == (datetime.fromisoformat(start), datetime.fromisoformat(end))


def test_relative_time_is_read_from_now() -> None:
    now = datetime.now().astimezone()
    assert (now.date() - parse_end("yesterday").date()).days == 1
    assert (now.date() - parse_start("3 days ago").date()).days == 3
    assert parse_start("last monday").weekday() == 0
    assert abs(now - parse_end("2 hours ago")).total_seconds() == pytest.approx(7200, abs=60)
    assert parse_end("today") <= datetime.now().astimezone()
