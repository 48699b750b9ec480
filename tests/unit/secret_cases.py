"""The texts by which the search for secrets is measured: `python -m tests.unit.secret_cases` prints the figures."""

from __future__ import annotations

import random
import re
import string
from pathlib import Path
from typing import Final

from memoranda.redaction import find_secrets, redact_secrets

_DATA: Final = Path(__file__).parents[1] / "data" / "secrets"
_LETTERS: Final = {
    "a": string.ascii_letters + string.digits,
    "x": "0123456789abcdef",
    "d": "123456789",
    "U": string.ascii_uppercase + string.digits,
    "B": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
}


def read_secrets() -> list[tuple[str, str]]:
    """Return texts, each with the secret in it."""
    numbers = random.Random(7)

    def fill(match: re.Match[str]) -> str:
        return "".join(numbers.choice(_LETTERS[match[1]]) for _ in range(int(match[2])))

    cases = []
    for line in _lines("secrets.txt"):
        text = re.sub(r"\{([axdUB])(\d+)\}", fill, line.replace("\\n", "\n"))
        secret = re.search(r"«([^»]*)»", text)
        assert secret is not None, line
        cases.append((text.replace("«", "").replace("»", ""), secret[1].strip('"')))
    return cases


def read_said() -> list[str]:
    """Return texts that hold a secret as people say it."""
    return _lines("said.txt")


def read_benign() -> list[str]:
    """Return texts without a secret."""
    return _lines("benign.txt")


def keeps_out(text: str, secret: str) -> bool:
    """Return whether nothing is left of a secret that would help to guess it."""
    left = redact_secrets(text)
    return secret not in left and not any(part in left for part in secret.split() if len(part) > 3)


def _lines(name: str) -> list[str]:
    lines = (_DATA / name).read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def main() -> None:
    secrets, benign = read_secrets(), read_benign()
    missed = [text for text, secret in secrets if not keeps_out(text, secret)]
    alarms = [text for text in benign if find_secrets(text)]
    print(f"kept out {len(secrets) - len(missed)} of {len(secrets)}, false alarms {len(alarms)} of {len(benign)}")
    for text in (*missed, *alarms):
        print("  ", repr(text), "->", redact_secrets(text))


if __name__ == "__main__":
    main()
