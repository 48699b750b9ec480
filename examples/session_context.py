"""Session memory: agents share it while a workflow runs, and it is deleted at the end."""

from memoranda import MemoryManager, create_session

memory_manager = MemoryManager()

# Use context manager for automatic session management
with create_session(
    workflow_id="campaign_001",
    memory_manager=memory_manager,
    metadata={"user": "john@example.com"},
) as session:
    # Save session-scoped data
    session.save_agent_memory(agent_id="content_agent", key="draft", value="Campaign headline draft")

    # Add conversation message
    session.add_conversation_message(agent_id="content_agent", role="assistant", content="Draft headline created")

    # Get conversation history
    for message in session.get_conversation_history():
        print(f"{message.agent_id}: {message.content}")

    summary = session.get_session_summary()
    agents = ", ".join(summary["active_agents"])
    print(f"{summary['total_interactions']} interactions, {summary['conversation_messages']} message, by {agents}")

# The session is cleaned up on exit
print("conversation after the session:", memory_manager.get_conversation_history("campaign_001"))
print("draft after the session:", memory_manager.retrieve("content_agent", "draft"))

# A summary of the session stays
for summary in memory_manager.get_sessions():
    print(f"{summary.workflow_id} was run for {summary.metadata['user']}")
memory_manager.close()
