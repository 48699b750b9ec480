"""Memory for AI agents: complete without a model, better with one."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # What type checkers know. A test compares it with the names below.
    from memoranda.conversation.base import AnyMessage as AnyMessage
    from memoranda.conversation.base import MessageLog as MessageLog
    from memoranda.conversation.base import MessageView as MessageView
    from memoranda.conversation.base import TokenCounter as TokenCounter
    from memoranda.conversation.memory import ConversationMemory as ConversationMemory
    from memoranda.conversation.summarizing import SummarizingMemory as SummarizingMemory
    from memoranda.embedding.base import Embedder as Embedder
    from memoranda.embedding.base import EmbedderIdentity as EmbedderIdentity
    from memoranda.embedding.base import InputKind as InputKind
    from memoranda.embedding.model import EmbeddingModel as EmbeddingModel
    from memoranda.embedding.model import TextOrVector as TextOrVector
    from memoranda.errors import Closed as Closed
    from memoranda.errors import Conflict as Conflict
    from memoranda.errors import Denied as Denied
    from memoranda.errors import EncryptionKeyError as EncryptionKeyError
    from memoranda.errors import ExtractionFailed as ExtractionFailed
    from memoranda.errors import Incompatible as Incompatible
    from memoranda.errors import InvalidInput as InvalidInput
    from memoranda.errors import InvalidType as InvalidType
    from memoranda.errors import MemorandaError as MemorandaError
    from memoranda.errors import MissingExtra as MissingExtra
    from memoranda.errors import NotFound as NotFound
    from memoranda.errors import OutcomeUnknown as OutcomeUnknown
    from memoranda.errors import Unavailable as Unavailable
    from memoranda.index.base import PartitionVectors as PartitionVectors
    from memoranda.index.base import VectorEngine as VectorEngine
    from memoranda.index.faiss import FAISSIndex as FAISSIndex
    from memoranda.items.base import Item as Item
    from memoranda.items.base import ItemOrder as ItemOrder
    from memoranda.items.base import NamespaceActivity as NamespaceActivity
    from memoranda.llm.base import LLM as LLM
    from memoranda.maintenance.policies import UpkeepSettings as UpkeepSettings
    from memoranda.manager.manager import MemoryManager as MemoryManager
    from memoranda.manager.manager import create_memory_manager as create_memory_manager
    from memoranda.manager.manager import create_session as create_session
    from memoranda.messages.content import AgentCallMsg as AgentCallMsg
    from memoranda.messages.content import MessageContent as MessageContent
    from memoranda.messages.content import ToolCallMsg as ToolCallMsg
    from memoranda.messages.formatting import format_for_anthropic as format_for_anthropic
    from memoranda.messages.formatting import format_for_openai as format_for_openai
    from memoranda.messages.formatting import system_text as system_text
    from memoranda.messages.message import Message as Message
    from memoranda.messages.message import VendorMessage as VendorMessage
    from memoranda.messages.parsing import from_anthropic as from_anthropic
    from memoranda.messages.parsing import from_openai as from_openai
    from memoranda.persistent.agents import BaseAgent as BaseAgent
    from memoranda.persistent.agents import ConversationContext as ConversationContext
    from memoranda.persistent.agents import MemoryMixin as MemoryMixin
    from memoranda.persistent.backends import EmbeddingBackend as EmbeddingBackend
    from memoranda.persistent.backends import VectorStoreConfig as VectorStoreConfig
    from memoranda.persistent.base import MemoryBase as MemoryBase
    from memoranda.persistent.base import PersistentMemoryBase as PersistentMemoryBase
    from memoranda.persistent.base import QueryInput as QueryInput
    from memoranda.persistent.base import RecallFromMemoryResult as RecallFromMemoryResult
    from memoranda.persistent.base import SaveToMemoryResult as SaveToMemoryResult
    from memoranda.persistent.memory import PersistentMemory as PersistentMemory
    from memoranda.persistent.tools import MemoryTools as MemoryTools
    from memoranda.persistent.tools import ToolCall as ToolCall
    from memoranda.persistent.tools import ToolMessage as ToolMessage
    from memoranda.remember.pipeline import Content as Content
    from memoranda.results.maintenance import AgentActivity as AgentActivity
    from memoranda.results.maintenance import CheckReport as CheckReport
    from memoranda.results.maintenance import CleanedMemory as CleanedMemory
    from memoranda.results.maintenance import CleanupReport as CleanupReport
    from memoranda.results.maintenance import Derivation as Derivation
    from memoranda.results.maintenance import ForgetReceipt as ForgetReceipt
    from memoranda.results.maintenance import Health as Health
    from memoranda.results.maintenance import History as History
    from memoranda.results.maintenance import NameActivity as NameActivity
    from memoranda.results.maintenance import PolicyName as PolicyName
    from memoranda.results.maintenance import RepairReport as RepairReport
    from memoranda.results.maintenance import Revision as Revision
    from memoranda.results.maintenance import Stats as Stats
    from memoranda.results.maintenance import StoreReceipt as StoreReceipt
    from memoranda.results.maintenance import UpkeepAction as UpkeepAction
    from memoranda.results.maintenance import UpkeepDecision as UpkeepDecision
    from memoranda.results.maintenance import UpkeepReport as UpkeepReport
    from memoranda.results.maintenance import UserActivity as UserActivity
    from memoranda.results.recall import AffectedRecall as AffectedRecall
    from memoranda.results.recall import Context as Context
    from memoranda.results.recall import ErasedHit as ErasedHit
    from memoranda.results.recall import Fact as Fact
    from memoranda.results.recall import FactConflict as FactConflict
    from memoranda.results.recall import FactValue as FactValue
    from memoranda.results.recall import Replay as Replay
    from memoranda.results.recall import WhyNot as WhyNot
    from memoranda.results.recall import WhyNotStep as WhyNotStep
    from memoranda.results.workflows import Backup as Backup
    from memoranda.results.workflows import Document as Document
    from memoranda.results.workflows import ExecutionPage as ExecutionPage
    from memoranda.results.workflows import ExecutionRecord as ExecutionRecord
    from memoranda.results.workflows import ExecutionStats as ExecutionStats
    from memoranda.results.workflows import ExportReport as ExportReport
    from memoranda.results.workflows import FileReport as FileReport
    from memoranda.results.workflows import ImportReport as ImportReport
    from memoranda.results.workflows import Knowledge as Knowledge
    from memoranda.results.workflows import KnowledgeReport as KnowledgeReport
    from memoranda.results.workflows import KnowledgeSource as KnowledgeSource
    from memoranda.results.workflows import SessionMessage as SessionMessage
    from memoranda.results.workflows import SessionSummary as SessionSummary
    from memoranda.results.workflows import VerificationReport as VerificationReport
    from memoranda.security.redaction import Redactor as Redactor
    from memoranda.sessions.base import MemoryBackend as MemoryBackend
    from memoranda.sessions.base import Namespace as Namespace
    from memoranda.sessions.base import ValueScope as ValueScope
    from memoranda.sessions.base import ValueStore as ValueStore
    from memoranda.sessions.context import SessionContext as SessionContext
    from memoranda.sessions.redis import RedisBackend as RedisBackend
    from memoranda.sessions.redis import get_redis_client as get_redis_client
    from memoranda.sessions.values import InMemoryBackend as InMemoryBackend
    from memoranda.settings import MemoryConfig as MemoryConfig
    from memoranda.settings import Settings as Settings
    from memoranda.settings import get_memory_config as get_memory_config
    from memoranda.settings import get_settings as get_settings
    from memoranda.types import ANY as ANY
    from memoranda.types import JSON as JSON
    from memoranda.types import AnyUser as AnyUser
    from memoranda.types import ArmScore as ArmScore
    from memoranda.types import Association as Association
    from memoranda.types import Clock as Clock
    from memoranda.types import Explanation as Explanation
    from memoranda.types import FloatArray as FloatArray
    from memoranda.types import Hit as Hit
    from memoranda.types import IntArray as IntArray
    from memoranda.types import Memory as Memory
    from memoranda.types import MemoryEntry as MemoryEntry
    from memoranda.types import MemoryType as MemoryType
    from memoranda.types import Outcome as Outcome
    from memoranda.types import Outcomes as Outcomes
    from memoranda.types import Progress as Progress
    from memoranda.types import Recall as Recall
    from memoranda.types import Related as Related
    from memoranda.types import RetentionPolicy as RetentionPolicy
    from memoranda.types import Scope as Scope
    from memoranda.types import Usage as Usage
    from memoranda.types import Window as Window

    MemoryAssociation = Association
    MemoryTypes = MemoryType

__version__ = "0.1.0"

# Each name is loaded from its module when it is first used: importing the package costs next to nothing.
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

__all__ = sorted([*_MODULES, *_ALIASES, "__version__"])


def home_of(name: str) -> str:
    """Return the module that defines an exported name."""
    return _MODULES[_ALIASES.get(name, name)]


def __getattr__(name: str) -> Any:
    if name not in _MODULES and name not in _ALIASES:
        raise AttributeError(f"module 'memoranda' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(home_of(name)), _ALIASES.get(name, name))
    return value


def __dir__() -> list[str]:
    return __all__
