"""Format one conversation for OpenAI and for Anthropic."""

import json

from memoranda import Message, ToolCallMsg, format_for_anthropic, format_for_openai, system_text

MESSAGES = [
    Message(role="system", content="Answer in one sentence."),
    Message(role="user", content="What's in this image?", images=["https://example.org/cat.jpg"]),
    Message(
        role="assistant",
        tool_calls=[ToolCallMsg(id="c1", call_id="c1", type="function", name="look", arguments='{"zoom": 2}')],
    ),
    Message(role="tool", content="a cat on a sofa", tool_call_id="c1"),
]


def main() -> None:
    print("OpenAI:", json.dumps(format_for_openai(MESSAGES), indent=1))
    print("Anthropic, system:", system_text(MESSAGES))
    print("Anthropic, messages:", json.dumps(format_for_anthropic(MESSAGES), indent=1))


if __name__ == "__main__":
    main()
