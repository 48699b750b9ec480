"""What the REST and MCP doors take in. Every field is typed, unknown ones are refused, sizes are limited."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from memoranda.results import PolicyName
from memoranda.sessions.base import MAX_NAME
from memoranda.text import MAX_TEXT
from memoranda.validation import MAX_LIMIT

MAX_ITEMS = 1000
"""Texts, messages or ids of one call."""
_LARGEST_ID = 2**63 - 1

Text: TypeAlias = Annotated[str, Field(min_length=1, max_length=MAX_TEXT)]
Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
Moment: TypeAlias = Annotated[str, Field(max_length=64, examples=["2026-03-01T12:00:00+00:00"])]
MemoryId: TypeAlias = Annotated[int, Field(ge=1, le=_LARGEST_ID)]
Unit: TypeAlias = Annotated[float, Field(ge=0, le=1)]
Limit: TypeAlias = Annotated[int, Field(ge=1, le=MAX_LIMIT)]
Count: TypeAlias = Annotated[int, Field(ge=1, le=1_000_000)]
Metadata: TypeAlias = dict[str, Any]
TypeName: TypeAlias = Literal[
    "short_term", "working", "long_term", "episodic", "semantic", "procedural", "reflection", "shared"
]
ValueType: TypeAlias = Literal["short_term", "long_term"]
Policy: TypeAlias = Literal["single_run", "session", "persistent"]
Mode: TypeAlias = Literal["fast", "default", "best"]


class Request(BaseModel):
    """Strict: a number is a number, and a field nobody knows is an error."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    def given(self, *without: str) -> dict[str, Any]:
        """The fields that were set, as arguments of a manager's method."""
        left_out = {"agent", "user", "session", "all_users", *without}
        return {name: _plain(getattr(self, name)) for name in self.model_fields_set - left_out}


def _plain(value: Any) -> Any:
    # Only our own types are taken apart: copying JSON of a hundred thousand values would hold up the event loop.
    if isinstance(value, BaseModel):
        return value.model_dump(exclude_unset=True)
    return [_plain(each) for each in value] if isinstance(value, list) else value


class Owner(Request):
    """Whose memories. An unnamed agent or session means any, an unnamed user means memories of no user."""

    agent: Name | None = None
    user: Name | None = None
    session: Name | None = None
    all_users: bool = False
    """Across all users: takes a key with the admin scope."""


class Where(Request):
    """Which memories count; every field that is set must hold."""

    type: TypeName | list[TypeName] | None = None
    source: Name | list[Name] | None = None
    speaker: Name | list[Name] | None = None
    after: Moment | None = None
    before: Moment | None = None
    min_importance: Unit | None = None
    max_importance: Unit | None = None
    metadata: Metadata | None = Field(None, examples=[{"topic": "drinks", "year": {"gte": 2024}}])


class Described(Owner):
    """What holds for every memory of one write."""

    source: Name | None = None
    metadata: Metadata | None = Field(None, examples=[{"topic": "drinks"}])
    importance: Unit | None = None
    at: Moment | None = None
    """When it was said or became true; now, when it is not given."""


class Remember(Described):
    """Texts and messages to remember; what is known already is recognised."""

    content: Text | Metadata | Annotated[list[Text | Metadata], Field(max_length=MAX_ITEMS)] = Field(
        examples=["Ann likes tea", [{"role": "user", "content": "I moved to Oslo", "name": "Ann"}]]
    )
    type: TypeName | None = None
    idempotency_key: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    keep_all: bool = False
    """Every message becomes a memory, worth keeping or not."""


class AddMemory(Described):
    content: Text = Field(examples=["Ann likes tea"])
    memory_type: TypeName = "semantic"


class AddMemories(Described):
    contents: Annotated[list[Text], Field(max_length=MAX_ITEMS)] = Field(examples=[["Ann likes tea", "Bo likes milk"]])
    memory_type: TypeName = "semantic"


class Update(Owner):
    """What is not given stays; metadata is replaced as a whole."""

    content: Text | None = Field(None, examples=["Ann likes coffee"])
    memory_type: TypeName | None = None
    source: Name | None = None
    metadata: Metadata | None = None
    importance: Unit | None = None


class Delete(Owner):
    memory_ids: Annotated[list[MemoryId], Field(min_length=1, max_length=MAX_ITEMS)] = Field(examples=[[1, 2]])


class Page(Owner):
    limit: Limit = 100
    cursor: Annotated[str, Field(pattern=r"^[0-9]{1,18}$")] | None = None
    types: list[TypeName] | None = None
    where: Where | None = None


class Question(Owner):
    query: Text = Field(examples=["What does Ann drink?"])
    types: list[TypeName] | None = None
    where: Where | None = None
    now: Moment | None = None
    """The asker's clock, for words like "last week"."""
    mode: Mode | None = None


class RecallRequest(Question):
    limit: Limit = 10
    as_of: Moment | None = None
    """Answer from what was known and true then."""
    explain: bool = False
    shared: bool = False
    """With the shared knowledge."""


class WhyNotRequest(Owner):
    query: Text = Field(examples=["What does Ann drink?"])
    memory_id: MemoryId = Field(examples=[1])
    types: list[TypeName] | None = None
    where: Where | None = None
    limit: Limit = 10
    now: Moment | None = None


class ContextRequest(Question):
    limit: Limit = 30
    budget: Count = 1500
    """The most tokens of the text."""


class Search(Owner):
    query: Text = Field(examples=["tea"])
    memory_types: list[TypeName] | None = None
    limit: Limit = 5
    where: Where | None = None


