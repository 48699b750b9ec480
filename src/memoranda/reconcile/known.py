"""Texts that are known, found again by their words: the `Known` of one call."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from memoranda.extraction.base import Saying, Twin
from memoranda.reconcile.duplicates import SAME, Fingerprint, echoes, likeness, of_saying, says_the_same
from memoranda.text import query_terms

MAX_SHARED = 200
"""How many of the texts that share words are compared; those that share most come first."""


@dataclass(frozen=True, slots=True)
class _Entry:
    id: int | str
    speaker: str
    role: str
    print: Fingerprint


class KnownTexts:
    """What a store holds, as far as the caller gives it, and what this call has learned.

    Give the memories that could be twins: all of a small scope, or the best lexical hits for each text of the call,
    and then also which of the call's `words` the scope holds at all. For one thread.
    """

    def __init__(self, known: Iterable[tuple[int | str, Saying]] = (), words: Iterable[str] = ()) -> None:
        self._words = set(words)
        self._entries: list[_Entry] = []
        self._by_term: dict[str, list[int]] = defaultdict(list)
        self._by_plain: dict[str, list[int]] = defaultdict(list)
        self._last: tuple[Saying, Fingerprint] | None = None
        for key, saying in known:
            self._add(key, saying)

    def twin(self, saying: Saying) -> Twin | None:
        """What says the same already; None for news."""
        mine = self._print(saying)
        best: Twin | None = None
        for entry in self._like(mine):
            found = _compared(saying, mine, entry)
            if found is not None and (best is None or found.likeness > best.likeness):
                best = found
        return best

    def novelty(self, text: str) -> float:
        """The share of its telling words that nothing known holds, 0…1."""
        words = query_terms(text)
        new = sum(word not in self._by_term and word not in self._words for word in words)
        return new / len(words) if words else 0.0

    def learn(self, saying: Saying) -> None:
        """From now on this is known as well, under the message's id."""
        self._add(saying.message_id, saying)

    def _add(self, key: int | str, saying: Saying) -> None:
        place, mine = len(self._entries), self._print(saying)
        self._entries.append(_Entry(key, saying.speaker, saying.role, mine))
        self._by_plain[mine.plain].append(place)
        for term in mine.terms:
            self._by_term[term].append(place)

    def _print(self, saying: Saying) -> Fingerprint:
        """Asked for twin and then learned: the same text is read once."""
        if self._last is None or self._last[0] is not saying:
            self._last = (saying, of_saying(saying))
        return self._last[1]

    def _like(self, mine: Fingerprint) -> list[_Entry]:
        same = self._by_plain.get(mine.plain, [])
        # What adds nothing has at most 15 % other words, so one of its rarest 16 % is known: the cheapest to look up.
        rarest = sorted(mine.terms, key=lambda term: len(self._by_term.get(term, ())))
        probes = rarest[: max(1, int(len(rarest) * (1 - SAME)) + 1)]
        found = [place for term in probes for place in self._by_term.get(term, ())]
        if found:
            same = [*same, *(place for place, _ in Counter(found).most_common(MAX_SHARED))]
        return [self._entries[place] for place in same]


def _compared(saying: Saying, mine: Fingerprint, entry: _Entry) -> Twin | None:
    if entry.speaker == saying.speaker and says_the_same(entry.print, mine):
        alike = likeness(entry.print, mine)
        return Twin("duplicate" if alike == 1.0 else "near_duplicate", entry.id, alike)
    if saying.role in ("assistant", "tool") and entry.role != saying.role and echoes(mine, entry.print):
        return Twin("echo", entry.id, likeness(entry.print, mine))
    return None
