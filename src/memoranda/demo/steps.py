"""The two steps of the demo: store the conversation, then answer questions from the file alone."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from time import perf_counter
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from memoranda import MemoryManager, Message
from memoranda.demo.conversation import ASKED_AT, QUESTIONS, USER, DemoQuestion, Turn, load_sessions
from memoranda.demo.report import Answer, answers_table, print_totals

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
