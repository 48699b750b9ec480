"""One manager with a conversation for each agent, kept for one run, for the session, or permanently."""

import tempfile
from pathlib import Path

from memoranda import MemoryManager, Message


def main(folder: Path) -> None:
    url = f"sqlite:///{folder / 'memories.db'}"
    manager = MemoryManager(url, retention_policy="session", max_messages_per_agent=1000)

    # Get memory for agent
    agent_memory = manager.get_memory("Analyzer")
    agent_memory.add_message(Message(role="user", content="Start analysis"))
    agent_memory.add_message(Message(role="assistant", content="Analysis complete"))
    print(f"the Analyzer remembers {len(agent_memory.get_recent(10))} messages")

    # Set custom retention: the messages move into the store
    manager.set_retention_policy("Analyzer", "persistent")

    # Keep a conversation for one run only
    manager.set_retention_policy("Checker", "single_run")
    with manager.run("Checker") as conversation:
        conversation.add_message(Message(role="user", content="Check the figures"))
        print(f"during the run, the Checker has {len(conversation)} message")
    print(f"after the run, it has {len(conversation)}")
    manager.close()

    # Restart the program
    with MemoryManager(url, retention_policy="persistent") as restarted:
        for message in restarted.get_memory("Analyzer").get_messages():
            print(f"still there: {message.role}: {message.content}")

        # Clear one agent, then all
        restarted.clear_agent_memory("Analyzer")
        restarted.clear_all()
        print(f"cleared: {len(restarted.get_memory('Analyzer'))} messages")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        main(Path(name))
