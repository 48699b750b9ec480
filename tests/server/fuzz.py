"""Schemathesis over the OpenAPI document: `python -m tests.server.fuzz --requests 20000`.

Every case is sent twice, with a key and without. No response may be a server error or violate its schema, a request
that violates its schema must be refused, and without a key nothing may succeed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
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

from memoranda.server.keys import open_keys
from tests.server.running import serving

CHECKS = (
    schemathesis.checks.not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
)
PUBLIC = ("/healthz",)


@schemathesis.serializer("application/x-ndjson")
def _lines(_: object, value: object) -> bytes:
    return str(value).encode("utf-8", "replace")


def explore(url: str, key: str, total: int, seed_number: int = 0) -> Counter[int]:
    """Send about `total` requests; return how often each status was answered."""
    document = _simplify(requests.get(f"{url}/openapi.json", timeout=10).json())
    schema = schemathesis.openapi.from_dict(document)
    schema.config.update(base_url=url)
    operations = [result.ok() for result in schema.get_all_operations()]
    examples = total // (3 * len(operations)) + 1
    answered: Counter[int] = Counter()
    with requests.Session() as session:
        for operation in operations:
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                _explore(session, operation, mode, key, examples, seed_number, answered)
    return answered


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


def _explore(
    session: requests.Session,
    operation: Any,
    mode: GenerationMode,
    key: str,
    examples: int,
    seed_number: int,
    answered: Counter[int],
) -> None:
    checks = CHECKS if mode is GenerationMode.POSITIVE else (*CHECKS, negative_data_rejection)

    @seed(seed_number)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def run(case: Any) -> None:
        answer = case.call(session=session, headers={"Authorization": f"Bearer {key}"})
        case.validate_response(answer, checks=CHECKS if answer.status_code == 413 else checks)
        stranger = case.call(session=session, headers={"Authorization": ""})
        assert stranger.status_code == 401 or operation.path in PUBLIC or stranger.status_code == 413, stranger
        answered.update([answer.status_code, stranger.status_code])

    try:
        run()
    except Exception as error:
        # An operation without arguments has no invalid calls.
        if type(error).__name__ not in ("Unsatisfiable", "SkipTest", "Skipped"):
            raise


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as url:
        with open_keys(f"sqlite:///{folder}/server.db") as keys:
            key = keys.create("fuzz", scopes=("read", "write", "admin")).key
        answered = explore(url, key, options.requests, options.seed)
    print(f"{answered.total():,} requests, seed {options.seed}: {dict(sorted(answered.items()))}")
    sys.exit(1 if any(status >= 500 for status in answered) else 0)


if __name__ == "__main__":
    main()
