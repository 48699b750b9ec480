"""Find known texts that make the same statement as an utterance.

Two texts are the same statement when they have the same words in the same order, up to case, punctuation, white space
and politeness. Any other difference may be the point of the second one: "before meals" and "after meals", "I have a
car" and "I had a car", "tea over coffee" and "coffee over tea".
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from memoranda.dates.find import find_mentions
from memoranda.embedding.vectors import Vectors
from memoranda.index.partition import Partition
from memoranda.index.partitions import Partitions
from memoranda.messages.message import ROLES
from memoranda.remember.base import KnownMatch, KnownTexts, NoKnownTexts, Utterance
from memoranda.remember.echoes import EchoIndex, list_parts, to_lookup
from memoranda.remember.importance.words import describes_recurring_event
from memoranda.remember.new_memory import WriteOptions, speaker_name
from memoranda.storage.base import PartitionKey, Store
from memoranda.storage.claims import FOLLOWED, VOICE
from memoranda.text.terms import query_terms
from memoranda.types import Memory, Scope

# A number with its point ("5" and ".5"), a word with its apostrophe, or a sign that makes a difference ("C" and "C++",
# "5" and "-5").
_TOKEN: Final = re.compile(
    r"(?<!\S)-{1,2}[^\W_][\w-]*|[+\-]?(?:(?<![\w.,:;!?])\.)?\d+(?:[.,:/]\d+)*|[^\W\d_][^\W_]*(?:'[^\W_]+)*[+#]*|[^\W_]+|[$€£¥%°&@/=<>*+#~^|\\_§¬±×÷]"
    r"|!(?==)|(?<!\S)[!.](?=\w)|[:;]-?[()](?!\S)|[\u20a0-\u20cf\u2190-\u2bff\U0001f000-\U0001faff]"
    r"|(?:(?<=\bno)|(?<=\byes)|(?<=\bnot)|(?<=\bnever)|(?<=\bdon't)|(?<=\bstop))\s?[,;:.!–—-]+(?=\s+\w)"
)
_WORDS_OF_TEXT: Final = re.compile(r"(?<![^\s(\"'])(?!-{1,2}[^\W\d_])\S+")
_PAUSE: Final = re.compile(r"\s?[,;:.!–—-]+")
"""What follows a no in "No, more sugar", which says the opposite of "No more sugar"."""
_QUESTION: Final = re.compile(r"\?[\"'”’)\s]*$")
_POLITE_START: Final = re.compile(
    # A greeting without punctuation may be part of what is said: "Hello Kitty is my favourite".
    r"^(?:(?:(?:hi|hello|hey|good (?:morning|afternoon|evening)|thanks|thank you(?: (?:so|very) much)?)"
    r"(?: there)?\s*[,.!:;\n–—]|please\b|kindly\b)[\s,.!:;–—-]*)+",
    re.I,
)
_POLITE_END: Final = re.compile(
    r"(?:(?:(?<![\s,.!?;–—-])(?=[^\S\n]*[,.!?;\n–—])[\s,.!?;–—-]+|(?<!\bto)(?<!\s)\s+(?=please\s*\?))(?:please|thanks"
    r"|thank you(?: (?:so|very) much)?|thx|cheers)){1,3}[\s.!?)]*$",
    re.I,
)
_ASKING = r"(?:what|where|who|whom|whose|when|why|how|which)\b"
_POLITE_WITHIN: Final = re.compile(r"^((?:can|could|would|will) you),? (?:please|kindly)\b,?", re.I)
# "Could you tell me where my key is?" asks where it is.
_TELL_ME: Final = re.compile(
    rf"^(?:(?:can|could|would|will) you )?(?:tell me|let me know),?\s+"
    rf"(?={_ASKING}|(?:is|are|was|were|do|does|did|has|have) (?:my|our|the|i|we)\b)",
    re.I,
)
_ASKS: Final = re.compile(
    rf"{_ASKING}(?:'s| (?:is|are|was|were|am|do|does|did|can|could|should|will|would|has|have)\b)", re.I
)
_BEING: Final = frozenset(("is", "are", "was", "were", "am"))
_ENDING: Final = 80
"""How many characters polite words at the end may have, with the marks around them."""
_PERSONS: Final = frozenset(("i", "we", "you", "they"))
_ECHO_TOKENS: Final = 5
"""A shorter answer is no echo."""
_LEAD_IN_WORDS = """
    so ok okay got it noted sure yes yeah right understood i'll remember that you said told me mentioned i see thanks
    thank for sharing telling and great glad to hear nice
