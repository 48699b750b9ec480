"""Requests made from the OpenAPI document, and from one of the routes that it leaves out.

Many have ids that earlier responses returned.

A case is sent with a key, and some also without one and with one that is empty, wrong or revoked. A valid case that
has ids is sent as it was made, which names nothing, and with ids that exist. No response may
be a server error or violate its schema, a request that violates its schema must be refused, and only the right key may
succeed. In the end every key is revoked, and nothing may be answered at all.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from memoranda.server.config import ServerConfig
from memoranda.server.keys import open_keys
from tests.prove.hidden_routes import HALF, PREFIXES, hidden_paths
from tests.prove.regime import Plan, Result, result
from tests.server.running import serving

CHECKS = (
    schemathesis.checks.not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
)
PUBLIC = ("/healthz",)
SENT = 1.7
"""How often each case is sent, on average: to make one takes longer than to answer it."""
ROUND = 20_000
"""Requests to one store, which grows by them."""


@schemathesis.serializer("application/x-ndjson")
def _lines(_: object, value: object) -> bytes:
    return str(value).encode("utf-8", "replace")


@dataclass
class Known:
    """Ids that responses returned, so that later requests reach what earlier ones made."""

    rng: random.Random
    ids: dict[str, deque[Any]] = field(default_factory=lambda: defaultdict(lambda: deque(maxlen=50)))

    def note(self, answer: Any) -> None:
        """Keep the ids in a response."""
        for name, value in _members(answer):
            if name in ("id", "memory_id") and isinstance(value, int):
                self.ids["memory_id"].append(value)
            elif name in ("session_id", "next_cursor", "recall_id") and isinstance(value, str):
                self.ids["cursor" if name == "next_cursor" else name].append(value)
            elif name == "id" and isinstance(value, str) and (kind := _kind_of(value)):
                self.ids[kind].append(value)
            elif name == "id" and isinstance(value, str):
                for kind in ("receipt_id", "recall_id"):
                    self.ids[kind].append(value)

    def put_into(self, case: Any) -> bool:
        """Replace ids that were made up by known ones; return whether there was one to replace."""
        replaced = False
        for values in (case.path_parameters, case.query, case.body):
            for name in list(values) if isinstance(values, dict) else ():
                if name in ("ids", "memory_ids") and self.ids["memory_id"]:
                    values[name] = [self.rng.choice(self.ids["memory_id"])]
                elif self.ids[kind := name.removeprefix("related_")]:
                    values[name] = self.rng.choice(self.ids[kind])
                else:
                    continue
                replaced = True
        return replaced


def _kind_of(value: str) -> str | None:
    """Return what an id in the form of another service names."""
    for start, kind in (("memstore_", "store_id"), ("memver_", "version_id"), ("mem_", "document_id")):
        if value.startswith(start):
            return kind
    return "uuid" if len(value) == 36 else None


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield name, item
            yield from _members(item)
    elif isinstance(value, list):
        for item in value[:20]:
            yield from _members(item)


def openapi_requests(plan: Plan) -> Result:
    """Explore a server in rounds, each with a new store and a seed of its own, until there were enough requests."""
    answered, violations, rounds = Counter[int](), list[str](), 0
    while plan.goes_on(answered.total()):
        with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as url:
            with open_keys(f"sqlite:///{folder}/server.db") as keys:
                made, old = (keys.create("requests", scopes=("read", "write", "admin")) for _ in range(2))
                keys.revoke(old.info.id)
            left = plan.runs - answered.total()
            explore(url, (made.key, old.key), min(left, ROUND), plan, rounds, answered, violations)
            with open_keys(f"sqlite:///{folder}/server.db") as keys:
                keys.revoke(made.info.id)
            violations += _find_open_routes(url, made.key)
            with serving(Path(folder)) as restarted:  # it has never seen the key while it was valid
                violations += _find_open_routes(restarted, made.key)
        rounds += 1
    detail = {"rounds": rounds, "answers": {str(status): count for status, count in sorted(answered.items())}}
    return result("requests", plan, answered.total(), violations, detail)


def _find_open_routes(url: str, revoked: str) -> Iterator[str]:
    """Yield what is answered once the last key is revoked, except where no key is ever needed."""
    time.sleep(ServerConfig().key_cache_seconds)
    for path in ("/v1/stats", "/v1/users", "/metrics", "/v1/export"):
        for headers in ({}, {"Authorization": f"Bearer {revoked}"}):
            status = requests.get(url + path, headers=headers, timeout=10).status_code
            if status != 401:
                yield f"{path}: {status} after the last key was revoked, with {headers or 'no header'}"


def explore(
    url: str, keys: tuple[str, str], total: int, plan: Plan, number: int, answered: Counter[int], violations: list[str]
) -> None:
    """Send about so many requests, over all operations, with a key that is valid and one that was revoked."""
    document = _simplify(requests.get(f"{url}/openapi.json", timeout=10).json())
    document["paths"] |= hidden_paths()
    schema = schemathesis.openapi.from_dict(document)
    schema.config.update(base_url=url)
    operations = [found.ok() for found in schema.get_all_operations()]
    # Those that create come first, so that there are ids for the others.
    operations.sort(key=lambda operation: operation.method != "post" or "{" in operation.path)
    examples, known = int(total / (SENT * 2 * len(operations))) + 1, Known(plan.rng("known", number))
    seed_number = plan.rng("requests", number).randrange(2**32)
    with _Session() as session:
        for operation in operations:
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                if plan.elapsed > plan.seconds:
                    return
                explored = _Exploration(session, operation, mode, *keys, known, answered)
                if problem := explored.run(examples, seed_number):
                    violations.append(f"round {number}, {operation.label}, {mode.name}: {problem}")


class _Session(requests.Session):
    """Puts lone surrogates where a body names them: nothing that makes cases can hold one."""

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:
        if isinstance(request.body, bytes) and HALF.encode() in request.body:
            request.body = request.body.replace(HALF.encode(), rb"\ud800")
            request.headers["Content-Length"] = str(len(request.body))
        return super().send(request, **options)


def _simplify(document: Any) -> Any:
    """Return the document without very large limits, which the guard's tests cover, and without security schemes."""
    if isinstance(document, list):
        return [_simplify(item) for item in document]
    if not isinstance(document, dict):
        return document
    large = {key for key in ("maxLength", "maxItems") if isinstance(document.get(key), int) and document[key] > 600}
    return {
        key: _simplify(value) for key, value in document.items() if key not in {*large, "security", "securitySchemes"}
    }


