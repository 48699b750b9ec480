"""The requests that the REST server and the MCP tools accept: typed fields, limited sizes, no unknown fields."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from memoranda.items.base import MAX_PATHS, ItemOrder
from memoranda.server.fields import (
    MAX_ITEMS,
    MAX_NUMBERS,
    REAL,
    WHOLE,
    Label,
    Labels,
    Limit,
    MemoryId,
    Metadata,
    Mode,
    Moment,
    Name,
    Names,
    Offset,
    Policies,
    Query,
    Settings,
    Slot,
    Text,
    TokenCount,
    Ttl,
    TypeName,
    TypeNames,
    UnitInterval,
    ValueType,
)
from memoranda.validation import MAX_NAME

_HELLO = [[{"role": "user", "content": "Hello"}]]


class RequestModel(BaseModel):
    """Base of all requests: strict types, and unknown fields are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_fields(cls, data: Any) -> Any:
        """Refuse the first unknown field: an error for each of a hundred thousand would block the event loop."""
        unknown = (str(key) for key in data if key not in cls.model_fields) if isinstance(data, dict) else ()
        for name in unknown:
            raise PydanticCustomError("extra_forbidden", "unknown field {name}", {"name": repr(name[:MAX_NAME])})
        return data

    def arguments(self, *exclude: str) -> dict[str, Any]:
        """Return the fields that were set as arguments of a manager method, without the scope."""
        names = self.model_fields_set - {"agent", "user", "session", "all_users", *exclude}
        return {name: _to_plain(getattr(self, name)) for name in names}


def _to_plain(value: Any) -> Any:
    # Only our own models are converted: copying JSON of a hundred thousand values would block the event loop.
    if isinstance(value, BaseModel):
        return value.model_dump(exclude_unset=True)
    return [_to_plain(item) for item in value] if isinstance(value, list) else value


class ScopedRequest(RequestModel):
    """A request with a scope. No agent or session means any; no user means memories that belong to no user."""

    agent: Name | None = None
    user: Name | None = None
    session: Name | None = None
    all_users: bool = False
    """Read the memories of all users: needs a key with the admin scope."""


class QuarantineRequest(ScopedRequest):
    reason: Text = "put there by hand"


class WhereFilter(RequestModel):
    """A filter on memories; every field that is set must match."""

    type: TypeName | TypeNames | None = None
    source: Name | Names | None = None
    speaker: Name | Names | None = None
    after: Moment | None = None
    before: Moment | None = None
    min_importance: UnitInterval | None = None
    max_importance: UnitInterval | None = None
    metadata: Metadata | None = Field(None, examples=[{"topic": "drinks", "year": {"gte": 2024}}])


class WriteRequest(ScopedRequest):
    """The fields that apply to every memory of one write."""

    source: Name | None = None
    metadata: Metadata | None = Field(None, examples=[{"topic": "drinks"}])
    importance: UnitInterval | None = None
    at: Moment | None = None
    """When it was said or became true; now by default."""
    ttl: Ttl | None = None
    """Seconds until it expires; by default only short_term and working memories do."""


class RememberRequest(WriteRequest):
    """Texts and messages to remember; what is stored already is reported as a duplicate."""

    content: Text | Metadata | Annotated[list[Text | Metadata], Field(max_length=MAX_ITEMS, fail_fast=True)] = Field(
        examples=["Ann likes tea", [{"role": "user", "content": "I moved to Oslo", "name": "Ann"}]]
    )
    type: TypeName | None = None
    idempotency_key: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    keep_all: bool = False
    """Store every message, also those that would be rejected as not worth keeping."""
    strict: bool = False
    """Answer with an error when the language model fails. Everything else is stored all the same."""


class AddMemoryRequest(WriteRequest):
    content: Text = Field(examples=["Ann likes tea"])
    memory_type: TypeName = "semantic"
    generate_embedding: Literal[True] = True


