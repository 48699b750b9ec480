"""Every regular expression of the package, on strings that repeat a part of what it matches.

A pattern that tries again from each of n blanks what it tried from the one before takes n² steps, and one call of `re`
holds the whole process. Each pattern is run on a prefix that it matches, a part many times, and an end that it does
not match: the processor time may grow no faster than the length.

python -m tests.prove.patterns [MODULE]    # prints JSON: how many patterns, the slow ones, the calls not reached
"""

# ruff: noqa: E501 - tables

from __future__ import annotations

import ast
import importlib
import json
import pkgutil
import random
import re
import re._constants as codes  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final

_LENGTHS: Final = (12, 16, 20, 24, 64, 256, 1024, 4096)
_FLOOR: Final = 0.002
"""Seconds of processor time below which nothing is compared. n² steps for 4,096 characters take many times that."""
_HINT: Final = _FLOOR / 20
"""Seconds for 1,024 characters below which 4,096 are not tried: n² steps take 16 times as many there."""
_ENOUGH: Final = 0.05
"""Seconds after which a measurement is not repeated."""
_GROWTH: Final = 8.0
"""How much longer a text of four times the length may take: 4 is linear, 16 is quadratic."""
_NESTED_SAMPLES: Final = 60
_CONFIRMATIONS: Final = 2
"""How many chances a suspicion has to be confirmed. A busy machine makes any pattern look slow once: even its processor
time grows, by what other machines and processes take of the core."""
_GENERIC: Final = (
    " ", "\n", "\t", "\u3000", "\r\n", "0", "a", "A", "a ", "A ", "1 ", "1,", "1.", "a.", "a'", ".", ",", "-", "'", '"', "“", "’", "(", "[",
    "<", "{", "#", "=", ":", "|", "\\", "/", "@", "_", "*", "年", "あ", " \n", ", ", '\\"',
)  # fmt: skip
_CHARACTERS: Final = " \n\t\u3000aAz09_-'\".,:!/\\é年あ"
_ENDS: Final = ("\0", "")
_METHODS: Final = frozenset(("search", "match", "fullmatch", "finditer", "findall", "sub", "subn", "split", "scanner"))
_MATCHED: Final = frozenset(("memoranda.remember.claims.patterns",))
"""Modules whose patterns are built by a function, and used with `match` only."""
_READ_PIECES: Final = frozenset(
    f"memoranda.{name}"
    for name in (
        "recall.query", "recall.questions", "remember.claims.confirmations", "remember.claims.corrections", "remember.claims.match", "remember.claims.patterns", "remember.claims.remarks",
        "remember.claims.reports", "remember.claims.retractions",
        "remember.claims.values", "remember.reading.questions", "remember.echoes", "remember.frames", "remember.importance.pleasantries",
        "remember.reading.clauses", "remember.reading.lexicon",
        "remember.reading.statements", "remember.updates.links", "text.wishes",
    )
)  # fmt: skip
"""Modules whose patterns read a sentence, a clause or the beginning of a text: 2,000 characters at most, for which n²
steps take milliseconds."""
_NOT_TEXT: Final = frozenset(("memoranda.text.word_filter", "memoranda.mcp.config_edit", "memoranda.cli.doctor"))
"""Modules whose patterns read what the package or its operator wrote: patterns, a file of settings, installed packages."""
_SPLITS_PATTERNS: Final = r"\|(?![^(]*\))"
"""Reads the patterns of the package."""


@dataclass(frozen=True)
class Compiled:
    """A pattern, and where it was compiled."""

    pattern: str | bytes
    flags: int
    module: str
    line: int

    @property
    def given_flags(self) -> int:
        return self.flags & ~re.UNICODE if isinstance(self.pattern, bytes) else self.flags

    @cached_property
    def regex(self) -> re.Pattern[Any]:
        return re.compile(self.pattern, self.given_flags)


class Recorder:
    """Notes each pattern that a module of the package compiles."""

    def __init__(self) -> None:
        self.found: dict[tuple[str | bytes, int], Compiled] = {}
        self.lines: set[tuple[str, int]] = set()
        self._compile = re._compile  # type: ignore[attr-defined]
        re._compile = self._record  # type: ignore[attr-defined]

    def _record(self, pattern: Any, flags: int = 0) -> Any:
        compiled = self._compile(pattern, flags)
        caller = sys._getframe(2)
        module = caller.f_globals.get("__name__", "")
        if module.startswith("memoranda."):
            key = (compiled.pattern, compiled.flags)
            self.lines.add((module, caller.f_lineno))
            self.found.setdefault(key, Compiled(*key, module, caller.f_lineno))
        return compiled


