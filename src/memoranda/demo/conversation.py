"""The conversation of the demo, and questions about it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from itertools import groupby
from typing import Final

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
