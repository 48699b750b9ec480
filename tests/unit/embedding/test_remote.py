from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

pytest.importorskip("openai")

from memoranda.embedding.local import StaticEmbedder
from memoranda.embedding.model import EmbeddingModel
from memoranda.embedding.remote import OpenAIEmbedder
from memoranda.errors import Incompatible, InvalidInput, Unavailable
from memoranda.testing.contracts import EmbedderContract


def make_vector(text: str, size: int = 8) -> list[float]:
    return [float(ord(text[index % len(text)]) + index) for index in range(size)]


class Endpoint(ThreadingHTTPServer):
    """Answers POST /embeddings as OpenAI does, or with the (status, headers) in `failure`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.vector: Callable[[str], list[float]] = make_vector
        self.requests: list[list[str]] = []
        self.keys: set[str | None] = set()
        self.failure: tuple[int, dict[str, str]] | None = None
        self.truncate = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.keys.add(self.headers["Authorization"])
        if self.server.failure:
            status, headers = self.server.failure
            return self._respond(status, {"error": {"message": "not today"}}, headers)
        self.server.requests.append(request["input"])
        vectors = map(self.server.vector, request["input"])
        data = [{"object": "embedding", "index": n, "embedding": row} for n, row in enumerate(vectors)]
        # Reversed, because clients must order the vectors by their index.
        data = data[::-1][: 1 if self.server.truncate else None]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return self._respond(200, {"object": "list", "model": request["model"], "data": data, "usage": usage}, {})

    def _respond(self, status: int, body: object, headers: dict[str, str]) -> None:
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
    embedder = OpenAIEmbedder("some-model", base_url=endpoint.url, api_key="secret", batch_size=3, max_retries=0)
    yield embedder
    embedder.close()


class TestRemoteStaticModel(EmbedderContract):
    @pytest.fixture
    def embedder(self, endpoint: Endpoint) -> Iterator[OpenAIEmbedder]:
        model = StaticEmbedder()
        endpoint.vector = lambda text: model.embed([text], kind="passage")[0].tolist()
        embedder = OpenAIEmbedder("static", base_url=endpoint.url, api_key="secret", batch_size=4, max_retries=0)
        yield embedder
        embedder.close()


def test_embed_returns_the_endpoints_vectors_normalized_in_order(endpoint: Endpoint, embedder: OpenAIEmbedder) -> None:
    texts = [f"text {number}" for number in range(7)]
    expected = np.array([make_vector(text) for text in texts])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(embedder.embed(texts, kind="passage"), expected, atol=1e-6)
    assert endpoint.requests == [["dimension"], texts[:3], texts[3:6], texts[6:]]
    assert endpoint.keys == {"Bearer secret"}


def test_unknown_dimension_is_requested_once(endpoint: Endpoint, embedder: OpenAIEmbedder) -> None:
    assert embedder.identity.dimension == embedder.identity.dimension == 8
    assert endpoint.requests == [["dimension"]]
    assert str(embedder.identity) == "openai:some-model (8 dimensions)"


def test_known_dimension_is_not_requested(endpoint: Endpoint) -> None:
    assert OpenAIEmbedder("m", base_url=endpoint.url, api_key="k", dimension=5).identity.dimension == 5
    assert OpenAIEmbedder("text-embedding-3-small", api_key="k").identity.dimension == 1536
    assert endpoint.requests == []


def test_wrong_dimension_and_missing_vectors_are_incompatible(endpoint: Endpoint, embedder: OpenAIEmbedder) -> None:
    wrong = OpenAIEmbedder("m", base_url=endpoint.url, api_key="k", dimension=5)
    with pytest.raises(Incompatible, match="8 numbers where 5"):
        wrong.embed(["text"], kind="query")
    wrong.close()
    embedder.embed(["text"], kind="query")
    endpoint.truncate = True
    with pytest.raises(Incompatible, match="1 vectors for 2 texts"):
        embedder.embed(["one", "two"], kind="query")


@pytest.mark.parametrize(
    ("status", "headers", "wait"),
    [(429, {"retry-after": "7"}, 7.0), (503, {}, None), (500, {"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, None)],
)
def test_busy_endpoint_is_unavailable(
    endpoint: Endpoint, embedder: OpenAIEmbedder, status: int, headers: dict[str, str], wait: float | None
) -> None:
    endpoint.failure = status, headers
    with pytest.raises(Unavailable, match="not today") as caught:
        embedder.embed(["text"], kind="query")
    assert caught.value.retry_after == wait


@pytest.mark.parametrize("status", [400, 401, 404])
def test_refused_request_is_invalid_input(endpoint: Endpoint, embedder: OpenAIEmbedder, status: int) -> None:
    endpoint.failure = status, {}
    with pytest.raises(InvalidInput, match=str(status)) as caught:
        embedder.embed(["text"], kind="query")
    assert "secret" not in str(caught.value)


def test_unreachable_endpoint_is_unavailable() -> None:
    gone = OpenAIEmbedder("m", base_url="http://127.0.0.1:9/v1", api_key="k", max_retries=0, dimension=3)
    with pytest.raises(Unavailable, match="cannot be reached"):
        gone.embed(["text"], kind="query")
    gone.close()


def test_blank_text_is_not_sent(endpoint: Endpoint, embedder: OpenAIEmbedder) -> None:
    with pytest.raises(InvalidInput, match=r"texts\[1\]"):
        embedder.embed(["good", " "], kind="query")
    assert endpoint.requests == []


def test_key_and_address_come_from_the_environment(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "from-env")
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    model = EmbeddingModel("openai:other/model")
    assert model.encode("text").shape == (8,)
    assert endpoint.keys == {"Bearer from-env"}
    assert model.model_name == "other/model"


def test_missing_key_or_model_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InvalidInput, match="OPENAI_API_KEY"):
        OpenAIEmbedder("m")
    with pytest.raises(InvalidInput, match="which model"):
        EmbeddingModel("openai")
