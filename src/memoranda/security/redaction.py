"""Finds and removes secrets in data before it is written: by field name, and by patterns in text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from typing import Final

from memoranda.display import shown
from memoranda.errors import InvalidInput
from memoranda.security.secret_patterns import (
    DESCRIPTION,
    KEY_CONTEXT,
    NEAR_BREAK,
    NEAR_NAME,
    NEAR_NO_VALUE,
    NEAR_SIGN_IN,
    NEAR_VALUE,
    NO_KEY_CONTEXT,
    PLAIN_PASSWORD,
    SHAPE_HINT,
    SPOKEN,
    SPOKEN_HINTS,
    SPOKEN_PARTS,
    SPOKEN_WORDS,
    SYMBOL,
    VENDOR_KEYS,
    WORDS_HINT,
)
from memoranda.text.cache import text_cache
from memoranda.text.sentences import Span
from memoranda.text.word_filter import AnyPart, WordFilter, WordFlags, longest_words, needed_words
from memoranda.types import JSON

REPLACEMENT: Final = "[redacted]"

DEFAULT_FIELDS: Final = (
    "password", "passwd", "passphrase", "passcode", "pwd", "pw", "secret", "client_secret", "token",
    "access_token", "refresh_token",
    "auth_token", "id_token", "session_token", "api_key", "apikey", "private_key", "secret_key", "access_key",
    "authorization", "cookie", "set_cookie", "credentials",
)  # fmt: skip
"""Field names, or the last words of longer names (`db_password`, `X-Api-Key`, `authToken`), in any case."""

DEFAULT_PATTERNS: Final = VENDOR_KEYS
"""Keys, tokens and passwords by their shape. The text of a group named `keep` stays in front of the replacement."""

_MAY_HOLD_KEY: Final = re.compile(SHAPE_HINT)
_SPOKEN_HINTS: Final = tuple(map(re.compile, SPOKEN_HINTS))
_NAMES_SECRET: Final = 1
_SAID_WITH_SECRET: Final = 2
_MAY_HAVE_SHAPE: Final = 4
_NAME_WORDS, _SAID_WORDS = AnyPart(longest_words(WORDS_HINT)), AnyPart(longest_words(SPOKEN_PARTS))
_SHAPE_WORD: Final = re.compile(r"[=:]|</|[a-z0-9_+/.-]{16}|bearer|-----begin")
"""In a word of every text that `SHAPE_HINT` matches."""
_LONG_NUMBER: Final = re.compile(r"\d(?:[ -]?\d){12}")
"""What every number of a card has. Much faster than its pattern, as it begins with one set of characters."""
_ACCOUNT_START: Final = re.compile(r"[A-Z]{2}\d{2}")
_BLANK_LINES: Final = re.compile(r"\n\s*\n")
_MAY_HOLD_CODE: Final = re.compile(r"\d(?:(?<=[^\s\d.,:;/$€£(]\d)|(?:[ -]{0,3}\d){2}|[a-z#*_!])")
"""Three digits, or a digit next to a letter or a symbol: "1. Bread" and "at 9:30" hold no code."""
_PLACEHOLDER: Final = re.compile(
    r"\$\{?\w+\}?|\$\(\w+\)|<[^<>]{1,60}>|\{\{? ?\w+ ?\}?\}|%\w+%|"
    r"(?:process|os|env|config|settings|self|args|options)\.[\w.()\[\]\"']+|"
    r"(?i:(?:my|your|the|some|dummy|fake|sample|example|insert|enter|replace|put)[-_][a-z_-]*(?:key|secret|token|password|pass|here))"
)
"""What stands for a secret that is kept elsewhere."""
_CARD: Final = re.compile(r"(?<![\w.-])\d(?:[ -]?\d){12,18}(?![\w-])")
_CARD_START: Final = re.compile(r"4|5[1-5]|2[2-7]|3[0-9]|6")
_IBAN: Final = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b")
_IBAN_CONTEXT: Final = re.compile(r"\b(?:iban|account|konto|compte|cuenta|conto|conta|rekening|bank)", re.I)
_IBAN_COUNTRY: Final = re.compile(
    r"A[DELTZ]|B[AEGHR]|C[HRYZ]|D[EKO]|E[ES]|F[IOR]|G[BEILR]|H[RU]|I[ELST]|JO|K[WZ]|L[BITUV]|M[CDEKT]|N[LO]|P[KLST]|QA|"
    r"R[OS]|S[AEIKM]|T[NR]|UA"
)
_PHRASE: Final = re.compile(
    r"(?<![A-Za-z'-])(?:(?<![a-z] )|(?<= is )|(?<= are ))(?:\d{1,2}[.)] ?)?[a-z]{3,8}+(?:[ ,\n]{1,3}+(?:\d{1,2}[.)] ?)?[a-z]{3,8}+(?![a-z'-])){11,23}+(?![ ,\n]{1,3}[a-z])"  # noqa: E501
)
_PHRASE_CONTEXT: Final = re.compile(r"\b(?:seed|recovery|mnemonic|wallet|backup|secret)\b[^.\n]{0,40}$", re.I)
_PHRASE_LENGTHS: Final = (12, 15, 18, 21, 24)
_ORDINARY: Final = re.compile(
    "the|and|was|for|are|but|not|his|her|our|its|has|had|did|were|from|been|she|him|out|your?|who|how|what|when|why|which|"
    "th(?:is|at|ese|ose|an|en|ey|em|eir|ere)|with|have|some|about|into|over|because|would|could|should|might|also|each|"
    "every|any|all|more|most|very|just|like"
)
"""Words that make a sentence; most of them are in no list of words for recovery phrases."""
_PHRASE_LABELS: Final = frozenset(["seed", "wallet", "recovery", "mnemonic", "phrase"])
_MOST_ORDINARY: Final = 2
_NEAR: Final = 80
"""How many characters may lie between a password and the word for it."""
_RANDOM: Final = re.compile(r"(?<![\w+/.-])[A-Za-z0-9+/_~-]{16,512}={0,2}(?![\w/]|\.\w)")
_KEY_CONTEXT: Final = re.compile(KEY_CONTEXT)
_NO_KEY_CONTEXT: Final = re.compile(NO_KEY_CONTEXT)
_LEAST_CHANGES: Final = 0.3
"""How often a random key changes between capitals, small letters and digits, per character. Names do so less."""
_LONG_KEY: Final = 32
"""Characters of a key in which one digit is enough."""
_SECRET_MANIFEST: Final = re.compile(r"\bkind: [\"']?Secret\b|\bstringData:")
_MANIFEST_DATA: Final = re.compile(r"(?:^|\n)\s{0,4}(?:stringD|d)ata:")
_MANIFEST_VALUE: Final = re.compile(
    r"(?:^|\n)[ \t]{2,}(?!(?:name|namespace|type|app|kind)\b)[\w.-]{1,80}:[ \t]+"
    r"[\"']?([^\s\"'{}|>$]{6,})(?=[\"']?\s*(?:\n|$))"
)

_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W_A-Z]+")


class Redactor:
    """Replaces secrets in text and nested JSON. The result has the same shape; redacting it again changes nothing.

    Pass your own `patterns` and `fields` to replace the default ones, or to extend them:
    `Redactor([*DEFAULT_PATTERNS, r"\\bACME-\\d{6}\\b"])`. The text of a group named `keep` is not replaced.
    """

    def __init__(
        self,
        patterns: Iterable[str] = DEFAULT_PATTERNS,
        fields: Iterable[str] = DEFAULT_FIELDS,
        replacement: str = REPLACEMENT,
    ) -> None:
        self._patterns = [_compile(pattern) for pattern in patterns]
        self._fields = {"".join(_WORDS.findall(field)).casefold() for field in fields}
        self._replacement = replacement

    def text(self, text: str) -> str:
        """Return the text without secrets."""
        for pattern in self._patterns:
            text = pattern.sub(self._substitute, text)
        return text

    def json(self, value: JSON) -> JSON:
        """Return a copy of the value without secrets."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.json(item) for item in value]
        if isinstance(value, dict):
            return self.object(value)
        return value

    def object(self, values: dict[str, JSON]) -> dict[str, JSON]:
        """Return a copy of the JSON object without secrets, also in its keys."""
        return {self.text(key): self._redact_field(key, value) for key, value in values.items()}

    def _redact_field(self, key: str, value: JSON) -> JSON:
        # A number or a flag with such a name is not a secret: "token": 512, "password": false.
        is_secret = isinstance(value, str | list | dict) and not self._fields.isdisjoint(_endings(key))
        return self._replacement if is_secret and value else self.json(value)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return where the secrets are, without the words that are kept in front of them."""
        return [_value_span(match) for pattern in self._patterns for match in pattern.finditer(text)]

    def _substitute(self, match: re.Match[str]) -> str:
        return match[0][: _value_span(match)[0] - match.start()] + self._replacement


def _value_span(match: re.Match[str]) -> Span:
    kept = [
        match.end(name) for name, value in match.groupdict().items() if value is not None and name.startswith("keep")
    ]
    return max(kept, default=match.start()), match.end()


def holds_secret(text: str) -> bool:
    """Return whether a text contains a password, key, token or card number, also one that is said in a sentence."""
    return bool(find_secrets(text))


@text_cache(256)  # the gate checks a text, and masking its message checks it again
def find_secrets(text: str) -> tuple[Span, ...]:
    """Return where the secrets of a text are: keys, passwords, cards, account numbers and recovery phrases."""
    lowered = text.lower()
    flags = _WORD_FLAGS.of(lowered)
    found = [*_find_phrases(text)]
    if flags & _MAY_HAVE_SHAPE and may_hold_secret(lowered):
        keys = map(_value_span, _vendor_keys().matches(text))
        found += [*keys, *_find_random_keys(text, lowered), *_find_manifest_values(text)]
    if _MAY_HOLD_CODE.search(lowered):
        found += [*_find_cards(text), *_find_accounts(text)]
    if flags & (_NAMES_SECRET | _SAID_WITH_SECRET):
        for start, end in _paragraphs(text):
            found += [(start + one, start + other) for one, other in _find_spoken(text[start:end])]
    if not found:
        return ()
    merged: list[Span] = []
    for start, end in sorted(found):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(span for span in merged if not _is_redacted(text[slice(*span)]))


def _paragraphs(text: str) -> Iterator[Span]:
    """Yield the parts of a text between blank lines: most parts of a long text need no closer look."""
    start = 0
    for match in _BLANK_LINES.finditer(text):
        yield start, match.start()
        start = match.end()
    yield start, len(text)


def _find_spoken(text: str) -> list[Span]:
    """Return where the secrets are that are said in a sentence or used in a command."""
    lowered = text.lower()
    flags = _WORD_FLAGS.of(lowered)
    found: list[Span] = []
    if flags & _NAMES_SECRET and any(map(lowered.__contains__, WORDS_HINT)):
        found += [*map(_value_span, _spoken(SPOKEN_WORDS).matches(text)), *_find_plain_passwords(text)]
    # Most texts have no code.
    if _MAY_HOLD_CODE.search(lowered):
        if flags & _SAID_WITH_SECRET and _is_said_with_secret(lowered):
            found += map(_value_span, _spoken(SPOKEN).matches(text))
        found += _find_near_names(text)
    return found


def _is_said_with_secret(lowered: str) -> bool:
    """Return whether a text in lower case has a word that is said with a secret."""
    return any(map(lowered.__contains__, SPOKEN_PARTS)) or any(hint.search(lowered) for hint in _SPOKEN_HINTS)


def _find_word_flags(word: str) -> int:
    """Return whether a word may name a secret, be said with one or have the shape of one: too often at most."""
    spaced = f" {word} "
    said = _SAID_WORDS.is_in(spaced) or any(hint.search(spaced) for hint in _SPOKEN_HINTS)
    has_shape = _SHAPE_WORD.search(word) is not None
    return _NAMES_SECRET * _NAME_WORDS.is_in(spaced) | _SAID_WITH_SECRET * said | _MAY_HAVE_SHAPE * has_shape


_WORD_FLAGS: Final = WordFlags(_find_word_flags)


class _FilteredPatterns:
    """Patterns of which only those are tried on a text that its words do not rule out."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._patterns = tuple(patterns)
        self._filter = WordFilter(map(needed_words, self._patterns))

    def matches(self, text: str) -> Iterator[re.Match[str]]:
        for number in self._filter.find(text):
            yield from _compile_once(self._patterns[number]).finditer(text)


