"""An agent with a memory, from a base class or from a mixin for an existing class."""

from memoranda import BaseAgent, MemoryManager, MemoryMixin


class MarketingStrategyAgent(BaseAgent):
    """Plans campaigns and remembers what worked."""

    def learn(self, lesson: str) -> None:
        self.remember(lesson)

    def advise(self, question: str) -> str:
        return self.recall(question, limit=1)[0].content


class Assistant:
    """A class without memory."""

    def __init__(self, agent_id: str) -> None:
        self.agent_id = agent_id


class RememberingAssistant(Assistant, MemoryMixin):
    """The same class with memory."""


def main() -> None:
    # Create memory manager (shared across all agents)
    memory_manager = MemoryManager()

    agent = MarketingStrategyAgent(agent_id="strategy_001", config={"tone": "friendly"}, memory_manager=memory_manager)
    agent.save_to_memory("key", "value", memory_type="short_term")
    print("short-term:", agent.retrieve_from_memory("key", memory_type="short_term"))

    agent.learn("Mails with a name in the subject were opened twice as often.")
    agent.learn("The budget for posters was cut in May.")
    print("advice:", agent.advise("How do we get people to open our mails?"))

    assistant = RememberingAssistant("assistant_001")
    assistant.memory_manager = memory_manager
    print("another agent sees:", assistant.retrieve_from_memory("key"), list(assistant.recall("mails")))
    memory_manager.close()


if __name__ == "__main__":
    main()