@dataclass
class _Exploration:
    """One operation, with valid or invalid data."""

    session: requests.Session
    operation: Any
    mode: GenerationMode
    key: str
    revoked: str
    known: Known
    answered: Counter[int]

    def run(self, examples: int, seed_number: int) -> str | None:
        """Try some cases; return what was wrong with one of them."""

        @seed(seed_number)
        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate],
        )
        @given(case=self.operation.as_strategy(generation_mode=self.mode))
        def try_case(case: Any) -> None:
            self._try(case)

        try:
            try_case()
        except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001 - failed checks, or a broken connection
            # An operation without arguments has no invalid calls.
            if type(error).__name__ not in ("Unsatisfiable", "SkipTest", "Skipped"):
                return f"{type(error).__name__}: {str(error)[:600]}"
        return None

    def _try(self, case: Any) -> None:
        self._send(case)
        if self.mode is GenerationMode.POSITIVE and self.known.put_into(case):
            self._send(case)

    def _send(self, case: Any) -> None:
        is_valid = self.mode is GenerationMode.POSITIVE
        answer = case.call(session=self.session, headers={"Authorization": f"Bearer {self.key}"})
        checks: tuple[Any, ...] = CHECKS
        if not is_valid and answer.status_code != 413:
            checks = (*CHECKS, negative_data_rejection)
        if self.operation.path.startswith(PREFIXES):
            checks = CHECKS[:1]
        case.validate_response(answer, checks=checks)
        self.answered[answer.status_code] += 1
        if answer.status_code < 300 and answer.headers.get("content-type") == ["application/json"]:
            self.known.note(answer.json())
        # Without a valid key every fourth time: nothing but the key decides there.
        if self.known.rng.random() < 0.75:
            return
        other = self.known.rng.choice(["", "Bearer", "Bearer mmr.0123456789abcdef.wrong", f"Bearer {self.revoked}"])
        for headers in ({}, {"Authorization": other}):
            refused = case.call(session=self.session, headers=headers)
            assert refused.status_code in (401, 413) or self.operation.path in PUBLIC, (
                f"{refused.status_code} without a valid key: {headers or 'no header'}"
            )
            self.answered[refused.status_code] += 1
