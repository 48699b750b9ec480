"""Forget a word that was written everywhere it can be, and look for it in the bytes of every file."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from threading import Event, Thread
from typing import Final

from sqlalchemy import text

from memoranda import MemoryManager, Message
from memoranda.storage.base import ReadTransaction
from memoranda.storage.sqlite import store as sqlite_store
from tests.prove.operations import open_manager
from tests.prove.regime import Plan, Result, result, scratch_folder

USER: Final = "nora"
STORE_EVERY: Final = 25
"""A new store after so many canaries."""
SHARE_WITH_READER: Final = 0.15
FINISH_S: Final = 15.0
FILLER: Final = "the river runs past the stone bridge and the old lamp "


def _add(manager: MemoryManager, word: str) -> None:
    manager.add_memory(f"The code is {word}. {FILLER}", user=USER, metadata={"code": word}, source=word)


def _update(manager: MemoryManager, word: str) -> None:
    memory = manager.add_memory(f"The code was {word}. {FILLER}", user=USER)
    manager.update(memory.id, f"The code is {word}, and was another. {FILLER}", user=USER)


def _remember(manager: MemoryManager, word: str) -> None:
    message = Message("user", f"My new neighbour is called {word.title()}.", name=word)
    manager.remember([message, f"I work at {word} since May."], user=USER, session=f"about {word}")


def _ask(manager: MemoryManager, word: str) -> None:
    _add(manager, word)
    manager.recall(f"what is the code {word}?", user=USER, explain=True)
    manager.context(f"tell me about {word}", user=USER)


def _converse(manager: MemoryManager, word: str) -> None:
    manager.set_retention_policy("helper", "persistent")
    manager.get_memory("helper", user=USER).add({"role": "user", "content": f"I said {word} to the helper."})


def _link(manager: MemoryManager, word: str) -> None:
    one, other = manager.add_memories([f"{word} is one. {FILLER}", f"{word} is two. {FILLER}"], user=USER)
    manager.add_memory_association(one.id, other.id, f"about_{word}", user=USER)


def _delete(manager: MemoryManager, word: str) -> None:
    """Delete first: the bytes of a deleted row are still in the file until something is forgotten."""
    memory = manager.add_memory(f"The code is {word}. {FILLER * 40}", user=USER)
    manager.delete(memory.id, user=USER)


WAYS: Final[dict[str, Callable[[MemoryManager, str], None]]] = {
    "add": _add,
    "update": _update,
    "remember": _remember,
    "recall": _ask,
    "conversation": _converse,
    "association": _link,
    "delete": _delete,
}


def find_bytes(folder: Path, word: str) -> list[str]:
    """Return the files that have the word, in any of the ways that text is stored."""
    forms = [form.encode(code) for form in (word, word.title(), word.upper()) for code in ("utf-8", "utf-16-le")]
    found = []
    for file in sorted(file for file in folder.rglob("*") if file.is_file()):
        data = file.read_bytes()
        found += [file.name] if any(form in data for form in forms) else []
    return found


def run(plan: Plan) -> Result:
    """Write, forget and look for one word after another."""
    sqlite_store._COMPACT_SECONDS = 0.3
    done, violations, ways = 0, list[str](), Counter[str]()
    with scratch_folder() as folder:
        while plan.goes_on(done, violations):
            place = folder / str(done)
            place.mkdir()
            with open_manager(place / "memories.db", faiss_index_path=str(place / "memories.faiss")) as manager:
                manager.add_memories([f"note {number}: {FILLER}" for number in range(40)], user="other")
                while plan.goes_on(done, violations):
                    violations += [f"canary {done}: {line}" for line in _try(manager, place, plan.rng(done), ways)]
                    done += 1
                    if done % STORE_EVERY == 0:
                        break
            violations += [f"after closing: {line}" for line in _leftovers(place)]
    return result("canaries", plan, done, violations, {"ways": dict(ways)})


def _try(manager: MemoryManager, place: Path, rng: random.Random, ways: Counter[str]) -> list[str]:
    word = "zq" + "".join(rng.choices("bcdfghjklmnpqrstvwxz", k=14))
    chosen = rng.sample(list(WAYS), rng.randint(1, 3))
    for way in chosen:
        WAYS[way](manager, word)
        ways[way] += 1
    manager.add_memories([f"later {number}: {FILLER}" for number in range(rng.randint(0, 5))], user="other")
    if not find_bytes(place, word):
        return [f"{chosen}: {word} never was in the files, so this shows nothing"]
    export = place.with_name("export.jsonl")
    manager.export_jsonl(export, user=USER)
    problems = _forget(manager, place, word, read_meanwhile=rng.random() < SHARE_WITH_READER)
    manager.import_jsonl(export)  # what was forgotten does not come back with an old export
    problems += [f"{word} came back with an import, in {file}" for file in find_bytes(place, word)]
    return [f"{chosen}: {problem}" for problem in problems]


def _forget(manager: MemoryManager, place: Path, word: str, *, read_meanwhile: bool) -> list[str]:
    """Forget the user, if asked for while somebody reads old pages: then the receipt must wait for the end of that."""
    with _reading(manager) if read_meanwhile else nullcontext():
        receipt = manager.forget(user=USER)
        left = find_bytes(place, word)
        problems = [f"the receipt is complete, and {word} is in {left}"] if left and receipt.complete else []
    until = time.monotonic() + FINISH_S
    while time.monotonic() < until and not manager.receipt(receipt.id).complete:
        manager.upkeep(user=USER, policies=["expire"])  # which finishes what a forget could not
        time.sleep(0.05)
    receipt = manager.receipt(receipt.id)
    if not receipt.complete:
        problems.append(f"not erased according to the receipt: {receipt.remaining}")
    if not manager.verify_receipt(receipt):
        problems.append("the receipt cannot be verified")
    return problems + [f"{word} is still in {file}" for file in find_bytes(place, word)]


@contextmanager
def _reading(manager: MemoryManager) -> Iterator[None]:
    """Hold a read transaction open in another thread."""
    begun, ended = Event(), Event()

    def read(tx: ReadTransaction) -> None:
        tx.execute(text("SELECT count(*) FROM memories")).scalar()
        begun.set()
        ended.wait()

    thread = Thread(target=manager._components.open().store.read, args=(read,))
    thread.start()
    begun.wait()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _leftovers(place: Path) -> list[str]:
    """Return the files that still have a word of any canary."""
    return [file.name for file in place.iterdir() if b"The code is zq" in file.read_bytes()]