class AddMemoriesRequest(WriteRequest):
    contents: Annotated[list[Text], Field(max_length=MAX_ITEMS, fail_fast=True)] = Field(
        examples=[["Ann likes tea", "Bo likes milk"]]
    )
    memory_type: TypeName = "semantic"


class PutItemsRequest(ScopedRequest):
    """Values to store by their keys; a key that exists gets the new value."""

    namespace: Labels = Field(examples=[["users", "ann"]])
    values: Metadata = Field(examples=[{"drink": {"text": "Ann likes tea"}}])
    ttl: Ttl | None = None
    index: bool | Annotated[list[str], Field(max_length=MAX_PATHS, fail_fast=True)] | None = None
    """What is searched: everything by default, nothing when false, or what is at these paths."""
    expected: dict[str, Moment | None] | None = None
    """When items were put last, by key; a conflict when one was put or deleted since."""


class ItemRequest(ScopedRequest):
    namespace: Labels = Field(examples=[["users", "ann"]])
    key: Label = Field(examples=["drink"])
    refresh: bool = False
    """Start the time to live again."""


class DeleteItemsRequest(ScopedRequest):
    namespace: Labels = Field(examples=[["users", "ann"]])
    keys: Labels = Field(examples=[["drink"]])


class SearchItemsRequest(ScopedRequest):
    prefix: Labels = Field([], examples=[["users"]])
    query: Query | Annotated[list[float], Field(min_length=1, max_length=MAX_NUMBERS, fail_fast=True)] | None = None
    filter: Metadata | None = Field(None, examples=[{"color": "red", "year": {"gte": 2024}}])
    order: ItemOrder = "-updated"
    limit: Limit = 10
    offset: Offset = 0
    refresh: bool = False


class NamespacesRequest(ScopedRequest):
    prefix: Labels = Field([], examples=[["users", "*"]])
    suffix: Labels = []
    max_depth: Annotated[int, Field(ge=1, le=MAX_ITEMS), WHOLE] | None = None
    limit: Limit = 100
    offset: Offset = 0


class UpdateRequest(ScopedRequest):
    """New values of a memory; fields left out stay as they are, metadata is replaced as a whole."""

    content: Text | None = Field(None, examples=["Ann likes coffee"])
    memory_type: TypeName | None = None
    source: Name | None = None
    metadata: Metadata | None = None
    importance: UnitInterval | None = None
    expected_version: MemoryId | None = None
    """Change nothing unless this is the memory's version; the header If-Match says the same."""


class DeleteRequest(ScopedRequest):
    memory_ids: Annotated[list[MemoryId], Field(min_length=1, max_length=MAX_ITEMS, fail_fast=True)] = Field(
        examples=[[1, 2]]
    )


class ListRequest(ScopedRequest):
    limit: Limit = 100
    cursor: Annotated[str, Field(pattern=r"^[0-9]{1,18}$")] | None = None
    offset: Offset = 0
    types: TypeNames | None = None
    where: WhereFilter | None = None
    as_of: Moment | None = None
    """Only what was true at this time."""
    known_at: Moment | None = None
    """Only what was known at this time, in the words it had then."""
    quarantined: bool = False
    newest_first: bool = False


class QuestionRequest(ScopedRequest):
    query: Query = Field(examples=["What does Ann drink?"])
    types: TypeNames | None = None
    where: WhereFilter | None = None
    now: Moment | None = None
    """The time of the question, for words like "last week"."""
    as_of: Moment | None = None
    """Answer with what was true at this time, by what is known now."""
    known_at: Moment | None = None
    """Answer with what was known at this time."""
    min_score: UnitInterval | None = None
    """The lowest score of a memory that is returned."""


class RecallRequest(QuestionRequest):
    mode: Mode | None = None
    limit: Limit = 10
    explain: bool = False
    shared: bool = False
    """Search the shared knowledge as well."""


class WhyNotRequest(QuestionRequest):
    query: Text = Field(examples=["What does Ann drink?"])
    memory_id: MemoryId = Field(examples=[1])
    limit: Limit = 10


