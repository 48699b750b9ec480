"""Finds and removes secrets in data before it is written: by field name, and by patterns in text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Final

from memoranda.errors import InvalidInput
from memoranda.types import JSON

REPLACEMENT: Final = "[redacted]"

DEFAULT_FIELDS: Final = (
    "password", "passwd", "passphrase", "secret", "client_secret", "token", "access_token", "refresh_token",
    "auth_token", "id_token", "session_token", "api_key", "apikey", "private_key", "secret_key", "access_key",
    "authorization", "cookie", "set_cookie", "credentials",
)  # fmt: skip
"""Field names, or the last words of longer names (`db_password`, `X-Api-Key`, `authToken`), in any case."""

# The text of a group named `keep` stays in front of the replacement. Every repetition is bounded by a character class
# that cannot match what follows it, so no text makes them slow.
DEFAULT_PATTERNS: Final = (
    r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----[\s\S]*?(?:-----END (?:[A-Z]+ )*PRIVATE KEY-----|\Z)",
    r"\bsk-[A-Za-z0-9_-]{16,}",  # OpenAI, Anthropic and compatible services
    r"\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}",  # Stripe
    r"\b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{30,}|\bgithub_pat_[A-Za-z0-9_]{30,}",
    r"\bglpat-[A-Za-z0-9_-]{20,}",
    r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bxapp-[A-Za-z0-9-]{10,}",  # Slack
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",  # AWS
    r"\bAIza[A-Za-z0-9_-]{35}",  # Google
    r"\bya29\.[A-Za-z0-9_-]{20,}",
    r"\bhf_[A-Za-z0-9]{30,}",
    r"\bgsk_[A-Za-z0-9]{40,}",  # Groq
    r"\bnpm_[A-Za-z0-9]{36}",
    r"\bpypi-[A-Za-z0-9_-]{50,}",
    r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",  # SendGrid
    r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",  # JSON Web Token
    r"(?P<keep>\b(?:[Bb]earer|BEARER)\s{1,4})[A-Za-z0-9._~+/-]{8,}=*",
    # After "Authorization:" only; in a sentence, "Basic" is followed by words such as "understanding".
    r"(?P<keep>\b[Aa]uthorization[\"']?\s{0,4}[:=]\s{0,4}[\"']?[Bb]asic\s{1,4})[A-Za-z0-9+/]{8,}=*",
    r"(?P<keep>\b[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s:/@\"'<>]{0,256}:)[^\s/@\"'<>]{1,256}(?=@)",
    r"(?P<keep>(?i:\b(?:api[_-]?key|password|passwd|secret|access[_-]?token|auth[_-]?token)\b[\"']?\s{0,4}[=:]\s{0,4}"
    r"[\"']?))(?!\[redacted\])[^\s\"',;&]{4,}",
)

_SPOKEN_SECRETS: Final = (
    # "My password is hunter2": the value has a digit or a symbol in it, because "my password is too long" is no secret.
    r"(?P<keep>(?i:\b(?:pass(?:word|code|phrase)|pin(?:\s+code)?|api\s+key|secret\s+key|access\s+token|security\s+code|cvv)"
    r"\s+(?:is|was|=|:)\s+[\"'`]?))(?=\S*[\d!@#$%^&*_+=])[^\s\"'`,;]{3,}",
    r"\b\d{3}-\d{2}-\d{4}\b",  # a US social security number
    r"\b(?:\d{4}[ -]){3}\d{4}\b",  # a payment card
)
# Every spoken secret contains one of these hints, in lower case, or such a number.
_SPOKEN_HINTS: Final = ("passcode", "passphrase", "pin", "api", "token", "security", "cvv")
_SPOKEN_HINT: Final = re.compile(r"\b(?:pass|pin\s+(?:is|was|code|=|:)|api\s+key|access\s+token|security\s+code|cvv)")
_NUMBER_HINT: Final = re.compile(r"\d{3}-\d\d-\d|\d{4}[ -]\d{4}")

_HINTS: Final = {
    "": (
        "akia", "asia", "aiza", "ya29.", "sg.", "eyj", "bearer", "authorization", "://", "apikey", "passw", "secret",
        "accesstoken", "authtoken",
    ),
    "_": (
        "_live_", "_test_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "hf_", "gsk_", "npm_", "api_key",
        "access_token", "auth_token",
    ),
    "-": ("-----begin ", "sk-", "glpat-", "xox", "xapp-", "pypi-", "api-key", "access-token", "auth-token"),
}  # fmt: skip
"""A text that a default pattern matches contains one of these, in lower case. They are grouped by a character that
few texts contain, so that most groups are skipped."""

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

    def _substitute(self, match: re.Match[str]) -> str:
        return (match.groupdict().get("keep") or "") + self._replacement


@lru_cache(maxsize=64)  # the gate checks a text, and masking its message checks it again
def holds_secret(text: str) -> bool:
    """Return whether a text contains a password, key, token or card number, also one that is said in a sentence."""
    return _may_hold_spoken_secret(text) and _spoken_redactor().text(text) != text


def _may_hold_spoken_secret(text: str) -> bool:
    lowered = text.lower()
    if any(hint in lowered for hint in _SPOKEN_HINTS) and _SPOKEN_HINT.search(lowered):
        return True
    return may_hold_secret(lowered) or _NUMBER_HINT.search(text) is not None


@cache  # its patterns are compiled on first use
def _spoken_redactor() -> Redactor:
    return Redactor([*DEFAULT_PATTERNS, *_SPOKEN_SECRETS])


def may_hold_secret(lowered: str) -> bool:
    """Return whether a default pattern can match this text in lower case. Much faster than the patterns."""
    return any(rare in lowered and any(hint in lowered for hint in hints) for rare, hints in _HINTS.items())


@cache
def default_redactor() -> Redactor:
    """Return the redactor with the default patterns, created on first use."""
    return Redactor()


def _compile(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise InvalidInput(f"the pattern {pattern!r} is not a regular expression: {error}") from error


def _endings(field: str) -> set[str]:
    """Return the last one to four words of a field name, joined and in lower case."""
    words = _WORDS.findall(field)
    return {"".join(words[start:]).casefold() for start in range(max(0, len(words) - 4), len(words))}
