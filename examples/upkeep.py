"""Upkeep: summarise, merge and archive memories, and erase some permanently."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from textwrap import shorten

from memoranda import MemoryManager, Message

START = datetime(2026, 5, 1, 9, tzinfo=UTC)
TURNS = [
    "Morning! We signed the lease in Bern yesterday.",
    "Congratulations! When do you move?",
    "On the 1st of June. The rent is 1,900 francs.",
    "That is less than you pay now.",
    "Yes, by 300 francs. And the cat may come along.",
    "What is her name again?",
    "Mimi. She is eleven and needs her pills every evening.",
    "I will remember that.",
]


def main() -> None:
    clock = START
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'memories.db'}"
        with MemoryManager(url, clock=lambda: clock) as memory:
            turns = [
                Message("user", text, name="Ann" if n % 2 == 0 else "Ben", timestamp=START + timedelta(minutes=n))
                for n, text in enumerate(TURNS)
            ]
            memory.remember(turns, user="ann", session="monday")
            memory.remember(["We meet in room 4711", "we meet in room 4711!"], user="ann", keep_all=True)
            memory.add_memory("It rained a little", user="ann", importance=0.1)
            pinned = memory.add_memory("Allergic to nuts", user="ann", importance=0.1)
            memory.pin(pinned.id, user="ann")

            clock = START + timedelta(days=60)
            print("What upkeep would do:")
            for decision in memory.upkeep(dry_run=True).decisions:
                print(f"  {decision.action}: {shorten(decision.content, 40, placeholder=' …')!r} ({decision.reason})")
            report = memory.upkeep()
            print(f"Done: {len(report.decisions)} changes. A second run changes {len(memory.upkeep().decisions)}.")

            receipt = memory.forget(containing="4711", user="ann")
            print(f"Erased for ever: {len(receipt.ids)} memories, complete: {receipt.complete}")


if __name__ == "__main__":
    main()
