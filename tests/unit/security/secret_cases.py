"""The texts by which redaction is measured: `python -m tests.unit.security.secret_cases` prints the figures."""

from __future__ import annotations

import random
import re
import string
from pathlib import Path
from typing import Final

from memoranda.security.redaction import find_secrets, redact_secrets

_DATA: Final = Path(__file__).parents[2] / "data" / "secrets"
_LETTERS: Final = {
    "a": string.ascii_letters + string.digits,
    "x": "0123456789abcdef",
    "d": "123456789",
    "U": string.ascii_uppercase + string.digits,
    "B": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
}


def read_secrets() -> list[tuple[str, list[str]]]:
    """Return texts, each with the secrets in it."""
    numbers = random.Random(7)

    def fill(match: re.Match[str]) -> str:
        return "".join(numbers.choice(_LETTERS[match[1]]) for _ in range(int(match[2])))

    cases = []
    for line in _lines("secrets.txt"):
        text = re.sub(r"\{([axdUB])(\d+)\}", fill, line.replace("\\n", "\n"))
        secrets = [secret.strip('"') for secret in re.findall(r"«([^»]*)»", text)]
        assert secrets, line
        cases.append((text.replace("«", "").replace("»", ""), secrets))
    return cases


def read_said() -> list[str]:
    """Return texts that hold a secret as people say it."""
    return _lines("said.txt")


def read_benign() -> list[str]:
    """Return texts without a secret."""
    return [line.replace("\\n", "\n") for line in _lines("benign.txt")]


def keeps_out(text: str, secrets: list[str]) -> bool:
    """Return whether nothing is left of the secrets that would help to guess them."""
    left = redact_secrets(text)
    parts = [part for secret in secrets for part in (secret, *secret.split()) if part == secret or len(part) > 3]
    return not any(part in left for part in parts)


def _lines(name: str) -> list[str]:
    lines = (_DATA / name).read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def main() -> None:
    secrets, benign = read_secrets(), read_benign()
    missed = [text for text, parts in secrets if not keeps_out(text, parts)]
    alarms = [text for text in benign if find_secrets(text)]
    print(f"kept out {len(secrets) - len(missed)} of {len(secrets)}, false alarms {len(alarms)} of {len(benign)}")
    for text in (*missed, *alarms):
        print("  ", repr(text), "->", redact_secrets(text))


if __name__ == "__main__":
    main()
