"""The routes that the OpenAPI document leaves out, since they have the form of other services: as such a document.

Their bodies are read by hand, so the document says less about what they refuse: what is checked is that no request is
answered by a server error, and none without a key.
"""

from __future__ import annotations

from typing import Any, Final

Json = dict[str, Any]
HALF: Final = "HALF"
"""Stands for half of a character, which the generator of cases cannot hold: it is put in on the way."""
PREFIXES: Final = ("/v1/memory_stores", "/mem0")
_TEXT: Final[Json] = {"enum": [f"a{HALF}", "tea", "cut\0off", 5]}
_NAME: Final[Json] = {"enum": ["tea", "river", "lamp", f"a{HALF}"]}
_PAIRS: Final[Json] = {
    "type": "object",
    "properties": {"a": {"enum": ["b", f"a{HALF}"]}},
    "additionalProperties": False,
}
_PATH: Final[Json] = {"anyOf": [{"enum": ["/a", "/a/b.md", f"/a{HALF}", "/../b"]}, {"type": "string"}]}
_DOCUMENT: Final[Json] = {"path": _PATH, "content": _TEXT}
_STORE: Final[Json] = {"name": _NAME, "description": {"enum": [f"a{HALF}", f"{HALF}b"]}, "metadata": _PAIRS}
_OWNER: Final[Json] = {"user_id": {"enum": ["ann", "bo", f"a{HALF}"]}}
_ANY: Final[Json] = {}


def _operation(parameters: list[Json], body: Json | None, needed: tuple[str, ...]) -> Json:
    operation: Json = {"parameters": parameters, "responses": {"default": {"description": "any"}}}
    if body is not None:
        schema = {"type": "object", "properties": body, "required": list(needed)}
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return operation


def _in_path(*names: str) -> list[Json]:
    return [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]


def _queries(*names: str) -> list[Json]:
    return [{"name": name, "in": "query", "schema": {"type": "string"}} for name in names]


def hidden_paths() -> Json:
    """Return the paths of an OpenAPI document."""
    stores, mem0 = "/v1/memory_stores", "/mem0"
    store, document, version = _in_path("store_id"), _in_path("document_id"), _in_path("version_id")
    hash_of = {"precondition": {"type": "object", "properties": {"content_sha256": _TEXT}}}
    page = _queries("limit", "page", "view", "created_at[gte]")
    listed = [*page, *_queries("path_prefix", "depth")]
    found = [*page, *_queries("memory_id", "operation", "api_key_id")]
    memory, owner = _in_path("uuid"), {"filters": {"type": "object", "properties": _OWNER}}
    several = {"memories": {"type": "array", "items": {"type": "object", "properties": {"memory_id": _TEXT}}}}
    described: list[tuple[str, str, list[Json], Json | None, tuple[str, ...]]] = [
        (stores, "post", [], _STORE, ("name", "description")),
        (stores, "get", [*page, *_queries("include_archived")], None, ()),
        (f"{stores}/{{store_id}}", "get", store, None, ()),
        (f"{stores}/{{store_id}}", "post", store, _STORE, ()),
        (f"{stores}/{{store_id}}/archive", "post", store, None, ()),
        (f"{stores}/{{store_id}}/memories", "post", store, _DOCUMENT, ("path",)),
        (f"{stores}/{{store_id}}/memories", "get", [*store, *listed], None, ()),
        (f"{stores}/{{store_id}}/memories/{{document_id}}", "get", [*store, *document], None, ()),
        (f"{stores}/{{store_id}}/memories/{{document_id}}", "post", [*store, *document], _DOCUMENT | hash_of, ()),
        (f"{stores}/{{store_id}}/memories/{{document_id}}", "delete", [*store, *document], None, ()),
        (f"{stores}/{{store_id}}/memory_versions", "get", [*store, *found], None, ()),
        (f"{stores}/{{store_id}}/memory_versions/{{version_id}}", "get", [*store, *version], None, ()),
        (f"{stores}/{{store_id}}/memory_versions/{{version_id}}/redact", "post", [*store, *version], None, ()),
        (f"{stores}/{{store_id}}", "delete", store, None, ()),
        (f"{mem0}/v1/ping/", "get", [], None, ()),
        (f"{mem0}/v3/memories/add/", "post", [], {"messages": _TEXT, **_OWNER, "metadata": _PAIRS}, ("messages",)),
        (f"{mem0}/v3/memories/", "post", _queries("page", "page_size"), owner, ("filters",)),
        (f"{mem0}/v3/memories/search/", "post", [], {"query": _TEXT, **owner, "top_k": _ANY}, ("query", "filters")),
        (f"{mem0}/v1/memories/{{uuid}}/", "get", memory, None, ()),
        (f"{mem0}/v1/memories/{{uuid}}/", "put", memory, {"text": _TEXT, "metadata": _PAIRS}, ("text",)),
        (f"{mem0}/v1/memories/{{uuid}}/history/", "get", memory, None, ()),
        (f"{mem0}/v1/batch/", "put", [], several, ("memories",)),
        (f"{mem0}/v1/entities/", "get", [], None, ()),
        (f"{mem0}/v2/entities/{{kind}}/{{name}}/", "delete", _in_path("kind", "name"), None, ()),
        (f"{mem0}/v1/memories/{{uuid}}/", "delete", memory, None, ()),
        (f"{mem0}/v1/memories/", "delete", _queries("user_id", "agent_id"), None, ()),
        (f"{mem0}/v1/batch/", "delete", [], several, ("memories",)),
    ]
    paths: Json = {}
    for path, method, parameters, body, needed in described:
        paths.setdefault(path, {})[method] = _operation(parameters, body, needed)
    return paths
