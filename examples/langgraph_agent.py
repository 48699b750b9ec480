"""A LangGraph agent that remembers its user in every thread, and each thread step by step.

python examples/langgraph_agent.py        (pip install "memoranda[langgraph]" langgraph)
"""

from typing import TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore

from memoranda import MemoryManager
from memoranda.integrations.langgraph import MemorandaSaver, MemorandaStore


class State(TypedDict, total=False):
    question: str
    answer: str
    turns: int


def answer(state: State, *, store: BaseStore) -> State:
    """Stands for a model: notes what it is told, and answers from its notes."""
    question = state["question"]
    if not question.endswith("?"):
        store.put(("users", "ann"), f"note-{state.get('turns', 0)}", {"text": question})
        reply = "Noted."
    else:
        found = store.search(("users", "ann"), query=question, limit=1)
        reply = f"You said: {found[0].value['text']}" if found else "I do not know."
    return {"answer": reply, "turns": state.get("turns", 0) + 1}


def main() -> None:
    builder = StateGraph(State)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    with MemoryManager("agent.db") as memory:
        graph = builder.compile(store=MemorandaStore(memory), checkpointer=MemorandaSaver(memory))
        monday, friday = ({"configurable": {"thread_id": day}} for day in ("monday", "friday"))
        graph.invoke({"question": "I am allergic to peanuts."}, monday)
        graph.invoke({"question": "I play the cello."}, monday)
        print(graph.invoke({"question": "Which instrument do I play?"}, friday)["answer"])
        print("turns on Monday:", graph.get_state(monday).values["turns"])
        print("steps on Monday:", len(list(graph.get_state_history(monday))))


if __name__ == "__main__":
    main()
