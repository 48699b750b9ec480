"""Summarise a long conversation, with the built-in class and with a custom one."""

from memoranda import ConversationMemory, Message, SummarizingMemory


class CountingMemory(ConversationMemory):
    """Summarises the oldest messages by a simple rule."""

    def __init__(self, max_messages: int = 50) -> None:
        super().__init__(max_messages)
        self.summaries: list[str] = []

    def add_message(self, message: Message) -> None:
        super().add_message(message)
        if len(self.messages) >= self.max_messages:
            old_messages = self.messages[:25]
            self.summaries.append(f"{len(old_messages)} messages, first: {old_messages[0].content}")
            self.messages = self.messages[25:]


def main() -> None:
    custom, built_in = CountingMemory(), SummarizingMemory(max_messages=50)
    for day in range(1, 76):
        text = f"On day {day} I walked {day % 7 + 3} km with Nora." if day % 9 == 0 else "That sounds nice!"
        custom.add_message(Message(role="user", content=text))
        built_in.add_message(Message(role="user", content=text, name="Sam"))

    print(custom.summaries)
    print(f"{len(built_in)} messages in the window, {len(built_in.originals())} summarised as:")
    print(built_in.summaries[0])


if __name__ == "__main__":
    main()
