from __future__ import annotations

import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from rich.cells import cell_len
from scripts.record_demo import TARGET, recorded_lines, without_timings

from memoranda import MemoryManager
from memoranda.demo.steps import (
    ASKED_AT,
    QUESTIONS,
    USER,
    Answer,
    Turn,
    answered,
    changed,
    load_sessions,
    to_url,
    unknown,
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
    return Hit(memory, score, (ArmScore("dense", 12, 0.8, 1.2), ArmScore("lexical", 104, 3.1, 2.0)))


def run_demo(folder: Path, columns: int, *options: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": str(columns), "TMPDIR": str(folder), "TEMP": str(folder)}
    return subprocess.run(
        [sys.executable, "-m", "memoranda.demo", *options],
        env=environment | {"PYTHONUTF8": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=240,
        check=False,
    )


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the demo prints at 80 columns; it must leave no files."""
    folder = tmp_path_factory.mktemp("demo")
    done = run_demo(folder, 80)
    assert (done.returncode, done.stderr) == (0, "")
    assert list(folder.iterdir()) == []
    return done.stdout.rstrip().splitlines()


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
    evidence = [each for question in QUESTIONS for each in (question.now, question.then) if each is not None]
    assert sum(question.now is not None for question in QUESTIONS) == 12
    assert len(QUESTIONS) == 13
    assert all(set(each.turns) <= ids for each in evidence)
    texts = {turn.id: turn.text for turn in TURNS}
    assert all(any(each.words in texts[turn] for turn in each.turns) for each in evidence)


def test_demo_shows_every_part_within_80_columns_and_a_minute_of_reading(printed: list[str]) -> None:
    assert max(map(cell_len, printed)) <= 80
    assert len(printed) <= 60
    assert len(" ".join(printed).split()) <= 435
    assert [line[0] for line in printed if re.match(r"\d\. ", line)] == ["1", "2", "3", "4", "5", "6"]
    text = "\n".join(printed)
    assert all(question.text in text for question in QUESTIONS if question.shown or question.then or not question.now)
    assert "memoranda list --db demo.db" in text
    assert "memoranda ui --db demo.db" in text


def test_changed_answers_are_right_now_and_then(printed: list[str]) -> None:
    text = " ".join(" ".join(printed).split())
    for words in (("Velora", "Elbkurier"), ("21st of June", "12 June"), ("2 January", "9 January")):
        assert text.index(words[0]) < text.index(words[1])
    counts = re.search(r"Of 12 questions, the first hit answers (\d+), the first 5 hits answer (\d+)", text)
    assert counts is not None
    assert int(counts[1]) >= 6
    assert int(counts[2]) >= 9


def test_secret_is_refused_and_order_of_a_web_page_is_kept_apart(printed: list[str]) -> None:
    text = "\n".join(printed)
    assert "Tr0mb0ne" not in text
    joined = " ".join(text.split())
    assert re.search(r"refused then “My password .*holds a secret", joined)
    assert re.search(r"quarantined then a web page, .*orders to a model", joined)


def test_unknown_is_said_to_be_unknown(printed: list[str]) -> None:
    line = next(line for line in printed if line.startswith("     answerable"))
    assert "memory probably holds no answer" in line


def test_recording_is_what_the_demo_prints_now(printed: list[str]) -> None:
    picture = TARGET.read_text(encoding="utf-8")
    recorded = recorded_lines(picture)
    assert picture.count('<text class="q"') == sum(line.rstrip().endswith("?") and ":" not in line for line in printed)
    assert without_timings(recorded) == without_timings(printed), "run: python scripts/record_demo.py"


def test_kept_database_can_be_reopened_and_is_never_overwritten(tmp_path: Path) -> None:
    kept = tmp_path / "new folder" / "kept.db"
    done = run_demo(tmp_path, 140, "--keep", str(kept))
    assert done.returncode == 0, done.stderr
    assert f"memoranda list --db {kept}" in done.stdout
    with MemoryManager(db_url=to_url(kept)) as manager:
        assert len(manager.recall("Kommissar", user=USER, limit=3)) == 3
    before = kept.read_bytes()
    again = run_demo(tmp_path, 140, "--keep", str(kept))
    assert again.returncode == 1
    assert "exists already" in again.stderr
    assert kept.read_bytes() == before


def test_long_hits_are_cut_or_wrapped_to_the_width() -> None:
    longest = sorted(TURNS, key=lambda turn: len(turn.text))[-3:]
    recall = Recall(tuple(make_hit(turn, 0.9) for turn in longest), "r1", "?", 0.5)
    then = {question.text: recall for question in QUESTIONS}
    for turns in ((), *[question.now.turns for question in QUESTIONS if question.now]):
        found = Recall(tuple(make_hit(turn, 0.9) for turn in TURNS if turn.id in turns) or recall.hits, "r1", "?", 0.5)
        answers = [Answer(question, found, 1234.5) for question in QUESTIONS]
        lines = [*answered(answers), *changed(answers, then), *unknown(answers)]
        assert all(cell_len(text) <= 80 for text, _ in lines)


def test_question_without_an_answer_among_its_hits_says_so() -> None:
    question = QUESTIONS[0]
    answer = Answer(question, Recall((), "r1", question.text, 0.0), 3.0)
    assert any("not among the first 5 hits" in text for text, _ in answered([answer]))
    assert answer.rank is None


def test_rank_is_position_of_first_turn_with_answer() -> None:
    question = QUESTIONS[2]
    assert question.now is not None
    evidence = next(turn for turn in TURNS if turn.id in question.now.turns)
    hits = (make_hit(TURNS[0], 0.9), make_hit(evidence, 0.8), make_hit(evidence, 0.7))
    assert Answer(question, Recall(hits, "r1", question.text, 0.9), 3.0).rank == 2
