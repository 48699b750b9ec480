"""Tenants, users, agents and sessions with names that look alike: no method, route or tool shows one a row of another.

Every row of a tenant holds its canary word. Each query asks for another tenant's canary, ids, sessions, receipts and
recalls; no canary but its own may come back. At the end, every tenant must still have all that it had. `people` does
the same for the users, agents and sessions of one tenant. All ways to ask take turns, so that a short run has each.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memoranda import ANY, MemoryManager
from memoranda.errors import InvalidInput, MemorandaError
from memoranda.manager.manager import create_session
from memoranda.mcp.base import Owner as McpOwner
from memoranda.testing.fakes import CONFUSABLE_NAMES, HashEmbedder
from memoranda.testing.values import CONFUSABLE
from tests.mcp import test_tenants as mcp_tenants
from tests.mcp.http_server import NEWEST, open_mcp_server
from tests.prove.people import CANARY, People, is_second_line, make_people, read_archive, show
from tests.prove.regime import Plan, Result, result
from tests.server import test_tenants as rest_tenants
from tests.server.in_process import InProcessServer, open_server

ITEMS = 12
FEW_TENANTS = 24
USERS = (None, "ann", "Ann", "ann ", ANY)
INJECTIONS = (
    "' OR '1'='1", '" OR 1=1 --', "%", "_", "*", "ann%", "a\\", "'; DROP TABLE memories; --", "NEAR(a b)", "{x}",
    "tenant:ann",
    "x' UNION SELECT content FROM memories --", "\u202eann", "ann\t", "ANN", "aNN", "ⒶNN", "ann\u00ad", "nul", "NUL",
)  # fmt: skip
REFUSED = ("", " ", "a\0", "a\0b", "\ud800")


def tenant_names(count: int) -> list[str]:
    """Return different names that a wrong store would take for each other."""
    base = list(dict.fromkeys([*CONFUSABLE_NAMES, *CONFUSABLE, *INJECTIONS]))
    more = (f"{first}{second}" for first in base for second in base)
    names = list(dict.fromkeys([*base, *more]))
    return names[:count]


@dataclass
class Owner:
    """A tenant and what it has stored."""

    manager: MemoryManager
    canary: str
    ids: list[int] = field(default_factory=list)
    recall_id: str = ""
    receipt_id: str = ""
    recall: Any = None

    def fill(self, items: int) -> None:
        word, manager = self.canary, self.manager
        for user in (None, "ann"):
            texts = [f"{word} likes tea number {n}" for n in range(items // 2)]
            self.ids += [memory.id for memory in manager.add_memories(texts, user=user, agent="writer")]
        manager.add_memory_association(self.ids[0], self.ids[1], f"{word} link")
        manager.save("writer", "draft", word)
        manager.save("writer", "draft", word, "long_term")
        for namespace in (("notes",), ("notes", word)):
            manager.put(namespace, "draft", {"text": word}, user="ann")
        manager.save_execution_record("writer", {"status": word})
        manager.add_knowledge(f"{word} brews tea", source="tea.md")
        manager.remember({"role": "user", "content": f"My favourite colour is {word}.", "name": "Ann"}, user="ann")
        session = create_session("campaign", manager, {"who": word}, auto_cleanup=False)
        session.add_conversation_message("writer", "user", word)
        session.end_session()
        manager.get_memory("writer").add_message({"role": "user", "content": word})
        gone = manager.add_memory(f"{word} is gone")
        self.receipt_id = manager.forget(gone.id).id
        self.recall = manager.recall(word, user=ANY)
        self.recall_id = self.recall.id

    def contents(self) -> list[str]:
        return [self.manager.get(memory_id, user=ANY).content for memory_id in self.ids]


Query = Callable[["Asking"], Any]


@dataclass
class Asking:
    """One query: who asks, whose data it is aimed at, and the random choices of it."""

    manager: MemoryManager
    other: Owner
    rng: random.Random
    folder: Path

    @property
    def words(self) -> str:
        """A query for the other tenant's data; in capitals, so that an answer may repeat it."""
        return self.rng.choice(
            [self.other.canary.upper(), "likes tea", "tea", f"{self.other.canary.upper()} favourite colour", "*", "a%"]
        )

    @property
    def user(self) -> Any:
        return self.rng.choice(USERS)

    @property
    def foreign(self) -> int:
        return self.rng.choice(self.other.ids)

    @property
    def writer(self) -> Any:
        return self.rng.choice(["ann", "Ann", None])

    def file(self, name: str) -> Path:
        return self.folder / name


