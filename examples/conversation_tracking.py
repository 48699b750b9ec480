"""Track the turns of a conversation and use the latest as context for the next answer."""

from memoranda import ConversationMemory, Message


class ConversationTracker:
    """Tracks multi-turn conversations."""

    def __init__(self) -> None:
        self.memory = ConversationMemory()
        self.turn_count = 0

    def add_turn(self, user_msg: str, assistant_msg: str) -> None:
        self.memory.add_message(Message(role="user", content=user_msg))
        self.memory.add_message(Message(role="assistant", content=assistant_msg))
        self.turn_count += 1

    def get_context(self, max_turns: int = 5) -> list[Message]:
        return self.memory.get_recent(max_turns * 2)


def main() -> None:
    tracker = ConversationTracker()
    for number in range(1, 9):
        tracker.add_turn(f"Question {number}?", f"Answer {number}.")
    context = tracker.get_context(max_turns=2)
    print(f"{tracker.turn_count} turns; the context is {[message.content for message in context]}")


if __name__ == "__main__":
    main()