"""
_LEAD_IN: Final = frozenset(_LEAD_IN_WORDS.split())
_NEGATIONS: Final = frozenset(("not", "no", "never", "nobody", "none", "nothing", "without", "hardly", "cannot"))
_OTHER_PERSON: Final = {
    "i": "you", "me": "you", "my": "your", "mine": "yours", "myself": "yourself", "i'm": "you're", "i've": "you've",
    "i'll": "you'll", "i'd": "you'd", "am": "are",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The features by which two texts are compared."""

    tokens: tuple[str, ...]
    """The words in their order, without case, punctuation and politeness; a question ends with "?"."""
    terms: tuple[str, ...]
    times: tuple[tuple[datetime, datetime], ...]
    """The times it mentions; "yesterday" said on two days is two times, and so is something that happened."""


def fingerprint(text: str, said_at: datetime) -> Fingerprint:
    """Return the features of a text."""
    times = tuple((each.start, each.end) for each in find_mentions(text, said_at) if each.kind == "at")
    if not times and describes_recurring_event(text):
        # "I paid rent" said again next month is another payment.
        day = said_at.replace(hour=0, minute=0, second=0, microsecond=0)
        times = ((day, day + timedelta(days=1)),)
    return Fingerprint(statement_tokens(text), tuple(query_terms(text)), times)


def statement_tokens(text: str) -> tuple[str, ...]:
    """Return the words by which statements are compared; two texts with equal words are the same statement."""
    spoken, is_indirect_question = _without_politeness(text)
    # In options of commands capitals and signs count: "-v" and "-V", "--force" and "-force".
    found = _TOKEN.findall(_WORDS_OF_TEXT.sub(lambda word: word[0].casefold(), spoken)) or spoken.split()
    tokens = ["," if _PAUSE.fullmatch(token) else token for token in found]
    if is_indirect_question and tokens[-1] in _BEING:
        tokens.insert(1, tokens.pop())  # "tell me where my key is"
    elif is_indirect_question and tokens[1:2] and tokens[1] in _PERSONS:
        tokens.insert(1, "do")  # "tell me where I live"
    ending = _search_end(_POLITE_END, text) or _search_end(_QUESTION, text)
    asks = is_indirect_question or (ending is not None and "?" in ending[0]) or _ASKS.match(spoken)
    return (*tokens, "?") if asks else tuple(tokens)


def _without_politeness(text: str) -> tuple[str, bool]:
    """Return a text without greeting, thanks, "please" and "could you tell me", and whether it had the latter.

    A text that consists of nothing else is returned whole.
    """
    plain = text.replace("’", "'").replace("‘", "'").strip()
    spoken = _POLITE_START.sub("", plain, count=1)
    ending = _search_end(_POLITE_END, spoken)
    spoken = _POLITE_WITHIN.sub(r"\1", spoken[: ending.start()] if ending else spoken) or plain
    request = _TELL_ME.match(spoken)
    return (spoken, False) if request is None else (spoken[request.end() :], True)


