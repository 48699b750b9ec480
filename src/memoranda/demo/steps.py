"""The two steps of the demo: store the conversation, then answer questions from the file alone.

The answers are printed as a table that fits wide terminals, narrow terminals and log files.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from time import perf_counter
from typing import Final

from rich.console import Console, Group
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from memoranda import MemoryManager, Message
from memoranda.types import Hit, Recall

USER: Final = "nora-and-theo"
ASKED_AT: Final = datetime.fromisoformat("2025-10-06T09:00:00+02:00")
"""When the questions are asked: the morning after the last session."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of one person."""

    session: str
    id: str
    at: datetime
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class DemoQuestion:
    """A question and the ids of the turns that contain its answer; no ids if the conversation has no answer."""

    text: str
    evidence: tuple[str, ...] = ()


QUESTIONS: Final = (
    DemoQuestion("Where does Nora live now?", ("06-07", "09-01")),
    DemoQuestion("Who does Nora work for these days?", ("06-03",)),
    DemoQuestion("When is Emi's birthday?", ("07-11",)),
    DemoQuestion("What food could kill Theo?", ("04-03", "04-05", "04-09")),
    DemoQuestion("Why did the mountain holiday never happen?", ("11-08", "11-09")),
    DemoQuestion("What was Theo forbidden to do after he hurt his foot?", ("05-07",)),
    DemoQuestion("When did Nora get her cat?", ("02-03",)),
    DemoQuestion("How much rent does Nora pay?", ("08-05",)),
    DemoQuestion("What can be heard through Nora's bedroom wall?", ("08-07", "08-09")),
    DemoQuestion("Who looks after Kommissar when Nora travels?", ("09-13",)),
    DemoQuestion("What did Theo buy his wife as a present?", ("10-05",)),
    DemoQuestion("When is the baby due?", ("13-15",)),
    DemoQuestion("Which football club does Theo support?"),
)


def load_sessions() -> dict[str, list[Turn]]:
    """Return the turns of each session by its name, in order."""
    lines = files(__package__).joinpath("conversation.jsonl").read_text(encoding="utf-8").splitlines()
    turns = [_parse(line) for line in lines]
    return {name: list(group) for name, group in groupby(turns, key=lambda turn: turn.session)}


def _parse(line: str) -> Turn:
    row = json.loads(line)
    return Turn(row["session"], row["id"], datetime.fromisoformat(row["at"]), row["speaker"], row["text"])


WIDE: Final = 120
"""A terminal with at least this many columns shows the origin of a hit in separate columns."""

MARK: Final = "✓"


@dataclass(frozen=True, slots=True)
class Answer:
    """What was recalled for one question, and how long it took."""

    question: DemoQuestion
    recall: Recall
    milliseconds: float

    @property
    def rank(self) -> int | None:
        """The position of the first turn that contains the answer, starting at 1."""
        ranks = (n for n, hit in enumerate(self.recall, 1) if hit.message_id in self.question.evidence)
        return next(ranks, None)


def answers_table(answers: Iterable[Answer], width: int) -> Table:
    """Return a table with a section for each question, best hit first."""
    wide = width >= WIDE
    table = Table(header_style="bold", border_style="dim", expand=True)
    table.add_column("")
    table.add_column("Score", justify="right")
    table.add_column("Question and what was found in memory", ratio=1)
    if wide:
        table.add_column("From", no_wrap=True)
        table.add_column("Found by, rank", no_wrap=True)
    for answer in answers:
        _add_section(table, answer, wide=wide)
    return table


def print_totals(console: Console, answers: Sequence[Answer]) -> None:
    """Print how many questions were answered and how fast."""
    questions = [answer for answer in answers if answer.question.evidence]
    first = sum(answer.rank == 1 for answer in questions)
    found = sum(answer.rank is not None for answer in questions)
    times = sorted(answer.milliseconds for answer in answers)
    shown = max(len(answer.recall) for answer in answers)
    console.print(
        f"{MARK} marks a turn that contains the answer. It is ranked first for {first} of {len(questions)} questions "
        f"and among the first {shown} for {found}. The conversation does not contain an answer to the last question.",
        f"Median time per question: {times[len(times) // 2]:.0f} ms. Slowest: {times[-1]:.0f} ms.",
        sep="\n",
        highlight=False,
    )


def _add_section(table: Table, answer: Answer, *, wide: bool) -> None:
    table.add_row("", "", *_heading(answer, wide=wide))
    for position, hit in enumerate(answer.recall):
        mark = Text(MARK if hit.message_id in answer.question.evidence else " ", style="green")
        table.add_row(mark, *_cells(hit, best=position == 0, wide=wide))
    if not answer.recall:
        table.add_row("", "", Text("nothing found", "dim"))
    table.add_section()


