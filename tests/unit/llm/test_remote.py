from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from typing import TypeAlias

import pytest

pytest.importorskip("openai")
pytest.importorskip("anthropic")

from memoranda.errors import InvalidInput, Unavailable
from memoranda.llm.anthropic import AnthropicLLM
from memoranda.llm.base import LLM, CountingLLM, MeteredLLM, Retries
from memoranda.llm.openai import OpenAILLM
from tests.unit.llm.endpoint import Endpoint, run_endpoint

Remote: TypeAlias = OpenAILLM | AnthropicLLM
Make: TypeAlias = Callable[..., Remote]


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with run_endpoint() as server:
        yield server


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture(params=["openai", "anthropic"])
def make(request: pytest.FixtureRequest, endpoint: Endpoint, waits: list[float]) -> Iterator[Make]:
    opened: list[Remote] = []

    def open_model(*, times: int = 2, timeout: float = 10.0) -> Remote:
        retries = Retries(times, rng=random.Random(1), sleep=waits.append)
        options = {"api_key": "secret", "timeout": timeout, "retries": retries}
        if request.param == "openai":
            opened.append(OpenAILLM("some-model", base_url=f"{endpoint.url}/v1", **options))
        else:
            opened.append(AnthropicLLM("some-model", base_url=endpoint.url, **options))
        return opened[-1]

    yield open_model
    for llm in opened:
        llm.close()
        llm.close()


def test_request_has_the_vendors_format_and_tokens_are_counted(make: Make, endpoint: Endpoint) -> None:
    llm: LLM = make()
    assert isinstance(llm, CountingLLM)
    answer = llm.generate("How are you?", max_tokens=20)
    assert (answer.text, answer.attempts) == ("fine", 1)
    assert (answer.input_tokens, answer.output_tokens) in ((11, 3), (12, 4))
    assert llm.complete("Again?", max_tokens=20) == "fine"
    request = endpoint.requests[0]
    assert (request["model"], request["max_tokens"]) == ("some-model", 20)
    assert request["messages"] == [{"role": "user", "content": "How are you?"}]
    assert endpoint.paths[0] in ("/v1/chat/completions", "/v1/messages")
    assert endpoint.keys[0] in ("Bearer secret", "secret")


@pytest.mark.parametrize("status", [429, 500, 503])
def test_busy_model_is_called_again_after_a_wait(
    make: Make, endpoint: Endpoint, waits: list[float], status: int
) -> None:
    endpoint.failures = [(status, {}), (status, {"retry-after": "7"})]
    meter = MeteredLLM(make())
    assert meter.complete("?", max_tokens=5) == "fine"
    assert meter.usage.calls == 3
    assert 0 <= waits[0] <= 0.5
    assert waits[1] == 7


def test_model_that_stays_busy_is_unavailable(make: Make, endpoint: Endpoint, waits: list[float]) -> None:
    endpoint.failures = [(503, {"retry-after": "3"})] * 3
    with pytest.raises(Unavailable, match="not today") as failure:
        make().complete("?", max_tokens=5)
    assert failure.value.retry_after == 3
    assert waits == [3, 3]


@pytest.mark.parametrize("status", [400, 401, 404])
def test_refused_call_is_not_retried(make: Make, endpoint: Endpoint, waits: list[float], status: int) -> None:
    endpoint.failures = [(status, {})]
    with pytest.raises(InvalidInput, match="not today"):
        make().complete("?", max_tokens=5)
    assert waits == []


def test_slow_model_times_out(make: Make, endpoint: Endpoint) -> None:
    endpoint.delay = 1.0
    with pytest.raises(Unavailable):
        make(times=0, timeout=0.1).complete("?", max_tokens=5)


def test_all_tries_together_take_no_longer_than_the_timeout(make: Make, endpoint: Endpoint) -> None:
    endpoint.delay = 1.0
    started = time.monotonic()
    with pytest.raises(Unavailable):
        make(times=3, timeout=0.3).complete("?", max_tokens=5)
    assert time.monotonic() - started < 1.0
    assert len(endpoint.requests) == 1


def test_unreachable_endpoint_is_unavailable() -> None:
    llm = OpenAILLM("m", base_url="http://127.0.0.1:9/v1", api_key="k", retries=Retries(0))
    with pytest.raises(Unavailable, match="cannot be reached"):
        llm.complete("?", max_tokens=5)
    llm.close()


def test_answer_without_text_is_empty(make: Make, endpoint: Endpoint) -> None:
    endpoint.text = None
    assert make().complete("?", max_tokens=5) == ""


def test_missing_key_or_model_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
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