def _search_end(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """Search the last characters only: in a long run of marks, a search takes quadratic time."""
    return pattern.search(text, max(0, len(text) - _ENDING))


def says_the_same(known: Fingerprint, new: Fingerprint) -> bool:
    """Return whether a new text is the same statement about the same times."""
    return known.tokens == new.tokens and known.times == new.times


def is_echo(answer: Fingerprint, known: Fingerprint) -> bool:
    """Return whether an answer has only words of a known text, as in "So you live in Berlin"."""
    if len(answer.tokens) < _ECHO_TOKENS or answer.tokens[-1] == "?":
        return False
    said, repeated = _as_second_person(known.tokens), _without_lead_in(_as_second_person(answer.tokens))
    if Counter(repeated) - Counter(said) or 2 * len(repeated) < len(said):
        return False
    return _count_negations(said) == _count_negations(repeated)


def _count_negations(tokens: Iterable[str]) -> int:
    return sum(token in _NEGATIONS or token.endswith("n't") for token in tokens)


def _as_second_person(tokens: Sequence[str]) -> list[str]:
    return [_OTHER_PERSON.get(token, token) for token in tokens]


def _without_lead_in(tokens: Sequence[str]) -> Sequence[str]:
    """Return the tokens after "Got it," or "So you said that"; all of them when nothing would be left."""
    for start, token in enumerate(tokens):
        if token not in _LEAD_IN:
            return tokens[start - 1 :] if start and tokens[start - 1] in ("you", "your") else tokens[start:]
    return ()


@dataclass(frozen=True, slots=True)
class _KnownText:
    id: int | str
    speaker: str
    role: str
    fingerprint: Fingerprint

    def match(self, utterance: Utterance, fingerprint: Fingerprint) -> KnownMatch | None:
        if self.speaker == utterance.speaker and says_the_same(self.fingerprint, fingerprint):
            return KnownMatch("duplicate", self.id)
        answers = utterance.role in ("assistant", "tool") and self.role != utterance.role
        return KnownMatch("echo", self.id) if answers and is_echo(fingerprint, self.fingerprint) else None


class KnownTextIndex:
    """The `KnownTexts` of the memories that a caller passes, and of what is added later. For one thread.

    Pass the memories that could say the same: all of a small scope, or the best lexical hits for each text of the
    call. In the second case, also pass which `terms` of the call occur in the scope.
    """

    def __init__(self, known: Iterable[tuple[int | str, Utterance]] = (), terms: Iterable[str] = ()) -> None:
        self._terms = set(terms)
        self._texts: list[_KnownText] = []
        self._by_term: dict[str, list[int]] = defaultdict(list)
        self._by_tokens: dict[tuple[str, ...], list[int]] = defaultdict(list)
        self._last: tuple[Utterance, Fingerprint] | None = None
        for known_id, utterance in known:
            self._insert(known_id, utterance)

    def find_match(self, utterance: Utterance) -> KnownMatch | None:
        """Return a known text that is the same statement, or else one that an answer only repeats."""
        fingerprint = self._fingerprint(utterance)
        for position in self._by_tokens.get(fingerprint.tokens, ()):
            if match := self._texts[position].match(utterance, fingerprint):
                return match
        if utterance.role not in ("assistant", "tool") or not fingerprint.terms:
            return None
        rarest = min(fingerprint.terms, key=lambda term: len(self._by_term.get(term, ())))
        matches = (self._texts[n].match(utterance, fingerprint) for n in self._by_term.get(rarest, ()))
        return next((match for match in matches if match), None)

    def novelty(self, utterance: Utterance) -> float:
        """Return the share of its terms that no known text contains, 0…1."""
        terms = self._fingerprint(utterance).terms
        new = sum(term not in self._by_term and term not in self._terms for term in terms)
        return new / len(terms) if terms else 0.0

    def add(self, utterance: Utterance) -> None:
        """Add an utterance to the known texts, under the id of its message."""
        self._insert(utterance.message_id, utterance)

    def _insert(self, known_id: int | str, utterance: Utterance) -> None:
        position, fingerprint = len(self._texts), self._fingerprint(utterance)
        self._texts.append(_KnownText(known_id, utterance.speaker, utterance.role, fingerprint))
        self._by_tokens[fingerprint.tokens].append(position)
        for term in set(fingerprint.terms):
            self._by_term[term].append(position)

    def _fingerprint(self, utterance: Utterance) -> Fingerprint:
        # An utterance is looked up and then added, so the last fingerprint is kept.
        if self._last is None or self._last[0] is not utterance:
            self._last = (utterance, fingerprint(utterance.text, utterance.said_at))
        return self._last[1]


_NEIGHBOURS: Final = 8
"""How many memories that share most terms with a text are compared with it."""
_KNOWN_SHARE: Final = 0.7
"""The share of a text's terms that must be known for it to repeat something; the others are a lead-in."""
_MAX_TERMS: Final = 64
_NOBODY: Final = ""
"""Instead of a name, for what was said without one."""
_MAX_NAMES: Final = 8
"""With more speakers, it is unknown which of them is the user."""


@dataclass(frozen=True, slots=True)
class Known:
    """The memories of the scope, up to the change `seq`, that could say the same as the texts of a call."""

    texts: KnownTexts = field(default_factory=NoKnownTexts)
    memories: dict[int, Memory] = field(default_factory=dict)
    seq: int | None = None
    """None when nothing was compared."""


class KnownFinder:
    """Looks up the memories that texts may repeat: one read of the index and one of the store for a whole call."""

    def __init__(self, store: Store, vectors: Vectors, partitions: Partitions) -> None:
        self._store = store
        self._vectors = vectors
        self._partitions = partitions

    def find(
        self, utterances: Sequence[Utterance], compared: Sequence[Utterance], options: WriteOptions
    ) -> tuple[list[Utterance], Known]:
        """Return the utterances, with repeated results of recall marked, and the memories that they may repeat.

        Args:
            utterances: What the call passes.
            compared: Those of them that may be duplicates. They are looked for in the session of the call; echoes in
                all sessions, since recall reads all of them.
            options: What holds for the whole call.
        """
        scope = options.scope
        generation = self._vectors.generation()
        partition = self._partitions.get_for_terms(PartitionKey(scope.tenant, scope.user), generation)
        parts = {each.text[slice(*part)] for each in utterances if each.text for part in list_parts(each)}
        with partition.lock:
            search = _Search(partition, scope.agent, options.now.timestamp())
            echoed = search.find_all(map(to_lookup, parts), None)
            same = search.find_all((_without_politeness(each.text)[0] for each in compared), scope.session)
            known_terms = {term for each in compared for term in search.indexed(each.text)} if compared else set[str]()
            seq = partition.seq
            names = _named_speakers(partition) if any(_is_unnamed(each, scope) for each in utterances) else {}
        utterances = self._name_owner(utterances, names, scope)
        found = self._read(Scope(scope.tenant, scope.agent, scope.user), echoed | same)
        marked = _mark_echoes(utterances, [found[each] for each in sorted(echoed) if each in found])
        if not compared:
            return marked, Known()
        # A statement that was followed by another one is new when it is made again.
        stated = {each: found[each] for each in sorted(same) if each in found and FOLLOWED not in found[each].notes}
        memories = {each: memory for each, memory in stated.items() if options.may_repeat(memory)}
        known = ((memory.id, utterance_of_memory(memory, scope)) for memory in memories.values())
        return marked, Known(KnownTextIndex(known, known_terms), memories, seq)

    def _name_owner(self, utterances: Sequence[Utterance], names: dict[int, str], scope: Scope) -> Sequence[Utterance]:
        """Return the utterances with the name of the user, where only one user ever spoke by name in the scope.

        "User moved to Rome" and "I moved to Rome" without a name are then about the person that the others are about.
        """
        said = self._read(Scope(scope.tenant, user=scope.user), set(names))
        own = [each for each, memory in sorted(said.items()) if memory.trust == "user" and VOICE not in memory.notes]
        # Whoever spoke without a name before is known by the id of the scope: the name is another person's.
        if len({names[each] for each in own}) != 1 or names[own[0]] in (_NOBODY, scope.user):
            return utterances
        owner = names[own[0]]
        return [replace(each, owner=owner) if _is_unnamed(each, scope) else each for each in utterances]

    def _read(self, scope: Scope, ids: set[int]) -> dict[int, Memory]:
        found = self._store.get(scope, sorted(ids)) if ids else []
        return {memory.id: memory for memory in found if memory is not None}


class _Search:
    """The searches of one call in a partition; the same words are searched once."""

    def __init__(self, partition: Partition, agent: str | None, now: float) -> None:
        self._partition = partition
        self._agent = agent
        self._now = now
        self._found: dict[tuple[str | None, tuple[str, ...]], list[int]] = {}

    def indexed(self, text: str) -> list[str]:
        """Return the terms of a text that the partition holds."""
        return self._partition.postings.held(query_terms(text))

    def find_all(self, texts: Iterable[str], session: str | None) -> set[int]:
        """Return the memories that share most terms with one of the texts."""
        return {memory_id for text in texts for memory_id in self._find(text, session)}

    def _find(self, text: str, session: str | None) -> list[int]:
        indexed = self.indexed(text)
        if not indexed or len(indexed) < _KNOWN_SHARE * len(query_terms(text)):
            return []
        key = (session, tuple(indexed[:_MAX_TERMS]))
        if key not in self._found:
            among = self._partition.eligible(self._agent, session, self._now)
            ids, _ = self._partition.postings.search(key[1], _NEIGHBOURS, among=among)
            self._found[key] = ids.tolist()
        return self._found[key]


def _is_unnamed(utterance: Utterance, scope: Scope) -> bool:
    """Return whether "the user" of an utterance is known only by the id of the scope."""
    return isinstance(scope.user, str) and utterance.owner == scope.user


def _named_speakers(partition: Partition) -> dict[int, str]:
    """Return who spoke, each with the first memory of theirs; nobody when they are many."""
    names = [name for name in partition.speakers if name not in ROLES]
    if len(names) > _MAX_NAMES:
        return {}
    unnamed = {int(said[0]): _NOBODY for name in (None, "user") if len(said := partition.said_by(name))}
    return unnamed | {int(said[0]): name for name in names if len(said := partition.said_by(name))}


def utterance_of_memory(memory: Memory, scope: Scope) -> Utterance:
    """Return a stored memory as an utterance."""
    name = None if memory.speaker in (memory.trust, *ROLES) else memory.speaker
    speaker = speaker_name(name, memory.trust, scope)
    span = (0, len(memory.content))
    owner = speaker if memory.trust == "user" else speaker_name(None, "user", scope)
    return Utterance("", memory.trust, speaker, memory.valid_from, memory.content, span, owner=owner)


def _mark_echoes(utterances: Sequence[Utterance], memories: Sequence[Memory]) -> list[Utterance]:
    if not memories:
        return list(utterances)
    index = EchoIndex(memories)
    return [replace(each, echoes=tuple(index.find(each))) for each in utterances]
