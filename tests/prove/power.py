"""Cut the power at every moment of a recorded run: what was acknowledged is on disk, and the files open.

The run is recorded by the library of shim.c; disk.py makes what a disk may hold after a cut.
"""

from __future__ import annotations

import json
import random
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any, Final, Literal, cast

from sqlalchemy import TextClause, text

from memoranda.errors import MemorandaError
from memoranda.settings import MemoryConfig
from memoranda.storage.base import ReadTransaction
from memoranda.storage.sqlite.connections import load_driver
from memoranda.storage.sqlite.store import open_sqlite
from tests.prove.children import Child, send
from tests.prove.disk import MODES, Disk, Progress
from tests.prove.kill import stored_dimension, warm_up
from tests.prove.ledger import Operation, State
from tests.prove.operations import (
    DIMENSION,
    KINDS,
    Planner,
    Writer,
    find_problems,
    observe,
    open_manager,
    perform,
    plan_each,
    read_files,
    read_state,
)
from tests.prove.regime import Plan, Result, keep_copy, result, scratch_folder
from tests.prove.shim import note, read_log, watch

OPERATIONS: Final = 30
IMAGES_PER_CUT: Final = 2
SHARE_OF_CUTS: Final = 0.1
"""Which part of the moments is tried; another recording is worth more than every moment of this one."""
FULL_CHECK_EVERY: Final = 20
"""Every so many images the store is opened by a manager and checked; the others by SQLite, which is much faster."""
NEW_STORE_EVERY: Final = 10
"""Every so many recordings begin with no file at all, the others with a store that has been used."""
WEAK_IMAGES: Final = 3_000
"""So many images must be enough to find out a weaker sync."""
WITH_FILES: Final = ("backup", "backup", "restore", "execution")
"""Chosen more often than others: they also write files of our own."""
NAME: Final = "w0"
TIMEOUT_S: Final = 120.0


@dataclass(frozen=True, slots=True)
class Recording:
    """How the run that is recorded writes: as users do, or with weaker promises, which the regime must find out."""

    durability: Literal["full", "normal"] = "full"
    obeys_sync: bool = True


USUAL: Final = Recording()


def record_run(folder: Path, log: Path, seed: str, how: Recording, pipe: int) -> None:
    """Do some operations on a new store; the log has what they do to the files, and when each was acknowledged."""
    rng, path = random.Random(seed), folder / "memories.db"
    watch(folder, log)
    planner = Planner(rng, NAME, {}, "0", (*KINDS, *WITH_FILES))
    first = Operation("add", {"memory/first": "note first, before anything else"})
    planner.state = first.apply({})
    operations = chain([first], plan_each(planner, tuple(dict.fromkeys(WITH_FILES))), planner.operations())
    done = 0
    while done < OPERATIONS:
        dimension = stored_dimension(path) if path.exists() else DIMENSION
        with open_manager(path, dimension=dimension, config=MemoryConfig(durability=how.durability)) as manager:
            for operation in operations:
                note(json.dumps(asdict(operation)))
                perform(Writer(manager, NAME, folder), operation)
                note("done")
                done += 1
                if not KINDS[operation.kind].shared or done == OPERATIONS:
                    break
    send(pipe, finished=done)


def record(folder: Path, log: Path, seed: str, how: Recording = USUAL) -> None:
    """Run `record_run` in a process of its own."""
    child = Child(partial(record_run, folder, log, seed, how))
    messages = [*child.messages(time.monotonic() + TIMEOUT_S), *child.kill()]
    if messages != [{"finished": OPERATIONS}]:
        raise RuntimeError(f"the run could not be recorded: {messages}")


@dataclass(slots=True)
class Cuts:
    """The cuts of one recording."""

    recording: str
    disk: Disk
    target: Path
    rng: random.Random
    progress: Progress = field(default_factory=Progress)
    images: int = 0
    violations: list[str] = field(default_factory=list)
    _tried: set[int] = field(default_factory=set)

    def run(self, log: Path, goes_on: Callable[[int], bool]) -> None:
        for number, event in enumerate(read_log(log)):
            if event.kind == "N":
                self.progress.read(event.first)
            changed = self.disk.apply(event)
            acknowledged = event.first == b"done"
            if not (changed or event.kind == "N") or self.rng.random() > (1 if acknowledged else SHARE_OF_CUTS):
                continue
            # Right after an acknowledgement the worst case shows most: nothing is there that was not synced.
            for mode in ["none"] if acknowledged else self.rng.sample(MODES, IMAGES_PER_CUT):
                if not goes_on(self.images):
                    return
                self._cut(number, mode)

    def _cut(self, number: int, mode: str) -> None:
        image = self.disk.image(self.rng, mode)
        digest = hash((self.progress.acknowledged, self.progress.under_way is None, *sorted(image.items())))
        if digest in self._tried:  # the same bytes again prove nothing
            return
        self._tried.add(digest)
        self.target.mkdir()
        for name, content in image.items():
            (self.target / name).write_bytes(content)
        self.images += 1
        whole = self.images % FULL_CHECK_EVERY == 0
        try:
            problems = check_image(self.target, self.progress, whole=whole)
        except MemorandaError as error:
            problems = [f"{type(error).__name__}: {error}"]
        if problems:
            where = f"recording {self.recording}, event {number}, mode {mode}"
            self.violations += [f"{where}: {problem}" for problem in problems]
        shutil.rmtree(self.target)


