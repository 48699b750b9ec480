from __future__ import annotations

import json
import re
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoranda.errors import InvalidInput
from memoranda.mcp.config_edit import edit_json, edit_toml

ENTRY = {"command": "/bin/memoranda", "args": ["mcp", "--user", "ann"]}
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)


def _add(text: str, entry: dict[str, object] | None = None) -> str:
    return edit_json(text, "mcpServers", "memoranda", entry or ENTRY)


def _remove(text: str) -> str:
    return edit_json(text, "mcpServers", "memoranda", None)


WRITTEN_BY_HAND = [
    "{}",
    "{ }",
    '{"mcpServers":{}}',
    '{"mcpServers": {"github": {"command": "npx", "args": ["x"]}}}',
    '{"a": 1, "mcpServers": {\n\n  }, "b": [1, 2]}\n',
    '{\n\t"theme": "dark",\n\t"mcpServers": {\n\t\t"github": {\n\t\t\t"command": "npx"\n\t\t}\n\t}\n}\n',
    '{\r\n  "mcpServers": {\r\n    "a": {}\r\n  }\r\n}\r\n',
    '{\n  // my servers\n  "mcpServers": {\n    "a": {"x": 1}, // the first\n    /* last */ "b": {} // here\n  },\n}',
    '{\n  "mcpServers": {\n    // none yet\n  }\n}\n',
    '{\n  "x": "// no comment, and \\"{\\" no object",\n  "y": "/* */"\n}\n// the end\n',
    '\ufeff{\n    "mcpServers": {\n        "a": {},\n    },\n}\n',
]


@pytest.mark.parametrize("text", WRITTEN_BY_HAND)
def test_entry_is_added_once_and_removed_and_nothing_else_changes(text: str) -> None:
    added = _add(text)
    assert '"memoranda": {' in added
    assert _add(added) == added
    assert COMMENT.findall(added) == COMMENT.findall(text)
    assert added.startswith("\ufeff") == text.startswith("\ufeff")
    assert ("\r\n" in added) == ("\r\n" in text)
    assert "\n" not in added.replace("\r\n", "") or "\r\n" not in text
    removed = _remove(added)
    assert "memoranda" not in removed
    assert COMMENT.findall(removed) == COMMENT.findall(text)
    assert _remove(removed) == removed


def test_indentation_of_the_file_is_kept() -> None:
    text = '{\n\t"mcpServers": {\n\t\t"a": {}\n\t}\n}\n'
    added = _add(text)
    assert '\n\t\t"memoranda": {\n\t\t\t"command": "/bin/memoranda",\n' in added
    assert _remove(added) == text


def test_empty_file_becomes_an_object_and_stays_empty_without_an_entry() -> None:
    assert json.loads(_add("")) == {"mcpServers": {"memoranda": ENTRY}}
    assert _remove(" \n") == ""


def test_other_values_of_the_entry_stay() -> None:
    text = '{"mcpServers": {"memoranda": {"command": "old", "env": {"A": "1"}, "disabled": true}, "z": {}}}'
    servers = json.loads(_add(text))["mcpServers"]
    assert servers == {"memoranda": {**ENTRY, "env": {"A": "1"}, "disabled": True}, "z": {}}


