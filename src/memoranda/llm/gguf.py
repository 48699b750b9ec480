"""A model from a GGUF file, run in this process by xllamacpp, without a network or a server."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from memoranda.errors import ExtractionFailed, MissingExtra, NotFound
from memoranda.llm.base import Completion
from memoranda.types import JSON

if TYPE_CHECKING:
    import xllamacpp

_QUIET: Final = -1


class GGUFLLM:
    """An `LLM` that runs a model file on the CPU, one prompt at a time."""

    def __init__(self, path: str | Path, *, context: int = 4096, threads: int = 2, seed: int = 0) -> None:
        """Load the model.

        Args:
            path: A .gguf file.
            context: The number of tokens in the model's context window.
            threads: The number of CPU threads.
            seed: The random seed.
        """
        file = Path(path)
        if not file.is_file():
            raise NotFound(f"no model file {file}: give the path of a .gguf file")
        self._server = _load_model(file, context, threads)
        self._seed = seed
        self._lock = threading.Lock()

    def complete(self, prompt: str, *, max_tokens: int) -> str:
        """Return the model's text, always the same for the same prompt."""
        return self.generate(prompt, max_tokens=max_tokens).text

    def generate(self, prompt: str, *, max_tokens: int) -> Completion:
        """Return the model's text and its cost."""
        return self._generate(prompt, max_tokens, {})

    def generate_json(self, prompt: str, *, schema: Mapping[str, JSON], max_tokens: int) -> Completion:
        """Return JSON text that fits the schema."""
        named = {"name": "answer", "strict": True, "schema": dict(schema)}
        return self._generate(prompt, max_tokens, {"response_format": {"type": "json_schema", "json_schema": named}})

    def _generate(self, prompt: str, max_tokens: int, options: Mapping[str, object]) -> Completion:
        request: dict[str, Any] = {
            "messages": [{"role": "user", "content": prompt}],
            "max_tokens": max_tokens,
            "temperature": 0,
            "seed": self._seed,
            **options,
        }
        with self._lock:
            answer = self._server.handle_chat_completions(request)
        if "choices" not in answer:
            raise ExtractionFailed(f"the model gave no answer: {answer.get('message', answer)}")
        usage = answer["usage"]
        text = answer["choices"][0]["message"]["content"]
        return Completion(str(text), int(usage["prompt_tokens"]), int(usage["completion_tokens"]))


def _load_model(file: Path, context: int, threads: int) -> xllamacpp.Server:
    try:
        import xllamacpp
    except ModuleNotFoundError as error:
        raise MissingExtra("a model from a GGUF file", "gguf") from error
    params = xllamacpp.CommonParams()
    params.model.path = str(file)
    params.n_ctx = context
    params.n_parallel = 1
    params.cpuparams.n_threads = threads
    params.warmup = False
    params.verbosity = _QUIET
    return xllamacpp.Server(params)
