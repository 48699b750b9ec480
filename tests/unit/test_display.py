from __future__ import annotations

import copy
import json
import pickle
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from html.parser import HTMLParser
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest

import memoranda
from memoranda import (
    AgentCallMsg,
    MemoryManager,
    Message,
    MessageContent,
    ToolCallMsg,
    UpkeepDecision,
    UpkeepReport,
)
from memoranda.display import Shown, one_line, plural

HOSTILE = "<script>alert('x')</script> & \"quoted\" \x1b[31mred\x1b[0m \u202edesrever\u202c " + "w" * 10_000
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[MemoryManager]:
    with MemoryManager(db_url=f"sqlite:///{tmp_path}/m.db", clock=lambda: NOON) as manager:
        manager.remember(
            Message("user", "I live in Hamburg.", name="Nora", timestamp=datetime(2026, 1, 5, tzinfo=UTC)), user="nora"
        )
        manager.remember(
            Message("user", "I moved to Ghent.", name="Nora", timestamp=datetime(2026, 2, 3, tzinfo=UTC)), user="nora"
        )
        yield manager


class _Tags(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_printed_recall_reads_like_an_answer(manager: MemoryManager) -> None:
    recall = manager.recall("Where does Nora live?", user="nora", limit=1)
    first, answer, origin = str(recall).splitlines()
    assert first.startswith("Where does Nora live? (1 hit, answerable ")
    assert answer == " 1. I moved to Ghent."
    assert origin == f"    Nora, 2026-02-03, score {recall[0].score:.2f}, #{recall[0].id}"


def test_printed_recall_without_hits_says_so(manager: MemoryManager) -> None:
    assert str(manager.recall("tea", user="bob")).startswith("tea (nothing found, answerable ")
    assert "nothing found" in _Tags(manager.recall("tea", user="bob")._repr_html_()).text
    assert "no hits" in _Tags(manager.context("tea", user="bob")._repr_html_()).text


def test_replaced_memory_says_until_when_it_held(manager: MemoryManager) -> None:
    then = manager.recall("Where does Nora live?", user="nora", as_of=datetime(2026, 1, 9, tzinfo=UTC))
    assert "(until 2026-02-03)" in str(then)


def test_reprs_are_short_and_name_what_matters(manager: MemoryManager) -> None:
    recall = manager.recall("Where does Nora live?", user="nora")
    facts = manager.facts(user="nora")
    values = [
        recall,
        recall[0],
        recall[0].memory,
        facts[0],
        manager.history(recall[0].id, user="nora"),
        manager.health(),
        manager.get_stats(),
        manager.upkeep(dry_run=True),
        manager.context("Ghent", user="nora"),
        manager.check(),
    ]
    for value in values:
        assert len(repr(value)) <= 160, repr(value)
        assert repr(value).startswith(f"{type(value).__name__}(")
        assert "\n" not in repr(value)
    assert repr(facts).startswith("<1 fact: Nora/city: Ghent (since 2026-02-03; before: Hamburg")
    assert str(facts) == str(facts[0])
    assert repr(manager.facts(user="nobody")) == "<0 facts>"
    assert (str(manager.facts(user="nobody")), str(manager.conflicts(user="nobody"))) == ("no facts", "no conflicts")
    assert facts == list(facts)
    assert str(facts[0]) == "Nora/city: Ghent (since 2026-02-03; before: Hamburg until 2026-02-03)"
    assert str(recall[0].memory) == f"I moved to Ghent. (Nora, 2026-02-03, #{recall[0].id})"
    assert str(recall[0]) == f"{recall[0].score:.2f} {recall[0].memory}"


def test_outcomes_say_how_each_write_ended(manager: MemoryManager) -> None:
    outcomes = manager.remember([Message("user", "hi there"), Message("user", "I own a red bike.")], user="nora")
    assert repr(outcomes) == "Outcomes(1 rejected, 1 stored)"
    rejected, stored = str(outcomes).splitlines()
    assert rejected.startswith("rejected — ")
    assert stored.startswith("stored: I own a red bike. (")
    assert str(type(outcomes)()) == "nothing was written"


def test_hostile_text_is_shown_as_text_everywhere(manager: MemoryManager) -> None:
    outcomes = manager.remember(HOSTILE, user=HOSTILE[:200].replace("\x1b", ""), source="<b>page</b>")
    assert outcomes[0].memory is not None
    user = outcomes[0].memory.user
    manager.release(outcomes[0].memory.id, user=user)  # it looks like an attack
    recall = manager.recall("script alert quoted", user=user)
    assert len(recall) == 1
    context = manager.context("script alert quoted", user=user)
    for value in (recall, recall[0], recall[0].memory, outcomes, outcomes[0], context):
        page = _Tags(value._repr_html_())
        assert page.open == []
        assert page.tags <= {"table", "caption", "thead", "tbody", "tr", "th", "td", "div", "pre"}
        assert "<script>" in page.text
        assert not set("\x1b\u202e\u202c") & set(page.text)
        assert len(value._repr_html_()) < 20_000
        printed = repr(value) if value is context else str(value)
        assert not set("\x1b\u202e\u202c") & set(printed)
    assert len(str(recall)) < 2_000


def test_every_result_has_a_table_for_notebooks(manager: MemoryManager) -> None:
    for value in (manager.health(), manager.get_stats(), manager.upkeep(dry_run=True), manager.facts(user="nora")[0]):
        page = _Tags(value._repr_html_())
        assert page.open == []
        assert type(value).__name__ in page.text


def test_counts_have_the_right_noun() -> None:
    assert [plural(n, "memory", "memories") for n in (0, 1, 2, 1200)] == [
        "0 memories",
        "1 memory",
        "2 memories",
        "1,200 memories",
    ]
    assert plural(1, "hit") == "1 hit"


def test_line_is_cut_after_control_characters_are_gone() -> None:
    assert one_line("a\nb\tc\x00d") == "a b c d"
    assert one_line("x" * 100, 10) == "x" * 9 + "…"


def test_lists_of_facts_and_conflicts_are_tables_in_a_notebook(manager: MemoryManager) -> None:
    manager.remember("Nora lives in Lyon.", user="nora", source="https://example.org/<b>page</b>")
    lists: tuple[Any, ...] = manager.facts(user="nora"), manager.conflicts(user="nora")
    for found, words in zip(lists, ("Hamburg", "Lyon"), strict=True):
        html = _Tags(found._repr_html_())
        assert {"table", "div", "td"} <= html.tags
        assert "b" not in html.tags
        assert words in html.text
        assert html.open == []
        assert len(repr(found)) < 400


def _small(kind: Any) -> Any:
    """Return a small value of a type: one item in each container, the first of several choices."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return arguments[0]
    if origin in (Union, UnionType):
        return _small(arguments[0])
    if origin is tuple:
        return tuple(_small(each) for each in arguments if each is not Ellipsis)
    if origin is dict:
        return {"one": _small(arguments[1])}
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return kind(**{each.name: _small(hints[each.name]) for each in fields(kind) if each.init})  # type: ignore[operator]
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next(iter(kind))
    plain = {int: 1, float: 0.5, bool: True, str: "green tea", datetime: NOON, Path: Path("memories.db")}
    return plain.get(kind, "green tea")


def _result_types() -> list[type]:
    exported = (getattr(memoranda, name) for name in memoranda.__all__)
    found = {each for each in exported if isinstance(each, type) and issubclass(each, Shown)}
    messages = {Message, AgentCallMsg, MessageContent, ToolCallMsg}  # what callers write, not results
    return sorted(found - messages, key=lambda each: each.__name__)


@pytest.mark.parametrize("kind", _result_types(), ids=lambda kind: kind.__name__)
def test_result_has_a_short_repr_and_prints_as_text(kind: type) -> None:
    value = _small(kind)
    assert repr(value).startswith(f"{kind.__name__}(")
    assert len(repr(value)) <= 160, repr(value)
    assert "\n" not in repr(value)
    assert not re.search(r"\b[A-Z]\w+\(|<[A-Z]|datetime", str(value)), str(value)
    assert "1 items" not in repr(value) + str(value)


def test_printed_report_lists_what_was_done(manager: MemoryManager) -> None:
    decision = UpkeepDecision("merge", "merged", 3, "I like tea.", "says the same", 7)
    report = UpkeepReport(12, (decision,), dry_run=True)
    assert str(report).splitlines() == [
        "upkeep: would make 1 change, 12 memories examined",
        "  merged #3 into #7: I like tea. — says the same",
    ]
    assert str(UpkeepReport(2, (), dry_run=True)) == "upkeep: nothing to do, 2 memories examined"
    assert str(manager.check()).startswith("no problems: ")
    receipt = str(manager.forget(user="nora", dry_run=True))
    assert receipt.startswith("2 memories would be erased\n  ")
    assert ": erased" not in receipt


def test_manager_has_a_repr_without_a_password() -> None:
    manager = MemoryManager("postgresql://ann:se:c@ret@host/memories")
    assert repr(manager) == "MemoryManager('postgresql://ann:***@host/memories', tenant='default')"


def test_repr_of_a_recall_shows_what_was_found(manager: MemoryManager) -> None:
    recall = manager.recall("Where does Nora live?", user="nora", limit=1)
    assert repr(recall).startswith("Recall('Where does Nora live?', 1 hit, answerable ")
    assert repr(recall).endswith(": 'I moved to Ghent.')")
    assert repr(recall[0]) == f"Hit({recall[0].score:.2f}, #{recall[0].id} 'I moved to Ghent.', Nora, 2026-02-03)"


def test_each_list_of_results_prints_a_line_for_each_and_is_a_table(manager: MemoryManager) -> None:
    manager.add_memory("Nora keeps bees.", user="nora", agent="helper", session="talk")
    ids = [each.id for each in manager.list_memories(user="nora")]
    manager.add_memory_association(ids[0], ids[1], "before", 0.5, user="nora")
    manager.put(("drinks",), "tea", {"kind": "green"})
    manager.add_knowledge("Tea is a drink.", source="tea.md")
    manager.forget(ids.pop(), user="nora")
    lists: dict[str, list[Any]] = {
        "2 memories": manager.list_memories(user="nora"),
        "1 hit": manager.search_memories("Where does Nora live?", user="nora"),
        "1 related memory": manager.get_related_memories(ids[0], user="nora"),
        "1 user": manager.users(),
        "0 agents": manager.agents(user=memoranda.ANY),
        "0 sessions": manager.sessions(user=memoranda.ANY),
        "1 item": manager.search_items(("drinks",)),
        "1 namespace": manager.namespaces(),
        "1 document": manager.get_knowledge_sources(),
        "1 receipt": manager.receipts(),
        "0 messages": manager.get_conversation_history("nothing"),
    }
    for title, found in lists.items():
        assert repr(found).startswith(f"<{title}"), repr(found)
        assert len(repr(found)) <= 300
        assert found == list(found)
        assert not re.search(r"\b[A-Z]\w+\(|datetime", str(found)), str(found)
        page = _Tags(found._repr_html_())  # type: ignore[attr-defined]
        assert page.open == []
        assert page.text.startswith(title)
    assert str(lists["0 agents"]) == "no agents"
    assert str(lists["1 user"]) == "nora: 2 memories, last active 2026-03-01"
    assert str(lists["1 namespace"]) == "drinks: 1 item, last active 2026-03-01"
    assert str(lists["2 memories"]).splitlines()[0] == f"I live in Hamburg. (Nora, 2026-01-05, #{ids[0]})"


def test_list_of_results_is_copied_pickled_and_written_as_json_like_a_list(manager: MemoryManager) -> None:
    users = manager.users()
    assert json.loads(json.dumps(users))[0]["user"] == "nora"
    for again in (copy.deepcopy(users), pickle.loads(pickle.dumps(users))):  # noqa: S301
        assert again == users
        assert repr(again) == repr(users)


def test_tables_break_no_short_cell_and_reports_are_shown_as_they_print(manager: MemoryManager) -> None:
    memory = manager.list_memories(user="nora")[0]
    html = memory._repr_html_()
    assert html.index("<table") > html.index("</div>")  # a title is as wide as the page, not as its table
    assert not re.search(r"<td[^>]*overflow-wrap:anywhere[^>]*>[^<]{1,26}<", html)
    assert "overflow-wrap:anywhere" in manager.add_memory("A long text. " * 9)._repr_html_()
    assert "notes" not in _Tags(html).text
    question = "Where does Nora live?"
    reports: tuple[Any, ...] = (
        manager.forget(user="nora", dry_run=True),
        manager.replay(manager.recall(question, user="nora").id, user="nora"),
        manager.why_not(question, memory.id, user="nora"),
        manager.check(),
    )
    for report in reports:
        page = _Tags(report._repr_html_())
        assert page.open == []
        assert str(report) in page.text


def test_why_says_in_plain_words_what_counted(manager: MemoryManager) -> None:
    recall = manager.recall("Where does Nora live?", user="nora", limit=1)
    why = manager.why(recall, recall[0].id)
    assert why == recall[0].why
    assert repr(why).startswith("<1 signal: +")
    assert all(
        re.fullmatch(r"[+-]\d+\.\d\d [a-z ]+ \(rank \d+, score -?\d\.\d\d\)", line) for line in str(why).split("\n")
    )
    page = _Tags(why._repr_html_())  # type: ignore[attr-defined]
    assert "its meaning" in page.text
    assert "table" in page.tags
