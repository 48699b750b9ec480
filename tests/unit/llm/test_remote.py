from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import TypeAlias

import pytest

pytest.importorskip("openai")
pytest.importorskip("anthropic")

from memoranda.errors import InvalidInput, Unavailable
from memoranda.llm.anthropic import AnthropicLLM
from memoranda.llm.base import LLM, CountingLLM, MeteredLLM
from memoranda.llm.openai import OpenAILLM
from memoranda.llm.retrying import Retries
from tests.unit.llm.endpoint import Endpoint, running

Remote: TypeAlias = OpenAILLM | AnthropicLLM
Make: TypeAlias = Callable[..., Remote]


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with running() as server:
        yield server


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture(params=["openai", "anthropic"])
def make(request: pytest.FixtureRequest, endpoint: Endpoint, waits: list[float]) -> Iterator[Make]:
    made: list[Remote] = []

    def opened(*, times: int = 2, timeout: float = 10.0) -> Remote:
        retries = Retries(times, rng=random.Random(1), sleep=waits.append)
        options = {"api_key": "secret", "timeout": timeout, "retries": retries}
        if request.param == "openai":
            made.append(OpenAILLM("some-model", base_url=f"{endpoint.url}/v1", **options))
        else:
            made.append(AnthropicLLM("some-model", base_url=endpoint.url, **options))
        return made[-1]

    yield opened
    for llm in made:
        llm.close()
        llm.close()


def test_it_asks_as_the_vendor_expects_and_says_what_it_cost(make: Make, endpoint: Endpoint) -> None:
    llm: LLM = make()
    assert isinstance(llm, CountingLLM)
    answer = llm.generate("How are you?", max_tokens=20)
    assert (answer.text, answer.attempts) == ("fine", 1)
    assert (answer.input_tokens, answer.output_tokens) in ((11, 3), (12, 4))
    assert llm.complete("Again?", max_tokens=20) == "fine"
    asked = endpoint.requests[0]
    assert (asked["model"], asked["max_tokens"]) == ("some-model", 20)
    assert asked["messages"] == [{"role": "user", "content": "How are you?"}]
    assert endpoint.paths[0] in ("/v1/chat/completions", "/v1/messages")
    assert endpoint.keys[0] in ("Bearer secret", "secret")


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_model_is_asked_again_after_a_wait(
    make: Make, endpoint: Endpoint, waits: list[float], status: int
) -> None:
    endpoint.failures = [(status, {}), (status, {"retry-after": "7"})]
    meter = MeteredLLM(make())
    assert meter.complete("?", max_tokens=5) == "fine"
    assert meter.usage.calls == 3
    assert 0 <= waits[0] <= 0.5
    assert waits[1] == 7


def test_a_model_that_stays_busy_is_unavailable(make: Make, endpoint: Endpoint, waits: list[float]) -> None:
    endpoint.failures = [(503, {"retry-after": "3"})] * 3
    with pytest.raises(Unavailable, match="not today") as failure:
        make().complete("?", max_tokens=5)
    assert failure.value.retry_after == 3
    assert waits == [3, 3]


@pytest.mark.parametrize("status", [400, 401, 404])
def test_a_refused_call_is_not_tried_again(make: Make, endpoint: Endpoint, waits: list[float], status: int) -> None:
    endpoint.failures = [(status, {})]
    with pytest.raises(InvalidInput, match="not today"):
        make().complete("?", max_tokens=5)
    assert waits == []


def test_a_slow_model_times_out(make: Make, endpoint: Endpoint) -> None:
    endpoint.delay = 1.0
    with pytest.raises(Unavailable):
        make(times=0, timeout=0.1).complete("?", max_tokens=5)


def test_an_endpoint_that_is_not_there_is_unavailable() -> None:
    llm = OpenAILLM("m", base_url="http://127.0.0.1:9/v1", api_key="k", retries=Retries(0))
    with pytest.raises(Unavailable, match="cannot be reached"):
        llm.complete("?", max_tokens=5)
    llm.close()


def test_an_answer_without_text_is_empty(make: Make, endpoint: Endpoint) -> None:
    endpoint.text = None
    assert make().complete("?", max_tokens=5) == ""


def test_a_key_and_a_model_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(InvalidInput, match="OPENAI_API_KEY"):
        OpenAILLM("m")
    with pytest.raises(InvalidInput, match="ANTHROPIC_API_KEY"):
        AnthropicLLM("m")
    with pytest.raises(InvalidInput, match="which model"):
        OpenAILLM("", api_key="k")
    with pytest.raises(InvalidInput, match="which model"):
        AnthropicLLM("", api_key="k")
