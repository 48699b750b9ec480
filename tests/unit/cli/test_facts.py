from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memoranda import MemoryManager
from tests.unit.cli.conftest import Memoranda

BETWEEN = "2026-03-08T12:00Z"
LONG_URL = "https://example.org/people/ana-martinez-of-hamburg/profile/2026/index.html"


@pytest.fixture
def told(memoranda: Memoranda, monkeypatch: pytest.MonkeyPatch) -> Memoranda:
    """A database in which Ana moved, told a week later, and a web page says something else."""
    moments = [datetime(2026, 1, 10, 12, tzinfo=UTC)]

    def say(*texts: str) -> None:
        manager.remember([{"role": "user", "name": "Ana", "content": text} for text in texts], user="ana")

    with MemoryManager(f"sqlite:///{memoranda.database}", clock=lambda: moments[-1]) as manager:
        say("I live in Hamburg.")
        moments.append(datetime(2026, 3, 12, 12, tzinfo=UTC))
        say("I moved to Ghent last week.", "I don't eat meat.")
        say("My sister's favourite holiday destination is the north of Norway.")
        manager.remember("Ana lives in Lyon.", user="ana", source=LONG_URL)
        for day, colour in enumerate(("blue", "green", "red", "teal", "mauve"), start=13):
            moments.append(datetime(2026, 3, day, 12, tzinfo=UTC))
            say(f"My favourite colour is {colour}.")
    monkeypatch.setenv("COLUMNS", "80")
    return memoranda


def _lines(text: str) -> list[str]:
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    return lines


def test_facts_show_current_former_and_disputed_values(told: Memoranda) -> None:
    facts = {f"{fact['subject']}/{fact['attribute']}": fact for fact in told.json("facts", "-u", "ana")}
    assert facts["Ana/city"]["value"] == "Ghent"
    assert [value["value"] for value in facts["Ana/city"]["disputed_by"]] == ["Lyon"]
    shown = told("facts", "-u", "ana").stdout
    _lines(shown)
    assert "before: Hamburg" in shown
    assert "disputed by document" in shown
    assert "not meat" in shown
    assert "(1 earlier value: see history)" in shown
    assert told.json("facts") == []
    assert "no facts" in told("facts").stdout


def test_no_word_of_a_fact_is_broken_at_80_columns(told: Memoranda) -> None:
    shown = told("facts", "-u", "ana").stdout
    for words in ("Ghent", "before: Hamburg", "Ana/favourite colour", "Ana's sister/favourite", "north of Norway"):
        assert any(words in line for line in _lines(shown)), words


def test_facts_are_read_on_both_axes_of_time(told: Memoranda) -> None:
    def city(*options: str) -> str:
        found = told.json("facts", "-u", "ana", *options)
        return next(fact["value"] for fact in found if fact["attribute"] == "city")  # type: ignore[no-any-return]

    assert city("--as-of", BETWEEN) == "Ghent"
    assert city("--known-at", BETWEEN) == "Hamburg"
    assert told("facts", "--as-of", "soon").exit_code == 2


def test_conflicts_show_what_each_source_says(told: Memoranda) -> None:
    [conflict] = told.json("conflicts", "-u", "ana")
    assert [value["value"] for value in conflict["values"]] == ["Ghent", "Lyon"]
    shown = told("conflicts", "-u", "ana").stdout
    _lines(shown)
    assert "“Ana lives in Lyon.”" in shown
    assert "said by Ana" in shown
    assert "nothing is disputed" in told("conflicts").stdout


def test_history_takes_an_id_or_a_slot(told: Memoranda) -> None:
    past = told.json("history", "ana/city", "-u", "ana")
    assert [value["value"] for value in past["values"]] == ["Hamburg", "Ghent", "Lyon"]
    assert told.json("history", str(past["memory"]["id"]), "-u", "ana")["values"] == []
    shown = told("history", "ana/city", "-u", "ana").stdout
    _lines(shown)
    assert "Hamburg" in shown
    assert "I moved to Ghent last week." in shown
    for wanted in ("nobody/city", "city", "99"):
        assert told("history", wanted, "-u", "ana").exit_code == 3
    assert told("history", "0", "-u", "ana").exit_code == 2


def test_history_shows_what_was_said_later(told: Memoranda) -> None:
    blue = told.json("search", "favourite colour blue", "-u", "ana", "-n", "10")
    [memory_id] = [hit["memory"]["id"] for hit in blue if "blue" in hit["memory"]["content"]]
    shown = told("history", str(memory_id), "-u", "ana").stdout
    assert "→ later, on 2026-03-17" in shown
    assert "followed by" in shown


def test_hits_say_what_was_said_later_and_who_disputes_them(told: Memoranda) -> None:
    shown = told("recall", "Where does Ana live?", "-u", "ana").stdout
    _lines(shown)
    assert "→ disputed by" in shown
    assert "→ later, on" in told("search", "favourite colour", "-u", "ana").stdout


def test_questions_take_times_and_a_lowest_score(told: Memoranda) -> None:
    known = ["-u", "ana", "--known-at", BETWEEN]
    question = "Where does Ana live?"
    assert [hit["memory"]["content"] for hit in told.json("recall", question, *known)["hits"]] == ["I live in Hamburg."]
    assert "What holds on 2026-03-08" in told("context", question, *known).stdout
    assert [memory["content"] for memory in told.json("list", *known)] == ["I live in Hamburg."]
    assert "I live in Hamburg." not in told("list", "-u", "ana", "--as-of", BETWEEN).stdout
    assert "(until 2026-03-02, replaced by 2)" in told("list", "-u", "ana").stdout
    assert told.json("recall", question, "-u", "ana", "--min-score", "1")["hits"] == []
    assert told.json("context", question, "-u", "ana", "--min-score", "1")["text"] == ""
    assert told.json("why", question, "2", *known)["step"] == "not yet known"
    assert told.json("why", question, "2", "-u", "ana", "--min-score", "1")["step"] == "floor"
    assert told("recall", question, "--min-score", "7").exit_code == 2