def _export(ask: Asking) -> str:
    ask.manager.export_jsonl(ask.file("export.jsonl"), user=ANY)
    return ask.file("export.jsonl").read_text("utf-8")


def _archive(ask: Asking) -> str:
    return read_archive(ask.manager, ask.file("archive.zst"), user=ANY)


def _export_files(ask: Asking) -> str:
    folder = Path(tempfile.mkdtemp(dir=ask.folder))
    ask.manager.export_files(folder)
    return "".join(path.read_text("utf-8") + path.name for path in sorted(folder.rglob("*")) if path.is_file())


def _conversation(ask: Asking) -> Any:
    return list(ask.manager.get_memory("writer", user=ask.rng.choice([None, "ann"])).messages)


def _run(ask: Asking) -> Any:
    with ask.manager.run("writer") as conversation:
        return list(conversation.messages)


QUERIES: dict[str, Query] = {
    # Not its explanation, which repeats the words of the question.
    "recall": lambda a: a.manager.recall(a.words, user=a.user, limit=50, shared=True, explain=True).hits,
    "context": lambda a: a.manager.context(a.words, user=a.user, budget=5000, min_score=0.0),
    "search_memories": lambda a: a.manager.search_memories(a.words, user=a.user, limit=50),
    "search_memory": lambda a: a.manager.search_memory(a.words, limit=50, user=a.user),
    "search_similar": lambda a: a.manager.search_similar("writer", a.words, 50, shared=True),
    "why_not": lambda a: a.manager.why_not(a.words, a.foreign, user=a.user),
    "why": lambda a: a.manager.why(a.other.recall, a.manager.list_memories(1, user=ANY)[0].id),
    "replay": lambda a: a.manager.replay(a.other.recall_id, user=a.user),
    "get": lambda a: a.manager.get(a.foreign, user=a.user),
    "list_memories": lambda a: a.manager.list_memories(1000, a.rng.choice([0, a.foreign]), user=a.user),
    "history": lambda a: a.manager.history(a.rng.choice([a.foreign, "Ann/favourite colour"]), user=a.user),
    "facts": lambda a: a.manager.facts(user=a.user),
    "conflicts": lambda a: a.manager.conflicts(user=a.user),
    "get_related_memories": lambda a: a.manager.get_related_memories(a.foreign, depth=3, user=a.user),
    "retrieve": lambda a: a.manager.retrieve("writer", "draft", a.rng.choice(["short_term", "long_term"])),
    "get_conversation_history": lambda a: a.manager.get_conversation_history("campaign"),
    "get_sessions": lambda a: a.manager.get_sessions(),
    "agents": lambda a: a.manager.agents(user=a.user),
    "sessions": lambda a: a.manager.sessions(user=a.user),
    "get_item": lambda a: a.manager.get_item(("notes",), "draft", user=a.writer),
    "search_items": lambda a: a.manager.search_items((), query=a.rng.choice([None, a.words]), user=a.writer),
    "namespaces": lambda a: a.manager.namespaces(user=a.writer),
    "delete_item": lambda a: a.manager.delete_item(("notes", a.other.canary), "draft", user=a.writer),
    "delete_value": lambda a: a.manager.delete_value("reader", "draft"),
    "put": lambda a: a.manager.put(("mine",), "draft", 1, user=a.writer),
    "put_many": lambda a: a.manager.put_many(("mine",), {"draft": 1, "final": 2}, user=a.writer),
    "get_execution_records": lambda a: a.manager.get_execution_records(cursor=a.rng.choice([None, "3"])),
    "get_execution_stats": lambda a: a.manager.get_execution_stats(),
    "verify_executions": lambda a: a.manager.verify_executions(),
    "get_knowledge_sources": lambda a: a.manager.get_knowledge_sources(),
    "get_memory": _conversation,
    "run": _run,
    "receipts": lambda a: a.manager.receipts(user=ANY),
    "receipt": lambda a: a.manager.receipt(a.other.receipt_id),
    "verify_receipt": lambda a: a.manager.verify_receipt(a.other.receipt_id),
    "users": lambda a: a.manager.users(),
    "get_stats": lambda a: a.manager.get_stats(),
    "health": lambda a: a.manager.health(),
    "check": lambda a: a.manager.check(),
    "export_jsonl": _export,
    "archive_to": _archive,
    "export_files": _export_files,
    "cleanup_old_memories": lambda a: a.manager.cleanup_old_memories(0, 1.0, dry_run=True, user=a.user),
    "upkeep": lambda a: a.manager.upkeep(user=ANY, dry_run=True),
    "update": lambda a: a.manager.update(a.foreign, "taken", user=ANY),
    "delete": lambda a: a.manager.delete([a.foreign], user=ANY),
    "delete_memory": lambda a: a.manager.delete_memory(a.foreign, user=ANY),
    "discard": lambda a: a.manager.discard([a.foreign], user=ANY),
    "release": lambda a: a.manager.release(a.foreign, user=ANY),
    "quarantine": lambda a: a.manager.quarantine(a.foreign, user=ANY),
    "archive": lambda a: a.manager.archive(a.foreign, user=ANY),
    "restore": lambda a: a.manager.restore(a.foreign, user=ANY),
    "pin": lambda a: a.manager.pin(a.foreign, user=ANY),
    "unpin": lambda a: a.manager.unpin(a.foreign, user=ANY),
    "forget": lambda a: a.manager.forget(
        **a.rng.choice([{"ids": [a.foreign]}, {"containing": a.other.canary}]), user=ANY
    ),
    "add_memory_association": lambda a: a.manager.add_memory_association(a.foreign, a.other.ids[0], user=ANY),
    "add_memory": lambda a: a.manager.add_memory("mine", user=a.writer),
    "add_memories": lambda a: a.manager.add_memories(["mine", "mine too"], user=a.writer),
    "remember": lambda a: a.manager.remember("I like milk", user=a.writer, idempotency_key=None),
    "save": lambda a: a.manager.save("writer", "other", 1),
    "save_execution_record": lambda a: a.manager.save_execution_record("reader", {"status": "ok"}),
    "add_knowledge": lambda a: a.manager.add_knowledge("milk is white", source="milk.md"),
    "remove_knowledge": lambda a: a.manager.remove_knowledge("milk.md"),
    "clear_session": lambda a: a.manager.clear_session("another"),
    "clear_agent_memory": lambda a: a.manager.clear_agent_memory("reader"),
    "set_retention_policy": lambda a: a.manager.set_retention_policy("reader", "session"),
    "end_run": lambda a: a.manager.end_run("reader"),
    "forget_again": lambda a: a.manager.forget_again(),
}
"""Every method, aimed at another tenant. What changes the caller's own data leaves the rows that are compared."""
LEFT_OUT = {
    "backup": "copies the whole database, by design",
    "repair": "works on the whole database and returns no rows",
    "reembed": "works on the whole database and returns no rows",
    "clear_all": "deletes what is compared; `clear_agent_memory` takes the same way",
    "import_jsonl": "reads a file that the caller gives; the routes try it with another tenant's export",
    "restore_from": "takes the same way as `import_jsonl`",
    "import_files": "reads files that the caller gives",
    "for_tenant": "makes the managers of this regime",
    "close": "ends the regime",
}
HEAVY = {
    *("check", "export_jsonl", "archive_to", "export_files", "upkeep", "verify_executions", "health", "forget"),
    "forget_again",
}
"""Methods that take long: asked less often."""