class ReplayRequest(ScopedRequest):
    """The scope is the one in which the recall was asked."""

    recall_id: Name = Field(examples=["5f0c7d0e3b5e4f0f9f6f0f1c2d3e4f5a"])


class ContextRequest(QuestionRequest):
    mode: Mode | None = None
    limit: Limit = 30
    budget: TokenCount = 1500
    """Maximum tokens of the text."""


class SearchRequest(ScopedRequest):
    query: Query = Field(examples=["tea"])
    memory_types: TypeNames | None = None
    limit: Limit = 5
    min_score: UnitInterval | None = None
    where: WhereFilter | None = None


class SearchSimilarRequest(RequestModel):
    agent_id: Name = Field(examples=["writer"])
    query: Query = Field(examples=["tea"])
    top_k: Limit = 5
    filter_metadata: Metadata | None = None
    shared: bool = False


class AssociateRequest(ScopedRequest):
    memory_id: MemoryId = Field(examples=[1])
    related_memory_id: MemoryId = Field(examples=[2])
    relationship_type: Name = "related_to"
    strength: UnitInterval = 1.0
    metadata: Metadata | None = None


class CleanupRequest(ScopedRequest):
    max_age_days: Annotated[float, Field(ge=0, le=36_500), REAL] = 30
    min_importance: UnitInterval = 0.3
    dry_run: bool = False
    memory_types: TypeNames | None = None


class UpkeepRequest(ScopedRequest):
    policies: Policies | None = Field(None, examples=[["expire", "merge"]])
    settings: Settings | None = Field(None, examples=[{"important": 0.8, "half_life": 86400}])
    """By their names in `UpkeepSettings`; durations are in seconds."""
    delete: bool = False
    dry_run: bool = False


class ForgetRequest(ScopedRequest):
    """Selects memories by id, by filter, by a text they contain, or as a whole scope."""

    ids: Annotated[list[MemoryId], Field(max_length=MAX_ITEMS, fail_fast=True)] | None = Field(None, examples=[[1, 2]])
    types: TypeNames | None = None
    where: WhereFilter | None = None
    containing: Text | None = None
    dry_run: bool = False


class SaveValueRequest(RequestModel):
    agent_id: Name = Field(examples=["writer"])
    key: Name = Field(examples=["draft"])
    value: Any = Field(examples=[{"title": "Tea"}])
    memory_type: ValueType = "short_term"
    ttl: Annotated[float, Field(gt=0, le=1e9), REAL] | None = None


class DeleteValueRequest(RequestModel):
    agent_id: Name = Field(examples=["writer"])
    key: Name = Field(examples=["draft"])
    memory_type: ValueType = "short_term"


class AddMessagesRequest(ScopedRequest):
    """Messages for the conversation of an agent, optionally with a user or in a session."""

    messages: Annotated[list[Metadata], Field(max_length=10_000, fail_fast=True)] = Field(examples=_HELLO)
    allow_duplicates: bool = False
    keep: Annotated[int, Field(ge=0, le=1_000_000), WHOLE] | None = None
    """Keep only this many of the newest messages."""


class ReplaceMessagesRequest(ScopedRequest):
    messages: Annotated[list[Metadata], Field(max_length=100_000, fail_fast=True)] = Field(examples=_HELLO)


class DeleteMessagesRequest(ScopedRequest):
    positions: Annotated[list[int], Field(max_length=100_000, fail_fast=True)] = Field(examples=[[0, -1]])


class RetentionRequest(RequestModel):
    agent_name: Name = Field(examples=["writer"])
    policy: Literal["single_run", "session", "persistent"] = Field(examples=["persistent"])


class AgentRequest(RequestModel):
    agent_name: Name = Field(examples=["writer"])


class OpenSessionRequest(RequestModel):
    workflow_id: Name = Field(examples=["campaign-7"])
    metadata: Metadata | None = None
    auto_cleanup: bool | None = None


