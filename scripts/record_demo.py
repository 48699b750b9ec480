"""Write `docs/demo.svg`: what the demo prints, as a picture made of text.

    python scripts/record_demo.py

The picture is the demo's own output at 80 columns, line by line; only its timings differ from run to run. A test
compares it with what the demo prints now.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html import escape, unescape
from pathlib import Path
from typing import Final

TARGET: Final = Path(__file__).parents[1] / "docs" / "demo.svg"
_COLUMNS: Final = 80
_CHARACTER: Final = 8.4
_LINE: Final = 18
_MARGIN: Final = 16
_TIMING: Final = re.compile(r"\b\d+(?:\.\d+)? (s|ms|MB)\b")
_TEXT: Final = re.compile(r'<text class="\w*" x="\d+" y="\d+">(.*?)</text>')
_STYLE: Final = """\
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre;fill:#24292f}
.back{fill:#f6f8fa;stroke:#d0d7de}.h{font-weight:700}.q{fill:#0550ae}.d{fill:#57606a}.p{fill:#1a7f37}
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.back{fill:#161b22;stroke:#30363d}
.q{fill:#79c0ff}.d{fill:#9198a1}.p{fill:#56d364}}"""


def main() -> None:
    """Run the demo and write the picture."""
    TARGET.write_text(to_svg(["$ make demo", "", *run_demo()]), encoding="utf-8")


def run_demo() -> list[str]:
    """Return the lines that the demo prints."""
    environment = {**os.environ, "COLUMNS": str(_COLUMNS), "PYTHONUTF8": "1", "TERM": "dumb"}
    command = [sys.executable, "-m", "memoranda.demo"]
    done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", check=True)
    return done.stdout.rstrip().splitlines()


def to_svg(lines: list[str]) -> str:
    """Return a picture of the lines."""
    width, height = int(_COLUMNS * _CHARACTER) + 2 * _MARGIN, len(lines) * _LINE + 2 * _MARGIN
    rows = "\n".join(
        f'<text class="{_class(line)}" x="{_MARGIN}" y="{_MARGIN + (number + 1) * _LINE - 5}">{escape(line)}</text>'
        for number, line in enumerate(lines)
    )
    box = f'width="{width - 1}" height="{height - 1}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="Output of make demo">\n<style>{_STYLE}</style>\n'
        f'<rect class="back" x="0.5" y="0.5" {box} rx="8"/>\n{rows}\n</svg>\n'
    )


def _class(line: str) -> str:
    if line.startswith("$"):
        return "p"
    if re.match(r"\d\. ", line):
        return "h"
    if re.match(r"   [^\s:][^:]*\?$", line):
        return "q"
    return "d" if re.match(r"   (Of \d|Not among|Median time)", line) else "n"


def recorded_lines(svg: str) -> list[str]:
    """Return the lines of a picture, without its first two."""
    return [unescape(line) for line in _TEXT.findall(svg)][2:]


def without_timings(lines: list[str]) -> list[str]:
    """Return the lines with every duration and size replaced, which differ from run to run."""
    return [_TIMING.sub(r"N \1", line) for line in lines]


if __name__ == "__main__":
    main()
