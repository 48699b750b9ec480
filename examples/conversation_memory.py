"""A conversation with a maximum length, saved to a file and loaded again."""

import tempfile
from pathlib import Path

from memoranda import ConversationMemory, Message, MessageContent, ToolCallMsg


def main() -> None:
    memory = ConversationMemory(max_messages=100)

    memory.add_message(Message(role="user", content="What is the weather?"))
    search = ToolCallMsg(
        id="call_123", call_id="call_123", type="function", name="search", arguments='{"query": "weather"}'
    )
    memory.add_message(Message(role="assistant", content="I'll help you check the weather.", tool_calls=[search]))
    memory.add_message(Message(role="tool", content={"sky": "clear"}, tool_call_id="call_123"))
    answer = MessageContent(thought="That is enough to answer.", next_action="final_response")
    memory.add_message(Message(role="assistant", content=answer, structured_data={"results": [1, 2, 3]}))

    for message in memory.get_recent(5):
        print(f"{message.role:9} {message.content}")

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "conversation.json"
        memory.save_to_file(path)
        restored = ConversationMemory()
        restored.load_from_file(path)
    print("the loaded conversation is equal:", restored.to_dict() == memory.to_dict())


if __name__ == "__main__":
    main()