@dataclass(frozen=True)
class Part:
    """One way to ask, and how many queries of it there are in each round."""

    name: str
    share: int
    ask: Callable[[random.Random], Awaitable[tuple[str, str | None]]]
    """Asks once; returns what was asked, and what was wrong with the answer."""


def isolation(plan: Plan) -> Result:
    """Ask the manager, REST and MCP in turn, for tenants and for users, agents and sessions of one tenant."""
    return asyncio.run(_isolation(plan))


async def _isolation(plan: Plan) -> Result:
    violations, counts, asked = list[str](), Counter[str](), set[str]()
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        owners = open_owners(plan, folder, stack)
        before = [owner.contents() for owner in owners]
        rest = stack.enter_context(open_server(folder))
        parts = [
            Part("methods", 8, _asking_methods(owners, folder)),
            Part("routes", 2, _asking_routes(rest)),
            *_asking_people(rest, plan, folder, stack),
            Part("tools", 1, _asking_tools(await _open_tenants(folder, stack))),
            Part("tools of people", 2, _asking_tools(await _open_users(folder, stack))),
        ]
        turns = [part for part in parts for _ in range(part.share)]
        while plan.goes_on(done := counts.total(), violations):
            part = turns[done % len(turns)]
            name, problem = await part.ask(plan.rng("ask", done))
            counts[part.name] += 1
            asked.add(f"{part.name}: {name}")
            if problem:
                violations.append(f"query {done}, {part.name}: {problem}")
        for owner, contents in zip(owners, before, strict=True):
            if owner.contents() != contents:
                violations.append(f"{owner.canary} has lost or won rows by calls of others")
    detail = {"tenants": len(owners), "different queries": len(asked), **counts}
    return result("isolation", plan, counts.total(), violations, detail)


