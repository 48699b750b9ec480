"""Models that run in this process: BERT-family encoders with onnxruntime, and `fast`, a table of token vectors.

Those that come with the package read token ids of BERT's uncased vocabulary; an added model may have any tokenizer.

onnxruntime is imported with the first model, since it takes longer to load than the rest of the package.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import memoranda_models
import numpy as np

from memoranda.embedding.base import (
    DEFAULT_MODEL,
    STATIC,
    EmbedderIdentity,
    InputKind,
    ModelSpec,
    check_input_texts,
    normalize,
)
from memoranda.embedding.model_folder import packaged_file, read_model_file
from memoranda.errors import Incompatible, InvalidInput, MissingExtra, Unavailable
from memoranda.text.sentences import split_sentences
from memoranda.threads import FairSlots, default_threads, register_fork_handler, run_each

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession, NodeArg

    from memoranda.types import FloatArray, IntArray


# White space as BERT defines it: Python's \s also splits at control characters, which BERT drops.
_CHUNK: Final = re.compile("[^ \t\n\r\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_ASCII_WORD: Final = re.compile(r"[0-9a-z]+|[!-/:-@\[-`{-~]")
_ASCII_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]+")
_IDEOGRAPHS: Final = re.compile(
    "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002ceaf\U0002f800-\U0002fa1f]"
)
# Unassigned code points are kept, so that a newer Python gives the same tokens.
_DROPPED_CATEGORIES: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Mn"})
_MAX_WORD: Final = 100
_MAX_CACHED_CHUNK: Final = 32
_CACHED_CHUNKS: Final = 32_768


class WordPiece:
    """A tokenizer for one vocabulary file. Safe to share between threads."""

    def __init__(self, vocabulary: Path) -> None:
        pieces = read_model_file(vocabulary).decode("utf-8").replace("\r\n", "\n").split("\n")
        self._ids = {piece: number for number, piece in enumerate(pieces) if piece}
        self._start, self._end, self.unknown = (self._ids[name] for name in ("[CLS]", "[SEP]", "[UNK]"))
        self._cached_ids = lru_cache(_CACHED_CHUNKS)(lambda chunk: tuple(self._ids_of(chunk)))

    def encode(self, text: str, window: int) -> list[int]:
        """Return the ids of a text between the start and end tokens, at most `window` in all."""
        return [self._start, *self.ids(text, window - 2), self._end]

    def ids(self, text: str, limit: int | None = None) -> list[int]:
        """Return the first `limit` ids of a text, without start and end tokens; the rest of the text is not read."""
        found: list[int] = []
        for match in _CHUNK.finditer(text):
            chunk = match.group()
            if len(chunk) <= _MAX_CACHED_CHUNK:
                found += self._cached_ids(chunk)
            else:
                found += islice(self._ids_of(chunk), limit)
            if limit is not None and len(found) >= limit:
                break
        return found[:limit]

    def _ids_of(self, chunk: str) -> Iterator[int]:
        for word in _words(chunk):
            yield from self._pieces(word)

    def _pieces(self, word: str) -> list[int]:
        if len(word) > _MAX_WORD:
            return [self.unknown]
        found: list[int] = []
        start = 0
        while start < len(word):
            piece = self._longest_piece(word, start)
            if piece is None:
                return [self.unknown]
            number, start = piece
            found.append(number)
        return found

    def _longest_piece(self, word: str, start: int) -> tuple[int, int] | None:
        """Return the id of the longest known piece that begins at `start`, and where it ends."""
        prefix = "##" if start else ""
        for end in range(len(word), start, -1):
            number = self._ids.get(prefix + word[start:end])
            if number is not None:
                return number, end
        return None


class TokenizerFile:
    """A tokenizer of any kind (SentencePiece, BPE, cased WordPiece), read from a `tokenizer.json` by `tokenizers`."""

    def __init__(self, file: Path) -> None:
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingExtra("a model with this tokenizer", "tokenizers") from error
        try:
            self._tokenizer = Tokenizer.from_str(file.read_text("utf-8"))
        except Exception as error:  # the library raises plain Exception for a file that it cannot read
            raise Incompatible(f"{file} cannot be read ({error}): add the model again") from error
        self._tokenizer.no_padding()
        self._window = 0
        self._lock = threading.Lock()

    def encode(self, text: str, window: int) -> list[int]:
        """Return the ids of a text with the special tokens of the model, at most `window` in all."""
        with self._lock:  # the truncation is a setting of the tokenizer
            if self._window != window:
                self._tokenizer.enable_truncation(window)
                self._window = window
        ids: list[int] = self._tokenizer.encode(text[: window * _MAX_WORD]).ids
        return ids


def _words(chunk: str) -> Iterator[str]:
    """Return the words of a chunk without white space: in lower case, without accents, split at punctuation."""
    if chunk.isascii():
        lowered = _ASCII_CONTROL.sub("", chunk).lower()
        return (match.group() for match in _ASCII_WORD.finditer(lowered))
    return _unicode_words(chunk)


def _unicode_words(chunk: str) -> Iterator[str]:
    word: list[str] = []
    for character in unicodedata.normalize("NFD", chunk):
        category = unicodedata.category(character)
        if category in _DROPPED_CATEGORIES or character == "\ufffd":
            continue
        if not _is_separate_token(character, category):
            # One at a time: lower() of a whole word gives a Greek final sigma, which the vocabulary does not use.
            word.append(character.lower())
            continue
        if word:
            yield "".join(word)
            word.clear()
        yield character
    if word:
        yield "".join(word)


def _is_separate_token(character: str, category: str) -> bool:
    if character.isascii():
        return not character.isalnum()
    return category.startswith("P") or _IDEOGRAPHS.match(character) is not None


class OnnxEmbedder:
    """An `Embedder` that runs a model file. The model is loaded when the first text is embedded.

    The vector of a quantised model depends on the other texts in a batch, so each text is run alone: the same text
    gives the same bytes, alone or among ten thousand, on one thread or eight. Of a text longer than the model's
    window, only the beginning is embedded.
    """

    def __init__(self, spec: ModelSpec, *, use_gpu: bool = False, threads: int | None = None) -> None:
        if threads is not None and threads < 1:
            raise InvalidInput(f"threads must be at least 1, not {threads}")
        self._spec = spec
        self._use_gpu = use_gpu
        self._threads = threads or default_threads()
        # Also bounds memory: however many callers there are, only this many runs hold buffers at a time.
        self._running = FairSlots(self._threads)
        self._loading = threading.Lock()
        self._encoder: _Encoder | None = None
        register_fork_handler(self)

    def before_fork(self) -> None:
        """Do nothing: the model is only read."""

    def after_fork(self, *, in_child: bool) -> None:
        """Drop a lock that another thread of the parent may have held."""
        if in_child:
            self._loading = threading.Lock()

    @property
    def identity(self) -> EmbedderIdentity:
        return self._spec.identity

    def embed(self, texts: Sequence[str], *, kind: InputKind) -> FloatArray:
        """Return one unit row per text, in order; raise `InvalidInput` for blank text."""
        prefix = self._spec.prefixes.get(kind, "")
        inputs = [prefix + text for text in check_input_texts(texts)]
        rows = np.empty((len(inputs), self._spec.dimension), np.float32)

        def embed_one(number: int, text: str) -> None:
            rows[number] = self._embed_one(text)

        run_each(inputs, embed_one, self._threads)
        return rows

    @property
    def gives_sentences(self) -> bool:
        # The mean of a sentence's tokens is a vector of the same kind only where a text's vector is such a mean, and
        # only WordPiece gives the tokens of a sentence as it gives those of the text around it.
        return self._spec.pooling == "mean" and self._spec.vocabulary.suffix != ".json"

    def embed_sentences(self, texts: Sequence[str]) -> Sequence[FloatArray]:
        """Return the vector of each stored text and of its sentences; raise `InvalidInput` for blank text."""
        inputs = check_input_texts(texts)
        found = [np.empty((0, self._spec.dimension), np.float32)] * len(inputs)

        def embed_one(number: int, text: str) -> None:
            encoder = self._load()
            with self._running:
                rows = encoder.encode_sentences(self._spec.prefixes.get("passage", ""), text)
            found[number] = np.stack([normalize(row) for row in rows])

        run_each(inputs, embed_one, self._threads)
        return found

    def _embed_one(self, text: str) -> FloatArray:
        encoder = self._load()
        with self._running:
            return normalize(encoder.encode(text))

    def _load(self) -> _Encoder:
        if self._encoder is None:
            with self._loading:
                if self._encoder is None:
                    self._encoder = _Encoder(self._spec, use_gpu=self._use_gpu)
        return self._encoder


class _Encoder:
    """A loaded model and its tokenizer."""

    def __init__(self, spec: ModelSpec, *, use_gpu: bool) -> None:
        self._spec = spec
        is_json = spec.vocabulary.suffix == ".json"
        self._tokenizer = TokenizerFile(spec.vocabulary) if is_json else WordPiece(spec.vocabulary)
        # The weights of a model that was added can lie in several files, and have a checksum of all of them.
        is_packaged = spec.sha256 in memoranda_models.SHA256.values()
        self._session = open_session(spec.model, use_gpu=use_gpu, sha256=spec.sha256 if is_packaged else None)
        self._inputs = {item.name for item in self._session.get_inputs()}
        if unknown := self._inputs.difference(_INPUTS):
            raise Incompatible(
                f"the model file {spec.model} wants {', '.join(sorted(unknown))}: only text encoders with the inputs "
                f"{', '.join(_INPUTS)} can be run"
            )
        self._output = find_output(self._session).name

    def encode(self, text: str) -> FloatArray:
        """Return the pooled hidden state of the text, not normalized."""
        return self._pool(self._run(text))

    def encode_sentences(self, prefix: str, text: str) -> list[FloatArray]:
        """Return the pooled state of the text, then those of its sentences if it has several, not normalized."""
        states = self._run(prefix + text)
        if states.ndim == 1 or not isinstance(self._tokenizer, WordPiece):
            return [self._pool(states)]
        first = 1 + len(self._tokenizer.ids(prefix))
        spans = _sentence_tokens(self._tokenizer, text, first, len(states) - 1)
        return [self._pool(states), *(states[start:end].mean(axis=0) for start, end in spans)]

    def _run(self, text: str) -> FloatArray:
        ids = np.array([self._tokenizer.encode(text, self._spec.window)], np.int64)
        with translate_errors(self._spec.model):
            states: FloatArray = self._session.run([self._output], self._make_inputs(ids))[0][0]
        return states

    def _pool(self, states: FloatArray) -> FloatArray:
        if states.ndim == 1:  # the model pools by itself
            return states
        pooled: FloatArray = states[0] if self._spec.pooling == "cls" else states.mean(axis=0)
        return pooled

    def _make_inputs(self, ids: IntArray) -> dict[str, IntArray]:
        tokens = np.arange(ids.shape[1], dtype=np.int64)[None]
        values = (ids, np.ones_like(ids), np.zeros_like(ids), tokens)
        available = dict(zip(_INPUTS, values, strict=True))
        return {name: available[name] for name in self._inputs}


_MOST_SENTENCES: Final = 8
"""Of a longer text no sentences are kept: they would take many times the space of its own vector."""


def _sentence_tokens(tokenizer: WordPiece, text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return where the tokens of each sentence are, from `start` on and before `end`; none for a single sentence."""
    sentences = split_sentences(text[: _MAX_WORD * end])
    spans: list[tuple[int, int]] = []
    if not 1 < len(sentences) <= _MOST_SENTENCES:
        return spans
    for sentence in sentences:
        after = min(start + len(tokenizer.ids(sentence)), end)
        if after > start:
            spans.append((start, after))
        start = after
    return spans if start == end else []  # a text whose tokens are not those of its sentences


