"""A program written for mem0, on Memoranda: only the import has changed.

python examples/mem0_memory.py
"""

from memoranda.integrations.mem0 import Memory  # was: from mem0 import Memory


def answer(memory: Memory, question: str, user_id: str) -> str:
    """Call your model here, with the memories in the prompt."""
    found = memory.search(question, filters={"user_id": user_id}, top_k=3)
    known = [entry["memory"] for entry in found["results"]]
    memory.add([{"role": "user", "content": question}], user_id=user_id)
    return known[0] if known else "I do not know yet."


def main() -> None:
    with Memory() as memory:
        memory.add("I am allergic to peanuts.", user_id="ann", metadata={"topic": "health"})
        memory.add("I moved to Lisbon in May.", user_id="ann", metadata={"topic": "home"})
        memory.add("I moved to Oslo.", user_id="bob")

        print("ann:", answer(memory, "Where do I live?", "ann"))
        print("bob:", answer(memory, "Where do I live?", "bob"))
        health = memory.get_all(filters={"user_id": "ann", "topic": "health"})
        print("health:", [entry["memory"] for entry in health["results"]])


if __name__ == "__main__":
    main()
