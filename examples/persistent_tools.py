"""Agent-controlled memory: the model decides what to save and what to search, with two tools."""

import json

from memoranda import PersistentMemory

memory = PersistentMemory(agent_name="agent_1", user_name="alice")
tools = memory.tools()


class ScriptedModel:
    """Replaces `client.chat.completions.create(messages=…, tools=tools.openai())` with prepared answers."""

    def __init__(self, *turns: dict) -> None:
        self.turns = iter(turns)

    def answer(self, messages: list[dict]) -> dict:
        turn = next(self.turns)
        known = [json.loads(message["content"]) for message in messages if message["role"] == "tool"]
        return {**turn, "content": turn["content"].format(known=known[-1] if known else "")}


def tool_call(name: str, **arguments: object) -> dict:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "type": "function", "function": function}]}


def answer(text: str) -> dict:
    return {"role": "assistant", "content": text}


def chat(model: ScriptedModel, text: str) -> str:
    messages: list[dict] = [{"role": "user", "content": text}]
    while True:
        messages.append(model.answer(messages))
        if not messages[-1].get("tool_calls"):
            return str(messages[-1]["content"])
        messages += tools.run_all(messages[-1]["tool_calls"])


print("tools:", [tool["function"]["name"] for tool in tools.openai()])
# `thinking` is missing from the first call, so the model is asked to try again.
wrong = tool_call("save_to_memory", content=["Birthday: March 15"])
right = tool_call("save_to_memory", thinking="A birthday matters.", content=["Alice's birthday is March 15"])
print(chat(ScriptedModel(wrong, right, answer("I will remember: {known[message]}")), "My birthday is March 15."))

search = tool_call("recall_from_memory", keywords=["birthday"], limit=1)
print(chat(ScriptedModel(search, answer("It is in my notes: {known[memories][0]}")), "When is my birthday?"))
memory.close()
