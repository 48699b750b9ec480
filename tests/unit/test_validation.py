from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.errors import Incompatible, InvalidInput, InvalidType
from memoranda.types import JSON
from memoranda.validation import MAX_BYTES, MAX_DEPTH, decode_json, encode_json, make_scope

_texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
_scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _texts
json_values = st.recursive(_scalars, lambda inner: st.lists(inner) | st.dictionaries(_texts, inner), max_leaves=20)


@given(value=json_values)
def test_decoding_an_encoded_value_returns_it(value: JSON) -> None:
    assert decode_json(encode_json(value)) == value
    assert decode_json(encode_json(value).encode()) == value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"budget": {"net": math.nan}}, r"plan\['budget'\]\['net'\] is nan"),
        ({"steps": [1, {2, 3}]}, r"plan\['steps'\]\[1\] is a set"),
        ({"steps": {1: "one"}}, r"plan\['steps'\] has the key 1, a int"),
        ("x" * (MAX_BYTES + 1), "plan takes 1,000,003 bytes"),
        (10**5000, "cannot be written as JSON"),
    ],
    ids=["nan", "set", "key", "size", "digits"],
)
def test_encoding_error_names_the_wrong_part(value: JSON, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        encode_json(value, "plan")


@pytest.mark.parametrize("text", ["lone \ud800", "a\0b", "\udfff\0é", "\\\0"])
def test_characters_that_no_database_holds_are_escaped(text: str) -> None:
    encoded = encode_json({text: [text]})
    assert "\0" not in encoded
    assert decode_json(encoded.encode("utf-8")) == {text: [text]}


def test_size_limit_counts_bytes() -> None:
    assert encode_json("é" * (MAX_BYTES // 2 - 1))
    with pytest.raises(InvalidInput, match="bytes"):
        encode_json("é" * (MAX_BYTES // 2))


def test_nesting_is_allowed_up_to_the_limit() -> None:
    value: JSON = "bottom"
    for _ in range(MAX_DEPTH):
        value = [value]
    assert decode_json(encode_json(value)) == value
    with pytest.raises(InvalidInput, match="levels deep"):
        encode_json([value])


def test_unsupported_type_raises_invalid_type() -> None:
    with pytest.raises(InvalidType):
        encode_json(object())


@pytest.mark.parametrize("stored", ["", "{", b"\xff\xfe\xff"])
def test_decoding_damaged_text_raises_incompatible(stored: str | bytes) -> None:
    with pytest.raises(Incompatible, match="plan"):
        decode_json(stored, "plan")


def test_names_of_owners_have_at_most_512_characters() -> None:
    assert make_scope("t", agent="a" * 512, user="u" * 512, session="s" * 512).user == "u" * 512
    for name in ("agent", "user", "session"):
        with pytest.raises(InvalidInput, match=f"{name} has 513 characters; at most 512 fit: shorten it"):
            make_scope("t", **{name: "x" * 513})