def _heading(answer: Answer, *, wide: bool) -> list[Text | Group]:
    question = Text(answer.question.text, "bold cyan")
    duration = Text(f"{answer.milliseconds:.0f} ms", "cyan")
    answerable = Text(f"answerable {answer.recall.answerable:.2f}", "cyan")
    return [question, duration, answerable] if wide else [Group(question, Text.assemble(answerable, " · ", duration))]


def _cells(hit: Hit, *, best: bool, wide: bool) -> list[Text | Group]:
    style = "" if best else "dim"
    score = Text(f"{hit.score:.2f}", style)
    # The best memory is shown in full, so that the answer can be read; the others are cut off.
    content = Text(_to_line(hit), style, no_wrap=not best, overflow="fold" if best else "ellipsis")
    if wide:
        return [score, content, Text(_origin(hit), style), Text(_arms(hit), style)]
    origin = Text(f"{_origin(hit)} · {_arms(hit)}", "dim", no_wrap=True, overflow="ellipsis")
    return [score, Group(content, origin) if best else content]


def _to_line(hit: Hit) -> str:
    return f"{hit.memory.speaker}, {hit.memory.valid_from:%d %b %Y}: {hit.content}"


def _origin(hit: Hit) -> str:
    return f"{hit.session} · {hit.message_id}"


def _arms(hit: Hit) -> str:
    strongest = sorted(hit.why, key=lambda score: -abs(score.gain))[:2]
    return ", ".join(f"{score.arm} {score.rank}" for score in strongest)


HITS_SHOWN: Final = 3

NEXT_STEPS: Final = """\
Try it in your own program:

  from memoranda import MemoryManager

  with MemoryManager("sqlite:///memories.db") as memory:
      memory.remember("I moved to Ghent in June.", user="nora")
      print(memory.recall("Where do I live?", user="nora")[0].content)
"""


def store_conversation(path: Path) -> None:
    """Store the whole conversation, session by session, and close the file."""
    console = Console()
    sessions = load_sessions()
    started = perf_counter()
    with MemoryManager(db_url=to_url(path)) as manager:
        counts = _remember(manager, sessions, console)
    seconds = perf_counter() - started
    outcomes = ", ".join(f"{count} {status}" for status, count in counts.items())
    console.print(
        f"{sum(map(len, sessions.values()))} turns of {len(sessions)} sessions: {outcomes}. This took {seconds:.1f} s, "
        f"including the start of the embedding model. Process {os.getpid()} has closed the file.\n",
        highlight=False,
    )


def answer_questions(path: Path) -> None:
    """Open the file in this process and answer the questions from it."""
    console = Console()
    started = perf_counter()
    with MemoryManager(db_url=to_url(path)) as manager:
        # The first recall starts the model. It is timed here, so that the answers show the time of an ordinary call.
        manager.recall("hello", user=USER, limit=1)
        opened = perf_counter() - started
        answers = [_answer(manager, question) for question in QUESTIONS]
    console.print(f"Process {os.getpid()} opened the file and started the model in {opened:.1f} s.", highlight=False)
    console.print(answers_table(answers, console.width))
    print_totals(console, answers)
    console.print(f"Everything is stored in one file of {path.stat().st_size / 1e6:.1f} MB.\n", highlight=False)
    console.print(NEXT_STEPS, highlight=False, markup=False)


def to_url(path: Path) -> str:
    """Return the database URL of a file."""
    return f"sqlite:///{path.as_posix()}"


def to_messages(turns: list[Turn]) -> list[Message]:
    """Convert turns to messages with their speaker, time and id."""
    return [
        Message(role="user", content=turn.text, name=turn.speaker, timestamp=turn.at, message_id=turn.id)
        for turn in turns
    ]


def _remember(manager: MemoryManager, sessions: dict[str, list[Turn]], console: Console) -> Counter[str]:
    counts: Counter[str] = Counter()
    columns = (TextColumn("Storing"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TextColumn("{task.description}"), console=console) as progress:
        task = progress.add_task("", total=sum(map(len, sessions.values())))
        for name, turns in sessions.items():
            progress.update(task, description=name)
            outcomes = manager.remember(to_messages(turns), user=USER, session=name)
            counts.update(outcome.status for outcome in outcomes)
            progress.advance(task, len(turns))
    return counts


def _answer(manager: MemoryManager, question: DemoQuestion) -> Answer:
    started = perf_counter()
    recall = manager.recall(question.text, user=USER, limit=HITS_SHOWN, now=ASKED_AT)
    return Answer(question, recall, (perf_counter() - started) * 1000)
