"""Tells which of many patterns can match a text, from the words in it: much faster than to try them all. Pure.

What a pattern needs is read from the pattern itself, so a change of a pattern needs no change elsewhere. Patterns must
not be verbose (`re.X`). `WordHints` and `WordFlags` do the same for parts of words that are listed by hand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, reduce
from itertools import groupby
from operator import or_
from typing import Final, TypeAlias

Needs: TypeAlias = tuple[frozenset[str], ...]
"""A text that a pattern matches contains one string of each set, where `<` and `>` are the two ends of a word."""

_WORD: Final = re.compile(r"[^\W_]+|:")
_DIGIT: Final = r"\d"
"""Stands for any digit among the words that a pattern needs."""
_QUANTIFIER: Final = re.compile(r"(?:[*+?]|\{(\d*)(?:,\d*)?\})[?+]?")
_CLASS: Final = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]")
_ESCAPE: Final = re.compile(r"\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.S)
_GROUP: Final = re.compile(r"\((?:\?(?:P<\w+>|P=\w+|<?[=!]|[a-zA-Z-]*:))?")
_PART: Final = re.compile(r"~([a-z_]+)")
_EDGE: Final = r"\b"
_LOOKAROUND: Final = re.compile(r"\(\?<?[=!]")
_LONGEST_WORD: Final = 24
_MAX_KNOWN: Final = 20_000
_MAX_FOUND: Final = 2_000


def needed_words(pattern: str, parts: Mapping[str, Needs] | None = None) -> Needs:
    """Return what a text must contain for a pattern to match it, in lower case; nothing when that is not known.

    Args:
        pattern: A regular expression.
        parts: The needs of what each `~name` in it stands for, if it has such names.
    """
    return _Reader(pattern, parts or {}).read()


def words_in(hints: Iterable[str]) -> Needs:
    """Return the needs of a pattern that matches only texts with one of these hints, which need not be whole words."""
    longest = [max(_WORD.findall(hint.casefold()), key=len, default="") for hint in hints]
    return (frozenset(longest),) if longest and all(longest) else ()


class _Reader:
    """Reads a regular expression from left to right."""

    def __init__(self, pattern: str, parts: Mapping[str, Needs]) -> None:
        self._pattern = pattern
        self._parts = parts
        self._position = 0

    def read(self, *, starts: bool = False, ends: bool = False) -> Needs:
        """Return the needs of the alternatives up to the end of the group: with several, one of the best of each.

        Args:
            starts: Whether each of them follows the end of a word or of what is none.
            ends: Whether such an end follows each of them.
        """
        branches = [self._read_branch(starts, ends)]
        while self._pattern[self._position : self._position + 1] == "|":
            self._position += 1
            branches.append(self._read_branch(starts, ends))
        if len(branches) == 1:
            return branches[0]
        if not all(branches):
            return ()
        return (frozenset().union(*(max(branch, key=_usefulness) for branch in branches)),)

    def _read_branch(self, starts: bool, ends: bool) -> Needs:
        found: list[frozenset[str]] = []
        run, is_edge = "", starts
        while self._position < len(self._pattern) and self._pattern[self._position] not in "|)":
            start, char = self._position, self._pattern[self._position]
            is_letter = char.isalnum()
            item = None if is_letter else self._read_item(char, is_edge and not run, ends)
            self._position += is_letter
            is_needed, is_plain = self._read_quantifier()
            if is_letter and is_needed:
                run = run or ("<" if is_edge else "")
                run += char
            if run and not (is_letter and is_plain):
                run += ">" if self._pattern.startswith(_EDGE, start) else ""
                found.append(frozenset((run.casefold(),)))
                run = ""
            if item and is_needed:
                found += item
            is_edge = self._pattern.startswith(_EDGE, start) or (is_edge and self._has_no_width(start))
        if run:
            found.append(frozenset((run.casefold() + (">" if ends else ""),)))
        return tuple(found)

    def _has_no_width(self, start: int) -> bool:
        """Return whether what was read from here on takes no character."""
        return _LOOKAROUND.match(self._pattern, start) is not None

    def _read_item(self, char: str, starts: bool, ends: bool) -> Needs:
        """Step over what is not a letter, and return what it needs."""
        if char == "(":
            return self._read_group(starts, ends)
        if char == "~" and (part := _PART.match(self._pattern, self._position)) is not None:
            name = max((name for name in self._parts if part[1].startswith(name)), key=len, default=None)
            if name is not None:
                self._position += 1 + len(name)
                return self._parts[name]
        if char == ":":
            self._position += 1
            return (frozenset(":"),)
        shape = {"[": _CLASS, "\\": _ESCAPE}.get(char)
        found = shape.match(self._pattern, self._position) if shape else None
        self._position = found.end() if found else self._position + 1
        return (frozenset((_DIGIT,)),) if found and found[0] == _DIGIT else ()

    def _read_group(self, starts: bool, ends: bool) -> Needs:
        opened = _GROUP.match(self._pattern, self._position)
        assert opened is not None
        self._position = opened.end()
        needs = self.read(starts=starts)
        self._position += 1
        if opened[0][-1] in "=!" or opened[0].startswith("(?P="):  # ahead or behind
            return ()
        following = self._pattern[self._position : self._position + 2]
        if following == _EDGE or (ends and following[:1] in ("", "|", ")")):
            self._position = opened.end()
            needs = self.read(starts=starts, ends=True)
            self._position += 1
        return needs

    def _read_quantifier(self) -> tuple[bool, bool]:
        """Step over a quantifier; return whether what stands before it is needed, and whether there is none."""
        found = _QUANTIFIER.match(self._pattern, self._position)
        if found is None:
            return True, True
        self._position = found.end()
        return found[0][0] == "+" or int(found[1] or 0) > 0, False


def _usefulness(words: frozenset[str]) -> tuple[int, int]:
    """Return how rarely a text contains one of the words: the longer and the fewer, the more rarely."""
    return min(4, *(len(word.strip("<>")) for word in words)) if words else 0, -len(words)


class WordFilter:
    """The patterns, by number, that can match a text."""

    def __init__(self, needs: Iterable[Needs]) -> None:
        """Create a filter for patterns with these needs."""
        bits: dict[frozenset[str], int] = {}
        self._needs = [sum(bits.setdefault(words, 1 << len(bits)) for words in set(each)) for each in needs]
        self._bits: dict[str, int] = {}
        for words, bit in bits.items():
            for word in words:
                self._bits[word] = self._bits.get(word, 0) | bit
        self._lengths = sorted({len(word) for word in self._bits})
        self._known: dict[str, int] = {}
        self._found: dict[int, tuple[int, ...]] = {}

    def find(self, text: str) -> tuple[int, ...]:
        """Return the numbers of the patterns that can match a text, in order."""
        known, has = self._known, 0
        folded = text.casefold()
        if not folded.isascii():
            # Where case is ignored, "i" also matches one without a dot, and one whose dot becomes its own character.
            folded = folded.replace("ı", "i").replace("i\u0307", "i")
        for word in _WORD.findall(folded):
            bits = known.get(word)
            has |= self._learn(word) if bits is None else bits
        found = self._found.get(has)
        return self._list(has) if found is None else found

    def _learn(self, word: str) -> int:
        has = self._bits.get(_DIGIT, 0) if any(map(str.isdecimal, word)) else 0
        marked = f"<{word}>"
        for length in self._lengths:
            for start in range(len(marked) - length + 1):
                has |= self._bits.get(marked[start : start + length], 0)
        if len(word) <= _LONGEST_WORD:
            if len(self._known) >= _MAX_KNOWN:
                self._known = {}
            self._known[word] = has
        return has

    def _list(self, has: int) -> tuple[int, ...]:
        if len(self._found) >= _MAX_FOUND:
            self._found = {}
        found = tuple(number for number, needs in enumerate(self._needs) if needs & has == needs)
        self._found[has] = found
        return found


_LONGEST_KNOWN: Final = 40


class AnyPart:
    """Parts of texts, of which it is told in one pass over a text whether it has any, however many there are."""

    def __init__(self, parts: Iterable[str]) -> None:
        self._parts = frozenset(parts)

    def is_in(self, text: str) -> bool:
        return self._pattern.search(text) is not None

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        # By first character, so that most are ruled out together; what has another part in it is not needed.
        shortest = [part for part in self._parts if not any(each in part for each in self._parts - {part})]
        groups = groupby(sorted(shortest), key=lambda part: part[:1])
        return re.compile("|".join(f"{re.escape(first)}(?:{_either(group)})" for first, group in groups) or "(?!)")


def _either(parts: Iterable[str]) -> str:
    return "|".join(re.escape(part[1:]) for part in parts)


class WordHints:
    """Parts of words, one of which every text of some kind contains.

    The words of a language come again and again, so each is compared with the parts only once. Of a part with a space
    in it, the longest word counts.
    """

    def __init__(self, parts: Iterable[str]) -> None:
        self._known = _KnownWords(tuple(max(part.split(), key=len) for part in parts))

    def may_be_in(self, lowered: str) -> bool:
        """Return whether one of the parts may be in a text in lower case; True too often at most."""
        return any(map(self._known.__getitem__, lowered.split()))


class WordFlags:
    """What the words of a text may belong to, as bits of a number: several questions about a text in one step.

    A word is what stands between white space, commas, and the marks at the end of a sentence. `find` returns the bits
    of one; it is asked once for each.
    """

    def __init__(self, find: Callable[[str], int]) -> None:
        self._known = _KnownFlags(find)

    def of(self, lowered: str) -> int:
        """Return the bits that any word of a text has, in lower case."""
        words = lowered.replace(",", " ").replace("?", " ").replace("!", " ").replace(". ", " ").split()
        return reduce(or_, map(self._known.__getitem__, words), 0)


def longest_words(parts: Iterable[str]) -> tuple[str, ...]:
    """Return the longest word of each part of a text, with the spaces around it: it is in " word " of one word."""
    return tuple(_longest_word(part) for part in parts)


def _longest_word(part: str) -> str:
    words = part.split(" ")
    position = max(range(len(words)), key=lambda n: len(words[n]))
    return (" " if position else "") + words[position] + (" " if position < len(words) - 1 else "")


class _KnownFlags(dict[str, int]):
    def __init__(self, find: Callable[[str], int]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, word: str) -> int:
        found = self._find(word)
        if len(word) <= _LONGEST_KNOWN:
            if len(self) >= _MAX_KNOWN:
                self.clear()
            self[word] = found
        return found


class _KnownWords(dict[str, bool]):
    def __init__(self, parts: tuple[str, ...]) -> None:
        super().__init__()
        self._parts = AnyPart(parts)

    def __missing__(self, word: str) -> bool:
        found = self._parts.is_in(word)
        if len(self) < _MAX_KNOWN:
            self[word] = found
        return found