def check_image(folder: Path, progress: Progress, *, whole: bool) -> list[str]:
    """Open the store that a cut left behind; return what is wrong with it."""
    path = folder / "memories.db"
    if not path.exists():
        return [] if progress.acknowledged == 0 else ["the database file is gone"]
    found, problems = _read_whole(path) if whole else _read_rows(path)
    if not progress.allows(found):
        expected = progress.state
        lost = sorted(key for key in expected if key not in found)
        other = sorted(key for key in expected if key in found and found[key] != expected[key])
        phantom = sorted(key for key in found if key not in expected)
        kind = progress.under_way.kind if progress.under_way else "nothing"
        problems.append(f"{kind} under way: lost {lost[:3]}, changed {other[:3]}, phantom {phantom[:3]}")
    return problems


class _Rows:
    """Runs the statements of `read_state` on a connection of the driver, without the rest of the package."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    def execute(self, statement: TextClause, parameters: dict[str, str]) -> Any:
        return self._raw.execute(_sql_of(statement.text), parameters)


@cache
def _sql_of(query: str) -> str:
    """Return what SQLite is given for a text: SQLAlchemy takes longer to make it than SQLite to run it."""
    return str(text(query))


def _read_rows(path: Path) -> tuple[State, list[str]]:
    """Read what the file holds once SQLite has recovered it, and let SQLite check it."""
    raw = load_driver()[0].connect(str(path))
    try:
        checked = [row[0] for row in raw.execute("PRAGMA quick_check")]
        tables = raw.execute("SELECT count(*) FROM sqlite_master WHERE name IN ('memories', 'receipts')").fetchone()
        found = read_state(cast("ReadTransaction", _Rows(raw)), NAME) if tables[0] == 2 else {}
        if any(key.startswith(("execution/", "key/")) for key in found):
            checked += _key_problems(path)
    except load_driver()[0].Error as error:
        return {}, [f"SQLite cannot read it: {error}"]
    finally:
        raw.close()
    return found | read_files(path.parent, NAME), [problem for problem in checked if problem != "ok"]


def _key_problems(path: Path) -> list[str]:
    """Return a problem unless the key with which records were signed is there."""
    key = path.with_name(f"{path.name}.key")
    return [] if key.exists() and len(key.read_bytes()) == 64 else ["records were signed, and the key file is gone"]


def _read_whole(path: Path) -> tuple[State, list[str]]:
    open_sqlite(path).close()  # a cut can be before the schema was there
    with open_manager(path, dimension=stored_dimension(path)) as manager:
        writer = Writer(manager, NAME, path.parent)
        found, problems = observe(writer), find_problems(writer)
        manager.recall("river stone lamp", user=NAME)
    return found, problems


def _goes_on(plan: Plan, before: int, violations: list[str], done: int) -> bool:
    return plan.goes_on(before + done) and not violations


def _make_used_store(folder: Path) -> Path:
    folder.mkdir()
    with open_manager(folder / "memories.db") as manager:
        manager.add_memories([f"note {number} of another user, river stone" for number in range(20)], user="other")
    return folder


def run(plan: Plan, how: Recording = USUAL) -> Result:
    """Record one run after another, and cut the power at every moment of each."""
    images, recordings, acknowledged, violations = 0, 0, 0, list[str]()
    with scratch_folder() as folder:
        warm_up(folder / "warm-up")
        used = _make_used_store(folder / "used")
        while plan.goes_on(images, violations):
            seed, log, place = f"{plan.seed}/{recordings}", folder / "log", folder / "store"
            place.mkdir() if recordings % NEW_STORE_EVERY == NEW_STORE_EVERY - 1 else shutil.copytree(used, place)
            disk = Disk.with_files_of(place, obeys_sync=how.obeys_sync)
            record(place, log, seed, how)
            cuts = Cuts(seed, disk, folder / "image", plan.rng("power", recordings))
            cuts.run(log, partial(_goes_on, plan, images, cuts.violations))
            images, recordings = images + cuts.images, recordings + 1
            acknowledged += cuts.progress.acknowledged
            violations += cuts.violations
            if cuts.violations:
                keep_copy(folder, f"power-{plan.seed}-{recordings}")
            shutil.rmtree(place)
            log.unlink()
    detail: dict[str, object] = {"recordings": recordings, "acknowledged operations": acknowledged}
    return result("power", plan, images, violations, detail)


def run_weak(plan: Plan) -> Result:
    """Show that the regime can fail: a weaker sync must lose what was acknowledged. A violation is to find none."""
    weaker = {"normal": Recording("normal"), "off": Recording("full", obeys_sync=False)}
    missed: list[str] = []
    found: dict[str, object] = {}
    for name, how in weaker.items():
        weak = run(Plan(WEAK_IMAGES, plan.seed, plan.seconds / len(weaker), most_violations=1), how)
        found[f"images until synchronous={name} was found out"] = weak.runs
        if not weak.violations:
            missed.append(f"synchronous={name} was not found out in {weak.runs} images")
    return result("power-weak", plan, len(weaker), missed, found)
