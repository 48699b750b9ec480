from __future__ import annotations

import time

import pytest

from memoranda.errors import ExtractionFailed, InvalidInput, Unavailable
from memoranda.llm.base import MeteredLLM
from memoranda.llm.scripted import ScriptedLLM
from memoranda.llm.structured import (
    ask_for_items,
    expect_number,
    expect_object,
    expect_text,
    find_items,
    refuse_page,
)
from memoranda.types import JSON


def parse_name(answer: JSON) -> str:
    return expect_text(expect_object(answer, "the answer").get("name"), "name")


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "Ana"}',
        'Sure! Here it is:\n```json\n{"name": "Ana"}\n```\nDone.',
        'So {that} is {"name": "Ana"} then.',
    ],
)
def test_json_is_found_in_other_text(text: str) -> None:
    assert find_items(text) == ([{"name": "Ana"}], None)


def test_unusable_answer_is_sent_back_once_with_the_problem() -> None:
    llm = ScriptedLLM(['{"name": 3}', '{"name": "Ana"}'])
    answer = ask_for_items(llm, "Who?", {}, lambda item, _: parse_name(item), max_tokens=20)
    assert answer.items == ("Ana",)
    assert "name must be a text, not int" in llm.prompts[1]
    assert '{"name": 3}' in llm.prompts[1]
    assert "Who?" in llm.prompts[1]


def test_second_unusable_answer_fails_with_its_text() -> None:
    meter = MeteredLLM(ScriptedLLM(["nothing", "nothing more"]))
    answer = ask_for_items(meter, "Who?", {}, lambda item, _: parse_name(item), max_tokens=20)
    assert answer.items == ()
    assert isinstance(answer.failure, ExtractionFailed)
    assert answer.failure.text == "nothing more"
    assert meter.usage.calls == 2


def test_tokens_are_estimated_for_a_model_that_does_not_count() -> None:
    meter = MeteredLLM(ScriptedLLM(["four"]))
    meter.complete("one two three", max_tokens=5)
    assert meter.usage.estimated
    assert (meter.usage.calls, meter.usage.input_tokens, meter.usage.output_tokens) == (1, 3, 1)


def test_value_errors_name_the_field() -> None:
    with pytest.raises(InvalidInput, match="score must be a number from 0 to 1"):
        expect_number(True, "score", minimum=0, maximum=1)
    with pytest.raises(InvalidInput, match="note must be a text, not an empty text"):
        expect_text("  ", "note")
    assert expect_number(1, "score", minimum=0, maximum=1) == 1.0


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ('[{"a": 1}, {"a": 2}]', [{"a": 1}, {"a": 2}]),
        ('{"items": [{"a": 1}]}', [{"a": 1}]),
        ('{"items": []}', []),
        ("[]", []),
        ('{"a": 1}', [{"a": 1}]),
        ('Of [1] and {that}: ```json\n[{"a": [3]}]\n```', [{"a": [3]}]),
    ],
)
def test_items_are_found_in_every_form_that_models_use(text: str, items: list[JSON]) -> None:
    assert find_items(text) == (items, None)


@pytest.mark.parametrize(
    "text",
    ['[{"a": 1}, {"a": ', '{"items": [{"a": 1}, {"b', '```json\n{"items": [{"a": 1},', '[{"a": 1}, {"a": 2}}, '],
)
def test_whole_items_of_a_list_that_is_cut_off_are_found(text: str) -> None:
    items, problem = find_items(text)
    assert items[0] == {"a": 1}
    assert problem == "it is cut off"


@pytest.mark.parametrize("text", ["", "nothing", "{}", "[1, 2]", "[1, 2", "{" * 5_000, "[" * 100_000, '{"a' * 3_000])
def test_text_without_items_has_a_problem(text: str) -> None:
    try:
        items, problem = find_items(text)
    except InvalidInput as error:
        items, problem = [], str(error)
    assert items == []
    assert problem


def test_items_of_the_first_answer_stay_when_the_correction_fails() -> None:
    llm = ScriptedLLM(['[{"name": "Ana"}, {"name": 3}]'])
    answer = ask_for_items(llm, "Who?", {}, lambda item, _: parse_name(item), max_tokens=50)
    assert answer.items == ("Ana",)
    assert isinstance(answer.failure, Unavailable)


def test_unclosed_block_of_blanks_takes_no_longer_than_its_length() -> None:
    started = time.thread_time()
    with pytest.raises(InvalidInput):
        find_items("```json" + " " * 100_000)
    assert time.thread_time() - started < 1


@pytest.mark.parametrize("junk", ['"junk"', "null", "7", "[]"])
def test_items_beside_one_that_is_no_object_are_kept_and_it_is_named(junk: str) -> None:
    llm = ScriptedLLM([f'[{{"name": "Ana"}}, {junk}]'] * 2)
    answer = ask_for_items(llm, "Who?", {}, lambda item, n: (parse_name(item), n), max_tokens=20)
    assert answer.items == (("Ana", 1),)
    assert "must be an object" in str(answer.failure)


@pytest.mark.parametrize("page", ["<!DOCTYPE html><html></html>", "\n<HTML lang='en'>", "<?xml version='1.0'?><html>"])
def test_page_of_html_is_called_so(page: str) -> None:
    with pytest.raises(InvalidInput, match="a page of HTML, not JSON"):
        find_items(page)
    with pytest.raises(ExtractionFailed, match="the endpoint of m answered a page of HTML, not JSON"):
        refuse_page(page, "m")
    refuse_page(object(), "m")
