"""One manager, many agents: a conversation for each, kept for a run, for the session, or for good."""

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

    # Set custom retention: what was said moves into the store
    manager.set_retention_policy("Analyzer", "persistent")

    # A conversation for one run only
    manager.set_retention_policy("Checker", "single_run")
    with manager.run("Checker") as scratch:
        scratch.add_message(Message(role="user", content="Check the figures"))
        print(f"inside the run the Checker has {len(scratch)} message")
    print(f"after the run it has {len(scratch)}")
    manager.close()

    # Another start of the program
    with MemoryManager(url, retention_policy="persistent") as again:
        for message in again.get_memory("Analyzer").get_messages():
            print(f"still there: {message.role}: {message.content}")

        # Clear specific agent, clear all
        again.clear_agent_memory("Analyzer")
        again.clear_all()
        print(f"cleared: {len(again.get_memory('Analyzer'))} messages")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        main(Path(name))