def import_all() -> None:
    """Import every module of the package that can be imported here."""
    package = importlib.import_module("memoranda")
    for module in pkgutil.walk_packages(package.__path__, "memoranda."):
        if not module.name.endswith("__main__"):
            with suppress(Exception):  # an extra that is not installed: its literal patterns are read from the source
                importlib.import_module(module.name)


def _sources() -> Iterator[tuple[str, ast.Module]]:
    root = Path(str(importlib.import_module("memoranda").__file__)).parent
    for file in sorted(root.rglob("*.py")):
        name = ".".join(("memoranda", *file.relative_to(root).with_suffix("").parts)).removesuffix(".__init__")
        yield name, ast.parse(file.read_text("utf-8"))


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function of `re` in the source, whose pattern is a literal or is put together."""

    module: str
    first: int
    last: int
    function: str


def read_source(recorder: Recorder) -> tuple[list[Call], dict[str, set[str]], dict[tuple[str, int], str]]:
    """Compile every literal pattern; return the calls with others, the methods used of each name, and the names."""
    built, methods, names = list[Call](), defaultdict[str, set[str]](set), dict[tuple[str, int], str]()
    for module, tree in _sources():
        looped = _looped(tree)
        for node in ast.walk(tree):
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, ast.Call):
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                if isinstance(target, ast.Name):
                    for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                        names[module, line] = target.id
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            owner = node.func.value
            if isinstance(owner, ast.Name) and owner.id == "re" and node.func.attr in (_METHODS | {"compile"}):
                if node.args and isinstance(node.args[0], ast.Constant) and node.func.attr != "compile":
                    _compile_literal(recorder, module, node)
                else:
                    built.append(Call(module, node.lineno, node.end_lineno or node.lineno, node.func.attr))
            elif node.func.attr in _METHODS:
                for name in _owners(owner, looped):
                    methods[f"{module}.{name}"].add(node.func.attr)
                    methods[name].add(node.func.attr)
    return built, methods, names


def _looped(tree: ast.Module) -> dict[str, set[str]]:
    """Return the tables that each variable of a loop runs over."""
    found = defaultdict[str, set[str]](set)
    for node in ast.walk(tree):
        if isinstance(node, (ast.For, ast.comprehension)) and isinstance(node.iter, ast.Name):
            for each in ast.walk(node.target):
                if isinstance(each, ast.Name):
                    found[each.id].add(node.iter.id)
    return found


def _owners(owner: ast.expr, looped: dict[str, set[str]]) -> set[str]:
    """Return the names whose pattern a method may be called of: of each branch of a choice, and of a table looped over."""
    if isinstance(owner, ast.IfExp):
        return _owners(owner.body, looped) | _owners(owner.orelse, looped)
    if isinstance(owner, ast.Name):
        return {owner.id} | looped.get(owner.id, set())
    return {getattr(owner, "attr", "")}


def _compile_literal(recorder: Recorder, module: str, node: ast.Call) -> None:
    flags = 0
    for flag in ast.walk(
        ast.Module([ast.Expr(each) for each in (*node.args[1:], *(k.value for k in node.keywords))], [])
    ):
        if isinstance(flag, ast.Attribute) and isinstance(getattr(re, flag.attr, None), re.RegexFlag):
            flags |= getattr(re, flag.attr)
    pattern = node.args[0].value  # type: ignore[attr-defined]
    compiled = re.compile(pattern, flags)
    key = (compiled.pattern, compiled.flags)
    recorder.found.setdefault(key, Compiled(*key, module, node.lineno))


class Sampler:
    """Makes strings that parts of a pattern match."""

    def __init__(self, seed: str) -> None:
        self._rng = random.Random(seed)

    def sample(self, items: Sequence[Any]) -> str:
        return "".join(self._item(*item) for item in items)

    def _item(self, code: Any, value: Any) -> str:
        if code is codes.LITERAL:
            return chr(int(value))
        if code is codes.NOT_LITERAL:
            return self._rng.choice([each for each in _CHARACTERS if ord(each) != value])
        if code is codes.ANY:
            return self._rng.choice('a 1."年')
        if code is codes.IN:
            return self._one_of(value)
        if code is codes.BRANCH:
            return self.sample(self._rng.choice(value[1]))
        if code is codes.SUBPATTERN:
            return self.sample(value[3])
        if code is codes.ATOMIC_GROUP:
            return self.sample(value)
        if code in _REPEATS:
            return self.sample(value[2]) * max(value[0], self._rng.choice([0, 1]))
        return ""  # positions and conditions

    def _one_of(self, members: Sequence[tuple[Any, Any]]) -> str:
        matches = re.compile(_class_source(members)).match
        fitting = [each for each in _CHARACTERS if matches(each)]
        for code, value in members:
            if members[0][0] is not codes.NEGATE and code is codes.LITERAL:
                fitting.append(chr(value))
            elif members[0][0] is not codes.NEGATE and code is codes.RANGE:
                fitting.append(chr(value[0]))
        return self._rng.choice(fitting or ["\x01"])


_REPEATS: Final = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
_CATEGORIES: Final = {
    codes.CATEGORY_SPACE: r"\s", codes.CATEGORY_NOT_SPACE: r"\S", codes.CATEGORY_WORD: r"\w", codes.CATEGORY_NOT_WORD: r"\W",
    codes.CATEGORY_DIGIT: r"\d", codes.CATEGORY_NOT_DIGIT: r"\D",
}  # fmt: skip


def _class_source(members: Sequence[tuple[Any, Any]]) -> str:
    parts = []
    for code, value in members:
        if code is codes.LITERAL:
            parts.append(f"\\U{value:08x}")
        elif code is codes.RANGE:
            parts.append(f"\\U{value[0]:08x}-\\U{value[1]:08x}")
        elif code is codes.CATEGORY:
            parts.append(_CATEGORIES[value])
    return f"[{'^' if members[0][0] is codes.NEGATE else ''}{''.join(parts)}]"


def _repeats(items: Sequence[Any], before: list[Any]) -> Iterator[tuple[list[Any], Any]]:
    """Yield each repetition without a small bound: what comes before it in the pattern, and what is repeated."""
    before = list(before)
    for code, value in items:
        if code in _REPEATS:
            if value[1] >= 100:
                yield list(before), value[2]
            yield from _repeats(value[2], before)
        elif code is codes.SUBPATTERN:
            yield from _repeats(value[3], before)
        elif code is codes.ATOMIC_GROUP:
            yield from _repeats(value, before)
        elif code is codes.BRANCH:
            for branch in value[1]:
                yield from _repeats(branch, before)
        elif code in (codes.ASSERT, codes.ASSERT_NOT):
            yield from _repeats(value[1], before)
        before.append((code, value))


def attacks(compiled: Compiled) -> list[tuple[str, str, str]]:
    """Return what each string begins with, repeats, and ends with."""
    sampler, found = Sampler(repr(compiled.pattern)), dict[tuple[str, str, str], None]()
    source = compiled.pattern if isinstance(compiled.pattern, str) else compiled.pattern.decode("latin-1")
    repeats = list(_repeats(parser.parse(source, compiled.given_flags), []))
    for before, body in repeats:
        # Where repetitions lie in one another, one of many choices can be the one that is read in two ways.
        for _ in range(_NESTED_SAMPLES if any(_repeats(body, [])) else 2):
            prefix, pump = sampler.sample(before), sampler.sample(body)
            for end in _ENDS:
                found[prefix, pump, end] = found["", prefix + pump, end] = found["", prefix, end] = None
    if repeats:
        before = sampler.sample(repeats[-1][0])
        for pump in _GENERIC:
            found["", pump, "\0"] = found[before, pump, "\0"] = None
    return [each for each in found if each[1]]


def _seconds(run: Any, text: str | bytes, times: int = 1) -> float:
    """Return the least processor time of some runs; of fewer when one takes so long that nothing disturbs it much."""
    best, until = float("inf"), time.thread_time() + _ENOUGH
    for _ in range(times):
        started = time.thread_time()
        run(text)
        ended = time.thread_time()
        best = min(best, ended - started)
        if ended > until:
            break
    return best


def is_slow(compiled: Compiled, attack: tuple[str, str, str], method: str) -> bool:
    """Return whether the time grows faster than the text, by `match`, `fullmatch` or any other method."""
    if not _looks_slow(compiled, attack, method):
        return False
    return any(_looks_slow(compiled, attack, method) for _ in range(_CONFIRMATIONS))


def _looks_slow(compiled: Compiled, attack: tuple[str, str, str], method: str) -> bool:
    run, nothing = getattr(compiled.regex, method), "" if isinstance(compiled.pattern, str) else b""
    if "match" not in method:
        run = partial(compiled.regex.sub, nothing)
    reads_pieces = compiled.module in _READ_PIECES
    lengths = (*_LENGTHS[:-1], _LENGTHS[-1] // 2) if reads_pieces else _LENGTHS
    most = 3 * _GROWTH if reads_pieces else _GROWTH
    prefix, pump, end = attack

    def text(length: int) -> str | bytes:
        whole = prefix + pump * max(1, length // len(pump)) + end
        return whole if isinstance(compiled.pattern, str) else whole.encode()

    def growth(length: int, long: float) -> float:
        """Return how much longer four times the length takes, which took `long` once."""
        short = _seconds(run, text(length), 2)
        if long / max(short, 1e-6) > 0.7 * most:  # only what may be slow is worth a second look
            long, short = min(long, _seconds(run, text(4 * length), 3)), min(short, _seconds(run, text(length), 5))
        return 0.0 if long < _FLOOR else long / max(short, 1e-6)

    for length in lengths:
        taken = _seconds(run, text(length))
        if taken > _FLOOR:
            if length < 256:
                if _seconds(run, text(length), 3) > _FLOOR:
                    return True  # milliseconds for a few characters
                continue
            # A repetition of at most some hundred characters is linear from there on.
            grown = growth(length // 4, taken)
            if reads_pieces:
                return grown > most
            return grown > 4 * most or (grown > most and growth(2048, _seconds(run, text(4 * 2048))) > most)
        if length == 1024 and taken < _HINT:
            return False
    return False


def _methods(compiled: Compiled, used: set[str]) -> set[str]:
    """Return how to run a pattern: what stops at its first match does not try what `fullmatch` tries."""
    only = {"match"} if compiled.module in _MATCHED else set[str]()
    if not used or used - {"match", "fullmatch"}:
        return only or {"search", "fullmatch"} & (used | {"search"})
    return only | used


def check(recorder: Recorder, modules: str = "") -> tuple[list[str], list[str]]:
    """Return the slow patterns, and the calls of `re` that compiled nothing while everything ran."""
    built, methods, names = read_source(recorder)
    slow = []
    for compiled in list(recorder.found.values()):
        if (
            not compiled.module.startswith(modules)
            or compiled.module in _NOT_TEXT
            or compiled.pattern == _SPLITS_PATTERNS
        ):
            continue
        name = names.get((compiled.module, compiled.line), "")
        used = methods.get(f"{compiled.module}.{name}" if name.startswith("_") else name, set())
        runs = _methods(compiled, used)
        for attack in attacks(compiled):
            if any(is_slow(compiled, attack, method) for method in runs):
                slow.append(f"{compiled.module}:{compiled.line} {name} {attack!r}: {str(compiled.pattern)[:120]}")
                break
    missed = [
        call
        for call in built
        if not any((call.module, line) in recorder.lines for line in range(call.first, call.last + 1))
    ]
    return slow, [f"{call.module}:{call.first} re.{call.function}" for call in missed]


def reach_all() -> None:
    """Compile what is compiled on first use."""
    import_all()
    # Only now, so that the recorder sees every module.
    from memoranda.dates import find, language_words, other_languages
    from tests.prove.parsers import TARGETS, make_input

    for code in language_words.WORDS:
        other_languages.language_rules(code)
    for rule in find._RULES:
        assert rule.regex
    for target in TARGETS:
        for number in range(20):
            with suppress(Exception):  # only what it compiles counts
                TARGETS[target].parse(make_input(target, 1, number))


def main() -> None:
    recorder = Recorder()
    reach_all()
    slow, missed = check(recorder, *sys.argv[1:])
    print(json.dumps({"patterns": len(recorder.found), "slow": slow, "missed": missed}, ensure_ascii=False))


if __name__ == "__main__":
    main()
