"""Memory for AI agents: complete without a model, better with one."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memoranda.conversation.base import AnyMessage, MessageLog, MessageView, TokenCounter
    from memoranda.conversation.memory import ConversationMemory
    from memoranda.conversation.summarizing import SummarizingMemory
    from memoranda.embedding.base import Embedder, EmbedderIdentity, InputKind
    from memoranda.embedding.model import EmbeddingModel, TextOrVector
    from memoranda.errors import (
        Closed,
        Conflict,
        Denied,
        EncryptionKeyError,
        ExtractionFailed,
        Incompatible,
        InvalidInput,
        InvalidType,
        MemorandaError,
        MissingExtra,
        NotFound,
        OutcomeUnknown,
        Unavailable,
    )
    from memoranda.index.base import PartitionVectors, VectorEngine
    from memoranda.index.faiss import FAISSIndex
    from memoranda.items.base import Item, ItemOrder, NamespaceActivity
    from memoranda.llm.base import LLM
    from memoranda.maintenance.policies import UpkeepSettings
    from memoranda.manager.manager import MemoryManager, create_memory_manager, create_session
    from memoranda.messages.content import AgentCallMsg, MessageContent, ToolCallMsg
    from memoranda.messages.formatting import format_for_anthropic, format_for_openai, system_text
    from memoranda.messages.message import Message, VendorMessage
    from memoranda.messages.parsing import from_anthropic, from_openai
    from memoranda.persistent.agents import BaseAgent, ConversationContext, MemoryMixin
    from memoranda.persistent.backends import EmbeddingBackend, VectorStoreConfig
    from memoranda.persistent.base import (
        MemoryBase,
        PersistentMemoryBase,
        QueryInput,
        RecallFromMemoryResult,
        SaveToMemoryResult,
    )
    from memoranda.persistent.memory import PersistentMemory
    from memoranda.persistent.tools import MemoryTools, ToolCall, ToolMessage
    from memoranda.remember.pipeline import Content
    from memoranda.results.maintenance import (
        AgentActivity,
        CheckReport,
        CleanedMemory,
        CleanupReport,
        Derivation,
        ForgetReceipt,
        Health,
        History,
        NameActivity,
        PolicyName,
        RepairReport,
        Revision,
        Stats,
        StoreReceipt,
        UpkeepAction,
        UpkeepDecision,
        UpkeepReport,
        UserActivity,
    )
    from memoranda.results.recall import (
        AffectedRecall,
        Context,
        ErasedHit,
        Fact,
        FactConflict,
        FactValue,
        Replay,
        WhyNot,
        WhyNotStep,
    )
    from memoranda.results.workflows import (
        Backup,
        Document,
        ExecutionPage,
        ExecutionRecord,
        ExecutionStats,
        ExportReport,
        FileReport,
        ImportReport,
        Knowledge,
        KnowledgeReport,
        KnowledgeSource,
        SessionMessage,
        SessionSummary,
        VerificationReport,
    )
    from memoranda.security.redaction import Redactor
    from memoranda.sessions.base import MemoryBackend, Namespace, ValueScope, ValueStore
    from memoranda.sessions.context import SessionContext
    from memoranda.sessions.redis import RedisBackend, get_redis_client
    from memoranda.sessions.values import InMemoryBackend
    from memoranda.settings import MemoryConfig, Settings, get_memory_config, get_settings
    from memoranda.types import (
        ANY,
        JSON,
        AnyUser,
        ArmScore,
        Association,
        Clock,
        Explanation,
        FloatArray,
        Hit,
        IntArray,
        Memory,
        MemoryEntry,
        MemoryType,
        Outcome,
        Outcomes,
        Progress,
        Recall,
        Related,
        RetentionPolicy,
        Scope,
        Usage,
        Window,
    )

    MemoryAssociation = Association
    MemoryTypes = MemoryType

__version__ = "0.1.0"

__all__ = [
    "ANY",
    "JSON",
    "LLM",
    "AffectedRecall",
    "AgentActivity",
    "AgentCallMsg",
    "AnyMessage",
    "AnyUser",
    "ArmScore",
    "Association",
    "Backup",
    "BaseAgent",
    "CheckReport",
    "CleanedMemory",
    "CleanupReport",
    "Clock",
    "Closed",
    "Conflict",
    "Content",
    "Context",
    "ConversationContext",
    "ConversationMemory",
    "Denied",
    "Derivation",
    "Document",
    "Embedder",
    "EmbedderIdentity",
    "EmbeddingBackend",
    "EmbeddingModel",
    "EncryptionKeyError",
    "ErasedHit",
    "ExecutionPage",
    "ExecutionRecord",
    "ExecutionStats",
    "Explanation",
    "ExportReport",
    "ExtractionFailed",
    "FAISSIndex",
    "Fact",
    "FactConflict",
    "FactValue",
    "FileReport",
    "FloatArray",
    "ForgetReceipt",
    "Health",
    "History",
    "Hit",
    "ImportReport",
    "InMemoryBackend",
    "Incompatible",
    "InputKind",
    "IntArray",
    "InvalidInput",
    "InvalidType",
    "Item",
    "ItemOrder",
    "Knowledge",
    "KnowledgeReport",
    "KnowledgeSource",
    "MemorandaError",
    "Memory",
    "MemoryAssociation",
    "MemoryBackend",
    "MemoryBase",
    "MemoryConfig",
    "MemoryEntry",
    "MemoryManager",
    "MemoryMixin",
    "MemoryTools",
    "MemoryType",
    "MemoryTypes",
    "Message",
    "MessageContent",
    "MessageLog",
    "MessageView",
    "MissingExtra",
    "NameActivity",
    "Namespace",
    "NamespaceActivity",
    "NotFound",
    "Outcome",
    "OutcomeUnknown",
    "Outcomes",
    "PartitionVectors",
    "PersistentMemory",
    "PersistentMemoryBase",
    "PolicyName",
    "Progress",
    "QueryInput",
    "Recall",
    "RecallFromMemoryResult",
    "Redactor",
    "RedisBackend",
    "Related",
    "RepairReport",
    "Replay",
    "RetentionPolicy",
    "Revision",
    "SaveToMemoryResult",
    "Scope",
    "SessionContext",
    "SessionMessage",
    "SessionSummary",
    "Settings",
    "Stats",
    "StoreReceipt",
    "SummarizingMemory",
    "TextOrVector",
    "TokenCounter",
    "ToolCall",
    "ToolCallMsg",
    "ToolMessage",
    "Unavailable",
    "UpkeepAction",
    "UpkeepDecision",
    "UpkeepReport",
    "UpkeepSettings",
    "Usage",
    "UserActivity",
    "ValueScope",
    "ValueStore",
    "VectorEngine",
    "VectorStoreConfig",
    "VendorMessage",
    "VerificationReport",
    "WhyNot",
    "WhyNotStep",
    "Window",
    "__version__",
    "create_memory_manager",
    "create_session",
    "format_for_anthropic",
    "format_for_openai",
    "from_anthropic",
    "from_openai",
    "get_memory_config",
    "get_redis_client",
    "get_settings",
    "system_text",
]

# Each name is loaded when it is first used: importing the package costs next to nothing.
_HOMES = {
    "memoranda.conversation.base": "AnyMessage MessageLog MessageView TokenCounter",
    "memoranda.conversation.memory": "ConversationMemory",
    "memoranda.conversation.summarizing": "SummarizingMemory",
    "memoranda.embedding.base": "Embedder EmbedderIdentity InputKind",
    "memoranda.embedding.model": "EmbeddingModel TextOrVector",
    "memoranda.errors": (
        "Closed Conflict Denied EncryptionKeyError ExtractionFailed Incompatible InvalidInput InvalidType "
        "MemorandaError MissingExtra NotFound OutcomeUnknown Unavailable"
    ),
    "memoranda.index.base": "PartitionVectors VectorEngine",
    "memoranda.index.faiss": "FAISSIndex",
    "memoranda.items.base": "Item ItemOrder NamespaceActivity",
    "memoranda.llm.base": "LLM",
    "memoranda.maintenance.policies": "UpkeepSettings",
    "memoranda.manager.manager": "create_memory_manager create_session MemoryManager",
    "memoranda.messages.content": "AgentCallMsg MessageContent ToolCallMsg",
    "memoranda.messages.message": "Message VendorMessage",
    "memoranda.messages.formatting": "format_for_anthropic format_for_openai system_text",
    "memoranda.messages.parsing": "from_anthropic from_openai",
    "memoranda.persistent.agents": "BaseAgent ConversationContext MemoryMixin",
    "memoranda.persistent.backends": "EmbeddingBackend VectorStoreConfig",
    "memoranda.persistent.base": "MemoryBase PersistentMemoryBase QueryInput RecallFromMemoryResult SaveToMemoryResult",
    "memoranda.persistent.memory": "PersistentMemory",
    "memoranda.persistent.tools": "MemoryTools ToolCall ToolMessage",
    "memoranda.remember.pipeline": "Content",
    "memoranda.results.maintenance": (
        "AgentActivity CheckReport CleanedMemory CleanupReport Derivation ForgetReceipt Health History NameActivity "
        "PolicyName RepairReport Revision Stats StoreReceipt UpkeepAction UpkeepDecision UpkeepReport UserActivity"
    ),
    "memoranda.results.recall": "AffectedRecall Context ErasedHit Fact FactConflict FactValue Replay WhyNot WhyNotStep",
    "memoranda.results.workflows": (
        "Backup Document ExecutionPage ExecutionRecord ExecutionStats ExportReport FileReport ImportReport Knowledge "
        "KnowledgeReport KnowledgeSource SessionMessage SessionSummary VerificationReport"
    ),
    "memoranda.security.redaction": "Redactor",
    "memoranda.sessions.base": "MemoryBackend Namespace ValueScope ValueStore",
    "memoranda.sessions.context": "SessionContext",
    "memoranda.sessions.redis": "get_redis_client RedisBackend",
    "memoranda.sessions.values": "InMemoryBackend",
    "memoranda.settings": "get_memory_config get_settings MemoryConfig Settings",
    "memoranda.types": (
        "ANY AnyUser ArmScore Association Clock Explanation FloatArray Hit IntArray JSON Memory MemoryEntry "
        "MemoryType Outcome Outcomes Progress Recall Related RetentionPolicy Scope Usage Window"
    ),
}
_ALIASES = {"MemoryAssociation": "Association", "MemoryTypes": "MemoryType"}
_MODULES = {name: module for module, names in _HOMES.items() for name in names.split()}


def home_of(name: str) -> str:
    """Return the module that defines an exported name."""
    return _MODULES[_ALIASES.get(name, name)]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'memoranda' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(home_of(name)), _ALIASES.get(name, name))
    return value


def __dir__() -> list[str]:
    return __all__
