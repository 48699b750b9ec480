from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from memoranda import MemoryManager
from memoranda.demo.__main__ import main
from memoranda.demo.steps import (
    ASKED_AT,
    QUESTIONS,
    USER,
    Answer,
    Turn,
    answers_table,
    load_sessions,
    to_messages,
    to_url,
)
from memoranda.types import ArmScore, Hit, Memory, MemoryType, Recall

TURNS = [turn for turns in load_sessions().values() for turn in turns]


def make_hit(turn: Turn, score: float) -> Hit:
    memory = Memory(
        1,
        turn.text,
        MemoryType.EPISODIC,
        0.5,
        turn.at,
        turn.at,
        session=turn.session,
        message_id=turn.id,
        speaker=turn.speaker,
    )
    return Hit(memory, score, (ArmScore("dense", 12, 0.8), ArmScore("lexical", 104, 3.1)))


def run_demo(folder: Path, columns: int, *options: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": str(columns), "TMPDIR": str(folder), "TEMP": str(folder)}
    return subprocess.run(
        [sys.executable, "-m", "memoranda.demo", *options],
        env=environment | {"PYTHONUTF8": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def test_conversation_is_long_ordered_and_has_two_speakers() -> None:
    assert 190 <= len(TURNS) <= 230
    assert len(load_sessions()) == 14
    assert {turn.speaker for turn in TURNS} == {"Nora", "Theo"}
    assert len({turn.id for turn in TURNS}) == len(TURNS)
    assert all(turn.at.tzinfo for turn in TURNS)
    assert all(earlier.at < later.at for earlier, later in pairwise(TURNS))
    assert TURNS[-1].at < ASKED_AT


def test_twelve_questions_have_evidence_in_conversation_and_one_has_none() -> None:
    ids = {turn.id for turn in TURNS}
    with_evidence = [question for question in QUESTIONS if question.evidence]
    assert len(with_evidence) == 12
    assert len(QUESTIONS) == 13
    assert all(set(question.evidence) <= ids for question in with_evidence)


def test_most_questions_find_evidence_in_first_five_hits(tmp_path: Path) -> None:
    with MemoryManager(db_url=to_url(tmp_path / "memories.db")) as manager:
        for name, turns in load_sessions().items():
            outcomes = manager.remember(to_messages(turns), user=USER, session=name)
            assert {outcome.message_id for outcome in outcomes} == {turn.id for turn in turns}
        missed = []
        for question in (question for question in QUESTIONS if question.evidence):
            recall = manager.recall(question.text, user=USER, limit=5, now=ASKED_AT)
            if not {hit.message_id for hit in recall} & set(question.evidence):
                missed.append(question.text)
    assert len(missed) <= 3, missed


def assert_table_shows_all_questions(printed: str, columns: int) -> None:
    table = [line for line in printed.splitlines() if line.startswith(("│", "├", "┏", "└"))]
    assert {cell_len(line) for line in table} == {columns}
    assert all(question.text in printed for question in QUESTIONS)


def test_demo_fits_narrow_terminal_and_leaves_no_files(tmp_path: Path) -> None:
    done = run_demo(tmp_path, 80)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert_table_shows_all_questions(done.stdout, 80)
    assert list(tmp_path.iterdir()) == []


def test_kept_database_can_be_reopened_and_is_never_overwritten(tmp_path: Path) -> None:
    kept = tmp_path / "new folder" / "kept.db"
    done = run_demo(tmp_path, 140, "--keep", str(kept))
    assert done.returncode == 0, done.stderr
    assert_table_shows_all_questions(done.stdout, 140)
    with MemoryManager(db_url=to_url(kept)) as manager:
        assert len(manager.recall("Kommissar", user=USER, limit=3)) == 3
    before = kept.read_bytes()
    again = run_demo(tmp_path, 140, "--keep", str(kept))
    assert again.returncode == 1
    assert "exists already" in again.stderr
    assert kept.read_bytes() == before


@pytest.mark.parametrize("columns", [40, 80, 119, 120, 140, 200])
def test_table_is_never_wider_than_terminal(columns: int) -> None:
    longest = sorted(TURNS, key=lambda turn: len(turn.text))[-3:]
    recall = Recall(tuple(make_hit(turn, 0.9) for turn in longest), "r1", "?", 0.5)
    answers = [Answer(question, recall, 1234.5) for question in QUESTIONS]
    console = Console(width=columns)
    with console.capture() as captured:
        console.print(answers_table(answers, columns))
    assert {cell_len(line) for line in captured.get().splitlines()} == {columns}


def test_question_without_hits_shows_nothing_found() -> None:
    answer = Answer(QUESTIONS[-1], Recall((), "r1", QUESTIONS[-1].text, 0.0), 3.0)
    console = Console(width=80)
    with console.capture() as captured:
        console.print(answers_table([answer], 80))
    assert "nothing found" in captured.get()
    assert answer.rank is None


def test_rank_is_position_of_first_turn_with_answer() -> None:
    question = QUESTIONS[2]
    evidence = next(turn for turn in TURNS if turn.id in question.evidence)
    hits = (make_hit(TURNS[0], 0.9), make_hit(evidence, 0.8), make_hit(evidence, 0.7))
    assert Answer(question, Recall(hits, "r1", question.text, 0.9), 3.0).rank == 2


def test_demo_without_rich_prints_install_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "rich", None)
    assert main([]) == 1
    assert 'pip install "memoranda[cli]"' in capsys.readouterr().err
