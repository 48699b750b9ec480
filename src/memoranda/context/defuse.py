"""Stored text made harmless for a prompt: it can neither end the fence around it nor pose as another entry."""

from __future__ import annotations

import re
from typing import Final

from memoranda.context.base import FENCE

LONGEST_NAME: Final = 80
"""Characters shown of a speaker's, a session's or a source's name."""

# What a reader cannot see but a model reads: control characters, direction overrides, the invisible tag alphabet.
_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069\ufff9-\ufffb\U000e0000-\U000e007f]"
)
# Possessive, so that a million spaces after a bracket are looked at once.
_GAP: Final = "[\\s\u00ad\u180e\u200b-\u200f\u2060-\u2064\ufe00-\ufe0f\ufeff]*+"
_BRACKETS: Final = "<\u2039\u2329\u3008\u27e8\ufe64\uff1c"
_SLASHES: Final = "/\\\\\u2044\u2215\uff0f"
_MARK: Final = re.compile(
    f"[{_BRACKETS}](?={_GAP}[{_SLASHES}]?{_GAP}{_GAP.join(map(re.escape, FENCE))})",
    re.IGNORECASE,
)
_INDENT: Final = "\n  "


def defused(text: str) -> str:
    """The text with its lines indented under the first and everything that looks like our mark made plain."""
    seen = _MARK.sub("&lt;", _UNSEEN.sub("", text))
    return _INDENT.join(line.rstrip() for line in seen.strip().splitlines())


def defused_name(name: str) -> str:
    """A name on one line, cut where it is too long to be one."""
    line = " ".join(defused(name).split())
    return line if len(line) <= LONGEST_NAME else f"{line[: LONGEST_NAME - 1]}…"
