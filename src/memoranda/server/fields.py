"""The types of the fields in requests, with their limits."""

from __future__ import annotations

import re
from functools import partial
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from memoranda.items.base import MAX_LABEL
from memoranda.results.maintenance import PolicyName
from memoranda.text.checks import MAX_TEXT, replace_unstorable
from memoranda.validation import MAX_CHOICES, MAX_ID, MAX_LIMIT, MAX_NAME, MAX_TTL

_NUMBER: Final = re.compile(r"[-+]?[0-9]{1,40}(\.[0-9]{0,40})?([eE][-+]?[0-9]{1,3})?")


def _check_number(kind: Literal["int_parsing", "float_parsing"], value: object) -> object:
    """Refuse a text that pydantic reads as a number and JSON does not: with blanks around it, or with `_` in it."""
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        raise PydanticCustomError(kind, "Input should be a number")
    return value


# After the limits of a number, so that they are the limits of its JSON schema.
WHOLE: Final = BeforeValidator(partial(_check_number, "int_parsing"))
REAL: Final = BeforeValidator(partial(_check_number, "float_parsing"))

MAX_ITEMS = 1000
"""Texts, messages or ids in one call."""
MAX_SETTINGS = 100
# Pydantic would refuse half of a character; the manager replaces it.
_STORABLE = BeforeValidator(lambda text: replace_unstorable(text) if isinstance(text, str) else text)
Text: TypeAlias = Annotated[str, _STORABLE, Field(min_length=1, max_length=MAX_TEXT)]
Query: TypeAlias = Annotated[str, _STORABLE, Field(max_length=MAX_TEXT)]
"""A question; one without a word finds nothing."""
MAX_NUMBERS = 65_536
"""Numbers in a vector."""
Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
Slot: TypeAlias = Annotated[str, Field(min_length=1, max_length=2 * MAX_NAME, examples=["ana/city"])]
"""The name of a slot: subject/attribute."""
Moment: TypeAlias = Annotated[str, Field(max_length=64, examples=["2026-03-01T12:00:00+00:00"])]
MemoryId: TypeAlias = Annotated[int, Field(ge=1, le=MAX_ID), WHOLE]
UnitInterval: TypeAlias = Annotated[float, Field(ge=0, le=1), REAL]
Limit: TypeAlias = Annotated[int, Field(ge=1, le=MAX_LIMIT), WHOLE]
Offset: TypeAlias = Annotated[int, Field(ge=0, le=MAX_ID), WHOLE]
Ttl: TypeAlias = Annotated[float, Field(gt=0, le=MAX_TTL), REAL]
Label: TypeAlias = Annotated[str, Field(min_length=1, max_length=MAX_LABEL)]
"""A key of an item, or one name of its namespace."""
Labels: TypeAlias = Annotated[list[Label], Field(max_length=MAX_ITEMS, fail_fast=True)]
TokenCount: TypeAlias = Annotated[int, Field(ge=1, le=1_000_000), WHOLE]
Metadata: TypeAlias = dict[str, Any]
TypeName: TypeAlias = Literal[
    "short_term", "working", "long_term", "episodic", "semantic", "procedural", "reflection", "shared"
]
Policies: TypeAlias = Annotated[list[PolicyName], Field(max_length=MAX_ITEMS, fail_fast=True)]
TypeNames: TypeAlias = Annotated[list[TypeName], Field(max_length=MAX_ITEMS, fail_fast=True)]
Names: TypeAlias = Annotated[list[Name], Field(max_length=MAX_CHOICES, fail_fast=True)]
SettingValue: TypeAlias = bool | Annotated[int, Field(ge=0, le=10**9)] | Annotated[float, Field(ge=0, le=1e9)]
ValueType: TypeAlias = Literal["short_term", "long_term"]
Role: TypeAlias = Literal["system", "user", "assistant", "tool", "developer"]
Mode: TypeAlias = Literal["fast", "default", "best"]


def _refuse_many(settings: Any) -> Any:
    # Before the values are looked at: the errors of a dict have no limit.
    if isinstance(settings, dict) and len(settings) > MAX_SETTINGS:
        raise PydanticCustomError("too_long", "there are no more than {limit} settings", {"limit": MAX_SETTINGS})
    return settings


Settings: TypeAlias = Annotated[dict[Name, SettingValue], BeforeValidator(_refuse_many)]