@cache
def _compile_once(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def redact_secrets(text: str, replacement: str = REPLACEMENT) -> str:
    """Return the text with each secret replaced, and everything else as it was."""
    for start, end in reversed(find_secrets(text)):
        text = text[:start] + replacement + text[end:]
    return text


def redact_value(key: str, value: JSON) -> JSON:
    """Return a value that is saved under a key without secrets: by its names, and in its texts."""
    if "/" in key:  # a path is no name of a field, even one that ends in "passwd"
        return redact_texts(default_redactor().json(value))
    (redacted,) = default_redactor().object({key: value}).values()
    return redact_texts(redacted)


def redact_metadata(metadata: dict[str, JSON]) -> dict[str, JSON]:
    """Return metadata without secrets, by names of fields and in texts. A value without a blank is an id."""
    return {key: _redact_spaced(value) for key, value in default_redactor().object(metadata).items()}


def _redact_spaced(value: JSON) -> JSON:
    if isinstance(value, str):
        return redact_secrets(value) if " " in value else value
    if isinstance(value, list):
        return [_redact_spaced(item) for item in value]
    if isinstance(value, dict):
        return {key: _redact_spaced(item) for key, item in value.items()}
    return value


def redact_texts(value: JSON) -> JSON:
    """Return a value whose texts are without secrets."""
    if isinstance(value, str):
        return redact_secrets(value)
    if isinstance(value, list):
        return [redact_texts(item) for item in value]
    if isinstance(value, dict):
        return {key: redact_texts(item) for key, item in value.items()}
    return value


def _is_redacted(value: str) -> bool:
    if _PLACEHOLDER.fullmatch(value.strip(" \"'.,;")):
        return True
    return value.strip(" \"'.") in (REPLACEMENT, REPLACEMENT.strip("[]")) or set(value) <= set("█*•xX. ")


def _find_cards(text: str) -> list[Span]:
    """Return the numbers that are payment cards by their first digits and their check digit."""
    if not _LONG_NUMBER.search(text):
        return []
    return [span for match in _CARD.finditer(text) if (span := _card_span(match)) is not None]


def _card_span(match: re.Match[str]) -> Span | None:
    """Return the longest run of whole groups that is a card; the date on which it expires may follow."""
    ends = [group.end() for group in re.finditer(r"\d+", match[0])]
    for end in reversed(ends):
        if _is_card(re.sub(r"\D", "", match[0][:end])):
            return match.start(), match.start() + end
    return None


def _is_card(digits: str) -> bool:
    plausible = 13 <= len(digits) <= 19 and _CARD_START.match(digits) is not None and len(set(digits)) > 1
    return plausible and _passes_luhn(digits)


def _passes_luhn(digits: str) -> bool:
    doubled = [int(digit) * (1 + position % 2) for position, digit in enumerate(reversed(digits))]
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


def _find_accounts(text: str) -> list[Span]:
    """Return the account numbers: an IBAN of a known country, or in a text that speaks of a bank."""
    if not _ACCOUNT_START.search(text):
        return []
    codes = [match for match in _IBAN.finditer(text) if _is_iban(match[0].replace(" ", ""))]
    return [match.span() for match in codes if _IBAN_COUNTRY.match(match[0]) or _IBAN_CONTEXT.search(text)]


def _is_iban(code: str) -> bool:
    moved = code[4:] + code[:4]
    return 15 <= len(code) <= 34 and int("".join(str(int(char, 36)) for char in moved)) % 97 == 1


def _find_phrases(text: str) -> list[Span]:
    """Return the recovery phrases of wallets: 12 to 24 short words in a row, which make no sentence."""
    return [match.span() for match in _PHRASE.finditer(text) if _is_phrase(match)]


def _is_phrase(match: re.Match[str]) -> bool:
    words = re.findall(r"[a-z]+", match[0])
    label = [word for word in words[:4] if word in _PHRASE_LABELS]
    named = bool(label) or _PHRASE_CONTEXT.search(match.string[: match.start()]) is not None
    ordinary = sum(_ORDINARY.fullmatch(word) is not None for word in words)
    if named:
        return ordinary == 0 or (ordinary <= _MOST_ORDINARY and len(words) - len(label) in _PHRASE_LENGTHS)
    # Without a name, a list of things is no phrase: "1. loring park", "calm, kind, funny".
    numbers = len(re.findall(r"\d+", match[0]))
    return ordinary == 0 and len(words) in _PHRASE_LENGTHS and "," not in match[0] and numbers in (0, len(words))


def _find_random_keys(text: str, lowered: str) -> list[Span]:
    """Return the long random values that a word right before them calls a key, a token or a secret."""
    found = []
    for match in _RANDOM.finditer(text):
        before = lowered[max(0, match.start() - 40) : match.start()].rpartition("\n")[2]
        named = _KEY_CONTEXT.search(before) is not None and _NO_KEY_CONTEXT.search(before) is None
        if named and _looks_random(match[0]):
            found.append(match.span())
    return found


def _looks_random(value: str) -> bool:
    kinds = ["d" if char.isdigit() else "U" if char.isupper() else "l" if char.islower() else "-" for char in value]
    changes = sum(one != other for one, other in pairwise(kinds))
    least = 1 if len(value) >= _LONG_KEY else 2
    return kinds.count("d") >= least and changes >= _LEAST_CHANGES * len(value)


def _find_manifest_values(text: str) -> list[Span]:
    """Return the values of a Kubernetes secret, whatever their names are."""
    data = _MANIFEST_DATA.search(text)
    if data is None or _SECRET_MANIFEST.search(text) is None:
        return []
    return [match.span(1) for match in _MANIFEST_VALUE.finditer(text, data.end())]


def _find_plain_passwords(text: str) -> list[Span]:
    """Return the passwords that are an ordinary word, unless the word describes the password."""
    return [
        match.span("value")
        for match in _spoken(PLAIN_PASSWORD).matches(text)
        if not any(map(_description().fullmatch, match["value"].split()))
    ]


def _find_near_names(text: str) -> list[Span]:
    """Return what looks like a password in a clause that names one, however the clause is worded."""
    names = [match.end() for match in NEAR_NAME.finditer(text)]
    places = [match.end() for match in NEAR_SIGN_IN.finditer(text)] if SYMBOL.search(text) else []
    if not names and not places:
        return []
    found = []
    for match in NEAR_VALUE.finditer(text):
        start, end = match.start("value"), match.start("value") + len(match["value"].rstrip(".:!?"))
        near = [*names, *places] if SYMBOL.search(text, start, end) else names
        if any(_is_near(text, name, start) for name in near) and not NEAR_NO_VALUE.match(text[start:end]):
            found.append((start, end))
    return found


def _is_near(text: str, name: int, value: int) -> bool:
    return 0 <= value - name <= _NEAR and NEAR_BREAK.search(text[name:value]) is None


@cache
def _description() -> re.Pattern[str]:
    return re.compile(DESCRIPTION)


@cache
def _spoken(patterns: tuple[str, ...]) -> _FilteredPatterns:
    return _FilteredPatterns(patterns)


@cache
def _vendor_keys() -> _FilteredPatterns:
    return _FilteredPatterns(VENDOR_KEYS)


def may_hold_secret(lowered: str) -> bool:
    """Return whether a default pattern can match this text in lower case. Much faster than the patterns."""
    return _MAY_HOLD_KEY.search(lowered) is not None


@cache
def default_redactor() -> Redactor:
    """Return the redactor with the default patterns, created on first use."""
    return Redactor()


def _compile(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise InvalidInput(f"the pattern {shown(pattern)} is not a regular expression: {error}") from error


def _endings(field: str) -> set[str]:
    """Return the last one to four words of a field name, joined and in lower case."""
    words = _WORDS.findall(field)
    return {"".join(words[start:]).casefold() for start in range(max(0, len(words) - 4), len(words))}
