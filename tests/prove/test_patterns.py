from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from tests.prove.patterns import Compiled, attacks, is_slow
from tests.prove.run import ROOT

BUILT_FROM_NAMES = {
    "memoranda.dates.other_languages": "a word of the tables, compared with the whole of a word",
    "memoranda.integrations.pydantic_ai": "needs an extra",
    "memoranda.mcp.config_edit": "an escaped name of a setting",
    "memoranda.recall.query": "escaped names of speakers",
    "memoranda.recall.facts": "an escaped value",
    "memoranda.remember.dialogue": "escaped names of a speaker",
    "memoranda.remember.model.facts": "escaped words of a quotation",
    "memoranda.remember.screening.signs": "the words of a language",
    "memoranda.remember.reading.subjects": "a list of words",
    "memoranda.remember.updates.links": "an escaped name",
    "memoranda.security.redaction": "compiled on first use from the tables that are checked",
}
"""Modules with a call of `re` whose pattern is made where no input of this test comes to, and from what."""


@pytest.mark.timeout(1800)
def test_no_pattern_of_the_package_takes_the_square_of_a_text() -> None:
    command = [sys.executable, "-m", "tests.prove.patterns"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["patterns"] > 900
    assert {each.split(":")[0] for each in found["missed"]} <= BUILT_FROM_NAMES.keys()
    assert found["slow"] == []


@pytest.mark.parametrize(
    "pattern",
    [r"\s*(?P<n>\d+)\s*年", r"\s*,?\s*not\s+x", r'"(?:[^"\\]|\\.)*"x', r"(?:a|aa)+$", r"you .* told", r"(?:[\w.]+)+@"],
)
def test_slow_pattern_is_found(pattern: str) -> None:
    compiled = Compiled(pattern, re.compile(pattern).flags, "memoranda.x", 1)
    assert any(is_slow(compiled, attack, "search") for attack in attacks(compiled))


@pytest.mark.parametrize(
    "pattern", [r"(?<!\s)\s+and\s+", r"\s{0,2}(?P<n>\d{1,3})年", r'"[^"\n]{0,200}"', r"\w+", r"(?<!a)a*+b"]
)
def test_linear_pattern_is_not(pattern: str) -> None:
    compiled = Compiled(pattern, re.compile(pattern).flags, "memoranda.x", 1)
    assert not [attack for attack in attacks(compiled) if is_slow(compiled, attack, "search")]


def test_pattern_that_only_a_whole_match_makes_slow_is_found() -> None:
    pattern = r"(?:(?:good|fine|you(?: [a-z]+)*)(?: |$))+"
    compiled = Compiled(pattern, re.compile(pattern).flags, "memoranda.x", 1)
    assert any(is_slow(compiled, attack, "fullmatch") for attack in attacks(compiled))
    assert not any(is_slow(compiled, attack, "match") for attack in attacks(compiled))