def open_owners(plan: Plan, folder: Path, stack: AsyncExitStack) -> list[Owner]:
    """Fill the tenants: 200 of them in a long run, fewer when that would take more than a quarter of its time."""
    most, items = (200, ITEMS) if plan.runs > 20_000 else (FEW_TENANTS, 6)
    url = f"sqlite:///{folder}/methods.db"
    root = stack.enter_context(MemoryManager(url, embedder=HashEmbedder(16), retention_policy="persistent"))
    owners = list[Owner]()
    for number, name in enumerate(tenant_names(most)):
        if number >= FEW_TENANTS and plan.elapsed > plan.seconds / 4:
            break
        owners.append(Owner(root.for_tenant(name), f"canary{number:04}x"))
        owners[-1].fill(items)
    return owners


def _asking_methods(owners: list[Owner], folder: Path) -> Any:
    methods = [name for name in QUERIES if name not in HEAVY]

    async def ask_method(rng: random.Random) -> tuple[str, str | None]:
        mine, other = rng.sample(owners, 2)
        name = rng.choice(sorted(HEAVY)) if rng.random() < 0.01 else rng.choice(methods)
        return name, ask(name, mine, other, rng, folder)

    return ask_method


def _asking_people(rest: InProcessServer, plan: Plan, folder: Path, stack: AsyncExitStack) -> Iterator[Part]:
    """Yield two ways to ask about one tenant: its manager, and a client of the server that has the same file."""
    root = stack.enter_context(MemoryManager(rest.db_url, embedder=HashEmbedder(64), retention_policy="persistent"))
    manager, client = root.for_tenant("people"), rest.client(rest.key("people"))
    people = make_people(manager, plan.rng("people"), folder)
    for name, share, asking in (("people", 8, people), ("people over REST", 3, people.for_client(client))):

        async def ask_people(rng: random.Random, asking: People = asking) -> tuple[str, str | None]:
            return asking.ask(rng)

        yield Part(name, share, ask_people)


def ask(name: str, mine: Owner, other: Owner, rng: random.Random, folder: Path) -> str | None:
    """Ask one method; return what was wrong with the answer."""
    try:
        answer = show(QUERIES[name](Asking(mine.manager, other, rng, folder)))
    except MemorandaError as error:
        if is_second_line(error):
            return f"{name} of {mine.canary} read a foreign row: {error}"
        answer = str(error)
    except Exception as error:  # noqa: BLE001 - an untyped error is a violation
        return f"{name} raised {error!r}"
    foreign = set(CANARY.findall(answer)) - {mine.canary}
    # `why` is given the other tenant's recall by its owner, and only scores come back.
    return f"{name} of {mine.canary} shows {sorted(foreign)[:3]}" if foreign else None