class SessionMessageRequest(RequestModel):
    agent_id: Name = Field(examples=["writer"])
    role: Name = Field(examples=["assistant"])
    content: Any = Field(examples=["The draft is ready"])
    metadata: Metadata | None = None


class ExecutionRequest(RequestModel):
    agent_id: Name = Field(examples=["writer"])
    record: Metadata = Field(examples=[{"status": "success", "output": "done", "duration_ms": 12.5}])


class KnowledgeDocument(RequestModel):
    text: Text = Field(examples=["# Tea\nBrew it for three minutes."])
    source: Name = Field(examples=["tea.md"])
    version: Name | None = None
    metadata: Metadata | None = None
    markdown: bool = True


class AddKnowledgeRequest(RequestModel):
    documents: Annotated[list[KnowledgeDocument], Field(min_length=1, max_length=MAX_ITEMS, fail_fast=True)]


class RemoveKnowledgeRequest(RequestModel):
    source: Name = Field(examples=["tea.md"])


class VerifyReceiptRequest(RequestModel):
    receipt: Metadata | Name = Field(examples=["8f14e45fceea167a5a36dedd4bea2543"])


class QueryModel(RequestModel):
    """Query parameters: all of them are text, so numbers are parsed from it."""

    model_config = ConfigDict(strict=False)


class ScopeQuery(ScopedRequest):
    model_config = ConfigDict(strict=False)


class UsersQuery(QueryModel):
    limit: Limit = 100
    offset: Offset = 0


class PageQuery(ScopeQuery):
    limit: Limit | None = None
    offset: Offset = 0


class NamesQuery(ScopeQuery):
    limit: Limit = 100
    offset: Offset = 0


class FactsQuery(PageQuery):
    as_of: Moment | None = None
    """What was true at this time."""
    known_at: Moment | None = None
    """What was known at this time."""


class SlotQuery(ScopeQuery):
    slot: Slot


class RelatedQuery(PageQuery):
    relationship_type: Name | None = None
    depth: Annotated[int, Field(ge=1, le=10), WHOLE] = 1
    min_strength: UnitInterval = 0.0


class MessagesQuery(ScopeQuery):
    start: Annotated[int, Field(ge=0, le=10_000_000), WHOLE] = 0
    stop: Annotated[int, Field(ge=0, le=10_000_000), WHOLE] = 1000


class RecentQuery(ScopeQuery):
    limit: Annotated[int, Field(ge=0, le=10_000), WHOLE] = 10


class WindowQuery(ScopeQuery):
    max_tokens: Annotated[int, Field(ge=1, le=10_000_000), WHOLE] = 4000


class ValueQuery(QueryModel):
    agent_id: Name
    key: Name
    memory_type: ValueType = "short_term"


class LimitQuery(QueryModel):
    limit: Limit | None = None


class SourcesQuery(LimitQuery):
    offset: Offset = 0


class HistoryQuery(SourcesQuery):
    limit: Offset | None = None
    """How many of the newest messages, after the first `offset`; 0 for all that are kept."""


class SessionHistoryQuery(HistoryQuery):
    workflow_id: Name


class EndedSessionsQuery(QueryModel):
    workflow_id: Name | None = None
    limit: Limit = 50
    offset: Offset = 0


class ExecutionStatsQuery(QueryModel):
    agent_id: Name | None = None
    workflow: Name | None = None
    session: Name | None = None
    after: Moment | None = None
    before: Moment | None = None


class ExecutionRecordsQuery(ExecutionStatsQuery):
    limit: Limit = 100
    status_filter: Name | None = None
    cursor: Annotated[str, Field(max_length=200)] | None = None
    offset: Offset = 0


class VerifyQuery(QueryModel):
    head: Annotated[str, Field(min_length=1, max_length=200)] | None = None


class ClearSessionRequest(RequestModel):
    workflow_id: Name = Field(examples=["campaign-7"])
