from __future__ import annotations

import pytest

from memoranda.errors import ExtractionFailed, InvalidInput
from memoranda.llm.base import MeteredLLM
from memoranda.llm.scripted import ScriptedLLM
from memoranda.llm.structured import ask_for_json, expect_list, expect_number, expect_object, expect_text, find_json
from memoranda.types import JSON


def read(answer: JSON) -> str:
    return expect_text(expect_object(answer, "the answer").get("name"), "name")


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "Ana"}',
        'Sure! Here it is:\n```json\n{"name": "Ana"}\n```\nDone.',
        'So {that} is {"name": "Ana"} then.',
    ],
)
def test_json_is_found_among_other_words(text: str) -> None:
    assert find_json(text) == {"name": "Ana"}


@pytest.mark.parametrize("text", ["", "no json", "[1, 2", "{" * 5_000])
def test_no_json_is_said_to_be_none(text: str) -> None:
    with pytest.raises(InvalidInput, match="no JSON"):
        find_json(text)


def test_a_bad_answer_is_sent_back_once_with_what_is_wrong() -> None:
    llm = ScriptedLLM(['{"name": 3}', '{"name": "Ana"}'])
    assert ask_for_json(llm, "Who?", read, max_tokens=20) == "Ana"
    assert "name must be a text, not int" in llm.prompts[1]
    assert '{"name": 3}' in llm.prompts[1]
    assert "Who?" in llm.prompts[1]


def test_two_bad_answers_are_a_failure_with_the_text() -> None:
    meter = MeteredLLM(ScriptedLLM(["nothing", "nothing more"]))
    with pytest.raises(ExtractionFailed, match="no JSON") as failure:
        ask_for_json(meter, "Who?", read, max_tokens=20)
    assert failure.value.text == "nothing more"
    assert meter.usage.calls == 2


def test_what_a_model_does_not_count_is_estimated() -> None:
    meter = MeteredLLM(ScriptedLLM(["four"]))
    meter.complete("12345678", max_tokens=5)
    assert meter.usage.estimated
    assert (meter.usage.calls, meter.usage.input_tokens, meter.usage.output_tokens) == (1, 2, 1)


def test_values_are_checked_with_their_place_in_the_message() -> None:
    with pytest.raises(InvalidInput, match="items must be a list, not a text"):
        expect_list("x", "items")
    with pytest.raises(InvalidInput, match="score must be a number from 0 to 1"):
        expect_number(True, "score", minimum=0, maximum=1)
    with pytest.raises(InvalidInput, match="note must be a text, not an empty text"):
        expect_text("  ", "note")
    assert expect_number(1, "score", minimum=0, maximum=1) == 1.0
