"""A local server with the wire formats of OpenAI's and Anthropic's chat endpoints."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Endpoint(ThreadingHTTPServer):
    """Answers with `text`; `failures` are (status, headers) to answer first, in order."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[dict[str, object]] = []
        self.paths: list[str] = []
        self.keys: list[str | None] = []
        self.failures: list[tuple[int, dict[str, str]]] = []
        self.delay = 0.0
        self.misbehave: Callable[[BaseHTTPRequestHandler], None] | None = None
        """Called in place of an answer, with the handler of the request."""
        self.text: str | None = "fine"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(request)
        self.server.paths.append(self.path)
        self.server.keys.append(self.headers["Authorization"] or self.headers["x-api-key"])
        time.sleep(self.server.delay)
        if self.server.misbehave is not None:
            with suppress(OSError):  # a client that did not wait
                self.server.misbehave(self)
        elif self.server.failures:
            status, headers = self.server.failures.pop(0)
            self._respond(status, {"type": "error", "error": {"type": "x", "message": "not today"}}, headers)
        else:
            text = self.server.text
            body = (
                _openai_response(request, text)
                if self.path.endswith("/chat/completions")
                else _anthropic_response(request, text)
            )
            self._respond(200, body, {})

    def _respond(self, status: int, body: object, headers: dict[str, str]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        with suppress(BrokenPipeError, ConnectionResetError):  # a client that did not wait
            self.end_headers()
            self.wfile.write(content)

    def log_message(self, *args: object) -> None:
        pass


def _openai_response(request: dict[str, object], text: str | None) -> dict[str, object]:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    usage = {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14}
    head = {"id": "c1", "object": "chat.completion", "created": 1, "model": request["model"]}
    return {**head, "choices": [choice], "usage": usage}


def _anthropic_response(request: dict[str, object], text: str | None) -> dict[str, object]:
    head = {"id": "m1", "type": "message", "role": "assistant", "model": request["model"]}
    content = [{"type": "text", "text": text}] if text is not None else []
    stop = {"stop_reason": "end_turn", "stop_sequence": None}
    return {**head, "content": content, **stop, "usage": {"input_tokens": 12, "output_tokens": 4}}


@contextmanager
def run_endpoint() -> Iterator[Endpoint]:
    with Endpoint() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()