def test_last_of_two_equal_keys_is_the_one_that_counts() -> None:
    text = '{"mcpServers": {"memoranda": {"command": "a"}}, "mcpServers": {"b": {}}}'
    with pytest.raises(InvalidInput, match="by hand"):
        _remove('{"mcpServers": {"memoranda": {}, "memoranda": {}}}')
    assert set(json.loads(_add(text))["mcpServers"]) == {"b", "memoranda"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"mcpServers": {', "missing"),
        ('{"mcpServers": {}}}', "follows the end"),
        ('{"a": 1 "b": 2}', "comma"),
        ('{"a" 1}', "colon"),
        ("{a: 1}", "line 1"),
        ('{\n"a": tru\n}', "line 2"),
        ("[]", "not a JSON object"),
        ('{"mcpServers": []}', "not an object"),
        ('{"mcpServers": {"memoranda": {"url": "https://x"}}}', "--name"),
        ("[" * 100_000, "not valid JSON"),
        ("hello", "not valid JSON"),
    ],
)
def test_damaged_file_is_refused_with_its_reason(text: str, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        _add(text)


KEYS = st.sampled_from(["a", "b", "mcpServers", "memoranda", "x y", '"', "//", "é"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
GAPS = st.sampled_from(["", " ", "\n", "\n  ", " // note {\n", "/* , } */", "\t"])


@st.composite
def jsonc(draw: st.DrawFn, value: object) -> str:
    """Write a value with spaces, comments and last commas anywhere they may stand."""

    def write(part: object) -> str:
        if isinstance(part, dict):
            members = [f"{write(key)}{draw(GAPS)}:{draw(GAPS)}{write(item)}" for key, item in part.items()]
            return _wrap("{", members, "}")
        if isinstance(part, list):
            return _wrap("[", [write(item) for item in part], "]")
        return json.dumps(part, ensure_ascii=False)

    def _wrap(start: str, members: list[str], end: str) -> str:
        last = "," if members and draw(st.booleans()) else ""
        inner = ",".join(f"{draw(GAPS)}{member}{draw(GAPS)}" for member in members)
        return f"{start}{inner or draw(GAPS)}{last}{draw(GAPS)}{end}"

    return f"{draw(GAPS)}{write(value)}{draw(GAPS)}"


@settings(max_examples=200, deadline=None)
@given(
    data=st.data(), others=st.dictionaries(KEYS, VALUES, max_size=3), servers=st.dictionaries(KEYS, VALUES, max_size=3)
)
def test_any_written_form_keeps_its_values_and_comments(
    data: st.DataObject, others: dict[str, object], servers: dict[str, object]
) -> None:
    others.pop("mcpServers", None)
    servers.pop("memoranda", None)
    text = data.draw(jsonc({**others, "mcpServers": servers} if data.draw(st.booleans()) else others))
    added = _add(text)  # checks by itself that only the entry differs
    assert _add(added) == added
    assert sorted(_comments(added)) == sorted(_comments(text))
    assert sorted(_comments(_remove(added))) == sorted(_comments(text))


def _comments(text: str) -> list[str]:
    return COMMENT.findall(re.sub(r'"(?:[^"\\]|\\.)*"', '""', text))


WRITTEN_TOML = [
    "",
    'model = "o5"\n',
    '# mine\nmodel = "o5" # best\n\n[mcp_servers.github]\ncommand = "npx"\n\n[tools]\nweb = true\n',
    'x = """\n[mcp_servers.memoranda]\n"""\narray = [\n  [1, 2],\n]\n',
    '[mcp_servers]\n\n[mcp_servers.a]\ncommand = "x"',
    'model = "x"\r\n\r\n[a]\r\nb = 1\r\n',
]


@pytest.mark.parametrize("text", WRITTEN_TOML)
def test_table_is_added_once_and_removed_and_nothing_else_changes(text: str) -> None:
    added = edit_toml(text, "mcp_servers", "memoranda", ENTRY)
    assert tomllib.loads(added)["mcp_servers"]["memoranda"] == ENTRY
    assert added.startswith(text)
    assert edit_toml(added, "mcp_servers", "memoranda", ENTRY) == added
    assert edit_toml(added, "mcp_servers", "memoranda", None).rstrip() == text.rstrip()


def test_table_is_changed_where_it_stands() -> None:
    text = (
        '[mcp_servers.memoranda] # ours\n# why\ncommand = "old"\nargs = [\n  "a", # one\n  "b",\n]\n'
        "startup_timeout_sec = 30\n\n"
        '[mcp_servers.memoranda.env]\nA = "1"\n\n# about the next\n[tools]\nweb = true\n'
    )
    changed = edit_toml(text, "mcp_servers", "memoranda", ENTRY)
    expected = {**ENTRY, "startup_timeout_sec": 30, "env": {"A": "1"}}
    assert tomllib.loads(changed)["mcp_servers"] == {"memoranda": expected}
    assert all(comment in changed for comment in ("# ours", "# why", "# about the next"))
    removed = edit_toml(changed, "mcp_servers", "memoranda", None)
    assert removed == "# about the next\n[tools]\nweb = true\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("model = ", "not valid TOML"),
        ('mcp_servers = "x"', "not a table"),
        ("mcp_servers = { a = { since = 2026-01-01 } }", "by hand"),
        ('x = [\n1 ]\nmcp_servers.memoranda.command = "x"\ny = 1\nmcp_servers.memoranda.cwd = "/"\n', "by hand"),
        ('[mcp_servers.memoranda]\nurl = "https://x"\n', "--name"),
    ],
)
def test_toml_that_cannot_be_changed_safely_is_refused(text: str, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        edit_toml(text, "mcp_servers", "memoranda", ENTRY)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "text",
    [
        '[mcp_servers]\nmemoranda = { command = "old", env = { A = "1" } }\nother = { command = "o" }\n',
        'model = "x"\nmcp_servers = { other = { command = "o", args = ["a"] } }\n[tools]\na = 1\n',
        'mcp_servers = { memoranda = { command = "old" }, other = { command = "o", on = true } }\n',
        'mcp_servers.memoranda.command = "old"\nmcp_servers.other.command = "o"\n',
        '[mcp_servers]\nother.command = "o"\nmemoranda.command = "old"\n',
        '[mcp_servers.memoranda.env]\nA = "1"\n',
        '# keep\n[a]\nb = 1\n\n[mcp_servers.memoranda]\ncommand = "old"\n',
        "[a]\nb = 1",
    ],
)
def test_toml_is_changed_however_its_tables_are_written(text: str, newline: str) -> None:
    before = text.replace("\n", newline)
    added = edit_toml(before, "mcp_servers", "memoranda", ENTRY)
    servers = tomllib.loads(text).get("mcp_servers", {})
    assert tomllib.loads(added)["mcp_servers"]["memoranda"] == servers.get("memoranda", {}) | ENTRY
    assert edit_toml(added, "mcp_servers", "memoranda", ENTRY) == added
    removed = edit_toml(added, "mcp_servers", "memoranda", None)
    servers.pop("memoranda", None)
    assert tomllib.loads(removed).get("mcp_servers", {}) == servers
    for changed in (added, removed):
        assert newline == "\n" or "\n" not in changed.replace("\r\n", "")
        assert ("# keep" in changed) == ("# keep" in text)
