"""The suites that `run` runs: what each needs, how many tests pass, and which are left out and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Suite:
    """The tests of one framework, and how they are run with our adapter."""

    packages: tuple[str, ...]
    """What to install, with exact versions."""
    tests: tuple[str, ...]
    """The files, relative to `source`, or to this folder without one; a test may follow after `::`."""
    passed: int
    """How many tests pass. Another number is a failure: a suite must not shrink unseen."""
    source: str = ""
    """The source package that contains the tests, as `name==version`; empty for tests of our own."""
    plugin: str = ""
    """The module in this folder that puts our class in place of theirs."""
    options: tuple[str, ...] = ()
    """More options of pytest, such as `--noconftest` where these tests need none of it."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Tests that are not run, and why: a pattern that is searched in the test's id, and the reason."""
    failing: Mapping[str, str] = field(default_factory=dict)
    """Tests that are run and fail, and why, in the same form; one that passes is a failure of the run."""


_LANGGRAPH = (
    *("langgraph-checkpoint==4.3.1", "langgraph-checkpoint-sqlite==3.1.2"),
    *("pytest-mock==3.17.0", "pytest-retry==1.7.0"),  # some of their tests wait for a second and are marked as flaky
)
_ABOUT_SQLITE = "about the tables and SQL of the SQLite store"

SUITES: dict[str, Suite] = {
    "langgraph-store": Suite(
        packages=_LANGGRAPH,
        source="langgraph-checkpoint==4.3.1",
        tests=("tests/test_store.py",),
        plugin="on_langgraph",
        passed=114,
    ),
    "langgraph-sqlite-store": Suite(
        packages=_LANGGRAPH,
        source="langgraph-checkpoint-sqlite==3.1.2",
        tests=("tests/test_store.py", "tests/test_async_store.py", "tests/test_ttl.py"),
        plugin="on_langgraph",
        passed=142,
        left_out={
            "test_vector_store_initialization": _ABOUT_SQLITE,
            "test_nonnull_migrations": _ABOUT_SQLITE,
            "test_escape_glob_literal": _ABOUT_SQLITE,
            "test_namespace_match_pattern": _ABOUT_SQLITE,
            "test_list_namespaces_prefix_uses_indexable_condition": _ABOUT_SQLITE,
            "test_sql_injection_vulnerability": "expects an error for a field with quotes; here it is only compared",
            "test_no_running_loop": "their async store refuses calls without await; ours takes both",
            "test_ttl_override_default": "reads an item, which starts its 5 seconds again, and expects it gone 4 later",
        },
    ),
    "langgraph-checkpointer": Suite(
        packages=(
            *(*_LANGGRAPH, "langgraph-checkpoint-conformance==0.0.2", "langgraph==1.2.20"),
            *("deepagents==0.7.32", "langmem==0.0.30"),
        ),
        tests=("langgraph_cases.py",),
        passed=12,
    ),
    "langchain": Suite(
        packages=("langchain-core==1.7.2", "langchain-tests==1.1.9"),
        tests=("langchain_cases.py",),
        passed=55,
    ),
}

_AUTOGEN = ("autogen-core==0.7.5", "autogen-agentchat==0.7.5", "autogen-ext==0.7.5")
SUITES["autogen"] = Suite(
    packages=_AUTOGEN, source="autogen-core==0.7.5", plugin="on_autogen", tests=("tests/test_memory.py",), passed=10
)
SUITES["autogen-agent"] = Suite(packages=_AUTOGEN, tests=("autogen_cases.py", "page_cases.py"), passed=11)
_PRIVATE = "reads private attributes of the SDK's SQLiteSession"
_TABLES = "reads, breaks or drops the SDK's own tables"
SUITES["mem0"] = Suite(packages=("mem0ai==2.2.1",), tests=("mem0_cases.py",), passed=8)
SUITES["openai_agents"] = Suite(
    packages=("openai-agents==0.24.0", "pytest-mock==3.17.0"),
    source="openai-agents==0.24.0",
    plugin="on_openai_agents",
    tests=(
        "tests/memory/test_session.py",
        "tests/memory/test_session_context_wrapper.py",
        "tests/memory/test_session_limit.py",
        "tests/memory/test_session_persistence_sanitize.py",
    ),
    passed=95,
    left_out={
        "close_closes_worker_thread_connections": _PRIVATE,
        "reaps_connections_from_exited_worker_threads": _PRIVATE,
        "closes_retired_connections_before_the_next_allocation": _PRIVATE,
        "keeps_connections_of_live_worker_threads": _PRIVATE,
        "file_lock_is_shared_across_instances": _PRIVATE,
        "rollback_failure_evicts_connection": _PRIVATE,
        "close_retries_quarantined_connection": _PRIVATE,
        "post_commit_cancellation_propagates": _PRIVATE + "; tests/unit/aio has the same case",
        "pop_item_skips_corrupt_most_recent": _TABLES,
        "pop_item_returns_none_after_dropping_only_corrupt_rows": _TABLES,
        "get_items_limit_skips_corrupt_newest_rows": _TABLES,
        "session_settings_limit_skips_corrupt_rows": _TABLES,
        "failed_add_items_releases_write_lock": _TABLES,
        "failed_clear_session_rolls_back": _TABLES,
        "failed_pop_item_releases_write_lock": _TABLES,
        "closed_rejects_empty_add_items": "wants the text 'SQLiteSession is closed'; ours raises Closed",
    },
)

