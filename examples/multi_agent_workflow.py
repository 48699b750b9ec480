"""Several agents work on one campaign. Each has its own memory; all share the session and the guidelines."""

from memoranda import MemoryManager, SessionContext, create_session

GUIDELINES = """# Mail guidelines
Write a subject of at most six words.

## Offers
An offer names its last day.
"""


def plan(session: SessionContext) -> None:
    session.save_agent_memory("strategy_agent", "plan", {"channel": "mail", "budget": 50_000})
    session.add_conversation_message("strategy_agent", "assistant", "We go by mail, with 50,000 to spend.")


def write(session: SessionContext, memory_manager: MemoryManager) -> None:
    rule = memory_manager.search_similar("content_agent", "How long may a subject be?", top_k=1, shared=True)[0]
    print(f"content_agent found in {rule.source}: {rule.content.splitlines()[-1]}")
    session.save_agent_memory("content_agent", "subject", "Spring is here")
    session.add_conversation_message("content_agent", "assistant", "The subject is: Spring is here.")


def measure(session: SessionContext) -> None:
    subject = session.retrieve_agent_memory("content_agent", "subject")
    session.save_agent_memory("analytics_agent", "lesson", f"{subject!r} was opened by 31 %", memory_type="long_term")
    session.save_execution_record("analytics_agent", {"status": "success", "duration_ms": 12, "opened": 0.31})


def main() -> None:
    with MemoryManager() as memory_manager:
        memory_manager.add_knowledge(GUIDELINES, source="guidelines.md", version="2026-03")
        with create_session("spring_campaign", memory_manager, metadata={"owner": "ann"}) as session:
            plan(session)
            write(session, memory_manager)
            measure(session)
            for message in session.get_conversation_history():
                print(f"{message.agent_id}: {message.content}")
            summary = session.get_session_summary()
        print(f"{len(summary.active_agents)} agents, {summary.total_interactions} interactions")
        of_campaign = {"workflow_id": "spring_campaign"}
        lesson = memory_manager.search_similar(
            "analytics_agent", "Which subject was opened?", filter_metadata=of_campaign
        )[0]
        print("stored for the next campaign:", lesson.content)
        stats = memory_manager.get_stats()
        print(f"Active sessions: {stats['active_sessions']}, short-term entries: {stats['short_term_entries']}")


if __name__ == "__main__":
    main()