class SearchSimilar(Request):
    agent_id: Name = Field(examples=["writer"])
    query: Text = Field(examples=["tea"])
    top_k: Limit = 5
    filter_metadata: Metadata | None = None
    shared: bool = False


class Associate(Owner):
    memory_id: MemoryId = Field(examples=[1])
    related_memory_id: MemoryId = Field(examples=[2])
    relationship_type: Name = "related_to"
    strength: Unit = 1.0


class Cleanup(Owner):
    max_age_days: Annotated[int, Field(ge=0, le=36_500)] = 30
    min_importance: Unit = 0.3
    dry_run: bool = False


class Upkeep(Owner):
    policies: list[PolicyName] | None = Field(None, examples=[["expire", "merge"]])
    settings: dict[str, bool | Annotated[int, Field(ge=0, le=10**9)] | Annotated[float, Field(ge=0, le=1e9)]] | None = (
        Field(None, examples=[{"important": 0.8, "half_life": 86400}])
    )
    """By their names in `UpkeepSettings`; a time is given in seconds."""
    dry_run: bool = False


class Forget(Owner):
    """By id, by filter, by a text they contain, or as a whole scope."""

    ids: Annotated[list[MemoryId], Field(max_length=MAX_ITEMS)] | None = Field(None, examples=[[1, 2]])
    types: list[TypeName] | None = None
    where: Where | None = None
    containing: Text | None = None
    dry_run: bool = False


class SaveValue(Request):
    agent_id: Name = Field(examples=["writer"])
    key: Name = Field(examples=["draft"])
    value: Any = Field(examples=[{"title": "Tea"}])
    memory_type: ValueType = "short_term"
    ttl: Annotated[float, Field(gt=0, le=1e9)] | None = None


class AddMessages(Owner):
    """Messages for the conversation of an agent, with a user or in a session where named."""

    messages: Annotated[list[Metadata], Field(max_length=10_000)] = Field(
        examples=[[{"role": "user", "content": "Hello"}]]
    )
    allow_duplicates: bool = False
    keep: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    """The newest so many stay."""


class ReplaceMessages(Owner):
    messages: Annotated[list[Metadata], Field(max_length=100_000)] = Field(
        examples=[[{"role": "user", "content": "Hello"}]]
    )


class DeleteMessages(Owner):
    positions: Annotated[list[int], Field(max_length=100_000)] = Field(examples=[[0, -1]])


class Retention(Request):
    agent_name: Name = Field(examples=["writer"])
    policy: Policy = Field(examples=["persistent"])


class AgentName(Request):
    agent_name: Name = Field(examples=["writer"])


class OpenSession(Request):
    workflow_id: Name = Field(examples=["campaign-7"])
    metadata: Metadata | None = None
    auto_cleanup: bool | None = None


class SessionMessageRequest(Request):
    agent_id: Name = Field(examples=["writer"])
    role: Literal["system", "user", "assistant", "tool"] = Field(examples=["assistant"])
    content: Text = Field(examples=["The draft is ready"])
    metadata: Metadata | None = None


class ExecutionRequest(Request):
    agent_id: Name = Field(examples=["writer"])
    record: Metadata = Field(examples=[{"status": "success", "output": "done", "duration_ms": 12.5}])


class KnowledgeDocument(Request):
    text: Text = Field(examples=["# Tea\nBrew it for three minutes."])
    source: Name = Field(examples=["tea.md"])
    version: Name | None = None
    metadata: Metadata | None = None
    markdown: bool = True


class AddKnowledge(Request):
    documents: Annotated[list[KnowledgeDocument], Field(min_length=1, max_length=MAX_ITEMS)]


class KnowledgeName(Request):
    source: Name = Field(examples=["tea.md"])


class Query(Request):
    """What stands in an address: all of it is text, so numbers are read from it."""

    model_config = ConfigDict(strict=False)


class OwnerQuery(Owner):
    model_config = ConfigDict(strict=False)


class RelatedQuery(OwnerQuery):
    relationship_type: Name | None = None
    depth: Annotated[int, Field(ge=1, le=10)] = 1


class MessagesQuery(OwnerQuery):
    start: Annotated[int, Field(ge=0, le=10_000_000)] = 0
    stop: Annotated[int, Field(ge=0, le=10_000_000)] = 1000


class RecentQuery(OwnerQuery):
    limit: Annotated[int, Field(ge=0, le=10_000)] = 10


class WindowQuery(OwnerQuery):
    max_tokens: Annotated[int, Field(ge=1, le=10_000_000)] = 4000


class ValueQuery(Query):
    agent_id: Name
    key: Name
    memory_type: ValueType = "short_term"


class LimitQuery(Query):
    limit: Limit | None = None


class WorkflowQuery(Query):
    workflow_id: Name
    limit: Limit | None = None


class EndedQuery(Query):
    workflow_id: Name | None = None
    limit: Limit = 50


class ExecutionStatsQuery(Query):
    agent_id: Name | None = None
    workflow: Name | None = None
    session: Name | None = None
    after: Moment | None = None
    before: Moment | None = None


class ExecutionQuery(ExecutionStatsQuery):
    limit: Limit = 100
    status_filter: Name | None = None
    cursor: Annotated[str, Field(max_length=200)] | None = None


class VerifyQuery(Query):
    head: Annotated[str, Field(min_length=1, max_length=200)] | None = None


class WorkflowName(Request):
    workflow_id: Name = Field(examples=["campaign-7"])