def _asking_routes(server: InProcessServer) -> Any:
    """Ask routes that read, for tenants with names that look alike."""
    tenants = list[rest_tenants.Tenant]()
    for number, name in enumerate(tenant_names(6)):
        tenant = rest_tenants.Tenant(server, name)
        tenant.word = f"canary{9000 + number}x"
        tenant.fill()
        tenants.append(tenant)

    async def ask_route(rng: random.Random) -> tuple[str, str | None]:
        mine, other = rng.sample(tenants, 2)
        method, path, options = rng.choice(rest_tenants.reading_calls(rng, other))
        answer = mine.send(method, path, **options)
        foreign = set(CANARY.findall(_shown(answer.text))) - {mine.word}
        problem = f"{method} {path} of {mine.word}: {answer.status_code}, shows {sorted(foreign)}"
        return re.sub(r"/\w{12,}|/\d+", "/…", path), problem if foreign or answer.status_code >= 500 else None

    return ask_route


def _shown(text: str) -> str:
    """Return an answer without the question and its explanation, which repeat the words that were asked for."""
    try:
        answer = json.loads(text)
    except ValueError:  # an export has several lines
        return text
    if isinstance(answer, dict):
        answer = {name: item for name, item in answer.items() if name not in ("query", "explanation")}
    return json.dumps(answer)


def _asking_tools(callers: list[mcp_tenants.Tenant]) -> Any:
    """Ask tools that read, each caller about another one."""

    async def ask_tool(rng: random.Random) -> tuple[str, str | None]:
        mine, other = rng.sample(callers, 2)
        tool, arguments = rng.choice(mcp_tenants.reading_calls(rng, other))
        text = (await mine.client.call_tool(tool, arguments)).model_dump_json()
        foreign = [each.word for each in callers if each is not mine and each.word in text]
        return tool, f"the tool {tool} shows {mine.word} a row of {foreign}" if foreign else None

    return ask_tool


async def _open_tenants(folder: Path, stack: AsyncExitStack) -> list[mcp_tenants.Tenant]:
    server = stack.enter_context(open_mcp_server(folder))
    return list(await mcp_tenants.two_tenants(server, stack, NEWEST))


async def _open_users(folder: Path, stack: AsyncExitStack) -> list[mcp_tenants.Tenant]:
    """Return callers of one tenant, whose servers have one file and different users, agents and sessions."""
    callers = list[mcp_tenants.Tenant]()
    names = [("ann", "bot", "one"), ("Ann", "bot", "one"), ("ann", "Bot", "one"), ("ann", "bot", "One")]
    for number, (user, agent, session) in enumerate(names):
        owner = McpOwner(user=user, agent=agent, session=session)
        server = stack.enter_context(open_mcp_server(folder, owner))
        client = await stack.enter_async_context(server.client(server.key("people"), NEWEST))
        callers.append(mcp_tenants.Tenant(f"{number}person", client))
        await callers[-1].fill()
    return callers


def refused_names() -> Iterator[str]:
    """Yield the names that no tenant can have, each of which must be refused by a typed error."""
    with MemoryManager("sqlite://", embedder=HashEmbedder(16)) as root:
        for name in REFUSED:
            try:
                root.for_tenant(name)
            except InvalidInput:
                yield name


@contextmanager
def two_owners(folder: Path) -> Iterator[tuple[Owner, Owner]]:
    with MemoryManager(f"sqlite:///{folder}/two.db", embedder=HashEmbedder(16)) as root:
        owners = [Owner(root.for_tenant(name), f"canary{n:04}x") for n, name in enumerate(("ann", "Ann"))]
        for owner in owners:
            owner.fill(4)
        yield owners[0], owners[1]