SUITES["agent_framework"] = Suite(
    packages=("agent-framework-core==1.23.0",), tests=("agent_framework_cases.py", "page_cases.py"), passed=7
)
SUITES["crewai"] = Suite(
    packages=("crewai==1.15.30",),
    source="crewai==1.15.30",
    plugin="on_crewai",
    tests=(
        "tests/memory/test_unified_memory.py",
        "tests/memory/test_memory_root_scope.py",
        "tests/memory/test_dimension_mismatch.py",
        "tests/memory/test_lancedb_filter_escaping.py",
        "tests/memory/test_lancedb_update.py",
    ),
    passed=162,
    left_out={"list_records_exceeding_scan_cap": "is about the limit of a scan in LanceDB; writes 50,000 records"},
    failing={
        "percent_underscore_and_backslash_in_scope_names": "compares scopes as text: /user/ann would show /user/anna"
    },
)
SUITES["crewai-own"] = Suite(packages=("crewai==1.15.30",), tests=("crewai_cases.py", "page_cases.py"), passed=10)
SUITES["google_adk"] = Suite(
    packages=("google-adk==2.13.0",), tests=("google_adk_cases.py", "page_cases.py"), passed=11
)
SUITES["haystack"] = Suite(packages=("haystack-ai==3.4.0",), tests=("haystack_cases.py", "page_cases.py"), passed=135)
SUITES["llama_index"] = Suite(
    packages=("llama-index-core==0.14.25",), tests=("llama_index_cases.py", "page_cases.py"), passed=19
)
SUITES["pydantic_ai"] = Suite(
    packages=("pydantic-ai-harness==0.62.0",), tests=("pydantic_ai_cases.py", "page_cases.py"), passed=8
)
SUITES["pydantic_ai_suite"] = Suite(
    # The last release whose source package contains tests.
    packages=("pydantic-ai-harness==0.36.0", "pydantic-ai-slim==2.44.0", "dirty-equals==0.11"),
    source="pydantic-ai-harness==0.36.0",
    plugin="on_pydantic_ai",
    tests=("tests/memory/test_stores.py", "tests/memory/test_memory.py"),
    passed=98,
    left_out={
        "test_file_store_": "is about the harness's own files",
        "external_file_store_listing": "is about the harness's own files",
        r"test_local_store.*[\[-]1\]": "runs on the harness's own files",
        "test_postgres_": "is about the harness's own PostgreSQL store",
        "test_sqlite_store_(requires|supports|does_not|rolls_back|closes|migrates)": "is about its own tables",
        "test_in_memory_store_": "is about the dict inside the harness's own store",
        "from_spec_backends": "asks for the classes of the harness's own stores",
    },
)
SUITES["strands"] = Suite(packages=("strands-agents==1.62.0",), tests=("strands_cases.py", "page_cases.py"), passed=8)
SUITES["anthropic"] = Suite(
    packages=("anthropic==2.8.0",),
    options=("--noconftest",),
    source="anthropic==2.8.0",
    plugin="on_anthropic",
    tests=("tests/lib/tools/memory_tools/test_filesystem.py",),
    passed=83,
)

SUITES["claude"] = Suite(
    # From source: the wheel contains the whole program, 162 MB.
    packages=("--no-binary=claude-agent-sdk", "claude-agent-sdk==0.2.182"),
    tests=("claude_cases.py",),
    passed=7,
)


_MOCKED = "asserts what a mocked mem0 is called with, or answers: PersistentMemory uses mem0 only when asked to"
SUITES["massgen"] = Suite(
    packages=("mem0ai==2.2.1",),
    options=("--noconftest",),
    source="massgen==0.1.97",
    plugin="on_massgen",
    tests=("massgen/tests/test_conversation_memory.py", "massgen/tests/test_persistent_memory.py"),
    passed=27,
    left_out={
        "test_initialization_without_backends_fails": "the project's document makes one without back ends",
        r"Mocked::test_(record_messages|retrieve_(memories|with)|(save_to|recall_from)_memory)": _MOCKED,
    },
)