_INPUTS: Final = ("input_ids", "attention_mask", "token_type_ids", "position_ids")
_OUTPUTS: Final = ("last_hidden_state", "token_embeddings", "sentence_embedding")


def find_output(session: InferenceSession) -> NodeArg:
    """Return the output with the state of each token, or else the first one."""
    outputs = {item.name: item for item in session.get_outputs()}
    return next((outputs[name] for name in _OUTPUTS if name in outputs), session.get_outputs()[0])


_CPU: Final = "CPUExecutionProvider"
_GPU: Final = "CUDAExecutionProvider"


def find_gpu_problem() -> str | None:
    """Return why a model cannot run on a CUDA device, and what to do; None when it can."""
    if _GPU in _import_onnxruntime().get_available_providers():
        return None
    return (
        f"Models run on the processor, as this onnxruntime has no {_GPU}: pip install onnxruntime-gpu in place of "
        "onnxruntime, or leave USE_GPU off"
    )


def open_session(model: Path, *, use_gpu: bool = False, sha256: str | None = None) -> InferenceSession:
    """Return the loaded model. It runs on one thread; callers run several texts on several threads.

    Args:
        model: A plain file, or a packed one of a package.
        use_gpu: Whether to run it on a CUDA device where there is one.
        sha256: The checksum that the unpacked content of the file must have; None is not checked.
    """
    onnxruntime = _import_onnxruntime()
    if use_gpu and (problem := find_gpu_problem()) is not None:
        logging.getLogger("memoranda").warning(problem)
        use_gpu = False
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # With one text per run, the arena grows to the longest text per thread; without it malloc's heaps grow threefold.
    options.enable_cpu_mem_arena = True
    # Otherwise a plan of buffers for every text length would be kept forever.
    options.enable_mem_pattern = False
    options.log_severity_level = 4  # errors are raised, not printed
    providers = [_GPU, _CPU] if use_gpu else [_CPU]
    with translate_errors(model):
        session = onnxruntime.InferenceSession(_read_model(model, sha256), options, providers=providers)
    # The session keeps these 34 MB for a change of providers, which never happens here.
    session._model_bytes = None
    return session


