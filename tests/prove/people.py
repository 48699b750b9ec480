"""Users, agents and sessions of one tenant, with names that are easily mixed up: a query shows no more than it names.

Every place, which is a user, an agent and a session, has a canary of its own in all that it holds. A query is aimed at
one place and mostly names another that differs in one of the three; only canaries of places that it names may come
back, and nothing of the place it is aimed at may change.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from memoranda import ANY
from memoranda.errors import MemorandaError
from memoranda.files import open_export_to_read
from memoranda.records import Record
from memoranda.results.workflows import ExecutionPage
from memoranda.testing.fakes import CONFUSABLE_NAMES
from memoranda.types import Recall

CANARY: Final = re.compile(r"canary\d{4}x")
_NEVER_GIVEN: Final = 2**40
_SLOT: Final = "Ann/favourite colour"


@dataclass
class Place:
    """A user, an agent and a session of a tenant, and what was stored there."""

    user: Any
    agent: str | None
    session: str | None
    canary: str
    ids: list[int] = field(default_factory=list)
    recall_id: str = ""

    @property
    def names(self) -> dict[str, Any]:
        return {"user": self.user, "agent": self.agent, "session": self.session}

    def covers(self, other: Place) -> bool:
        """Return whether a query that names this place may show rows of the other one."""
        return (
            self.user in (ANY, other.user)
            and self.agent in (None, other.agent)
            and self.session in (None, other.session)
        )

    def is_same(self, other: Place) -> bool:
        return self.names == other.names

    @property
    def texts(self) -> list[str]:
        return [f"{self.canary} likes tea number {number}" for number in range(2)]

    def fill(self, manager: Any) -> None:
        word, names = self.canary, self.names
        self.ids = [memory.id for memory in manager.add_memories(self.texts, **names)]
        manager.remember({"role": "user", "content": f"My favourite colour is {word}.", "name": "Ann"}, **names)
        manager.add_memory_association(*self.ids, user=self.user)
        for namespace in (("notes",), ("notes", word)):
            manager.put(namespace, "draft", {"text": word}, **names)
        manager.get_memory(self.agent, user=self.user, session=self.session).add_message(
            {"role": "user", "content": word}
        )
        self.recall_id = manager.recall(word, **names).id


@dataclass(frozen=True)
class Question:
    """One query: the place it names, the one it is aimed at, and its random choices."""

    manager: Any
    asked: Place
    aim: Place
    rng: random.Random
    folder: Path
    own: list[int]
    """Memories of the place that it names."""

    @property
    def words(self) -> str:
        """Words of the other place; in capitals, so that an answer may repeat them."""
        return self.rng.choice([self.aim.canary.upper(), "likes tea", f"{self.aim.canary.upper()} favourite colour"])

    @property
    def names(self) -> dict[str, Any]:
        return self.asked.names

    @property
    def user_and_agent(self) -> dict[str, Any]:
        return {"user": self.asked.user, "agent": self.asked.agent}

    @property
    def id(self) -> int:
        return self.rng.choice(self.aim.ids)

    @property
    def start(self) -> int:
        """A memory to follow links from: mostly one that the query names, if there is one."""
        return self.own[0] if self.own and self.rng.random() < 0.8 else self.id


Ask = Callable[[Question], Any]


def _export(q: Question) -> str:
    q.manager.export_jsonl(q.folder / "people.jsonl", **q.names)
    return (q.folder / "people.jsonl").read_text("utf-8")


def _archive(q: Question) -> str:
    has_archives = hasattr(q.manager, "archive_to")  # the client of a server has none
    return read_archive(q.manager, q.folder / "people.zst", **q.names) if has_archives else _export(q)


def read_archive(manager: Any, file: Path, **names: Any) -> str:
    """Return what is in an archive of a scope."""
    file.unlink(missing_ok=True)
    manager.archive_to(file, **names)
    with open_export_to_read(file, None) as from_start:
        return from_start().read().decode()


def _conversation(q: Question) -> Any:
    return list(q.manager.get_memory(q.asked.agent, user=q.asked.user, session=q.asked.session).messages)


READS: Final[dict[str, Ask]] = {
    "recall": lambda q: q.manager.recall(q.words, limit=100, min_score=0.0, **q.names).hits,
    "context": lambda q: q.manager.context(q.words, budget=5000, min_score=0.0, **q.names),
    "search_memories": lambda q: q.manager.search_memories(q.words, limit=100, **q.names),
    "search_memory": lambda q: q.manager.search_memory(q.words, limit=100, **q.names),
    "why_not": lambda q: q.manager.why_not(q.words, q.id, **q.names),
    "list_memories": lambda q: q.manager.list_memories(1000, **q.names),
    "facts": lambda q: q.manager.facts(**q.names),
    "conflicts": lambda q: q.manager.conflicts(**q.names),
    "history": lambda q: q.manager.history(_SLOT, **q.names),
    "export_jsonl": _export,
    "archive_to": _archive,
}
"""Methods that show rows of every place that the query names."""
BY_USER_AND_AGENT: Final[dict[str, Ask]] = {
    "agents": lambda q: q.manager.agents(1000, user=q.asked.user),
    "sessions": lambda q: q.manager.sessions(1000, **q.user_and_agent),
    "get_related_memories": lambda q: q.manager.get_related_memories(q.start, depth=3, **q.user_and_agent),
    "cleanup_old_memories": lambda q: q.manager.cleanup_old_memories(0, 1.0, dry_run=True, **q.user_and_agent),
}
"""The same for those without a session; `agents` has no agent either."""
EXACT: Final[dict[str, Ask]] = {
    "get_item": lambda q: q.manager.get_item(q.rng.choice([("notes",), ("notes", q.aim.canary)]), "draft", **q.names),
    "search_items": lambda q: q.manager.search_items(
        ("notes",), query=q.rng.choice([None, q.words]), limit=100, **q.names
    ),
    "namespaces": lambda q: q.manager.namespaces(("notes",), limit=1000, **q.names),
    "get_memory": _conversation,
}
"""Items and conversations belong to one place: without an agent is not with any agent."""
REFUSED: Final[dict[str, Ask]] = {
    "get": lambda q: q.manager.get(q.id, **q.names),
    "history of a memory": lambda q: q.manager.history(q.id, **q.names),
    "replay": lambda q: q.manager.replay(q.aim.recall_id, **q.names),
    "why": lambda q: q.manager.why(q.aim.recall_id, q.id, **q.names),
    "update": lambda q: q.manager.update(q.id, "taken", **q.names),
    "delete": lambda q: q.manager.delete(q.id, **q.names),
    "delete_memory": lambda q: q.manager.delete_memory(q.id, **q.names),
    "discard": lambda q: q.manager.discard(q.id, **q.names),
    "release": lambda q: q.manager.release(q.id, **q.names),
    "quarantine": lambda q: q.manager.quarantine(q.id, **q.names),
    "archive": lambda q: q.manager.archive(q.id, **q.names),
    "restore": lambda q: q.manager.restore(q.id, **q.names),
    "pin": lambda q: q.manager.pin(q.id, **q.names),
    "unpin": lambda q: q.manager.unpin(q.id, **q.names),
    "forget": lambda q: q.manager.forget(ids=[q.id], **q.names),
    "add_memory_association": lambda q: q.manager.add_memory_association(*q.aim.ids, **q.user_and_agent),
    "delete_item": lambda q: q.manager.delete_item(("notes", q.aim.canary), "draft", **q.names),
}
"""Aimed at one row: an error, or nothing done, when the query does not name its place."""
QUERIES: Final = READS | BY_USER_AND_AGENT | EXACT | REFUSED
COMPLETE: Final = ("list_memories", "export_jsonl", "get_memory")
"""Methods that must show every place that they name: one that finds nothing would prove nothing."""
LEFT_OUT: Final = {
    "add_memory": "writes a row of its own; every place is written by `add_memories`",
    "add_memories": "fills the places",
    "remember": "fills the places",
    "put": "fills the places",
    "put_many": "takes the same way as `put`",
    "receipts": "has pseudonyms and no text of a row",
    "upkeep": "changes what is compared",
}
"""Methods with a user that are not asked, and why."""


@dataclass
class People:
    """The places of one tenant, and the manager that asks about them."""

    manager: Any
    places: list[Place]
    folder: Path
    names: list[str] = field(default_factory=list)
    """The methods that are still to be asked in this round."""
    stored: People | None = None
    """The same places as the store has them, when the manager is a client: what was changed shows there."""

    def for_client(self, client: Any) -> People:
        """Return the same places as a client of a server sees them, which has other ids for them.

        A memory that the client does not see has an id that is never given, and the queries tell.
        """
        ids = {memory.content: memory.id for memory in client.list_memories(1000, user=ANY)}
        places = [replace(place, ids=[ids.get(text, _NEVER_GIVEN) for text in place.texts]) for place in self.places]
        return People(client, places, self.folder, stored=self)

    def ask(self, rng: random.Random) -> tuple[str, str | None]:
        """Ask the next method of a round that has each once; return its name, and what was wrong with the answer."""
        self.names = self.names or rng.sample(sorted(QUERIES), len(QUERIES))
        name = self.names.pop()
        return name, self.ask_one(name, rng)

    def ask_one(self, name: str, rng: random.Random) -> str | None:
        aim, asked = self.choose(name, rng)
        before = self.state(aim.canary)
        own = [memory_id for place in self.places if asked.is_same(place) for memory_id in place.ids]
        answer: Any = None
        try:
            answer = QUERIES[name](Question(self.manager, asked, aim, rng, self.folder, own))
            text = show(answer)
        except MemorandaError as error:
            if is_second_line(error):
                return f"{name} of {asked.names} read a foreign row: {error}"
            text = str(error)
        except Exception as error:  # noqa: BLE001 - an untyped error is a violation
            return f"{name} raised {error!r}"
        where = f"{name} of {asked.names}, aimed at {aim.names}"
        if self.state(aim.canary) != before:
            return f"{where} changed a row of {aim.canary}"
        if name in REFUSED and answer:
            return f"{where} was not refused: {text[:80]}"
        return self.problem(name, asked, text, where)

    def state(self, canary: str) -> list[object]:
        """Return what a query could change of the memories of a place; of one that is gone, the error."""
        if self.stored is not None:
            return self.stored.state(canary)
        found = list[object]()
        (place,) = (each for each in self.places if each.canary == canary)
        for memory_id in place.ids:
            try:
                each = self.manager.get(memory_id, user=ANY)
                found.append((each.content, each.version, each.pinned, each.archived_at, each.quarantined_at))
            except MemorandaError as error:
                found.append(str(error))
        return found

    def problem(self, name: str, asked: Place, text: str, where: str) -> str | None:
        shown = set(CANARY.findall(text.lower() if name in ("agents", "sessions") else text))
        named = self.named(name, asked)
        if shown - named:
            return f"{where} shows {sorted(shown - named)[:3]}"
        if name in COMPLETE and named - shown:
            return f"{where} lacks {sorted(named - shown)[:3]}"
        return None

    def named(self, name: str, asked: Place) -> set[str]:
        """Return the canaries that a method may show when it is asked about a place."""
        if name in EXACT:
            return {place.canary for place in self.places if asked.is_same(place)}
        if name in BY_USER_AND_AGENT:
            asked = replace(asked, session=None, agent=None if name == "agents" else asked.agent)
        return {place.canary for place in self.places if asked.covers(place)}

    def choose(self, name: str, rng: random.Random) -> tuple[Place, Place]:
        """Return a place to aim at and one to name, mostly different in one name, in which they look alike."""
        while True:
            aim = rng.choice(self.places)
            asked = self._sibling(aim, rng) if rng.random() < 0.8 else replace(rng.choice(self.places))
            if name not in EXACT and name not in REFUSED and rng.random() < 0.1:
                asked = replace(asked, user=ANY)
            if name not in REFUSED or not self._may_reach(name, asked, aim):
                return aim, asked

    def _may_reach(self, name: str, asked: Place, aim: Place) -> bool:
        if name == "delete_item":
            return asked.is_same(aim)
        if name == "add_memory_association":
            asked = replace(asked, session=None)
        return asked.covers(aim)

    def _sibling(self, aim: Place, rng: random.Random) -> Place:
        which = rng.choice(["user", "agent", "session"])
        others = {place.names[which] for place in self.places} - {aim.names[which]}
        return replace(aim, **{which: rng.choice(sorted(others, key=str))})


def is_second_line(error: MemorandaError) -> bool:
    """Whether a row of somebody else was read, and held back because its owner is compared once more.

    In a store that nobody damaged, the statement that read it was wrong.
    """
    return "to another owner" in str(error)


def show(value: object) -> str:
    """Return everything in a result: its own repr is cut."""
    if isinstance(value, Recall | ExecutionPage | list | tuple | set | frozenset):
        return " ".join(map(show, value))
    if isinstance(value, Mapping | Record):
        return " ".join(f"{key} {show(item)}" for key, item in value.items())
    return str(value)


def make_people(manager: Any, rng: random.Random, folder: Path) -> People:
    """Fill a tenant: two users, agents and sessions that look alike, and what has none of them."""
    users, agents, sessions = ([None, *rng.sample(CONFUSABLE_NAMES, 2)] for _ in range(3))
    places = [Place(user, agent, session, "") for user in users for agent in agents for session in [*sessions, ""]]
    del places[0]  # a conversation has at least one name
    # Names that are canaries themselves: `agents` and `sessions` show nothing but names. In capitals, since an error
    # may repeat the names of the question.
    places += [Place(user, "", "", "") for user in users]
    for number, place in enumerate(places):
        place.canary = f"canary{5000 + number}x"
        place.agent = place.canary.upper() if place.agent == "" else place.agent
        place.session = place.canary.upper() if place.session == "" else place.session
        place.fill(manager)
    # Who reads across users may link across them; nobody else may follow such a link.
    for one, other in zip(places, rng.sample(places, len(places)), strict=True):
        if one is not other:
            manager.add_memory_association(one.ids[0], other.ids[0], user=ANY)
    return People(manager, places, folder)
