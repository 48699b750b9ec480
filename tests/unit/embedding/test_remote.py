from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

pytest.importorskip("openai")

from memoranda.embedding.model import EmbeddingModel
from memoranda.embedding.remote import OpenAIEmbedder
from memoranda.embedding.static import StaticEmbedder
from memoranda.errors import Incompatible, InvalidInput, Unavailable
from memoranda.testing.embedder import EmbedderContract


def vector(text: str, size: int = 8) -> list[float]:
    return [float(ord(text[place % len(text)]) + place) for place in range(size)]


class Endpoint(ThreadingHTTPServer):
    """Speaks POST /embeddings as OpenAI does; `broken` is (status, headers) to answer instead."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.vector: Callable[[str], list[float]] = vector
        self.requests: list[list[str]] = []
        self.keys: set[str | None] = set()
        self.broken: tuple[int, dict[str, str]] | None = None
        self.short = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.keys.add(self.headers["Authorization"])
        if self.server.broken:
            status, headers = self.server.broken
            return self._answer(status, {"error": {"message": "not today"}}, headers)
        self.server.requests.append(asked["input"])
        vectors = map(self.server.vector, asked["input"])
        data = [{"object": "embedding", "index": n, "embedding": row} for n, row in enumerate(vectors)]
        # Backwards, since the order of an answer is told by its index.
        data = data[::-1][: 1 if self.server.short else None]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return self._answer(200, {"object": "list", "model": asked["model"], "data": data, "usage": usage}, {})

    def _answer(self, status: int, body: object, headers: dict[str, str]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def embedder(endpoint: Endpoint) -> Iterator[OpenAIEmbedder]:
    made = OpenAIEmbedder("some-model", base_url=endpoint.url, api_key="secret", batch_size=3, max_retries=0)
    yield made
    made.close()


class TestARealModelBehindTheEndpoint(EmbedderContract):
    @pytest.fixture
    def embedder(self, endpoint: Endpoint) -> Iterator[OpenAIEmbedder]:
        model = StaticEmbedder()
        endpoint.vector = lambda text: model.embed([text], kind="passage")[0].tolist()
        made = OpenAIEmbedder("static", base_url=endpoint.url, api_key="secret", batch_size=4, max_retries=0)
        yield made
        made.close()


def test_rows_are_the_endpoints_vectors_at_length_one_in_order(endpoint: Endpoint, embedder: OpenAIEmbedder) -> None:
    texts = [f"text {number}" for number in range(7)]
    expected = np.array([vector(text) for text in texts])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(embedder.embed(texts, kind="passage"), expected, atol=1e-6)
    assert endpoint.requests == [["dimension"], texts[:3], texts[3:6], texts[6:]]
    assert endpoint.keys == {"Bearer secret"}


def test_the_dimension_is_learned_once(endpoint: Endpoint, embedder: OpenAIEmbedder) -> None:
    assert embedder.identity.dimension == embedder.identity.dimension == 8
    assert endpoint.requests == [["dimension"]]
    assert str(embedder.identity) == "openai:some-model (8 dimensions)"


def test_a_dimension_given_or_known_is_not_asked_for(endpoint: Endpoint) -> None:
    assert OpenAIEmbedder("m", base_url=endpoint.url, api_key="k", dimension=5).identity.dimension == 5
    assert OpenAIEmbedder("text-embedding-3-small", api_key="k").identity.dimension == 1536
    assert endpoint.requests == []


def test_a_wrong_dimension_and_a_short_answer_are_incompatible(endpoint: Endpoint, embedder: OpenAIEmbedder) -> None:
    wrong = OpenAIEmbedder("m", base_url=endpoint.url, api_key="k", dimension=5)
    with pytest.raises(Incompatible, match="8 numbers where 5"):
        wrong.embed(["text"], kind="query")
    wrong.close()
    embedder.embed(["text"], kind="query")
    endpoint.short = True
    with pytest.raises(Incompatible, match="1 vectors for 2 texts"):
        embedder.embed(["one", "two"], kind="query")


@pytest.mark.parametrize(
    ("status", "headers", "wait"),
    [(429, {"retry-after": "7"}, 7.0), (503, {}, None), (500, {"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, None)],
)
def test_a_busy_endpoint_is_unavailable(
    endpoint: Endpoint, embedder: OpenAIEmbedder, status: int, headers: dict[str, str], wait: float | None
) -> None:
    endpoint.broken = status, headers
    with pytest.raises(Unavailable, match="not today") as caught:
        embedder.embed(["text"], kind="query")
    assert caught.value.retry_after == wait


@pytest.mark.parametrize("status", [400, 401, 404])
def test_a_refusal_says_to_change_the_call(endpoint: Endpoint, embedder: OpenAIEmbedder, status: int) -> None:
    endpoint.broken = status, {}
    with pytest.raises(InvalidInput, match=str(status)) as caught:
        embedder.embed(["text"], kind="query")
    assert "secret" not in str(caught.value)


def test_an_endpoint_that_is_not_there_is_unavailable() -> None:
    gone = OpenAIEmbedder("m", base_url="http://127.0.0.1:9/v1", api_key="k", max_retries=0, dimension=3)
    with pytest.raises(Unavailable, match="cannot be reached"):
        gone.embed(["text"], kind="query")
    gone.close()


def test_blank_text_never_leaves(endpoint: Endpoint, embedder: OpenAIEmbedder) -> None:
    with pytest.raises(InvalidInput, match=r"texts\[1\]"):
        embedder.embed(["good", " "], kind="query")
    assert endpoint.requests == []


def test_by_name_with_the_key_and_address_of_the_environment(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "from-env")
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    model = EmbeddingModel("openai:other/model")
    assert model.encode("text").shape == (8,)
    assert endpoint.keys == {"Bearer from-env"}
    assert model.model_name == "other/model"


def test_no_key_and_no_model_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InvalidInput, match="OPENAI_API_KEY"):
        OpenAIEmbedder("m")
    with pytest.raises(InvalidInput, match="which model"):
        EmbeddingModel("openai")
