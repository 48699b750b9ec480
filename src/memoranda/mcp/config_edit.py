"""Change one entry of a client's configuration file and leave every other character as it is. Pure.

Clients keep their servers in JSON, often with comments, or in TOML. A file is never written out anew from its values:
that would drop comments. The new text is read again, and must differ from the old one in this entry only.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from memoranda.errors import InvalidInput

Entry: TypeAlias = Mapping[str, Any]
_SPACE: Final = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.S)
_BY_HAND: Final = "the file is written in a way that cannot be changed safely: edit it by hand"
_LINE_REST: Final = re.compile(r"[ \t]*(?:/\*[^\n]*?\*/[ \t]*)*(?://[^\n]*)?")
"""What may follow a value on its line: spaces and comments."""


def edit_json(text: str, section: str, name: str, entry: Entry | None) -> str:
    """Return the text with this entry in the section of servers; without the entry when it is None.

    Args:
        text: A JSON object; comments and commas before a closing bracket are allowed.
        section: The key of the object that holds the servers.
        name: The key of the server in it.
        entry: Its values. Others that it has already, such as its environment, stay.
    """
    if not text.strip("\ufeff \t\r\n"):
        return "" if entry is None else json.dumps({section: {name: dict(entry)}}, indent=2, ensure_ascii=False) + "\n"
    root = _parse(text)
    before = root.value
    servers = root.members.get(section)
    if servers is not None and not isinstance(servers, _Object):
        raise InvalidInput(f"{section!r} is not an object: correct it by hand")
    existing = servers.members.get(name) if servers is not None else None
    merged = None if entry is None else merge_entry(before.get(section, {}).get(name), entry)
    if merged is None:
        changed = text if servers is None or existing is None else _remove(text, servers, name)
    elif servers is None:
        changed = _insert(text, root, section, {name: merged})
    elif existing is None:
        changed = _insert(text, servers, name, merged)
    elif existing.value == merged:
        changed = text
    else:
        indent = _line_indent(text, existing.start)
        changed = text[: existing.start] + _dump(merged, indent, _indent_unit(text), text) + text[existing.end :]
    _check_only(before, _parse(changed).value, section, name, merged)
    return changed


def merge_entry(existing: object, entry: Entry) -> dict[str, Any]:
    """Return the entry with the other values that it has already."""
    if existing is None:
        return dict(entry)
    if not isinstance(existing, dict) or not existing.keys().isdisjoint(("url", "httpUrl", "serverUrl")):
        raise InvalidInput("an entry of this name exists for a server elsewhere: choose another with --name")
    return {**existing, **entry}


def _check_only(before: Entry, after: Entry, section: str, name: str, entry: Entry | None) -> None:
    """Refuse a change of anything but the entry: better no change than a broken file."""
    expected = {key: value for key, value in before.items() if key != section}
    servers = {key: value for key, value in before.get(section, {}).items() if key != name}
    if entry is not None:
        servers[name] = entry
    found = {key: value for key, value in after.items() if key != section}
    if found != expected or after.get(section, {}) != servers:
        raise InvalidInput(_BY_HAND)


@dataclass(slots=True)
class _Node:
    """A value of the file and where it stands."""

    start: int
    end: int
    value: Any = None


@dataclass(slots=True)
class _Object(_Node):
    members: dict[str, _Node] = field(default_factory=dict)
    starts: dict[str, int] = field(default_factory=dict)
    """Where the key of each member starts."""


def _parse(text: str) -> _Object:
    try:
        start = _skip(text, 1 if text.startswith("\ufeff") else 0)
        root = _parse_value(text, start)
        if _skip(text, root.end) != len(text):
            raise _Damaged("something follows the end of the object", root.end)
    except (_Damaged, json.JSONDecodeError, RecursionError) as error:
        line = text.count("\n", 0, getattr(error, "pos", 0)) + 1
        raise InvalidInput(f"it is not valid JSON, line {line}: {getattr(error, 'msg', error)}") from error
    if not isinstance(root, _Object):
        raise InvalidInput("it is not a JSON object")
    return root


class _Damaged(Exception):
    def __init__(self, msg: str, pos: int) -> None:
        super().__init__(msg)
        self.msg, self.pos = msg, pos


def _skip(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position


def _parse_value(text: str, start: int) -> _Node:
    if text.startswith("{", start):
        return _parse_object(text, start)
    if text.startswith("[", start):
        return _parse_array(text, start)
    try:
        value, end = json.JSONDecoder(strict=False).raw_decode(text, start)
    except StopIteration as error:
        raise _Damaged("a value is missing", start) from error
    return _Node(start, end, value)


def _parse_object(text: str, start: int) -> _Object:
    found = _Object(start, start, {})
    for position in _parts(text, found, "}"):
        key = _parse_value(text, position)
        if not isinstance(key.value, str):
            raise _Damaged("a key is not a text in quotes", position)
        colon = _skip(text, key.end)
        if not text.startswith(":", colon):
            raise _Damaged("a colon is missing", colon)
        member = _parse_value(text, _skip(text, colon + 1))
        found.value[key.value], found.members[key.value], found.starts[key.value] = member.value, member, position
        found.end = member.end
    return found


def _parse_array(text: str, start: int) -> _Node:
    found = _Node(start, start, [])
    for position in _parts(text, found, "]"):
        item = _parse_value(text, position)
        found.value.append(item.value)
        found.end = item.end
    return found


def _parts(text: str, node: _Node, closing: str) -> Iterator[int]:
    """Yield where each part of an object or array starts; the caller moves `node.end` behind it."""
    position = _skip(text, node.start + 1)
    while not text.startswith(closing, position):
        if position >= len(text):
            raise _Damaged(f"a {closing} is missing", position)
        yield position
        position = _skip(text, node.end)
        if text.startswith(",", position):
            position = _skip(text, position + 1)
        elif not text.startswith(closing, position):
            raise _Damaged(f"a comma or {closing} is missing", position)
    node.end = position + 1


def _insert(text: str, parent: _Object, key: str, value: object) -> str:
    """Add a member at the end of an object, after the comment on the line of the last one."""
    unit = _indent_unit(text)
    if not parent.members:
        outer = _line_indent(text, parent.start)
        member = _member(text, key, value, outer + unit)
        # What stands inside can only be a comment: it stays, above the new member.
        inside = text[parent.start + 1 : parent.end - 1].rstrip()
        return (
            f"{text[: parent.start]}{{{inside}{_newline(text)}{member}{_newline(text)}{outer}{text[parent.end - 1 :]}"
        )
    last = max(parent.members.values(), key=lambda node: node.end)
    first = min(parent.starts.values())
    own_line = not text[text.rfind("\n", 0, first) + 1 : first].strip()
    indent = _line_indent(text, first) if own_line else _line_indent(text, parent.start) + unit
    member = _newline(text) + _member(text, key, value, indent)
    comma = _skip(text, last.end)
    after = comma + 1 if text.startswith(",", comma) else last.end
    rest = _LINE_REST.match(text, after)
    place = rest.end() if rest and text.startswith(("\n", "\r"), rest.end()) else after
    separator = "" if after != last.end else ","
    tail = "" if text.startswith(("\n", "\r"), place) else _newline(text) + _line_indent(text, parent.start)
    return (
        text[: last.end]
        + separator
        + text[last.end : place]
        + member
        + tail
        + text[place:].lstrip(" \t" if tail else "")
    )


def _remove(text: str, parent: _Object, key: str) -> str:
    """Remove a member with one of the commas around it."""
    start, end = parent.starts[key], parent.members[key].end
    comma = _skip(text, end)
    if text.startswith(",", comma):
        end = comma + 1
    else:
        before = [node.end for node in parent.members.values() if node.end <= start]
        if before:
            comma = _skip(text, max(before))
            text = text[:comma] + text[comma + 1 :]
            start, end = start - 1, end - 1
    line_start = text.rfind("\n", 0, start) + 1
    rest = _LINE_REST.match(text, end)
    line_end = rest.end() if rest else end
    if not text[line_start:start].strip() and text.startswith(("\n", "\r\n"), line_end):
        return text[:line_start] + text[text.index("\n", line_end) + 1 :]
    return text[:start].rstrip(" \t") + text[end:]


def _member(text: str, key: str, value: object, indent: str) -> str:
    return f"{indent}{json.dumps(key, ensure_ascii=False)}: {_dump(value, indent, _indent_unit(text), text)}"


def _dump(value: object, indent: str, unit: str, text: str) -> str:
    lines = json.dumps(value, indent=unit, ensure_ascii=False).split("\n")
    return (_newline(text) + indent).join(lines)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _line_indent(text: str, position: int) -> str:
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _indent_unit(text: str) -> str:
    found = re.search(r"^([ \t]+)\S", text, re.M)
    return found[1] if found else "  "


def edit_toml(text: str, section: str, name: str, entry: Entry | None) -> str:
    """Return the text with this table in the table of servers; without the table when the entry is None."""
    before = _parse_toml(text)
    servers = before.get(section, {})
    if not isinstance(servers, dict):
        raise InvalidInput(f"{section!r} is not a table: correct it by hand")
    merged = None if entry is None else merge_entry(servers.get(name), entry)
    if servers.get(name) == merged:
        return text
    if name not in servers:
        changed = _append_tables(text, section, {name: merged or {}}, _newline(text))
    elif _find_header(text.splitlines(keepends=True), section, name) is None:
        changed = _write_anew(text, section, name, before, merged)
    elif merged is None:
        changed = _cut_table(text, section, name, before)
    else:
        changed = _set_values(text, section, name, entry or {}, servers[name])
    if _loads(changed) is None:  # the table of servers is written on one line
        changed = _write_anew(text, section, name, before, merged)
    _check_only(before, _parse_toml(changed), section, name, merged)
    return changed


def _append_tables(text: str, section: str, tables: Entry, newline: str) -> str:
    for name, values in tables.items():
        block = "\n".join([f"[{_toml_key(section)}.{_toml_key(name)}]", *map(_toml_line, values.items())])
        gap = "" if not text.strip() else "\n" if text.endswith("\n") else "\n\n"
        text += f"{gap}{block}\n".replace("\n", newline)
    return text


def _write_anew(text: str, section: str, name: str, before: dict[str, Any], merged: Entry | None) -> str:
    """Cut an entry that is no table of its own, or the whole table of servers, and append it as tables."""
    others = {key: value for key, value in before[section].items() if key != name}
    tables: dict[str, Any] = {}
    left = _cut_lines(text, name, _leaves(before, section, others))
    if left is None:
        tables, left = others, _cut_lines(text, section, _leaves(before, section, {}))
    if left is None:
        raise InvalidInput(_BY_HAND)
    added = {} if merged is None else {name: merged}
    return _append_tables(left, section, tables | added, _newline(text))


def _leaves(before: dict[str, Any], section: str, servers: Entry) -> Callable[[dict[str, Any]], bool]:
    """Return whether a file has these servers, and everything else as it was."""
    expected = {**before, section: servers}
    return lambda found: {**found, section: found.get(section, {})} == expected


def _cut_lines(text: str, word: str, is_rest: Callable[[dict[str, Any]], bool]) -> str | None:
    """Return the text without the fewest lines from one with this word on, so that the rest is as it must be."""
    lines = text.splitlines(keepends=True)
    for start in (at for at, line in enumerate(lines) if word in line):
        for end in range(start + 1, len(lines) + 1):
            left = "".join(lines[:start] + lines[end:])
            if (found := _loads(left)) is not None and is_rest(found):
                return left
    return None


def _parse_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"it is not valid TOML: {error}") from error


def _loads(text: str) -> dict[str, Any] | None:
    try:
        return _parse_toml(text)
    except InvalidInput:
        return None


def _find_header(lines: list[str], section: str, name: str) -> int | None:
    """Return the line at which the table of an entry begins; None when it is written in another way."""
    for position, line in enumerate(lines):
        is_header = line.lstrip().startswith("[") and _loads(line.strip()) == {section: {name: {}}}
        # Inside of a long text or an array, what stands above is not complete.
        if is_header and _loads("".join(lines[:position])) is not None:
            return position
    return None


def _cut_table(text: str, section: str, name: str, before: dict[str, Any]) -> str:
    """Remove a table and those inside it, but no comment that stands above the next one."""
    lines = text.splitlines(keepends=True)
    start = _find_header(lines, section, name)
    assert start is not None
    others = {key: value for key, value in before[section].items() if key != name}
    end = _find_end(lines, start, _leaves(before, section, others))
    while end > start + 1 and end < len(lines) and lines[end - 1].lstrip().startswith("#"):
        end -= 1
    cut = lines[:start] + lines[end:]
    return "".join(cut) if end < len(lines) else "".join(cut).rstrip("\r\n") + (_newline(text) if cut else "")


def _find_end(lines: list[str], start: int, is_rest: Callable[[dict[str, Any]], bool]) -> int:
    """Return the first line after `start` so that what is left without the lines between is as it must be."""
    for end in range(start + 1, len(lines) + 1):
        left = _loads("".join(lines[:start] + lines[end:]))
        if left is not None and is_rest(left):
            break
    else:
        raise InvalidInput(_BY_HAND)
    # Blank lines after it belong to it; they separated it from what follows.
    while end < len(lines) and not lines[end].strip():
        end += 1
    return end


def _set_values(text: str, section: str, name: str, values: Entry, existing: Entry) -> str:
    """Replace the values of a table that differ, and add those that it lacks below its header."""
    lines = text.splitlines(keepends=True)
    for key, value in values.items():
        if existing.get(key) == value:
            continue
        header = _find_header(lines, section, name)
        assert header is not None
        place = header + 1
        if key in existing:
            place = _cut_value(lines, place, key)
        lines.insert(place, _toml_line((key, value)) + _newline(text))
    return "".join(lines)


def _cut_value(lines: list[str], place: int, key: str) -> int:
    """Remove the lines of a value, in place; return where they stood."""
    pattern = re.compile(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=")
    start = next((at for at in range(place, len(lines)) if pattern.match(lines[at])), None)
    if start is None:
        raise InvalidInput(f"{key!r} is written in a way that cannot be changed safely: change it by hand")
    end = start + 1
    while end < len(lines) and _loads("".join(lines[start:end])) is None:
        end += 1
    del lines[start:end]
    return start


def _toml_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key)


def _toml_line(item: tuple[str, Any]) -> str:
    return f"{_toml_key(item[0])} = {_toml_value(item[1])}"


def _toml_value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(map(_toml_line, value.items())) + " }" if value else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml_value, value))}]"
    if not isinstance(value, str | bool | int | float) or value in (math.inf, -math.inf) or value != value:
        raise InvalidInput(_BY_HAND)
    return json.dumps(value, ensure_ascii=False)  # a text, a number or a truth value is the same in TOML