@contextmanager
def translate_errors(model: Path) -> Iterator[None]:
    """Translate onnxruntime's errors: a bad model file is `Incompatible`, a lack of resources is `Unavailable`."""
    _import_onnxruntime()
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    try:
        yield
    except (state.Fail, state.InvalidArgument, state.InvalidGraph, state.InvalidProtobuf, state.NoSuchFile) as error:
        raise Incompatible(f"the model file {model} cannot be run ({error}): install it again") from error
    except state.RuntimeException as error:
        raise Unavailable(f"the model {model.stem} cannot be run now: {error}") from error


def _read_model(model: Path, sha256: str | None) -> str | bytes:
    """Return the content of a file that is packed or must have this checksum; else the path."""
    is_packed = model.suffix == memoranda_models.PACKED
    if not is_packed and sha256 is None:
        return str(model)
    try:
        content = memoranda_models.unpacked(model) if is_packed else model.read_bytes()
    except (OSError, ValueError) as error:
        raise Incompatible(f"the model file {model} cannot be read ({error}): install it again") from error
    if sha256 is not None and hashlib.sha256(content).hexdigest() != sha256:
        raise Incompatible(f"the model file {model} is damaged (its checksum is wrong): install it again")
    return content


def _import_onnxruntime() -> Any:
    # Its telemetry is on by default and starts with the import: it writes to the temporary folder and may send data.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    return onnxruntime


