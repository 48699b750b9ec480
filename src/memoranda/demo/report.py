"""Print the answers as a table that fits wide terminals, narrow terminals and log files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from memoranda.demo.conversation import DemoQuestion
from memoranda.types import Hit, Recall

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
