"""The texts that measure the poison detector.

`python -m tests.unit.remember.screening.poison_cases` prints the figures.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import memoranda.demo
from memoranda.remember.screening.poison import find_poison
from memoranda.remember.sources import Channel

_DATA: Final = Path(__file__).parents[3] / "data" / "poison"
_CHANNELS: Final[dict[str, Channel]] = {"u": "user", "a": "agent", "o": "outside"}


@dataclass(frozen=True, slots=True)
class PoisonCase:
    channel: Channel
    text: str

    @property
    def is_flagged(self) -> bool:
        return find_poison(self.text, self.channel) is not None


def read_cases(name: str) -> list[PoisonCase]:
    """Return the cases of a file."""
    lines = (_DATA / name).read_text("utf-8").splitlines()
    parts = [line.split("\t", 1) for line in lines if line and not line.startswith("#")]
    return [PoisonCase(_CHANNELS[channel], _unescape(text)) for channel, text in parts]


def demo_turns() -> list[PoisonCase]:
    """Return the turns of the demo conversation: ordinary talk, as a user's and as a tool's words."""
    lines = (Path(memoranda.demo.__file__).parent / "conversation.jsonl").read_text("utf-8").splitlines()
    texts = [text for line in lines if isinstance(text := json.loads(line).get("text"), str)]
    return [PoisonCase(channel, text) for text in texts for channel in ("user", "outside")]


def _unescape(text: str) -> str:
    return re.sub(r"\\x([0-9A-F]+);", lambda match: chr(int(match[1], 16)), text.replace("\\n", "\n"))


def main() -> None:
    for name, cases, wanted in (
        ("poison", read_cases("poison.txt"), True),
        ("benign", read_cases("benign.txt"), False),
        ("demo", demo_turns(), False),
    ):
        wrong = [case for case in cases if case.is_flagged is not wanted]
        flagged = sum(case.is_flagged for case in cases)
        print(f"{name}: {flagged} of {len(cases)} flagged")
        for case in wrong:
            print("  ", case.channel, repr(case.text), find_poison(case.text, case.channel))


if __name__ == "__main__":
    main()