def default_spec() -> ModelSpec:
    """Return the model that comes with the package."""
    return ModelSpec(
        name=DEFAULT_MODEL,
        model=packaged_file("e5-dialogue.onnx"),
        vocabulary=packaged_file("vocab.txt"),
        sha256=memoranda_models.SHA256["e5-dialogue.onnx"],
        dimension=384,
        window=512,
        prefixes={"query": "query: ", "passage": "passage: "},
        baseline=0.45,
        texts_baseline=0.51,
    )


_NPY_HEADER: Final = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '([^']+)', 'fortran_order': False, 'shape': \(([\d, ]+)\), \} *\n", re.DOTALL
)
_ROWS: Final = "potion-base-8M.npy"
_SCALES: Final = "potion-base-8M.scale.npy"
_IDENTITY: Final = EmbedderIdentity(STATIC, "potion-base-8M", 256, memoranda_models.SHA256[_ROWS], baseline=0.1)
# Bounds the memory of one text; more tokens hardly change the mean.
_WINDOW: Final = 8_192


@dataclass(frozen=True, slots=True)
class _Table:
    tokenizer: WordPiece
    rows: NDArray[np.int8]
    scales: FloatArray


class StaticEmbedder:
    """An `Embedder` about a hundred times faster than the default and less accurate. Reads 8,192 tokens of a text."""

    def __init__(self, model: str = "static", *, use_gpu: bool = False) -> None:
        del model, use_gpu  # There is one table and it needs no GPU; the registry passes both.
        self._lock = threading.Lock()
        self._table: _Table | None = None

    @property
    def identity(self) -> EmbedderIdentity:
        return _IDENTITY

    def embed(self, texts: Sequence[str], *, kind: InputKind) -> FloatArray:  # noqa: ARG002
        """Return one unit row per text, in order; both kinds of input are embedded alike."""
        checked = check_input_texts(texts)
        table = self._get_table()
        rows = np.empty((len(checked), _IDENTITY.dimension), np.float32)
        for number, text in enumerate(checked):
            rows[number] = _embed_text(table, text)
        return rows

    def _get_table(self) -> _Table:
        with self._lock:
            if self._table is None:
                # The checksum of the rows takes as long as the vocabulary: both at once.
                with ThreadPoolExecutor(1, "memoranda-load") as pool:
                    rows = pool.submit(_load_array, _ROWS)
                    tokenizer, scales = WordPiece(packaged_file("vocab.txt")), _load_array(_SCALES)
                    self._table = _Table(tokenizer, rows.result(), scales)
            return self._table


def _load_array(name: str) -> Any:
    """Return the array of a .npy file of version 1.

    Not with `np.load`, which parses the header as Python source: two threads that do so at once make CPython 3.11 fail.
    """
    data = read_model_file(packaged_file(name))
    header = _NPY_HEADER.match(data)
    if header is None:
        raise Incompatible(f"{name} is not an array: install memoranda-models again")
    shape = tuple(int(size) for size in header[2].split(b",") if size.strip())
    return np.frombuffer(data, header[1].decode("ascii"), offset=header.end()).reshape(shape)


def _embed_text(table: _Table, text: str) -> FloatArray:
    unknown = table.tokenizer.unknown
    ids = [number for number in table.tokenizer.ids(text, _WINDOW) if number != unknown]
    # A text of unknown characters only still needs a direction: that of the token for "unknown".
    indices = np.array(ids or [unknown])
    vectors = table.rows[indices].astype(np.float32) * table.scales[indices, None]
    return normalize(vectors.sum(axis=0))
