"""Of the ways in which recalled text comes back, none is stored again; what a person says anew is kept."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill

import pytest

from memoranda import MemoryManager, Message
from memoranda.remember.echoes import strip_decoration
from memoranda.security.fence import WISHES_HEADING

FIRST = "My dog Rex is allergic to chicken and loves the beach at Ostend."
SECOND = "I work as a nurse in the children's hospital in Ghent."


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[MemoryManager]:
    with MemoryManager(db_url=f"sqlite:///{tmp_path}/m.db") as opened:
        for number, text in enumerate((FIRST, SECOND)):
            said = {"role": "user", "content": text, "message_id": f"m{number}"}
            assert opened.remember(said, user="ann", session="old")[0].status == "stored"
        yield opened


def returned(manager: MemoryManager) -> dict[str, tuple[str, str]]:
    fenced = str(manager.context("What about my dog and the hospital?", user="ann"))
    lines = fenced.splitlines()
    entries = [line for line in lines if line.startswith("- ")]
    bare = [entry[2:].split(" [#")[0] for entry in entries]
    return {
        "fenced": ("user", fenced),
        "fenced, from a tool": ("tool", fenced),
        "without its marks": ("user", "\n".join(lines[1:-1])),
        "cut before the close mark": ("user", "\n".join(lines[:-1])),
        "cut before the open mark": ("user", "\n".join(lines[1:])),
        "entries only": ("assistant", "\n".join(entries)),
        "one entry": ("user", entries[0]),
        "numbered": ("user", "\n".join(f"{n}. {text}" for n, text in enumerate(bare, 1))),
        "quoted": ("assistant", "\n".join(f'"{text}"' for text in bare)),
        "bullets without ids": ("user", "\n".join(f"* {text}" for text in bare)),
        "the text alone, from the assistant": ("assistant", FIRST),
        "on one line": ("assistant", f"{FIRST} {SECOND}"),
        "cut short": ("user", f"- {FIRST[:44]}…"),
        "with dates": ("tool", f"2024-05-20: {FIRST}\n2024-05-21: {SECOND}"),
        "with what was said later": (
            "user",
            f"- user: {FIRST} (later said on 2026-01-12: Rex (the dog) is fine [#3]) [#1]",
        ),
        "with a dispute": ("assistant", f"- {FIRST} (disputed by web: Rex eats (all) chicken [#4])"),
        "with a note that is cut": ("user", f"- {FIRST} (later said on 2026-01-12: Rex is"),
        "with the heading of facts": ("user", f"## What holds on 2026-01-12\n- {FIRST}"),
        "cut in a word, as an entry": ("user", f"- user: {FIRST[:31]}"),
        "cut in the middle of the fence": ("assistant", fenced[: fenced.index(FIRST) + 31]),
        "as JSON": ("assistant", json.dumps({"memories": [{"id": 1, "content": FIRST, "at": "2026-01-12T10:00:00Z"}]})),
        "as JSON, from the user": ("user", json.dumps({"content": FIRST})),
        "as what was told": ("user", f"As you told me: {FIRST}"),
        "as what is remembered": ("user", f"You remember: {SECOND}"),
        "as JSON over lines": ("tool", json.dumps(entries, indent=2)),
        "after a lead-in": ("assistant", f"From my notes: {entries[0]}"),
        "after a lead-in, from the user": ("user", f"From my notes: {entries[-1]}"),
        "as HTML": ("tool", fenced.replace("<", "&lt;").replace(">", "&gt;")),
        "with other line breaks": ("assistant", fill(fenced, 60)),
        "as one paragraph": ("assistant", " ".join(lines[2:-1])),
        "without the start of its heading": ("assistant", "\n".join(["unday)", *entries])),
        "the heading of a day": ("user", "## 2026-01-12 (Monday)"),
        "the heading of wishes": ("user", WISHES_HEADING),
        "as a wish": ("user", f"- {FIRST} (said on 2026-01-12) [#1]"),
        "under its speaker": ("user", f"user: {FIRST}"),
        "with its id, after any words": ("user", f"As noted: {entries[-1][2:]}"),
        "as a fact, after any words": ("user", "As noted: ann, city: Ghent (since 2026-01-12) [#4]"),
        "after words that quote": ("assistant", "\n".join(["Here is what I remember about you:", *entries])),
        "joined by semicolons": ("user", "Relevant memories: " + "; ".join(entry[2:] for entry in entries)),
        "joined by bars": ("assistant", "Known facts: " + " | ".join(bare)),
        "hits": ("user", str(manager.recall("What about my dog and the hospital?", user="ann"))),
        "inside an answer": ("assistant", f"{FIRST.replace('My', 'Your')}"),
    }


def test_recalled_text_is_not_stored_again(manager: MemoryManager) -> None:
    stored = {}
    for way, (role, text) in returned(manager).items():
        message = {"role": role, "content": text, "message_id": way}
        outcomes = manager.remember(message, user="ann", session="new")
        if kept := [each.memory.content for each in outcomes if each.status == "stored" and each.memory]:
            stored[way] = kept
    assert stored == {}


def test_recalled_text_is_not_stored_again_as_a_plain_text(manager: MemoryManager) -> None:
    stored = {}
    for way, (_, text) in returned(manager).items():
        outcomes = manager.remember(text, user="ann")
        if kept := [each.memory.content for each in outcomes if each.status == "stored" and each.memory]:
            stored[way] = kept
    assert stored == {
        "inside an answer": [FIRST.replace("My", "Your")]
    }  # in a caller's own text, these are other words


def test_rest_of_an_answer_is_kept(manager: MemoryManager) -> None:
    text = f"{FIRST} The vet in Bruges opens at nine on Monday."
    outcomes = manager.remember({"role": "assistant", "content": text}, user="ann")
    kept = [each.memory.content for each in outcomes if each.status == "stored" and each.memory]
    assert kept == ["The vet in Bruges opens at nine on Monday."]


@pytest.mark.parametrize(
    "text",
    [
        f"{FIRST} Since last week he limps.",
        "My dog Rex is allergic to chicken and loves the beach at Ostend, but we moved away.",
        "My dog Rex is allergic to beef and loves the beach at Ostend.",
        "- fix the login page [#1]",
        f'{{"old": "{FIRST}", "new": "Rex now eats only beef."}}',
        "Note: My dog Rex is allergic to beef and loves the beach at Ostend.",
    ],
)
def test_something_new_in_old_words_is_kept(manager: MemoryManager, text: str) -> None:
    outcomes = manager.remember({"role": "user", "content": text}, user="ann", session="old")
    assert [each.memory.content for each in outcomes if each.status == "stored" and each.memory] == [text]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Door code 12#", "Door code 12*"),
        ("Rated the hotel 3", "Rated the hotel 3**"),
        ("My grade in French is B", "My grade in French is B+"),
        ("I learn to program in C", "I learn to program in C#"),
        ("The freezer is set to 5 degrees", "The freezer is set to -5 degrees"),
        ("5 degrees in the freezer", "-5 degrees in the freezer"),
        ("Liga is what I follow", "3. Liga is what I follow"),
        ("I'm free for dinner", "2026-03-05 I'm free for dinner"),
        ("I live in Rome", "I live in Rome (until 2027-05)"),
        ("I don't want kids before I'm thirty", "I don't want kids…"),
        ("I don't want to eat meat on Fridays", "I don't want to eat meat ..."),
        ("I could not sleep at all in the new flat", "I could not sleep at all…"),
        ("We are not going to move before the summer", '"We are not going to move…"'),
        ("I want to stop working at the bank next year", "Note: I want to stop working at the…"),
        ("I'd like to be a vet when I grow up", "I'd like to be a vet [...]"),
        ("My mother lives with us until the end of May", "My mother lives with us until the"),
    ],
)
@pytest.mark.parametrize("as_message", [True, False])
def test_own_other_statement_is_kept(tmp_path: Path, first: str, second: str, *, as_message: bool) -> None:
    with MemoryManager(db_url=f"sqlite:///{tmp_path}/m.db") as opened:
        for text in (first, second):
            said = Message("user", text, name="Ann") if as_message else text
            assert [(each.status, each.rule) for each in opened.remember(said, user="ann")] == [("stored", "")]


@pytest.mark.parametrize("again", ["- I paid the rent", '"I paid the rent."', "I went for a swim\nI paid the rent"])
def test_what_happened_again_is_kept(tmp_path: Path, again: str) -> None:
    with MemoryManager(db_url=f"sqlite:///{tmp_path}/m.db") as opened:
        opened.remember(Message("user", "I paid the rent", timestamp="2026-01-02T09:00:00Z"), user="ann")
        outcomes = opened.remember(Message("user", again, timestamp="2026-02-02T09:00:00Z"), user="ann")
        assert [(each.status, each.memory and each.memory.content) for each in outcomes] == [("stored", again)]


@pytest.mark.parametrize(
    ("role", "text"),
    [
        ("user", "- user: My cat is called Miso and sleeps in the bathtub [#1]"),
        ("user", "- user: My cat is called Miso and sle"),
        ("user", "- My cat is called Miso and sleeps…"),
        ("user", "- user: My cat is called M"),
        ("user", "As you told me: My cat is called Miso and sleeps in the bathtub"),
        ("assistant", "My cat is called Miso and sleeps…"),
        ("assistant", "Your cat is called **Miso** and sleeps in the bathtub"),
        ("tool", "My cat is called Miso and sleeps in the"),
        ("user", "</memoranda-memory 0123456789abcdef>"),
        ("assistant", "## 2026-03-05 (Thursday)\n## 2026-03-06 (Friday)"),
        ("tool", "## 2026-03-05 (Thursday)\n</memoranda-memory 0123456789abcdef>\n"),
    ],
)
def test_entry_that_comes_back_in_any_form_is_an_echo(tmp_path: Path, role: str, text: str) -> None:
    with MemoryManager(db_url=f"sqlite:///{tmp_path}/m.db") as opened:
        opened.remember(Message("user", "My cat is called Miso and sleeps in the bathtub"), user="ann")
        outcomes = opened.remember({"role": role, "content": text}, user="ann")
        assert [each.rule for each in outcomes] == ["echo"]


def test_own_list_under_the_word_for_memories_is_kept(manager: MemoryManager) -> None:
    text = "My memories of the trip: the boat was late; the soup was cold"
    assert manager.remember(Message("user", text), user="ann")[0].status == "stored"


def test_own_statement_again_is_a_duplicate_and_no_echo(manager: MemoryManager) -> None:
    outcomes = manager.remember({"role": "user", "content": FIRST}, user="ann", session="old")
    assert [(each.status, each.rule) for each in outcomes] == [("duplicate", "duplicate")]


def test_text_of_another_user_is_no_echo(manager: MemoryManager) -> None:
    assert manager.remember({"role": "assistant", "content": FIRST}, user="bob")[0].status == "stored"


@pytest.mark.parametrize("run", ["*", " ", '"', "|", "[#1]", "[#1 ", "(no longer true", "(2024-03-01)", "\u3000", "… "])
def test_long_run_of_marks_is_read_in_time(run: str) -> None:
    started = time.thread_time()
    for text in (f"tea {run * 5000} milk", f"tea {run * 5000}", f"{run * 5000} tea"):
        strip_decoration(text)
    assert time.thread_time() - started < 1.0


@pytest.mark.parametrize(
    ("part", "core", "is_cut"),
    [
        ('- "Ann likes tea" [#7, chat, session s1]', "Ann likes tea", False),
        ("3. Ann likes tea (no longer true since 2024-03-01) [#7] | ", "Ann likes tea", False),
        ("> Ann likes tea (said in Oslo, 2024-03-01)", "Ann likes tea", False),
        ("Ann likes tea and…", "Ann likes tea and", True),
        ("* Ann likes tea [...] ", "Ann likes tea", True),
        ("Ann likes tea (green)", "Ann likes tea (green)", False),
    ],
)
def test_decoration_of_an_entry_is_removed(part: str, core: str, is_cut: bool) -> None:
    assert strip_decoration(part) == (core, is_cut)


def test_id_with_thousands_of_digits_is_no_error(manager: MemoryManager) -> None:
    text = f"Rex likes the [#{'9' * 5000}] beach at Ostend very much"
    assert manager.remember({"role": "user", "content": text}, user="ann")[0].status == "stored"
